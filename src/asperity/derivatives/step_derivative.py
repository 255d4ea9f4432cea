"""Derivatives of what an integrator makes of an interval of time, whatever it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import mujoco
import numpy as np

from asperity.compiled.compilation import compile_kernels
from asperity.derivatives.convex_step import DERIVATIVE_KERNELS, ConvexStep
from asperity.derivatives.extrapolated_step import ExtrapolatedStep
from asperity.derivatives.parameters.displaced_balances import DisplacedBalances
from asperity.derivatives.parameters.displaced_models import DisplacedModels
from asperity.derivatives.parameters.displaced_steps import DisplacedSteps
from asperity.derivatives.step_differences import StepDifferences
from asperity.derivatives.tangent import StepState, Tangent, chain
from asperity.errors import ModelError, SimulationError
from asperity.integrators.methods.extrapolation import Extrapolation
from asperity.integrators.methods.icf import IcfMethod
from asperity.integrators.methods.step_doubling import StepDoubling
from asperity.integrators.methods.substeps import Substeps
from asperity.integrators.methods.tamsi.tamsi_method import TamsiMethod
from asperity.integrators.methods.theta import ThetaMethod
from asperity.integrators.steppings.accepted import BUDGET_USED
from asperity.integrators.world_layout import OK
from asperity.simulator import Simulator
from asperity.systems import ExternalSystem

__all__ = ["StepDerivative", "refuse_systems"]

_INPUTS = mujoco.mjtState.mjSTATE_INTEGRATION


def refuse_systems(systems: Sequence[ExternalSystem]) -> None:
    """Raise a `ModelError` if there are external systems, which have no derivatives."""
    if len(systems) > 0:
        raise ModelError(
            f"external systems ({type(systems[0]).__name__}) have no derivatives; linearise the "
            "model without systems=, and add theirs."
        )


class StepDerivative:
    """Derivatives of transitions that a simulator makes.

    Parameters
    ----------
    simulator : Simulator
        Of its own: it is moved about.
    """

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self._make_convex()
        self._differences = StepDifferences(simulator)
        self._extrapolated = ExtrapolatedStep(simulator.model)

    def _make_convex(self) -> None:
        """Prepare derivatives of solves in the simulator's present world."""
        world, base = self.simulator.world, self.simulator.method.base
        self._world = world
        self._convex: ConvexStep | None = None
        if isinstance(base, IcfMethod | ThetaMethod | TamsiMethod):
            compile_kernels(DERIVATIVE_KERNELS, "derivatives")
            self._convex = ConvexStep(world, base)

    @property
    def has_implicit_steps(self) -> bool:
        """Whether every step is one solve with an implicit derivative."""
        method = self.simulator.method
        return self._convex is not None and (method is method.base or isinstance(method, Substeps))

    @property
    def is_implicit(self) -> bool:
        """Whether every step is made of solves with implicit derivatives."""
        method = self.simulator.method
        doubled = type(method) is StepDoubling or isinstance(method, Extrapolation)
        return self.has_implicit_steps or (self._convex is not None and doubled)

    @property
    def displaced_models(self) -> type[DisplacedModels]:
        """What derivatives by parameters are made with."""
        return DisplacedBalances if self.is_implicit else DisplacedSteps

    def take_over(self, state: np.ndarray) -> None:
        """Take over a state and inputs, as `mj_getState` returns them."""
        simulator = self.simulator
        mujoco.mj_setState(simulator.model, simulator.data, state, _INPUTS)
        simulator.take_over()
        if simulator.world is not self._world:
            # The model's number of free bodies has changed.
            self._make_convex()

    def write_controls(self, ctrl: np.ndarray) -> None:
        """Write controls wherever states are evaluated, between steps."""
        for one in {id(state.data): state.data for state in self._world.evaluated_states}.values():
            one.ctrl[:] = ctrl

    def end(self, state: StepState, interval: float) -> StepState:
        """Where the transition from a state ends, solved as for its derivatives."""
        self._set_state(state)
        for step in self._sizes(state, interval):
            state = self._end_of_step(state, step)
        return state

    def is_one_step(self, interval: float) -> bool:
        """Whether a transition is one implicit step that depends on the state alone."""
        step = self.simulator.integrator.time_step
        return self.has_implicit_steps and step is not None and interval <= step

    def follow(
        self,
        states: np.ndarray,
        interval: float,
        controls: np.ndarray,
        changes: np.ndarray,
        parameters: DisplacedModels | None = None,
    ) -> None:
        """Fill states, and changes of them, if `is_one_step`; as `ConvexStep.follow`."""
        assert self._convex is not None
        self._convex.follow(states, interval, controls, changes, _balances(parameters))

    def pull_back(
        self,
        states: np.ndarray,
        interval: float,
        controls: np.ndarray,
        by_states: np.ndarray,
        adjoint: np.ndarray,
        by_control: np.ndarray,
        by_parameter: np.ndarray,
        parameters: DisplacedModels | None = None,
    ) -> None:
        """Let an adjoint go back, if `is_one_step`; as `ConvexStep.pull_back`."""
        assert self._convex is not None
        self._convex.pull_back(
            *(states, interval, controls, by_states, adjoint, by_control, by_parameter),
            _balances(parameters),
        )

    def between(
        self,
        state: StepState,
        interval: float,
        *,
        parameters: DisplacedModels | None = None,
        ahead: bool = True,
    ) -> Tangent:
        """The transition over an interval [s] from a state, with the inputs that there are.

        Where pieces of laws meet, columns are those `ahead`, of its first solve alone: what comes
        after it follows directions that are not coordinates, on the pieces at hand.
        """
        if self.is_one_step(interval):
            # It forgets what was solved before by itself.
            return self.step(state, interval, parameters, ahead)
        self._set_state(state)
        total: Tangent | None = None
        for step in self._sizes(state, interval):
            if total is None:
                total = self.step(state, step, parameters, ahead)
            else:
                total = chain(total, self.step(total.end, step, parameters, False))
        assert total is not None
        return total

    def along(
        self,
        state: StepState,
        interval: float,
        directions: np.ndarray,
        parameters: DisplacedModels | None = None,
    ) -> tuple[StepState, np.ndarray]:
        """The end of a transition, and its changes along changes of the state.

        As `ConvexStep.along`.
        """
        self._set_state(state)
        for step in self._sizes(state, interval):
            state, directions = self._step_along(state, step, directions, parameters)
        return state, directions

    def _step_along(
        self,
        state: StepState,
        step: float,
        directions: np.ndarray,
        parameters: DisplacedModels | None,
    ) -> tuple[StepState, np.ndarray]:
        convex, method = self._convex, self.simulator.method
        if self.is_implicit:
            assert convex is not None
            balances = _balances(parameters)
            if not isinstance(method, StepDoubling):
                tangent, changes = convex.along(state, step, directions, balances)
                return tangent.end, changes
            smooth = np.zeros(self.simulator.model.nv, bool)
            corrected = undamping = None
            if isinstance(method, Extrapolation):
                self._differences.take(state, step)
                convex.share_springs(step)
                smooth, corrected = method.last_step(self.simulator.world, step)
                undamping = method.undamping(self.simulator.world, step)
            if corrected is None:
                return self._extrapolated.along(
                    convex, state, step, smooth, undamping, directions, balances
                )
        tangent = self.step(state, step, parameters)
        return tangent.end, tangent.by_state @ directions + (
            0.0 if parameters is None else tangent.by_parameter
        )

    def _set_state(self, state: StepState) -> None:
        world = self._world
        current = world.current.table
        current.time = state.time
        for name in ("qpos", "qvel", "act"):
            getattr(current, name)[:] = getattr(state, name)
        current.valid = 0
        world.forget_solutions()
        self.simulator.integrator.stepping.prepare(world)

    def _end_of_step(self, state: StepState, step: float) -> StepState:
        if self.has_implicit_steps:
            assert self._convex is not None
            return self._convex.end(state, step)
        return self._differences.take(state, step)

    def over(self, interval: float | None) -> Tangent:
        """The transition over an interval of time [s] from the state that was taken over.

        Without an interval it is one fixed step, or the model's ``timestep`` under error control.
        """
        simulator = self.simulator
        if interval is None:
            interval = simulator.integrator.time_step or float(simulator.model.opt.timestep)
        # Each step begins where the one before ends as it is differentiated, solved to round-off.
        return self.between(read_state(simulator), interval)

    def step(
        self,
        state: StepState,
        step: float,
        parameters: DisplacedModels | None = None,
        ahead: bool = True,
    ) -> Tangent:
        """One step of a given size."""
        convex, method = self._convex, self.simulator.method
        if not self.is_implicit:
            assert parameters is None or isinstance(parameters, DisplacedSteps)
            return self._differences.at(state, step, parameters)
        assert convex is not None
        balances = _balances(parameters)
        if isinstance(method, Extrapolation):
            self._differences.take(state, step)
            world = self.simulator.world
            decided = (*method.last_step(world, step), method.undamping(world, step))
            return self._extrapolated.at(convex, state, step, *decided, balances, ahead)
        if isinstance(method, StepDoubling):
            half = convex.at(state, 0.5 * step, parameters=balances, ahead=ahead)
            second = convex.at(half.end, 0.5 * step, parameters=balances, ahead=False)
            return replace(chain(half, second), steps=(step,))
        return convex.at(state, step, parameters=balances, ahead=ahead)

    def _sizes(self, start: StepState, interval: float) -> list[float]:
        """Sizes of the integrator's steps over an interval from the current state."""
        simulator = self.simulator
        world = simulator.world
        current = world.current.table
        end = start.time + interval
        if (
            simulator.integrator.time_step is not None
            and interval <= simulator.integrator.time_step
        ):
            return [interval]
        stepping = simulator.integrator.stepping
        found = []
        before = start.time
        while current.time < end:
            code = stepping.advance(world, simulator.method, end, 1)
            if code not in (OK, BUDGET_USED) and not world.grow(code):
                raise SimulationError(f"a step could not be taken (code {code}).")
            if current.time > before:
                found.append(float(current.time) - before)
                before = float(current.time)
        return found


def _balances(parameters: DisplacedModels | None) -> DisplacedBalances | None:
    assert parameters is None or isinstance(parameters, DisplacedBalances)
    return parameters


def read_state(simulator: Simulator) -> StepState:
    """The current state of a simulator's world."""
    table = simulator.world.current.table
    return StepState(float(table.time), table.qpos.copy(), table.qvel.copy(), table.act.copy())
