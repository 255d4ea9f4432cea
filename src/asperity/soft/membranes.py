"""Triangles of cloth at rest: their gradients, stiffness, and the bending of two that meet.

A triangle has the constant strain of its plane and the moduli of plane stress. Bending has a
quadratic energy: over an edge e of two triangles the unit vector across it, which moves with each
of them, jumps by c_e x. Of a surface bent without stretch that is as long as the angle that it is
folded by. With the unit vector m_e across the edge, in the plane of a triangle T, and its area A,

    S_T = Σ_e ½ |e| (c_e x) m_e m_eᵀ / A,    E = ½ D A ((1 − ν) S : S + ν |tr S|²),

whose average over a triangle's three edges bends alike in all directions of a regular grid. D is
E t³/12(1 − ν²). Where the surface is curved at rest, x are displacements from there that the
triangle sees, and jumps are turned about their edges into its plane. Turning with the triangle
changes none of them: with its turn ω(x) and the jump j_e at rest, c_e x is less by ω × j_e.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Bends", "bending", "in_plane", "plane_gradients", "triangle_stiffness", "triangles"]

# Height over a patch's plane, over its extent, up to which it is flat.
_FLAT = 1e-6


class Bends(NamedTuple):
    """Bending of m triangles, over their corners and those across their edges."""

    vertices: np.ndarray
    """Shape (m, 6), −1 for those that are not there."""
    rest: np.ndarray
    """Positions along the triangle's axes and across, from their mean [m], shape (m, 6, 3)."""
    gradient: np.ndarray
    """Of a field in the triangle along its axes [1/m], shape (m, 6, 3)."""
    stiffness: np.ndarray
    """Along the same axes [N/m], shape (m, 18, 18); K ⊗ 1 where the patch is flat."""
    flat: np.ndarray
    """Whether a patch is flat at rest, shape (m,)."""


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


def _turn_of(gradient: np.ndarray) -> np.ndarray:
    """The turn of a triangle by displacements of six corners, shape (3, 18)."""
    turn = np.zeros((3, 6, 3))
    turn[0, :, 2] = gradient[:, 1]
    turn[1, :, 2] = -gradient[:, 0]
    turn[2, :, 1] = 0.5 * gradient[:, 0]
    turn[2, :, 0] = -0.5 * gradient[:, 1]
    return turn.reshape(3, 18)


def _across(edge: np.ndarray, side: np.ndarray) -> np.ndarray:
    """The unit vector across an edge, in the plane of another side from its beginning."""
    out = side - (side @ edge) * edge
    return np.asarray(out / np.linalg.norm(out))


def bending(positions: np.ndarray, faces: np.ndarray, rigidity: float, poisson: float) -> Bends:
    """Stiffness of the bending of triangles.

    Parameters
    ----------
    positions : array, shape (n, 3)
        At rest [m].
    faces : array of int, shape (m, 3)
    rigidity : float
        D [N m].
    poisson : float
    """
    area, gradients = triangles(positions, faces)
    _, axes = _planes(positions, faces)
    axes = np.concatenate([axes, np.cross(axes[:, :1], axes[:, 1:])], axis=1)
    owners: dict[tuple[int, int], list[int]] = {}
    for number, face in enumerate(faces.tolist()):
        for k in range(3):
            edge = (face[k], face[(k + 1) % 3])
            owners.setdefault((min(edge), max(edge)), []).append(number)
    vertices = np.full((len(faces), 6), -1, np.int64)
    vertices[:, :3] = faces
    rest = np.zeros((len(faces), 6, 3))
    gradient = np.zeros((len(faces), 6, 3))
    gradient[:, :3] = gradients @ np.swapaxes(axes, 1, 2)
    gradient[:, :, 2] = 0.0
    stiffness = np.zeros((len(faces), 18, 18))
    for number, face in enumerate(faces.tolist()):
        turned = axes[number].T
        folds = []
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
            length = float(np.linalg.norm(positions[b] - positions[a]))
            along = (positions[b] - positions[a]) / length
            out = _across(along, positions[a] - positions[c])
            beyond = _across(along, positions[far] - positions[a])
            jump = np.zeros(6)
            for place, vertex in ((k, a), ((k + 1) % 3, b), (across, far)):
                jump[place] += gradients[beside[0]][other.index(vertex)] @ beyond
            for place in range(3):
                jump[place] -= gradients[number][place] @ out
            # From the other triangle's plane into this one's.
            own = np.stack([along, out, np.cross(along, out)]) @ turned
            foreign = np.stack([along, beyond, np.cross(along, beyond)]) @ turned
            folds.append((0.5 * length / area[number], jump, own, own.T @ foreign))
        there = vertices[number] >= 0
        place = (positions[vertices[number]] - positions[face[0]]) @ turned
        rest[number, there] = (place - place[there].mean(axis=0))[there]
        moment = np.zeros((2, 2, 3, 18))
        for scale, jump, own, turn in folds:
            vector = np.kron(jump, np.eye(3)) + np.cross(
                jump @ rest[number], _turn_of(gradient[number]), axisb=0, axisc=0
            )
            flat = own[1, :2]
            moment += scale * np.multiply.outer(np.outer(flat, flat), turn @ vector)
        trace = moment[0, 0] + moment[1, 1]
        stiffness[number] = (
            rigidity
            * area[number]
            * (
                (1.0 - poisson) * np.einsum("ijka,ijkb->ab", moment, moment)
                + poisson * trace.T @ trace
            )
        )
    # Heights are from the triangle's own plane, not from the mean.
    height = np.abs(rest[:, :, 2] - rest[:, :1, 2]) * (vertices >= 0)
    extent = np.abs(rest).max(axis=(1, 2))
    return Bends(vertices, rest, gradient, stiffness, height.max(axis=1) <= _FLAT * extent)
