"""Faces of shells of cells: rectangles whose displacement is a polynomial of their nodes.

Nodes of a face of order n are n + 1 in each of its two directions, at equal distances, those along
the second one counted first. In its plane it has the moduli of plane stress C [N/m] and the
stiffness K_0 = ∫ Bᵀ C B. Faces of order 1 have two incompatible modes in each direction besides, so
that the webs of a hollow beam bend as they should (`asperity.soft.elements`). Across its plane a
face resists nothing: that is `asperity.soft.bending`, of the triangles between nodes.
"""

from __future__ import annotations

import itertools

import numpy as np

from asperity.soft.cells import polynomials
from asperity.soft.elements import Element

__all__ = ["face", "face_triangles", "mean_stiffness", "plane_moduli"]


def plane_moduli(first: float, shear: float) -> np.ndarray:
    """C of xx, yy and whole xy, of λ and μ of plane stress [N/m]."""
    return np.array(
        [[first + 2.0 * shear, first, 0.0], [first, first + 2.0 * shear, 0.0], [0.0, 0.0, shear]]
    )


def _strains(gradients: np.ndarray) -> np.ndarray:
    """B of gradients of shape functions, shapes (m, 2) and (3, 2 m)."""
    x, y = gradients.T
    zero = np.zeros_like(x)
    rows = [[x, zero], [zero, y], [y, x]]
    return np.array([np.stack(row, axis=1).ravel() for row in rows])


def mean_stiffness(gradient: np.ndarray, moduli: np.ndarray) -> np.ndarray:
    """Per area, of the mean strain alone, with C [N/m], shape (3 m, 3 m) [1/m² times that]."""
    strain = _strains(gradient[:, :2])
    return _in_space(strain.T @ moduli @ strain)


def _in_space(stiffness: np.ndarray) -> np.ndarray:
    """Of displacements along a face, shape (2 m, 2 m), as of those across it as well."""
    count = len(stiffness) // 2
    whole = np.zeros((count, 3, count, 3))
    whole[:, :2, :, :2] = 0.5 * (stiffness + stiffness.T).reshape(count, 2, count, 2)
    return whole.reshape(3 * count, 3 * count)


def face(nodes: tuple[int, ...], places: np.ndarray, order: int, moduli: np.ndarray) -> Element:
    """A rectangle of nodes at ``places`` [m], along its sides and across, with C [N/m]."""
    sides = (places[-1] - places[0])[:2]
    area = abs(float(np.prod(sides)))
    count = len(nodes)
    compatible, gradient = np.zeros((2 * count, 2 * count)), np.zeros((count, 3))
    mixed, inner = np.zeros((2 * count, 4)), np.zeros((4, 4))
    points, weights = np.polynomial.legendre.leggauss(order + 1)
    for at in itertools.product(range(order + 1), repeat=2):
        point = 0.5 * (points[list(at)] + 1.0)
        weight = 0.25 * area * float(np.prod(weights[list(at)]))
        (u, du), (v, dv) = (polynomials(order, one) for one in point)
        local = np.stack([np.outer(du, v).ravel(), np.outer(u, dv).ravel()], axis=1) / sides
        strain = _strains(local)
        modes = _strains(np.diag(4.0 * (1.0 - 2.0 * point) / sides))
        gradient[:, :2] += weight / area * local
        compatible += weight * strain.T @ moduli @ strain
        mixed += weight * strain.T @ moduli @ modes
        inner += weight * modes.T @ moduli @ modes
    if order == 1:
        compatible -= mixed @ np.linalg.solve(inner, mixed.T)
    return Element(nodes, places - places.mean(axis=0), gradient, _in_space(compatible))


def face_triangles(order: int) -> np.ndarray:
    """Nodes of a face that are corners of triangles, two between four nodes, shape (n, 3)."""
    low = np.array(list(itertools.product(range(order), repeat=2)))
    along = order + 1
    first = low[:, 0] * along + low[:, 1]
    one = first[:, None] + np.array([0, along, along + 1])
    two = first[:, None] + np.array([0, along + 1, 1])
    return np.concatenate([one, two]).astype(np.int64)
