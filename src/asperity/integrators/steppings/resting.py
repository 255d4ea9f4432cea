"""Sleep: islands at rest keep their last solution while a bound on their motion allows it.

The cost ℓ of a convex step is strongly convex in the norm of the mass matrix M. Its minimum v*
therefore obeys ‖v* − v‖_M ≤ ‖g‖_{M⁻¹} for any v and any subgradient g of ℓ there. At v = 0 friction
may have any impulse within its bound, and takes that of the last step. Normal impulses are those of
the overlaps. With all other forces f this gives

    ‖v*‖_M ≤ δt G,   G = ‖f + Jᵀ γ/δt‖_{M⁻¹}.

A step is a proximal map, which never increases distances, so n steps from rest lead to
‖v‖_M ≤ n δt G. A body of the island is then slower than n δt G s, with s = max_i l_i √((M⁻¹)_ii)
over its degrees of freedom and their lengths l_i. An island falls asleep when it has been slower
than the tolerance for some steps. It sleeps for the time T in which no body of it becomes faster
than ε or gets farther than ε · 1 s, with the least stiction tolerance ε of its contacts:

    T = min(ε/(G s), √(2 ε · 1 s/(G s))).

Then the island is solved again. It goes on sleeping for twice as long in two cases: the bound is
that much better, or it has proven too large, because n more steps change the velocity by less than
a tenth of n δt G. So a body that really moves does not fall asleep again and again, and one that
creeps within its friction may. While δt G is below the solver's tolerance, T has no end, because
v = 0 is then as good as any solution that the solver returns. Contacts, forces that a user applies,
and changes of state and model wake an island before.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_method
from asperity.convex.block_cholesky import cholesky, forward
from asperity.convex.contact_velocities import add_impulses
from asperity.convex.island import IMPULSES, scaled_norm
from asperity.convex.potentials.contact_driver import evaluate_contacts
from asperity.integrators.results import copy_contact
from asperity.integrators.steppings.resting_inputs import (
    heed_changes,
    put_to_rest,
    remember,
    wake_changed,
)
from asperity.integrators.world_layout import METHOD_SIGNATURE, OK
from asperity.plant.plant_layouts import STATE
from asperity.plant.resting import forget_positions, wake_group
from asperity.plant.resting_layout import RESTING

__all__ = [
    "RESTING_STEP_KERNELS",
    "everything_rests",
    "rest_after_step",
    "stay_at_rest",
    "wake_overdue",
]

# Steps below the tolerance before an island may fall asleep, as in MuJoCo.
_QUIET = 10
# Shortest time of rest [s], and time in which it may move by the tolerance of its velocity.
_SHORTEST = 0.2
_TIME = 1.0
# A bound that was used up must be better by this factor, or have been too large by that one.
_BETTER = 2.0
_TOO_LARGE = 10.0
_FOR_EVER = 1e300
# Part of the tolerance that counts as no velocity of what touches nothing.
_STILL = 1e-3


@compiled
def everything_rests(world: Table) -> bool:
    """Whether nothing moves, or acts on anything, in the coming step."""
    resting = RESTING.at(world.resting)
    plant = world.plant
    return resting.count == plant.ntree and plant.has_actuators == 0


@compiled
def wake_overdue(world: Table) -> None:
    """Wake the islands whose bounds are used up."""
    resting = RESTING.at(world.resting)
    time = world.current.time
    if time < resting.due:
        return
    due = np.inf
    for tree in range(resting.at_rest.size):
        if resting.at_rest[tree] == 1 and resting.until[tree] <= time:
            wake_group(resting, tree)
            world.current.valid = 0
    for tree in range(resting.at_rest.size):
        if resting.at_rest[tree] == 1:
            due = min(due, resting.until[tree])
    resting.due = due


@compiled
def rest_after_step(world: Table) -> None:
    """Let islands rest that may, after a step to the current state of which parts were solved."""
    resting = RESTING.at(world.resting)
    if world.result.solved == 0:
        return
    source = STATE.at(world.result.solved)
    if world.graph_state != source.address or world.graph_evaluation != source.evaluations:
        return
    count = resting.count
    call_method(resting.fall_asleep, world, source, world.current, world.result.interval)
    if resting.count != count:
        # All that is known of them is that of other positions.
        world.current.valid = 0
        forget_positions(resting)


@compiled
def stay_at_rest(world: Table) -> None:
    """Undo what a method may have done to what rests, in round-off."""
    resting = RESTING.at(world.resting)
    trees = world.plant.trees
    source, target = world.current, world.following
    for tree in range(resting.at_rest.size):
        if resting.at_rest[tree] == 0:
            continue
        for i in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
            target.qvel[i] = 0.0
            world.full.qvel[i] = 0.0
            world.result.error[i] = 0.0
        start = resting.qpos_start[tree]
        for i in range(start, start + resting.qpos_size[tree]):
            target.qpos[i] = source.qpos[i]


@compiled
def _factorize(resting: Table, state: Table, block: int, n: int) -> bool:
    """Cholesky's factor of a tree's mass matrix; False if that fails."""
    for i in range(n * n):
        resting.factor[i] = state.mass[block + i]
    return cholesky(resting.factor, 0, n, resting.inverse, 0)


@compiled
def _solve_lower(resting: Table, n: int, first: int) -> float:
    """Solve L x = column in place; returns ‖x‖². All before the first element is zero."""
    return forward(resting.factor, 0, n, resting.inverse, 0, resting.column, 0, first)


@compiled
def _reach(plant: Table, resting: Table, tree: int) -> float:
    """s of a tree whose factor is at hand."""
    n = plant.trees.size[tree]
    start = plant.trees.start[tree]
    largest = 0.0
    for i in range(n):
        for k in range(n):
            resting.column[k] = 1.0 if k == i else 0.0
        # Of a free body turning comes first in solver velocities, and last in generalized ones.
        dof = start + ((i + 3) % 6 if plant.trees.spatial[tree] else i)
        largest = max(largest, resting.length[dof] * np.sqrt(_solve_lower(resting, n, i)))
    return largest


@compiled
def _at_zero_velocity(
    problem: Table, contacts: Table, first: int, last: int, tolerance: float
) -> float:
    """Give an island's contacts the impulses of rest.

    Returns the least stiction tolerance, of them and the given one; 0 if a surface moves.
    """
    graph, iterate = problem.graph, problem.iterate
    for i in range(first, last):
        c = graph.contact[i]
        if contacts.surface_velocity[c, 0] != 0.0 or contacts.surface_velocity[c, 1] != 0.0:
            return 0.0
        tolerance = min(tolerance, contacts.stiction_tolerance[c])
        iterate.v1[i] = iterate.v2[i] = iterate.vn[i] = 0.0
        if graph.ellipsoids != 0:
            for a in range(3):
                iterate.turn[i, a] = 0.0
    evaluate_contacts(problem, first, last)
    for i in range(first, last):
        c = graph.contact[i]
        iterate.g1[i] = contacts.impulse[c, 0]
        iterate.g2[i] = contacts.impulse[c, 1]
        contacts.impulse[c, 2] = iterate.gn[i]
        for a in range(3):
            contacts.velocity[c, a] = 0.0
        if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
            scale = contacts.slip_scale[c]
            iterate.g2[i] /= scale[0]
            for a in range(3):
                turn = scale[1 + a]
                value = contacts.angular_impulse[c, a] / turn if turn > 0.0 else 0.0
                iterate.turn_impulse[i, a] = value
    return tolerance


@compiled
def _is_still(world: Table, state: Table, k: int) -> bool:
    """Whether an island that nothing holds has come to its end, for nothing will slow it down."""
    graph = world.problem.graph
    resting = RESTING.at(world.resting)
    fastest = 0.0
    for index in range(graph.island_start[k], graph.island_start[k + 1]):
        tree = graph.island_tree[index]
        for i in range(graph.tree_start[tree], graph.tree_start[tree] + graph.tree_size[tree]):
            fastest = max(fastest, resting.length[i] * abs(state.qvel[i]))
    return fastest <= _STILL * resting.velocity_tolerance


@compiled
def _time_of_rest(world: Table, state: Table, k: int, step: float) -> tuple[float, float]:
    """T of an island whose step has been solved in a state, 0 if it cannot rest; and δt G."""
    problem, plant = world.problem, world.plant
    graph, iterate = problem.graph, problem.iterate
    resting = RESTING.at(world.resting)
    first = graph.island_contact_start[k]
    last = graph.island_contact_start[k + 1]
    row = graph.island_row_start[k]
    if row < graph.island_row_start[k + 1]:
        return 0.0, 0.0
    if first == last and not _is_still(world, state, k):
        return 0.0, 0.0
    tolerance = resting.velocity_tolerance
    tolerance = _at_zero_velocity(problem, state.contacts, first, last, tolerance)
    if tolerance == 0.0:
        return 0.0, 0.0
    force = iterate.gradient
    for index in range(graph.island_start[k], graph.island_start[k + 1]):
        tree = graph.island_tree[index]
        start = graph.tree_start[tree]
        n = graph.tree_size[tree]
        block = graph.block_start[tree]
        for i in range(n):
            total = problem.smooth.rhs[start + i]
            for j in range(n):
                total -= state.mass[block + i * n + j] * state.velocity[start + j]
            force[start + i] = total
    add_impulses(graph, iterate, state.contacts, state.rows, (first, last), (row, row), force, 1.0)
    square = 0.0
    reach = 0.0
    for index in range(graph.island_start[k], graph.island_start[k + 1]):
        tree = graph.island_tree[index]
        n = graph.tree_size[tree]
        if not _factorize(resting, state, graph.block_start[tree], n):
            return 0.0, 0.0
        for i in range(n):
            resting.column[i] = force[graph.tree_start[tree] + i]
        square += _solve_lower(resting, n, 0)
        reach = max(reach, _reach(plant, resting, tree))
    begin, end = graph.island_start[k], graph.island_start[k + 1]
    scale = min(
        max(1.0, scaled_norm(graph, problem.smooth, begin, end, problem.smooth.rhs)),
        IMPULSES * scaled_norm(graph, problem.smooth, begin, end, problem.smooth.impulse),
    )
    bound = np.sqrt(square)
    if bound <= problem.options.tolerance * scale:
        return _FOR_EVER, bound
    share = reach * bound / (step * tolerance)
    if not share < _FOR_EVER:
        return 0.0, bound
    return min(1.0 / share, np.sqrt(2.0 * _TIME / share)), bound


@compiled
def _has_gained(world: Table, state: Table, k: int, bound: float) -> bool:
    """Whether an island has gained, in quiet steps, a notable part of the velocity of a bound."""
    graph = world.problem.graph
    gained = world.scratch
    resting = RESTING.at(world.resting)
    velocity = world.problem.iterate.velocity
    energy = 0.0
    for index in range(graph.island_start[k], graph.island_start[k + 1]):
        tree = graph.island_tree[index]
        start = graph.tree_start[tree]
        n = graph.tree_size[tree]
        for i in range(start, start + n):
            gained[i] = velocity[i] - resting.first_quiet[i]
        for i in range(n):
            for j in range(n):
                mass = state.mass[graph.block_start[tree] + i * n + j]
                energy += gained[start + i] * mass * gained[start + j]
    return not _TOO_LARGE * np.sqrt(max(energy, 0.0)) < (_QUIET - 1) * bound


@compiled
def _island_to_rest(
    world: Table, source: Table, target: Table, k: int, until: float, horizon: float
) -> None:
    """Let an island rest where it was when the step that leads to a target was solved."""
    graph = world.problem.graph
    resting = RESTING.at(world.resting)
    group = graph.island_tree[graph.island_start[k]]
    for index in range(graph.island_start[k], graph.island_start[k + 1]):
        tree = graph.island_tree[index]
        put_to_rest(world, source, target, tree)
        resting.group[tree] = group
        resting.until[tree] = until
        resting.horizon[tree] = horizon
    resting.due = min(resting.due, until)


@compiled
def _island_is_quiet(graph: Table, resting: Table, k: int) -> bool:
    for index in range(graph.island_start[k], graph.island_start[k + 1]):
        tree = graph.island_tree[index]
        if resting.at_rest[tree] == 1 or resting.quiet[tree] < _QUIET:
            return False
    return True


@entry_point(METHOD_SIGNATURE)
def fall_asleep(world: Table, source: Table, target: Table, step: float) -> int:
    """Let islands rest that may, after a step from a source to a target has been solved."""
    plant = world.plant
    resting = RESTING.at(world.resting)
    trees = plant.trees
    ready = False
    for tree in range(plant.ntree):
        if resting.at_rest[tree] == 1 or resting.may_rest[tree] == 0:
            continue
        speed = 0.0
        start = trees.start[tree]
        for i in range(start, start + trees.size[tree]):
            speed = max(speed, resting.length[i] * abs(target.qvel[i]))
        if speed <= resting.velocity_tolerance:
            resting.quiet[tree] += 1
            if resting.quiet[tree] == 1:
                for i in range(start, start + trees.size[tree]):
                    resting.first_quiet[i] = world.problem.iterate.velocity[i]
            ready = ready or resting.quiet[tree] >= _QUIET
        else:
            resting.quiet[tree] = 0
            resting.horizon[tree] = 0.0
    if not ready:
        return OK
    graph = world.problem.graph
    for k in range(graph.islands):
        if not _island_is_quiet(graph, resting, k):
            continue
        horizon, bound = _time_of_rest(world, source, k, step)
        known = 0.0
        for index in range(graph.island_start[k], graph.island_start[k + 1]):
            known = max(known, resting.horizon[graph.island_tree[index]])
            resting.quiet[graph.island_tree[index]] = 0
        if _SHORTEST <= horizon < _BETTER * known and not _has_gained(world, source, k, bound):
            horizon = _BETTER * known
        if horizon >= min(max(_SHORTEST, _BETTER * known), _FOR_EVER):
            _island_to_rest(world, source, target, k, target.time + horizon, horizon)
    return OK


@compiled
def _rests(resting: Table, plant: Table, contacts: Table, c: int) -> bool:
    """Whether a contact is of something at rest, and of nothing that is awake."""
    found = False
    for side in range(2):
        tree = plant.bodies.tree[plant.geoms.body[contacts.geom[c, side]]]
        if tree >= 0:
            if resting.at_rest[tree] == 0:
                return False
            found = True
    return found


@entry_point(METHOD_SIGNATURE)
def keep_contacts(world: Table, state: Table, _target: Table, interval: float) -> int:
    """Keep the contacts of what rests among those delivered, before those of a step of a state.

    Forces stay: their impulses become those of the step's interval [s].
    """
    resting = RESTING.at(world.resting)
    plant, delivered = world.plant, world.delivered
    kept = delivered.contacts
    if resting.outdated == 1:
        count = 0
        for c in range(resting.kept):
            if _rests(resting, plant, kept, c):
                if count < c:
                    copy_contact(kept, c, kept, count)
                count += 1
        resting.kept = count
        resting.outdated = 0
    if interval != delivered.step:
        scale = interval / delivered.step
        for c in range(resting.kept):
            for a in range(3):
                kept.impulse[c, a] *= scale
                kept.angular_impulse[c, a] *= scale
    if resting.count == 0:
        return OK
    contacts = state.contacts
    count = 0
    for c in range(contacts.count):
        if _rests(resting, plant, contacts, c):
            copy_contact(contacts, c, kept, resting.kept)
            resting.kept += 1
        else:
            if count < c:
                copy_contact(contacts, c, contacts, count)
            count += 1
    contacts.count = count
    return OK


RESTING_STEP_KERNELS = (wake_changed, heed_changes, remember, fall_asleep, keep_contacts)
"""What steppings of worlds in which something may rest need compiled."""
