"""Contact of SAP and of the similar law: depth, slip, gliding, impacts, published forces."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY, compile_mjcf, on_plane, states

import asperity as asp
from asperity.errors import ArgumentError

RIGID = asp.ContactParameters(stiffness=1e12)
SCHEMES = ("symplectic-euler", "midpoint", "implicit-euler")


def point_mass(mass: float = 1.0) -> mujoco.MjModel:
    """A body that cannot turn, above a plane."""
    joints = "".join(f"<joint type='slide' axis='{axis}'/>" for axis in ("1 0 0", "0 1 0", "0 0 1"))
    return on_plane(f"type='sphere' size='0.1' mass='{mass}'", position="0 0 0.1", joint=joints)


@pytest.mark.parametrize("mass", [1e-2, 1e3])
@pytest.mark.parametrize("step", [1e-2, 1e-3])
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_near_rigid_penetration(beta: float, step: float, mass: float) -> None:
    integrator = asp.Sap(time_step=step, near_rigid=beta, relaxation_time=step, tolerance=1e-10)
    depth = -states(point_mass(mass), 200 * step, integrator, contact=RIGID).qpos[-1, 2]
    # γ_n = m g δt = φ/(R_n (δt + τ_d)) with R_n = β² w/(4π²), w = ‖1/m‖_F/3 = 1/(√3 m): whatever
    # the mass, about β² g δt²/(4π²).
    estimate = beta**2 * GRAVITY * step**2 / (4 * np.pi**2)
    assert depth == pytest.approx(2.0 / np.sqrt(3.0) * estimate, rel=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("relaxation", [0.02, 0.05])
def test_compliant_penetration(scheme: str, relaxation: float) -> None:
    integrator = asp.Sap(time_step=5e-3, theta_scheme=scheme, tolerance=1e-10)
    contact = asp.ContactParameters(stiffness=1e4, relaxation_time=relaxation)
    depth = -states(point_mass(), 2.0, integrator, contact=contact).qpos[-1, 2]
    assert depth == pytest.approx(GRAVITY / 1e4, rel=1e-6)


def test_relaxation_times() -> None:
    # A sphere that hits compliant ground loses the more, the longer the relaxation time; times of
    # the two sides add up, and one side's stands alone.
    def rebound(integrator: asp.Sap, **contact: object) -> float:
        parameters = asp.ContactParameters(stiffness=1e4, **contact)
        run = states(point_mass(), 0.2, integrator, qvel=[0, 0, -1.0], contact=parameters)
        return float(run.qvel[:, 2].max())

    fine = {"time_step": 1e-4}
    short = rebound(asp.Sap(relaxation_time=1e-3, **fine))
    long = rebound(asp.Sap(relaxation_time=5e-3, **fine))
    assert 0.1 < long < 0.8 * short < 0.8
    both = {
        "floor": asp.Material(relaxation_time=2e-3),
        "*": asp.Material(relaxation_time=3e-3),
    }
    sides = {"geoms": {"floor": both["floor"]}, "bodies": {"body": both["*"]}}
    assert rebound(asp.Sap(**fine), **sides) == pytest.approx(long, rel=1e-12)
    alone = {"geoms": {"floor": asp.Material(relaxation_time=5e-3)}}
    assert rebound(asp.Sap(relaxation_time=1.0, **fine), **alone) == pytest.approx(long, rel=1e-12)
    whole = rebound(asp.Sap(relaxation_time=1.0, **fine), relaxation_time=5e-3)
    assert whole == pytest.approx(long, rel=1e-12)


@pytest.mark.parametrize("step", [1e-2, 1e-3])
@pytest.mark.parametrize("sigma", [1e-3, 1e-4])
def test_slip_of_a_pushed_point_mass(step: float, sigma: float) -> None:
    model, friction, share = point_mass(), 0.5, 0.9
    sim = asp.Simulator(
        model,
        integrator=asp.Sap(
            time_step=step, slip_regularization=sigma, tolerance=1e-10, gliding=True
        ),
        contact=asp.ContactParameters(stiffness=1e12, friction=friction),
    )
    assert sim.advance_to(100 * step).success
    sim.data.qfrc_applied[0] = share * friction * GRAVITY
    assert sim.advance_to(300 * step).success
    # v_t = R_t γ_t with R_t = σ w.
    bound = sigma * friction * GRAVITY * step
    assert sim.data.qvel[0] == pytest.approx(share * bound / np.sqrt(3.0), rel=1e-5)
    sim.data.qfrc_applied[0] = 1.1 * friction * GRAVITY
    assert sim.advance_to(400 * step).success
    assert sim.data.qvel[0] > 5 * bound


@pytest.mark.parametrize("step", [1e-2, 2e-3, 5e-4])
@pytest.mark.parametrize("share", [0.05, 0.9])
def test_what_sticks_creeps_by_the_stiction_tolerance(step: float, share: float) -> None:
    """By the paper's law friction is linear up to its limit, at 3 µm/s, or at σ μ g δt if less."""
    friction = 0.5
    sim = asp.Simulator(
        point_mass(),
        integrator=asp.Sap(time_step=step, tolerance=1e-10, gliding=True),
        contact=asp.ContactParameters(stiffness=1e12, friction=friction),
    )
    assert sim.advance_to(100 * step).success
    sim.data.qfrc_applied[0] = share * friction * GRAVITY
    assert sim.advance_to(300 * step).success
    limit = min(3e-6, 1e-3 * friction * GRAVITY * step / np.sqrt(3.0))
    assert sim.data.qvel[0] == pytest.approx(share * limit, rel=1e-4)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_box_at_rest_and_pushed(scheme: str) -> None:
    mass, friction, step = 2.0, 0.5, 0.01
    sim = asp.Simulator(
        on_plane(f"type='box' size='0.1 0.1 0.05' mass='{mass}'", position="0 0 0.05"),
        integrator=asp.Sap(time_step=step, theta_scheme=scheme, relaxation_time=3 * step),
        contact=asp.ContactParameters(stiffness=1e12, friction=friction),
    )
    assert sim.advance_to(1.0).success
    assert np.abs(sim.data.qvel).max() < 1e-6
    force = sim.contacts.force.sum(axis=0)
    np.testing.assert_allclose(force, [0, 0, mass * GRAVITY], atol=1e-3)
    np.testing.assert_allclose(sim.data.qfrc_constraint[:3], force, atol=1e-12)
    np.testing.assert_allclose(sim.data.qacc[:3], 0.0, atol=1e-3)
    push = 0.8 * friction * mass * GRAVITY
    sim.data.qfrc_applied[0] = push
    assert sim.advance_to(2.0).success
    force = sim.contacts.force.sum(axis=0)
    np.testing.assert_allclose(force, [-push, 0, mass * GRAVITY], atol=1e-3)
    # v_s f/√(1 − f²) with f = 0.8.
    assert sim.data.qvel[0] == pytest.approx(3e-6 * 0.8 / 0.6, rel=1e-3)
    # MuJoCo's own reading of the published contact forces is the same.
    total = np.zeros(3)
    for i in range(sim.data.ncon):
        wrench = np.zeros(6)
        mujoco.mj_contactForce(sim.model, sim.data, i, wrench)
        total += sim.data.contact.frame[i].reshape(3, 3).T @ wrench[:3]
    np.testing.assert_allclose(np.abs(total), np.abs(force), atol=1e-9)


def test_midpoint_chatters_on_stiff_ground_only_below_its_relaxation_time() -> None:
    # One step takes (φ, δt v) to [[1 − s, ½], [−2s, 0]] of it with s = δt/(2 (δt + τ_d)), whose
    # eigenvalues are real, so that nothing bounces, for τ_d ≥ ((1 + √2)²/2 − 1) δt = 1.91 δt.
    model = on_plane("type='box' size='0.1 0.1 0.05' mass='2'", position="0 0 0.051")
    speeds = []
    for ratio in (1.0, 2.2):
        integrator = asp.Sap(theta_scheme="midpoint", relaxation_time=ratio * 0.01)
        run = states(model, 4.0, integrator, contact=RIGID)
        speeds.append(np.abs(run.qvel[-50:, 2]).max())
    assert speeds[0] > 1e-2
    assert speeds[1] < 1e-6


def sliding(integrator: asp.Icf | asp.Sap, friction: float = 0.3) -> tuple[float, float]:
    """Height at which a box slides, and its speed; contact acts as far as its law wants."""
    model = on_plane(
        "type='box' size='0.1 0.1 0.02' mass='2' margin='0.1' gap='0.1'", position="0 0 0.02"
    )
    contact = asp.ContactParameters(stiffness=1e6, dissipation=0.0, friction=friction)
    run = states(model, 0.4, integrator, qvel=[3.0, 0, 0, 0, 0, 0], contact=contact)
    return run.qpos[-1, 2] - 0.02, run.qvel[-1, 0]


@pytest.mark.parametrize("step", [0.01, 0.002])
@pytest.mark.parametrize("relaxation", [0.0, 0.01])
def test_gliding(step: float, relaxation: float) -> None:
    # SAP V-A: sliding bodies glide at (δt + τ_d) μ ‖v_t‖, less the penetration without slip.
    integrator = asp.Sap(time_step=step, relaxation_time=relaxation, gliding=True)
    height, speed = sliding(integrator)
    assert height == pytest.approx((step + relaxation) * 0.3 * speed, rel=0.03)
    height, speed = sliding(replace(integrator, gliding=False))
    assert -1e-4 < height < 0.0
    assert speed == pytest.approx(3.0 - 0.3 * GRAVITY * 0.4, rel=1e-3)


def test_the_similar_law_glides_and_the_lagged_one_does_not() -> None:
    step = 0.005
    height, speed = sliding(asp.Icf(time_step=step, friction_bound="similar"))
    assert height == pytest.approx(step * 0.3 * speed, rel=0.03)
    height, lagged_speed = sliding(asp.Icf(time_step=step, friction_bound="lagged"))
    assert -1e-4 < height < 0.0
    # There is no normal force yet that could limit friction in the first step.
    assert lagged_speed == pytest.approx(3.0 - 0.3 * GRAVITY * (0.4 - step), rel=1e-5)


@pytest.mark.parametrize("law", ["delivered", "lagged", "similar"])
def test_icf_laws_at_rest_and_pushed(law: str) -> None:
    sim = asp.Simulator(
        on_plane("type='box' size='0.1 0.1 0.05' mass='2'", position="0 0 0.05"),
        integrator=asp.Icf(time_step=0.002, friction_bound=law),
        contact=asp.ContactParameters(friction=0.5),
    )
    sim.data.qfrc_applied[0] = 0.9 * 0.5 * 2 * GRAVITY
    assert sim.advance_to(2.0).success
    force = sim.contacts.force.sum(axis=0)
    np.testing.assert_allclose(force, [-0.9 * GRAVITY, 0, 2 * GRAVITY], rtol=1e-3, atol=1e-3)
    # v_s f/√(1 − f²) with f = 0.9.
    assert sim.data.qvel[0] == pytest.approx(3e-6 * 0.9 / np.sqrt(1 - 0.81), rel=0.02)


def test_momentum_in_an_impact() -> None:
    spheres = "".join(
        f"<body pos='{x} {y} 0'><freejoint/><geom type='sphere' size='0.1' mass='{m}'/></body>"
        for x, y, m in ((0, 0, 1.0), (0.3, 0.05, 2.0))
    )
    model = compile_mjcf(spheres, option="gravity='0 0 0'")
    velocity = [2.0, 0, 0, 0, 0, 30.0, 0, 0, 0, 0, 0, 0]
    for scheme in SCHEMES:
        run = states(model, 0.5, asp.Sap(time_step=2e-3, theta_scheme=scheme), qvel=velocity)
        momentum = run.qvel[:, :3] + 2.0 * run.qvel[:, 6:9]
        np.testing.assert_allclose(momentum, np.tile([2.0, 0, 0], (len(momentum), 1)), atol=1e-11)
        assert run.qvel[-1, 6] > 0.3  # they met


ROBOT = """
<mujoco>
  <worldbody>
    <geom name='floor' type='plane' size='0 0 1'/>
    <body pos='0 0 1'>
      <joint name='shoulder' axis='0 1 0' range='-60 60' damping='0.2' armature='0.01'/>
      <geom type='capsule' fromto='0 0 0 0.3 0 0' size='0.03' mass='1' contype='0' conaffinity='0'/>
      <body pos='0.3 0 0'>
        <joint name='elbow' axis='0 1 0' stiffness='2' damping='0.1' frictionloss='0.05'/>
        <geom type='capsule' fromto='0 0 0 0.3 0 0' size='0.03' mass='0.5' contype='0'
              conaffinity='0'/>
        <body pos='0.3 0 0'>
          <joint name='wrist' axis='0 1 0' range='-90 90'/>
          <geom type='capsule' fromto='0 0 0 0.1 0 0' size='0.03' mass='0.2' contype='0'
                conaffinity='0'/>
        </body>
      </body>
    </body>
    <body pos='0.7 0 0.1'><freejoint/>
      <geom type='box' size='0.1 0.1 0.1' mass='0.5'/></body>
  </worldbody>
  <equality><joint joint1='wrist' joint2='elbow' polycoef='0 0.5 0 0 0'/></equality>
  <actuator><position joint='elbow' kp='20' kv='1' forcerange='-5 5'/></actuator>
</mujoco>
"""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_robot_with_limits_equalities_and_servos(scheme: str) -> None:
    sim = asp.Simulator(ROBOT, integrator=asp.Sap(time_step=5e-3, theta_scheme=scheme))
    sim.data.ctrl[0] = 0.6
    report = sim.advance_to(3.0)
    assert report.success
    qpos = sim.data.qpos
    # The shoulder hangs on its limit, the wrist follows the elbow, and all have come to rest.
    assert qpos[0] == pytest.approx(np.pi / 3, abs=1e-3)
    assert qpos[2] == pytest.approx(0.5 * qpos[1], abs=1e-3)
    assert np.abs(sim.data.qvel).max() < 0.02
    reference = asp.Simulator(ROBOT, integrator=asp.Cenic(accuracy=1e-6))
    reference.data.ctrl[0] = 0.6
    reference.advance_to(3.0)
    np.testing.assert_allclose(qpos[:3], reference.data.qpos[:3], atol=5e-3)
    assert report.stats.iterations < 8 * report.stats.solves


def test_contact_that_nothing_can_move() -> None:
    # On the axis of its only hinge: the contact's inverse mass is zero.
    model = on_plane(
        "type='sphere' size='0.1' mass='1'",
        position="0 0 0.0999",
        joint="<joint type='hinge' axis='0 0 1'/>",
    )
    run = states(model, 0.1, asp.Sap(), qvel=[1.0], contact=RIGID)
    np.testing.assert_allclose(run.qvel, 1.0, rtol=1e-12)


def test_scaling_of_the_stopping_criterion() -> None:
    # Stiff joint springs weigh less where norms are scaled by A; the solution is the same.
    results = {}
    for scaling in ("mass", "system"):
        sim = asp.Simulator(
            ROBOT.replace("stiffness='2'", "stiffness='2e4'"),
            integrator=asp.Sap(time_step=5e-3, theta_scheme="implicit-euler", scaling=scaling),
        )
        sim.data.ctrl[0] = 0.6
        assert sim.advance_to(0.5).success
        problem = sim.session.world.problem
        at = problem.graph.block_start[0] + np.arange(3) * 4
        diagonal = problem.smooth.matrix[at] if scaling == "system" else sim.data.M[[0, 2, 5]]
        np.testing.assert_allclose(problem.smooth.mass_diagonal[:3], diagonal, rtol=1e-2)
        results[scaling] = sim.data.qpos.copy()
    np.testing.assert_allclose(results["mass"], results["system"], atol=1e-6)


@pytest.mark.parametrize("search", ["exact", "armijo"])
@pytest.mark.parametrize(
    ("sigma", "gliding", "most"), [(1e-3, True, 6), (None, True, 8), (None, False, 10)]
)
def test_pile_with_both_line_searches(
    search: str, sigma: float | None, gliding: bool, most: int
) -> None:
    bodies = "".join(
        f"<body pos='{0.02 * (i % 2)} 0 {0.11 + 0.21 * i}'><freejoint/>"
        f"<geom type='{'box' if i % 2 else 'sphere'}' size='0.1 0.1 0.1' mass='0.5'/></body>"
        for i in range(6)
    )
    model = compile_mjcf("<geom type='plane' size='0 0 1'/>" + bodies)
    integrator = asp.Sap(line_search=search, slip_regularization=sigma, gliding=gliding)
    sim = asp.Simulator(model, integrator=integrator, contact=RIGID)
    report = sim.advance_to(2.0)
    assert report.success
    assert report.stats.iterations < most * report.stats.solves
    height = sim.data.qpos.reshape(-1, 7)[:, 2]
    assert np.all(height > 0.095)


@pytest.mark.parametrize(
    ("option", "match"),
    [
        (
            {"theta_scheme": "trapezoid"},
            "theta_scheme 'trapezoid' is unknown; use one of explicit-euler",
        ),
        ({"line_search": "golden"}, "line_search 'golden'"),
        ({"scaling": "A"}, "scaling 'A' is unknown; use one of mass, system"),
        ({"near_rigid": 0.0}, "near_rigid must be a positive"),
        ({"slip_regularization": -1.0}, "slip_regularization"),
        ({"slip_regularization": 1e-3}, "give gliding=True, too"),
        ({"relaxation_time": -0.1}, "relaxation_time must be non-negative"),
        ({"relaxation_time": np.nan}, "relaxation_time must be non-negative"),
        ({"time_step": np.inf}, "time_step"),
        ({"tolerance": 0}, "tolerance"),
    ],
)
def test_bad_options(option: dict, match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        asp.Sap(**option)


def test_bad_law() -> None:
    with pytest.raises(
        ArgumentError, match="friction_bound 'sap' is unknown; use one of delivered,"
    ):
        asp.Icf(friction_bound="sap")


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-4])
def test_error_control_rests_in_few_steps(accuracy: float) -> None:
    model = on_plane("type='box' size='0.1 0.1 0.1' mass='1'", position="0 0 0.1")
    sim = asp.Simulator(
        model,
        integrator=asp.Sap(accuracy=accuracy),
        contact=asp.ContactParameters(stiffness=1e4),
    )
    assert sim.advance_to(5.0).success
    # Depth, m g/(4 k), and what near-rigid contact adds in steps as long as max_step.
    assert 0.0 < 0.1 - sim.data.qpos[2] < 1.1 * GRAVITY / 4e4 + 0.1 * accuracy
    assert np.abs(sim.data.qvel).max() < 5e-3
    # The largest step is 0.1 s; with the tightest accuracy near-rigid contact, which is another in
    # every step size, allows about 30 ms.
    assert sim.stats.steps < 250
    assert sim.stats.rejections < 250


def test_error_control_converges_to_tiny_steps() -> None:
    model = on_plane("type='sphere' size='0.1' mass='1'", position="0 0 0.5")
    contact = asp.ContactParameters(stiffness=1e4)

    def after_a_bounce(**options: float) -> tuple[float, int]:
        integrator = asp.Sap(relaxation_time=2e-3, **options)
        sim = asp.Simulator(model, integrator=integrator, contact=contact)
        assert sim.advance_to(0.45).success
        return float(sim.data.qpos[2]), sim.stats.steps

    exact, _ = after_a_bounce(time_step=1e-5)
    rough, fine, finer = (after_a_bounce(accuracy=accuracy) for accuracy in (1e-4, 1e-5, 1e-6))
    assert abs(finer[0] - exact) < 4e-3
    # Of first order in the step, whose square the accuracy bounds.
    assert 6.0 < abs(rough[0] - exact) / abs(finer[0] - exact) < 20.0
    assert 2.0 < fine[1] / rough[1] < 4.5
    assert finer[1] < 1500


def test_a_contact_that_moves_nothing_has_no_say() -> None:
    # Two capsules whose ends overlap in the ball joint between them.
    ends = []
    for collides in (0, 1):
        sim = asp.Simulator(
            f"""<mujoco><default><geom type="capsule" size="0.01" contype="{collides}"/></default>
            <worldbody><geom fromto="0 0 0 0 0 0.1"/>
              <body pos="0 0 0.1"><joint type="ball" damping="0.005"/>
                <geom fromto="0 0 0 0 0.1 0.1"/></body></worldbody></mujoco>""",
            integrator=asp.Sap(time_step=2e-3),
        )
        assert sim.advance_to(0.2).success
        ends.append(sim.data.qpos.copy())
        assert sim.data.ncon == collides
    assert np.linalg.norm(ends[0] - [1.0, 0.0, 0.0, 0.0]) > 0.1
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-9)
