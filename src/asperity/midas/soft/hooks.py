"""What Newton's method asks of deformable bodies: an entry point that rigid models do not have."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.integrators.world_layout import OK
from asperity.midas.energy.potentials import lowered_activation
from asperity.midas.engine_layout import MIDAS
from asperity.midas.pose.link_kinematics import link_jacobians
from asperity.midas.soft.calls import (
    ARRANGE,
    BEGIN,
    BLOCKS,
    CLOSE,
    ENERGY,
    EXPECT_PRESENT,
    FOLLOW,
    FORGET_FRICTION,
    FREEZE,
    GRADIENTS,
    LEAVE_OPEN,
    LOWER,
    TIME,
    TOUCH,
    TURN,
)
from asperity.midas.soft.contacts import (
    add_contact_blocks,
    add_contact_gradients,
    contact_energy,
    exact_square,
    expect_present,
    follow_contacts,
    free_time,
    measure_now,
    place,
    renew_list,
    touches,
)
from asperity.midas.soft.edges import (
    begin_strands,
    close_edges,
    keep_edge_forces,
    leave_edges_open,
)
from asperity.midas.soft.elements import add_element_terms, element_energy
from asperity.midas.soft.friction import (
    add_friction_blocks,
    add_friction_gradients,
    collect_friction,
    friction_energy,
    turn_friction,
)
from asperity.midas.soft.past import count_past
from asperity.midas.soft.plasticity import flow, set_rest_shapes
from asperity.midas.soft.quadratic import turn_cells
from asperity.midas.soft.sites import fill_sites
from asperity.midas.soft.soft_layout import SOFT, SOFT_FULL
from asperity.midas.soft.twists import add_twist_terms, begin_twists, count_turns, twist_energy

__all__ = ["SOFT_KERNELS"]

# Candidates within so many activation distances get entries when those are listed anew.
_NEAR = 2.0


@compiled
def _begin(engine: Table, soft: Table) -> None:
    """Set up a step, with the iterate at the present state."""
    engine.soft.code = 0
    engine.soft.measured = 0
    measure_now(engine, soft)
    for v in range(soft.now.shape[0]):
        for k in range(3):
            soft.start[v, k] = soft.now[v, k]
    set_rest_shapes(soft, engine.soft.plastic)
    begin_strands(soft, engine.time.step, engine.time.whole_step)
    begin_twists(engine, soft)
    count_past(engine, soft)
    turn_cells(soft, engine.soft.plastic, engine.time.step)
    place(soft, engine.poses.q_target, soft.trial)
    if renew_list(engine, soft, soft.trial) > 0.0:
        collect_friction(engine, soft, 0)


@compiled
def _find_energy(engine: Table, soft: Table) -> None:
    """Find the energy of the iterate or of the trial state [J s²]."""
    h = engine.time.step
    at_trial = engine.newton.at_trial
    x = soft.now
    q = engine.poses.q_now
    angle = engine.joints.now
    if at_trial == 1:
        x = soft.trial
        q = engine.poses.q_trial
        angle = engine.joints.trial
        place(soft, q, x)
    energy = element_energy(soft, x, h) + twist_energy(engine, soft, x, angle)
    if energy < math.inf:
        energy += contact_energy(engine, soft, x, at_trial)
    if energy < math.inf:
        energy += friction_energy(engine, soft, q)
    engine.soft.energy = energy * h * h


@compiled
def _pair(engine: Table, one: int, other: int) -> bool:
    """Let two links have an entry; False without room."""
    if one == other:
        return True
    at = engine.soft.pairs
    if at >= engine.soft.pair_link.shape[0]:
        return False
    engine.soft.pair_link[at, 0] = one
    engine.soft.pair_link[at, 1] = other
    engine.soft.pairs = at + 1
    return True


@compiled
def _pair_sites(engine: Table, soft: Table, s: int) -> bool:
    """Let the links of all sites of a row have entries; False without room."""
    for one in range(soft.sites[s]):
        for other in range(one):
            if not _pair(engine, soft.site_link[s, one], soft.site_link[s, other]):
                return False
    return True


@compiled
def _list_pairs(engine: Table, soft: Table) -> int:
    """List pairs of links with entries; returns OK or `SOFT_FULL`."""
    engine.soft.pairs = 0
    room = True
    spare = soft.kind.size
    for bond in range(soft.bond.shape[0]):
        room = room and _pair(engine, soft.bond[bond, 0], soft.bond[bond, 1])
    for i in range(soft.count):
        near = _NEAR * soft.pair_activation[soft.pair[i]]
        soft.laid[i] = 0
        if soft.square[i] >= near * near and soft.final[i] == 1.0:
            continue
        soft.laid[i] = 1
        fill_sites(engine, soft, i, spare)
        room = room and _pair_sites(engine, soft, spare)
    for s in range(soft.stencils):
        room = room and _pair_sites(engine, soft, s)
    soft.rub_laid = 1
    return OK if room else SOFT_FULL


@compiled
def _arrange(engine: Table, soft: Table) -> None:
    """List pairs of links with entries anew if something active has none."""
    needed = soft.rub_laid == 0
    for i in range(soft.count):
        if soft.laid[i] == 0:
            activation = soft.pair_activation[soft.pair[i]]
            if soft.square[i] < activation * activation or soft.final[i] < 1.0:
                needed = True
                break
    if needed and engine.soft.code == 0:
        engine.soft.code = _list_pairs(engine, soft)


@compiled
def _add_blocks(engine: Table, soft: Table) -> None:
    """Add elements, and the Hessian between vertices and of them with links."""
    whole = engine.newton.only_slopes == 0
    if whole or soft.pinned > 0:
        link_jacobians(engine.links, engine.poses.z_now, engine.poses.q_now, soft.wanted)
    add_element_terms(engine, soft)
    add_twist_terms(engine, soft, whole)
    if whole:
        add_contact_blocks(engine, soft)
        add_friction_blocks(engine, soft)


@compiled
def _end(engine: Table, soft: Table) -> None:
    """Find the smallest distance of the state at the step's end, what yields in it, and angles."""
    flow(soft, soft.now, engine.soft.plastic)
    count_turns(engine, soft)
    keep_edge_forces(soft)
    smallest = math.inf
    for i in range(soft.count):
        if soft.square[i] < smallest:
            smallest = min(smallest, exact_square(engine, soft, i))
    engine.counts.clearance = min(engine.counts.clearance, math.sqrt(max(smallest, 0.0)))


@compiled
def _lower_where_parting(engine: Table, soft: Table) -> None:
    """Lower activation distances of pairs that the iterate has farther apart than given."""
    ended = np.full(soft.pair_given.size, np.inf)
    for i in range(soft.count):
        pair = soft.pair[i]
        ended[pair] = min(ended[pair], math.sqrt(max(exact_square(engine, soft, i), 0.0)))
    for pair in range(ended.size):
        usual = soft.pair_activation[pair]
        soft.pair_activation[pair] = lowered_activation(soft.pair_given[pair], usual, ended[pair])


@entry_point(types.int64(MIDAS.type, types.int64))
def do_soft(engine: Table, task: int) -> int:
    """Do a task of `asperity.midas.soft.calls`; returns a code."""
    soft = SOFT.at(engine.soft.bodies)
    if task == BEGIN:
        _begin(engine, soft)
        return engine.soft.code
    if task == TURN:
        turn_friction(engine, soft, engine.friction.turn_share)
        return 0
    if task == FOLLOW:
        return 1 if follow_contacts(engine, soft) else 0
    if task == FORGET_FRICTION:
        soft.stencils = 0
        engine.soft.friction = 0.0
        return 0
    measure_now(engine, soft)
    if task == TOUCH:
        return 1 if touches(soft) else 0
    if task == EXPECT_PRESENT:
        expect_present(soft)
        return 0
    if task == LOWER:
        _lower_where_parting(engine, soft)
        return 0
    if task == CLOSE:
        result, engine.soft.strain = close_edges(soft, engine.time.step, engine.soft.strain)
        return result
    if task == LEAVE_OPEN:
        return 1 if leave_edges_open(soft) else 0
    if task == ARRANGE:
        _arrange(engine, soft)
        return engine.soft.code
    if task == GRADIENTS:
        add_contact_gradients(engine, soft)
        add_friction_gradients(engine, soft)
    elif task == BLOCKS:
        _add_blocks(engine, soft)
    elif task == ENERGY:
        _find_energy(engine, soft)
    elif task == TIME:
        engine.soft.time = free_time(engine, soft, engine.soft.time)
    elif task == FREEZE:
        collect_friction(engine, soft, 1)
    else:
        _end(engine, soft)
    return 0


SOFT_KERNELS = (do_soft,)
