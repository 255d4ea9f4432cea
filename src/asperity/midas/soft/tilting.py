"""What contacts resist of tilting faces and edges: the second derivative of their distance.

The distance L of two primitives is the least of |t(β)| over the parameters β of their closest
points, with t = Σ c_i(β) x_i. Where the primitives move, the closest points move too. With the
derivatives D_k of t in the parameters that are free, made orthogonal, and their rates

    a_k = D_k·δt,   w_k = n·δD_k,

the second derivative of L is |δt_⟂|²/L − Σ (a_k + L w_k)²/(L |D_k|²), by the envelope theorem. A
barrier pushes, so that its Hessian has it with a negative factor −p: what lies on a ball resists
turning about the ball's centre by p L, which is much where L has a large radius in it.

Far from the solution only positive terms are wanted. In the plane of a_k and w_k the form
p (2 a w + L w²)/|D|² is then left. In units of the length |D| of the primitive its positive part is

    p (a + λ w)²/(|D|² √(L² + 4 |D|²)),   2 λ = L + √(L² + 4 |D|²).

Contacts of interpolated flexes have none of this.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.geometry.stencil import VERTEX_FACE, VERTEX_PLANE
from asperity.midas.soft.sites import add_vertex_block, is_exact

__all__ = ["add_tilting", "tilts", "turning_slope"]

# Share of an edge or face from its border on which a closest point is free to move.
_INSIDE = 1e-9


@compiled
def tilts(soft: Table, i: int) -> bool:
    """Whether a candidate has faces or edges on both sides, none of an interpolated flex."""
    if soft.kind[i] == VERTEX_PLANE:
        return False
    for corner in range(4):
        v = soft.vertex[i, corner]
        if soft.node_first[v] != soft.node_first[v + 1]:
            return False
    return True


@compiled
def turning_slope(engine: Table, soft: Table, i: int, push: float) -> float:
    """−p/L of a candidate, which its Hessian has across the normal, or 0 where that is left out."""
    if push > 0.0 and is_exact(engine.newton) and tilts(soft, i):
        return -push / (math.sqrt(soft.square[i]) + soft.radius[i])
    return 0.0


@compiled
def _is_inside(share: float) -> bool:
    return _INSIDE < share < 1.0 - _INSIDE


@compiled
def _free_parameters(kind: int, c: np.ndarray, e: np.ndarray) -> int:
    """Fill ∂c/∂β of the parameters that are free, shape (2, 4); returns how many there are."""
    for k in range(2):
        for i in range(4):
            e[k, i] = 0.0
    if kind != VERTEX_FACE:
        count = 0
        if _is_inside(c[1]):
            e[0, 0] = -1.0
            e[0, 1] = 1.0
            count = 1
        if _is_inside(-c[3]):
            e[count, 2] = 1.0
            e[count, 3] = -1.0
            count += 1
        return count
    first = -1
    second = -1
    corners = 0
    for i in range(1, 4):
        if -c[i] > _INSIDE:
            corners += 1
            if first < 0:
                first = i
            elif second < 0:
                second = i
    if corners < 2:
        return 0
    e[0, first] = 1.0
    e[0, second] = -1.0
    if corners == 2:
        return 1
    e[1, 1] = 1.0
    e[1, 3] = -1.0
    return 2


@compiled
def _add_square(engine: Table, soft: Table, i: int, scale: float, h: np.ndarray) -> None:
    """Add scale times (Σ h_i·δx_i)² / 2 over a candidate's vertices."""
    block = soft.tilt_block
    for one in range(4):
        for other in range(one + 1):
            some = False
            for j in range(3):
                for k in range(3):
                    block[j, k] = scale * h[one, j] * h[other, k]
                    some = some or block[j, k] != 0.0
            if some:
                add_vertex_block(engine, soft, soft.vertex[i, one], soft.vertex[i, other], block)


@compiled
def add_tilting(engine: Table, soft: Table, i: int, push: float) -> None:
    """Add what the closest points' moves give, but for `turning_slope`.

    Parameters
    ----------
    engine, soft : Table
    i : int
        A candidate that `tilts`, measured at the iterate.
    push : float
        The barrier's force, p.
    """
    c = soft.coefficient[i]
    e = soft.tilt_rate
    count = _free_parameters(soft.kind[i], c, e)
    distance = math.sqrt(soft.square[i])
    length = distance + soft.radius[i]
    x = soft.now
    d = soft.tilt_direction
    h = soft.tilt
    for k in range(count):
        for j in range(3):
            d[k, j] = 0.0
            for corner in range(4):
                d[k, j] += e[k, corner] * x[soft.vertex[i, corner], j]
        if k == 1:
            along = 0.0
            square = 0.0
            for j in range(3):
                along += d[0, j] * d[1, j]
                square += d[0, j] * d[0, j]
            for j in range(3):
                d[1, j] -= along / square * d[0, j]
            for corner in range(4):
                e[1, corner] -= along / square * e[0, corner]
        square = d[k, 0] * d[k, 0] + d[k, 1] * d[k, 1] + d[k, 2] * d[k, 2]
        if not square > 0.0:
            return
        exact = is_exact(engine.newton)
        root = length if exact else math.sqrt(length * length + 4.0 * square)
        arm = 0.5 * (length + root)
        for corner in range(4):
            for j in range(3):
                n = soft.arm[i, j] / distance
                h[corner, j] = c[corner] * d[k, j] + arm * e[k, corner] * n
        _add_square(engine, soft, i, push / (square * root), h)
