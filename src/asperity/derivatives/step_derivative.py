"""Derivatives of what an integrator makes of an interval of time, whatever it is."""

from __future__ import annotations

from functools import cached_property

import mujoco
import numpy as np

from asperity.compiled.compilation import compile_kernels
from asperity.derivatives.convex_step import DERIVATIVE_KERNELS, PLASTIC_KERNELS, ConvexStep
from asperity.derivatives.doubled_step import DoubledStep
from asperity.derivatives.parameters.displaced_balances import DisplacedBalances
from asperity.derivatives.parameters.displaced_models import DisplacedModels
from asperity.derivatives.parameters.displaced_steps import DisplacedSteps
from asperity.derivatives.step_differences import StepDifferences, reason_of
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
from asperity.plant.model.names import element, refuse_first
from asperity.plant.model.plastic import plastic_size
from asperity.plant.model.sleep import awake_data
from asperity.plant.model.support import has_uneven_friction
from asperity.simulator import Simulator

__all__ = ["StepDerivative", "read_state"]

_INPUTS = mujoco.mjtState.mjSTATE_INTEGRATION


_Steps = ConvexStep | DoubledStep | StepDifferences
"""Steps of one kind with their derivatives; displaced models are those that belong to the kind."""


class StepDerivative:
    """Derivatives of transitions that a simulator makes.

    Parameters
    ----------
    simulator : Simulator
        Of its own: it is moved about.
    """

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        # What sleeps would not move with the state.
        simulator.session.stay_awake()
        self._make_steps()

    def _make_steps(self) -> None:
        """Prepare derivatives of steps in the simulator's present world."""
        simulator = self.simulator
        model = simulator.model
        refuse_first(
            model,
            mujoco.mjtObj.mjOBJ_ACTUATOR,
            model.actuator_delay,
            "has a delay, and what is on its way is no part of the state that derivatives are of; "
            "remove the delay.",
        )
        method, base = simulator.session.method, simulator.session.method.base
        self._world = simulator.session.world
        self.convex: ConvexStep | None = None
        whole = StepDifferences(simulator)
        self.steps: _Steps = whole
        # How the tangents of a contact turn does not matter where friction is the same along both.
        even = not has_uneven_friction(simulator.model)
        if even and isinstance(base, IcfMethod | ThetaMethod | TamsiMethod):
            yields = PLASTIC_KERNELS if plastic_size(model) > 0 else ()
            compile_kernels((*yields, *DERIVATIVE_KERNELS), "derivatives")
            self.convex = ConvexStep(simulator.session.world, base)
            if method is base or isinstance(method, Substeps):
                self.steps = self.convex
            elif type(method) is StepDoubling or isinstance(method, Extrapolation):
                self.steps = DoubledStep(simulator, self.convex, whole)
        if simulator.model.nflex > 0 and self.steps is not self.convex:
            name = element(simulator.model, mujoco.mjtObj.mjOBJ_FLEX, 0)
            raise ModelError(
                f"{name} is deformable, and of steps of deformable bodies those of "
                "Icf(time_step=…) without pairs of uneven friction have derivatives."
            )

    @cached_property
    def kinematics(self) -> mujoco.MjData:
        """Data for kinematics alone, beside the simulator's."""
        return awake_data(self.simulator.model)

    @property
    def has_implicit_steps(self) -> bool:
        """Whether every step is one solve with an implicit derivative."""
        return self.steps is self.convex

    @property
    def is_implicit(self) -> bool:
        """Whether every step is made of solves with implicit derivatives."""
        return not isinstance(self.steps, StepDifferences)

    @property
    def displaced_models(self) -> type[DisplacedModels]:
        """What derivatives by parameters are made with."""
        return DisplacedBalances if self.is_implicit else DisplacedSteps

    def take_over(self, state: np.ndarray) -> None:
        """Take over a state and inputs, as `mj_getState` returns them."""
        simulator = self.simulator
        mujoco.mj_setState(simulator.model, simulator.data, state, _INPUTS)
        simulator.take_over()
        if simulator.session.world is not self._world:
            # The model's number of free bodies has changed.
            self._make_steps()

    def write_controls(self, ctrl: np.ndarray) -> None:
        """Write controls wherever states are evaluated, between steps."""
        for state in self._world.evaluated_states:
            state.data.ctrl[:] = ctrl

    def is_one_step(self, interval: float) -> bool:
        """Whether a transition is one implicit step that depends on the state alone."""
        step = self.simulator.integrator.time_step
        return self.has_implicit_steps and step is not None and interval <= step

    def end(self, state: StepState, interval: float) -> StepState:
        """Where the transition from a state ends, solved as for its derivatives."""
        for step in self._sizes(state, interval):
            state = self.steps.end(state, step)
        return state

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
        sizes = iter(self._sizes(state, interval))
        total = self.steps.at(state, next(sizes), parameters, ahead=ahead)
        for step in sizes:
            total = chain(total, self.steps.at(total.end, step, parameters, ahead=False))
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
        for step in self._sizes(state, interval):
            state, directions = self.steps.along(state, step, directions, parameters)
        return state, directions

    def over(self, interval: float | None) -> Tangent:
        """The transition over an interval of time [s] from the state that was taken over.

        Without an interval it is one fixed step, or the model's ``timestep`` under error control.
        """
        simulator = self.simulator
        if interval is None:
            interval = simulator.integrator.time_step or float(simulator.model.opt.timestep)
        # Each step begins where the one before ends as it is differentiated, solved to round-off.
        return self.between(read_state(simulator), interval)

    def published_step(self, state: StepState) -> Tangent:
        """The step whose forces are published at a state."""
        assert self.convex is not None
        return self.convex.at(state, self.simulator.session.first_steps[1], balanced=False)

    def deliver(self, state: StepState) -> None:
        """Let the forces that are published at a state be of that step."""
        assert self.convex is not None
        self.convex.deliver(state, self.simulator.session.first_steps[1])

    def _sizes(self, start: StepState, interval: float) -> list[float]:
        """Sizes of the integrator's steps over an interval from a state."""
        simulator, world = self.simulator, self._world
        step = simulator.integrator.time_step
        if step is not None and interval <= step:
            return [interval]
        current = world.current.table
        current.time = start.time
        start.write(current)
        current.valid = 0
        world.forget_solutions()
        simulator.session.stepping.prepare(world)
        end = start.time + interval
        found = []
        before = start.time
        while current.time < end:
            code = simulator.session.take_steps(end, 1)
            if code not in (OK, BUDGET_USED) and not world.grow(code):
                raise SimulationError(
                    f"the step from t = {before:.6g} s cannot be taken, so it has no derivative: "
                    f"{reason_of(code)}"
                )
            if current.time > before:
                found.append(float(current.time) - before)
                before = float(current.time)
        return found


def read_state(simulator: Simulator) -> StepState:
    """The current state of a simulator's world."""
    return StepState.read(simulator.session.world.current.table, simulator.model)
