"""What impulses along the normals of contacts do to velocities, with the mass matrix itself.

Impulses p of several contacts at once change generalized velocities by M⁻¹ Jᵀ p. Along the normal j
of one of them that is not what its own impulse does, j M⁻¹ jᵀ p: it is half of that for a thin rod
that lands on both tips.

For robots diag(M) instead of M would not do: of a rod of two hinged halves that lands on its tip it
makes 10 kg⁻¹ of 7 kg⁻¹.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.convex.block_cholesky import cholesky, cholesky_solve
from asperity.integrators.steppings.impacts import accelerate

__all__ = ["add_normal_impulse", "respond"]


@compiled
def add_normal_impulse(
    plant: Table, state: Table, c: int, share: float, target: np.ndarray
) -> None:
    """Add a share of a contact's last normal impulse to momenta in solver velocities."""
    contacts, trees = state.contacts, plant.trees
    x, y, z = contacts.frame[c, 6], contacts.frame[c, 7], contacts.frame[c, 8]
    for side in range(2):
        link = contacts.link[c, side]
        if link < 0:
            continue
        arm = contacts.arm_a if side == 0 else contacts.arm_b
        impulse = (2 * side - 1) * share * contacts.impulse[c, 2]
        mx = arm[c, 1] * z - arm[c, 2] * y
        my = arm[c, 2] * x - arm[c, 0] * z
        mz = arm[c, 0] * y - arm[c, 1] * x
        tree = contacts.link_tree[link]
        if trees.spatial[tree]:
            start = trees.start[tree]
            for i in range(6):
                target[start + i] += impulse * (mx, my, mz, x, y, z)[i]
            continue
        first = contacts.link_start[link]
        for e in range(first, first + contacts.link_size[link]):
            column = contacts.chain_column[e]
            j = mx * column[0] + my * column[1] + mz * column[2]
            j += x * column[3] + y * column[4] + z * column[5]
            target[contacts.chain_dof[e]] += impulse * j


@compiled
def respond(plant: Table, state: Table, impulse: np.ndarray, force: np.ndarray) -> None:
    """Change impulses and forces, in place, to changes of velocity and accelerations.

    Parameters
    ----------
    plant, state : Table
    impulse, force : array, shape (nv,)
        In solver velocities. Forces of robots without impulses become accelerations by diag(M).
    """
    trees = plant.trees
    inverse = np.empty(impulse.size)
    accelerate(plant, state, impulse)
    accelerate(plant, state, force)
    for tree in range(plant.ntree):
        start, size = trees.start[tree], trees.size[tree]
        if trees.spatial[tree] or not np.any(impulse[start : start + size]):
            continue
        for i in range(start, start + size):
            impulse[i] /= state.mass_inverse_diagonal[i]
            force[i] /= state.mass_inverse_diagonal[i]
        block = trees.block_start[tree]
        factor = state.mass[block : block + size * size].copy()
        cholesky(factor, 0, size, inverse, start)
        cholesky_solve(factor, 0, size, inverse, impulse, start)
        cholesky_solve(factor, 0, size, inverse, force, start)
