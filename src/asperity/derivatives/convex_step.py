"""The exact derivative of one step whose velocity is the root of a momentum balance.

With g(v; x, u) = 0 at the step's end (`asperity.derivatives.residual`) and H = ∂g/∂v,

    H dv = −(∂g/∂x dx + ∂g/∂u du),        q⁺ = q ⊕ δt (θ_vq v + (1 − θ_vq) v_0).

H is the Hessian of the step's convex problem, and what friction bounded by the delivered normal
impulse and gyroscopic forces in the middle of the step add to it, which makes it unsymmetric.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from asperity.compiled import Loop
from asperity.derivatives.assembly import assemble_step
from asperity.derivatives.columns import differences
from asperity.derivatives.convex_root import ConvexRoot
from asperity.derivatives.frozen_columns import FROZEN_KERNELS, frozen_columns
from asperity.derivatives.layout import (
    ACTIVATION,
    APPLIED,
    CONTROL,
    DIRECTION,
    POSITION,
    VELOCITY,
    grow_columns,
)
from asperity.derivatives.root_search import ROOT_KERNELS
from asperity.derivatives.tangent import IMPLICIT, StepState, Tangent
from asperity.errors import SimulationError
from asperity.integrators.world_layout import OK

__all__ = ["DERIVATIVE_KERNELS", "ConvexStep"]

DERIVATIVE_KERNELS = (differences, assemble_step, *ROOT_KERNELS, *FROZEN_KERNELS)

# Displacements of central differences [m, rad; m/s, rad/s; units of controls and forces]. With
# positions contact velocities move, at a metre per second by 3e-8 m/s, and friction bends within
# the stiction tolerance of 1e-4 m/s: smaller ones are lost in the round-off of distances, at larger
# ones (the whole step would not feel them, as its velocity adapts) differences are off by their
# square. By velocities and inputs g is nearly linear.
_SIZES = {POSITION: 3e-8, VELOCITY: 1e-6, ACTIVATION: 1e-5, CONTROL: 1e-5, APPLIED: 1e-3}


class ParameterColumns(Protocol):
    """What makes derivatives of the balance by parameters."""

    @property
    def count(self) -> int:
        """Number of parameters."""
        ...

    def add_columns(self, at: ConvexStep, step: float, first: int) -> None:
        """Add derivatives of the step that has been solved to its columns, from the first one."""
        ...


class ConvexStep(ConvexRoot):
    """Derivatives of steps of `Icf`'s, `Sap`'s or `Tamsi`'s method in a world."""

    def at(
        self,
        state: StepState,
        step: float,
        *,
        forces: bool = False,
        added_force: np.ndarray | None = None,
        parameters: ParameterColumns | None = None,
    ) -> Tangent:
        """Take a step from a state, with its derivatives.

        Parameters
        ----------
        state : StepState
        step : float
            Its size [s].
        forces : bool
            Whether derivatives by generalized forces are wanted.
        added_force : numpy.ndarray, optional
            Generalized forces beside those of the world's inputs, shape (nv,).
        parameters : ParameterColumns, optional
            By which there are derivatives, too (`asperity.derivatives.displaced_models`).

        Raises
        ------
        SimulationError
            If no solution is found.
        """
        applied = self._world.current.data.qfrc_applied
        before = applied.copy()
        if added_force is not None:
            applied += added_force
        self._begin(state)
        try:
            with self._solved(step):
                count = self._columns(step, forces)
                if parameters is not None:
                    count = self._add_parameters(parameters, step, count)
        finally:
            applied[:] = before
        return self._assemble(state, step, count, forces)

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
        model, work = self._model, self._work
        count = directions.shape[1]
        if len(work.directions) < count:
            work.directions = np.zeros((count, 2 * model.nv + model.na))
        if len(work.columns) < count:
            grow_columns(work, count)
        work.directions[:count] = directions.T
        self._begin(state)
        with self._solved(step):
            self._columns_along(step, count)
            if parameters is not None:
                parameters.add_columns(self, step, 0)
        changes = self._changes(step, count, True)
        nothing = np.zeros((len(changes), 0))
        tangent = self._tangent(state, step, (nothing, nothing, nothing, nothing))
        return tangent, changes.copy()

    def _columns(self, step: float, forces: bool) -> int:
        """Fill derivatives of g and of the activations at the end; returns how many."""
        model, work, world = self._model, self._work, self._world
        counts = [
            (VELOCITY, model.nv),
            (ACTIVATION, model.na),
            (CONTROL, model.nu),
            (APPLIED, model.nv if forces else 0),
            (POSITION, model.nv),
        ]
        total = sum(count for _, count in counts)
        if self._is_frozen():
            self._evaluated(frozen_columns, world.table.address, work.address, step, int(forces), 0)
            return total
        row = model.nv
        for kind, count in counts:
            first = 0 if kind == POSITION else row
            self._evaluated(
                differences,
                *(world.table.address, work.address, step, kind, count, first, _SIZES[kind]),
            )
            if kind != POSITION:
                row += count
        return total

    def _columns_along(self, step: float, count: int) -> None:
        """Fill derivatives of g and of the activations at the end along directions."""
        work, table = self._work, self._world.table
        if self._is_frozen():
            self._evaluated(frozen_columns, table.address, work.address, step, 0, count)
        else:
            directions = work.directions[:count].copy()
            largest = np.abs(directions).max(axis=1, initial=0.0)
            largest[largest == 0.0] = 1.0
            work.directions[:count] /= largest[:, None]
            self._evaluated(
                differences,
                *(table.address, work.address, step, DIRECTION, count, 0, _SIZES[POSITION]),
            )
            work.columns[:count] *= largest[:, None]
            work.directions[:count] = directions

    def _is_frozen(self) -> bool:
        """Whether the step that has been solved has contacts that only move."""
        return self._work.frozen == 1 and self._work.patches == 0

    def _evaluated(self, loop: Loop, *arguments: object) -> None:
        code = self._call(loop, *arguments)
        if code != OK:
            raise SimulationError(f"a displaced state could not be evaluated (code {code}).")

    def _add_parameters(self, parameters: ParameterColumns, step: float, count: int) -> int:
        work = self._work
        total = count + parameters.count
        if len(work.columns) < total:
            before = work.columns[:count].copy()
            grow_columns(work, total)
            work.columns[:count] = before
        work.columns[count:total] = 0.0
        parameters.add_columns(self, step, count)
        return total

    def _changes(self, step: float, count: int, along: bool) -> np.ndarray:
        """Derivatives of the end, by columns of g, (2nv+na, count)."""
        work = self._work
        if assemble_step.call(work.address, step, count, int(along)) != 0:
            return np.full((work.result.shape[0], count), np.nan)
        return np.asarray(work.result[:, :count])

    def _assemble(self, state: StepState, step: float, count: int, forces: bool) -> Tangent:
        model = self._model
        everything = self._changes(step, count, False)
        first = 2 * model.nv + model.na
        second = first + model.nu
        third = second + (model.nv if forces else 0)
        return self._tangent(
            state,
            step,
            (
                everything[:, :first].copy(),
                everything[:, first:second].copy(),
                everything[:, second:third].copy(),
                everything[:, third:].copy(),
            ),
        )

    def _tangent(self, state: StepState, step: float, matrices: tuple[np.ndarray, ...]) -> Tangent:
        by_state, by_control, by_force, by_parameter = matrices
        work = self._work
        return Tangent(
            self._end(state, step),
            by_state,
            by_control,
            by_force,
            by_parameter,
            (step,),
            IMPLICIT,
            float(work.residual),
            int(work.one_sided),
            int(work.unmatched),
        )
