"""Bending of triangles of cloth, by how slopes change over their edges.

Over an edge e of two triangles the unit vector across it, which moves with each of them, jumps by
c_e x. Of a surface bent without stretch that is as long as the angle that it is folded by. With the
unit vector m_e across the edge, in the plane of a triangle T, and its area A,

    S_T = Σ_e |e| (f_e x) m_e m_eᵀ / A,    E = ½ D A ((1 − ν) S : S + ν |tr S|²),

and D = E t³/12(1 − ν²). f_e is what the slope across e differs by from that of the triangle. If e
had one slope for both of its triangles, S_T would be the mean of the second derivatives, by Gauss's
theorem, so that bending in one part of the surface would load no vertex of another. A quadratic
surface bends as it should if this slope is right at the edge's middle. The mean of both triangles',
f_e = ½ c_e, is on regular grids; elsewhere it is off by q_e : H, of second derivatives H. Those are
estimated by P_e from the jumps over the edges of one of both triangles, so that

    f_e = ½ c_e − q_e : P_e c.

At a border a triangle's own slope takes the place of the mean. Without q_e clamped plates are 15 to
30 % too stiff on irregular meshes, however fine. In Morley's element (1968) this slope is a
variable of its own.

Where the surface is curved at rest, x are displacements from there that the triangle sees, and
jumps are turned about their edges into its plane. Turning with a triangle changes none of its own:
with its turn ω(x) and the jump j_e at rest, c_e x is less by ω × j_e.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asperity.soft.membranes import triangle_axes, triangles

__all__ = ["Bend", "bending"]

# Height over a patch's plane, over its extent, up to which it is flat.
_FLAT = 1e-6
# Error of an edge's slope, of curvature one over its length, that needs no correction.
_SMALL = 1e-9
# Curvatures that jumps hardly see are not estimated: ratio of singular values.
_UNSEEN = 0.02


class Bend(NamedTuple):
    """Bending of a triangle with n vertices, of which its own are the first three."""

    triangle: int
    vertices: np.ndarray
    rest: np.ndarray
    """Positions along the triangle's axes and across, from their mean [m], shape (n, 3)."""
    gradient: np.ndarray
    """Of a field in the triangle along its axes [1/m], shape (n, 3)."""
    stiffness: np.ndarray
    """Along the same axes [N/m], shape (3 n, 3 n); K ⊗ 1 where the patch is flat."""
    flat: bool
    """Whether the patch is flat at rest."""
    moment: np.ndarray
    """xx, yy and xy of A S by heights of the vertices, shape (3, n)."""


class _Edges(NamedTuple):
    """Edges of m triangles, of which the k-th begins at the k-th corner, in space."""

    beside: np.ndarray
    """The triangle beyond, shape (m, 3); −1 where none is, or several."""
    place: np.ndarray
    """Its corners that are the edge's first and second one, and the one across: (m, 3, 3)."""
    next: np.ndarray
    """Its two other edges, shape (m, 3, 2)."""
    far: np.ndarray
    """The vertex across."""
    length: np.ndarray
    out: np.ndarray
    """Unit vector out of the triangle, shape (m, 3, 3)."""
    turn: np.ndarray
    """From the plane of the triangle beyond into this one's, shape (m, 3, 3, 3)."""
    unfolded: np.ndarray
    """The vertex across, turned into this plane."""
    slope: np.ndarray
    """Of the triangle, outwards, by its corners, shape (m, 3, 3)."""
    jump: np.ndarray
    """Of the slope, by the corners and the vertex across, shape (m, 3, 4)."""
    vector: np.ndarray
    """Of the unit vector across, as the triangle sees it, shape (m, 3, 3, 4, 3)."""


def _beyond(faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    owners: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for number, face in enumerate(faces.tolist()):
        for k in range(3):
            edge = (face[k], face[(k + 1) % 3])
            owners.setdefault((min(edge), max(edge)), []).append((number, k))
    beside = np.full(faces.shape, -1, np.int64)
    place = np.tile(np.arange(3), (len(faces), 3, 1))
    following = np.zeros((len(faces), 3, 2), np.int64)
    for pair in owners.values():
        if len(pair) != 2:
            continue
        for (number, k), (other, there) in (pair, pair[::-1]):
            first, second = there, (there + 1) % 3
            following[number, k] = second, (there + 2) % 3
            if faces[number, k] != faces[other, first]:
                first, second = second, first
            beside[number, k] = other
            place[number, k] = first, second, (there + 2) % 3
    return beside, place, following


def _edges(positions: np.ndarray, faces: np.ndarray, axes: np.ndarray) -> _Edges:
    _, gradients = triangles(positions, faces)
    normal = axes[:, 2]
    beside, place, following = _beyond(faces)
    corner = positions[faces]
    side = np.roll(corner, -1, axis=1) - corner
    length = np.linalg.norm(side, axis=2)
    along = side / length[..., None]
    out = np.cross(along, normal[:, None])
    far = np.take_along_axis(faces[beside], place, axis=2)[..., 2]
    across = positions[far] - corner
    across -= np.einsum("mki,mki->mk", across, along)[..., None] * along
    across[beside < 0] = out[beside < 0]
    across /= np.linalg.norm(across, axis=2)[..., None]
    slope = np.einsum("mci,mki->mkc", gradients, out)
    other = np.einsum("mkci,mki->mkc", gradients[beside[..., None], place], across)
    jump = np.concatenate([-slope, other[..., 2:]], axis=2)
    for k in range(3):
        jump[:, k, k] += other[:, k, 0]
        jump[:, k, (k + 1) % 3] += other[:, k, 1]
    jump[beside < 0] = 0.0
    frame = np.stack([along, out, np.cross(along, out)], axis=2)
    foreign = np.stack([along, across, np.cross(along, across)], axis=2)
    turn = np.swapaxes(frame, 2, 3) @ foreign
    unfolded = corner + np.einsum("mkij,mkj->mki", turn, positions[far] - corner)
    # ω by the triangle's corners, and the jump at rest.
    n = normal[:, None]
    tilt = np.cross(gradients, n)[..., None] * n[:, :, None]
    tilt += 0.5 * n[..., None] * np.cross(n, gradients)[:, :, None]
    whole = np.concatenate(
        [np.broadcast_to(corner[:, None], (*far.shape, 3, 3)), positions[far][:, :, None]], axis=2
    )
    at_rest = np.einsum("mkc,mkci->mki", jump, whole)
    vector = np.einsum("mkc,ij->mkicj", jump, np.eye(3))
    vector[:, :, :, :3] += np.cross(
        at_rest[:, :, None, None], np.swapaxes(tilt, 2, 3)[:, None], axis=-1
    ).transpose(0, 1, 4, 2, 3)
    vector = np.einsum("mkij,mkjcl->mkicl", turn, vector)
    return _Edges(beside, place, following, far, length, out, turn, unfolded, slope, jump, vector)


def _quadratics(place: np.ndarray) -> np.ndarray:
    """½ x², ½ y² and x y/√2 of places in a plane, whose second derivatives have the norm 1."""
    x, y = place[..., 0], place[..., 1]
    return np.stack([0.5 * x * x, 0.5 * y * y, np.sqrt(0.5) * x * y], axis=-1)


def _clear(positions: np.ndarray, faces: np.ndarray, axes: np.ndarray, edges: _Edges) -> np.ndarray:
    """How clearly jumps over a triangle's edges show second derivatives, 0 … 1: shape (m,)."""
    corner = positions[faces]
    whole = np.repeat(corner[:, None], 3, axis=1)
    whole = np.concatenate([whole, edges.unfolded[:, :, None]], axis=2) - corner[:, None, :1]
    whole = _quadratics(np.einsum("mkci,mai->mkca", whole, axes[:, :2]))
    seen = np.linalg.svd(np.einsum("mkc,mkcq->mkq", edges.jump, whole), compute_uv=False)
    # Equal but for round-off is equal.
    return np.asarray(np.round(seen[:, -1] / np.maximum(seen[:, 0], 1e-300), 9))


def _moments(
    positions: np.ndarray, faces: np.ndarray, axes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A S_T of triangles.

    Returns
    -------
    array of int, shape (m, 12)
        Vertices: corners, those across their edges, and those across the other edges of the
        triangles there. Some may be the same, and −1 is none.
    array, shape (m, 3, 3, 12, 3)
        xx, yy and xy of S_T, as vectors in space, by these vertices' displacements.
    """
    edges = _edges(positions, faces, axes)
    count = len(faces)
    clear = _clear(positions, faces, axes, edges)
    vertices = np.full((count, 12), -1, np.int64)
    vertices[:, :3] = faces
    vertices[:, 3:6] = np.where(edges.beside >= 0, edges.far, -1)
    moments = np.zeros((count, 3, 3, 12, 3))
    rows = np.arange(count)
    corner = positions[faces]
    for k in range(3):
        beyond = edges.beside[:, k]
        inner = beyond >= 0
        last = (k + 1) % 3
        middle = 0.5 * (corner[:, k] + corner[:, last])

        def seen(places: np.ndarray, middle: np.ndarray = middle) -> np.ndarray:
            return _quadratics(np.einsum("mi,mai->ma", places - middle, axes[:, :2]))

        own = np.stack([seen(corner[:, c]) for c in range(3)], axis=1)
        fars = [seen(edges.unfolded[:, j]) for j in range(3)]
        # Jumps of quadratics over five edges, vectors that jump, and the places of their vertices.
        jumps, vectors, places = [], [], []
        for j in range(3):
            whole = np.concatenate([own, fars[j][:, None]], axis=1)
            jumps.append(np.einsum("mc,mcq->mq", edges.jump[:, j], whole))
            vectors.append(edges.vector[:, j])
            places.append([0, 1, 2, 3 + j])
        order = np.concatenate([edges.place[:, k], np.full((count, 1), 3)], axis=1)
        for j in range(2):
            edge = edges.next[:, k, j]
            there = edges.unfolded[beyond, edge] - corner[:, k]
            there = corner[:, k] + np.einsum("mij,mj->mi", edges.turn[:, k], there)
            whole = np.stack([own[:, k], own[:, last], fars[k], seen(there)], axis=1)
            jump = np.take_along_axis(edges.jump[beyond, edge], order, axis=1)
            jumps.append(inner[:, None] * np.einsum("mc,mcq->mq", jump, whole))
            vector = edges.turn[:, k] @ edges.vector[beyond, edge].reshape(count, 3, 12)
            vector = vector.reshape(count, 3, 4, 3)
            vectors.append(np.take_along_axis(vector, order[:, None, :, None], axis=2))
            places.append([k, last, 3 + k, 6 + 2 * k + j])
            known = inner & (edges.beside[beyond, edge] >= 0)
            vertices[:, places[-1][-1]] = np.where(known, edges.far[beyond, edge], -1)
        off = np.einsum("mc,mcq->mq", edges.slope[:, k], own) + 0.5 * jumps[k]
        off[np.abs(off).max(axis=1) <= _SMALL * edges.length[:, k]] = 0.0
        # Of the triangle that shows all second derivatives more clearly, if one does.
        show = np.stack(jumps, axis=1)
        theirs = np.where(inner, clear[beyond], -1.0)
        ours = (clear > theirs) | ((clear == theirs) & (rows < beyond))
        one = np.maximum(clear, theirs) > _UNSEEN
        show[one & ours, 3:] = 0.0
        for j in range(3):
            if j != k:
                show[one & ~ours, j] = 0.0
        share = -np.einsum("mq,mqj->mj", off, np.linalg.pinv(show, rcond=_UNSEEN))
        share[:, k] += 0.5 * inner
        x, y = np.einsum("mi,mai->am", edges.out[:, k], axes[:, :2])
        weight = edges.length[:, k] * np.stack([x * x, y * y, x * y])
        for part, vector, place in zip(share.T, vectors, places, strict=True):
            moments[:, :, :, place] += np.einsum("qm,m,micj->mqicj", weight, part, vector)
    moments[np.broadcast_to((vertices < 0)[:, None, None, :, None], moments.shape)] = 0.0
    return vertices, moments


def bending(
    positions: np.ndarray, faces: np.ndarray, rigidity: float, poisson: float
) -> list[Bend]:
    """Stiffness of the bending of triangles; those beside no other have none.

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
    axes = triangle_axes(positions, faces)
    vertices, moments = _moments(positions, faces, axes)
    size = np.abs(moments).max(axis=(1, 2, 4))
    there = size > 1e-12 * size.max(axis=1, keepdims=True)
    there[:, :3] = True
    bends = []
    for number, face in enumerate(faces.tolist()):
        if not size[number].any():
            continue
        # The same vertex may be across several edges, around a vertex of few triangles.
        own = list(dict.fromkeys([*face, *vertices[number, there[number]].tolist()]))
        moment = np.zeros((3, 3, len(own), 3))
        for place in np.flatnonzero(there[number]):
            moment[:, :, own.index(vertices[number, place])] += moments[number, :, :, place]
        turn = axes[number]
        moment = np.einsum("ia,qacb,jb->qicj", turn, moment, turn)
        across, moment = moment[:, 2, :, 2].copy(), moment.reshape(3, 3, -1)
        weights = rigidity / area[number] * np.array([1.0, 1.0, 2.0]) * (1.0 - poisson)
        trace = moment[0] + moment[1]
        stiffness = np.einsum("q,qia,qib->ab", weights, moment, moment)
        stiffness += rigidity / area[number] * poisson * trace.T @ trace
        place = (positions[own] - positions[face[0]]) @ turn.T
        gradient = np.zeros((len(own), 3))
        gradient[:3, :2] = gradients[number] @ turn[:2].T
        rest = place - place.mean(axis=0)
        # Heights are from the triangle's own plane, not from the mean.
        flat = bool(np.abs(place[:, 2]).max() <= _FLAT * np.abs(rest).max())
        bends.append(Bend(number, np.array(own), rest, gradient, stiffness, flat, across))
    return bends
