"""Triangles of cloth at rest: their gradients, and their stiffness in their planes.

A triangle has the constant strain of its plane and the moduli of plane stress.
"""

from __future__ import annotations

import numpy as np

__all__ = ["in_plane", "plane_gradients", "triangle_axes", "triangle_stiffness", "triangles"]


def _planes(positions: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Areas of triangles and two unit vectors in their planes, shapes (n,) and (n, 2, 3)."""
    a, b, c = (positions[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    double = np.linalg.norm(normal, axis=1)
    normal = normal / np.maximum(double, 1e-300)[:, None]
    one = (b - a) / np.maximum(np.linalg.norm(b - a, axis=1), 1e-300)[:, None]
    return 0.5 * double, np.stack([one, np.cross(normal, one)], axis=1)


def triangle_axes(positions: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Unit vectors in the planes of triangles, two along them and one across, shape (n, 3, 3)."""
    _, axes = _planes(positions, faces)
    return np.concatenate([axes, np.cross(axes[:, :1], axes[:, 1:])], axis=1)


def triangles(positions: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Areas of triangles, and gradients in space, shapes (n,) and (n, 3, 3)."""
    area, axes = _planes(positions, faces)
    corner = positions[faces]
    edges = (corner[:, 1:] - corner[:, :1]) @ np.swapaxes(axes, 1, 2)
    edges = np.where(area[:, None, None] > 0.0, edges, np.eye(2))
    inverse = np.linalg.inv(edges)  # columns are gradients of the second and third vertex
    flat = np.swapaxes(inverse, 1, 2)
    flat = np.concatenate([-flat.sum(axis=1, keepdims=True), flat], axis=1)
    return area, flat @ axes


def plane_gradients(positions: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Areas of triangles, and gradients along two axes of their planes, shapes (n,), (n, 3, 2)."""
    area, gradients = triangles(positions, faces)
    _, axes = _planes(positions, faces)
    return area, np.einsum("eai,eki->eak", gradients, axes)


def in_plane(positions: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Areas of triangles, their corners and gradients along two axes of their planes and across.

    Shapes (n,), (n, 3, 3) and (n, 3, 3); corners are taken from their mean.
    """
    area, gradients = triangles(positions, faces)
    corner = positions[faces]
    corner = corner - corner.mean(axis=1, keepdims=True)
    turned = np.swapaxes(triangle_axes(positions, faces), 1, 2)
    return area, corner @ turned, gradients @ turned


def triangle_stiffness(gradients: np.ndarray, area: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Stiffness of triangles, shape (n, 9, 9), of λ and μ in C of `elements.elasticity` [N/m]."""
    first, shear = matrix[0, 1], matrix[3, 3]
    g = gradients
    # Strains have no part across the plane, which the projection P on it leaves out.
    normal = np.cross(g[:, 1], g[:, 2])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    plane = np.eye(3) - normal[:, :, None] * normal[:, None]
    dots = np.einsum("eai,ebi->eab", g, g)
    blocks = shear * (
        np.einsum("eab,eij->eaibj", dots, plane) + np.einsum("ebi,eaj->eaibj", g, g)
    ) + first * np.einsum("eai,ebj->eaibj", g, g)
    return area[:, None, None] * blocks.reshape(len(g), 9, 9)
