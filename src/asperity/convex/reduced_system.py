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
from asperity.compiled.vector_rows import combine_8, eliminate_8
from asperity.convex.problem_layout import MOST_COORDINATES, REDUCED_WIDTH
from asperity.convex.row_kernels import copy_row

__all__ = ["solve_reduced"]

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
def _add_alone(scratch: Table, count: int, coordinate: int, curvature: float) -> None:
    """Add a coordinate whose curvature is coupled with no other's."""
    scratch.active[count] = coordinate
    scratch.compliance[0, count] = 1.0 / curvature
    for k in range(1, 5):
        scratch.compliance[k, count] = 0.0


@inlined
def _tangential_compliance(
    iterate: Table, law: Table, i: int, sticks: bool
) -> tuple[float, float, float, float, float]:
    """G_t⁻¹ of a contact, (a, c; c, b), and what makes up for the law's impulse, G_t⁻¹ c_t."""
    if not sticks:
        a = iterate.h11[i]
        b = iterate.h22[i]
        ratio = iterate.h12[i] / a
        inverse = 1.0 / max(b - ratio * iterate.h12[i], _LEAST_CURVATURE * b)
        return 1.0 / a + ratio * ratio * inverse, inverse, -ratio * inverse, 0.0, 0.0
    limit = law.friction_limit[i]
    x = law.dual1[i]
    y = law.dual2[i]
    slip = np.sqrt(law.soft_slip_square[i] / (1.0 - x * x - y * y))
    across = slip / limit
    along = across / (1.0 - x * x - y * y)
    a = across + along * x * x
    b = across + along * y * y
    c = along * x * y
    p = limit * x + iterate.g1[i]
    q = limit * y + iterate.g2[i]
    first = slip * x - iterate.v1[i] - a * p - c * q
    second = slip * y - iterate.v2[i] - c * p - b * q
    return a, b, c, first, second


@compiled
def _find_active(problem: Table, follows: bool, sticks: bool) -> int:
    """List the coordinates with curvature, with G⁻¹ for the present ones; returns their number.

    ``compliance`` has the diagonal of G⁻¹, its entries on both sides of it with the next
    coordinate, those above it alone, where bounds of friction follow, with the next one and the one
    behind, and what is added to the right-hand side. ``sticking`` marks contacts.
    """
    iterate, at_hand, scratch = problem.iterate, problem.at_hand, problem.scratch
    law = problem.law
    active = scratch.active
    diagonal, beside, above, behind, known = scratch.compliance
    count = 0
    at = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        d = iterate.hnn[i]
        scratch.sticking[at // 3] = 0
        if iterate.h11[i] > _NONE and iterate.h22[i] > _NONE:
            x = law.dual1[i]
            y = law.dual2[i]
            # Where friction is to stop a slip it has no direction yet.
            stuck = sticks and 0.0 < x * x + y * y < _STUCK * _STUCK
            a, b, c, p, q = _tangential_compliance(iterate, law, i, stuck)
            scratch.sticking[at // 3] = 1 if stuck else 0
            first, second = 0.0, 0.0
            if follows:
                first, second = a * x + c * y, c * x + b * y
                difference = law.friction_limit[i] - law.friction[i] * iterate.gn[i]
                p += difference * first
                q += difference * second
            share = law.friction[i] if d > _NONE else 0.0
            active[count], active[count + 1] = at, at + 1
            diagonal[count], diagonal[count + 1] = a, b
            beside[count], beside[count + 1] = c, 0.0
            above[count], above[count + 1] = 0.0, share * second
            behind[count], behind[count + 1] = share * first, 0.0
            known[count], known[count + 1] = p, q
            count += 2
        if d > _NONE:
            _add_alone(scratch, count, at + 2, d)
            count += 1
        at += 3
    if at == scratch.coordinates:
        return count
    for i in range(at_hand.first_row, at_hand.last_row):
        change = iterate.row_curvature[i] - problem.hessian.row_base[i]
        if change != 0.0:
            _add_alone(scratch, count, problem.hessian.row_coordinate[i], change)
            count += 1
    return count


@compiled
def _reduce(scratch: Table, count: int, y: np.ndarray) -> int:
    """Fill −K, with −y as a further column; returns its size, which is even.

    An odd one is completed with a row that concerns no other.
    """
    active = scratch.active
    diagonal, beside, above, behind, known = scratch.compliance
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
        k[a, size] = -y[row] - known[a]
    for a in range(count):
        k[a, a] -= diagonal[a]
        if beside[a] != 0.0:
            k[a, a + 1] -= beside[a]
            k[a + 1, a] -= beside[a]
        if above[a] != 0.0:
            k[a, a + 1] -= above[a]
        if behind[a] != 0.0:
            k[a, a + 2] -= behind[a]
    if size > count:
        for a in range(count):
            k[a, count] = 0.0
            k[count, a] = 0.0
        k[count, count] = -1.0
        k[count, size] = 0.0
        diagonal[count] = 1.0
    return size


@compiled
def _eliminate(scratch: Table, size: int) -> bool:
    """Leave the solution in the column behind K; False if a pivot of K has not the sign of G."""
    data = scratch.reduced.ctypes.data
    compliance = scratch.compliance[0]
    last = 8 * size // _PIECE * _PIECE
    for i in range(0, size, 2):
        first = data + i * _STRIDE
        second = first + _STRIDE
        a = load_double(first + 8 * i)
        b = load_double(first + 8 * i + 8)
        c = load_double(second + 8 * i + 8)
        d = load_double(second + 8 * i)
        determinant = a * c - b * d
        if not (a * compliance[i] < 0.0 and determinant * a * compliance[i + 1] < 0.0):
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
    count = _find_active(problem, follows, sticks)
    size = _reduce(scratch, count, y)
    if not _eliminate(scratch, size):
        return False
    for k in range(scratch.coordinates):
        out[k] = 0.0
    for a in range(count):
        out[active[a]] = scratch.reduced[a, size]
    return True
