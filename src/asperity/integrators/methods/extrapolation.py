"""Step doubling with local extrapolation: second order wherever motion is smooth.

A first-order method takes one step of size h and two of h/2. Where motion is smooth,
2 x_half − x_full is then of second order at no further cost (Hairer, Nørsett, Wanner, Solving
Ordinary Differential Equations I, II.9). The error estimate stays that of x_half. The stability
function

    R(z) = 2/(1 − z/2)² − 1/(1 − z)

is that of an L-stable method, so stiff contact is damped as by implicit Euler. Three corrections
follow:

- oscillations keep their energy and phase (`asperity.integrators.methods.swings`), and so do
  vibrations of deformable bodies (`asperity.integrators.methods.vibrations`);
- the second half step of robots takes Coriolis forces at a velocity of higher order
  (`asperity.integrators.methods.middle_forces`);
- the step ends with the energy that it should have
  (`asperity.integrators.methods.energy_balance`).

**Where not.** If contacts come or go, or if one or a limit stops a fast approach, the difference of
both solutions is no term of a Taylor series, and 2 x_half − x_full may launch bodies. Islands in
which that happens are not extrapolated (`asperity.integrators.methods.rough_islands`). An island is
extrapolated as a whole, because contact forces act on both bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asperity.compiled import Kernel, Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_method
from asperity.convex.response import velocity_response
from asperity.integrators.methods.convex_step import FarSightedMethod
from asperity.integrators.methods.energy_balance import add_work, balance_energy, begin_work
from asperity.integrators.methods.extrapolation_layout import EXTRAPOLATION
from asperity.integrators.methods.guesses import (
    guess_first_half,
    guess_second_half,
    guess_whole,
)
from asperity.integrators.methods.half_step_gaps import evaluate_middle
from asperity.integrators.methods.method import Method
from asperity.integrators.methods.middle_forces import correct_velocities, response_matrix
from asperity.integrators.methods.motion import (
    ensure_evaluated,
    move_positions,
    position_difference,
)
from asperity.integrators.methods.rough_islands import (
    OF_VOLUMES,
    find_rough_islands,
    note_approach,
    note_first_half,
)
from asperity.integrators.methods.springs import fill_spring_shares
from asperity.integrators.methods.step_balance import balance_doubled_step
from asperity.integrators.methods.step_doubling import StepDoubling
from asperity.integrators.methods.swings import find_swings, tangent_matrix
from asperity.integrators.methods.vibrations import find_vibrations
from asperity.integrators.world import World
from asperity.integrators.world_layout import OK, compiled_method

__all__ = ["Extrapolation", "Swings", "extrapolation_method"]

# Of the velocity weight, where contacts come, go or stop something: they soon change velocities.
_ROUGH_SHARE = 0.25
# And that of deformable volumes, through which such events send waves.
_WAVE_SHARE = 10.0
_DAMPED = 0.02  # β over the step at which half of it is left


@compiled
def _extrapolate(
    world: Table, source: Table, half: Table, full: Table, target: Table, step: float
) -> None:
    """Extrapolate the islands that are smooth, and the activations of actuators."""
    plant = world.plant
    memory = EXTRAPOLATION.at(world.memory)
    find_swings(world, source, half, full, target, step)
    find_vibrations(world, source, half, target, step)
    for i in range(target.qvel.size):
        if memory.rough[memory.island[plant.dofs.tree[i]]] == 0:
            target.qvel[i] = 2.0 * target.qvel[i] - full.qvel[i] + memory.faster[i]
            world.scratch[i] = world.result.error[i] + step * memory.moved[i]
        else:
            world.scratch[i] = 0.0
    move_positions(plant, target.qpos, world.scratch, 1.0)
    limits = plant.actuators.act_range
    for i in range(target.act.size):
        activation = 2.0 * target.act[i] - full.act[i]
        target.act[i] = min(max(activation, limits[i, 0]), limits[i, 1])


@compiled
def _resolve_waves(world: Table, memory: Table, step: float) -> None:
    """Let errors of the velocities of volumes count more in islands that are not smooth.

    But not of those whose damping β K soon ends the waves that a step resolves.
    """
    elastic = world.plant.elastic
    for flex in range(len(elastic.flex_corners)):
        if elastic.flex_corners[flex] != OF_VOLUMES:
            continue
        first = elastic.flex_first_vertex[flex]
        for p in range(first, first + elastic.flex_vertices[flex]):
            tree = elastic.particle_tree[p]
            if tree >= 0 and memory.smooth[tree] == 0:
                dof = elastic.particle_dof[p]
                damped = elastic.particle_damping[p] / (_DAMPED * step)
                share = max(_ROUGH_SHARE, _WAVE_SHARE / (1.0 + damped * damped))
                world.result.velocity_share[dof : dof + 3] = share


@compiled
def _begin_springs(world: Table, source: Table, step: float) -> int:
    """Find how implicit springs are in all solves of the step."""
    world.doubled_step = step
    source.step = step
    code = ensure_evaluated(world, source)
    if code == OK:
        memory = EXTRAPOLATION.at(world.memory)
        share, factor, row = world.spring_share, memory.factor, memory.factor_row
        fill_spring_shares(world.plant, source, step, share, factor, row)
    return code


@compiled_method
def extrapolation_method(world: Table, source: Table, target: Table, step: float) -> int:
    """Two half steps of ``base_method``, extrapolated from one full step where that is safe."""
    half = world.half
    full = world.full
    memory = EXTRAPOLATION.at(world.memory)
    guess_whole(world, source, step)
    code = _begin_springs(world, source, step)
    if code != OK:
        return code
    code = call_method(world.base_method, world, source, full, step)
    if code != OK:
        return code
    begin_work(world)
    add_work(world.plant, source, full.qvel, memory.work_of_whole)
    note_approach(world, source, step)
    guess_first_half(world, source, full, step, memory.stiff)
    code = call_method(world.base_method, world, source, half, 0.5 * step)
    if code != OK:
        return code
    note_first_half(memory, source)
    add_work(world.plant, source, half.qvel, memory.work_of_halves)
    guess_second_half(world, source, half, full, memory.stiff)
    code = evaluate_middle(world, source, half, 0.5 * step)
    if code != OK:
        return code
    code = call_method(world.base_method, world, half, target, 0.5 * step)
    if code != OK:
        return code
    find_rough_islands(world.plant, memory, half)
    add_work(world.plant, half, target.qvel, memory.work_of_halves)
    correct_velocities(world, source, half, target, step)
    position_difference(world.plant, full, target, world.result.error)
    copy_numbers(target.qvel, world.guess)
    for tree in range(memory.smooth.size):
        memory.smooth[tree] = 1 - memory.rough[memory.island[tree]]
    for i in range(target.qvel.size):
        smooth = memory.smooth[world.plant.dofs.tree[i]] == 1
        world.result.velocity_share[i] = 1.0 if smooth else _ROUGH_SHARE
    _resolve_waves(world, memory, step)
    _extrapolate(world, source, half, full, target, step)
    balance_energy(world, source, half, full, target, step)
    balance_doubled_step(
        world,
        (source, half, full, target),
        world.guess,
        memory.smooth,
        memory.corrected,
        memory.balanced,
        step,
    )
    # The estimate is that of the first-order solution. The sample is the last half step's.
    world.result.error_order = world.base_order + 1
    return OK


class Swings(NamedTuple):
    """What a step has added of u (`asperity.integrators.methods.swings`) depends on this.

    Attributes
    ----------
    matrix : numpy.ndarray
        What leaves of generalized velocities what is not solved for, shape (nv, nv).
    island : numpy.ndarray
        Of every degree of freedom, shape (nv,).
    turning : numpy.ndarray
        How much is left in spite of turning, of every degree of freedom, shape (nv,).
    floats : numpy.ndarray
        Whether the island floats, so that its energy is that about its centre of mass, shape (nv,).
    springs : numpy.ndarray
        The diagonal of δt²/4 κ K, shape (nv,).
    """

    matrix: np.ndarray
    island: np.ndarray
    turning: np.ndarray
    floats: np.ndarray
    springs: np.ndarray

    def together(self) -> np.ndarray:
        """1 where two degrees of freedom are of one island, shape (nv, nv)."""
        return (self.island[:, None] == self.island).astype(float)

    def floating(self) -> np.ndarray:
        """1 where two degrees of freedom are of one island that floats, shape (nv, nv)."""
        return self.together() * self.floats


class Extrapolation(StepDoubling):
    """A first-order method of convex problems, doubled, and extrapolated where it is smooth."""

    kernel = extrapolation_method
    order = 2

    def __init__(self, base: Method) -> None:
        super().__init__(base)
        self._table: Table | None = None

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (*super().kernels, velocity_response)

    def last_step(
        self, world: World, step: float
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
        """Of the last step, of that size: the dofs that it has extrapolated, and its correction.

        That is the share of v_2 − 2 v_1 + v_0 in the velocity of the second half step's gyroscopic
        forces (`asperity.integrators.methods.middle_forces`), shape (nv,), and the matrix by which
        a change of these changes velocities, shape (nv, nv), if any were changed.
        """
        assert self._table is not None
        dof_tree = world.plant.table.dofs.tree
        smooth = self._table.rough[self._table.island] == 0
        if not np.any(self._table.corrected):
            return smooth[dof_tree], None
        response = np.empty((world.plant.model.nv,) * 2)
        response_matrix.call(world.table.address, step, response)
        return smooth[dof_tree], (self._table.corrected[dof_tree], response)

    def swings(self, world: World, step: float) -> Swings | None:
        """Of the last step, of that size: what `.swings` needed to add anything."""
        assert self._table is not None
        if not np.any(self._table.swings):
            return None
        plant, table = world.plant.table, world.table
        matrix = np.empty((world.plant.model.nv,) * 2)
        tangent_matrix.call(table.address, step, matrix)
        tree = plant.dofs.tree
        island = self._table.island[tree]
        joints = np.where(plant.trees.spatial[tree], 0.0, 0.25 * step * step)
        return Swings(
            matrix,
            island,
            self._table.turning[island],
            self._table.floating[island] == 1,
            joints * table.spring_share * plant.dofs.stiffness,
        )

    def energy_balance(self, world: World) -> tuple[np.ndarray, np.ndarray] | None:
        """Of the last step: λ and s of `.energy_balance` of every dof, each of shape (nv,).

        None if it has changed nothing.
        """
        assert self._table is not None
        island = self._table.island[world.plant.table.dofs.tree]
        share, scale = self._table.energy_share[island], self._table.scale[island]
        return (share, scale) if np.any(scale != 1.0) or np.any(share) else None

    def distance_changes(self, world: World) -> np.ndarray | None:
        """Of the last step: what `.half_step_gaps` has added to distances, shape (ncontact,) [m].

        None if that is nothing.
        """
        contacts = world.table.half.contacts
        changes = contacts.distance_change[: contacts.count].copy()
        return changes if np.any(changes) else None

    def prepare(self, world: World) -> None:
        super().prepare(world)
        if isinstance(self.base, FarSightedMethod):
            self.base.look_farther(world, keeps_pressed=True)
        if self._table is None:
            plant = world.plant
            largest = int(np.max(plant.table.trees.size, initial=0))
            self._table = Table(
                EXTRAPOLATION,
                trees=plant.table.ntree,
                dofs=plant.model.nv,
                positions=plant.model.nq,
                square=largest * largest,
                twice=2 * largest,
                velocity_response=velocity_response.address,
            )
        world.table.memory = self._table.address
        world.table.balances_steps = 0
