"""Elements of deformable volumes: stiffness at rest, and how a mesh of tetrahedra is made of them.

With the stiffness C of linear elasticity and strains B u of displacements u, in Voigt's order
(xx, yy, zz, xy, yz, zx) with whole shears, a tetrahedron of volume V has

    K_0 = V Bᵀ C B.

It has one strain, and cannot bend: a beam with one layer of tetrahedra is four times too stiff.
So the six tetrahedra into which a grid's cell is cut are taken for one hexahedron, with three
further modes 1 − ξ_i² of displacements in each direction, whose nine parameters α belong to the
cell alone and are in equilibrium (incompatible modes; R. L. Taylor, P. J. Beresford, E. L. Wilson,
Int. J. Numer. Methods Eng. 10, 1976). With their strains G α

    K_0 = K_uu − K_uα K_αα⁻¹ K_uαᵀ,    K_uα = ∫ Bᵀ C G,    K_αα = ∫ Gᵀ C G,

which costs nothing when steps are made. Cells are parallelepipeds.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

__all__ = [
    "Element",
    "elasticity",
    "group_tetrahedra",
    "hexahedron",
    "strain_matrix",
    "tetrahedron",
    "tetrahedron_stiffness",
    "volumes",
]

# Of edges, by which opposite ones of a parallelepiped may differ.
_SKEW = 1e-5
# Corners of a cell, in units of its three edges.
_CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)


class Element(NamedTuple):
    """An element at rest, with m vertices."""

    vertices: tuple[int, ...]
    rest: np.ndarray
    """Positions of the vertices from their mean [m], shape (m, 3)."""
    gradient: np.ndarray
    """Of a field's mean gradient, by values at the vertices [1/m], shape (m, 3)."""
    stiffness: np.ndarray
    """K_0 [N/m], shape (3 m, 3 m)."""


def elasticity(first: float, shear: float) -> np.ndarray:
    """C of Lamé's parameters λ and μ [Pa], shape (6, 6)."""
    matrix = np.diag([2.0 * shear] * 3 + [shear] * 3)
    matrix[:3, :3] += first
    return matrix


def strain_matrix(gradients: np.ndarray) -> np.ndarray:
    """B of gradients of shape functions, shapes (..., m, 3) and (..., 6, 3 m)."""
    x, y, z = np.moveaxis(gradients, -1, 0)
    zero = np.zeros_like(x)
    rows = ((x, zero, zero), (zero, y, zero), (zero, zero, z), (y, x, zero), (zero, z, y))
    strain = np.array([*rows, (z, zero, x)])  # (6, 3, ..., m)
    strain = np.moveaxis(strain, (0, 1), (-3, -1))
    return strain.reshape(*strain.shape[:-2], -1)


def volumes(positions: np.ndarray, tetrahedra: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Volumes of tetrahedra, with their sign, and gradients, shapes (n,) and (n, 4, 3)."""
    corner = positions[tetrahedra]
    edges = np.swapaxes(corner[:, 1:] - corner[:, :1], 1, 2)
    signed = np.linalg.det(edges) / 6.0
    inverse = np.linalg.inv(np.where(signed[:, None, None] != 0.0, edges, np.eye(3)))
    return signed, np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)


def tetrahedron_stiffness(
    gradients: np.ndarray, volume: np.ndarray, matrix: np.ndarray
) -> np.ndarray:
    """K_0 of tetrahedra, shape (n, 12, 12)."""
    strain = strain_matrix(gradients)
    return volume[:, None, None] * (np.swapaxes(strain, 1, 2) @ matrix @ strain)


def tetrahedron(vertices: tuple[int, ...], corners: np.ndarray, matrix: np.ndarray) -> Element:
    """A tetrahedron of these corners [m], shape (4, 3)."""
    signed, gradients = volumes(corners, np.arange(4)[None])
    stiffness = tetrahedron_stiffness(gradients, np.abs(signed), matrix)[0]
    return Element(vertices, corners - corners.mean(axis=0), gradients[0], stiffness)


def hexahedron(vertices: tuple[int, ...], corners: np.ndarray, matrix: np.ndarray) -> Element:
    """A parallelepiped with incompatible modes, its corners [m] in the order of `_CORNERS`."""
    edges = np.stack([corners[4] - corners[0], corners[2] - corners[0], corners[1] - corners[0]])
    inverse = np.linalg.inv(edges.T)  # gradients of the cell's coordinates 0 … 1
    volume = abs(float(np.linalg.det(edges)))
    compatible = np.zeros((24, 24))
    mixed = np.zeros((24, 9))
    inner = np.zeros((9, 9))
    for point in 0.5 + (_CORNERS - 0.5) / np.sqrt(3.0):
        factors = np.where(_CORNERS == 1.0, point, 1.0 - point)
        slopes = np.where(_CORNERS == 1.0, 1.0, -1.0)
        local = np.stack(
            [slopes[:, a] * factors[:, a - 2] * factors[:, a - 1] for a in range(3)], axis=1
        )
        strain = strain_matrix(local @ inverse)
        modes = strain_matrix(np.diag(4.0 * (1.0 - 2.0 * point)) @ inverse)
        weight = volume / 8.0
        compatible += weight * strain.T @ matrix @ strain
        mixed += weight * strain.T @ matrix @ modes
        inner += weight * modes.T @ matrix @ modes
    stiffness = compatible - mixed @ np.linalg.solve(inner, mixed.T)
    gradient = 0.5 * (_CORNERS - 0.5) @ inverse
    rest = corners - corners.mean(axis=0)
    return Element(vertices, rest, gradient, 0.5 * (stiffness + stiffness.T))


def group_tetrahedra(
    positions: np.ndarray, tetrahedra: np.ndarray
) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Find the cells of a grid that tetrahedra were cut from.

    Parameters
    ----------
    positions : array, shape (n, 3)
        Of the vertices [m].
    tetrahedra : array of int, shape (m, 4)

    Returns
    -------
    list of tuple
        Vertices of cells, in the order of their corners.
    array of int
        Tetrahedra that are part of no cell.
    """
    around: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, vertices in enumerate(np.sort(tetrahedra, axis=1).tolist()):
        for i in range(4):
            for j in range(i + 1, 4):
                around[vertices[i], vertices[j]].append(number)
    # Six tetrahedra hang on the diagonal of a cell, and on edges of several, which are shorter.
    diagonals = [edge for edge, found in around.items() if len(found) >= 6]
    length = {(a, b): float(np.linalg.norm(positions[a] - positions[b])) for a, b in diagonals}
    free = np.ones(len(tetrahedra), bool)
    cells = []
    for edge in sorted(diagonals, key=lambda edge: (-round(length[edge], 12), edge)):
        own = [number for number in around[edge] if free[number]]
        cell = _cell(positions, tetrahedra[own], edge) if len(own) == 6 else None
        if cell is not None:
            cells.append(cell)
            free[own] = False
    return cells, np.flatnonzero(free)


def _cell(
    positions: np.ndarray, tetrahedra: np.ndarray, edge: tuple[int, int]
) -> tuple[int, ...] | None:
    """Corners of the parallelepiped that six tetrahedra around an edge fill, if they do."""
    first, last = edge
    ring = [sorted({*map(int, vertices)} - {first, last}) for vertices in tetrahedra]
    others = sorted({vertex for pair in ring for vertex in pair})
    if len(others) != 6:
        return None
    diagonal = positions[last] - positions[first]
    tolerance = _SKEW * float(np.linalg.norm(diagonal))
    beside: dict[int, set[int]] = {vertex: set() for vertex in others}
    for one, two in ring:
        beside[one].add(two)
        beside[two].add(one)
    # Every other one of the six around the diagonal is at the end of an edge from its first point.
    even = {w for vertex in beside[others[0]] for w in beside[vertex]}
    for singles in (sorted(even), sorted(set(others) - even)):
        if len(singles) != 3:
            return None
        a, b, c = (positions[vertex] - positions[first] for vertex in singles)
        if np.linalg.norm(a + b + c - diagonal) > tolerance:
            continue
        edges = np.stack([a, b, c])
        place = {first: 0, last: 7}
        for vertex in others:
            offset = positions[vertex] - positions[first]
            misses = np.linalg.norm(_CORNERS @ edges - offset, axis=1)
            if misses.min() > tolerance:
                return None
            place[vertex] = int(misses.argmin())
        if len(set(place.values())) != 8:
            return None
        return tuple(sorted(place, key=place.__getitem__))
    return None
