"""Kernel of the geodesic interior-point method, on the block algebra of Newton's method.

Permenter, "A geodesic interior-point method for linear optimization over symmetric cones"
(arXiv 2008.08047), for the primal problem of SAP (equation 19). Contacts are scaled to Lorentz
cones, with the normal first: λ = (μ γ_n, γ_t), s = (g_n/μ, g_t), and R and v̂ accordingly. Points of
the central path of parameter m are λ = √m Q e^d, s = √m Q⁻¹ e^(−d) with Q = Q(w^½), the quadratic
representation. Linearised about d = 0, with κ = 1/√m, u = κ v and T = (I + Q R Q)⁻¹, S = Q T Q:

    (A + Jᵀ S J) u = κ A v* + Jᵀ (2 Q T e + κ S v̂),   d = 2 T e − e − T Q (J u − κ v̂)

Both are affine in κ, so one factorization with two right-hand sides gives them for every κ. An
iteration takes the largest κ, up to that of the wished m, for which ‖d‖_∞ ≤ 1 (spectral norm, over
all cones), and moves along the geodesic, w ← Q exp(α d) with α = min(1, 2/‖d‖²_∞). It ends with the
wished κ: then λ = Q(e + d)/κ and s = Q⁻¹(e − d)/κ are in their cones, and the momentum balance is
met by u.

Everything is done in the eigenvectors of Q: (1, t)/√2, (1, −t)/√2 and (0, t⊥), where t is the
direction of w's tangential part; the eigenvalues are λ_1, λ_2 and √(λ_1 λ_2), those of w. Next to
the cone's boundary λ_2 is lost in the round-off of w itself. So w is kept as its tangential part
and its determinant λ_1 λ_2, which grows by exactly e^(2 α d_0) in an iteration.

Contacts without friction and limits are half lines, for which all of this is scalar.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Layout, compiled, entry_point
from asperity.compiled.calls import call_pp_status, call_ppp_status
from asperity.contact.constraint_set import EQUALITY
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.kinematics import (
    add_impulses,
    add_surface_velocities,
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.newton import CONVERGED, NON_FINITE, NOT_CONVERGED
from asperity.convex.potentials.sap import evaluate_sap
from asperity.convex.problem import PROBLEM, SLIP_REGULARIZATION

__all__ = ["GEODESIC", "NO_UPPER_LIMIT", "geodesic_kernel"]

NO_UPPER_LIMIT = 1e15
"""Velocity [m/s or rad/s] beyond which a row's upper limit stands for none."""

_LARGEST = 1.7976931348623157e308
_HALF = np.sqrt(0.5)

# A warm start is given up when its first ‖d‖_∞ is above the first number for every κ, or when it
# allows less than this part of the wished κ: then it is no nearer to the end than a cold one is.
_WARM_DISTANCE = 1.05
_WARM_SHARE = 0.1

# A limit's R is β²/(4π²) of its inverse mass, with β = 0.1, or little less.
_ROW_MASS = 2.5e-4

GEODESIC = Layout(
    "geodesic interior-point method",
    # per contact, sorted by island
    point="f8[:,:]",  # w: tangential part, determinant (w itself where there is no friction)
    frame="f8[:,:]",  # λ_1, λ_2, λ_3, t
    offset="f8[:,:]",  # d at κ = 0, in the frame of w
    slope="f8[:,:]",  # dd/dκ
    # per row: lower and upper limit
    row_point="f8[:,:]",
    row_offset="f8[:,:]",
    row_slope="f8[:,:]",
    # u = first + κ second, as long as the problem's vectors
    first="f8[:]",
    second="f8[:]",
    # out
    velocity="f8[:]",
    impulse="f8[:,:]",
    row_impulse="f8[:,:]",  # of the lower and of the upper limit; of an equality, the first
    # largest m [J], iterations allowed, 1 for a warm start
    complementarity="f8",
    max_iterations="i8",
    warm="i8",
    # out: iterations of all islands, of the one that took most
    iterations="i8[:]",
)

_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_g = GEODESIC.get


@compiled
def _near_path(y, m, c2):
    """Of a complementary pair y = λ − c² s, the λ/√m that the central path has instead."""
    root = np.sqrt(y * y + 4.0 * m * c2)
    value = 0.5 * (y + root) if y > 0.0 else 2.0 * m * c2 / (root - y)
    return value / np.sqrt(m)


@compiled
def _limits_of_row(problem, i):
    """(v̂ of the lower limit in terms of u, v̂ of the upper one in terms of −u, has an upper one)."""
    target = _problem(problem, "row_target")[i]
    upper = _problem(problem, "row_upper")[i]
    shift = _problem(problem, "row_lower")[i] / _problem(problem, "row_gain")[i]
    return target - shift, shift - upper, upper < NO_UPPER_LIMIT


@compiled
def _start(problem, work, contact_range, row_range, warm):
    """Fill w: of the guess, whose velocities are filled, or of nothing."""
    friction = _problem(problem, "friction")
    target = _problem(problem, "target")
    kn = _problem(problem, "normal_gain")
    kt = _problem(problem, "tangential_gain")
    sigma = _problem(problem, "tolerance")[SLIP_REGULARIZATION]
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    point = _g(work, "point")
    m = _g(work, "complementarity")
    if warm:
        evaluate_sap(problem, contact_range[0], contact_range[1])
    for i in range(contact_range[0], contact_range[1]):
        mu = friction[i]
        c2 = sigma * kt[i]  # an estimate of the contact's mass
        point[i, 0] = 0.0
        point[i, 1] = 0.0
        point[i, 2] = c2 if mu > 0.0 else np.sqrt(c2)
        if not warm:
            continue
        slack = vn[i] - target[i] + gn[i] / kn[i]
        if mu <= 0.0:
            point[i, 2] = _near_path(gn[i] - c2 * slack, m, c2)
            continue
        y0 = mu * gn[i] - c2 * slack / mu
        y1 = g1[i] - c2 * (v1[i] + g1[i] / kt[i])
        y2 = g2[i] - c2 * (v2[i] + g2[i] / kt[i])
        norm = np.sqrt(y1 * y1 + y2 * y2)
        a = _near_path(y0 + norm, m, c2)
        b = _near_path(y0 - norm, m, c2)
        scale = 0.5 * (a - b) / norm if norm > 0.0 else 0.0
        point[i, 0] = scale * y1
        point[i, 1] = scale * y2
        point[i, 2] = a * b
    gain = _problem(problem, "row_gain")
    u = _problem(problem, "row_u")
    kind = _problem(problem, "row_kind")
    row_point = _g(work, "row_point")
    for i in range(row_range[0], row_range[1]):
        if kind[i] == EQUALITY:
            continue
        c2 = _ROW_MASS * gain[i]
        lower, upper, _ = _limits_of_row(problem, i)
        for side in range(2):
            row_point[i, side] = np.sqrt(c2)
            if warm:
                gap = lower - u[i] if side == 0 else upper + u[i]
                row_point[i, side] = _near_path((gain[i] if gap > 0.0 else c2) * gap, m, c2)


@compiled
def _fill_frames(problem, work, contact_range):
    """Eigenvalues and axes of Q, and the curvatures S of the contacts."""
    friction = _problem(problem, "friction")
    kn = _problem(problem, "normal_gain")
    kt = _problem(problem, "tangential_gain")
    h11 = _problem(problem, "h11")
    h12 = _problem(problem, "h12")
    h22 = _problem(problem, "h22")
    h1n = _problem(problem, "h1n")
    h2n = _problem(problem, "h2n")
    hnn = _problem(problem, "hnn")
    point = _g(work, "point")
    frame = _g(work, "frame")
    for i in range(contact_range[0], contact_range[1]):
        mu = friction[i]
        if mu <= 0.0:
            w = point[i, 2]
            h11[i] = 0.0
            h12[i] = 0.0
            h22[i] = 0.0
            h1n[i] = 0.0
            h2n[i] = 0.0
            hnn[i] = w * w / (1.0 + w * w / kn[i])
            continue
        x = point[i, 0]
        y = point[i, 1]
        norm = np.sqrt(x * x + y * y)
        if norm > 0.0:
            x /= norm
            y /= norm
        else:
            x = 1.0
            y = 0.0
        large = norm + np.sqrt(norm * norm + point[i, 2])
        small = point[i, 2] / large
        frame[i, 0] = large
        frame[i, 1] = small
        frame[i, 2] = np.sqrt(point[i, 2])
        frame[i, 3] = x
        frame[i, 4] = y
        a, b, c = _curvature(large, small, mu, kn[i], kt[i])
        along = 0.5 * (a + b) - c
        across = point[i, 2] / (1.0 + point[i, 2] / kt[i])
        hnn[i] = (0.5 * (a + b) + c) / (mu * mu)
        h1n[i] = 0.5 * (a - b) * x / mu
        h2n[i] = 0.5 * (a - b) * y / mu
        h11[i] = along * x * x + across * y * y
        h12[i] = (along - across) * x * y
        h22[i] = along * y * y + across * x * x


@compiled
def _curvature(large, small, mu, kn, kt):
    """S in the plane of the two idempotents: 11, 22, 12."""
    normal = 1.0 / (mu * mu * kn)
    tangential = 1.0 / kt
    p = 0.5 * (normal + tangential)
    q = 0.5 * (normal - tangential)
    a = large * large
    b = small * small
    d = 1.0 / (1.0 + p * (a + b) + normal * tangential * a * b)
    return a * (1.0 + p * b) * d, b * (1.0 + p * a) * d, -q * a * b * d


@compiled
def _resolvent(large, small, mu, kn, kt):
    """T in the plane of the two idempotents: 11, 22, 12."""
    normal = 1.0 / (mu * mu * kn)
    tangential = 1.0 / kt
    p = 0.5 * (normal + tangential)
    q = 0.5 * (normal - tangential)
    a = large * large
    b = small * small
    d = 1.0 / (1.0 + p * (a + b) + normal * tangential * a * b)
    return (1.0 + p * b) * d, (1.0 + p * a) * d, -q * large * small * d


@compiled
def _fill_row_curvatures(problem, work, row_range):
    gain = _problem(problem, "row_gain")
    kind = _problem(problem, "row_kind")
    curvature = _problem(problem, "row_curvature")
    row_point = _g(work, "row_point")
    for i in range(row_range[0], row_range[1]):
        if kind[i] == EQUALITY:
            curvature[i] = gain[i]
            continue
        w = row_point[i, 0]
        curvature[i] = w * w / (1.0 + w * w / gain[i])
        if _limits_of_row(problem, i)[2]:
            w = row_point[i, 1]
            curvature[i] += w * w / (1.0 + w * w / gain[i])


@compiled
def _fill_first_impulses(problem, work, contact_range, row_range):
    """2 Q T e, the part of the right-hand side without κ."""
    friction = _problem(problem, "friction")
    kn = _problem(problem, "normal_gain")
    kt = _problem(problem, "tangential_gain")
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    point = _g(work, "point")
    frame = _g(work, "frame")
    for i in range(contact_range[0], contact_range[1]):
        mu = friction[i]
        g1[i] = 0.0
        g2[i] = 0.0
        if mu <= 0.0:
            w = point[i, 2]
            gn[i] = 2.0 * w / (1.0 + w * w / kn[i])
            continue
        a, b, c = _resolvent(frame[i, 0], frame[i, 1], mu, kn[i], kt[i])
        a = frame[i, 0] * (a + c)
        b = frame[i, 1] * (b + c)
        gn[i] = (a + b) / mu
        g1[i] = (a - b) * frame[i, 3]
        g2[i] = (a - b) * frame[i, 4]
    gain = _problem(problem, "row_gain")
    kind = _problem(problem, "row_kind")
    impulse = _problem(problem, "row_impulse")
    row_point = _g(work, "row_point")
    for i in range(row_range[0], row_range[1]):
        impulse[i] = 0.0
        if kind[i] == EQUALITY:
            continue
        w = row_point[i, 0]
        impulse[i] = 2.0 * w / (1.0 + w * w / gain[i])
        if _limits_of_row(problem, i)[2]:
            w = row_point[i, 1]
            impulse[i] -= 2.0 * w / (1.0 + w * w / gain[i])


@compiled
def _fill_second_impulses(problem, contacts, work, contact_range, row_range):
    """S v̂, the part of the right-hand side with κ."""
    order = _problem(problem, "contact")
    target = _problem(problem, "target")
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    h11 = _problem(problem, "h11")
    h12 = _problem(problem, "h12")
    h22 = _problem(problem, "h22")
    h1n = _problem(problem, "h1n")
    h2n = _problem(problem, "h2n")
    hnn = _problem(problem, "hnn")
    surface = _contacts(contacts, "surface_velocity")
    for i in range(contact_range[0], contact_range[1]):
        x = -surface[order[i], 0]
        y = -surface[order[i], 1]
        n = target[i]
        g1[i] = h11[i] * x + h12[i] * y + h1n[i] * n
        g2[i] = h12[i] * x + h22[i] * y + h2n[i] * n
        gn[i] = h1n[i] * x + h2n[i] * y + hnn[i] * n
    gain = _problem(problem, "row_gain")
    kind = _problem(problem, "row_kind")
    between = _problem(problem, "row_lower")
    row_target = _problem(problem, "row_target")
    impulse = _problem(problem, "row_impulse")
    row_point = _g(work, "row_point")
    for i in range(row_range[0], row_range[1]):
        if kind[i] == EQUALITY:
            impulse[i] = gain[i] * row_target[i]
            continue
        lower, upper, has_upper = _limits_of_row(problem, i)
        w = row_point[i, 0]
        impulse[i] = between[i] + w * w / (1.0 + w * w / gain[i]) * lower
        if has_upper:
            w = row_point[i, 1]
            impulse[i] -= w * w / (1.0 + w * w / gain[i]) * upper


@compiled
def _solve(problem, contacts, rows, contact_range, row_range, share, out):
    """out = (A + Jᵀ S J)⁻¹ (share r + Jᵀ γ) with the impulses at hand; fills velocities."""
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    rhs = _problem(problem, "rhs")
    direction = _problem(problem, "direction")
    for index in range(island[0], island[1]):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            direction[i] = share * rhs[i]
    add_impulses(problem, contacts, rows, contact_range, row_range, direction, 1.0)
    call_pp_status(_problem(problem, "solve_factors"), problem, 0)
    if contact_range[1] > contact_range[0]:
        link_velocities(problem, contacts, direction)
    contact_velocities(
        problem,
        contacts,
        contact_range[0],
        contact_range[1],
        direction,
        _problem(problem, "v1"),
        _problem(problem, "v2"),
        _problem(problem, "vn"),
    )
    row_velocities(problem, rows, row_range[0], row_range[1], direction, _problem(problem, "row_u"))
    total = 0.0
    for index in range(island[0], island[1]):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            out[i] = direction[i]
            total += abs(direction[i])
    return total


@compiled
def _fill_distance(problem, contacts, work, contact_range, row_range, second, out, row_out):
    """A part of d from the velocities at hand: that at κ = 0, or (second) the change with κ."""
    order = _problem(problem, "contact")
    friction = _problem(problem, "friction")
    target = _problem(problem, "target")
    kn = _problem(problem, "normal_gain")
    kt = _problem(problem, "tangential_gain")
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    surface = _contacts(contacts, "surface_velocity")
    point = _g(work, "point")
    frame = _g(work, "frame")
    for i in range(contact_range[0], contact_range[1]):
        mu = friction[i]
        x = v1[i]
        y = v2[i]
        n = vn[i]
        if second:
            x += surface[order[i], 0]
            y += surface[order[i], 1]
            n -= target[i]
        if mu <= 0.0:
            w = point[i, 2]
            t = 1.0 / (1.0 + w * w / kn[i])
            out[i, 0] = -t * w * n + (0.0 if second else 2.0 * t - 1.0)
            out[i, 1] = 0.0
            out[i, 2] = 0.0
            continue
        large = frame[i, 0]
        small = frame[i, 1]
        a, b, c = _resolvent(large, small, mu, kn[i], kt[i])
        radial = frame[i, 3] * x + frame[i, 4] * y
        across = frame[i, 3] * y - frame[i, 4] * x
        e1 = large * _HALF * (n / mu + radial)
        e2 = small * _HALF * (n / mu - radial)
        out[i, 0] = -a * e1 - c * e2
        out[i, 1] = -c * e1 - b * e2
        out[i, 2] = -frame[i, 2] * across / (1.0 + point[i, 2] / kt[i])
        if not second:
            out[i, 0] += _HALF * (2.0 * (a + c) - 1.0)
            out[i, 1] += _HALF * (2.0 * (b + c) - 1.0)
    gain = _problem(problem, "row_gain")
    kind = _problem(problem, "row_kind")
    u = _problem(problem, "row_u")
    row_point = _g(work, "row_point")
    for i in range(row_range[0], row_range[1]):
        row_out[i, 0] = 0.0
        row_out[i, 1] = 0.0
        if kind[i] == EQUALITY:
            continue
        lower, upper, has_upper = _limits_of_row(problem, i)
        for side in range(2):
            if side == 1 and not has_upper:
                continue
            x = u[i] if side == 0 else -u[i]
            if second:
                x -= lower if side == 0 else upper
            w = row_point[i, side]
            t = 1.0 / (1.0 + w * w / gain[i])
            row_out[i, side] = -t * w * x + (0.0 if second else 2.0 * t - 1.0)


@compiled
def _distance(problem, work, contact_range, row_range, kappa):
    """‖d‖_∞ at κ, and its derivative."""
    friction = _problem(problem, "friction")
    offset = _g(work, "offset")
    slope = _g(work, "slope")
    largest = 0.0
    derivative = 0.0
    for i in range(contact_range[0], contact_range[1]):
        a = offset[i, 0] + kappa * slope[i, 0]
        if friction[i] <= 0.0:
            if not abs(a) <= largest:
                largest = abs(a)
                derivative = slope[i, 0] if a > 0.0 else -slope[i, 0]
            continue
        b = offset[i, 1] + kappa * slope[i, 1]
        c = offset[i, 2] + kappa * slope[i, 2]
        radial = _HALF * (a - b)
        norm = np.sqrt(radial * radial + c * c)
        value = _HALF * abs(a + b) + norm
        # NaN must not be passed over.
        if not value <= largest:
            largest = value
            derivative = _HALF * (slope[i, 0] + slope[i, 1])
            if a + b < 0.0:
                derivative = -derivative
            if norm > 0.0:
                change = _HALF * (slope[i, 0] - slope[i, 1])
                derivative += (radial * change + c * slope[i, 2]) / norm
    row_offset = _g(work, "row_offset")
    row_slope = _g(work, "row_slope")
    for i in range(row_range[0], row_range[1]):
        for side in range(2):
            a = row_offset[i, side] + kappa * row_slope[i, side]
            if not abs(a) <= largest:
                largest = abs(a)
                derivative = row_slope[i, side] if a > 0.0 else -row_slope[i, side]
    return largest, derivative


@compiled
def _nearest(work, contact_range, row_range):
    """The κ of least ‖d‖_2."""
    offset = _g(work, "offset")
    slope = _g(work, "slope")
    row_offset = _g(work, "row_offset")
    row_slope = _g(work, "row_slope")
    product = 0.0
    square = 0.0
    for i in range(contact_range[0], contact_range[1]):
        for a in range(3):
            product += offset[i, a] * slope[i, a]
            square += slope[i, a] * slope[i, a]
    for i in range(row_range[0], row_range[1]):
        for a in range(2):
            product += row_offset[i, a] * row_slope[i, a]
            square += row_slope[i, a] * row_slope[i, a]
    return -product / square if square > 0.0 else 0.0


@compiled
def _choose(problem, work, contact_range, row_range, wished):
    """The largest κ up to the wished one with ‖d‖_∞ ≤ 1, or else the best one; and its ‖d‖_∞.

    ‖d‖_∞ is convex in κ, so Newton's method from the right comes down to the largest root.
    """
    kappa = wished
    for _ in range(60):
        norm, derivative = _distance(problem, work, contact_range, row_range, kappa)
        if norm <= 1.0 + 1e-9:
            return kappa, norm
        if not derivative > 0.0:
            break
        kappa -= (norm - 1.0) / derivative
        if kappa <= 0.0:
            break
    kappa = min(max(_nearest(work, contact_range, row_range), 0.0), wished)
    return kappa, _distance(problem, work, contact_range, row_range, kappa)[0]


@compiled
def _move(problem, work, contact_range, row_range, kappa, alpha):
    """w ← Q exp(α d)."""
    friction = _problem(problem, "friction")
    kind = _problem(problem, "row_kind")
    point = _g(work, "point")
    frame = _g(work, "frame")
    offset = _g(work, "offset")
    slope = _g(work, "slope")
    for i in range(contact_range[0], contact_range[1]):
        a = alpha * (offset[i, 0] + kappa * slope[i, 0])
        if friction[i] <= 0.0:
            point[i, 2] *= np.exp(a)
            continue
        b = alpha * (offset[i, 1] + kappa * slope[i, 1])
        c = alpha * (offset[i, 2] + kappa * slope[i, 2])
        middle = _HALF * (a + b)
        radial = _HALF * (a - b)
        norm = np.sqrt(radial * radial + c * c)
        even = np.exp(middle) * np.cosh(norm)
        odd = np.exp(middle) * (np.sinh(norm) / norm if norm > 1e-9 else 1.0)
        tangential = 0.5 * (
            frame[i, 0] * (even + odd * radial) - frame[i, 1] * (even - odd * radial)
        )
        across = frame[i, 2] * odd * c
        point[i, 0] = tangential * frame[i, 3] - across * frame[i, 4]
        point[i, 1] = tangential * frame[i, 4] + across * frame[i, 3]
        point[i, 2] *= np.exp(2.0 * middle)
    row_point = _g(work, "row_point")
    row_offset = _g(work, "row_offset")
    row_slope = _g(work, "row_slope")
    for i in range(row_range[0], row_range[1]):
        if kind[i] != EQUALITY:
            for side in range(2):
                row_point[i, side] *= np.exp(
                    alpha * (row_offset[i, side] + kappa * row_slope[i, side])
                )


@compiled
def _finish(problem, work, contact_range, row_range, kappa):
    """λ = Q(e + d)/κ, as impulses."""
    friction = _problem(problem, "friction")
    point = _g(work, "point")
    frame = _g(work, "frame")
    offset = _g(work, "offset")
    slope = _g(work, "slope")
    impulse = _g(work, "impulse")
    for i in range(contact_range[0], contact_range[1]):
        a = offset[i, 0] + kappa * slope[i, 0]
        if friction[i] <= 0.0:
            impulse[i, 0] = 0.0
            impulse[i, 1] = 0.0
            impulse[i, 2] = point[i, 2] * (1.0 + a) / kappa
            continue
        a = _HALF * frame[i, 0] * (_HALF + a) / kappa
        b = _HALF * frame[i, 1] * (_HALF + offset[i, 1] + kappa * slope[i, 1]) / kappa
        c = frame[i, 2] * (offset[i, 2] + kappa * slope[i, 2]) / kappa
        impulse[i, 0] = (a - b) * frame[i, 3] - c * frame[i, 4]
        impulse[i, 1] = (a - b) * frame[i, 4] + c * frame[i, 3]
        impulse[i, 2] = (a + b) / friction[i]
    gain = _problem(problem, "row_gain")
    kind = _problem(problem, "row_kind")
    target = _problem(problem, "row_target")
    row_point = _g(work, "row_point")
    row_offset = _g(work, "row_offset")
    row_slope = _g(work, "row_slope")
    row_impulse = _g(work, "row_impulse")
    # An equality's impulse needs the row's velocity: the caller fills it into ``row_u``.
    u = _problem(problem, "row_u")
    for i in range(row_range[0], row_range[1]):
        if kind[i] == EQUALITY:
            row_impulse[i, 0] = gain[i] * (target[i] - u[i])
            continue
        for side in range(2):
            d = row_offset[i, side] + kappa * row_slope[i, side]
            row_impulse[i, side] = row_point[i, side] * (1.0 + d) / kappa


@compiled
def _write_velocity(problem, rows, work, row_range, kappa):
    """v = u/κ; also fills the velocities of rows."""
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    first = _g(work, "first")
    second = _g(work, "second")
    velocity = _g(work, "velocity")
    for index in range(island[0], island[1]):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            velocity[i] = first[i] / kappa + second[i]
    row_velocities(problem, rows, row_range[0], row_range[1], velocity, _problem(problem, "row_u"))


@compiled
def _count_cones(problem, contact_range, row_range):
    kind = _problem(problem, "row_kind")
    count = contact_range[1] - contact_range[0]
    for i in range(row_range[0], row_range[1]):
        if kind[i] != EQUALITY:
            count += 1
    return count


@compiled
def _solve_island(problem, contacts, rows, work, contact_range, row_range, warm):
    """Solve the island at hand, whose contact and row velocities are those of the guess."""
    wished = 1.0 / np.sqrt(_g(work, "complementarity"))
    first = _g(work, "first")
    second = _g(work, "second")
    most = _g(work, "max_iterations")
    cones = _count_cones(problem, contact_range, row_range)
    _start(problem, work, contact_range, row_range, warm)
    for iteration in range(1, most + 1):
        _fill_frames(problem, work, contact_range)
        _fill_row_curvatures(problem, work, row_range)
        call_ppp_status(_problem(problem, "assemble"), problem, contacts, rows)
        if call_pp_status(_problem(problem, "factorize"), problem, 0) == 0:
            return NON_FINITE, iteration
        _fill_first_impulses(problem, work, contact_range, row_range)
        size = _solve(problem, contacts, rows, contact_range, row_range, 0.0, first)
        _fill_distance(
            problem,
            contacts,
            work,
            contact_range,
            row_range,
            False,
            _g(work, "offset"),
            _g(work, "row_offset"),
        )
        _fill_second_impulses(problem, contacts, work, contact_range, row_range)
        size += _solve(problem, contacts, rows, contact_range, row_range, 1.0, second)
        _fill_distance(
            problem,
            contacts,
            work,
            contact_range,
            row_range,
            True,
            _g(work, "slope"),
            _g(work, "row_slope"),
        )
        if not size <= _LARGEST:
            return NON_FINITE, iteration
        if cones == 0:
            _write_velocity(problem, rows, work, row_range, 1.0)
            _finish(problem, work, contact_range, row_range, 1.0)
            return CONVERGED, iteration
        kappa, norm = _choose(problem, work, contact_range, row_range, wished)
        if not norm <= _LARGEST:
            return NON_FINITE, iteration
        if (kappa == wished and norm <= 1.0) or iteration == most:
            kappa = kappa if kappa > 0.0 else wished
            _write_velocity(problem, rows, work, row_range, kappa)
            _finish(problem, work, contact_range, row_range, kappa)
            return (CONVERGED if kappa == wished and norm <= 1.0 else NOT_CONVERGED), iteration
        far = norm > _WARM_DISTANCE or kappa < _WARM_SHARE * wished
        if warm and iteration == 1 and far:
            _start(problem, work, contact_range, row_range, False)
            continue
        _move(problem, work, contact_range, row_range, kappa, min(1.0, 2.0 / (norm * norm)))
    return NOT_CONVERGED, most


@entry_point(types.int64(types.int64, types.int64, types.int64, types.int64))
def geodesic_kernel(problem, contacts, rows, work):
    """Solve every island; the guess in the problem's ``velocity`` stays.

    Uses the problem's factors, curvatures, impulses and velocities of contacts and rows. Returns
    a code of `asperity.convex.newton`.
    """
    counts = _problem(problem, "counts")
    island_start = _problem(problem, "island_start")
    contact_start = _problem(problem, "island_contact_start")
    row_start = _problem(problem, "island_row_start")
    velocity = _problem(problem, "velocity")
    factor_island = _problem(problem, "factor_island")
    island = _problem(problem, "island")
    iterations = _g(work, "iterations")
    warm = _g(work, "warm") == 1
    iterations[0] = 0
    iterations[1] = 0
    for tree in range(factor_island.size):
        factor_island[tree] = 0
    worst = CONVERGED
    for k in range(counts[0]):
        island[0] = island_start[k]
        island[1] = island_start[k + 1]
        island[2] = contact_start[k]
        island[3] = contact_start[k + 1]
        island[4] = row_start[k]
        island[5] = row_start[k + 1]
        contact_range = (island[2], island[3])
        row_range = (island[4], island[5])
        if island[3] > island[2]:
            link_velocities(problem, contacts, velocity)
        contact_velocities(
            problem,
            contacts,
            island[2],
            island[3],
            velocity,
            _problem(problem, "v1"),
            _problem(problem, "v2"),
            _problem(problem, "vn"),
        )
        add_surface_velocities(problem, contacts, island[2], island[3])
        row_velocities(problem, rows, island[4], island[5], velocity, _problem(problem, "row_u"))
        code, used = _solve_island(problem, contacts, rows, work, contact_range, row_range, warm)
        if island[2] < island[3] or island[4] < island[5]:
            iterations[0] += used
            iterations[1] = max(iterations[1], used)
        worst = max(worst, code)
    return worst
