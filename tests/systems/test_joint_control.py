"""PD, PID and inverse dynamics against servos, hand-derived steps and analytic solutions."""

from __future__ import annotations

import math

import mujoco
import numba
import numpy as np
import pytest
from system_models import arm, joints, slider

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

KP, KD, TARGET = np.array([60.0, 30.0]), np.array([4.0, 1.0]), np.array([1.0, -0.8])
LIMIT = [3.0, np.inf]
SERVOS = (
    "<actuator><position joint='j0' kp='60' kv='4' forcerange='-3 3'/>"
    "<position joint='j1' kp='30' kv='1'/></actuator>"
)


def _python(z, x):
    return KP * (TARGET - x.qpos) - KD * x.qvel


@numba.njit
def _jitted(z, x):
    out = np.empty(2)
    for i in range(2):
        out[i] = x.parameters[i] * (x.parameters[4 + i] - x.qpos[i])
        out[i] -= x.parameters[2 + i] * x.qvel[i]
    return out


def _pd(kind: str) -> asp.systems.ExternalSystem:
    options = {"joints": joints(2), "effort_limit": LIMIT, "linear": True}
    if kind == "controller":
        return asp.systems.PdController(joints(2), kp=KP, kd=KD, target=TARGET, effort_limit=LIMIT)
    if kind == "python":
        return asp.systems.FunctionSystem(_python, coupled=False, **options)
    return asp.systems.FunctionSystem(
        _jitted, coupled=False, parameters=[*KP, *KD, *TARGET], **options
    )


@pytest.mark.parametrize("kind", ["controller", "python", "numba"])
@pytest.mark.parametrize("integrator", [asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-4)])
def test_pd_is_the_built_in_servo_to_round_off(kind: str, integrator: asp.Icf | asp.Cenic) -> None:
    servo = asp.Simulator(arm(sections=SERVOS), integrator=integrator)
    servo.data.ctrl[:] = TARGET
    servo.advance_to(0.05)
    assert servo.data.actuator_force[0] == 3.0  # at its limit
    expected = servo.advance_to(0.5)
    system = _pd(kind)
    sim = asp.Simulator(arm(), integrator=integrator, systems=[system])
    sim.advance_to(0.05)
    report = sim.advance_to(0.5)
    assert report.stats.steps == expected.stats.steps
    assert report.stats.iterations == expected.stats.iterations
    np.testing.assert_allclose(sim.data.qpos, servo.data.qpos, rtol=0, atol=1e-13)
    np.testing.assert_allclose(sim.data.qvel, servo.data.qvel, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sim.system_output(system), servo.data.actuator_force, atol=1e-12)
    np.testing.assert_allclose(sim.data.qfrc_actuator, servo.data.qfrc_actuator, atol=1e-12)
    np.testing.assert_allclose(sim.data.qacc, servo.data.qacc, atol=1e-10)


@pytest.mark.parametrize("implicit", [True, False])
def test_pid_takes_the_euler_steps_that_one_derives_by_hand(implicit: bool) -> None:
    m, g, h, kp, kd, ki, goal = 2.0, -9.81, 5e-3, 400.0, 30.0, 900.0, 0.3
    pid = asp.systems.PidController("x", kp=kp, kd=kd, ki=ki, target=goal, implicit=implicit)
    sim = asp.Simulator(
        slider(m, gravity=g), integrator=asp.Icf(time_step=h, tolerance=1e-15), systems=[pid]
    )
    q = v = z = 0.0
    for _ in range(400):
        sim.step()
        if implicit:
            # m (v⁺ − v)/h = m g + k_p e⁺ − k_d v⁺ + k_i z⁺,  e⁺ = q_d − q − h v⁺,  z⁺ = z + h e⁺
            left = m / h + h * kp + kd + h * h * ki
            right = m / h * v + m * g + kp * (goal - q) + ki * (z + h * (goal - q))
            v = right / left
            q += h * v
            z += h * (goal - q)
        else:
            rate = goal - q
            v += h * (g + (kp * rate - kd * v + ki * z) / m)
            q += h * v
            z += h * rate
        np.testing.assert_allclose(sim.data.qpos[0], q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(sim.data.qvel[0], v, rtol=0, atol=1e-11)
        np.testing.assert_allclose(sim.system_state(pid)[0], z, rtol=0, atol=1e-12)
    # The integral carries the weight in the end, where the PD part would sag by m g/k_p.
    sim.advance_to(20.0)
    assert sim.data.qpos[0] == pytest.approx(goal, abs=1e-8)
    assert sim.system_state(pid)[0] == pytest.approx(-m * g / ki, rel=1e-6)


@pytest.mark.parametrize(
    "armature",
    [
        {"joint": "armature='0.02'"},
        {"sections": "<actuator><motor joint='j2' gear='2' armature='0.005'/></actuator>"},
    ],
)
def test_inverse_dynamics_makes_the_error_a_damped_oscillator(armature: dict[str, str]) -> None:
    model = arm(3, **armature)  # type: ignore[arg-type]
    kp, kd = 100.0, 12.0
    goal = np.array([0.8, -0.5, 0.4])
    start = np.array([0.2, 0.3, -0.6])
    control = asp.systems.InverseDynamicsController(joints(3), kp=kp, kd=kd, target=goal)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-8), systems=[control])
    sim.data.qpos[:] = start
    omega = math.sqrt(kp - kd**2 / 4)
    for t in (0.05, 0.2, 0.5):
        assert sim.advance_to(t).success
        phase = math.cos(omega * t) + kd / (2 * omega) * math.sin(omega * t)
        expected = goal + (start - goal) * math.exp(-kd * t / 2) * phase
        np.testing.assert_allclose(sim.data.qpos, expected, atol=2e-3)


def test_inverse_dynamics_follows_an_acceleration_and_integrates_what_it_does_not_know() -> None:
    robot = arm(2)
    loaded = arm(2)
    loaded.body_mass[2] += 0.5
    mujoco.mj_setConst(loaded, mujoco.MjData(loaded))
    goal = np.array([0.6, -0.9])
    for ki, close in ((None, False), (4000.0, True)):
        control = asp.systems.InverseDynamicsController(
            joints(2), kp=400.0, kd=40.0, ki=ki, target=goal, model=robot
        )
        sim = asp.Simulator(loaded, integrator=asp.Icf(time_step=1e-3), systems=[control])
        sim.advance_to(8.0)
        error = np.abs(sim.data.qpos - goal).max()
        assert (error < 1e-6) == close
        assert error < 0.1
    free = asp.systems.InverseDynamicsController(joints(2), kp=0, target_acceleration=[2.0, -1.0])
    sim = asp.Simulator(arm(2), integrator=asp.Icf(time_step=1e-4), systems=[free])
    sim.advance_to(0.3)
    np.testing.assert_allclose(sim.data.qvel, [0.6, -0.3], atol=1e-3)


def test_a_setpoint_written_between_steps_or_in_a_control_callback_is_followed() -> None:
    pd = asp.systems.PdController("x", kp=1e4, kd=400.0)
    sim = asp.Simulator(slider(), integrator=asp.Cenic(accuracy=1e-4), systems=[pd])
    sim.advance_to(1.0)
    pd.target[:] = 0.7
    sim.advance_to(2.0)
    assert sim.data.qpos[0] == pytest.approx(0.7, abs=1e-6)

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        pd.target[:] = data.time

    sim = asp.Simulator(
        slider(), integrator=asp.Cenic(), systems=[pd], control=control, control_period=0.5
    )
    sim.advance_to(1.0)
    assert sim.data.qpos[0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("links", [2, 3])
def test_the_number_of_steps_does_not_grow_with_the_gain_if_implicit(links: int) -> None:
    steps: dict[bool, list[int]] = {True: [], False: []}
    for implicit in steps:
        for gain in (1e2, 1e3, 1e4):
            control = asp.systems.InverseDynamicsController(
                joints(links), kp=gain, kd=gain, target=np.full(links, 0.3), implicit=implicit
            )
            sim = asp.Simulator(arm(links), integrator=asp.Cenic(accuracy=1e-2), systems=[control])
            report = sim.advance_to(2.0)
            assert report.success
            steps[implicit].append(report.stats.steps)
    assert max(steps[True]) < 1.3 * min(steps[True])
    # The explicit treatment is stable for δt < 2/gain.
    assert steps[False][1] > 5 * steps[False][0]
    assert steps[False][2] > 8 * steps[False][1]


def test_coupled_gains_are_stable_where_the_diagonal_is_not() -> None:
    model = arm(4, gravity=0.0)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mass = np.zeros((4, 4))
    mujoco.mj_fullM(model, data, mass)
    scale = 1 / np.sqrt(np.diag(mass))
    assert np.linalg.eigvalsh(scale[:, None] * mass * scale)[-1] > 2.2
    speed = {}
    for coupled in (True, False):
        control = asp.systems.InverseDynamicsController(joints(4), kp=0.0, kd=1e6)
        control.coupled = coupled
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-2), systems=[control])
        sim.data.qvel[:] = 1e-4 * np.array([1.0, -1.0, 1.0, -1.0])
        sim.advance_to(0.2)
        speed[coupled] = np.abs(sim.data.qvel).max()
    assert speed[True] < 1e-12
    assert speed[False] > 1e-4


def test_bad_controllers_are_refused() -> None:
    for message, arguments in (
        ("at least one joint", {"joints": [], "kp": 1.0}),
        ("kp must be a number or 2 numbers", {"joints": joints(2), "kp": [1.0, 2.0, 3.0]}),
        ("kd must be finite", {"joints": joints(2), "kp": 1.0, "kd": np.nan}),
        ("target must be a number", {"joints": joints(2), "kp": 1.0, "target": "up"}),
    ):
        with pytest.raises(asp.ArgumentError, match=message):
            asp.systems.PidController(**arguments)
    with pytest.raises(asp.ArgumentError, match="no ki"):
        asp.systems.PdController(joints(2), kp=1.0, ki=1.0)
    with pytest.raises(asp.ArgumentError, match="joint 'elbow' does not exist; the model has 'j0'"):
        asp.Simulator(arm(), systems=[asp.systems.PdController("elbow", kp=1.0)])
    ball = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint name='b' type='ball'/><geom size='0.1'/></body>"
        "</worldbody></mujoco>"
    )
    with pytest.raises(asp.ArgumentError, match="'b' is not a hinge or slide"):
        asp.Simulator(ball, systems=[asp.systems.PdController("b", kp=1.0)])
    with pytest.raises(
        asp.ArgumentError, match="'j2' of the control model is not in the simulated"
    ):
        asp.Simulator(
            arm(2), systems=[asp.systems.InverseDynamicsController(joints(2), kp=1.0, model=arm(3))]
        )
