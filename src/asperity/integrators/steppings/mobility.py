"""What impulses along the normals of contacts do to velocities, with the mass matrix itself.

Impulses p of several contacts at once change generalized velocities by M⁻¹ Jᵀ p. Along the normal j
of one of them that is not what its own impulse does, j M⁻¹ jᵀ p: it is half of that for a thin rod
that lands on both tips.

For robots diag(M) instead of M would not do: of a rod of two hinged halves that lands on its tip it
makes 10 kg⁻¹ of 7 kg⁻¹.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.convex.block_cholesky import cholesky, cholesky_solve
from asperity.convex.ellipsoids import Six, contact_row
from asperity.plant.rotations import Vector

__all__ = ["add_normal_impulse", "along_normal", "is_of_geoms", "respond"]

# Of the rows of a contact's Jacobian.
_NORMAL = 5


@compiled
def is_of_geoms(plant: Table, contacts: Table, c: int) -> bool:
    """Whether none of a contact's sides is a flex's."""
    return contacts.geom[c, 0] < plant.ngeom and contacts.geom[c, 1] < plant.ngeom


@inlined
def _turned(mass: np.ndarray, block: int, x: float, y: float, z: float) -> Vector:
    """I⁻¹ times a vector in world axes, with the inertia of a free body."""
    xx, xy, xz = mass[block], mass[block + 1], mass[block + 2]
    yy, yz, zz = mass[block + 7], mass[block + 8], mass[block + 14]
    a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    d, e, f = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    scale = 1.0 / (xx * a + xy * b + xz * c)
    return (
        scale * (a * x + b * y + c * z),
        scale * (b * x + d * y + e * z),
        scale * (c * x + e * y + f * z),
    )


@inlined
def _along(row: Six, column: np.ndarray) -> float:
    return (
        row[0] * column[0] + row[1] * column[1] + row[2] * column[2]
        + row[3] * column[3] + row[4] * column[4] + row[5] * column[5]
    )  # fmt: skip


@compiled
def along_normal(
    plant: Table, state: Table, c: int, first: np.ndarray, second: np.ndarray
) -> tuple[float, float, float]:
    """A contact's normal components of two vectors in solver velocities, and its inverse mass.

    The inverse mass is that of free bodies, and that of diag(M) for robots, along the normal.
    """
    contacts = state.contacts
    inverse = state.mass_inverse_diagonal
    one = 0.0
    two = 0.0
    mobility = 0.0
    for side in range(2):
        link = contacts.link[c, side]
        if link < 0:
            continue
        sign = -1.0 if side == 0 else 1.0
        row = contact_row(contacts, c, contacts.arm_a if side == 0 else contacts.arm_b, _NORMAL)
        tree = contacts.link_tree[link]
        spatial = plant.trees.spatial[tree]
        start = 0 if spatial else contacts.link_start[link]
        size = 6 if spatial else contacts.link_size[link]
        if spatial:
            block = plant.trees.block_start[tree]
            u, v, w = _turned(state.mass, block, row[0], row[1], row[2])
            mobility += row[0] * u + row[1] * v + row[2] * w + 1.0 / state.mass[block + 21]
        for e in range(start, start + size):
            if spatial:
                dof = plant.trees.start[tree] + e
                j = row[e]
            else:
                dof = contacts.chain_dof[e]
                j = _along(row, contacts.chain_column[e])
            one += sign * j * first[dof]
            two += sign * j * second[dof]
            mobility += 0.0 if spatial else j * j * inverse[dof]
    return one, two, mobility


@compiled
def add_normal_impulse(
    plant: Table, state: Table, c: int, share: float, target: np.ndarray
) -> None:
    """Add a share of a contact's last normal impulse to momenta in solver velocities."""
    contacts, trees = state.contacts, plant.trees
    for side in range(2):
        link = contacts.link[c, side]
        if link < 0:
            continue
        impulse = (2 * side - 1) * share * contacts.impulse[c, 2]
        row = contact_row(contacts, c, contacts.arm_a if side == 0 else contacts.arm_b, _NORMAL)
        tree = contacts.link_tree[link]
        if trees.spatial[tree]:
            for e in range(6):
                target[trees.start[tree] + e] += impulse * row[e]
            continue
        first = contacts.link_start[link]
        for e in range(first, first + contacts.link_size[link]):
            target[contacts.chain_dof[e]] += impulse * _along(row, contacts.chain_column[e])


@compiled
def _accelerate(plant: Table, state: Table, force: np.ndarray) -> None:
    """Change forces in solver velocities to accelerations, those of robots by diag(M)."""
    trees = plant.trees
    for tree in range(plant.ntree):
        start = trees.start[tree]
        for i in range(start, start + trees.size[tree]):
            if not trees.spatial[tree] or i >= start + 3:
                force[i] *= state.mass_inverse_diagonal[i]
        if trees.spatial[tree]:
            force[start], force[start + 1], force[start + 2] = _turned(
                state.mass,
                trees.block_start[tree],
                force[start],
                force[start + 1],
                force[start + 2],
            )


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
    _accelerate(plant, state, impulse)
    _accelerate(plant, state, force)
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
