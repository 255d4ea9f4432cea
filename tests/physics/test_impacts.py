"""Impacts: what they cost in energy, how fast they rebound, and what they conserve."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY, Array, compile_mjcf, fixed, states
from scipy.integrate import solve_ivp

import asperity as asp

SCHEMES = [("icf", 1.0), ("step-doubling", 1.0), ("trapezoid", 2.0)]
STIFFNESS = 1e4  # contact of a kilogram lasts π/100 s
RADIUS = 0.1
# The error depends on where in a step the contact begins: average over that.
HEIGHTS = 0.08 + 0.04 * np.arange(12) / 12


def _balls() -> mujoco.MjModel:
    """Balls of a kilogram that fall along z, far from each other."""
    return compile_mjcf(
        "<geom type='plane' size='0 0 1'/>"
        + "".join(
            f"<body pos='{i} 0 {RADIUS}'><joint type='slide' axis='0 0 1'/>"
            f"<geom type='sphere' size='{RADIUS}' mass='1'/></body>"
            for i in range(len(HEIGHTS))
        )
    )


def _fall(height: float, dissipation: float, end: float) -> Array:
    """Height and velocity of a ball under gravity and the law of Hunt and Crossley."""

    def rate(_: float, state: Array) -> list[float]:
        depth = max(-state[0], 0.0)
        force = STIFFNESS * depth * max(1 - dissipation * state[1], 0.0)
        return [state[1], force - GRAVITY]

    solution = solve_ivp(
        rate, (0, end), [height, 0.0], method="DOP853", rtol=1e-11, atol=1e-13, max_step=1e-3
    )
    return np.asarray(solution.y[:, -1])


@pytest.mark.parametrize(("scheme", "order"), SCHEMES)
def test_without_dissipation_the_energy_error_shrinks_at_the_scheme_s_order(
    scheme: str, order: float
) -> None:
    model = _balls()
    contact = asp.ContactParameters(stiffness=STIFFNESS, dissipation=0.0)
    steps = np.array([1e-3, 5e-4, 2.5e-4, 1.25e-4])
    errors = []
    for step in steps:
        run = states(model, 0.35, fixed(scheme, float(step)), qpos=HEIGHTS, contact=contact)
        # All have bounced once and none twice; none touches at the end.
        q, v = run.qpos[-1], run.qvel[-1]
        assert np.all(run.qpos.min(axis=0) < 0)
        assert np.all(q > 0)
        change = 0.5 * v**2 + GRAVITY * (q - HEIGHTS)
        errors.append(math.sqrt(np.mean(change**2)))
        if order == 1.0:
            assert np.all(change < 0)  # an implicit scheme loses
    fit = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    # Twelve phases leave a scatter of a tenth or two in the order.
    assert order - 0.15 < fit < order + 0.35
    assert errors[-1] < (0.05 if order == 1.0 else 1e-4)


@pytest.mark.parametrize("dissipation", [0.2, 2.0])
@pytest.mark.parametrize(("scheme", "order"), SCHEMES)
def test_a_bounce_converges_to_the_law_of_hunt_and_crossley(
    scheme: str, order: float, dissipation: float
) -> None:
    model = _balls()
    contact = asp.ContactParameters(stiffness=STIFFNESS, dissipation=dissipation)
    end = 0.25
    exact = np.array([_fall(height, dissipation, end) for height in HEIGHTS])
    steps = np.array([1e-3, 5e-4, 2.5e-4, 1.25e-4])
    errors = []
    for step in steps:
        run = states(model, end, fixed(scheme, float(step)), qpos=HEIGHTS, contact=contact)
        errors.append(math.sqrt(np.mean((run.qvel[-1] - exact[:, 1]) ** 2)))
    fit = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order - 0.15 < fit < order + 0.35
    assert errors[-1] < (0.05 if order == 1.0 else 1e-3)


@pytest.mark.parametrize("speed", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize(
    "setting",
    [asp.Cenic(accuracy=1e-1), asp.Cenic(accuracy=1e-3), asp.Icf(time_step=1e-2)],
    ids=["cenic-1e-1", "cenic-1e-3", "icf-1e-2"],
)
def test_no_rebound_is_faster_than_the_inverse_of_the_dissipation(
    setting: asp.Cenic | asp.Icf, speed: float
) -> None:
    dissipation = 10.0
    model = compile_mjcf(
        "<geom type='plane' size='0 0 1'/><body pos='0 0 0.1'><freejoint/>"
        "<geom type='sphere' size='0.1' mass='0.5'/></body>"
    )
    contact = asp.ContactParameters(stiffness=1e5, dissipation=dissipation)
    run = states(
        model,
        1.0,
        setting,
        qpos=[0, 0, 0.3, 1, 0, 0, 0],
        qvel=[0, 0, -speed, 0, 0, 0],
        contact=contact,
    )
    assert run.qpos[:, 2].min() < 0.1 + 1e-3  # it has touched
    # Extrapolation of a resolved rebound may end beyond it, by far less than counts.
    assert run.qvel[:, 2].max() < (1.03 if isinstance(setting, asp.Cenic) else 1.0) / dissipation
    if isinstance(setting, asp.Cenic):
        # And it has not fallen through. (Fixed steps of 10 ms are a metre long at 100 m/s.)
        assert run.qpos[-1, 2] > 0.0


def _momenta(model: mujoco.MjModel, qpos: Array, qvel: Array) -> tuple[Array, Array]:
    """Linear momentum, and angular momentum about the origin."""
    data = mujoco.MjData(model)
    data.qpos, data.qvel = qpos, qvel
    mujoco.mj_forward(model, data)
    mujoco.mj_subtreeVel(model, data)
    centre = data.subtree_com[0]
    linear = model.body_subtreemass[0] * data.subtree_linvel[0]
    return linear, data.subtree_angmom[0] + np.cross(centre, linear)


def _pair(shape: str) -> mujoco.MjModel:
    size = "0.1 0.1 0.1" if shape == "sphere" else "0.12 0.09 0.1"
    return compile_mjcf(
        "".join(
            f"<body pos='{x} 0 0'><freejoint/>"
            f"<geom type='{shape}' size='{size}' mass='{mass}' friction='0.7'/></body>"
            for x, mass in ((-0.25, 1.0), (0.25, 2.5))
        ),
        option="gravity='0 0 0'",
    )


def _collision_course(seed: int) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    qpos = np.zeros(14)
    for i, x in enumerate((-0.25, 0.25)):
        qpos[7 * i : 7 * i + 3] = np.array([x, 0, 0]) + random.uniform(-0.03, 0.03, 3)
        turn = random.normal(size=4)
        qpos[7 * i + 3 : 7 * i + 7] = turn / np.linalg.norm(turn)
    qvel = random.uniform(-0.2, 0.2, 12)
    qvel[0] += 2.0
    qvel[6] -= 2.0
    qvel[[3, 4, 5, 9, 10, 11]] *= 10
    return qpos, qvel


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", ["sphere", "box"])
@pytest.mark.parametrize(
    "setting",
    [asp.Icf(time_step=1e-3, resolve_impacts=False), asp.Cenic(accuracy=1e-3)],
    ids=["icf", "cenic"],
)
def test_a_collision_conserves_momentum(
    setting: asp.Cenic | asp.Icf, shape: str, seed: int
) -> None:
    model = _pair(shape)
    qpos, qvel = _collision_course(seed)
    run = states(model, 0.3, setting, qpos=qpos, qvel=qvel)
    before = _momenta(model, qpos, qvel)
    after = _momenta(model, run.qpos[-1], run.qvel[-1])
    # It was a real collision: the first body has given up most of its speed.
    assert run.qvel[-1, 0] < 1.0
    # Newton's steps keep linear momentum, because uniform motion is not seen by the contacts; what
    # is left is the solver's tolerance times √m.
    tolerance = 1e-8 if isinstance(setting, asp.Icf) else 1e-6
    np.testing.assert_allclose(after[0], before[0], atol=20 * tolerance)
    if shape == "sphere":
        # r × v does not change when r moves along v, and the inertia is isotropic.
        np.testing.assert_allclose(after[1], before[1], atol=20 * tolerance)


@pytest.mark.parametrize("seed", range(2))
def test_angular_momentum_of_tumbling_boxes_converges(seed: int) -> None:
    model = _pair("box")
    qpos, qvel = _collision_course(seed)
    before = _momenta(model, qpos, qvel)[1]
    errors = []
    for step in (1e-3, 1e-4):
        setting = asp.Icf(time_step=step, resolve_impacts=False)
        run = states(model, 0.3, setting, qpos=qpos, qvel=qvel)
        after = _momenta(model, run.qpos[-1], run.qvel[-1])[1]
        errors.append(np.linalg.norm(after - before))
    # First order: the inertia turns by ω h within a step.
    assert errors[1] < 0.2 * errors[0]


@pytest.mark.parametrize("seed", range(4))
def test_contact_forces_on_two_bodies_are_opposite(seed: int) -> None:
    model = _pair("box")
    qpos, qvel = _collision_course(seed)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3, tolerance=1e-12))
    sim.data.qpos, sim.data.qvel = qpos, qvel
    seen = 0
    for _ in range(300):
        sim.step()
        contacts = sim.contacts
        if len(contacts.force) == 0 or not np.any(contacts.normal_force > 1.0):
            continue
        seen += 1
        force = contacts.force.sum(axis=0)
        # qfrc_constraint of free joints starts with the force on the body in world axes.
        np.testing.assert_allclose(sim.data.qfrc_constraint[6:9], force, rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(sim.data.qfrc_constraint[:3], -force, rtol=1e-10, atol=1e-9)
        # Newton's second law over the next step.
        mass = model.body_mass[1:]
        np.testing.assert_allclose(mass[1] * sim.data.qacc[6:9], force, rtol=1e-6, atol=1e-6)
        # Friction opposes slip and never exceeds μ N.
        tangential = contacts.force - contacts.normal_force[:, None] * contacts.normal
        assert np.all(contacts.normal_force >= 0)
        # The lagged normal force bounds it; it changes by less than half within a millisecond or
        # else the contact is about to open.
        assert np.linalg.norm(tangential, axis=1).sum() < 0.7 * 2 * contacts.normal_force.sum()
    assert seen > 3


@pytest.mark.parametrize("accuracy", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("speed", [1.0, 5.0, 10.0, 100.0, 500.0])
def test_a_fast_ball_does_not_pass_through_a_thin_wall(speed: float, accuracy: float) -> None:
    model = compile_mjcf(
        "<geom type='box' size='0.005 1 1'/><body pos='-1 0 0'><freejoint/>"
        "<geom size='0.02' mass='0.1'/></body>",
        option="gravity='0 0 0'",
    )
    run = states(model, 2.5 / speed, asp.Cenic(accuracy=accuracy), qvel=[speed, 0, 0, 0, 0, 0])
    # It is stopped by the wall at −5 mm and thrown back; until then it overlaps a little.
    assert run.qpos[:, 0].max() < 0.0
    assert run.qvel[-1, 0] < 0.0


def test_two_fast_balls_meet() -> None:
    model = compile_mjcf(
        "<body pos='-1 0 0'><freejoint/><geom size='0.02' mass='0.1'/></body>"
        "<body pos='1 0.01 0'><freejoint/><geom size='0.01' mass='0.1'/></body>",
        option="gravity='0 0 0'",
    )
    run = states(model, 0.1, asp.Cenic(accuracy=1e-3), qvel=[50, 0, 0, 0, 0, 0, -50, 0, 0, 0, 0, 0])
    # A glancing blow deflects both; without it they would keep their courses.
    assert abs(run.qvel[-1, 1]) > 1.0
    assert run.qvel[-1, 1] == pytest.approx(-run.qvel[-1, 7], abs=1e-9)


def test_the_end_of_a_whirling_rod_hits_a_small_ball() -> None:
    model = compile_mjcf(
        "<body><joint axis='0 0 1'/><geom type='capsule' size='0.01' fromto='0 0 0 1 0 0' "
        "mass='1'/></body><body pos='0.69 0.69 0'><freejoint/><geom size='0.01' mass='0.01'/>"
        "</body>",
        option="gravity='0 0 0'",
    )
    run = states(model, 0.1, asp.Cenic(accuracy=1e-2), qvel=[40.0, 0, 0, 0, 0, 0, 0])
    assert np.linalg.norm(run.qvel[-1, 1:4]) > 20.0


def test_geoms_that_do_not_collide_pass_each_other_in_long_steps() -> None:
    scene = (
        "<geom type='box' size='0.005 1 1' contype='2' conaffinity='2'/><body pos='-1 0 0'>"
        "<freejoint/><geom size='0.02' mass='0.1'/></body>"
    )
    model = compile_mjcf(scene, option="gravity='0 0 0'")
    with pytest.warns(asp.AsperityWarning, match="Nothing can collide"):
        sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3))
    sim.data.qvel[0] = 10.0
    sim.advance_to(1.0)
    assert sim.data.qpos[0] == pytest.approx(9.0, abs=1e-9)
    assert sim.stats.rejections == 0


def test_a_fast_body_goes_no_deeper_than_the_accuracy_allows() -> None:
    model = compile_mjcf(
        "<geom type='plane' size='0 0 1'/><body pos='0 0 0.6'><freejoint/>"
        "<geom size='0.1' mass='1'/></body>"
    )

    def depth(accuracy: float) -> float:
        run = states(model, 0.1, asp.Cenic(accuracy=accuracy), qvel=[0, 0, -10, 0, 0, 0])
        return float(np.max(0.1 - run.qpos[:, 2]))

    exact = depth(1e-6)
    assert 1e-3 < exact < 10.0 * np.sqrt(1.0 / 1e5)  # the bound is that without dissipation
    for accuracy in (1e-2, 1e-3, 1e-4):
        assert depth(accuracy) < exact + accuracy


@pytest.mark.parametrize("accuracy", [1e-1, 1e-2, 1e-3, 1e-4])
def test_the_trapezoid_does_not_launch_a_box(accuracy: float) -> None:
    # A force of the beginning that acts for half a long step would give stiff contact energy.
    model = compile_mjcf(
        "<geom type='plane' size='0 0 1'/><body pos='0 0 0.11'><freejoint/>"
        "<geom type='box' size='0.1 0.1 0.1' mass='2'/></body>"
    )
    run = states(model, 10.0, asp.Cenic(accuracy=accuracy, error_estimate="trapezoid"))
    assert run.qpos[:, 2].max() < 0.12
    assert run.qpos[-1, 2] == pytest.approx(0.1 - 2.0 * 9.81 / 4e5, abs=1e-5)


def test_a_block_slides_to_rest_with_the_trapezoid_and_a_pendulum_beside_it_keeps_its_energy() -> (
    None
):
    model = compile_mjcf(
        "<geom type='plane' size='0 0 1'/><body pos='0 0 0.05'><freejoint/>"
        "<geom type='box' size='0.1 0.1 0.05' mass='2'/></body>"
        "<body pos='0 3 2'><joint axis='0 1 0'/><geom type='capsule' size='0.02' mass='1' "
        "fromto='0 0 0 0.5 0 0'/></body>"
    )
    integrator = asp.Cenic(accuracy=1e-3, error_estimate="trapezoid")
    contact = asp.ContactParameters(friction=0.4)
    sim = asp.Simulator(model, integrator=integrator, contact=contact)
    start = sum(sim.energy())
    sim.data.qvel[0] = 2.0
    assert sim.advance_to(2.0).success
    assert sim.data.qpos[0] == pytest.approx(2.0**2 / (2 * 0.4 * 9.81), rel=5e-3)
    # It moves no more than stiction lets it, and forwards or not at all.
    assert abs(sim.data.qvel[0]) < 1e-4
    # What is left is the pendulum's, whose swing is worth 2.45 J.
    assert sum(sim.energy()) == pytest.approx(start, abs=0.02)
