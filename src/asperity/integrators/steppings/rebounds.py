"""Fixed steps let bodies rebound from impacts that are too short for the step.

Implicit Euler leaves bodies at rest after an impact shorter than its step, and damps a longer one.
The contact law says how fast they should part (`asperity.contact.restitution`). An impact that
lasts no longer than a few steps is therefore taken to happen at once, when the surfaces meet:

    t = −x/u after the step's beginning,   u' = u + a (δt/2 + t),   T = δt − t

Here the bodies overlap by x and close with the speed u, and a is the acceleration by which all but
contacts bring them together. With the speed r of the rebound from u', they should be r T − ½ a T²
apart at the step's end, and part with r − a (T − δt/2), because velocities of fixed steps are those
of half a step before. The step is therefore solved twice more, first for positions and then for
velocities. A contact that rebounds is replaced by a stiff one,

    γ_n = G (target − v_n)₊.

Other contacts, constraints and friction stay as they are. The impulse of the whole impact limits
friction. In dense piles impacts stay damped.

Several contacts that meet at once part by Newton's law of impact, each with its own speed, as far
as no island gains energy. What the normal impulses of all of them do to u, Δu, is part of the
impact. So is what contacts pass on that were closed before, but for their forces then. A contact
with the impulse γ is therefore a spring with ω² = k Δu/γ, and what else changes u presses on it: if
that brings the bodies together again soon, they do not rebound. Newton's law leaves a body level
that lands level on unequal arms; the impact of springs would turn it. Contacts of the same two
links decide together whether they rebound, because friction presses some and lifts others.

A step finds a contact only when bodies overlap, and may by then have carried them deeper than their
impact could. They would part at 1/d at most. Such impacts of free bodies, too, are taken to happen
when the surfaces meet.

None of this is part of the ICF, SAP or TAMSI papers.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import atomic_add
from asperity.compiled.team import over_ranges
from asperity.contact.restitution import impact_energy, linear_restitution, rebound_speed
from asperity.convex.chain_cholesky import multiply_chains
from asperity.integrators.contact_groups import contact_group
from asperity.integrators.methods.convex_step import minimise
from asperity.integrators.methods.motion import integrate_positions
from asperity.integrators.results import FEWEST_CONTACTS, keep_results
from asperity.integrators.steppings.impacts import NOTABLE, as_spring, divide_impulses
from asperity.integrators.steppings.mobility import along_normal
from asperity.integrators.world_layout import (
    END_VELOCITY,
    METHOD_SIGNATURE,
    OK,
    SHARE_SIGNATURE,
    WORLD,
)
from asperity.plant.plant_layouts import STATE
from asperity.plant.trees import velocity_from_solver

__all__ = ["add_rebounds", "begin_rebounds", "find_rebounds"]

# A rebound counts if a step damps more than this share of it, if it is faster than this [m/s], and
# if the bodies would then be apart for so many steps.
_DAMPED = 0.1
_STEPS_APART = 10.0
# Steps that it may take to part at the speed that dissipation allows, unless the impact is placed.
_STUCK = 2.0
# Overlap from which a contact has not begun within the step before, as a share of what that leaves,
# and (ω δt)² up to which its impact then goes on as it has begun.
_OLD = 1.001
_RESOLVED = 0.1
# Contacts of an island from which on impacts stay damped, as in piles: further solves take as long
# as the step's, and there hardly ever is a step without an impact.
_DENSE = 24
# μ times the slip, over the closing speed, from which on a contact glides by SAP's law.
_GLIDES = 0.1
# G, times the inverse mass.
_STIFF = 1e4

_REBOUNDS = WORLD.fields["rebounds"].slot


@compiled
def _parting_speed(
    problem: Table, contacts: Table, c: int, square: float, met: float, step: float
) -> float:
    """The speed with which a contact parts that has met with another, with ω² [1/s²]."""
    if problem.law.damps_linearly == 0:
        dissipation = contacts.dissipation[c]
        return rebound_speed(impact_energy(met, 0.0, 0.0, dissipation, 0.0), dissipation)
    time = contacts.relaxation_time[c]
    if time < 0.0:
        default = problem.options.relaxation_time
        time = default if default >= 0.0 else step
    return met * linear_restitution(0.5 * np.sqrt(square) * time)


@compiled
def _sticks(
    plant: Table, contacts: Table, c: int, overlap: float, square: float, closing: float,
    press: float, step: float,
) -> bool:  # fmt: skip
    """Whether the step before has carried free bodies deeper than their impact could.

    The law does not let them part faster than 1/d. Feet of robots gain nothing by it, points of
    flexes move by themselves, and pressure fields do not say how deep an impact goes.
    """
    if contacts.patch[c] >= 0:
        return False
    for side in range(2):
        link = contacts.link[c, side]
        if link >= 0 and plant.trees.spatial[contacts.link_tree[link]] == 0:
            return False
        if contacts.element[c, side] >= 0:
            return False
    if overlap > _OLD * closing * step:
        return False
    dissipation = contacts.dissipation[c]
    brought = impact_energy(closing, 0.0, 0.0, dissipation, 0.0)
    if 0.5 * square * overlap * overlap - press * overlap <= brought:
        return False
    return bool(overlap * dissipation > _STUCK * step)


@compiled
def _aim(law: Table, i: int, target: float, gain: float) -> None:
    """Let a contact be a stiff one that leads to a normal velocity, whatever the law."""
    law.cutoff[i] = target
    law.normal_target[i] = target
    law.normal_slope[i] = gain
    law.normal_gain[i] = gain
    law.normal_bend[i] = 0.0
    law.explicit_normal[i] = 0.0
    law.expected_impulse[i] = -1.0


@compiled
def _begin_rebound(
    problem: Table, contacts: Table, c: int, place: float, end: float, gain: float
) -> None:
    """Aim a contact at its place at the step's end, note its velocity there, and mark its trees."""
    i = 0
    while problem.graph.contact[i] != c:
        i += 1
    _aim(problem.law, i, place, gain)
    problem.law.rebound[i] = end
    for side in range(2):
        link = contacts.link[c, side]
        if link >= 0:
            problem.guess.tree_marked[contacts.link_tree[link]] = 1


@inlined
def _is_dense(graph: Table, contacts: Table, c: int) -> bool:
    """Whether a contact is one of very many that are solved together."""
    link = max(contacts.link[c, 0], contacts.link[c, 1])
    island = graph.component[graph.ntree + contacts.link_tree[link]]
    return graph.island_contact_start[island + 1] - graph.island_contact_start[island] > _DENSE


@compiled
def _meets(world: Table, state: Table, chosen: int, impulse: float) -> bool:
    """Whether a group of contacts comes together with a notable speed, in no dense pile."""
    if not impulse > 0.0 or _is_dense(world.problem.graph, state.contacts, chosen):
        return False
    velocity = state.velocity
    return along_normal(world.plant, state, chosen, velocity, velocity)[0] < -NOTABLE


@compiled
def _shared_impact(world: Table, state: Table, chosen: int) -> tuple[float, float]:
    """Δu/γ of the impact of a contact's two links, and what else has changed u there, as a mean."""
    contacts = state.contacts
    a, b = contacts.link[chosen, 0], contacts.link[chosen, 1]
    first = chosen
    while first > 0 and contacts.link[first - 1, 0] == a and contacts.link[first - 1, 1] == b:
        first -= 1
    number = 0
    change = 0.0
    total = 0.0
    gained = 0.0
    for c in range(first, contacts.count):
        if contacts.link[c, 0] != a or contacts.link[c, 1] != b:
            break
        before, stopped, _ = along_normal(
            world.plant, state, c, state.velocity, state.work.dof_force
        )
        impulse = contacts.impulse[c, 2]
        if before < -NOTABLE and impulse > 0.0 and stopped > 0.0:
            number += 1
            change += stopped
            total += impulse
            gained += contacts.velocity[c, 2] - before
    return change / total, (change - gained) / number


@compiled
def _divide_impulses(world: Table, state: Table, step: float) -> bool:
    """Find what impacts do, and the acceleration by all but contacts; whether there are impacts."""
    rows = state.rows
    copy_numbers(state.force, world.scratch)
    for r in range(rows.count):
        force = rows.impulse[r] / step
        for e in range(rows.start[r, 0], rows.start[r, 2]):
            world.scratch[rows.dof[e]] += force * rows.jacobian[e]
    return divide_impulses(world, state, step, False)


@compiled
def _rolls_or_glides(world: Table, source: Table, first: int, last: int, closing: float) -> bool:
    """Whether a group closes only because it turns, or because its law lets it glide.

    A patch closes in front of a ball that rolls, and opens behind. A contact that glides rises with
    μ times its slip, and falls again.
    """
    contacts, law = source.contacts, world.problem.law
    for c in range(first, last):
        now, _, _ = along_normal(world.plant, source, c, source.velocity, world.scratch)
        if now > 0.0:
            return True
        if law.damps_linearly == 1 and law.settle_contacts == 0:
            slip = np.hypot(contacts.velocity[c, 0], contacts.velocity[c, 1])
            if contacts.ellipsoidal[c] != 0:
                slip = contacts.slip[c]
            if contacts.dynamic_friction[c] * slip > _GLIDES * closing:
                return True
    return False


@entry_point(SHARE_SIGNATURE)
def find_rebounds(world: Table, first: int, last: int, _unused: int) -> int:
    """Find the rebounds of some contacts, and aim these at their places."""
    source = STATE.at(world.shared_source)
    problem = world.problem
    contacts = source.contacts
    step = world.shared_step
    c = first
    while c < last:
        group = c
        c, chosen, depth, _, stiffness, impulse = contact_group(contacts, c)
        if not _meets(world, source, chosen, impulse):
            continue
        before, parting, inverse = along_normal(
            world.plant, source, chosen, source.velocity, world.scratch
        )
        stopped, _, _ = along_normal(
            world.plant, source, chosen, source.work.dof_force, source.velocity
        )
        # What the impulses of the impact do not stop does not rebound from them.
        if stopped <= 0.0:
            continue
        closing = -before
        # What the impact has not done others did.
        mobility = stopped / impulse
        others = stopped - closing - contacts.velocity[chosen, 2]
        if contacts.patch[chosen] < 0:
            mobility, others = _shared_impact(world, source, chosen)
        overlap, _, square = as_spring(contacts.growth[chosen], depth, stiffness * mobility, before)
        if overlap > _OLD * closing * step and square * step * step < _RESOLVED:
            continue
        since = min(overlap / closing, step)
        after = since + step
        again = max(-parting, 0.0)
        met = closing + again * (0.5 * step - since)
        if after <= 0.0 or met <= 0.0:
            continue
        speed = _parting_speed(problem, contacts, chosen, square, met, step)
        pressing = max(others / step, again)
        if (
            speed <= NOTABLE
            or 0.5 * np.pi * speed * np.sqrt(square) * step <= _DAMPED * closing
            or 2.0 * speed <= pressing * _STEPS_APART * step
        ) and (
            problem.law.damps_linearly == 1
            or not _sticks(world.plant, contacts, chosen, overlap, square, closing, pressing, step)
        ):
            continue
        if _rolls_or_glides(world, source, group, c, closing):
            continue
        place = (overlap + max(after * (speed - 0.5 * again * after), 0.0)) / step
        end = max(speed - again * (after - 0.5 * step), 0.0)
        for point in range(group, c):
            _begin_rebound(problem, contacts, point, place, end, _STIFF / inverse)
        atomic_add(world.address + 8 * _REBOUNDS, 1)
    return OK


@compiled
def _solve_again(world: Table, source: Table) -> int:
    """Solve islands with rebounds by the law's present numbers, from the last solution."""
    velocity_from_solver(world.plant, source.cdof, world.problem.iterate.velocity, world.guess)
    world.guess_kind = END_VELOCITY
    world.problem.guess.only_marked = 1
    code = minimise(world, source)
    world.problem.guess.only_marked = 0
    return code


@compiled
def _affordable(
    graph: Table, source: Table, first: int, last: int, before: np.ndarray, after: np.ndarray,
    step: float,
) -> float:  # fmt: skip
    """Share of the change of velocities of an island that costs no energy.

    Parameters
    ----------
    graph, source : Table
    first, last : int
        Range of the island's trees in the graph.
    before, after : array, shape (nv,)
        Velocities without and with rebounds.
    step : float
        [s]
    """
    change = source.work.gyroscopic
    product = source.work.dof_force
    available = 0.0
    without = 0.0
    cross = 0.0
    square = 0.0
    for index in range(first, last):
        tree = graph.island_tree[index]
        dofs = range(graph.tree_start[tree], graph.tree_start[tree] + graph.tree_size[tree])
        multiply_chains(graph, source.mass, tree, source.velocity, product)
        power = 0.0
        for i in dofs:
            change[i] = after[i] - before[i]
            available += 0.5 * product[i] * source.velocity[i]
            power += source.force[i] * source.velocity[i]
        # Its parts along axes depend on what axes these are.
        available += step * abs(power)
        multiply_chains(graph, source.mass, tree, before, product)
        for i in dofs:
            without += 0.5 * product[i] * before[i]
            cross += product[i] * change[i]
        multiply_chains(graph, source.mass, tree, change, product)
        for i in dofs:
            square += product[i] * change[i]
    # ½ s² square + s cross = available − without, if that is positive
    left = max(available - without, 0.0)
    if 0.5 * square + cross <= left:
        return 1.0
    return (np.sqrt(cross * cross + 2.0 * square * left) - cross) / square


@compiled
def _limit_energy(world: Table, source: Table, before: np.ndarray, step: float) -> None:
    """Let rebounds leave no island more energy than it had, or has without them."""
    problem = world.problem
    graph = problem.graph
    after = problem.iterate.velocity
    for island in range(graph.islands):
        first, last = graph.island_start[island], graph.island_start[island + 1]
        marked = 0
        for index in range(first, last):
            marked += problem.guess.tree_marked[graph.island_tree[index]]
        if marked == 0:
            continue
        share = _affordable(graph, source, first, last, before, after, step)
        if share < 1.0:
            for index in range(first, last):
                tree = graph.island_tree[index]
                start = graph.tree_start[tree]
                for i in range(start, start + graph.tree_size[tree]):
                    after[i] = before[i] + share * (after[i] - before[i])


@compiled
def begin_rebounds(world: Table, source: Table, step: float) -> bool:
    """Aim contacts that rebound in a step from a state at their places; False if there are none.

    Needs the solution in the problem, and the step's results in the contact sets.
    """
    problem = world.problem
    contacts = source.contacts
    before = world.rebounds
    for tree in range(world.plant.ntree):
        problem.guess.tree_marked[tree] = 0
    for i in range(contacts.count):
        problem.law.rebound[i] = np.nan
    if not _divide_impulses(world, source, step):
        return False
    world.shared_source = source.address
    world.shared_step = step
    # A patch is one.
    team = world.team if contacts.patch_count == 0 else 0
    over_ranges(team, world.find_rebounds, world.address, contacts.count, FEWEST_CONTACTS, False)
    return bool(world.rebounds > before)


@entry_point(METHOD_SIGNATURE)
def add_rebounds(world: Table, source: Table, target: Table, step: float) -> int:
    """After a fixed step, let bodies part as fast as the dissipation of their contacts says.

    Needs the solution in the problem, and the step's results in the contact sets. Where a further
    solve does not converge the step stays as it was.
    """
    contacts = source.contacts
    # A step that was divided has its solution elsewhere.
    if contacts.count == 0 or world.result.solved != source.address:
        return OK
    if not begin_rebounds(world, source, step):
        return OK
    law = world.problem.law
    found = world.problem.iterate.velocity
    without = source.work.velocity_change
    copy_numbers(found, without)
    if _solve_again(world, source) != OK:
        return OK
    velocity_from_solver(world.plant, source.cdof, found, world.scratch)
    for i in range(contacts.count):
        if not np.isnan(law.rebound[i]):
            _aim(law, i, law.rebound[i], law.normal_gain[i])
    if _solve_again(world, source) == OK:
        _limit_energy(world, source, without, step)
        velocity_from_solver(world.plant, source.cdof, found, target.qvel)
        integrate_positions(world.plant, source, target, world.scratch, step)
        keep_results(world, source, source.qvel, target.qvel, step)
    return OK
