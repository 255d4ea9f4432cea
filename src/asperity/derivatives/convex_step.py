"""The exact derivative of one step whose velocity is the root of a momentum balance.

With g(v; x, u) = 0 at the step's end (`asperity.derivatives.residual`) and H = ∂g/∂v,

    H dv = −(∂g/∂x dx + ∂g/∂u du),        q⁺ = q ⊕ δt (θ_vq v + (1 − θ_vq) v_0).

H is the Hessian of the step's convex problem, and what friction bounded by the delivered normal
impulse and gyroscopic forces in the middle of the step add to it, which makes it unsymmetric.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from asperity.derivatives.columns import differences
from asperity.derivatives.convex_root import ConvexRoot
from asperity.derivatives.dense_solve import eliminate, solve_dense
from asperity.derivatives.layout import (
    ACTIVATION,
    APPLIED,
    CONTROL,
    DIRECTION,
    POSITION,
    VELOCITY,
)
from asperity.derivatives.residual import RESIDUAL_KERNELS
from asperity.derivatives.tangent import IMPLICIT, StepState, Tangent
from asperity.derivatives.tangent_space import right_jacobian, rotation
from asperity.errors import SimulationError
from asperity.integrators.world_layout import OK

__all__ = ["DERIVATIVE_KERNELS", "ConvexStep"]

DERIVATIVE_KERNELS = (differences, *RESIDUAL_KERNELS, eliminate)

# Displacements of central differences [m, rad; m/s, rad/s; units of controls and forces]. With
# positions contact velocities move, at a metre per second by 3e-8 m/s, and friction bends within
# the stiction tolerance of 1e-4 m/s: smaller ones are lost in the round-off of distances, at larger
# ones (the whole step would not feel them, as its velocity adapts) differences are off by their
# square. By velocities and inputs g is nearly linear.
_SIZES = {POSITION: 3e-8, VELOCITY: 1e-6, ACTIVATION: 1e-5, CONTROL: 1e-5, APPLIED: 1e-3}


class ParameterColumns(Protocol):
    """What makes derivatives of the balance by parameters."""

    def columns(self, at: ConvexStep, state: StepState, step: float) -> tuple[np.ndarray, int]:
        """One row per parameter, and how many of these change contacts on both sides."""
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
        table = self._world.table
        solver = table.solve_problem
        try:
            residual, matrix = self._root(step, solver)
            columns = self._columns(step, forces)
            if parameters is not None:
                more, unmatched = parameters.columns(self, state, step)
                columns = np.concatenate([columns, more])
                self._work.unmatched += unmatched
        finally:
            applied[:] = before
            table.solve_problem = solver
            table.factors_valid = 0
            table.graph_state = 0
        return self._assemble(state, step, residual, matrix, columns, forces)

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
        model, work, world = self._model, self._work, self._world
        nv, na = model.nv, model.na
        count = directions.shape[1]
        if len(work.directions) < count:
            work.directions = np.zeros((count, 2 * nv + na))
            work.columns = np.zeros((max(len(work.columns), count), nv + na))
        largest = np.abs(directions).max(axis=0, initial=0.0)
        largest[largest == 0.0] = 1.0
        work.directions[:count] = (directions / largest).T
        self._begin(state)
        table = world.table
        solver = table.solve_problem
        try:
            residual, matrix = self._root(step, solver)
            code = self._call(
                differences,
                *(table.address, work.address, step, DIRECTION, count, 0, _SIZES[POSITION]),
            )
            if code != OK:
                raise SimulationError(f"a displaced state could not be evaluated (code {code}).")
            columns = work.columns[:count] * largest[:, None]
            if parameters is not None:
                more, unmatched = parameters.columns(self, state, step)
                columns += more
                work.unmatched += unmatched
        finally:
            table.solve_problem = solver
            table.factors_valid = 0
            table.graph_state = 0
        end, travel = self._end(state, step)
        by_all = -solve_dense(matrix, columns[:, :nv].T)
        moved = step * (self._share * by_all + (1.0 - self._share) * directions[nv : 2 * nv])
        for first in self._rotations:
            part = slice(first, first + 3)
            moved[part] = right_jacobian(travel[part]) @ moved[part]
            moved[part] += (rotation(-travel[part]) - np.eye(3)) @ directions[part]
        moved += directions[:nv]
        nothing = np.zeros((2 * nv + na, 0))
        tangent = Tangent(
            end,
            *(nothing, nothing, nothing, nothing, (step,), IMPLICIT),
            residual,
            int(work.one_sided),
            int(work.unmatched),
        )
        return tangent, np.concatenate([moved, by_all, columns[:, nv:].T])

    def _columns(self, step: float, forces: bool) -> np.ndarray:
        """Derivatives of g and of the activations at the end, one row per coordinate."""
        model, work, world = self._model, self._work, self._world
        counts = [
            (VELOCITY, model.nv),
            (ACTIVATION, model.na),
            (CONTROL, model.nu),
            (APPLIED, model.nv if forces else 0),
            (POSITION, model.nv),
        ]
        row = model.nv
        for kind, count in counts:
            first = 0 if kind == POSITION else row
            code = self._call(
                differences,
                *(world.table.address, work.address, step, kind, count, first, _SIZES[kind]),
            )
            if code != OK:
                raise SimulationError(f"a displaced state could not be evaluated (code {code}).")
            if kind != POSITION:
                row += count
        return work.columns[:row]

    def _assemble(
        self,
        state: StepState,
        step: float,
        residual: float,
        matrix: np.ndarray,
        columns: np.ndarray,
        forces: bool,
    ) -> Tangent:
        model = self._model
        nv, na, nu = model.nv, model.na, model.nu
        by_all = -solve_dense(matrix, columns[:, :nv].T)
        end, travel = self._end(state, step)
        mean = self._share * by_all
        mean[:, nv : 2 * nv] += (1.0 - self._share) * np.eye(nv)
        mean *= step
        for first in self._rotations:
            part = slice(first, first + 3)
            mean[part] = right_jacobian(travel[part]) @ mean[part]
            mean[part, part] += rotation(-travel[part]) - np.eye(3)
        mean[:, :nv] += np.eye(nv)
        everything = np.concatenate([mean, by_all, columns[:, nv:].T])
        ends = np.cumsum([2 * nv + na, nu, nv if forces else 0])
        by_state, by_control, by_force, by_parameter = np.split(everything, ends, axis=1)
        return Tangent(
            end,
            by_state,
            by_control,
            by_force,
            by_parameter,
            (step,),
            IMPLICIT,
            residual,
            int(self._work.one_sided),
            int(self._work.unmatched),
        )
