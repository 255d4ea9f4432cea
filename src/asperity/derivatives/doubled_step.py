"""Derivatives of steps that are made of two halves, with or without extrapolation.

With the ends x̂ of the whole step and x of the halves, an extrapolated step's end is x ⊕ (x ⊖ x̂) and
2 v − v̂ in islands whose motion is smooth, and x elsewhere (docs/equations.md, ‘Extrapolation’);
without extrapolation it is x everywhere. Each solve has its derivative
(`asperity.derivatives.convex_step`). What swings (`asperity.derivatives.swing_changes`) is
differentiated with the matrix of the step that leaves what is not solved for, and the mass matrix
half way, as if they did not change with the pose: what that leaves out is of the fourth order in
the step. So is the response R f of the second half step's velocities to the difference
f = c(v_1 + s (v_2 − 2 v_1 + v_0)) − c(v_1) of gyroscopic forces, whose derivatives are differences
of `mj_rne`.

By how much signed distances of the second half step differ from those of the geoms
(`asperity.integrators.methods.half_step_gaps`) is taken as given. What that leaves out is of the
second order in the angle by which a contact turns within the step.

By how much a step's end is moved and scaled to its energy
(`asperity.integrators.methods.energy_balance`) is taken as given: both are of the third order in
the step.

How implicit springs are (`asperity.integrators.methods.springs`) is taken as given. It changes with
stiffnesses and masses where a step does not resolve a spring: that is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.derivatives.convex_step import ConvexStep
from asperity.derivatives.parameters.displaced_balances import DisplacedBalances
from asperity.derivatives.parameters.displaced_models import DisplacedModels
from asperity.derivatives.step_differences import StepDifferences
from asperity.derivatives.swing_changes import Point, added_to_swings
from asperity.derivatives.tangent import StepState, Tangent
from asperity.derivatives.tangent_space import (
    displaced,
    left_jacobian,
    right_jacobian,
    rotation,
    rotation_dofs,
)
from asperity.integrators.methods.extrapolation import Extrapolation, Swings
from asperity.plant.model.sleep import awake_data
from asperity.simulator import Simulator

__all__ = ["Decisions", "DoubledStep"]

# Displacement of differences of gyroscopic forces, which are quadratic in velocities.
_SIZE = 1e-5


class Decisions(NamedTuple):
    """What a step does that its derivative takes as given.

    Attributes
    ----------
    smooth : numpy.ndarray
        Whether a degree of freedom is extrapolated, shape (nv,).
    corrected : tuple of numpy.ndarray or None
        The shares s, shape (nv,), and the response R, shape (nv, nv), if the second half step
        has other gyroscopic forces.
    swings : Swings or None
        As of `Extrapolation.swings`.
    distances : numpy.ndarray or None
        By which signed distances of contacts differ from those of the geoms in the second half
        step, shape (ncontact,) [m].
    energy : tuple of numpy.ndarray or None
        λ and s of `asperity.integrators.methods.energy_balance`, each of shape (nv,).
    springs : numpy.ndarray or None
        How implicit the spring of every degree of freedom is, shape (nv,), if the step is
        extrapolated.
    """

    smooth: np.ndarray
    corrected: tuple[np.ndarray, np.ndarray] | None = None
    swings: Swings | None = None
    distances: np.ndarray | None = None
    energy: tuple[np.ndarray, np.ndarray] | None = None
    springs: np.ndarray | None = None

    def needs_whole_step(self, state: StepState) -> bool:
        """Whether the end depends on the whole step: something is extrapolated."""
        return self.springs is not None and (bool(np.any(self.smooth)) or len(state.act) > 0)


class DoubledStep:
    """Derivatives of steps of `asperity.integrators.methods.step_doubling` and of `.extrapolation`.

    Parameters
    ----------
    simulator : Simulator
        Whose steps they are.
    convex : ConvexStep
        Of its base method.
    whole : StepDifferences
        What takes its steps, to find out what they decide.
    """

    def __init__(self, simulator: Simulator, convex: ConvexStep, whole: StepDifferences) -> None:
        self._simulator = simulator
        self._convex = convex
        self._whole = whole
        self._model = simulator.model
        self._data = awake_data(simulator.model)
        self._rotations = rotation_dofs(simulator.model)

    def end(self, state: StepState, step: float) -> StepState:
        """Where the step ends, as the simulator takes it."""
        return self._whole.end(state, step)

    def decide(self, state: StepState, step: float) -> Decisions:
        """What a step from this state decides."""
        method, world = self._simulator.session.method, self._simulator.session.world
        if not isinstance(method, Extrapolation):
            return Decisions(np.zeros(self._model.nv, bool))
        self._whole.end(state, step)
        return Decisions(
            *method.last_step(world, step),
            method.swings(world, step),
            method.distance_changes(world),
            method.energy_balance(world),
            world.table.spring_share.copy(),
        )

    def at(
        self,
        state: StepState,
        step: float,
        parameters: DisplacedModels | None = None,
        *,
        ahead: bool = True,
        decisions: Decisions | None = None,
    ) -> Tangent:
        """Take a step from a state, with its derivatives.

        Parameters
        ----------
        state : StepState
        step : float
            Its size [s].
        parameters : DisplacedModels, optional
            By which there are derivatives, too.
        ahead : bool
            As of `ConvexStep.at`, for what begins at the state.
        decisions : Decisions, optional
            Those of a step from this state by default.
        """
        convex = self._convex
        decided = self.decide(state, step) if decisions is None else decisions
        if decided.springs is not None:
            self._convex.share_springs(step, decided.springs)
        half = convex.at(state, 0.5 * step, parameters, ahead=ahead)
        with self._changed_distances(decided):
            second = convex.at(half.end, 0.5 * step, parameters, ahead=False)
        solves = [half, second]
        middle = _matrix(half)
        ends = second.by_state @ middle
        width = len(state.qvel) * 2 + len(state.act)
        ends[:, width:] += _matrix(second)[:, width:]
        full = None
        if decided.needs_whole_step(state):
            solves.append(convex.at(state, step, parameters, ahead=ahead))
            full = solves[-1].end, _matrix(solves[-1])
        points = (state, np.eye(*middle.shape)), (half.end, middle), (second.end, ends)
        end, matrix = self._join(points, full, step, decided, parameters)
        last = width + half.by_control.shape[1]
        return Tangent(
            end,
            matrix[:, :width],
            matrix[:, width:last],
            matrix[:, last:],
            (step,),
            half.method,
            max(one.residual for one in solves),
            sum(one.one_sided for one in solves),
            sum(one.unmatched for one in solves),
        )

    def along(
        self,
        state: StepState,
        step: float,
        directions: np.ndarray,
        parameters: DisplacedModels | None = None,
    ) -> tuple[StepState, np.ndarray]:
        """The end of a step, and its changes along changes of the state, as `ConvexStep.along`."""
        convex = self._convex
        decided = self.decide(state, step)
        if decided.springs is not None:
            self._convex.share_springs(step, decided.springs)
        half = convex.along(state, 0.5 * step, directions, parameters)
        with self._changed_distances(decided):
            second = convex.along(half[0], 0.5 * step, half[1], parameters)
        full = None
        if decided.needs_whole_step(state):
            full = convex.along(state, step, directions, parameters)
        return self._join(((state, directions), half, second), full, step, decided, parameters)

    @contextmanager
    def _changed_distances(self, decided: Decisions) -> Iterator[None]:
        """While the second half step is solved."""
        if decided.distances is None:
            yield
            return
        self._convex.change_distances(decided.distances)
        try:
            yield
        finally:
            self._convex.change_distances(np.zeros(0))

    def _join(
        self,
        points: tuple[Point, Point, Point],
        full: Point | None,
        step: float,
        decided: Decisions,
        parameters: DisplacedModels | None,
    ) -> Point:
        """The step's end, of its beginning, middle and second end, and of the whole step."""
        end = points[2]
        if decided.corrected is not None:
            share, response = decided.corrected
            force, changes = self._correction(points, share, parameters)
            speed = response @ force, response @ changes
            end = self._moved(end, (0.5 * step * speed[0], 0.5 * step * speed[1]), speed)
        if full is None:
            return end
        (state, changes), (whole, whole_changes) = end, full
        nv = len(state.qvel)
        smooth = decided.smooth
        ahead = np.zeros(nv)
        mujoco.mj_differentiatePos(self._model, ahead, 1.0, whole.qpos, state.qpos)
        moved = changes[:nv] - whole_changes[:nv]
        for first in self._rotations:
            part = slice(first, first + 3)
            moved[part] = np.linalg.solve(right_jacobian(ahead[part]), changes[part])
            moved[part] -= np.linalg.solve(left_jacobian(ahead[part]), whole_changes[part])
        slower = state.qvel - whole.qvel, changes[nv : 2 * nv] - whole_changes[nv : 2 * nv]
        travel = np.where(smooth, ahead, 0.0), np.where(smooth[:, None], moved, 0.0)
        speed = np.where(smooth, slower[0], 0.0), np.where(smooth[:, None], slower[1], 0.0)
        if decided.swings is not None:
            added = self._swings((*points[:2], end), full, decided.swings, parameters)
            travel = travel[0] + step * added[0][nv:], travel[1] + step * added[1][nv:]
            speed = speed[0] + added[0][:nv], speed[1] + added[1][:nv]
        if decided.energy is not None:
            share, scale = decided.energy
            travel = travel[0] + 4.0 * share * ahead, travel[1] + 4.0 * share[:, None] * moved
            faster = state.qvel + speed[0], changes[nv : 2 * nv] + speed[1]
            more = scale - 1.0
            speed = speed[0] + more * faster[0], speed[1] + more[:, None] * faster[1]
        return self._driven(self._moved(end, travel, speed), full)

    def _driven(self, point: Point, full: Point) -> Point:
        """A state with extrapolated activations."""
        (state, before), first = point, 2 * self._model.nv
        if len(state.act) == 0:
            return point
        part = slice(first, first + len(state.act))
        low, high = self._simulator.session.world.plant.table.actuators.act_range.T
        value = 2.0 * state.act - full[0].act
        changes = before.copy()
        changes[part] = 2.0 * before[part] - full[1][part]
        changes[part][(value <= low) | (value >= high)] = 0.0
        change = np.zeros(first + len(state.act))
        change[part] = np.clip(value, low, high) - state.act
        return displaced(self._model, state, change), changes

    def _swings(
        self,
        points: tuple[Point, Point, Point],
        full: Point,
        swings: Swings,
        parameters: DisplacedModels | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """What is added to velocities and, per time, to positions, shape (2nv,), with changes."""
        middle, floating = points[1][0], swings.floating()

        def added(
            model: mujoco.MjModel, data: mujoco.MjData, count: int
        ) -> tuple[np.ndarray, np.ndarray]:
            masses = [_mass(model, data, middle, one) for one in (0.0 * floating, floating)]
            first, half, second, whole = ((s, m[:, :count]) for s, m in (*points, full))
            both = added_to_swings((first, half, second), whole, swings, (masses[0], masses[1]))
            speed, travel = both
            return np.concatenate([speed[0], travel[0]]), np.concatenate([speed[1], travel[1]])

        value, changes = added(self._model, self._data, full[1].shape[1])
        if parameters is not None:
            assert isinstance(parameters, DisplacedBalances)
            changes[:, -parameters.count :] += parameters.differences(
                lambda other, data: added(other, data, 0)[0]
            )
        return value, changes

    def _moved(
        self,
        point: Point,
        travel: tuple[np.ndarray, np.ndarray],
        speed: tuple[np.ndarray, np.ndarray],
    ) -> Point:
        """A state that travels on and becomes faster; each with its changes."""
        (state, before), nv = point, self._model.nv
        changes = before.copy()
        changes[:nv] += travel[1]
        changes[nv : 2 * nv] += speed[1]
        for first in self._rotations:
            part = slice(first, first + 3)
            turned = right_jacobian(travel[0][part]) @ travel[1][part]
            changes[part] = rotation(-travel[0][part]) @ before[part] + turned
        change = np.concatenate([travel[0], speed[0], np.zeros(len(state.act))])
        return displaced(self._model, state, change), changes

    # -- gyroscopic forces of the half way ---------------------------------------------------------

    def _correction(
        self,
        points: tuple[Point, Point, Point],
        share: np.ndarray,
        parameters: DisplacedModels | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The difference f of gyroscopic forces, and its central differences along changes."""
        model = self._model
        states = tuple(state for state, _ in points)
        force = self._force(model, self._data, states, share)
        columns = np.zeros((model.nv, points[0][1].shape[1]))
        for column in range(columns.shape[1]):
            moves = [changes[:, column] for _, changes in points]
            largest = max(float(np.abs(one).max()) for one in moves)
            if largest == 0.0:
                continue
            size = _SIZE / largest
            sides = []
            for sign in (1.0, -1.0):
                beside = (
                    displaced(model, state, sign * size * one)
                    for state, one in zip(states, moves, strict=True)
                )
                sides.append(self._force(model, self._data, tuple(beside), share))
            columns[:, column] = (sides[0] - sides[1]) / (2.0 * size)
        if parameters is not None:
            assert isinstance(parameters, DisplacedBalances)
            columns[:, -parameters.count :] += parameters.differences(
                lambda other, data: self._force(other, data, states, share)
            )
        return force, columns

    def _force(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        states: tuple[StepState, ...],
        share: np.ndarray,
    ) -> np.ndarray:
        """c(v_1 + s (v_2 − 2 v_1 + v_0)) − c(v_1) at the half way, in generalized forces."""
        start, middle, after = states
        change = share * (after.qvel - 2.0 * middle.qvel + start.qvel)
        _move(model, data, middle.qpos)
        forces = []
        for velocity in (middle.qvel + change, middle.qvel):
            data.qvel[:] = velocity
            mujoco.mj_comVel(model, data)
            bias = np.zeros(model.nv)
            mujoco.mj_rne(model, data, 0, bias)
            forces.append(-bias)
        return np.asarray(forces[0] - forces[1])


def _mass(
    model: mujoco.MjModel, data: mujoco.MjData, state: StepState, together: np.ndarray
) -> np.ndarray:
    """The mass matrix in a state, shape (nv, nv), without the momenta of islands that float.

    Of every degree of freedom the others of its island are 1 in ``together`` if that floats.
    """
    _move(model, data, state.qpos)
    mujoco.mj_makeM(model, data)
    mass = np.empty((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    bases = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    linear = model.jnt_dofadr[bases][:, None] + np.arange(3)
    for island in np.unique(together[linear[:, 0]], axis=0):
        ours = linear[island[linear[:, 0]] > 0.0]
        if len(ours):
            momentum = mass[ours].sum(axis=0)
            mass -= momentum.T @ momentum / momentum[0, ours[:, 0]].sum()
    return mass


def _matrix(tangent: Tangent) -> np.ndarray:
    return np.hstack([tangent.by_state, tangent.by_control, tangent.by_parameter])


def _move(model: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray) -> None:
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
