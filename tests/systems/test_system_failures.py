"""What goes wrong with external systems is told, and leaves the state as it was."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from system_models import arm, joints, slider

import asperity as asp
from asperity.integrators import ImplicitEuler, Integrator, RungeKutta3

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

INTEGRATORS = [
    asp.Icf(time_step=1e-3),
    asp.Cenic(accuracy=1e-3),
    asp.Tamsi(time_step=1e-3),
    asp.Sap(time_step=1e-3),
    ImplicitEuler(time_step=1e-3),
    RungeKutta3(accuracy=1e-3),
]


class Failing(asp.systems.ExternalSystem):
    """Pushes, and fails beyond a position."""

    joints = ("x",)
    failure: BaseException | None = None
    value = 1.0

    def output(self, z, x):
        if x.qpos[0] > 0.1:
            if self.failure is not None:
                raise self.failure
            return self.value
        return 1.0


@numba.njit
def _jitted_failure(z, x):
    if x.qpos[0] > 0.1:
        raise ValueError("beyond the fence")
    return np.ones(1)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("failure", [ValueError("beyond the fence"), KeyboardInterrupt()])
def test_an_exception_surfaces_as_itself(integrator: Integrator, failure: BaseException) -> None:
    system = Failing()
    system.failure = failure
    sim = asp.Simulator(slider(), integrator=integrator, systems=[system])
    with pytest.raises(type(failure)) as caught:
        sim.advance_to(2.0)
    assert caught.value is failure
    assert 0.3 < sim.time < 0.7
    assert sim.time == sim.session.world.current.table.time
    assert 0.0 < sim.data.qpos[0] < 0.11
    # Mended, the simulation goes on from there.
    system.failure = None
    assert sim.advance_to(2.0).success
    assert sim.data.qpos[0] == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_an_exception_in_compiled_code_surfaces_as_itself(
    integrator: Integrator, capfd: pytest.CaptureFixture[str]
) -> None:
    system = asp.systems.FunctionSystem(_jitted_failure, joints=["x"])
    sim = asp.Simulator(slider(), integrator=integrator, systems=[system])
    with pytest.raises(ValueError, match="beyond the fence"):
        sim.advance_to(2.0)
    assert 0.0 < sim.data.qpos[0] < 0.11
    assert capfd.readouterr().err == ""


def test_an_exception_at_the_beginning_surfaces_when_the_simulator_is_made() -> None:
    def output(z, x):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asp.Simulator(slider(), systems=[asp.systems.FunctionSystem(output, joints=["x"])])


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_make_the_step_fail(
    integrator: Integrator, value: float
) -> None:
    system = Failing()
    system.value = value
    sim = asp.Simulator(slider(), integrator=integrator, systems=[system])
    report = sim.advance_to(2.0, on_failure="return")
    assert report.status == asp.Status.NON_FINITE
    assert f"'Failing': output 0 is {value}" in report.message
    assert np.all(np.isfinite(sim.data.qpos))
    assert 0.0 < sim.data.qpos[0] < 0.11


def test_a_sampled_output_that_is_not_finite_is_refused() -> None:
    system = Failing()
    system.value, system.sample_time = np.nan, 0.01
    sim = asp.Simulator(slider(), systems=[system])
    with pytest.raises(asp.ArgumentError, match=r"'Failing': output 0 is nan at 0\.\d+ s"):
        sim.advance_to(2.0)


def test_a_written_state_that_is_not_finite_is_refused() -> None:
    pid = asp.systems.PidController("x", kp=1.0, ki=1.0)
    sim = asp.Simulator(slider(), systems=[pid])
    sim.system_state(pid)[:] = np.nan
    with pytest.raises(asp.ArgumentError, match="'PidController': state 0 is nan"):
        sim.advance_to(1.0)
    assert sim.time == 0.0


def _ones(z, x):
    return np.ones(2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joints": ["j0"]}, r"output must return an array of shape \(1,\), got one of shape \(2"),
        ({"joints": joints(2), "effort_limit": [1, 2, 3]}, "effort_limit must be a number, 2 num"),
        ({"joints": joints(2), "effort_limit": -1.0}, "non-negative numbers or pairs"),
        ({"joints": joints(2), "effort_limit": np.nan}, "non-negative numbers or pairs"),
        ({"joints": joints(2), "sample_time": 0.0}, "sample_time must be positive"),
        ({"joints": joints(2), "error_weight": -1.0}, "error_weight must be non-negative"),
        ({"joints": joints(2), "error_weight": 1.0}, "no effect without a state"),
        ({"actuators": ["a", "nothing"]}, "actuator 'nothing' does not exist; the model has 'a'"),
        ({"actuators": ["a", "a"]}, "'a' is already commanded by"),
        ({"joints": [3, "j0"]}, "joints must be a list of names, got"),
    ],
)
def test_systems_that_do_not_fit_the_model_are_refused(options: dict, message: str) -> None:
    model = arm(sections="<actuator><motor name='a' joint='j0'/></actuator>")
    with pytest.raises(asp.ArgumentError, match=message):
        asp.Simulator(model, systems=[asp.systems.FunctionSystem(_ones, name="mine", **options)])


def test_systems_that_cannot_be_are_refused() -> None:
    with pytest.raises(asp.ArgumentError, match="no option 'joint'; there are name, joints"):
        asp.systems.FunctionSystem(_ones, joint=["x"])
    with pytest.raises(asp.ArgumentError, match="output must be a function"):
        asp.systems.FunctionSystem(None)  # type: ignore[arg-type]
    with pytest.raises(asp.ArgumentError, match="needs a derivative"):
        asp.systems.FunctionSystem(_ones, initial_state=[0.0])
    with pytest.raises(asp.ArgumentError, match="needs an initial_state"):
        asp.systems.FunctionSystem(_ones, _ones)
    with pytest.raises(
        asp.ArgumentError, match=r"systems\[0\] must be an asperity.systems.ExternalSystem"
    ):
        asp.Simulator(slider(), systems=[_ones])  # type: ignore[list-item]
    pd = asp.systems.PdController("x", kp=1.0)
    with pytest.raises(asp.ArgumentError, match="listed twice"):
        asp.Simulator(slider(), systems=[pd, pd])
    with pytest.raises(asp.ArgumentError, match="not among the systems"):
        asp.Simulator(slider()).system_state(pd)
    compiled = numba.njit(_ones)
    mixed = asp.systems.FunctionSystem(
        compiled, lambda z, x: z, joints=joints(2), initial_state=[0.0]
    )
    with pytest.raises(asp.ArgumentError, match="compile both or neither"):
        asp.Simulator(arm(), systems=[mixed])
    with pytest.raises(NotImplementedError, match=r"must define output\(z, x\)"):
        asp.Simulator(slider(), systems=[asp.systems.ExternalSystem()])


def test_a_joint_that_limits_several_actuators_is_named() -> None:
    model = slider(
        joint="actuatorfrclimited='true' actuatorfrcrange='-3 7'",
        sections="<actuator><motor name='m' joint='x'/><motor name='n' joint='x'/></actuator>",
    )
    system = asp.systems.FunctionSystem(lambda z, x: 1.0, actuators=["n"])
    with pytest.raises(asp.ArgumentError, match="joint 'x' limits the sum of several actuators"):
        asp.Simulator(model, systems=[system])
