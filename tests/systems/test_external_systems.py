"""External systems of users: what is integrated, how often it is called, limits, sampling."""

from __future__ import annotations

import mujoco
import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from system_models import arm, compile_mjcf, joints, slider

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

EXACT = {"tolerance": 1e-14}


class VanDerPol(asp.systems.ExternalSystem):
    """A nonlinear oscillator with two states that pulls a slider, and is pulled back."""

    joints = ("x",)
    initial_state = (1.0, 0.5)

    def derivative(self, z, x):
        return [z[1], 2.0 * (1 - z[0] ** 2) * z[1] - 4.0 * z[0] + 3.0 * x.qpos[0] - 0.5 * x.qvel[0]]

    def output(self, z, x):
        return 5.0 * np.tanh(z[0] - x.qpos[0]) - 0.3 * x.qvel[0] ** 3


@numba.njit
def _van_der_pol_rate(z, x):
    last = 2.0 * (1 - z[0] ** 2) * z[1] - 4.0 * z[0] + 3.0 * x.qpos[0] - 0.5 * x.qvel[0]
    return np.array([z[1], last])


@numba.njit
def _van_der_pol_force(z, x):
    return np.array([5.0 * np.tanh(z[0] - x.qpos[0]) - 0.3 * x.qvel[0] ** 3])


def _continuous(end: float) -> np.ndarray:
    """Positions, velocity and states of the slider of 2 kg under a `VanDerPol` at a time."""
    system = VanDerPol()

    def rate(t, y):
        x = asp.systems.SystemInput(t, y[:1], y[1:2], np.zeros(0))
        return [y[1], system.output(y[2:], x) / 2.0, *system.derivative(y[2:], x)]

    solution = solve_ivp(rate, (0, end), [0.2, 0.0, 1.0, 0.5], rtol=1e-11, atol=1e-12)
    return solution.y[:, -1]


def _van_der_pol(kind: str) -> asp.systems.ExternalSystem:
    if kind == "python":
        return VanDerPol()
    return asp.systems.FunctionSystem(
        _van_der_pol_force, _van_der_pol_rate, joints=["x"], initial_state=[1.0, 0.5]
    )


def _outcome(system: asp.systems.ExternalSystem, integrator: asp.Icf | asp.Cenic) -> np.ndarray:
    sim = asp.Simulator(slider(), integrator=integrator, systems=[system])
    sim.data.qpos[0] = 0.2
    assert sim.advance_to(1.5).success
    return np.array([*sim.data.qpos, *sim.data.qvel, *sim.system_state(system)])


@pytest.mark.parametrize("kind", ["python", "numba"])
def test_a_nonlinear_system_with_states_converges_at_first_order(kind: str) -> None:
    expected = _continuous(1.5)
    for implicit in (True, False):
        errors = []
        for step in (4e-3, 2e-3, 1e-3):
            system = _van_der_pol(kind)
            system.implicit = implicit
            outcome = _outcome(system, asp.Icf(time_step=step, **EXACT))
            errors.append(np.abs(outcome - expected).max())
        orders = np.log2(np.divide(errors[:-1], errors[1:]))
        assert np.all(np.abs(orders - 1) < 0.15)
        assert errors[-1] < 0.02
    outcome = _outcome(_van_der_pol(kind), asp.Cenic(accuracy=1e-6))
    np.testing.assert_allclose(outcome, expected, atol=5e-3)


def test_python_and_numba_are_the_same_system() -> None:
    for integrator in (asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-4)):
        python, compiled = (_outcome(_van_der_pol(k), integrator) for k in ("python", "numba"))
        np.testing.assert_allclose(python, compiled, rtol=0, atol=1e-9)


def test_a_stiff_state_is_implicit() -> None:
    # ż = −10⁶ (z − q): z follows q, and the force −k z is a spring, at any step size.
    lag = asp.systems.FunctionSystem(
        lambda z, x: -50.0 * z,
        lambda z, x: -1e6 * (z - x.qpos),
        joints=["x"],
        initial_state=[0.3],
        linear=True,
    )
    sim = asp.Simulator(slider(), integrator=asp.Icf(time_step=1e-2, **EXACT), systems=[lag])
    sim.data.qpos[0] = 0.3
    q, v, h = 0.3, 0.0, 1e-2
    for _ in range(100):
        sim.step()
        v = (2.0 * v - h * 50.0 * q) / (2.0 + h * h * 50.0)
        q += h * v
        assert sim.data.qpos[0] == pytest.approx(q, abs=3e-6)


class Counting(asp.systems.ExternalSystem):
    """Two outputs and three states that count their evaluations."""

    joints = ("j0", "j1")
    initial_state = (0.0, 0.0, 0.0)
    calls = 0

    def derivative(self, z, x):
        return -3.0 * z + x.qpos[0]

    def output(self, z, x):
        self.calls += 1
        return -2.0 * x.qvel - 30.0 * np.sin(x.qpos) + z[:2]


def test_a_system_is_linearised_once_a_step_whatever_the_number_of_attempts() -> None:
    system = Counting()
    sim = asp.Simulator(arm(), integrator=asp.Icf(time_step=1e-3), systems=[system])
    sim.advance_to(0.001)
    before = system.calls
    sim.advance_to(0.051)
    # Itself, positions and velocities along two outputs, three states; once more after the last
    # step, for publication.
    assert system.calls - before == 51 * (1 + 2 * 2 + 3)
    system = Counting()
    sim = asp.Simulator(arm(), integrator=asp.Cenic(accuracy=1e-5), systems=[system])
    sim.data.qpos[:] = 1.0, -2.0
    sim.advance_to(0.0)
    before = system.calls
    stats = sim.advance_to(1.0).stats
    assert stats.rejections > 3
    # Every attempt looks at the half step, and every other attempt than the first begins anew.
    once = (stats.steps + stats.rejections) + stats.rejections
    assert system.calls - before == (stats.steps + 1) * (1 + 2 * 2 + 3) + once


@pytest.mark.parametrize("integrator", [asp.Cenic(accuracy=1e-1), asp.Icf(time_step=0.01)])
def test_a_saturated_system_accelerates_as_its_limit_says(integrator: asp.Icf | asp.Cenic) -> None:
    class Spring(asp.systems.ExternalSystem):
        joints = ("x",)
        effort_limit = ((-5.0, 4.0),)
        goal = 100.0

        def output(self, z, x):
            return 1e6 * (self.goal - x.qpos)

    spring = Spring()
    sim = asp.Simulator(slider(), integrator=integrator, systems=[spring])
    sim.advance_to(1.0)
    assert sim.data.qvel[0] == pytest.approx(4 / 2, rel=1e-7)
    spring.goal = -100.0
    sim.advance_to(2.0)
    assert sim.data.qvel[0] == pytest.approx(2.0 - 5 / 2, rel=1e-6)
    assert sim.system_output(spring)[0] == -5.0
    assert sim.data.qfrc_actuator[0] == -5.0


def test_limits_of_coupled_efforts_are_exact() -> None:
    limit = np.array([20.0, 6.0, 2.0])
    control = asp.systems.InverseDynamicsController(
        joints(3), kp=5e3, kd=1e3, target=[0.8, -0.5, 0.4], effort_limit=limit
    )
    model = arm(3)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3, **EXACT), systems=[control])
    data = mujoco.MjData(model)
    saturated = np.zeros(3, bool)
    free = np.zeros(3, bool)
    for _ in range(1500):
        data.qpos[:], data.qvel[:] = sim.data.qpos, sim.data.qvel
        mujoco.mj_forward(model, data)
        sim.step()
        # The efforts that the step has felt: M (v⁺ − v)/δt + k.
        change = (sim.data.qvel - data.qvel) / 2e-3
        effort = np.zeros(3)
        mujoco.mj_mulM(model, data, effort, change)
        effort += data.qfrc_bias
        assert np.all(np.abs(effort) <= limit + 1e-9)
        saturated |= np.abs(np.abs(effort) - limit) < 1e-9
        free |= np.abs(effort) < limit - 1e-3
    assert np.all(saturated)
    assert np.all(free)
    # Where it was sent, without shaking there.
    np.testing.assert_allclose(sim.data.qpos, control.target, atol=1e-6)
    assert np.abs(sim.data.qvel).max() < 1e-5


def test_the_model_s_own_limits_hold_too() -> None:
    model = slider(
        joint="actuatorfrclimited='true' actuatorfrcrange='-3 7'",
        sections="<actuator><motor name='m' joint='x' forcerange='-20 2' gear='0.5'/></actuator>",
    )
    by_joint = asp.systems.FunctionSystem(lambda z, x: 100.0, joints=["x"], effort_limit=5.0)
    sim = asp.Simulator(model, integrator=asp.Icf(), systems=[by_joint])
    assert sim.system_output(by_joint)[0] == 5.0
    by_joint.effort_limit = 50.0
    assert asp.Simulator(model, systems=[by_joint]).data.qfrc_actuator[0] == 7.0
    by_actuator = asp.systems.FunctionSystem(lambda z, x: 100.0, actuators=["m"])
    sim = asp.Simulator(model, integrator=asp.Icf(), systems=[by_actuator])
    assert sim.data.actuator_force[0] == 2.0
    sim.advance_to(1.0)
    assert sim.data.qvel[0] == pytest.approx(2.0 * 0.5 / 2.0)


def test_a_commanded_actuator_exerts_the_system_s_force_and_no_other() -> None:
    sections = (
        "<actuator><position name='servo' joint='j0' kp='500' gear='2'/>"
        "<motor name='motor' joint='j1' gear='-3'/></actuator>"
    )
    command = np.array([1.5, 0.4])
    system = asp.systems.FunctionSystem(lambda z, x: command, actuators=["servo", "motor"])
    sim = asp.Simulator(arm(sections=sections), integrator=asp.Icf(), systems=[system])
    sim.data.ctrl[:] = 0.7, 0.0
    plain = asp.Simulator(arm(), integrator=asp.Icf())
    plain.data.qfrc_applied[:] = 3.0, -1.2
    for one in (sim, plain):
        one.advance_to(0.3)
    np.testing.assert_allclose(sim.data.qpos, plain.data.qpos, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sim.data.actuator_force, command)
    np.testing.assert_allclose(sim.data.qfrc_actuator, [3.0, -1.2])


TWO_BODIES = (
    "<body name='a'><freejoint name='a'/><geom size='0.1' mass='1' contype='0' conaffinity='0'/></body>"
    "<body name='b' pos='1 0 0'><freejoint name='b'/>"
    "<geom size='0.1' mass='5' contype='0' conaffinity='0'/></body>"
)


class Spring(asp.systems.ExternalSystem):
    """A stiff spring between the centres of two free bodies."""

    joints = ("a", "b")

    def output(self, z, x):
        way = x.qpos[7:10] - x.qpos[:3]
        length = np.linalg.norm(way)
        force = 1e5 * (length - 1.0) * way / length
        return np.concatenate([force, np.zeros(3), -force, np.zeros(3)])


@pytest.mark.parametrize("integrator", [asp.Cenic(accuracy=1e-3), asp.Icf(time_step=1e-2, **EXACT)])
def test_a_stiff_spring_between_bodies_keeps_momentum_and_gains_no_energy(
    integrator: asp.Icf | asp.Cenic,
) -> None:
    model = compile_mjcf(TWO_BODIES, option="gravity='0 0 0'")
    sim = asp.Simulator(model, integrator=integrator, systems=[Spring()])
    sim.data.qpos[7] = 1.02
    sim.data.qvel[:3] = 0.3, 0.8, -0.2
    mass = np.repeat([1.0, 5.0], 3)
    linear = np.r_[0:3, 6:9]

    def quantities() -> tuple[np.ndarray, np.ndarray, float]:
        v = sim.data.qvel[linear].reshape(2, 3)
        x = np.array([sim.data.qpos[:3], sim.data.qpos[7:10]])
        m = np.array([[1.0], [5.0]])
        stretch = np.linalg.norm(x[1] - x[0]) - 1.0
        energy = 0.5 * np.sum(mass * sim.data.qvel[linear] ** 2) + 0.5e5 * stretch**2
        return (m * v).sum(0), np.cross(x, m * v).sum(0), float(energy)

    momentum, spin, energy = quantities()
    for k in range(1, 101):
        assert sim.advance_to(0.01 * k).success
        now, turned, left = quantities()
        np.testing.assert_allclose(now, momentum, atol=1e-4)
        assert left <= energy * (1 + 1e-3)
        energy = min(energy, left)
    # Angular momentum is kept to the accuracy of the steps; the bodies turn with 0.7 kg m²/s.
    np.testing.assert_allclose(
        turned, spin, atol=0.03 if isinstance(integrator, asp.Cenic) else 0.2
    )
    # The vibration is damped as implicit steps do, the motion of the whole is not.
    assert energy > 0.5 * np.sum(momentum**2) / 6.0 - 1e-6


def test_a_free_body_under_a_damper_slows_down_as_one_derives_by_hand() -> None:
    model = compile_mjcf(
        "<body pos='0 0 1' euler='30 40 50'><freejoint name='f'/>"
        "<inertial pos='0.1 0.2 0.3' mass='2' diaginertia='0.1 0.2 0.25'/></body>",
        option="gravity='0 0 0'",
    )
    # Off-centre, so that all six dofs are coupled by the mass matrix.
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mass = np.zeros((6, 6))
    mujoco.mj_fullM(model, data, mass)
    gains = 0.8 * mass + np.diag([300.0, 2.0, 5.0, 0.1, 30.0, 1.0])
    damper = asp.systems.FunctionSystem(lambda z, x: -gains @ x.qvel, joints=["f"], linear=True)
    h = 1e-2
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=h, **EXACT), systems=[damper])
    start = 1e-5 * np.array([1.0, -2.0, 3.0, 1.5, 0.5, -1.0])
    sim.data.qvel[:] = start
    sim.step()
    # So slow that gyroscopic forces do not count.
    expected = np.linalg.solve(mass + h * gains, mass @ start)
    np.testing.assert_allclose(sim.data.qvel, expected, rtol=0, atol=1e-10)


def test_a_sampled_controller_is_a_control_callback_with_a_state() -> None:
    period = 0.013
    sections = "<actuator><motor joint='j0'/><motor joint='j1'/></actuator>"
    goal = np.array([0.4, -0.7])
    integral = np.zeros(2)
    calls = []

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        calls.append(data.time)
        data.ctrl[:] = 40 * (goal - data.qpos) - 2 * data.qvel + 20 * integral
        integral[:] += period * (goal - data.qpos)

    # Under error control the work of a motor and of a system are summed in different ways, within
    # the accuracy.
    for integrator, close in ((asp.Icf(time_step=1e-3), 1e-6), (asp.Cenic(accuracy=1e-4), 1e-5)):
        integral[:] = 0.0
        calls.clear()
        by_hand = asp.Simulator(
            arm(sections=sections), integrator=integrator, control=control, control_period=period
        )
        by_hand.advance_to(1.0)
        digital = asp.systems.PidController(
            joints(2), kp=40, kd=2, ki=20, target=goal, sample_time=period
        )
        sim = asp.Simulator(arm(), integrator=integrator, systems=[digital])
        for time in (0.3, 0.3005, 1.0):
            sim.advance_to(time)
        assert len(calls) == 77
        np.testing.assert_allclose(sim.system_state(digital), integral, atol=close)
        np.testing.assert_allclose(sim.data.qpos, by_hand.data.qpos, atol=1e-4)


def test_a_state_in_the_error_norm_is_as_accurate_as_asked_for() -> None:
    def run(weight: float) -> tuple[int, float]:
        # A state that turns fast and moves nothing.
        clock = asp.systems.FunctionSystem(
            lambda z, x: 0.0 * x.qpos,
            lambda z, x: np.array([9.0 * z[1], -9.0 * z[0]]),
            joints=["x"],
            initial_state=[1.0, 0.0],
            linear=True,
            error_weight=weight,
        )
        sim = asp.Simulator(slider(), integrator=asp.Cenic(accuracy=1e-5), systems=[clock])
        steps = sim.advance_to(1.0).stats.steps
        return steps, float(np.abs(sim.system_state(clock) - [np.cos(9), -np.sin(9)]).max())

    ignored, minded = run(0.0), run(1.0)
    assert ignored[0] < 30
    assert ignored[1] > 0.1
    assert minded[0] > 300
    assert minded[1] < 0.02


def test_reset_and_restored_states_continue_identically() -> None:
    pid = asp.systems.PidController(joints(2), kp=60, kd=4, ki=30, target=[1.0, -0.5])
    sim = asp.Simulator(arm(), systems=[pid])
    sim.advance_to(0.5)
    qpos, qvel, state = sim.data.qpos.copy(), sim.data.qvel.copy(), sim.system_state(pid).copy()
    sim.advance_to(0.5 + 0.3)
    later = sim.data.qpos.copy(), sim.system_state(pid).copy()
    step = sim.step_size
    sim.reset()
    assert np.all(sim.system_state(pid) == 0.0)
    sim.advance_to(0.5)
    assert np.array_equal(sim.data.qpos, qpos)
    assert np.array_equal(sim.system_state(pid), state)
    sim.advance_to(0.8)
    assert np.array_equal(sim.data.qpos, later[0])
    assert np.array_equal(sim.system_state(pid), later[1])
    # Written back by hand, with the step size that error control had by then.
    sim.data.qpos[:], sim.data.qvel[:], sim.data.time = qpos, qvel, 0.5
    sim.system_state(pid)[:] = state
    sim.advance_to(0.8)
    np.testing.assert_allclose(sim.data.qpos, later[0], atol=1e-3)
    assert step > 0


def test_a_state_that_is_published_again_has_the_efforts_once() -> None:
    """Of joints and of actuators; the time of an advance may be no time."""
    body = """<body><joint name="a" axis="0 1 0"/><geom size="0.1" mass="1"/>
      <body pos="0.5 0 0"><joint name="b" axis="0 1 0"/><geom size="0.1" mass="1"/></body></body>"""
    motor = '<actuator><motor name="m" joint="b" gear="3"/></actuator>'
    pd = asp.systems.PdController(["a"], kp=60, kd=4, target=1.0)
    pull = asp.systems.FunctionSystem(lambda z, x: [-x.qvel[1] - 0.2], actuators=["m"])
    sim = asp.Simulator(compile_mjcf(body, sections=motor), systems=[pd, pull])
    sim.advance_to(0.1)
    force, efforts = sim.data.qfrc_actuator.copy(), sim.data.actuator_force.copy()
    for _ in range(2):
        sim.advance_to(sim.time)
        assert np.array_equal(sim.data.qfrc_actuator, force)
        assert np.array_equal(sim.data.actuator_force, efforts)
    expected = [sim.system_output(pd)[0], 3.0 * sim.system_output(pull)[0]]
    assert force == pytest.approx(np.array(expected), rel=1e-12)


def test_simulate_takes_systems() -> None:
    pd = asp.systems.PdController("x", kp=1e3, kd=90.0, target=0.2)
    trajectory = asp.simulate(slider(), (0.0, 2.0), systems=[pd], save_at=[0.0, 1.0, 2.0])
    assert trajectory.success
    assert trajectory.qpos[-1, 0] == pytest.approx(0.2, abs=1e-4)
