"""How fast elastic forces change, in the frames of elements that turn.

An element's offsets u = Rᵀ x − X (`asperity.soft.corotation`) change by u' = Rᵀ (v − ω × x), with ω
of its rotation R, so that what turns as it is has no rate, however it is strained.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.row_kernels import subtract_rows
from asperity.soft.corotation import element_rotation, rotation_tuple

__all__ = ["add_stiffness_rates"]


@compiled
def _mean_velocity(
    elastic: Table, qvel: np.ndarray, element: int, change: np.ndarray
) -> tuple[float, float, float]:
    """Fill F' row by row; returns the mean velocity of an element."""
    first, last = elastic.element_first[element], elastic.element_first[element + 1]
    x = 0.0
    y = 0.0
    z = 0.0
    for i in range(9):
        change[i] = 0.0
    for k in range(first, last):
        dof = elastic.particle_dof[elastic.place_particle[k]]
        if dof >= 0:
            x += qvel[dof]
            y += qvel[dof + 1]
            z += qvel[dof + 2]
            for j in range(3):
                g = elastic.place_gradient[k, j]
                change[j] += qvel[dof] * g
                change[3 + j] += qvel[dof + 1] * g
                change[6 + j] += qvel[dof + 2] * g
    count = last - first
    return x / count, y / count, z / count


@compiled
def _spin(f: np.ndarray, r: np.ndarray, change: np.ndarray) -> tuple[float, float, float]:
    """ω of an element that is strained little: of F' Rᵀ, and exactly if F is a multiple of R."""
    stretch = 0.0
    for i in range(9):
        stretch += f[i] * r[i]
    scale = 1.5 / stretch if stretch > 0.0 else 0.0
    x = 0.0
    y = 0.0
    z = 0.0
    for j in range(3):
        x += change[6 + j] * r[3 + j] - change[3 + j] * r[6 + j]
        y += change[j] * r[6 + j] - change[6 + j] * r[j]
        z += change[3 + j] * r[j] - change[j] * r[3 + j]
    return scale * x, scale * y, scale * z


@compiled
def _tree(elastic: Table, element: int) -> int:
    """That of an element's last particle that moves, or −1."""
    tree = -1
    for k in range(elastic.element_first[element], elastic.element_first[element + 1]):
        tree = max(tree, elastic.particle_tree[elastic.place_particle[k]])
    return tree


@compiled
def add_stiffness_rates(
    elastic: Table,
    position: np.ndarray,
    qvel: np.ndarray,
    work: np.ndarray,
    factor: float,
    out: np.ndarray,
    island: np.ndarray,
    spins: np.ndarray,
) -> None:
    """Add a factor times −f', the rates of elements' forces, to what is ordered as velocities are.

    Parameters
    ----------
    elastic : Table
    position : array, shape (particles, 3)
        In the frames of the flexes [m].
    qvel : array, shape (nv,)
    work : array, shape (4, 3 m)
        m is the largest number of vertices of an element, and 6 at least.
    factor : float
    out : array, shape (nv,)
    island : array, shape (ntree,)
        Of every tree.
    spins : array, shape (ntree, 5)
        Is filled for every island: the sum of its elements' ω [rad/s], how many these are, and the
        largest square of an ω.
    """
    u = work[0]
    pull = work[2]
    spins[:] = 0.0
    for element in range(elastic.elements):
        first = elastic.element_first[element]
        count = elastic.element_first[element + 1] - first
        x, y, z = element_rotation(elastic, position, element, work)
        vx, vy, vz = _mean_velocity(elastic, qvel, element, work[3])
        wx, wy, wz = _spin(work[2], work[1], work[3])
        tree = _tree(elastic, element)
        if tree >= 0:
            own = spins[island[tree]]
            own[0] += wx
            own[1] += wy
            own[2] += wz
            own[3] += 1.0
            own[4] = max(own[4], wx * wx + wy * wy + wz * wz)
        r = rotation_tuple(work[1])
        for k in range(count):
            p = elastic.place_particle[first + k]
            dof = elastic.particle_dof[p]
            dx = position[p, 0] - x
            dy = position[p, 1] - y
            dz = position[p, 2] - z
            ax = wz * dy - wy * dz - vx
            ay = wx * dz - wz * dx - vy
            az = wy * dx - wx * dy - vz
            if dof >= 0:
                ax += qvel[dof]
                ay += qvel[dof + 1]
                az += qvel[dof + 2]
            u[3 * k] = r[0] * ax + r[3] * ay + r[6] * az
            u[3 * k + 1] = r[1] * ax + r[4] * ay + r[7] * az
            u[3 * k + 2] = r[2] * ax + r[5] * ay + r[8] * az
        width = 3 * count
        for b in range(width):
            pull[b] = 0.0
        matrix = elastic.matrix.ctypes.data + 8 * elastic.element_matrix[element]
        subtract_rows(pull.ctypes.data, u.ctypes.data, 8, matrix, 8 * width, width, width)
        for k in range(count):
            dof = elastic.particle_dof[elastic.place_particle[first + k]]
            if dof >= 0:
                fx = factor * pull[3 * k]
                fy = factor * pull[3 * k + 1]
                fz = factor * pull[3 * k + 2]
                out[dof] -= r[0] * fx + r[1] * fy + r[2] * fz
                out[dof + 1] -= r[3] * fx + r[4] * fy + r[5] * fz
                out[dof + 2] -= r[6] * fx + r[7] * fy + r[8] * fz
