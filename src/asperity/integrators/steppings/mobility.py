"""Inverse mass along a contact's normal, and what forces do to it, with the mass matrix itself.

Along the row j of a contact in a robot's generalized velocities the inverse mass is jᵀ M⁻¹ j, and
forces f close the contact with jᵀ M⁻¹ f. Instead of M its diagonal would do for free bodies alone:
of a rod of two hinged halves that lands on its tip it makes 10 kg⁻¹ of 7 kg⁻¹.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

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
def _solve(mass: np.ndarray, block: int, x: np.ndarray) -> None:
    """``x = M⁻¹ x`` of one robot, by Cholesky's factors of its block."""
    n = x.size
    factor = mass[block : block + n * n].copy()
    for i in range(n):
        for k in range(i + 1):
            value = factor[n * i + k]
            for m in range(k):
                value -= factor[n * i + m] * factor[n * k + m]
            if k < i:
                factor[n * i + k] = value / factor[n * k + k]
            else:
                factor[n * i + i] = np.sqrt(value)
    for i in range(n):
        for k in range(i):
            x[i] -= factor[n * i + k] * x[k]
        x[i] /= factor[n * i + i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= factor[n * k + i] * x[k]
        x[i] /= factor[n * i + i]


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
        if link < 0 or trees.spatial[contacts.link_tree[link]]:
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
        response = row.copy()
        _solve(state.mass, trees.block_start[tree], response)
        for i in range(row.size):
            force = acceleration[start + i] / state.mass_inverse_diagonal[start + i]
            mobility += row[i] * response[i]
            parting += response[i] * force - row[i] * acceleration[start + i]
    return parting, mobility
