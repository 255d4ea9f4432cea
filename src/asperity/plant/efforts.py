"""Efforts of external systems as rows of the constraint set.

An effort is a generalized force of one dof, or the force of an actuator that an external system
commands in place of MuJoCo's own law for it. Each has an ``ACTUATOR`` row. Who integrates the
systems writes the rows' feedback for every step; where gains couple several efforts it writes their
Jacobians too, so that such a row spans the dofs of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import ACTUATOR
from asperity.plant.constraints import add_row
from asperity.plant.model.joints import integers
from asperity.plant.model.model_view import remembered
from asperity.plant.plant_layouts import EVALUATED, ROWS_FULL, TREES

__all__ = ["NO_EFFORTS", "Efforts", "add_effort_rows", "effort_jacobian", "set_efforts"]


_SPATIAL_DOFS = 6


@dataclass(frozen=True)
class Efforts:
    """What external systems exert, one entry per effort.

    Parameters
    ----------
    dofs : tuple of int
        The dof of a generalized force, −1 for an actuator's.
    actuators : tuple of int
        The commanded actuator, −1 for a generalized force.
    limits : tuple of (float, float)
        Least and largest effort [N, Nm].
    groups : tuple of int
        Efforts of one group may be coupled by their gains; −1 for those that never are. A group
        acts on at most two kinematic trees.
    """

    dofs: tuple[int, ...] = ()
    actuators: tuple[int, ...] = ()
    limits: tuple[tuple[float, float], ...] = ()
    groups: tuple[int, ...] = ()

    @property
    def commanded(self) -> frozenset[int]:
        """Actuators that exert no force of their own."""
        return frozenset(i for i in self.actuators if i >= 0)


NO_EFFORTS = Efforts()


@remembered
def set_efforts(table: Table, model: mujoco.MjModel, efforts: Efforts) -> None:
    """Fill the tables of efforts."""
    count = len(efforts.dofs)
    outputs = [int(model.actuator_outadr[i]) if i >= 0 else -1 for i in efforts.actuators]
    table.actuators.effort_dof = integers(np.array(efforts.dofs, np.int64))
    table.actuators.effort_output = integers(np.array(outputs, np.int64))
    table.actuators.effort_range = np.array(efforts.limits, dtype=np.float64).reshape(count, 2)
    start = [0]
    span: list[int] = []
    for group in efforts.groups:
        if group >= 0:
            members = [k for k in range(count) if efforts.groups[k] == group]
            span.extend(_span(table, model, efforts, members))
        start.append(len(span))
    table.actuators.effort_start = np.array(start, np.int64)
    table.actuators.effort_span = np.array(span, np.int64)


def _span(table: Table, model: mujoco.MjModel, efforts: Efforts, members: list[int]) -> list[int]:
    """Dofs on which a group's efforts act, in order; all six of a free body."""
    dofs: set[int] = set()
    for k in members:
        dof = efforts.dofs[k]
        if dof < 0:
            dof = int(model.jnt_dofadr[model.actuator_trnid[efforts.actuators[k], 0]])
        tree = table.dofs.tree[dof]
        if table.trees.spatial[tree]:
            first = int(table.trees.start[tree])
            dofs.update(range(first, first + _SPATIAL_DOFS))
        else:
            dofs.add(dof)
    return sorted(dofs)


@compiled
def effort_jacobian(plant: Table, state: Table, effort: int, out: np.ndarray) -> None:
    """Add an effort's generalized Jacobian, its force per dof, to ``out``."""
    dof = plant.actuators.effort_dof[effort]
    if dof >= 0:
        out[dof] += 1.0
        return
    output = plant.actuators.effort_output[effort]
    first = state.mj_moment_rowadr[output]
    for e in range(first, first + state.mj_moment_rownnz[output]):
        out[state.mj_moment_colind[e]] += state.mj_actuator_moment[e]


@compiled
def _add_spanning_row(plant: Table, state: Table, effort: int) -> int:
    """Add a row (`add_row`) over the dofs that the effort's group spans."""
    actuators = plant.actuators
    rows = state.rows
    tree = rows.tree
    start = rows.start
    first = actuators.effort_start[effort]
    last = actuators.effort_start[effort + 1]
    row = rows.count
    entry = rows.entry_count
    if row >= tree.shape[0] or entry + last - first > rows.jacobian.size:
        return -1
    start[row, 0] = entry
    tree[row, 0] = plant.dofs.tree[actuators.effort_span[first]]
    tree[row, 1] = -1
    for k in range(first, last):
        t = plant.dofs.tree[actuators.effort_span[k]]
        if tree[row, 1] < 0 and t != tree[row, 0]:
            tree[row, 1] = t
            start[row, 1] = entry
        rows.dof[entry] = actuators.effort_span[k]
        rows.jacobian[entry] = 0.0
        entry += 1
    if tree[row, 1] < 0:
        start[row, 1] = entry
    start[row, 2] = entry
    rows.count = row + 1
    rows.entry_count = entry
    rows.inverse_mass[row] = 1.0
    rows.kind[row] = ACTUATOR
    rows.source[row] = -1
    return row


@compiled
def add_effort_rows(plant: Table, state: Table) -> int:
    """Append a row for every effort, without any force yet."""
    actuators = plant.actuators
    rows = state.rows
    for k in range(state.effort_row.size):
        if actuators.effort_start[k + 1] > actuators.effort_start[k]:
            row = _add_spanning_row(plant, state, k)
        else:
            effort_jacobian(plant, state, k, state.work.dof_row)
            row = add_row(plant, state, ACTUATOR, -1, -1)
        if row == -1:
            return ROWS_FULL
        if row == -2:
            return TREES
        # An actuator without a moment arm has no row.
        state.effort_row[k] = max(row, -1)
        if row < 0:
            continue
        rows.force[row] = 0.0
        rows.proportional[row] = 0.0
        rows.derivative[row] = 0.0
        rows.lower[row] = actuators.effort_range[k, 0]
        rows.upper[row] = actuators.effort_range[k, 1]
    return EVALUATED
