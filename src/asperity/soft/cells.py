"""Cells of interpolated volumes: boxes whose displacement is a polynomial of their nodes.

In a box's coordinates 0 ≤ ξ ≤ 1 a node has the product of three Lagrange polynomials of order n, of
which there are n + 1 in each direction, at equal distances. Nodes are counted along the last axis
first. With the strains B of displacements u the stiffness of a cell is

    K_0 = ∫ Bᵀ C B

over the part of it that the body fills. Displacements with a constant strain ε, u = M ε, have the
volume V of that part, and the mean strain and gradients of others in it:

    V C = Mᵀ K_0 M,    ε̄ = (V C)⁻¹ Mᵀ K_0 u,

so that K_0 is more than that of the mean strain, V ε̄ᵀ C ε̄, whatever the part. Cells of order 1 that
are full bend by incompatible modes instead (`asperity.soft.elements.hexahedron`), as they would
be too stiff otherwise.
"""

from __future__ import annotations

import itertools

import numpy as np

from asperity.soft.elements import Element, hexahedron, strain_matrix

__all__ = ["cell", "cell_stiffness", "mean_gradient", "mean_moduli", "polynomials"]

# By which the stiffness of a full cell may differ from that of a box.
_FULL = 1e-6


def polynomials(order: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and slopes of Lagrange polynomials, shapes (..., order + 1), at coordinates."""
    x = np.asarray(x, dtype=np.float64)
    if order == 1:
        return np.stack([1.0 - x, x], axis=-1), np.stack([-np.ones_like(x), np.ones_like(x)], -1)
    values = [(1.0 - x) * (1.0 - 2.0 * x), 4.0 * x * (1.0 - x), x * (2.0 * x - 1.0)]
    slopes = [4.0 * x - 3.0, 4.0 - 8.0 * x, 4.0 * x - 1.0]
    return np.stack(values, axis=-1), np.stack(slopes, axis=-1)


def _gauss_points(order: int) -> list[tuple[np.ndarray, float]]:
    """Coordinates and weights in a cell of volume one."""
    points, weights = np.polynomial.legendre.leggauss(order + 1)
    points, weights = 0.5 * (points + 1.0), 0.5 * weights
    return [
        (points[list(at)], float(np.prod(weights[list(at)])))
        for at in itertools.product(range(order + 1), repeat=3)
    ]


def _gradients(edges: np.ndarray, order: int, point: np.ndarray) -> np.ndarray:
    """Of shape functions at a point, shape (nodes, 3) [1/m]."""
    value, slope = polynomials(order, point)
    local = [
        np.einsum("i,j,k->ijk", *(slope[b] if a == b else value[b] for b in range(3))).ravel()
        for a in range(3)
    ]
    return np.stack(local, axis=1) @ np.linalg.inv(edges.T)


def cell_stiffness(edges: np.ndarray, order: int, matrix: np.ndarray) -> np.ndarray:
    """K_0 of a cell with three edges, rows of a matrix [m], and C of a material [N/m]."""
    nodes = (order + 1) ** 3
    total = np.zeros((3 * nodes, 3 * nodes))
    volume = abs(float(np.linalg.det(edges)))
    for point, weight in _gauss_points(order):
        of_point = strain_matrix(_gradients(edges, order, point))
        total += weight * volume * of_point.T @ matrix @ of_point
    return 0.5 * (total + total.T)


def mean_moduli(edges: np.ndarray, order: int, stiffness: np.ndarray) -> np.ndarray:
    """V C of a cell [J], shape (6, 6)."""
    modes = _strained(edges, order)
    return np.asarray(modes.T @ stiffness @ modes)


def mean_gradient(edges: np.ndarray, order: int, stiffness: np.ndarray) -> np.ndarray:
    """Of a field's mean gradient where the body is, by values at the nodes [1/m], shape (n, 3)."""
    modes = _strained(edges, order)
    strains = np.linalg.solve(modes.T @ stiffness @ modes, modes.T @ stiffness)
    return np.stack([strains[axis, axis::3] for axis in range(3)], axis=1)


def _strained(edges: np.ndarray, order: int) -> np.ndarray:
    """Displacements of a cell's nodes with each of the six strains, shape (3 n, 6) [m]."""
    ticks = np.linspace(0.0, 1.0, order + 1)
    places = np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), -1).reshape(-1, 3) @ edges
    modes = np.zeros((len(places), 3, 6))
    for number, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))):
        modes[:, i, number] += 0.5 * places[:, j]
        modes[:, j, number] += 0.5 * places[:, i]
    return modes.reshape(-1, 6)


def cell(
    nodes: tuple[int, ...], places: np.ndarray, edges: np.ndarray, order: int, stiffness: np.ndarray
) -> Element:
    """A cell of nodes at ``places`` [m]; a full one of order 1 does not keep its stiffness."""
    moduli = mean_moduli(edges, order, stiffness) / abs(float(np.linalg.det(edges)))
    if order == 1:
        full = cell_stiffness(edges, order, moduli)
        if np.abs(full - stiffness).max() < _FULL * np.abs(full).max():
            return hexahedron(nodes, places, moduli)
    gradient = mean_gradient(edges, order, stiffness)
    return Element(nodes, places - places.mean(axis=0), gradient, stiffness)
