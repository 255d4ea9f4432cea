"""Inverse mass along a contact's normal, and what forces do to it, with the mass matrix itself.

Along the row j of a contact in a robot's generalized velocities the inverse mass is jᵀ M⁻¹ j, and
forces f close the contact with jᵀ M⁻¹ f. Instead of M its diagonal would do for free bodies alone:
of a rod of two hinged halves that lands on its tip it makes 10 kg⁻¹ of 7 kg⁻¹.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.convex.block_cholesky import cholesky, cholesky_solve

__all__ = ["normal_mobility"]


@compiled
def _add_row(state: Table, c: int, side: int, row: np.ndarray, start: int) -> None:
    """Add a side's part of a contact's normal row, in the velocities of its robot."""
    contacts = state.contacts
    link = contacts.link[c, side]
    arm = contacts.arm_a if side == 0 else contacts.arm_b
    sign = -1.0 if side == 0 else 1.0
    x, y, z = contacts.frame[c, 6], contacts.frame[c, 7], contacts.frame[c, 8]
    mx = arm[c, 1] * z - arm[c, 2] * y
    my = arm[c, 2] * x - arm[c, 0] * z
    mz = arm[c, 0] * y - arm[c, 1] * x
    for e in range(contacts.link_start[link], contacts.link_start[link] + contacts.link_size[link]):
        column = contacts.chain_column[e]
        j = mx * column[0] + my * column[1] + mz * column[2]
        j += x * column[3] + y * column[4] + z * column[5]
        row[contacts.chain_dof[e] - start] += sign * j


@compiled
def normal_mobility(
    plant: Table, state: Table, c: int, acceleration: np.ndarray, estimate: tuple[float, float]
) -> tuple[float, float]:
    """A contact's normal acceleration and inverse mass.

    Parameters
    ----------
    plant, state : Table
    c : int
        The contact.
    acceleration : array, shape (nv,)
        As `asperity.integrators.steppings.impacts.accelerate` fills it, by diag(M) for robots.
    estimate : tuple of float
        The two as `asperity.integrators.steppings.impacts.along_normal` has found them with
        diag(M), which are those of free bodies.
    """
    contacts, trees = state.contacts, plant.trees
    parting, mobility = estimate
    for side in range(2):
        link = contacts.link[c, side]
        # Of vertices and nodes of flexes diag(M) is all that there is.
        is_soft = contacts.geom[c, side] >= plant.ngeom
        if link < 0 or is_soft or trees.spatial[contacts.link_tree[link]]:
            continue
        tree = contacts.link_tree[link]
        other = contacts.link[c, 1 - side]
        together = other >= 0 and contacts.link_tree[other] == tree
        if together and side == 1:
            continue
        start = trees.start[tree]
        row = np.zeros(trees.size[tree])
        _add_row(state, c, side, row, start)
        for i in range(row.size):
            mobility -= row[i] * row[i] * state.mass_inverse_diagonal[start + i]
        if together:
            second = np.zeros(row.size)
            _add_row(state, c, 1, second, start)
            for i in range(row.size):
                mobility -= second[i] * second[i] * state.mass_inverse_diagonal[start + i]
                row[i] += second[i]
        size = row.size
        response = row.copy()
        inverse = np.empty(size)
        block = trees.block_start[tree]
        factor = state.mass[block : block + size * size].copy()
        if not cholesky(factor, 0, size, inverse, 0):
            return estimate
        cholesky_solve(factor, 0, size, inverse, response, 0)
        for i in range(size):
            force = acceleration[start + i] / state.mass_inverse_diagonal[start + i]
            mobility += row[i] * response[i]
            parting += response[i] * force - row[i] * acceleration[start + i]
    return parting, mobility
