"""Triangles of cloth at rest: their gradients, stiffness, and the bending of two that meet.

A triangle has the constant strain of its plane and the moduli of plane stress. Bending has a
quadratic energy: over an edge e of two triangles the gradient of positions jumps by a vector
c_e x, which of a surface bent without stretch is as long as the angle that it is folded by. With
the unit vector m_e across the edge, in the plane, and the area A of a triangle T,

    S_T = Σ_e ½ |e| (c_e x) m_e m_eᵀ / A,    E = ½ D A ((1 − ν) S : S + ν |tr S|²),

whose average over a triangle's three edges bends alike in all directions of a regular grid. D is
E t³/12(1 − ν²).
"""

from __future__ import annotations

import numpy as np

__all__ = ["bending", "in_plane", "plane_gradients", "triangle_stiffness", "triangles"]


def _planes(positions: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Areas of triangles and two unit vectors in their planes, shapes (n,) and (n, 2, 3)."""
    a, b, c = (positions[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    double = np.linalg.norm(normal, axis=1)
    normal = normal / np.maximum(double, 1e-300)[:, None]
    one = (b - a) / np.maximum(np.linalg.norm(b - a, axis=1), 1e-300)[:, None]
    return 0.5 * double, np.stack([one, np.cross(normal, one)], axis=1)


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
    area, axes = _planes(positions, faces)
    axes = np.concatenate([axes, np.cross(axes[:, :1], axes[:, 1:])], axis=1)
    corner = positions[faces]
    corner = corner - corner.mean(axis=1, keepdims=True)
    _, gradients = triangles(positions, faces)
    turned = np.swapaxes(axes, 1, 2)
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


def bending(
    positions: np.ndarray, faces: np.ndarray, rigidity: float, poisson: float
) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of the bending of triangles, over themselves and the corners across their edges.

    Parameters
    ----------
    positions : array, shape (n, 3)
        Of a flat surface [m].
    faces : array of int, shape (m, 3)
    rigidity : float
        D [N m].
    poisson : float

    Returns
    -------
    vertices : array of int, shape (m, 6)
        −1 for those that are not there.
    matrix : array, shape (m, 6, 6)
        K of E = ½ xᵀ (K ⊗ 1) x [N/m].
    """
    area, gradients = triangles(positions, faces)
    _, axes = _planes(positions, faces)
    owners: dict[tuple[int, int], list[int]] = {}
    for number, face in enumerate(faces.tolist()):
        for k in range(3):
            edge = (face[k], face[(k + 1) % 3])
            owners.setdefault((min(edge), max(edge)), []).append(number)
    vertices = np.full((len(faces), 6), -1, np.int64)
    vertices[:, :3] = faces
    matrices = np.zeros((len(faces), 6, 6))
    for number, face in enumerate(faces.tolist()):
        moment = np.zeros((2, 2, 6))
        for k in range(3):
            a, b, c = face[k], face[(k + 1) % 3], face[(k + 2) % 3]
            beside = [other for other in owners[min(a, b), max(a, b)] if other != number]
            if len(beside) != 1:
                continue
            other = faces[beside[0]].tolist()
            far = next(v for v in other if v not in (a, b))
            # Two triangles may meet at the same corner, around a vertex of three.
            there = np.flatnonzero(vertices[number] == far)
            across = int(there[0]) if len(there) else 3 + k
            vertices[number, across] = far
            along = positions[b] - positions[a]
            length = float(np.linalg.norm(along))
            along = along / length
            out = positions[a] - positions[c]
            out = out - (out @ along) * along
            out /= np.linalg.norm(out)
            jump = np.zeros(6)
            for place, vertex in ((k, a), ((k + 1) % 3, b), (across, far)):
                jump[place] += gradients[beside[0]][other.index(vertex)] @ out
            for place in range(3):
                jump[place] -= gradients[number][place] @ out
            flat = axes[number] @ out
            moment += 0.5 * length / area[number] * np.multiply.outer(np.outer(flat, flat), jump)
        trace = moment[0, 0] + moment[1, 1]
        matrices[number] = (
            rigidity
            * area[number]
            * (
                (1.0 - poisson) * np.einsum("ija,ijb->ab", moment, moment)
                + poisson * np.outer(trace, trace)
            )
        )
    return vertices, matrices
