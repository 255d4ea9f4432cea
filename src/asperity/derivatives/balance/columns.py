"""Derivatives of the momentum balance by state and inputs, at the velocity of the solution.

There are two ways to them. Of rigid bodies without tendons, fluids and the like, in a step of
`asperity.integrators.methods.icf`'s A and r, all that depends on positions and velocities is known
in closed form (`asperity.derivatives.balance.rigid_terms`,
`asperity.derivatives.balance.contact_columns`), and of particles of volumes whatever else there is
(`asperity.derivatives.balance.elastic_columns`). Everything else is differences
(`asperity.derivatives.balance.differences`). Both know point contacts by how these move with geoms
(`asperity.derivatives.balance.contact_motion`) and by the slopes of their laws
(`asperity.derivatives.balance.law_slopes`).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import EQUALITY
from asperity.derivatives.balance.contact_columns import contact_columns, start_velocity_columns
from asperity.derivatives.balance.contact_motion import find_motion, keep_contacts
from asperity.derivatives.balance.differences import (
    control_columns,
    difference_columns,
    fill_inverse_masses_of,
)
from asperity.derivatives.balance.displacement import restore
from asperity.derivatives.balance.elastic_columns import elastic_columns
from asperity.derivatives.balance.law_slopes import fill_law_slopes
from asperity.derivatives.balance.new_contacts import mark_contacts, new_contact_columns
from asperity.derivatives.balance.plastic_columns import add_plastic_columns
from asperity.derivatives.balance.rigid_terms import fill_rigid_terms, rigid_columns
from asperity.derivatives.balance.row_slopes import row_columns
from asperity.derivatives.balance.strand_columns import edge_columns, rope_edges, strand_columns
from asperity.derivatives.balance.tension_columns import tension_columns
from asperity.derivatives.balance.triangle_columns import triangle_columns
from asperity.derivatives.balance.twist_columns import twist_columns
from asperity.derivatives.layout import (
    ACTIVATION,
    ALL,
    DIRECTION,
    POSITION,
    UNKNOWN,
    VELOCITY,
)
from asperity.derivatives.stages import stage
from asperity.integrators.world_layout import OK
from asperity.plant.detection.turning_contacts import is_turning
from asperity.plant.evaluate import evaluate_smooth

__all__ = ["COLUMN_KERNELS", "state_columns"]

# Directions are followed one by one as long as they are fewer than this share of the velocities:
# with columns in closed form, and with differences.
_FEW = (0.25, 1.5)


@compiled
def _know_contacts(world: Table, work: Table, step: float) -> None:
    """Find out how contacts of the state itself respond, and how those of points move.

    H has been filled there.
    """
    state = world.current
    work.sets.turning = 1 if is_turning(state.contacts) else 0
    if work.has_stages == 1:
        fill_inverse_masses_of(world, work, state)
    keep_contacts(world.plant, work.motion, work.laws, state)
    if work.sets.patches == 0:
        work.unmatched += find_motion(world.plant, work, state)
    fill_law_slopes(work, world.problem, state, step)


@compiled
def _is_rigid(work: Table, state: Table) -> bool:
    """Whether columns by positions and velocities are known in closed form.

    Not with forces on bodies, whose moments change as they move, and not with round contacts that
    turn (`asperity.plant.detection.turning_contacts`).
    """
    rigid = work.rigid
    sets = work.sets
    if rigid.applies == 0 or sets.fields == 1 or sets.turning == 1:
        return False
    for body in range(state.mj_xfrc_applied.shape[0]):
        for a in range(6):
            if state.mj_xfrc_applied[body, a] != 0.0:
                return False
    return True


@compiled
def _smooth_columns(world: Table, work: Table, step: float) -> None:
    """Fill columns by positions and velocities in closed form, without rows."""
    fill_rigid_terms(world, work, step)
    rigid_columns(world, work, step)
    elastic, state = world.plant.elastic, world.current
    elastic_columns(elastic, work, state, step)
    strand_columns(elastic, work, state, step)
    twist_columns(elastic, work, state, step)
    triangle_columns(elastic, work, state, step)
    add_plastic_columns(world, work, step, True)
    tension_columns(elastic, work, state, step, max(world.doubled_step, step))
    edge_columns(world, work, step)
    if work.sets.patches == 0:
        contact_columns(world, work)
    else:
        start_velocity_columns(world, work)


@compiled
def _mark_particles(elastic: Table, rows: Table, known: np.ndarray) -> None:
    """Mark dofs of particles and of edges that turn, but of those in other equalities' rows."""
    for p in range(elastic.particles):
        dof = elastic.particle_dof[p]
        if dof >= 0:
            known[dof : dof + 3] = ALL
    for edge in range(elastic.turning_dof.size):
        known[elastic.turning_dof[edge]] = ALL
    strands = rope_edges(elastic, rows)
    for r in range(rows.count):
        if rows.kind[r] == EQUALITY and strands[r] < 0:
            for e in range(rows.start[r, 0], rows.start[r, 2]):
                known[rows.dof[e]] = UNKNOWN


@compiled
def _rigid_columns(world: Table, work: Table, step: float) -> None:
    """Fill columns by positions and velocities in closed form."""
    work.is_closed_form = 1 - work.sets.patches
    _smooth_columns(world, work, step)
    row_columns(world, work, step)


@compiled
def _combine(work: Table, directions: int) -> None:
    """Replace columns by those along directions."""
    count = work.directions.shape[1]
    combined = np.zeros((directions, work.columns.shape[1]))
    for k in range(directions):
        for j in range(count):
            share = work.directions[k, j]
            if share != 0.0:
                for i in range(combined.shape[1]):
                    combined[k, i] += share * work.columns[j, i]
    for k in range(directions):
        for i in range(combined.shape[1]):
            work.columns[k, i] = combined[k, i]


@stage
def state_columns(world: Table, work: Table, step: float, selection: int) -> int:
    """Fill ``columns`` by positions, velocities, activations, what stays of deformations, controls.

    Or, with a selection below zero, by so many directions alone. Needs H, and ``sides[0]``, of the
    state itself; afterwards the current state is that again, without an evaluation.
    """
    start = work.start
    sets = work.sets
    state = world.current
    directions = -selection
    nv = start.qvel.size
    na = start.act.size
    work.is_closed_form = 0
    for i in range(state.rows.count):
        # In displaced states the row may have other entries, too.
        world.problem.graph.row_entry[i] = min(world.problem.graph.row_entry[i], -1)
    if sets.fields == 0:
        _know_contacts(world, work, step)
    rigid = _is_rigid(work, state)
    add_plastic_columns(world, work, step, False)
    if 0 < directions < _FEW[0 if rigid else 1] * nv and start.plastic.size == 0:
        code = difference_columns(world, work, step, DIRECTION, 0, np.zeros(directions, np.int64))
    else:
        code = OK
        known = np.zeros(nv, np.int64)
        if rigid:
            _rigid_columns(world, work, step)
            known[:] = ALL
        else:
            if work.rigid.particles == 1 and sets.fields == 0:
                # What is wrong of the others is written anew.
                _smooth_columns(world, work, step)
                _mark_particles(world.plant.elastic, state.rows, known)
            elif start.plastic.size > 0:
                # By positions it is written anew.
                whole = max(world.doubled_step, step)
                tension_columns(world.plant.elastic, work, state, step, whole)
            code = difference_columns(world, work, step, VELOCITY, nv, known)
        if code == OK:
            code = difference_columns(world, work, step, ACTIVATION, 2 * nv, np.zeros(na, np.int64))
        if code == OK and directions <= 0:
            code = control_columns(world, work, step, work.result.shape[0])
        if code == OK and sets.patches == 1:
            mark_contacts(world.plant, state.contacts, known)
            code = new_contact_columns(world, work, step, known)
        if code == OK:
            code = difference_columns(world, work, step, POSITION, 0, known)
        if directions > 0:
            _combine(work, directions)
    restore(start, work.inputs, state)
    state.valid = 0
    world.graph_state = 0
    return code


COLUMN_KERNELS = (state_columns, evaluate_smooth)
