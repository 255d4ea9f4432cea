"""Rebounds of fixed steps: as fast as the dissipation of contacts says, whatever the step."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from physics_models import compile_mjcf, on_plane
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import asperity as asp
from asperity.contact.restitution import linear_restitution

STIFFNESS = 1e5
BALL = "type='sphere' size='.1' mass='1'"
MAKERS = {
    "icf": lambda step: asp.Icf(time_step=step),
    "tamsi": lambda step: asp.Tamsi(time_step=step),
    "sap": lambda step: asp.Sap(time_step=step),
}
DROP, GRAVITY = 0.5, 9.81


def _top(integrator: asp.Integrator, height: float, contact: asp.ContactParameters) -> float:
    """How high a ball flies that has fallen from a height once [m]."""
    model = on_plane(BALL, position=f"0 0 {0.1 + height}")
    sim = asp.Simulator(model, integrator=integrator, contact=contact)
    down = math.sqrt(2.0 * height / GRAVITY)
    sim.advance_to(down + 0.02)
    top = 0.0
    while sim.data.qvel[2] > 0.0:
        sim.step()
        top = max(top, float(sim.data.qpos[2]) - 0.1)
    return top


@pytest.mark.parametrize("method", ["icf", "tamsi"])
@pytest.mark.parametrize("step", [1e-3, 1e-2])
@pytest.mark.parametrize("dissipation", [0.0, 0.2, 1.0])
def test_a_ball_bounces_as_hunt_and_crossley_say(
    method: str, step: float, dissipation: float
) -> None:
    """By the integral of u/(1 + d u) over the impact, from heights that steps meet in any phase."""
    contact = asp.ContactParameters(stiffness=1e7, dissipation=dissipation)
    for height in (0.5, 0.513, 0.527, 0.541):
        met = parts = math.sqrt(2.0 * GRAVITY * height)
        if dissipation > 0.0:

            def integral(u: float) -> float:
                return (u - math.log1p(dissipation * u) / dissipation) / dissipation

            most = (1.0 - 1e-13) / dissipation
            parts = brentq(lambda r, u=met: integral(u) - integral(-r), 0.0, most)
        expected = parts**2 / (2.0 * GRAVITY)
        # A step of 10 ms leads half a step beside the highest point at most, 1 mm below it.
        assert _top(MAKERS[method](step), height, contact) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("damping", [0.0, 0.05, 0.3, 0.7, 1.0, 1.5])
def test_the_restitution_of_linear_dissipation(damping: float) -> None:
    """Against the motion itself, which ends where the force does."""
    omega = 300.0

    def rate(_: float, state: np.ndarray) -> list[float]:
        return [state[1], -omega * omega * state[0] - 2.0 * damping * omega * state[1]]

    def force(_: float, state: np.ndarray) -> float:
        return omega * omega * state[0] + 2.0 * damping * omega * state[1]

    force.terminal, force.direction = True, -1.0
    start = [1e-9, 1.0]
    run = solve_ivp(rate, (0.0, 1.0), start, events=force, rtol=1e-10, atol=1e-13)
    assert linear_restitution(damping) == pytest.approx(-run.y[1, -1], abs=1e-6)


@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_sap_rebounds_by_its_relaxation_time(step: float) -> None:
    time = 1e-4
    contact = asp.ContactParameters(stiffness=STIFFNESS, relaxation_time=time)
    share = linear_restitution(0.5 * time * math.sqrt(STIFFNESS))
    found = _top(asp.Sap(time_step=step), DROP, contact)
    assert found == pytest.approx(share**2 * DROP, abs=1e-3)
    # As the paper's method, which damps it.
    damped = asp.Sap(time_step=step, resolve_impacts=False)
    assert _top(damped, DROP, contact) < 0.8 * found


def test_only_impacts_that_show_are_changed() -> None:
    def rebounds(step: float, dissipation: float, height: float) -> int:
        contact = asp.ContactParameters(stiffness=STIFFNESS, dissipation=dissipation)
        model = on_plane(BALL, position=f"0 0 {height}")
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=step), contact=contact)
        # The ball reaches the floor once.
        assert sim.advance_to(0.35).success
        return sim.stats.rebounds

    assert rebounds(1e-3, 0.0, 0.5) == 1
    assert rebounds(1e-2, 0.0, 0.5) == 1
    assert rebounds(1e-4, 0.0, 0.5) == 0  # a hundred steps in the impact
    assert rebounds(1e-4, 100.0, 0.5) == 0  # no rebound to lose
    assert rebounds(1e-3, 100.0, 0.5) == 1  # a step carries it deeper than its impact would
    assert rebounds(1e-3, 0.0, 0.1) == 0  # at rest


@pytest.mark.parametrize("method", ["icf", "tamsi", "sap"])
@pytest.mark.parametrize("step", [1e-3, 5e-3])
def test_elastic_balls_in_a_box_keep_their_energy(method: str, step: float) -> None:
    """Many collisions, some of several balls at once, add no energy and lose little."""
    generator = np.random.default_rng(3)
    walls = "".join(
        f"<geom type='plane' size='1 1 .1' pos='{x} {y} {z}' zaxis='{-x} {-y} {-z}'/>"
        for x, y, z in (0.5 * np.concatenate([np.eye(3), -np.eye(3)])).tolist()
    )
    places = [(x, y, z) for x in (-0.25, 0, 0.25) for y in (-0.25, 0, 0.25) for z in (-0.2, 0.2)]
    balls = "".join(
        f"<body pos='{x} {y} {z}'><freejoint/><geom size='.06' mass='1'/></body>"
        for x, y, z in places
    )
    model = compile_mjcf(walls + balls, option="gravity='0 0 0'")
    contact = asp.ContactParameters(
        stiffness=1e7, dissipation=0.0, relaxation_time=0.0, friction=0.0
    )
    sim = asp.Simulator(model, integrator=MAKERS[method](step), contact=contact)
    velocity = sim.data.qvel.reshape(-1, 6)
    velocity[:, :3] = generator.normal(size=(len(places), 3))
    before = float(np.sum(velocity[:, :3] ** 2))
    for _ in range(10):
        sim.advance_to(sim.data.time + 0.1)
        energy = float(np.sum(sim.data.qvel.reshape(-1, 6)[:, :3] ** 2))
        assert energy < 1.01 * before
    assert sim.stats.rebounds > 50
    assert energy > 0.9 * before


def test_friction_of_an_impact_is_limited_by_the_impulse_of_all_of_it() -> None:
    """Δv_x = −μ (1 + e) u of a ball that slides through its impact without spin to gain."""
    model = on_plane(BALL, position="0 0 .3", option="gravity='0 0 0'")
    contact = asp.ContactParameters(stiffness=1e7, dissipation=0.0, friction=0.1)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3), contact=contact)
    sim.data.qvel[:3] = 3.0, 0.0, -1.0
    sim.advance_to(0.4)
    assert sim.data.qvel[2] == pytest.approx(1.0, rel=1e-3)
    assert sim.data.qvel[0] == pytest.approx(3.0 - 0.1 * 2.0, rel=1e-3)


def test_a_robot_hands_on_what_hits_it() -> None:
    """A ball of 1 kg hits the end of a hinged rod elastically: by energy and angular momentum."""
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option gravity='0 0 0'/><worldbody>"
        "<body><joint type='hinge' axis='0 0 1'/>"
        "<geom type='capsule' size='.02' fromto='0 0 0 1 0 0' mass='3'/></body>"
        "<body pos='.9 -.2 0'><freejoint/><geom size='.05' mass='1'/></body>"
        "</worldbody></mujoco>"
    )
    contact = asp.ContactParameters(stiffness=1e7, dissipation=0.0, friction=0.0)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3), contact=contact)
    sim.data.qvel[:] = 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0
    mujoco.mj_forward(model, sim.data)
    inertia = float(sim.data.qM[0]) if hasattr(sim.data, "qM") else float(sim.data.M[0])
    sim.advance_to(0.3)
    arm = 0.9
    impulse = 2.0 / (1.0 + arm * arm / inertia)
    assert sim.data.qvel[2] == pytest.approx(1.0 - impulse, abs=0.01)
    assert sim.data.qvel[0] == pytest.approx(impulse * arm / inertia, abs=0.01)


def _after_a_fall_on_its_end(integrator: asp.Integrator, yaw: float) -> mujoco.MjData:
    """A rod without weight and friction, 0.09 s after an impact at 1 m/s on one end."""
    model = compile_mjcf(
        "<geom type='plane' size='1 1 1' friction='0 0 0'/>"
        f"<frame euler='0 0 {yaw}'><body pos='0 0 .2' euler='0 35 0'><freejoint/>"
        "<geom type='capsule' size='.02' fromto='-.2 0 0 .2 0 0' mass='.2' friction='0 0 0'/>"
        "</body></frame>",
        option="gravity='0 0 0'",
    )
    sim = asp.Simulator(
        model, integrator=integrator, contact=asp.ContactParameters(stiffness=1e5, dissipation=1.0)
    )
    sim.data.qvel[2] = -1.0
    sim.advance_to(0.15)
    return sim.data


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        (asp.Icf(time_step=1e-3), 5e-3),
        (asp.Tamsi(time_step=1e-3), 5e-3),
        (asp.Cenic(accuracy=1e-4), 5e-3),
        (asp.Sap(time_step=1e-3), None),
    ],
)
def test_a_rod_rebounds_from_its_end_whatever_its_direction(
    setting: asp.Integrator, error: float | None
) -> None:
    """By Hunt and Crossley's law and the inertia J M⁻¹ Jᵀ of the end, which has no axes of its own."""
    data = _after_a_fall_on_its_end(setting, 0.0)
    turned = _after_a_fall_on_its_end(setting, 40.0)
    np.testing.assert_allclose(turned.qvel[[2, 3, 4, 5]], data.qvel[[2, 3, 4, 5]], atol=1e-6)
    if error is None:  # another law of dissipation
        return
    model = data.model
    arm = 0.2 * math.cos(math.radians(35.0))
    mobility = 1.0 / model.body_mass[1] + arm**2 / model.body_inertia[1].max()
    parts = brentq(lambda r: (1.0 - math.log(2.0)) - (-r - math.log1p(-r)), 0.0, 1.0 - 1e-13)
    expected = -1.0 + (1.0 + parts) / mobility / model.body_mass[1]
    assert data.qvel[2] == pytest.approx(expected, abs=error)


@pytest.mark.parametrize("gravity", [0.0, 9.81])
@pytest.mark.parametrize("hinge", ["0", "-.3"])
@pytest.mark.parametrize("method", ["icf", "tamsi"])
def test_a_rod_of_two_hinged_halves_rebounds_from_its_tip(
    method: str, hinge: str, gravity: float
) -> None:
    """The tip by the law of its contact, and all else by its impulse p, Δv = M⁻¹ jᵀ p."""
    half = (
        "<geom type='capsule' size='.02' fromto='{} 0 0 {} 0 0' mass='.5' contype='0'"
        " conaffinity='0'/>"
    )
    model = compile_mjcf(
        "<geom type='box' size='.05 .3 .1' pos='.48 0 -.1'/><body pos='0 0 .0205'><freejoint/>"
        f"{half.format(-0.5, hinge)}<body><joint axis='0 1 0' pos='{hinge} 0 0'/>"
        f"{half.format(hinge, 0.46)}<geom type='sphere' size='.02' pos='.48 0 0' mass='.001'/>"
        "</body></body>",
        option=f"gravity='0 0 {-gravity}'",
    )
    met, dissipation = 1.0, 0.5
    contact = asp.ContactParameters(stiffness=1e7, dissipation=dissipation, friction=0.0)
    sim = asp.Simulator(model, integrator=MAKERS[method](1e-3), contact=contact)
    data = sim.data
    data.qvel[2] = -met
    sim.take_over()
    mujoco.mj_forward(model, data)
    row, mass = np.zeros((3, model.nv)), np.zeros((model.nv, model.nv))
    mujoco.mj_jac(model, data, row, None, np.array([0.48, 0.0, 0.0005]), 2)
    mujoco.mj_fullM(model, data, mass)
    response = np.linalg.solve(mass, row[2])
    sim.advance_to(0.002)
    # It meets the box half a millisecond after the beginning.
    met += 0.0005 * gravity

    def energy(speed: float) -> float:
        return (speed - math.log1p(dissipation * speed) / dissipation) / dissipation

    parts = brentq(lambda speed: energy(-speed) - energy(met), 0.0, 0.999 / dissipation)
    expected = (met + parts) / (row[2] @ response) * response
    expected[2] -= met + 0.0015 * gravity
    # Velocities of fixed steps are those of half a step before.
    atol = 0.01 * np.abs(expected).max()
    np.testing.assert_allclose(data.qvel, expected, atol=atol)


def test_derivatives_refuse_rebounds_by_name() -> None:
    model = on_plane(BALL, position="0 0 .1")
    contact = asp.ContactParameters(stiffness=1e7, dissipation=0.0)
    data = mujoco.MjData(model)
    data.qpos[2] = 0.0999
    data.qvel[2] = -1.0
    integrator = asp.Icf(time_step=1e-3)
    with pytest.raises(asp.SimulationError, match="resolve_impacts=False"):
        asp.derivatives.linearize(model, data, integrator=integrator, contact=contact)
    integrator = asp.Icf(time_step=1e-3, resolve_impacts=False)
    found = asp.derivatives.linearize(model, data, integrator=integrator, contact=contact)
    assert np.isfinite(found.A).all()


@pytest.mark.parametrize("method", ["icf", "tamsi"])
def test_springs_of_joints_keep_their_energy_in_fixed_steps(method: str) -> None:
    """A swing of 2 Hz for ten seconds; what swings faster than the step is damped, not unstable."""

    def energy(step: float, frequency: float) -> float:
        stiffness = (2.0 * math.pi * frequency) ** 2
        model = compile_mjcf(
            f"<body><joint type='slide' axis='1 0 0' stiffness='{stiffness}'/>"
            "<geom size='.1' mass='1'/></body>",
            option="gravity='0 0 0'",
        )
        sim = asp.Simulator(model, integrator=MAKERS[method](step))
        sim.data.qpos[0] = 0.1
        sim.advance_to(10.0)
        now = stiffness * sim.data.qpos[0] ** 2 + sim.data.qvel[0] ** 2
        return float(now / (stiffness * 0.01))

    assert energy(2e-3, 2.0) == pytest.approx(1.0, abs=0.02)
    assert energy(2e-3, 100.0) < 1e-3


# An arm of ten degrees of freedom whose capsule is about to touch its first body.
_ARM = """
<mujoco>
  <worldbody>
    <body pos=".127 .2518 .3079" quat="-.047317 -.79998 -.80296 -1.0828">
      <joint axis=".63829 -1.6948 -1.571" damping=".1005"/>
      <joint type="slide" axis="-.147 .89254 .1245" armature=".07868" frictionloss=".3647"
             limited="true" range="-.2827 .2528"/>
      <joint axis=".23835 -.60513 .18879" pos="-.016982 .042489 -.05171" armature=".06367"
             frictionloss=".3264" limited="true" range="-.6324 .3851"/>
      <geom type="ellipsoid" size=".02091 .02059 .02481" pos=".027952 -.0018017 .00054594"
            quat="-.019598 -.45449 -.51139 -1.0377" density="1438" friction=".339 .00565 0"
            condim="4"/>
      <body pos="-.016493 .024065 .063681" quat="1.421 -.27355 -.40117 .20057">
        <joint type="ball"/>
        <geom type="box" size=".06924 .04156 .03478" pos="-.0029712 -.008077 .029778"
              quat="-1.8951 -.38556 -.13825 1.4189" density="2319" contype="0" conaffinity="0"/>
        <body pos="-.0079884 -.097735 -.10553" quat=".37766 1.3378 .71299 .68512">
          <joint axis="-.7054 -1.1951 -.9894" pos="-.064219 -.022175 -.10216" stiffness="11.61"
                 springref=".2092"/>
          <geom type="cylinder" size=".03833 .03391" pos=".04534 -.036828 -.017767"
                quat=".855 .51783 -.85551 -.10903" density="1089" contype="0" conaffinity="0"/>
          <body pos=".064769 -.085573 .047662" quat="-.36715 -.071917 .064615 -.56404">
            <joint type="ball" stiffness="15.71" damping=".4058" armature=".01359"
                   limited="true" range="0 .887"/>
            <geom type="capsule" size=".05538 .06994" pos=".023176 -.050821 -.0037084"
                  quat=".26396 .62656 .34366 -.64074" density="2424" friction=".609 .00682 0"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
_ARM_QPOS = (
    *(-0.5561923129906604, 0.22872284631250916, 0.00672130296596165, 0.9792345368728242),
    *(-0.03613113049430384, 0.02789494151485215, -0.19752502485141546, 0.13849997586077692),
    *(0.999967213256873, -0.00654489415170587, 0.00115004268496519, -0.00463),
)
_ARM_QVEL = (
    *(-4.726446039714828, 0.74725007925113518, -2.7168950180987685e-07, -0.33239963374495485),
    *(0.49834375523478275, -3.9750629205954042, -0.25967149468884521, 0.083178150857634817),
    *(0.042063227954505872, -0.0965124664141992),
)


def test_an_arm_goes_no_farther_than_its_speed_allows() -> None:
    """Its solve ends with the whole Hessian, whose factors are not those of contact space."""
    sim = asp.Simulator(_ARM, integrator=asp.Icf(time_step=1e-3))
    start = np.array(_ARM_QPOS)
    sim.data.qpos[:] = start
    sim.data.qvel[:] = _ARM_QVEL
    sim.step()
    assert sim.contacts.normal_force.max() > 100.0
    way = np.zeros(sim.model.nv)
    mujoco.mj_differentiatePos(sim.model, way, 1.0, start, sim.data.qpos)
    fastest = max(np.abs(_ARM_QVEL).max(), np.abs(sim.data.qvel).max())
    assert np.abs(way).max() < 1.1 * fastest * 1e-3
