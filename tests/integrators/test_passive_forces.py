"""Springs and dampers of tendons, nonlinear joints, muscles and fluids, faster than the steps."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity import derivatives
from asperity.plant.muscles import muscle_curves, muscle_slopes

STEPPED = (asp.Icf(time_step=0.01), asp.Sap(time_step=0.01), asp.Tamsi(time_step=0.01))
every_method = pytest.mark.parametrize(
    "method",
    [*STEPPED, asp.Cenic(), asp.Cenic(accuracy=1e-5)],
    ids=["icf", "sap", "tamsi", "cenic-3", "cenic-5"],
)
stepped = pytest.mark.parametrize("method", STEPPED, ids=lambda one: type(one).__name__)

# Two sliders of 1 kg that a tendon couples.
SLIDERS = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body><joint name="a" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body>
  <body pos="9 0 0"><joint name="b" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body>
  </worldbody><tendon><fixed {tendon}><joint joint="a" coef="1"/><joint joint="b" coef="-1"/>
  </fixed></tendon></mujoco>"""
# Two links of 10 g, whose end moves relative to a site above.
ARM = """<mujoco><worldbody><site name="top" pos="0 0 .3"/>
  <body><joint name="a" axis="0 1 0" {joint}/>
    <geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" mass=".01"/>
  <body pos=".1 0 0"><joint name="b" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" mass=".01"/>
    <site name="end" pos=".1 0 0"/></body></body></worldbody>
  <tendon><spatial name="t" {tendon}><site site="top"/><site site="end"/></spatial></tendon>
  <actuator>{actuator}</actuator></mujoco>"""
SITES = '<velocity site="end" refsite="top" gear="1 0 1 0 0 0" kv="500"/>'
ARMS = {
    "damper of a tendon": {"tendon": 'damping="500"'},
    "quadratic damper of a tendon": {"tendon": 'damping="0 500"'},
    "quadratic damper of a joint": {"joint": 'damping="0 .5"'},
    "damper of an actuator": {"actuator": '<motor tendon="t" damping="500"/>'},
    "servo between sites": {"actuator": SITES},
}
# A muscle that can pull with 10⁴ times the links' weight.
MUSCLE = {
    "actuator": '<general tendon="t" lengthrange=".1 .5" gaintype="muscle" biastype="muscle" '
    'gainprm=".6 1.2 500 1 .4 1.6 1.5 1.3 1.2" biasprm=".6 1.2 500 1 .4 1.6 1.5 1.3 1.2"/>'
}
# A plate that sinks in water, about to turn.
PLATE = """<mujoco><option density="1000" viscosity="1e-3" wind=".2 0 0"/><worldbody><body>
  <freejoint/><geom type="box" size=".1 .1 .0002" density="2000"/></body></worldbody></mujoco>"""
# A ball of 1 mm in honey, by Stokes' law.
HONEY = """<mujoco><option density="1000" viscosity="10" wind="{wind} 0 0"/><worldbody><body>
  <freejoint/><geom size="1e-3" density="2000" fluidshape="ellipsoid" fluidcoef="0 0 0 0 0"/>
  </body></worldbody></mujoco>"""
BALL = {"mass": 2000.0 * 4.0 / 3.0 * np.pi * 1e-9, "drag": 6.0 * np.pi * 10.0 * 1e-3}


def sliders(method: asp.Integrator, tendon: str, speed: tuple[float, float]) -> asp.Simulator:
    sim = asp.Simulator(SLIDERS.format(tendon=tendon), integrator=method)
    sim.data.qvel[:] = speed
    return sim


def arm(joint: str = "", tendon: str = "", actuator: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(ARM.format(joint=joint, tendon=tendon, actuator=actuator))


@every_method
def test_a_damper_of_a_tendon_stops_what_it_couples(method: asp.Integrator) -> None:
    """The sliders' mean velocity stays, and the difference decays within m/2b, 5 µs."""
    sim = sliders(method, 'damping="1e5"', (1.0, 0.0))
    sim.advance_to(0.2)
    np.testing.assert_allclose(sim.data.qvel, 0.5, rtol=1e-9)
    # Both have come half of m/2b times 1 m/s closer then.
    np.testing.assert_allclose(sim.data.qpos, [0.1 + 2.5e-6, 0.1 - 2.5e-6], rtol=1e-9)
    assert sim.stats.steps < 60


@every_method
def test_a_stiff_spring_of_a_tendon_keeps_what_it_couples_together(method: asp.Integrator) -> None:
    sim = sliders(method, 'stiffness="1e7" damping="10"', (1.0, 0.0))
    sim.advance_to(1.0)
    assert np.mean(sim.data.qpos) == pytest.approx(0.5, abs=1e-9)
    # It vibrates by v √(m/2k) at first.
    assert abs(sim.data.qpos[0] - sim.data.qpos[1]) < np.sqrt(1.0 / 2e7)


@stepped
def test_a_slow_spring_of_a_tendon_loses_no_energy(method: asp.Integrator) -> None:
    """Explicit springs keep it within ω δt/2; implicit ones would lose e^(−ω² δt t), a factor 7."""
    sim = sliders(method, 'stiffness="2"', (1.0, -1.0))
    sim.advance_to(50.0)
    energy = 0.5 * np.sum(sim.data.qvel**2) + (sim.data.qpos[0] - sim.data.qpos[1]) ** 2
    assert energy == pytest.approx(1.0, rel=0.011)


@stepped
@pytest.mark.parametrize("damping", [0.0, 30.0])
def test_a_step_feels_where_a_spring_s_play_ends(damping: float, method: asp.Integrator) -> None:
    """As implicit Euler does, from within the play, and from the spring back into it."""
    stiffness, step, play = 1e5, 0.01, 0.05
    tendon = f'stiffness="{stiffness}" damping="{damping}" springlength="-{play} {play}"'
    mass = 1.0 + 2.0 * step * damping  # twice, for the difference of the sliders
    for sign in (1.0, -1.0):
        sim = sliders(method, tendon, (sign, -sign))
        sim.data.qpos[0] = 0.04 * sign
        sim.step()
        speed = (2.0 - 2.0 * step * stiffness * (0.04 - play)) / (mass + 2.0 * step**2 * stiffness)
        apart = sign * (sim.data.qpos[0] - sim.data.qpos[1])
        assert apart == pytest.approx(0.04 + step * speed, abs=1e-12)
        sim.data.qpos[:] = 0.051 * sign, 0.0
        sim.data.qvel[:] = -sign, sign
        sim.step()
        np.testing.assert_allclose(sim.data.qvel, np.array([-sign, sign]) / mass, atol=1e-12)


@pytest.mark.parametrize("accuracy", [1e-3, 1e-4, 1e-5, 1e-6])
def test_error_control_sees_a_spring_at_the_end_of_its_play(accuracy: float) -> None:
    """The sliders come apart by 50 mm, swing in the spring for π/ω, and come back."""
    sim = sliders(
        asp.Cenic(accuracy=accuracy), 'stiffness="1e4" springlength="-.05 .05"', (1.0, -1.0)
    )
    sim.advance_to(0.08)
    apart = 0.05 - 2.0 * (0.08 - 0.025 - np.pi / np.sqrt(2e4))
    assert sim.data.qpos[0] - sim.data.qpos[1] == pytest.approx(apart, abs=10.0 * accuracy)
    np.testing.assert_allclose(sim.data.qvel, [-1.0, 1.0], atol=100.0 * accuracy)


@stepped
@pytest.mark.parametrize("kind", [*ARMS, "fluid"])
def test_steps_are_those_of_mujocos_implicit_integrator(kind: str, method: asp.Integrator) -> None:
    """``implicitfast`` has the same slopes of forces by velocities."""
    model = mujoco.MjModel.from_xml_string(PLATE) if kind == "fluid" else arm(**ARMS[kind])
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.timestep = 1e-3
    data = mujoco.MjData(model)
    data.qvel[:] = [0.5, 0.0, -0.5, 0.0, 3.0, 0.0] if kind == "fluid" else 1.0
    sim = asp.Simulator(model, integrator=type(method)(time_step=1e-3))
    sim.data.qvel[:] = data.qvel
    sim.advance_to(0.02)
    mujoco.mj_step(model, data, nstep=20)
    np.testing.assert_allclose(sim.data.qvel, data.qvel, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("accuracy", [1e-3, 1e-4, 1e-5])
def test_error_control_resolves_what_a_tendon_s_damper_lets_move(accuracy: float) -> None:
    """The links creep, by steps of first order: the error goes with the root of the accuracy.

    The reference is MuJoCo's implicit integrator in steps of 2 µs, whose own error is 2e-5.
    """
    model = arm(**ARMS["damper of a tendon"])
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, 2e-6
    data = mujoco.MjData(model)
    data.qvel[:] = 1.0
    mujoco.mj_step(model, data, nstep=150_000)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=accuracy))
    sim.data.qvel[:] = 1.0
    sim.advance_to(0.3)
    np.testing.assert_allclose(sim.data.qpos, data.qpos, atol=0.05 * np.sqrt(accuracy))
    assert sim.stats.steps < 2000


@every_method
def test_a_ball_sinks_in_honey_at_stokes_speed(method: asp.Integrator) -> None:
    """Its velocity beside the wind's decays within τ = 0.04 ms, over a distance of v τ."""
    sim = asp.Simulator(HONEY.format(wind=0.3), integrator=method)
    sim.data.qvel[:] = 0.5, 0.0, 0.0, 1.0, 0.0, 0.0
    sim.advance_to(0.5)
    sinking = -BALL["mass"] * 9.81 / BALL["drag"]
    np.testing.assert_allclose(sim.data.qvel[:3], [0.3, 0.0, sinking], atol=1e-9)
    np.testing.assert_allclose(sim.data.qvel[3:], 0.0, atol=1e-9)
    lag = BALL["mass"] / BALL["drag"]
    np.testing.assert_allclose(sim.data.qpos[0], 0.15 + 0.2 * lag, atol=1e-9)
    assert sim.stats.steps < 100


@stepped
@pytest.mark.parametrize("kind", [None, "muscle", 0.049, 0.06, 0.051])
def test_derivatives_know_passive_rows(kind: str | float | None, method: asp.Integrator) -> None:
    """Of a damper, a muscle, and a spring that a step runs into, presses, and leaves."""
    model = arm(**(ARMS["quadratic damper of a tendon"] if kind is None else MUSCLE))
    if isinstance(kind, float):
        tendon = 'stiffness="4e4 300" springlength="-.05 .05"'
        model = mujoco.MjModel.from_xml_string(SLIDERS.format(tendon=tendon))
    data = mujoco.MjData(model)
    data.qvel[:] = 1.0, -0.4
    data.ctrl[:] = 0.8
    if isinstance(kind, float):
        data.qpos[0] = kind
        data.qvel[:] *= -1.0 if kind == 0.051 else 1.0
    found = derivatives.linearize(model, data, integrator=method)
    size = 1e-5

    def end(change: np.ndarray) -> np.ndarray:
        sim = asp.Simulator(model, integrator=method)
        sim.data.qpos[:] = data.qpos + change[:2]
        sim.data.qvel[:] = data.qvel + change[2:]
        sim.data.ctrl[:] = data.ctrl
        sim.step()
        return np.concatenate([sim.data.qpos, sim.data.qvel])

    columns = [(end(size * e) - end(-size * e)) / (2.0 * size) for e in np.eye(4)]
    scale = np.abs(columns).max()
    np.testing.assert_allclose(found.A, np.transpose(columns), atol=1e-5 * scale)


@pytest.mark.parametrize("activation", [0.0, 0.7])
def test_slopes_of_muscles_are_those_of_their_forces(activation: float) -> None:
    model = arm(**MUSCLE)
    curves, size = muscle_curves(model, 0), 1e-7
    lengths = model.actuator_lengthrange[0], model.actuator_acc0[0]

    def pull(length: float, speed: float) -> float:
        gain = mujoco.mju_muscleGain(length, speed, *lengths, model.actuator_gainprm[0, :9])
        return -activation * gain - mujoco.mju_muscleBias(
            length, *lengths, model.actuator_biasprm[0, :9]
        )

    for length, speed in itertools.product(np.linspace(0.01, 0.99, 40), np.linspace(-1.5, 1, 12)):
        ends = [pull(length + way * size, speed) for way in (1.0, -1.0)]
        rates = [pull(length, speed + way * size) for way in (1.0, -1.0)]
        stiffness, damping = [(more - less) / (2.0 * size) for more, less in (ends, rates)]
        # Not less than up to where the muscle pulls with its passive force alone.
        fastest = -curves[0, 6] * curves[0, 2]
        if speed > fastest:
            to_end = (pull(length, speed) - pull(length, fastest)) / (speed - fastest)
            damping = max(damping, to_end)
        found = muscle_slopes(curves, length, speed, activation)
        np.testing.assert_allclose(found, [stiffness, damping], rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("start", [1.0, -1.0], ids=["stretched", "shortened"])
@pytest.mark.parametrize("method", [asp.Icf, asp.Sap, asp.Tamsi, asp.Cenic])
def test_a_strong_muscle_shortens_as_fast_as_it_can(
    method: type[asp.Integrator], start: float
) -> None:
    """Light links bear hardly any force; the reference is MuJoCo's in steps of 1 µs."""
    model = arm(**MUSCLE)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, 1e-6
    data = mujoco.MjData(model)
    setting = asp.Cenic() if method is asp.Cenic else method(time_step=5e-4)
    sim = asp.Simulator(model, integrator=setting)
    sim.data.qvel[:] = data.qvel[:] = start
    sim.data.ctrl[:] = data.ctrl[:] = 0.8
    sim.advance_to(0.02)
    mujoco.mj_step(model, data, nstep=20_000)
    np.testing.assert_allclose(sim.data.qpos, data.qpos, atol=4e-3)
    np.testing.assert_allclose(sim.data.qvel, data.qvel, rtol=0.012)
    assert sim.stats.steps < 60


def test_worlds_have_dampers_of_their_own() -> None:
    model = arm(**ARMS["damper of a tendon"])
    batch = asp.Batch(model, 2, integrator=asp.Icf(time_step=0.01), threads=1)
    batch.vary("tendon_damping")[:] = [[500.0], [50.0]]
    batch.qvel[:] = 1.0
    batch.step(20)
    for world, damping in enumerate((500.0, 50.0)):
        own = arm(tendon=f'damping="{damping}"')
        sim = asp.Simulator(own, integrator=asp.Icf(time_step=0.01))
        sim.data.qvel[:] = 1.0
        sim.advance_to(0.2)
        np.testing.assert_allclose(batch.qvel[world], sim.data.qvel, rtol=1e-9)
