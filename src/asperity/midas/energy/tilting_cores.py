"""What the tilt of round shapes' cores against each other adds to the Hessian of a barrier.

The closest points of two cores move along them as they tilt. For vectors d_k along which the
closest points may move, with rates of the normal distance n·δd_k, the distance D of the cores has
the second derivative −D Σ (G⁻¹)_kl (n·δd_k)(n·δd_l), where G_kl = d_k·d_l; the barrier pushes, so
that its own is positive. D is at least the radii, and what tilts a capsule on another against the
push is more than its inertia: without it Newton's method overshoots in every iteration, and heaps
of capsules take six times as many. Terms that mix tilt and sliding have no sign, and are left out:
with them heaps take as many iterations.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.factor.outer_products import add_outer, fill_square
from asperity.midas.geometry.stencil import EDGE_EDGE

__all__ = ["add_tilt"]

# Squared sine of an angle below which two directions are one.
_PARALLEL = 1e-3


@compiled
def _find_directions(
    engine: Table, i: int, x: np.ndarray, rest: np.ndarray, now: np.ndarray
) -> tuple[int, int]:
    """Fill vectors along which the closest points may move, by weights [1, x̄] and as they are.

    Returns how many there are, and a vertex of the link that the first one belongs to.
    """
    vertex = engine.candidates.vertex[i]
    c = engine.candidates.coefficient[i]
    edges = engine.candidates.kind[i] == EDGE_EDGE
    count = 0
    own = vertex[3]
    start = 0 if edges else 1
    for k in range(start + 1, 4):
        if edges and k == 2:
            start = 2
            continue
        if c[start] == 0.0:
            start = k
        elif c[k] != 0.0:
            if count == 0:
                own = vertex[k]
            for j in range(4):
                rest[count, j] = (
                    engine.shapes.vertex_rest[vertex[k], j]
                    - engine.shapes.vertex_rest[vertex[start], j]
                )
            for j in range(3):
                now[count, j] = x[vertex[k], j] - x[vertex[start], j]
            count += 1
    return count, own


@compiled
def add_tilt(engine: Table, i: int, x: np.ndarray, stiffness: float, normal: np.ndarray) -> None:
    """Add what the tilt of a candidate's cores gives, with vertices at ``x``.

    ``stiffness`` is the barrier's push times the distance of the cores.
    """
    y = engine.work.round_work[:2]
    d = engine.work.round_work[2:4]
    h = engine.work.upper
    count, vertex = _find_directions(engine, i, x, y, d)
    if count == 0:
        return
    g00 = 0.0
    g01 = 0.0
    g11 = 0.0
    for k in range(3):
        g00 += d[0, k] * d[0, k]
        if count == 2:
            g01 += d[0, k] * d[1, k]
            g11 += d[1, k] * d[1, k]
    hessian = engine.hessian
    links = hessian.link_sums.shape[0]
    own = engine.shapes.vertex_link[vertex]
    determinant = g00 * g11 - g01 * g01
    if count == 1 or determinant < _PARALLEL * g00 * g11:
        if own < links:
            fill_square(stiffness / g00, normal, h)
            add_outer(hessian.link_sums[own], y[0], y[0], h)
        return
    other = engine.shapes.vertex_link[engine.candidates.vertex[i, 3]]
    if own < links:
        fill_square(stiffness * g11 / determinant, normal, h)
        add_outer(hessian.link_sums[own], y[0], y[0], h)
    if other < links:
        fill_square(stiffness * g00 / determinant, normal, h)
        add_outer(hessian.link_sums[other], y[1], y[1], h)
    if own >= links or other >= links:
        return
    fill_square(-stiffness * g01 / determinant, normal, h)
    if own == other:
        add_outer(hessian.link_sums[own], y[0], y[1], h)
        add_outer(hessian.link_sums[own], y[1], y[0], h)
        return
    block = engine.pairs.block[engine.candidates.pair[i]]
    one = 0 if own < other else 1
    add_outer(hessian.slot_sums[hessian.block_slot[block]], y[one], y[1 - one], h)
