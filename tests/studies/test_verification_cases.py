"""Cases of the verification page: they load, their truths are right, and small steps find them."""

from __future__ import annotations

import itertools
import math

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.integrators import Integrator
from studies.benchmarks.verification import (
    collisions,
    curves,
    fabrics,
    flight,
    friction,
    impacts,
    mechanisms,
    motors,
    oscillators,
    rest,
    rigid,
    rolling,
    ropes,
    rubbing,
    smooth,
    soft_bodies,
    soft_impacts,
    tops,
)
from studies.benchmarks.verification.case import (
    Case,
    Contact,
    Given,
    NotApplicable,
    Record,
    Simulate,
    World,
)
from studies.benchmarks.verification.families import CASES, FAMILIES
from studies.peers.asperity import AsperitySimulate
from studies.peers.fixed_steps import FixedSteps, Scene
from studies.peers.limits import Deadline, OutOfTime, Stopped
from studies.peers.mujoco import MujocoSetting, MujocoSimulate

GRAVITY = 9.81


class _Seen(Exception):
    pass


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_the_scene_loads_and_starts_from_a_finite_state(case: Case) -> None:
    def load(world: World, duration: float, **start: object) -> Record:
        model = world.model()
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
        for name in ("qpos", "qvel"):
            if start.get(name) is not None:
                getattr(sim.data, name)[:] = start[name]
        for name in start.get("forces") or {}:  # type: ignore[attr-defined]
            assert model.body(name).id > 0
        drive = start.get("drive")
        if drive is not None:
            assert len(drive(0.0)) == model.nu  # type: ignore[operator]
        assert duration > 0
        assert np.all(np.isfinite(sim.data.qpos))
        # The model carries the contact that the case states.
        contacts = sim.session.world.current.contacts
        sim.advance_to(0.0)
        stiffness = contacts.stiffness[: contacts.count]
        np.testing.assert_allclose(stiffness, world.contact.stiffness)
        raise _Seen

    with pytest.raises(_Seen):
        case.measure(load)


def test_names_are_unique_and_tolerances_positive() -> None:
    names = [case.name for case in itertools.chain(*FAMILIES.values())]
    assert len(names) == len(set(names)) == len(CASES)
    assert len(CASES) >= 100
    assert all(case.tolerance > 0 and math.isfinite(case.truth) for case in CASES.values())
    assert all(case.source.endswith(".") and case.what.endswith(".") for case in CASES.values())


# A method that the page does not need to be right about, in steps that are small for the case.
SMALL: dict[str, Integrator] = {
    "biting-impact": asp.Tamsi(time_step=1e-4),
    "restitution": asp.Icf(time_step=2e-5),
    "elastic-bounce": asp.Icf(time_step=1e-5),
    "newtons-cradle": asp.Icf(time_step=1e-5),
    "tapered-row": asp.Icf(time_step=1e-5),
    "billiards": asp.Icf(time_step=2e-5),
    "slide-to-rest": asp.Tamsi(time_step=1e-3),
    "landing-slide": asp.Tamsi(time_step=1e-3),
    "incline-windows": asp.Tamsi(time_step=1e-3),
    "just-sticks": asp.Icf(time_step=1e-3),
    "just-slides": asp.Icf(time_step=1e-3),
    "belt": asp.Icf(time_step=2e-4),
    "held": asp.Tamsi(time_step=1e-3),
    "slipping": asp.Tamsi(time_step=1e-3),
    "tablecloth": asp.Tamsi(time_step=1e-3),
    "drilling": asp.Tamsi(time_step=1e-3),
    "gliding-spin": asp.Tamsi(time_step=1e-3),
    "slip-to-roll": asp.Tamsi(time_step=1e-3),
    "slip-to-roll-distance": asp.Tamsi(time_step=1e-3),
    "slab-and-balls": asp.Tamsi(time_step=1e-3),
    "capsule-downhill": asp.Tamsi(time_step=1e-3),
    "groove": asp.Tamsi(time_step=1e-3),
    "turntable": asp.Tamsi(time_step=1e-3),
    "tippe-top-inverts": asp.Icf(time_step=1e-4),
    "rattleback+": asp.Icf(time_step=1e-4),
    "backspin": asp.Tamsi(time_step=1e-3),
    "belt-oscillator": asp.Tamsi(time_step=1e-4),
    "falling-rod": asp.Icf(time_step=1e-3),
    "ladder": asp.Tamsi(time_step=1e-3),
    "pendulum-energy": asp.Icf(time_step=1e-3),
    "double-pendulum": asp.Icf(time_step=1e-3),
    "flip-interval": asp.Icf(time_step=1e-3),
    "gyroscope-energy": asp.Icf(time_step=1e-5),
    "gyroscope-precession": asp.Icf(time_step=1e-5),
    "projectile": asp.Icf(time_step=1e-3),
    "slider-crank": asp.Icf(time_step=1e-4),
    "atwood": asp.Icf(time_step=1e-3),
    "stop": asp.Icf(time_step=1e-3),
    "trot": asp.Tamsi(time_step=1e-3),
    "lift": asp.Tamsi(time_step=1e-3),
    "falling-robot": asp.Icf(time_step=1e-3),
    "soft-collision": asp.Icf(time_step=1e-5),
}
for _integrator, _names in (
    (
        asp.Icf(time_step=1e-3),
        "table-legs ball-in-groove leaning-rod wedge pile-together pile-apart ball-on-board spool "
        "brake friction-wheels plank-on-log off-a-ball cam free-wobble big-swing governor "
        "conical-pendulum resonance resonance-phase dry-slide servo-sag "
        "terminal-speed velocity-servo armature filtered-motor saturated-servo gears tackle screw "
        "welded-rods soft-cantilever soft-press soft-slides soft-held soft-tumbling cloth-sags "
        "cloth-sticks cloth-swings soft-tablecloth capstan rod-bends tendon-pendulum muscle thruster "
        "flight-motors trunk-turns pushed sling let-go rope-taut rope-hangs",
    ),
    (
        asp.Icf(time_step=1e-4),
        "coin-lean double-pendulum-energy light-damping duffing servo-step spring-and-floor "
        "stick-slip caught-bar damped-sliders damped-links honey shot play ball-motor",
    ),
    (
        asp.Cenic(accuracy=1e-5),
        "chain-mode beats dry-swing euler-lean euler-rate coin-heading loaded-ball free-nutation "
        "struck-rod corner break stacked-drop bounce-series soft-bar-swings soft-bounce",
    ),
):
    SMALL.update(dict.fromkeys(_names.split(), _integrator))


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("name", SMALL)
def test_small_steps_find_the_truth(name: str) -> None:
    case = CASES[name]
    found = case.measure(AsperitySimulate(SMALL[name], Deadline(60.0)))
    assert found == pytest.approx(case.truth, abs=case.tolerance)


@pytest.mark.parametrize("name", ["elastic-bounce", "newtons-cradle", "tapered-row", "billiards"])
def test_mujoco_finds_the_truth_of_elastic_impacts_with_the_springs_it_is_given(name: str) -> None:
    setting = MujocoSetting(1e-4, "RK4", elliptic=True)
    case = CASES[name]
    assert case.measure(MujocoSimulate(setting)) == pytest.approx(case.truth, abs=case.tolerance)


# -- truths by other ways --------------------------------------------------------------------------


def test_weak_dissipation_takes_two_thirds_of_its_product_with_the_speed() -> None:
    # e ≈ 1 − 2/3 d v, and the next terms are of second order.
    assert impacts.restitution() == pytest.approx(1 - 2 / 3 * impacts.DISSIPATION, abs=0.08)
    assert impacts.restitution() > 1 - 2 / 3 * impacts.DISSIPATION


def test_a_fast_gyroscope_precesses_uniformly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smooth, "SPIN", 4000.0)
    axial = 0.5 * smooth.DISC_MASS * smooth.DISC_RADIUS**2
    rate = smooth.DISC_MASS * GRAVITY * smooth.ARM / (axial * smooth.SPIN)
    uniform = math.degrees(rate * smooth.PRECESSION_TIME)
    assert smooth.precession() == pytest.approx(uniform, rel=3e-3)


def test_time_between_flips_is_that_of_euler_s_equations() -> None:
    from scipy.integrate import solve_ivp

    half = np.array([0.3, 0.2, 0.05])
    inertia = (half @ half - half**2) / 3.0

    def rate(_: float, spin: np.ndarray) -> np.ndarray:
        return np.asarray(-np.cross(spin, inertia * spin) / inertia)

    def vanishes(_: float, spin: np.ndarray) -> float:
        return float(spin[1])

    run = solve_ivp(rate, (0, 6), smooth.FLIP_SPIN, rtol=1e-9, atol=1e-9, events=vanishes)
    first, second = run.t_events[0][:2]
    assert smooth.flip_interval() == pytest.approx(second - first, rel=1e-6)


def test_a_thin_ladder_slips_at_the_textbook_s_angle() -> None:
    # (1 − μ²)/2μ, for a ladder without thickness.
    assert rest.ladder_angle() == pytest.approx(math.degrees(math.atan(0.75)), abs=1.0)


def test_a_chain_of_many_rods_hangs_as_a_catenary() -> None:
    from scipy.optimize import brentq

    length = mechanisms.LINKS * mechanisms.LINK
    scale = brentq(lambda a: 2 * a * math.sinh(mechanisms.SPAN / (2 * a)) - length, 0.05, 10.0)
    sag = scale * (math.cosh(mechanisms.SPAN / (2 * scale)) - 1)
    assert mechanisms.sag() == pytest.approx(sag, rel=0.01)


def test_a_rattleback_turns_round_one_way_only() -> None:
    # One way it hardly notices, the other way rattling takes a tenth of its spin within 2 s.
    assert tops.rolling_rattleback(3.0, 2.0) > 2.95
    assert tops.rolling_rattleback(-3.0, 2.0) > -2.7


def test_a_glide_with_spin_is_longer_than_without_it() -> None:
    # Friction of a spinning body is not all against its way.
    assert friction.glide() == pytest.approx(friction.GLIDE, abs=1e-5)
    assert friction.GLIDE > 0.8**2 / (2 * 0.2 * GRAVITY)


def test_the_slipping_ball_s_way_is_that_of_its_equation_of_motion() -> None:
    time, step, speed, spin, way = 0.0, 1e-5, 2.0, 0.0, 0.0
    while time < 1.0 - 0.5 * step:
        slips = speed > spin * 0.1
        speed -= 0.3 * GRAVITY * step * slips
        spin += 0.3 * GRAVITY * step / (0.4 * 0.1) * slips
        way += speed * step
        time += step
    assert rolling.slip_distance() == pytest.approx(way, abs=1e-4)


def test_a_thin_disc_with_its_centre_at_rest_goes_round_as_euler_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(curves, "HALF", 1e-9)
    monkeypatch.setattr(curves, "TRANSVERSE", curves.DISC * curves.RADIUS**2 / 4)
    angle = math.radians(10.0)
    rate = curves.steady_rolling(angle, 0.0, fixed_centre=True).turning
    assert rate**2 * math.sin(angle) == pytest.approx(4 * GRAVITY / curves.RADIUS, rel=1e-6)


def test_a_plank_that_hardly_rocks_swings_as_the_textbook_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(curves, "ROCK", 1e-2)
    inertia = (curves.LONG**2 + curves.THICK**2) / 3 + curves.THICK**2
    stiffness = GRAVITY * (curves.LOG - curves.THICK)
    expected = 2 * math.pi * math.sqrt(inertia / stiffness)
    assert curves.plank_period() == pytest.approx(expected, rel=1e-4)


def test_a_load_in_the_middle_lets_a_ball_roll_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "OFFSET", 0.0)
    assert curves.loaded_way(20.0, 2.0) == pytest.approx(20.0 * 2.0 * curves.LOADED)


def test_elastic_bounces_take_the_time_of_their_equation_of_motion() -> None:
    place, speed, time, step, left = collisions.DROP, 0.0, 0.0, 2e-6, 0
    while left < collisions.BOUNCES:
        force = -1e5 * min(place, 0.0)
        speed += step * (force - GRAVITY)
        before, place = place, place + step * speed
        left += before < 0.0 <= place
        time += step
    assert collisions.bounce_time() == pytest.approx(time, abs=1e-3)


def test_stick_and_slip_take_the_time_of_their_equation_of_motion() -> None:
    mass_gravity, belt = GRAVITY, rubbing.BELT
    place, speed, sticks, begins, step = 0.0, belt, True, [], 1e-5
    for i in range(400_000):
        if sticks:
            sticks = rubbing.SPRING * place < rubbing.STICK * mass_gravity
            if not sticks:
                begins.append(i * step)
        else:
            speed += step * (rubbing.SLIP * mass_gravity - rubbing.SPRING * place)
            if speed >= belt:
                sticks, speed = True, belt
        place += step * speed
    assert rubbing.stick_slip_period() == pytest.approx(float(np.diff(begins)[-1]), rel=1e-3)


def test_long_periods_become_short_ones_for_small_swings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rigid, "BIG", 1e-3)
    assert rigid.big_period() == pytest.approx(2 * math.pi / math.sqrt(GRAVITY), rel=1e-4)
    monkeypatch.setattr(oscillators, "DUFFING", (10.0, 0.0))
    assert oscillators.duffing_period() == pytest.approx(2 * math.pi / math.sqrt(10.0))


def test_the_slowest_mode_of_three_masses_is_the_textbook_s() -> None:
    frequency, springs = oscillators.slowest_mode()
    assert frequency == pytest.approx(2 * 10 * math.sin(math.pi / 14))
    assert springs.sum() == pytest.approx(1.0)


def test_bars_of_many_layers_exchange_their_speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert soft_impacts.bounced_speed() == pytest.approx(soft_impacts.BOUNCED, abs=1e-4)
    assert soft_impacts.collided_speed() == pytest.approx(soft_impacts.COLLIDED, abs=1e-4)
    monkeypatch.setattr(soft_impacts, "HIT_CELLS", 40)
    monkeypatch.setattr(soft_impacts, "HIT_EDGE", 0.0125)
    monkeypatch.setattr(soft_impacts, "HIT_LAYER", 0.0125)
    assert soft_impacts.bounced_speed() == pytest.approx(1.0, abs=0.05)
    assert soft_impacts.collided_speed() == pytest.approx(1.0, abs=0.03)


def test_cloth_of_many_rows_hangs_as_a_membrane_and_swings_as_bernoulli_s_chain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fabrics, "SPAN_ROWS", 401)
    monkeypatch.setattr(fabrics, "SPAN_EDGE", 1.0 / 400)
    # A shallow arc is 8 s²/3 longer than its span, and its tension is m g/8 s.
    sag = (3 * fabrics.MEMBRANE * GRAVITY / (64 * fabrics.TENSILE)) ** (1 / 3)
    assert fabrics.membrane_sag() == pytest.approx(sag, rel=0.01)
    monkeypatch.setattr(fabrics, "ROWS", 401)
    monkeypatch.setattr(fabrics, "ROW_EDGE", 1.0 / 400)
    first = 2.404825557695773  # of Bessel's J_0
    assert fabrics.strip_mode()[0] == pytest.approx(0.5 * first * math.sqrt(GRAVITY), rel=2e-3)


def test_a_bar_s_slowest_vibration_is_a_quarter_of_a_wave() -> None:
    bar = soft_bodies
    speed = math.sqrt(bar.BAR_YOUNG * bar.AREA * bar.EDGE / bar.LAYER)
    assert bar.bar_mode()[0] == pytest.approx(0.5 * math.pi * speed, rel=0.06)


def test_a_taut_rope_of_many_edges_swings_as_a_quarter_of_a_wave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ropes, "EDGES", 1000)
    monkeypatch.setattr(ropes, "EDGE", 1e-3)
    monkeypatch.setattr(ropes, "BEAD", 1e-3)
    assert ropes.taut_period() == pytest.approx(4 / math.sqrt(ropes.TENSION), rel=1e-3)


def test_a_rope_of_many_edges_hangs_as_a_catenary(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.optimize import brentq

    monkeypatch.setattr(ropes, "HUNG_EDGES", 1000)
    scale = brentq(lambda a: 2 * a * math.sinh(ropes.SPAN / (2 * a)) - 1.0, 0.05, 10.0)
    sag = scale * (math.cosh(ropes.SPAN / (2 * scale)) - 1)
    assert ropes.rope_sag() == pytest.approx(sag, rel=1e-3)


def test_a_sprung_rod_that_hardly_swings_has_the_frequency_of_its_stiffness(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(motors, "SWING", 1e-3)
    stiffness = motors.SPRING * motors.ANCHOR * motors.ARM
    expected = 2 * math.pi * math.sqrt(motors.TURNED / stiffness)
    assert motors.swing_period() == pytest.approx(expected, rel=1e-6)


def test_an_arm_on_the_trunk_s_centre_turns_it_by_a_share_of_its_own_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flight, "SHOULDER", 0.0)
    reduced = flight.TRUNK * flight.ARM / (flight.TRUNK + flight.ARM)
    arm = flight.ARM_INERTIA + reduced * flight.CENTRE**2
    share = arm / (arm + flight.TRUNK_INERTIA)
    assert flight.trunk_turn() == pytest.approx(-share * flight.SWUNG)


def test_a_little_force_bends_a_rod_by_a_third_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fabrics, "LOAD", 1e-2)
    assert fabrics.elastica() == pytest.approx(1e-2 / 3, rel=1e-3)


class _Radau(Simulate):
    """MuJoCo's accelerations, integrated by an implicit Runge–Kutta method of fifth order."""

    def run(self, world: World, duration: float, given: Given) -> Record:
        from scipy.integrate import solve_ivp

        model = world.model()
        data = mujoco.MjData(model)
        places = min(model.nq, model.nv) if model.nq == model.nv else 3  # a ball does not turn

        def rate(_: float, state: np.ndarray) -> np.ndarray:
            data.qpos[:places], data.qvel[:places] = np.split(state, 2)
            mujoco.mj_forward(model, data)
            np.testing.assert_allclose(data.qacc[places:], 0.0, atol=1e-12)
            return np.concatenate([state[places:], data.qacc[:places]])

        qpos = model.qpos0 if given.qpos is None else np.array(given.qpos, float)
        qvel = np.zeros(model.nv) if given.qvel is None else np.array(given.qvel, float)
        start = np.concatenate([qpos[:places], qvel[:places]])
        options = {"method": "Radau", "rtol": 1e-9, "atol": 1e-12, "max_step": 0.01}
        found = solve_ivp(rate, (0, duration), start, **options)
        return Record(model, found.t, *np.split(found.y.T, 2, axis=1))


@pytest.mark.parametrize("name", ["damped-sliders", "damped-links", "honey", "shot", "play"])
def test_truths_of_light_bodies_are_those_of_an_implicit_runge_kutta_method(name: str) -> None:
    case = CASES[name]
    assert case.measure(_Radau()) == pytest.approx(case.truth, abs=0.01 * case.tolerance)


def test_a_bar_is_caught_as_by_a_stiff_and_overdamped_spring() -> None:
    from scipy.integrate import solve_ivp

    arm, inertia = impacts.ARM, impacts.BAR**2 / 12

    def rate(_: float, state: np.ndarray) -> list[float]:
        x, z, angle, u, w, spin = state
        c, s = arm * math.cos(angle), arm * math.sin(angle)
        right = -1e8 * (x - c + arm) - 2e5 * (u + s * spin)
        up = -1e8 * (z + s) - 2e5 * (w + c * spin)
        return [u, w, spin, right, up - GRAVITY, (s * right + c * up) / inertia]

    fall = math.sqrt(2 * impacts.FALL / GRAVITY)
    start = [0.0, 0.0, 0.0, 0.0, -GRAVITY * fall, 0.0]
    run = solve_ivp(rate, (0, impacts.CAUGHT - fall), start, method="Radau", rtol=1e-9, atol=1e-12)
    assert math.degrees(run.y[2, -1]) == pytest.approx(impacts.caught_angle(), abs=0.05)


# -- the machinery ---------------------------------------------------------------------------------

BALL = World("<body><freejoint/><geom size='.1' mass='1'/></body>")


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize(
    "simulate",
    [AsperitySimulate(asp.Icf(time_step=2e-3)), MujocoSimulate()],
    ids=["asperity", "mujoco"],
)
def test_engines_record_every_step_and_apply_forces_at_the_centre(simulate: Simulate) -> None:
    world = World(
        "<body name='push'><freejoint/><inertial pos='0 .5 0' mass='2' diaginertia='1 1 1'/></body>",
        gravity=(0.0, 0.0, 0.0),
    )
    run = simulate(world, 0.1, forces={"push": [3, 0, 0, 0, 0, 0]})
    np.testing.assert_allclose(run.time, np.arange(51) * 2e-3, atol=1e-12)
    assert run.qvel[-1] == pytest.approx([0.15, 0, 0, 0, 0, 0], abs=1e-9)
    assert run.attempts is None


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize(
    "simulate",
    [AsperitySimulate(asp.Icf(time_step=2e-3)), MujocoSimulate()],
    ids=["asperity", "mujoco"],
)
def test_engines_hold_controls_over_a_period(simulate: Simulate) -> None:
    world = World(
        "<body><joint name='rail' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>",
        sections="<actuator><motor joint='rail'/></actuator>",
    )
    run = simulate(world, 0.2, drive=lambda time: [1.0 + time], period=0.1)
    assert run.qvel[-1, 0] == pytest.approx(0.1 * 1.0 + 0.1 * 1.1, abs=1e-9)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize(
    "simulate",
    [AsperitySimulate(asp.Icf(time_step=2e-3)), MujocoSimulate()],
    ids=["asperity", "mujoco"],
)
def test_engines_let_equalities_go_when_told_and_hold_them_in_the_next_run(
    simulate: Simulate,
) -> None:
    world = World(
        "<body name='load'><freejoint/><geom size='.1' mass='1'/></body>",
        sections="<equality><weld body1='load'/></equality>",
    )
    for _ in range(2):
        run = simulate(world, 0.3, period=0.1, release=0.1)
        assert run.at(0.1, 2) == pytest.approx(0.0, abs=2e-3)
        assert run.qvel[-1, 2] == pytest.approx(-0.2 * GRAVITY, abs=0.05)


def test_a_run_that_takes_too_long_is_broken_off() -> None:
    for simulate in (
        AsperitySimulate(asp.Icf(time_step=1e-6), Deadline(0.0)),
        MujocoSimulate(MujocoSetting(1e-6), Deadline(0.0)),
    ):
        with pytest.raises(OutOfTime):
            simulate(rest.resting_box(), 0.01)


def test_what_a_method_lacks_is_said() -> None:
    two = World(rest.resting_box().bodies, Contact(dynamic_friction=0.2))
    for simulate in (AsperitySimulate(asp.Tamsi()), MujocoSimulate()):
        with pytest.raises(NotApplicable, match="one coefficient of friction"):
            simulate(two, 0.01)
    spring = World(
        "<body><joint name='neck' type='ball' stiffness='10 0 100'/>"
        "<geom size='.05' mass='1'/></body>"
    )
    with pytest.raises(NotApplicable, match="Joint 'neck' has a spring"):
        AsperitySimulate(asp.Midas(time_step=0.01))(spring, 0.01)


def test_mujoco_steps_elasticity_by_its_own_integrator_for_it() -> None:
    """It refuses the implicit one, and Euler's would be explicit."""
    runs = [
        MujocoSimulate(MujocoSetting(2e-3, integrator))(soft_bodies.tumbling_bar(), 0.01)
        for integrator in ("Euler", "implicit", "discrete")
    ]
    assert all(np.array_equal(run.qpos, runs[-1].qpos) for run in runs)


def test_engines_without_deformable_bodies_say_so() -> None:
    class Engine(FixedSteps):
        def scene(self, world: World, model: mujoco.MjModel) -> Scene:
            raise AssertionError

    with pytest.raises(NotApplicable, match="no deformable bodies"):
        Engine(1e-3)(soft_bodies.tumbling_bar(), 0.01)
    with pytest.raises(NotApplicable, match="no equalities that let go"):
        Engine(1e-3)(BALL, 0.01, release=0.005)
    with pytest.raises(NotApplicable, match="is deformable, which Sap does not simulate"):
        AsperitySimulate(asp.Sap(time_step=1e-3))(soft_bodies.tumbling_bar(), 0.01)
    with pytest.raises(NotApplicable, match="no pressure fields"):
        AsperitySimulate(asp.Icf(time_step=1e-3), fields=True)(soft_bodies.soft_incline(), 0.01)


def test_a_simulation_that_stops_early_gives_no_number() -> None:
    coarse = AsperitySimulate(asp.Cenic(accuracy=1e-13, min_step=0.05))
    with pytest.raises(Stopped, match="step_too_small"):
        coarse(impacts.bouncing_ball(), 1.0)


def test_energy_of_a_record_is_that_of_its_states() -> None:
    from studies.benchmarks.verification.case import energies

    run = Record(
        BALL.model(),
        np.array([0.0, 1.0]),
        np.array([[0, 0, 2.0, 1, 0, 0, 0], [0, 0, 1.0, 1, 0, 0, 0]]),
        np.array([[0.0, 0, 0, 0, 0, 0], [0, 0, 3.0, 0, 0, 0]]),
    )
    assert isinstance(run.model, mujoco.MjModel)
    assert energies(run) == pytest.approx([2 * GRAVITY, GRAVITY + 4.5])
    assert run.at(0.25, 2) == pytest.approx(1.75)
    assert run.first(run.qpos[:, 2] < 1.5) == 1.0
    assert run.first(run.qpos[:, 2] < 0.5) == math.inf
