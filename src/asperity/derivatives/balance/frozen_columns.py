"""Derivatives of the momentum balance with contacts that move as their geoms do.

Contacts and their laws are known by their slopes (`asperity.derivatives.balance.contact_motion`,
`asperity.derivatives.balance.law_slopes`), so no displaced state needs collision detection. Of
rigid bodies without tendons, fluids and the like all that depends on positions and velocities is
then known in closed form (`asperity.derivatives.balance.rigid_terms`,
`asperity.derivatives.balance.contact_columns`); otherwise it is differences of smooth forces
(`asperity.derivatives.balance.smooth_columns`).

For steps whose A and r are those of `asperity.integrators.methods.icf`, whatever the contact law.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.contact_columns import contact_columns
from asperity.derivatives.balance.contact_motion import find_motion, keep_contacts
from asperity.derivatives.balance.displacement import restore
from asperity.derivatives.balance.law_slopes import fill_law_slopes
from asperity.derivatives.balance.rigid_terms import fill_rigid_terms, rigid_columns
from asperity.derivatives.balance.row_slopes import row_columns
from asperity.derivatives.balance.smooth_columns import control_columns, smooth_columns
from asperity.derivatives.layout import (
    ACTIVATION,
    DIRECTION,
    FROZEN_COLUMNS,
    POSITION,
    RIGID_COLUMNS,
    VELOCITY,
)
from asperity.derivatives.stages import stage
from asperity.integrators.world_layout import OK
from asperity.plant.evaluate import evaluate_smooth

__all__ = ["FROZEN_KERNELS", "freeze_contacts", "frozen_columns"]

# Directions are followed one by one as long as they are fewer than this share of the velocities.
_FEW = 0.25


@compiled
def freeze_contacts(world: Table, work: Table, step: float) -> None:
    """Find out how the contacts of the state itself move and respond; H has been filled there."""
    keep_contacts(world.plant, work, world.current)
    work.unmatched += find_motion(world.plant, work, world.current)
    fill_law_slopes(work, world.problem, world.current, step)


@compiled
def _is_rigid(work: Table, state: Table) -> bool:
    """Whether columns by positions and velocities are known in closed form.

    Not with forces on bodies, whose moments change as they move.
    """
    if work.rigid == 0:
        return False
    for body in range(state.mj_xfrc_applied.shape[0]):
        for a in range(6):
            if state.mj_xfrc_applied[body, a] != 0.0:
                return False
    return True


@compiled
def _rigid_columns(world: Table, work: Table, step: float) -> None:
    """Fill columns by positions and velocities in closed form."""
    work.columns_kind = RIGID_COLUMNS
    fill_rigid_terms(world, work, step)
    rigid_columns(world, work, step)
    contact_columns(world, work)
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
def frozen_columns(world: Table, work: Table, step: float, selection: int) -> int:
    """Fill ``columns`` by positions, velocities, activations and controls.

    Or, with a selection below zero, by so many directions alone. Needs H, and ``sides[0]``, of the
    state itself; afterwards the current state is that again, without an evaluation.
    """
    state = world.current
    directions = -selection
    work.columns_kind = FROZEN_COLUMNS
    nv = work.qvel.size
    na = work.act.size
    freeze_contacts(world, work, step)
    rigid = _is_rigid(work, state)
    if directions > 0:
        if rigid and directions >= _FEW * nv:
            _rigid_columns(world, work, step)
            code = smooth_columns(world, work, step, ACTIVATION, na, 2 * nv)
            _combine(work, directions)
        else:
            code = smooth_columns(world, work, step, DIRECTION, directions, 0)
    else:
        row = nv
        code = OK
        if rigid:
            _rigid_columns(world, work, step)
        else:
            code = smooth_columns(world, work, step, VELOCITY, nv, row)
        row += nv
        if code == OK:
            code = smooth_columns(world, work, step, ACTIVATION, na, row)
            row += na
        if code == OK:
            code = control_columns(world, work, step, row)
        if code == OK and not rigid:
            code = smooth_columns(world, work, step, POSITION, nv, 0)
    restore(work, state)
    state.valid = 0
    world.graph_state = 0
    return code


FROZEN_KERNELS = (frozen_columns, evaluate_smooth)
