"""The linear system of contact space, K x = y with K = G⁻¹ + W.

W is the Delassus operator. G is the curvature, block diagonal: a contact's two tangential
directions, its normal one, and each constraint whose curvature has changed
(`asperity.convex.contact_space`). G is negative where a constraint has lost curvature. The leading
blocks of K belong to matrices between A and H, which are all positive definite. Elimination
therefore needs no pivoting, and its pivots have the signs of G.

Where the bound of friction follows the normal impulse, γ_t = −μ n w, curvature is not symmetric:

    G = (G_t, −μ G_n w; 0, G_n),   G⁻¹ = (G_t⁻¹, μ G_t⁻¹ w; 0, G_n⁻¹),

and −(μ n − l) w makes up for the difference to the bound l of the present n.

A contact that sticks is described by its friction w, in units of the bound. Its slip is tiny and
would be found last: v_t = v_s w/√(1 − w²) is nearly linear in w, but w is so in v_t only near by.

The system is small, and most of the time goes into waiting for one number after another. So two
pivots are eliminated at a time, with one reciprocal. They are eliminated above and below the
diagonal (Gauss and Jordan), so that no substitution follows.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.compiled.calls import load_double
from asperity.compiled.row_kernels import copy_row
from asperity.compiled.vector_rows import combine_8, eliminate_8
from asperity.convex.contact_rows import width
from asperity.convex.problem_layout import MOST_COORDINATES, REDUCED_WIDTH

__all__ = ["keep_friction", "solve_reduced"]

_STRIDE = 8 * REDUCED_WIDTH
_DELASSUS_STRIDE = 8 * MOST_COORDINATES
# Numbers of a vector, in bytes.
_PIECE = 64
# Curvature along fast slip, relative to that across it, below which it is taken for this: its
# inverse would leave W no digits. The direction is then one of a matrix that is larger by so much.
_LEAST_CURVATURE = 1e-9
# Friction, as a part of its bound, up to which a contact sticks.
_STUCK = 0.95
# No curvature at all: products of three inverses are finite.
_NONE = 1e-100


@inlined
def keep_friction(
    graph: Table, law: Table, i: int, at: int, slip: np.ndarray, w: np.ndarray
) -> None:
    """Let a law's estimates be a contact's friction, the part along the slip of an ellipsoidal one.

    Its rows in the vectors are those from ``at`` on.
    """
    if graph.ellipsoids == 0 or graph.ellipsoidal[i] == 0:
        law.dual1[i] = w[at]
        law.dual2[i] = w[at + 1]
        return
    along = 0.0
    square = 0.0
    for k in range(at, at + graph.ellipsoidal[i] - 1):
        along += w[k] * slip[k]
        square += slip[k] * slip[k]
    law.dual1[i] = min(max(along / np.sqrt(square), 0.0), 1.0) if square > 0.0 else 0.0
    law.dual2[i] = 0.0


@inlined
def _read_friction(
    problem: Table, i: int, at: int, kept: bool, slip: np.ndarray, w: np.ndarray
) -> None:
    """Fill a contact's friction w, unless it is ``kept`` and the law has not changed that."""
    graph, law = problem.graph, problem.law
    if graph.ellipsoids == 0 or graph.ellipsoidal[i] == 0:
        w[at] = law.dual1[i]
        w[at + 1] = law.dual2[i]
        return
    if kept and law.dual1[i] > 0.0:
        return
    square = 0.0
    for k in range(at, at + graph.ellipsoidal[i] - 1):
        square += slip[k] * slip[k]
    part = law.dual1[i] / np.sqrt(square) if square > 0.0 else 0.0
    for k in range(at, at + graph.ellipsoidal[i] - 1):
        w[k] = part * slip[k]


@compiled
def _find_active(problem: Table) -> int:
    """List the coordinates with curvature, and the signs of G there; returns their number."""
    iterate, at_hand, scratch = problem.iterate, problem.at_hand, problem.scratch
    active = scratch.active
    count = 0
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        normal = at + width(problem.graph, i) - 1
        first = at if problem.law.friction_limit[i] > _NONE else normal
        last = normal + 1 if iterate.hnn[i] > _NONE else normal
        for k in range(first, last):
            active[count] = k
            scratch.sign[count] = 1.0
            count += 1
        at = normal + 1
    if at == scratch.coordinates:
        return count
    for i in range(at_hand.first_row, at_hand.last_row):
        change = iterate.row_curvature[i] - problem.hessian.row_base[i]
        if change != 0.0:
            active[count] = problem.hessian.row_coordinate[i]
            scratch.sign[count] = change
            count += 1
    return count


@compiled
def _begin_reduced(scratch: Table, count: int, y: np.ndarray) -> int:
    """Fill −W, with −y as a further column; returns its size, which is even.

    An odd one is completed with a row that concerns no other.
    """
    active = scratch.active
    k = scratch.reduced
    w = scratch.delassus
    size = (count + 1) // 2 * 2
    same = 0
    while same < count and active[same] == same:
        same += 1
    for a in range(count):
        row = active[a]
        copy_row(k.ctypes.data + a * _STRIDE, w.ctypes.data + row * _DELASSUS_STRIDE, same)
        for b in range(same, count):
            k[a, b] = w[row, active[b]]
        k[a, size] = -y[row]
    if size > count:
        for a in range(count):
            k[a, count] = 0.0
            k[count, a] = 0.0
        k[count, count] = -1.0
        k[count, size] = 0.0
        scratch.sign[count] = 1.0
    return size


@inlined
def _subtract_friction(
    problem: Table, i: int, at: int, rows: int, a: int, size: int, follows: bool, sticks: bool
) -> bool:
    """Subtract a contact's G_t⁻¹ from rows ``a`` of −K, and what makes up for the law's impulse.

    With the slip u, its friction w, η = √(‖u‖² + ε²) and the bound l,

        G_t = (l/η) (1 − ½ (w uᵀ + u wᵀ)/η),
        G_t⁻¹ = (η/l) (1 + p w wᵀ + q (w uᵀ + u wᵀ) + r u uᵀ).

    Where it sticks, q = r = 0. Returns whether it does.
    """
    law, scratch = problem.law, problem.scratch
    u, w = scratch.coordinate[8:10]
    k = scratch.reduced
    ww = 0.0
    wu = 0.0
    uu = 0.0
    for j in range(at, at + rows):
        ww += w[j] * w[j]
        wu += w[j] * u[j]
        uu += u[j] * u[j]
    limit = law.friction_limit[i]
    eta = np.sqrt(uu + law.soft_slip_square[i])
    inverse = 1.0 / eta
    q = 0.0
    r = 0.0
    # What is added to the right-hand side is known_w w + known_u u.
    known_w = 0.0
    known_u = 0.0
    # Where friction is to stop a slip it has no direction yet.
    stuck = sticks and 0.0 < ww < _STUCK * _STUCK
    if stuck:
        p = 1.0 / (1.0 - ww)
        slip = np.sqrt(law.soft_slip_square[i] * p)
        across = slip / limit
        known_w = slip * p * (wu * inverse - ww)
        known_u = slip * inverse - 1.0
    else:
        across = eta / limit
        part = 2.0 - wu * inverse
        square = uu * inverse * inverse
        scale = 1.0 / max(part * part - ww * square, 4.0 * _LEAST_CURVATURE)
        p = scale * square
        q = scale * part * inverse
        r = scale * ww * inverse * inverse
    if follows:
        # G_t⁻¹ w = by_w w + by_u u
        difference = limit - law.friction[i] * problem.iterate.gn[i]
        by_w = across * (1.0 + p * ww + q * wu)
        by_u = across * (q * ww + r * wu)
        known_w += difference * by_w
        known_u += difference * by_u
        if problem.iterate.hnn[i] > _NONE:
            for j in range(rows):
                by_friction = by_w * w[at + j] + by_u * u[at + j]
                k[a + j, a + rows] -= law.friction[i] * by_friction
    for j in range(rows):
        x = across * (p * w[at + j] + q * u[at + j])
        y = across * (q * w[at + j] + r * u[at + j])
        for m in range(rows):
            k[a + j, a + m] -= x * w[at + m] + y * u[at + m]
        k[a + j, a + j] -= across
        k[a + j, size] -= known_w * w[at + j] + known_u * u[at + j]
    return stuck


@compiled
def _subtract_compliance(
    problem: Table, count: int, size: int, follows: bool, sticks: bool
) -> None:
    """Make −K of −W; marks contacts that are taken to stick."""
    iterate, at_hand, scratch = problem.iterate, problem.at_hand, problem.scratch
    u, w = scratch.coordinate[8:10]
    a = 0
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        rows = width(problem.graph, i) - 1
        mark = i - at_hand.first_contact
        kept = scratch.sticking[mark] == 1
        scratch.sticking[mark] = 0
        if problem.law.friction_limit[i] > _NONE:
            _read_friction(problem, i, at, kept, u, w)
            # A constant number of rows makes loops without branches.
            if rows == 2:
                stuck = _subtract_friction(problem, i, at, 2, a, size, follows, sticks)
            else:
                stuck = _subtract_friction(problem, i, at, rows, a, size, follows, sticks)
            if stuck:
                scratch.sticking[mark] = 1
            a += rows
        if iterate.hnn[i] > _NONE:
            scratch.reduced[a, a] -= 1.0 / iterate.hnn[i]
            a += 1
        at += rows + 1
    for row in range(a, count):
        scratch.reduced[row, row] -= 1.0 / scratch.sign[row]


@compiled
def _eliminate(scratch: Table, size: int) -> bool:
    """Leave the solution in the column behind K; False if a pivot of K has not the sign of G."""
    data = scratch.reduced.ctypes.data
    sign = scratch.sign
    last = 8 * size // _PIECE * _PIECE
    for i in range(0, size, 2):
        first = data + i * _STRIDE
        second = first + _STRIDE
        a = load_double(first + 8 * i)
        b = load_double(first + 8 * i + 8)
        c = load_double(second + 8 * i + 8)
        d = load_double(second + 8 * i)
        determinant = a * c - b * d
        if not (a * sign[i] < 0.0 and determinant * a * sign[i + 1] < 0.0):
            return False
        scale = 1.0 / determinant
        # From the end: the first piece may have the factors.
        at = last
        begin = 8 * (i + 2) // _PIECE * _PIECE
        below = second + _STRIDE
        while at >= begin:
            combine_8(first + at, second + at, c * scale, b * scale, a * scale, d * scale)
            eliminate_8(data + at, data + 8 * i, _STRIDE, i, first + at, second + at)
            eliminate_8(below + at, below + 8 * i, _STRIDE, size - 2 - i, first + at, second + at)
            at -= _PIECE
    return True


@compiled
def solve_reduced(
    problem: Table, y: np.ndarray, follows: bool, sticks: bool, out: np.ndarray
) -> bool:
    """``out = K⁻¹ y``, 0 without curvature; False if K has not the signs that it must have.

    ``follows`` says that bounds of friction follow normal impulses, and ``sticks`` that what sticks
    is described by its friction.
    """
    scratch = problem.scratch
    active = scratch.active
    count = _find_active(problem)
    size = _begin_reduced(scratch, count, y)
    _subtract_compliance(problem, count, size, follows, sticks)
    if not _eliminate(scratch, size):
        return False
    for k in range(scratch.coordinates):
        out[k] = 0.0
    for a in range(count):
        out[active[a]] = scratch.reduced[a, size]
    return True
