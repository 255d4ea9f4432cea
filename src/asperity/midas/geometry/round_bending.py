"""Second derivatives of the heights of round shapes.

As the shape and the plane tilt against each other, the nearest point moves along the shape. With
the heights α s of half axes and their rates δ(n·u), the height's second derivative is

    −(δ_ij − α_i α_j)/s δ(n·u_i) δ(n·u_j),   δ(n·u) = n·(δu − δw),

where w is what of the plane's body lies along u: the plane tilts as that does.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.factor.outer_products import add_outer, fill_square
from asperity.midas.geometry.round_heights import FLATNESS, find_foot
from asperity.midas.geometry.round_planes import second_link
from asperity.midas.geometry.stencil import RIM_PLANE, plane_number

__all__ = ["add_bending"]


@compiled
def _find_axes(
    shapes: Table, candidates: Table, i: int, axes: np.ndarray, alpha: np.ndarray
) -> int:
    """Fill y and α of a candidate's half axes; returns how many it has."""
    vertex = candidates.vertex[i]
    c = candidates.coefficient[i]
    rest = shapes.vertex_rest
    is_rim = candidates.kind[i] == RIM_PLANE
    last = vertex[2] if is_rim else vertex[1]
    for k in range(4):
        middle = 0.5 * (rest[vertex[0], k] + rest[last, k])
        axes[0, k] = rest[vertex[0], k] - middle
        if is_rim:
            axes[1, k] = rest[vertex[1], k] - middle
        else:
            axes[1, k] = rest[vertex[2], k] - middle
            axes[2, k] = rest[vertex[3], k] - middle
    if is_rim:
        alpha[0] = c[2] - c[0]
        alpha[1] = -c[1]
        return 2
    alpha[0] = c[1] - c[0]
    alpha[1] = -c[2]
    alpha[2] = -c[3]
    return 3


@compiled
def _find_side(
    shapes: Table,
    vertices: Table,
    face: np.ndarray,
    w0: float,
    w1: float,
    w2: float,
    side: np.ndarray,
) -> None:
    """Fill minus y of the vector of a face's body that lies along w."""
    x = vertices.now
    f0 = face[0]
    one, other = find_foot(x, f0, face[1], face[2], x[f0, 0] + w0, x[f0, 1] + w1, x[f0, 2] + w2)
    rest = shapes.vertex_rest
    for k in range(4):
        side[k] = one * (rest[f0, k] - rest[face[1], k])
        side[k] += other * (rest[f0, k] - rest[face[2], k])


@compiled
def add_bending(engine: Table, i: int, push: float, normal: np.ndarray) -> None:
    """Add what the height's second derivative gives, with the barrier's slope −``push``.

    Positive, since the height is concave in what tilts.
    """
    axes = engine.work.round_work[:3]
    sides = engine.work.round_work[3:6]
    alpha = engine.work.round_work[6]
    count = _find_axes(engine.shapes, engine.candidates, i, axes, alpha)
    kind = engine.candidates.kind[i]
    own = engine.shapes.vertex_link[engine.candidates.vertex[i, 0]]
    carrier = second_link(engine, i)
    moves = carrier < engine.links.parent.size
    face = engine.shapes.plane_corner[plane_number(kind, engine.candidates.vertex[i, 3])]
    # s by the heights of the half axes, which the link's present coordinates give.
    square = 0.0
    link = engine.poses.q_now[own]
    for a in range(count):
        w0 = 0.0
        w1 = 0.0
        w2 = 0.0
        for j in range(4):
            w0 += axes[a, j] * link[j, 0]
            w1 += axes[a, j] * link[j, 1]
            w2 += axes[a, j] * link[j, 2]
        square += (w0 * normal[0] + w1 * normal[1] + w2 * normal[2]) ** 2
        if moves:
            _find_side(engine.shapes, engine.vertices, face, w0, w1, w2, sides[a])
    if kind == RIM_PLANE:
        square += (FLATNESS * engine.pairs.activation[engine.candidates.pair[i]]) ** 2
    scale = push / math.sqrt(max(square, 1e-300))
    h = engine.work.upper
    for a in range(count):
        for b in range(count):
            fill_square(scale * ((1.0 if a == b else 0.0) - alpha[a] * alpha[b]), normal, h)
            add_outer(engine.hessian.link_sums[own], axes[a], axes[b], h)
            if not moves:
                continue
            add_outer(engine.hessian.link_sums[carrier], sides[a], sides[b], h)
            block = engine.pairs.block[engine.candidates.pair[i]]
            target = engine.hessian.slot_sums[engine.hessian.block_slot[block]]
            if own < carrier:
                add_outer(target, axes[a], sides[b], h)
            else:
                add_outer(target, sides[a], axes[b], h)
