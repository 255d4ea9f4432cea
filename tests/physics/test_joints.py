"""Springs, dry friction, limits and equalities of joints and tendons."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY, Array, compile_mjcf, states

import asperity as asp

SETTINGS = [asp.Cenic(accuracy=1e-1), asp.Cenic(accuracy=1e-3), asp.Icf(time_step=1e-2)]
NAMES = ["cenic-1e-1", "cenic-1e-3", "icf-1e-2"]
ANY = pytest.mark.parametrize("setting", SETTINGS, ids=NAMES)

GHOST = "contype='0' conaffinity='0'"


def _hinge(attributes: str, mass: float = 1.0) -> mujoco.MjModel:
    """A bar of moment of inertia m/3 about its hinge, without gravity."""
    return compile_mjcf(
        f"<body><joint name='j' type='hinge' axis='0 1 0' {attributes}/>"
        f"<inertial pos='0 0 0' mass='{mass}' diaginertia='0.3 0.3 0.3'/></body>",
        option="gravity='0 0 0'",
    )


def _run(
    model: mujoco.MjModel, setting: asp.Cenic | asp.Icf, end: float, torque: float = 0.0
) -> asp.Simulator:
    sim = asp.Simulator(model, integrator=setting)
    if model.nv:
        sim.data.qfrc_applied[0] = torque
    assert sim.advance_to(end).success
    return sim


@ANY
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_limit_holds_against_a_torque(setting: asp.Cenic | asp.Icf, sign: float) -> None:
    model = _hinge("limited='true' range='-30 45'")
    sim = _run(model, setting, 5.0, sign * 20.0)
    # How far a near-rigid limit gives way depends on the step, so let the steps be equal.
    for k in range(1, 6):
        sim.advance_to(5.0 + 0.1 * k)
    bound = math.radians(45 if sign > 0 else -30)
    # The near-rigid law gives way by (β h/2π)² τ/I: 1.7e-6 rad at h = 10 ms, 4.2e-5 rad at half
    # steps of 50 ms.
    assert sign * sim.data.qpos[0] == pytest.approx(sign * bound, abs=1e-4)
    assert abs(sim.data.qvel[0]) < 1e-4
    assert sim.data.qfrc_constraint[0] == pytest.approx(-sign * 20.0, rel=1e-3)


@ANY
@pytest.mark.parametrize("speed", [1.0, 5.0, 20.0])
def test_hitting_a_limit_does_not_bounce(setting: asp.Cenic | asp.Icf, speed: float) -> None:
    model = _hinge("limited='true' range='-30 45'")
    run = states(model, 2.0, setting, qvel=[speed])
    # However long the step: the row sees the limit in advance.
    assert run.qpos.max() < math.radians(45) + 1e-2
    # The limit is critically damped within a fraction of a step: hardly any energy comes back.
    assert run.qvel.min() > -0.05 * speed
    energy = run.qvel[:, 0] ** 2
    assert np.all(np.diff(energy) <= 1e-6 * speed**2)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("start", [-29.0, 0.0, 44.0])
def test_a_joint_that_crosses_its_range_within_a_step_is_caught(sign: float, start: float) -> None:
    model = _hinge("limited='true' range='-30 45'")
    run = states(
        model, 0.1, asp.Icf(time_step=0.01), qpos=[math.radians(start)], qvel=[sign * 100.0]
    )
    assert run.qpos.max() < math.radians(45) + 1e-6
    assert run.qpos.min() > math.radians(-30) - 1e-6
    assert abs(run.qpos[-1, 0] - math.radians(45 if sign > 0 else -30)) < 1e-3


@ANY
@pytest.mark.parametrize("beyond", [0.01, 0.5])
def test_a_start_beyond_a_limit_is_no_explosion(
    setting: asp.Cenic | asp.Icf, beyond: float
) -> None:
    model = _hinge("limited='true' range='-30 45'")
    for sign, limit in ((1.0, math.radians(45)), (-1.0, math.radians(-30))):
        run = states(model, 2.0, setting, qpos=[limit + sign * beyond])
        outside = sign * (run.qpos[:, 0] - limit)
        # It comes back on an exponential of 0.1 s (0.2 s at steps of 0.1 s) and stays there.
        speed = np.abs(run.qvel[:, 0])
        assert speed.max() <= 1.001 * beyond / 0.1
        assert np.all(np.diff(outside) <= 1e-12)
        # Nor does it coast away: at most a hundredth of the speed is left, 1e-4 of the energy.
        assert abs(outside[-1]) < 2e-2 * beyond
        assert speed[-1] < 1e-2 * beyond / 0.1


def test_a_mass_leaves_a_limit_freely() -> None:
    # Pressed against its limit by 3 kg, then pulled off by as much: x = a t²/2 from the limit.
    model = compile_mjcf(
        "<body><joint type='slide' axis='0 0 1' limited='true' range='0 1'/>"
        f"<geom size='0.05' mass='3' {GHOST}/></body>"
    )
    for step in (1e-4, 1e-3, 1e-2):
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=step))
        assert sim.advance_to(0.5).success
        sim.data.qfrc_applied[0] = 6 * GRAVITY
        assert sim.advance_to(0.7).success
        assert sim.data.qvel[0] == pytest.approx(GRAVITY * 0.2, rel=1e-5)


def test_forces_of_both_limits_are_in_mujoco_s_rows() -> None:
    model = compile_mjcf(
        "<body><joint type='slide' axis='0 0 1' limited='true' range='-0.1 0.1' margin='1'/>"
        f"<geom size='0.05' mass='3' {GHOST}/></body>"
    )
    model.jnt_margin[:] = 0.05
    for pull, side in ((0.0, 0), (6 * GRAVITY, 1)):
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
        sim.data.qfrc_applied[0] = pull
        assert sim.advance_to(1.0).success
        # Held at the margin, from where on MuJoCo has a row; so near that round-off decides.
        assert sim.data.qpos[0] == pytest.approx(0.05 if side else -0.05, abs=1e-4)
        sim.data.qpos[0] += 1e-4 if side else -1e-4
        sim.advance_to(sim.time + 1e-3)
        assert sim.data.nefc == 1
        generalized = np.zeros(1)
        mujoco.mj_mulJacTVec(model, sim.data, generalized, sim.data.efc_force)
        assert generalized[0] == pytest.approx(sim.data.qfrc_constraint[0], rel=1e-12)
        assert abs(generalized[0]) > 1.0


@ANY
def test_a_slide_s_limit_carries_weight(setting: asp.Cenic | asp.Icf) -> None:
    model = compile_mjcf(
        "<body><joint type='slide' axis='0 0 1' limited='true' range='-0.1 0.1'/>"
        f"<geom size='0.05' mass='3' {GHOST}/></body>"
    )
    sim = _run(model, setting, 5.0)
    assert sim.data.qpos[0] == pytest.approx(-0.1, abs=1e-3)
    assert sim.data.qfrc_constraint[0] == pytest.approx(3 * GRAVITY, rel=1e-3)


def _hanging_ball(twist_inertia: float) -> mujoco.MjModel:
    """A kilogram that leans on the limit of a ball joint, 40° below the horizontal."""
    return compile_mjcf(
        "<body><joint type='ball' limited='true' range='0 40'/>"
        f"<inertial pos='0.25 0 0' mass='1' diaginertia='{twist_inertia} 0.02 0.02'/></body>"
    )


@ANY
def test_a_ball_joint_s_limit_holds(setting: asp.Cenic | asp.Icf) -> None:
    sim = _run(_hanging_ball(0.02), setting, 10.0)
    angle = 2 * math.acos(min(1.0, abs(sim.data.qpos[0])))
    # Gravity presses it against the limit, of which only the near-rigid compliance remains.
    assert math.degrees(angle) == pytest.approx(40.0, abs=0.5)
    assert np.abs(sim.data.qvel).max() < 1e-2


@pytest.mark.xfail(
    strict=True,
    reason="The direction of a limit's force is that of the beginning of the step, so that twist "
    "about a thin rod which leans on a ball joint's limit is unstable at long steps.",
)
def test_a_thin_rod_on_a_ball_joint_s_limit_does_not_start_to_spin() -> None:
    sim = asp.Simulator(_hanging_ball(2e-4), integrator=asp.Icf(time_step=0.05))
    assert sim.advance_to(5.0).success
    sim.data.qvel[0] = 1e-3
    for time in np.arange(6.0, 10.0):
        assert sim.advance_to(time).success
        assert abs(sim.data.qvel[0]) < 0.1


@pytest.mark.parametrize("speed", [1.0, 20.0, 100.0])
@pytest.mark.parametrize("start", [0.0, 0.3])
def test_a_ball_joint_does_not_pass_its_limit(speed: float, start: float) -> None:
    model = compile_mjcf(
        "<body><joint type='ball' limited='true' range='0 60'/>"
        "<inertial pos='0 0 0' mass='1' diaginertia='0.3 0.3 0.3'/></body>",
        option="gravity='0 0 0'",
    )
    axis = np.array([1.0, 2.0, -2.0]) / 3
    quaternion = np.array([math.cos(start / 2), *(math.sin(start / 2) * axis)])
    for sign in (1.0, -1.0):  # the same rotation, however it is written
        run = states(model, 0.5, asp.Icf(time_step=0.01), qpos=sign * quaternion, qvel=speed * axis)
        angle = 2 * np.arccos(np.minimum(1.0, np.abs(run.qpos[:, 0])))
        assert angle.max() < math.radians(60) + 1e-5
        if speed > 10.0:
            assert angle[-1] == pytest.approx(math.radians(60), abs=1e-3)
        else:
            assert angle[-1] == pytest.approx(start + 0.5 * speed, abs=1e-3)


def test_a_ball_joint_s_limit_acts_along_the_rotation_only() -> None:
    # At its limit about x: what turns it about x outward is stopped, spin about x inward is not,
    # and neither is a torque about the axes across, of which the angle does not grow at once.
    model = compile_mjcf(
        "<body><joint type='ball' limited='true' range='0 60'/>"
        "<inertial pos='0 0 0' mass='1' diaginertia='0.3 0.3 0.3'/></body>",
        option="gravity='0 0 0'",
    )
    quaternion = [math.cos(math.radians(30)), math.sin(math.radians(30)), 0, 0]
    for torque, expected in (([3, 0, 0], 0.0), ([-3, 0, 0], -0.01), ([0, 3, 0], 0.01)):
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
        sim.data.qpos[:] = quaternion
        sim.data.qfrc_applied[:] = torque
        assert sim.advance_to(1e-3).success
        moved = np.flatnonzero(torque)[0]
        assert sim.data.qvel[moved] == pytest.approx(expected, abs=1e-5)


@ANY
def test_dry_friction_sticks_below_its_torque(setting: asp.Cenic | asp.Icf) -> None:
    model = _hinge("frictionloss='2'")
    sim = _run(model, setting, 5.0, 1.8)
    # f s/√(s²+1) = 1.8 of 2: the creep is s = 0.9/√(1−0.81) stiction tolerances of 1e-5 rad/s.
    creep = 1e-5 * 0.9 / math.sqrt(1 - 0.81)
    assert sim.data.qvel[0] == pytest.approx(creep, rel=1e-2)
    assert sim.data.qpos[0] < 1.01 * creep * 5.0


def test_joint_stiction_tolerance_sets_the_creep() -> None:
    creep = []
    for tolerance in (1e-2, 1e-4):
        sim = asp.Simulator(_hinge("frictionloss='2'"), joint_stiction_tolerance=tolerance)
        sim.data.qfrc_applied[0] = 1.8
        assert sim.advance_to(2.0).success
        creep.append(sim.data.qvel[0])
    expected = np.array([1e-2, 1e-4]) * 0.9 / math.sqrt(1 - 0.81)
    np.testing.assert_allclose(creep, expected, rtol=1e-2)
    for wrong in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(asp.ArgumentError, match="joint_stiction_tolerance"):
            asp.Simulator(_hinge(""), joint_stiction_tolerance=wrong)


@ANY
def test_dry_friction_slides_above_its_torque(setting: asp.Cenic | asp.Icf) -> None:
    sim = _run(_hinge("frictionloss='2'"), setting, 2.0, 3.0)
    # (3 − 2) Nm on 0.3 kg m²; slower than 1e-2 rad/s, where friction is less, only for 3 ms.
    assert sim.data.qvel[0] == pytest.approx(1.0 / 0.3 * 2.0, rel=2e-3)


def test_damping_and_stiffness_of_a_ball_joint() -> None:
    # MuJoCo's spring of a ball joint pulls the rotation vector back; with isotropic inertia and no
    # gravity the angle is a damped oscillator.
    model = compile_mjcf(
        "<body><joint type='ball' stiffness='5' damping='0.2'/>"
        "<inertial pos='0 0 0' mass='1' diaginertia='0.05 0.05 0.05'/></body>",
        option="gravity='0 0 0'",
    )
    axis = np.array([1.0, 2.0, -2.0]) / 3
    start = 0.5
    decay, omega_0 = 0.2 / 0.1, math.sqrt(5 / 0.05)
    omega = math.sqrt(omega_0**2 - decay**2)
    end = 0.5
    exact = start * math.exp(-decay * end)
    exact *= math.cos(omega * end) + decay / omega * math.sin(omega * end)
    quaternion = np.array([math.cos(start / 2), *(math.sin(start / 2) * axis)])
    errors = []
    for step in (1e-3, 5e-4, 2.5e-4):
        run = states(model, end, asp.Icf(time_step=step), qpos=quaternion)
        turn = 2 * np.arctan2(run.qpos[-1, 1:] @ axis, run.qpos[-1, 0])
        errors.append(abs(turn - exact))
    np.testing.assert_allclose(np.diff(np.log(errors)), -math.log(2), atol=0.15)
    assert errors[-1] < 2e-2 * start
    # And a stiff one is stable at any step.
    model.jnt_stiffness[:] = 1e7
    run = states(model, 10.0, asp.Icf(time_step=0.05), qpos=quaternion)
    assert np.abs(run.qvel[-1]).max() < 1e-6


@ANY
def test_connect_holds_a_pendulum_together(setting: asp.Cenic | asp.Icf) -> None:
    # A free rod connected to the world at one end: a compound pendulum.
    model = compile_mjcf(
        "<body name='rod' pos='0 0 2'><freejoint/>"
        f"<geom type='capsule' fromto='0 0 0 0.5 0 0' size='0.02' mass='1' {GHOST}/></body>",
        sections="<equality><connect body1='rod' anchor='0 0 0'/></equality>",
    )
    run = states(model, 2.0, setting)
    assert np.abs(run.qpos[:, :3] - [0, 0, 2]).max() < 5e-3
    assert run.qpos[:, 4:].max() > 0.1  # it swings


def _energy_gain(model: mujoco.MjModel, run: asp.Trajectory) -> Array:
    data = mujoco.MjData(model)
    out = []
    for qpos, qvel in zip(run.qpos, run.qvel, strict=True):
        data.qpos, data.qvel = qpos, qvel
        mujoco.mj_forward(model, data)
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
        out.append(data.energy.sum())
    return np.asarray(out) - out[0]


def test_a_connected_rod_swings_like_a_hinged_one() -> None:
    rod = f"<geom type='capsule' fromto='0 0 0 0.5 0 0' size='0.02' mass='1' {GHOST}/></body>"
    free = compile_mjcf(
        "<body name='rod' pos='0 0 2'><freejoint/>" + rod,
        sections="<equality><connect body1='rod' anchor='0 0 0'/></equality>",
    )
    hinged = compile_mjcf("<body pos='0 0 2'><joint type='hinge' axis='0 1 0'/>" + rod)
    end = 1.0
    reference = states(hinged, end, asp.Icf(time_step=1e-5)).qpos[-1, 0]
    errors, gains = [], []
    for step in (2e-3, 1e-3, 5e-4):
        run = states(free, end, asp.Icf(time_step=step))
        q = run.qpos[-1, 3:]
        errors.append(abs(math.remainder(2 * math.atan2(q[2], q[0]) - reference, math.tau)))
        gains.append(np.abs(_energy_gain(free, run)).max())
    np.testing.assert_allclose(np.diff(np.log(errors)), -math.log(2), atol=0.3)
    np.testing.assert_allclose(np.diff(np.log(gains)), -math.log(2), atol=0.3)
    assert errors[-1] < 0.02
    assert gains[-1] < 0.01  # of 1.2 J that are exchanged


@ANY
def test_weld_holds_a_body_to_another(setting: asp.Cenic | asp.Icf) -> None:
    model = compile_mjcf(
        f"<body name='a' pos='0 0 1'><freejoint/><geom size='0.1' mass='1' {GHOST}/></body>"
        f"<body name='b' pos='0.5 0 1'><freejoint/><geom size='0.1' mass='2' {GHOST}/></body>",
        sections="<equality><weld body1='a' body2='b'/></equality>",
    )
    sim = asp.Simulator(model, integrator=setting)
    sim.data.qvel[3:6] = 0, 0, 3.0  # a spins; together they must turn about their common centre
    assert sim.advance_to(0.5).success
    gap = sim.data.xpos[2] - sim.data.xpos[1]
    assert np.linalg.norm(gap) == pytest.approx(0.5, abs=2e-3)
    turn = sim.data.xmat[1].reshape(3, 3).T @ gap
    np.testing.assert_allclose(turn, [0.5, 0, 0], atol=5e-3)
    centre = (sim.data.xpos[1] + 2 * sim.data.xpos[2]) / 3
    # The centre of mass falls freely: one step of the first-order scheme more.
    assert centre[0] == pytest.approx(1 / 3, abs=1e-6)


@ANY
def test_weld_to_a_mocap_body_follows_it(setting: asp.Cenic | asp.Icf) -> None:
    model = compile_mjcf(
        f"<body name='hand' mocap='true' pos='0 0 1'><geom size='0.02' {GHOST}/></body>"
        f"<body name='load' pos='0 0 1'><freejoint/><geom size='0.1' mass='5' {GHOST}/></body>",
        sections="<equality><weld body1='hand' body2='load'/></equality>",
    )
    sim = asp.Simulator(model, integrator=setting)
    for k in range(50):
        sim.data.mocap_pos[0] = 0.01 * k, 0, 1 + 0.005 * k
        assert sim.advance_to(0.02 * (k + 1)).success
    sim.advance_to(sim.time + 1.0)
    np.testing.assert_allclose(sim.data.qpos[:3], sim.data.mocap_pos[0], atol=1e-3)
    assert np.abs(sim.data.qvel).max() < 1e-2


@ANY
def test_a_weld_that_starts_elsewhere_comes_home_gently(setting: asp.Cenic | asp.Icf) -> None:
    model = compile_mjcf(
        f"<body name='hand' mocap='true'><geom size='0.02' {GHOST}/></body>"
        f"<body name='load'><freejoint/><geom size='0.1' mass='5' {GHOST}/></body>",
        option="gravity='0 0 0'",
        sections="<equality><weld body1='hand' body2='load'/></equality>",
    )
    run = states(model, 0.5, setting, qpos=[0.6, 0, 0, 1, 0, 0, 0])
    assert np.abs(run.qvel[:, 0]).max() <= 1.001 * 0.6 / 0.02
    assert run.qpos[:, 0].min() > -1e-3
    assert abs(run.qpos[-1, 0]) < 1e-4
    assert abs(run.qvel[-1, 0]) < 1e-2


def test_an_inactive_equality_does_nothing() -> None:
    model = compile_mjcf(
        f"<body name='a' pos='0 0 1'><freejoint/><geom size='0.1' mass='1' {GHOST}/></body>",
        sections="<equality><connect body1='a' anchor='0 0 0'/></equality>",
    )
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.01))
    sim.advance_to(0.5)
    assert sim.data.qpos[2] == pytest.approx(1.0, abs=1e-3)
    sim.data.eq_active[0] = 0
    before = sim.data.qvel[2]
    sim.advance_to(1.0)
    assert sim.data.qvel[2] - before == pytest.approx(-0.5 * GRAVITY, rel=1e-6)


@ANY
def test_a_joint_equality_couples_two_joints(setting: asp.Cenic | asp.Icf) -> None:
    # b = 0.1 + 0.5 a; torque on a alone accelerates the effective inertia I_a + 0.25 I_b.
    body = "<body pos='{x} 0 0'><joint name='{n}' type='hinge' axis='0 0 1'/>"
    body += "<inertial pos='0 0 0' mass='1' diaginertia='0.3 0.3 0.4'/></body>"
    model = compile_mjcf(
        body.format(x=0, n="a") + body.format(x=1, n="b"),
        option="gravity='0 0 0'",
        sections="<equality><joint joint1='b' joint2='a' polycoef='0.1 0.5 0 0 0'/></equality>",
    )
    sim = asp.Simulator(model, integrator=setting)
    sim.data.qpos[1] = 0.1
    sim.data.qfrc_applied[0] = 1.0
    assert sim.advance_to(1.0).success
    assert sim.data.qpos[1] == pytest.approx(0.1 + 0.5 * sim.data.qpos[0], abs=1e-4)
    assert sim.data.qvel[0] == pytest.approx(1.0 / (0.4 + 0.25 * 0.4), rel=1e-4)


@ANY
def test_a_tendon_limit_holds(setting: asp.Cenic | asp.Icf) -> None:
    # A mass on a rope of one metre falls and is caught.
    model = compile_mjcf(
        "<site name='top' pos='0 0 2'/>"
        "<body name='m' pos='0 0 1.5'><freejoint/><site name='end'/>"
        f"<geom size='0.05' mass='2' {GHOST}/></body>",
        sections="<tendon><spatial limited='true' range='0 1'><site site='top'/><site site='end'/>"
        "</spatial></tendon>",
    )
    sim = _run(model, setting, 5.0)
    # Found at the step that stretches it; at rest only the compliance of a near-rigid row is left.
    assert sim.data.ten_length[0] == pytest.approx(1.0, abs=1e-3)
    assert np.abs(sim.data.qvel).max() < 1e-2


@ANY
def test_tendon_friction_sticks_and_slides(setting: asp.Cenic | asp.Icf) -> None:
    model = compile_mjcf(
        "<body><joint name='x' type='slide' axis='1 0 0'/>"
        f"<geom size='0.05' mass='2' {GHOST}/></body>",
        sections="<tendon><fixed frictionloss='3'><joint joint='x' coef='2'/></fixed></tendon>",
    )
    # Through the coefficient 2 the tendon's 3 N are 6 N at the joint.
    assert abs(_run(model, setting, 1.0, 5.0).data.qvel[0]) < 2e-3
    assert _run(model, setting, 1.0, 8.0).data.qvel[0] == pytest.approx(1.0, rel=1e-2)


def test_tendon_springs_and_dampers_act_as_in_mujoco() -> None:
    model = compile_mjcf(
        "<body pos='0 0 2'><joint name='a' type='hinge' axis='0 1 0'/>"
        f"<geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.03' mass='1' {GHOST}/></body>",
        sections="<tendon><fixed stiffness='20' damping='0.5' springlength='0.4'>"
        "<joint joint='a' coef='0.7'/></fixed></tendon>",
    )
    reference = mujoco.MjData(model)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = 1e-4
    for _ in range(5000):
        mujoco.mj_step(model, reference)
    errors = []
    for step in (2e-3, 1e-3):
        run = states(model, 0.5, asp.Icf(time_step=step))
        errors.append(abs(run.qpos[-1, 0] - reference.qpos[0]))
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 5e-3
