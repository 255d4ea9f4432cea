"""The exact derivative of one step whose velocity is the root of a momentum balance.

With g(v; x, u) = 0 at the step's end (`asperity.derivatives.balance.residual`) and H = ∂g/∂v,

    H dv = −(∂g/∂x dx + ∂g/∂u du),        q⁺ = q ⊕ δt (θ_vq v + (1 − θ_vq) v_0).

H is the Hessian of the step's convex problem, and what friction bounded by the delivered normal
impulse and gyroscopic forces in the middle of the step add to it, which makes it unsymmetric.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from asperity.derivatives.assembly import assemble_step
from asperity.derivatives.balance.columns import COLUMN_KERNELS, state_columns
from asperity.derivatives.balance.convex_root import ConvexRoot
from asperity.derivatives.balance.mode_changes import follow_one_side
from asperity.derivatives.balance.root_search import ROOT_KERNELS
from asperity.derivatives.stages import run_stage
from asperity.derivatives.tangent import IMPLICIT, StepState, Tangent
from asperity.derivatives.trajectory_loops import (
    TRAJECTORY_LOOPS,
    follow_trajectory,
    linear_step,
    pull_back_trajectory,
)
from asperity.errors import SimulationError
from asperity.integrators.methods.icf import IcfMethod
from asperity.integrators.methods.tamsi.tamsi_method import TamsiMethod
from asperity.integrators.methods.theta import ThetaMethod
from asperity.integrators.world import World
from asperity.integrators.world_layout import OK

__all__ = ["DERIVATIVE_KERNELS", "ConvexStep"]

DERIVATIVE_KERNELS = (
    *(run_stage, assemble_step, follow_one_side),
    *(*ROOT_KERNELS, *COLUMN_KERNELS, *TRAJECTORY_LOOPS),
)


class ParameterColumns(Protocol):
    """What makes derivatives of the balance by parameters."""

    @property
    def count(self) -> int:
        """Number of parameters."""
        ...

    def add_columns(self, at: ConvexStep, step: float, first: int) -> None:
        """Add derivatives of the step that has been solved to its columns, from the first one."""
        ...

    def install(self, at: ConvexStep) -> None:
        """Let compiled code that runs through steps add these columns."""
        ...

    def make_room(self, at: ConvexStep) -> bool:
        """Make room for what compiled code has missed; False if it was nothing of that kind."""
        ...


class ConvexStep(ConvexRoot):
    """Derivatives of steps of `Icf`'s, `Sap`'s or `Tamsi`'s method in a world."""

    def __init__(self, world: World, method: IcfMethod | ThetaMethod | TamsiMethod) -> None:
        super().__init__(world, method)
        work = self._work
        work.fill_columns = state_columns.address
        work.assemble = assemble_step.address
        work.follow_one_side = follow_one_side.address

    def at(
        self,
        state: StepState,
        step: float,
        *,
        parameters: ParameterColumns | None = None,
        ahead: bool = True,
    ) -> Tangent:
        """Take a step from a state, with its derivatives.

        Parameters
        ----------
        state : StepState
        step : float
            Its size [s].
        parameters : ParameterColumns, optional
            By which there are derivatives, too
            (`asperity.derivatives.parameters.displaced_models`).
        ahead : bool
            Whether columns are those ahead where pieces of laws meet. Matrices that are multiplied
            by others from the right, or by an adjoint from the left, must be on one piece.

        Raises
        ------
        SimulationError
            If no solution is found.
        """
        model = self._model
        count = 0 if parameters is None else parameters.count
        self._reserve(2 * model.nv + model.na + model.nu + count, 0)
        self._prepare(parameters)
        self._work.ahead = int(ahead)
        self._world.current.table.time = state.time
        row = np.concatenate([state.qpos, state.qvel, state.act])
        end = np.empty_like(row)
        while True:
            self._work.code = linear_step.call(*self.addresses, step, count, row, end)
            if self._work.code == OK:
                break
            self._go_on(step, parameters)
        first, second = model.nq, model.nq + model.nv
        return self._tangent(
            StepState(state.time + step, end[:first], end[first:second], end[second:]),
            step,
            self._matrices(count),
        )

    def along(
        self,
        state: StepState,
        step: float,
        directions: np.ndarray,
        parameters: ParameterColumns | None = None,
    ) -> tuple[Tangent, np.ndarray]:
        """Take a step, with derivatives along some changes of the state alone.

        Parameters
        ----------
        state : StepState
        step : float
            Its size [s].
        directions : numpy.ndarray
            Shape (2nv+na, n).
        parameters : ParameterColumns, optional
            n of them, each of which changes along with the direction of its number.

        Returns
        -------
        tangent : Tangent
            Without derivatives.
        changes : numpy.ndarray
            Of the end, shape (2nv+na, n).
        """
        work = self._work
        count = directions.shape[1]
        self._reserve(count, count)
        work.directions[:count] = directions.T
        self._begin(state)
        with self._solved(step):
            self._columns(step, -count)
            if parameters is not None:
                parameters.add_columns(self, step, 0)
            self._run(work.assemble, step, -count)
            if work.kinks > 0:
                self._check_root(self._run(work.follow_one_side, step, -count), step)
        changes = self._work.result[:, :count].copy()
        nothing = np.zeros((len(changes), 0))
        tangent = self._tangent(self._end(state, step), step, (nothing, nothing, nothing))
        return tangent, changes

    def follow(
        self,
        states: np.ndarray,
        step: float,
        controls: np.ndarray,
        changes: np.ndarray,
        parameters: ParameterColumns | None,
    ) -> None:
        """Take one step after the other, with changes along those of the first state.

        Parameters
        ----------
        states : numpy.ndarray
            Shape (n+1, nq+nv+na), of which the first is given.
        step : float
            Size of each [s].
        controls : numpy.ndarray
            Shape (n, nu).
        changes : numpy.ndarray
            Shape (n+1, 2nv+na, directions), of which the first are given.
        parameters : ParameterColumns, optional
            As of `along`.

        Raises
        ------
        SimulationError
            If no solution is found.
        """
        count = changes.shape[2]
        self._reserve(count, count)
        self._prepare(parameters)
        taken = 0
        while taken < len(controls):
            taken = follow_trajectory.call(*self.addresses, step, taken, controls, states, changes)
            if taken < len(controls):
                self._go_on(step, parameters)

    def pull_back(
        self,
        states: np.ndarray,
        step: float,
        controls: np.ndarray,
        by_states: np.ndarray,
        adjoint: np.ndarray,
        by_control: np.ndarray,
        by_parameter: np.ndarray,
        parameters: ParameterColumns | None,
    ) -> None:
        """Let an adjoint of the last state go back to the first one.

        Parameters
        ----------
        states, step, controls
            As `follow` has filled them.
        by_states : numpy.ndarray
            Derivatives of a function of the states before the last one, shape (n, 2nv+na).
        adjoint : numpy.ndarray
            Its derivatives by the last state, and then by the first one, shape (2nv+na,).
        by_control, by_parameter : numpy.ndarray
            To which derivatives are added, shapes (n, nu) and (number of parameters,).
        parameters : ParameterColumns, optional
        """
        model = self._model
        self._reserve(2 * model.nv + model.na + model.nu + len(by_parameter), 0)
        self._prepare(parameters)
        self._work.ahead = 0
        left = len(controls)
        while left > 0:
            left = pull_back_trajectory.call(
                *self.addresses, step, left, controls, states, by_states, adjoint, by_control,
                by_parameter,
            )  # fmt: skip
            if left > 0:
                self._go_on(step, parameters)

    def _prepare(self, parameters: ParameterColumns | None) -> None:
        """Have compiled code take steps with the inputs, model and parameters that there are."""
        self._follow_model()
        current, work = self._world.current.table, self._work
        current.time = 0.0
        work.applied[:] = current.mj_qfrc_applied
        if parameters is not None:
            parameters.install(self)
        elif len(work.displaced) > 0:
            work.displaced = np.zeros((0, 4), np.int64)

    def _go_on(self, step: float, parameters: ParameterColumns | None) -> None:
        """Make room for what a trajectory has missed, or say why it ends."""
        code = int(self._work.code)
        if parameters is not None and parameters.make_room(self):
            return
        if not self._grow(code):
            self._check_root(code, step)

    def _columns(self, step: float, selection: int) -> None:
        """Fill derivatives of g and of the activations at the end."""
        work = self._work
        code = self._run(work.fill_columns, step, selection)
        if code != OK:
            raise SimulationError(f"a displaced state could not be evaluated (code {code}).")

    def _reserve(self, columns: int, directions: int) -> None:
        """Make room for so many columns, and directions."""
        work = self._work
        if len(work.directions) < directions:
            work.resize(direction_room=directions)
        if len(work.columns) < columns:
            work.resize(column_room=columns)

    def _matrices(self, parameters: int) -> tuple[np.ndarray, ...]:
        """Derivatives of the end by state, controls and parameters."""
        model, result = self._model, self._work.result
        first = 2 * model.nv + model.na
        second = first + model.nu
        return (
            result[:, :first].copy(),
            result[:, first:second].copy(),
            result[:, second : second + parameters].copy(),
        )

    def _tangent(self, end: StepState, step: float, matrices: tuple[np.ndarray, ...]) -> Tangent:
        by_state, by_control, by_parameter = matrices
        work = self._work
        return Tangent(
            end,
            by_state,
            by_control,
            by_parameter,
            (step,),
            IMPLICIT,
            float(work.residual),
            int(work.one_sided),
            int(work.unmatched),
        )
