"""Derivatives of the impulses of scalar constraints, of all rows at once.

A limit, dry friction or servo of a hinge or slide depends on one coordinate each, so rows are
displaced together, each by its own, and nothing else is evaluated: by positions, by velocities at
the step's beginning and, of limits, by inverse masses, which joints behind them move about.
Controls of servos without dynamics enter their rows alone, whatever their transmission.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import ACTUATOR, LIMIT
from asperity.derivatives.balance.rigid_terms import mass_diagonal_change
from asperity.derivatives.balance.row_changes import (
    NARROW,
    any_row_missing,
    begin_row_changes,
    find_row_changes,
)
from asperity.derivatives.layout import ALL, CONTROL, POSITION, VELOCITY
from asperity.plant.model.actuation import set_servo

__all__ = ["LENGTH", "row_columns", "row_slopes", "servo_columns"]

_MASS = -1
LENGTH = -2
"""The position of a row that holds a length, as if it were a coordinate of its own."""

# Displacements. Rows are smooth on a piece, and know positions as they are.
_SIZE = 1e-6


@compiled
def _enters_row(plant: Table, k: int) -> bool:
    """Whether the control of a servo enters its row alone, as known here."""
    return plant.actuators.servo_activation[k] < 0 and not plant.actuators.servo_asked[k]


@compiled
def _find_servos(plant: Table, state: Table, servo: np.ndarray) -> None:
    """Fill the number of every row's servo, −1 of other rows and of other servos."""
    rows = state.rows
    for r in range(rows.count):
        servo[r] = -1
        if rows.kind[r] != ACTUATOR:
            continue
        for k in range(plant.actuators.servo_output.size):
            if rows.source[r] == -1 - plant.actuators.servo_output[k] and _enters_row(plant, k):
                servo[r] = k


@compiled
def _keep(rows: Table) -> np.ndarray:
    """What of all rows is displaced, as it is."""
    kept = np.empty((rows.count, 4))
    for r in range(rows.count):
        kept[r, 0] = rows.position[r]
        kept[r, 1] = rows.upper[r]
        kept[r, 2] = rows.force[r]
        kept[r, 3] = rows.inverse_mass[r]
    return kept


@compiled
def _displace(
    world: Table,
    kind: int,
    size: float,
    kept: np.ndarray,
    velocity: np.ndarray,
    servo: np.ndarray,
) -> None:
    """Displace every row by its own coordinate, control or inverse mass; by 0 all is as it was.

    ``kept`` has the numbers of rows and ``velocity`` is that at the step's beginning, neither
    displaced. Servos of rows, or what else numbers those that take part, are −1 of others.
    """
    state = world.current
    rows = state.rows
    for r in range(rows.count):
        if kind == CONTROL:
            if servo[r] >= 0:
                set_servo(world.plant, state, servo[r], r, size)
            continue
        if kind == LENGTH:
            if servo[r] >= 0:
                rows.position[r] = kept[r, 0] + size
            continue
        entry = rows.start[r, 0]
        change = size * rows.jacobian[entry]
        if kind == POSITION:
            if rows.kind[r] == LIMIT:
                rows.position[r] = kept[r, 0] + change
                rows.upper[r] = kept[r, 1] - change
            elif rows.kind[r] == ACTUATOR:
                rows.force[r] = kept[r, 2] - change * rows.proportional[r]
        elif kind == VELOCITY:
            state.velocity[rows.dof[entry]] = velocity[rows.dof[entry]] + size
            if rows.kind[r] == ACTUATOR:
                rows.force[r] = kept[r, 2] - change * rows.derivative[r]
        elif rows.kind[r] == LIMIT:
            rows.inverse_mass[r] = kept[r, 3] * (1.0 + size)


@compiled
def row_slopes(world: Table, work: Table, step: float, kind: int, servo: np.ndarray) -> None:
    """Leave in ``row_change`` what the rows' impulses change by with a unit of theirs.

    Controls are displaced to the larger side alone, as rows are linear in them, if that will do.
    """
    row_laws = work.row_laws
    state = world.current
    rows = state.rows
    kept = _keep(rows)
    velocity = state.velocity.copy()
    size = _SIZE
    for attempt in range(2):
        begin_row_changes(work.sets, row_laws)
        for side in range(2):
            if side == 1 and kind == CONTROL and not any_row_missing(work.sets, row_laws):
                break
            signed = size if side == 0 else -size
            _displace(world, kind, signed, kept, velocity, servo)
            find_row_changes(world, work.sets, row_laws, state, step, signed)
            _displace(world, kind, 0.0, kept, velocity, servo)
        if attempt == 0:
            work.one_sided += row_laws.others
        if not any_row_missing(work.sets, row_laws):
            break
        size *= NARROW
    for r in range(rows.count):
        if row_laws.row_done[r] == 0:
            work.unmatched += 1
        else:
            row_laws.row_change[r] /= row_laws.row_done[r]


@compiled
def _by_inverse_masses(world: Table, work: Table) -> None:
    """Subtract what the slopes by inverse masses, relative, do to columns by positions."""
    row_laws = work.row_laws
    rigid = work.rigid
    state = world.current
    rows = state.rows
    pad = np.zeros((2, 6))
    for r in range(rows.count):
        if row_laws.row_change[r] == 0.0:
            continue
        entry = rows.start[r, 0]
        dof = rows.dof[entry]
        slope = -row_laws.row_change[r] * rows.jacobian[entry] / state.mass_diagonal[dof]
        for j in range(dof + 1, rigid.subtree_end[dof]):
            work.columns[j, dof] -= slope * mass_diagonal_change(rigid, state.cdof, j, dof, pad)


@compiled
def row_columns(world: Table, work: Table, step: float) -> None:
    """Add what rows do to columns by positions and velocities, of joints that are hinges or slides.

    After `asperity.derivatives.balance.rigid_terms.fill_rigid_terms`.
    """
    start = work.start
    sets = work.sets
    row_laws = work.row_laws
    if sets.rows == 0:
        return
    rows = world.current.rows
    nv = start.qvel.size
    servo = np.empty(rows.count, np.int64)
    for kind in (POSITION, VELOCITY):
        row_slopes(world, work, step, kind, servo)
        for r in range(rows.count):
            entry = rows.start[r, 0]
            dof = rows.dof[entry]
            column = work.columns[dof if kind == POSITION else nv + dof]
            column[dof] -= row_laws.row_change[r] * rows.jacobian[entry]
    for r in range(rows.count):
        if rows.kind[r] == LIMIT:
            row_slopes(world, work, step, _MASS, servo)
            _by_inverse_masses(world, work)
            break


@compiled
def servo_columns(world: Table, work: Table, step: float, row: int, known: np.ndarray) -> None:
    """Fill columns, from ``row``, by controls of servos without dynamics, and note which."""
    start = work.start
    sets = work.sets
    row_laws = work.row_laws
    plant = world.plant
    actuators = plant.actuators
    rows = world.current.rows
    for k in range(actuators.servo_output.size):
        if _enters_row(plant, k):
            known[actuators.servo_ctrl[k]] = ALL
            for i in range(work.columns.shape[1]):
                work.columns[row + actuators.servo_ctrl[k], i] = 0.0
    if sets.rows == 0:
        return
    servo = np.empty(rows.count, np.int64)
    _find_servos(plant, world.current, servo)
    row_slopes(world, work, step, CONTROL, servo)
    first = work.laws.blocks.shape[1] * sets.contacts
    for r in range(rows.count):
        k = servo[r]
        if k >= 0 and row_laws.row_change[r] != 0.0:
            column = work.columns[row + actuators.servo_ctrl[k]]
            for j in range(start.qvel.size):
                column[j] -= row_laws.row_change[r] * work.jacobian[first + r, j]
