"""Derivatives of steps that are extrapolated from a whole step and two halves.

With the ends x̂ of the whole step and x of the halves, the step's end is x ⊕ (x ⊖ x̂) and 2 v − v̂
in islands whose motion is smooth, and x elsewhere (docs/equations.md, ‘Extrapolation’). Each of the
three solves has its derivative (`asperity.derivatives.convex_step`). That positions fall back by
B (v − v̂) is differentiated with the matrix B of the step, which changes with the directions of
contacts: what that leaves out is of the fourth order in the step. So is the response R f of the
second half step's velocities to the difference f = c(v_1 + s (v_2 − 2 v_1 + v_0)) − c(v_1) of
gyroscopic forces, whose derivatives are differences of `mj_rne`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np

from asperity.derivatives.convex_step import ConvexStep
from asperity.derivatives.parameters.displaced_balances import DisplacedBalances
from asperity.derivatives.tangent import StepState, Tangent, chain
from asperity.derivatives.tangent_space import (
    left_jacobian,
    right_jacobian,
    rotation,
    rotation_dofs,
)

__all__ = ["ExtrapolatedStep"]

# Displacement of differences of gyroscopic forces, which are quadratic in velocities.
_SIZE = 1e-5


class ExtrapolatedStep:
    """Derivatives of steps of `asperity.integrators.methods.extrapolation`.

    Parameters
    ----------
    model : mujoco.MjModel
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._rotations = rotation_dofs(model)
        self._data = mujoco.MjData(model)

    def at(
        self,
        convex: ConvexStep,
        state: StepState,
        step: float,
        smooth: np.ndarray,
        corrected: tuple[np.ndarray, np.ndarray] | None,
        undamping: np.ndarray | None = None,
        parameters: DisplacedBalances | None = None,
        ahead: bool = True,
    ) -> Tangent:
        """Take a step from a state, with its derivatives.

        Parameters
        ----------
        convex : ConvexStep
            Of the base method.
        state : StepState
        step : float
            Its size [s].
        smooth : numpy.ndarray
            Whether a degree of freedom is extrapolated, shape (nv,).
        corrected : tuple of numpy.ndarray or None
            The shares s, shape (nv,), and the response R, shape (nv, nv), if the second half step
            has other gyroscopic forces.
        undamping : numpy.ndarray, optional
            By which changes of v − v̂ move positions back, shape (nv, nv), if they do.
        parameters : DisplacedBalances, optional
            By which there are derivatives, too.
        ahead : bool
            As of `ConvexStep.at`, for what begins at the state.
        """
        convex.share_springs(step)
        half = convex.at(state, 0.5 * step, parameters=parameters, ahead=ahead)
        second = convex.at(half.end, 0.5 * step, parameters=parameters, ahead=False)
        halves = chain(half, second)
        if corrected is not None:
            halves = self._correct(halves, state, half, second, step, corrected, parameters)
        if np.any(smooth):
            full = convex.at(state, step, parameters=parameters, ahead=ahead)
            halves = self._combine(halves, full, smooth, undamping)
        return replace(halves, steps=(step,))

    def along(
        self,
        convex: ConvexStep,
        state: StepState,
        step: float,
        smooth: np.ndarray,
        undamping: np.ndarray | None,
        directions: np.ndarray,
        parameters: DisplacedBalances | None,
    ) -> tuple[StepState, np.ndarray]:
        """As `at` of a step without correction, along changes of the state alone.

        Returns its end, and changes of that, shape (2nv+na, n).
        """
        half, middle = convex.along(state, 0.5 * step, directions, parameters)
        second, ends = convex.along(half.end, 0.5 * step, middle, parameters)
        halves = replace(second, by_parameter=ends)
        if np.any(smooth):
            full, ends = convex.along(state, step, directions, parameters)
            changed = replace(full, by_parameter=ends)
            halves = self._combine(halves, changed, smooth, undamping)
        return halves.end, halves.by_parameter

    def _combine(
        self, halves: Tangent, full: Tangent, smooth: np.ndarray, undamping: np.ndarray | None
    ) -> Tangent:
        """Extrapolate an end, and its derivatives."""
        model = self._model
        nv = model.nv
        ahead = np.zeros(nv)
        mujoco.mj_differentiatePos(model, ahead, 1.0, full.end.qpos, halves.end.qpos)
        ahead[~smooth] = 0.0
        moved = ahead.copy()
        if undamping is not None:
            moved -= undamping @ (halves.end.qvel - full.end.qvel)
        qpos = halves.end.qpos.copy()
        mujoco.mj_integratePos(model, qpos, moved, 1.0)
        qvel = halves.end.qvel + np.where(smooth, halves.end.qvel - full.end.qvel, 0.0)
        matrices = [
            self._combine_matrices(one, other, (ahead, moved), smooth, undamping)
            for one, other in (
                (halves.by_state, full.by_state),
                (halves.by_control, full.by_control),
                (halves.by_parameter, full.by_parameter),
            )
        ]
        return replace(
            halves,
            end=StepState(halves.end.time, qpos, qvel, halves.end.act),
            by_state=matrices[0],
            by_control=matrices[1],
            by_parameter=matrices[2],
            residual=max(halves.residual, full.residual),
            one_sided=halves.one_sided + full.one_sided,
            unmatched=halves.unmatched + full.unmatched,
        )

    def _combine_matrices(
        self,
        halves: np.ndarray,
        full: np.ndarray,
        turns: tuple[np.ndarray, np.ndarray],
        smooth: np.ndarray,
        undamping: np.ndarray | None,
    ) -> np.ndarray:
        """Combine derivatives; ``turns`` are x ⊖ x̂ and what of it the end goes beyond x."""
        nv = self._model.nv
        result = halves.copy()
        rows = np.flatnonzero(np.concatenate([smooth, smooth]))
        result[rows] += halves[rows] - full[rows]
        back = np.zeros((nv, halves.shape[1]))
        if undamping is not None:
            back = undamping @ (halves[nv : 2 * nv] - full[nv : 2 * nv])
            result[:nv] -= back
        for first in self._rotations:
            if not smooth[first]:
                continue
            part = slice(first, first + 3)
            turn, moved = turns[0][part], turns[1][part]
            change = np.linalg.solve(right_jacobian(turn), halves[part])
            change -= np.linalg.solve(left_jacobian(turn), full[part]) + back[part]
            result[part] = rotation(-moved) @ halves[part] + right_jacobian(moved) @ change
        assert result.shape[0] >= 2 * nv
        return result

    # -- gyroscopic forces of the half way ---------------------------------------------------------

    def _correct(
        self,
        halves: Tangent,
        state: StepState,
        half: Tangent,
        second: Tangent,
        step: float,
        corrected: tuple[np.ndarray, np.ndarray],
        parameters: DisplacedBalances | None,
    ) -> Tangent:
        """Both half steps, with the response to other forces of the second one."""
        model = self._model
        nv = model.nv
        share, response = corrected
        middle = half.end

        def force(point: _Points) -> np.ndarray:
            return self._correction(model, self._data, point, share)

        points = (state.qpos, state.qvel, middle.qpos, middle.qvel, second.end.qvel)
        by_end = self._differences(force, points, (4,))
        # By the state in the middle, of which the end of the second half step is a function.
        through = by_end @ second.by_state[nv : 2 * nv]
        through[:, : 2 * nv] += self._differences(force, points, (2, 3))
        by_state = through @ half.by_state
        by_state[:, : 2 * nv] += self._differences(force, points, (0, 1))
        by_control = through @ half.by_control + by_end @ second.by_control[nv : 2 * nv]
        by_parameter = through @ half.by_parameter + by_end @ second.by_parameter[nv : 2 * nv]
        if parameters is not None:
            by_parameter += parameters.differences(
                lambda other, data: self._correction(other, data, points, share)
            )
        change = response @ force(points)
        moved = 0.5 * step * change
        qpos = halves.end.qpos.copy()
        mujoco.mj_integratePos(model, qpos, moved, 1.0)
        matrices = [
            self._add_change(matrix, response @ changes, moved, step)
            for matrix, changes in (
                (halves.by_state, by_state),
                (halves.by_control, by_control),
                (halves.by_parameter, by_parameter),
            )
        ]
        return replace(
            halves,
            end=replace(halves.end, qpos=qpos, qvel=halves.end.qvel + change),
            by_state=matrices[0],
            by_control=matrices[1],
            by_parameter=matrices[2],
        )

    def _add_change(
        self, matrix: np.ndarray, changes: np.ndarray, moved: np.ndarray, step: float
    ) -> np.ndarray:
        """Add changes of velocities to derivatives of an end that they have moved."""
        nv = self._model.nv
        result = matrix.copy()
        result[nv : 2 * nv] += changes
        result[:nv] += 0.5 * step * changes
        for first in self._rotations:
            part = slice(first, first + 3)
            turned = right_jacobian(moved[part]) @ (0.5 * step * changes[part])
            result[part] = rotation(-moved[part]) @ matrix[part] + turned
        return result

    def _correction(
        self, model: mujoco.MjModel, data: mujoco.MjData, points: _Points, share: np.ndarray
    ) -> np.ndarray:
        """c(v_1 + s (v_2 − 2 v_1 + v_0)) − c(v_1) at the half way, in generalized forces."""
        start, before, middle, present, after = points
        free = self._free_trees()
        _move(model, data, start)
        carried = before.copy()
        spatial = [_to_centre(data.cdof[s : s + 6]) @ before[s : s + 6] for s in free]
        _move(model, data, middle)
        for s, velocity in zip(free, spatial, strict=True):
            carried[s : s + 6] = np.linalg.solve(_to_centre(data.cdof[s : s + 6]), velocity)
        forces = []
        for velocity in (present + share * (after - 2.0 * present + carried), present):
            data.qvel[:] = velocity
            mujoco.mj_comVel(model, data)
            bias = np.zeros(model.nv)
            mujoco.mj_rne(model, data, 0, bias)
            forces.append(-bias)
        return forces[0] - forces[1]

    def _free_trees(self) -> list[int]:
        """First degrees of freedom of trees whose velocity is that of a centre of mass."""
        model = self._model
        return [
            int(model.tree_dofadr[tree])
            for tree in range(model.ntree)
            if model.tree_dofnum[tree] == 6
            and int(model.jnt_type[model.dof_jntid[model.tree_dofadr[tree]]])
            == int(mujoco.mjtJoint.mjJNT_FREE)
        ]

    def _differences(
        self, force: Callable[[_Points], np.ndarray], points: _Points, which: tuple[int, ...]
    ) -> np.ndarray:
        """Central differences of the correction by some of its arguments, side by side."""
        model = self._model
        columns = []
        for argument in which:
            for index in range(model.nv):
                sides = []
                for sign in (1.0, -1.0):
                    moved = [point.copy() for point in points]
                    if argument in (0, 2):
                        unit = np.zeros(model.nv)
                        unit[index] = sign * _SIZE
                        mujoco.mj_integratePos(model, moved[argument], unit, 1.0)
                    else:
                        moved[argument][index] += sign * _SIZE
                    sides.append(force(tuple(moved)))
                columns.append((sides[0] - sides[1]) / (2.0 * _SIZE))
        return np.array(columns).T.reshape(model.nv, len(columns))


_Points = tuple[np.ndarray, ...]


def _move(model: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray) -> None:
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)


def _to_centre(cdof: np.ndarray) -> np.ndarray:
    """Spatial velocity at the centre of mass (angular, linear) of a free joint's velocity."""
    matrix = np.zeros((6, 6))
    matrix[3:, :3] = np.eye(3)
    matrix[:, 3:] = cdof[3:].T
    return matrix
