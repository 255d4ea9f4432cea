"""External systems with every integrator that takes them: the same limit, the expected orders."""

from __future__ import annotations

import mujoco
import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from system_models import arm, joints, slider

import asperity as asp
from asperity.integrators import (
    ImplicitEuler,
    Integrator,
    Rosenbrock2,
    RungeKutta3,
    Sap,
    Sdirk2,
    Tamsi,
)

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

CONVEX = [Sap, Tamsi]
CLASSICAL = [ImplicitEuler, Sdirk2, Rosenbrock2, RungeKutta3]


@numba.njit
def _rate(z, x):
    last = 2.0 * (1 - z[0] ** 2) * z[1] - 4.0 * z[0] + 3.0 * x.qpos[0] - 0.5 * x.qvel[0]
    return np.array([z[1], last])


@numba.njit
def _force(z, x):
    return np.array([5.0 * np.tanh(z[0] - x.qpos[0]) - 0.3 * x.qvel[0] ** 3])


@numba.njit
def _force_in_time(z, x):
    return np.array([4.0 * np.cos(7.0 * x.time) - 3.0 * np.sin(x.qpos[0]) - 0.3 * x.qvel[0] ** 3])


def _exact(states: bool) -> np.ndarray:
    """Position, velocity and system states of the slider of 2 kg after 1.2 s."""

    def rate(t, y):
        x = asp.systems.SystemInput(t, y[:1], y[1:2], np.zeros(0))
        if not states:
            return [y[1], *(_force_in_time.py_func(y[2:], x) / 2.0)]
        return [y[1], *(_force.py_func(y[2:], x) / 2.0), *_rate.py_func(y[2:], x)]

    start = [0.2, 0.0, 1.0, 0.5] if states else [0.2, 0.0]
    return solve_ivp(rate, (0, 1.2), start, rtol=1e-11, atol=1e-12).y[:, -1]


def _error(integrator: Integrator, states: bool) -> float:
    if states:
        system = asp.systems.FunctionSystem(_force, _rate, joints=["x"], initial_state=[1.0, 0.5])
    else:
        system = asp.systems.FunctionSystem(_force_in_time, joints=["x"])
    sim = asp.Simulator(slider(), integrator=integrator, systems=[system])
    sim.data.qpos[0] = 0.2
    assert sim.advance_to(1.2).success
    found = [*sim.data.qpos, *sim.data.qvel, *sim.system_state(system)]
    return float(np.abs(found - _exact(states)).max())


@pytest.mark.parametrize(
    ("method", "states", "order"),
    [
        (Sap, True, 1),
        (Tamsi, True, 1),
        (ImplicitEuler, True, 1),
        (Sdirk2, True, 1),
        (RungeKutta3, True, 3),
        (Sap, False, 1),
        (Tamsi, False, 1),
        (ImplicitEuler, False, 1),
        (Sdirk2, False, 2),
        (RungeKutta3, False, 3),
    ],
)
def test_systems_converge_at_the_method_s_order(method, states: bool, order: int) -> None:
    errors = [_error(method(time_step=step), states) for step in (8e-3, 4e-3, 2e-3)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all(np.abs(orders - order) < 0.25)


@pytest.mark.parametrize("method", CLASSICAL)
def test_error_control_sees_what_a_system_exerts(method) -> None:
    coarse, fine = (_error(method(accuracy=a, error_norm="state"), False) for a in (1e-4, 1e-6))
    # Local errors of a first-order method go with the square of the step, its global ones do not.
    assert fine < 0.15 * coarse
    assert fine < 1e-3


@pytest.mark.parametrize("method", CONVEX)
def test_a_pd_controller_is_the_servo_to_round_off(method) -> None:
    sections = "<actuator><position joint='j0' kp='900' kv='30'/><position joint='j1' kp='400' kv='9'/></actuator>"
    options = {"time_step": 5e-3, "tolerance": 1e-12}
    servo = asp.Simulator(arm(sections=sections), integrator=method(**options))
    servo.data.ctrl[:] = 0.7, -0.4
    pd = asp.systems.PdController(joints(2), kp=[900.0, 400.0], kd=[30.0, 9.0], target=[0.7, -0.4])
    sim = asp.Simulator(arm(), integrator=method(**options), systems=[pd])
    for one in (servo, sim):
        assert one.advance_to(0.5).success
    np.testing.assert_allclose(sim.data.qpos, servo.data.qpos, rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", [*CONVEX, *CLASSICAL])
def test_limits_hold_and_sampled_outputs_are_held(method) -> None:
    class Push(asp.systems.ExternalSystem):
        joints = ("x",)
        effort_limit = 5.0
        sample_time = 0.1

        def output(self, z, x):
            return 100.0 if x.time < 0.35 else -1.0

    push = Push()
    sim = asp.Simulator(slider(), integrator=method(time_step=0.02), systems=[push])
    sim.advance_to(0.8)
    # 5 N on 2 kg in the first four periods, −1 N in the next four.
    assert sim.data.qvel[0] == pytest.approx(2.5 * 0.4 - 0.5 * 0.4, rel=1e-6)
    assert sim.system_output(push)[0] == -1.0


@pytest.mark.parametrize("method", [*CONVEX, *CLASSICAL])
def test_a_pid_controller_carries_a_coupled_arm(method) -> None:
    target = np.array([0.5, -0.8, 0.3])
    pid = asp.systems.PidController(joints(3), kp=300, kd=30, ki=600, target=target)
    # The last link's inertia makes a damper of it that explicit steps of 1 ms cannot take.
    step = 1e-4 if method is RungeKutta3 else 1e-3
    sim = asp.Simulator(arm(3), integrator=method(time_step=step), systems=[pid])
    assert sim.advance_to(6.0).success
    np.testing.assert_allclose(sim.data.qpos, target, atol=1e-3)
    data = mujoco.MjData(sim.model)
    data.qpos[:] = target
    mujoco.mj_forward(sim.model, data)
    np.testing.assert_allclose(sim.system_output(pid), data.qfrc_bias, atol=0.02)


def test_states_go_through_the_parts_of_a_step_that_does_not_converge() -> None:
    """A clock of a system runs on, whatever the parts in which TAMSI does a step."""
    model = """
      <mujoco><worldbody><geom type='plane' size='1 1 1'/>
      <body pos='0 0 0.2' euler='30 20 0'><freejoint name='box'/>
      <geom type='box' size='0.1 0.1 0.1'/></body></worldbody></mujoco>"""
    clock = asp.systems.FunctionSystem(
        lambda z, x: np.zeros(6), lambda z, x: np.ones(1), joints=["box"], initial_state=[0.0]
    )
    integrator = Tamsi(time_step=0.01, max_iterations=3)
    sim = asp.Simulator(model, integrator=integrator, systems=[clock])
    assert sim.advance_to(0.5).success
    assert sim.stats.substeps > 10
    assert sim.system_state(clock)[0] == pytest.approx(0.5, rel=1e-9)


def test_a_step_of_the_drop_in_takes_systems() -> None:
    model = arm()
    pid = asp.systems.PidController(joints(2), kp=300, kd=30, ki=600, target=[0.2, -0.3])
    data = mujoco.MjData(model)
    for _ in range(50):
        asp.step(model, data, systems=[pid])
    sim = asp.Simulator(model, systems=[pid])
    while sim.time < data.time - 1e-9:
        sim.step()
    np.testing.assert_allclose(data.qpos, sim.data.qpos, rtol=0, atol=1e-12)


def test_methods_without_systems_say_which_have_them() -> None:
    pd = asp.systems.PdController("x", kp=1.0)
    for integrator in (asp.Cenic(error_estimate="trapezoid"), asp.Midas()):
        with pytest.raises(asp.ArgumentError, match="error_estimate='step-doubling'"):
            asp.Simulator(slider(), integrator=integrator, systems=[pd])
