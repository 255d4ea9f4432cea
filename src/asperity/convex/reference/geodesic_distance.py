"""Right-hand sides of the geodesic interior-point method, its distance d, and the choice of κ.

See `asperity.convex.reference.geodesic_kernel`.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.contact.constraint_set import EQUALITY
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.problem import PROBLEM
from asperity.convex.reference.geodesic_table import GEODESIC, HALF, limits_of_row

__all__ = ["choose_kappa", "fill_distance", "fill_first_impulses", "fill_second_impulses"]

_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_g = GEODESIC.get


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
def fill_first_impulses(problem, work, contact_range, row_range):
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
        if limits_of_row(problem, i)[2]:
            w = row_point[i, 1]
            impulse[i] -= 2.0 * w / (1.0 + w * w / gain[i])


@compiled
def fill_second_impulses(problem, contacts, work, contact_range, row_range):
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
        lower, upper, has_upper = limits_of_row(problem, i)
        w = row_point[i, 0]
        impulse[i] = between[i] + w * w / (1.0 + w * w / gain[i]) * lower
        if has_upper:
            w = row_point[i, 1]
            impulse[i] -= w * w / (1.0 + w * w / gain[i]) * upper


@compiled
def fill_distance(problem, contacts, work, contact_range, row_range, second, out, row_out):
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
        e1 = large * HALF * (n / mu + radial)
        e2 = small * HALF * (n / mu - radial)
        out[i, 0] = -a * e1 - c * e2
        out[i, 1] = -c * e1 - b * e2
        out[i, 2] = -frame[i, 2] * across / (1.0 + point[i, 2] / kt[i])
        if not second:
            out[i, 0] += HALF * (2.0 * (a + c) - 1.0)
            out[i, 1] += HALF * (2.0 * (b + c) - 1.0)
    gain = _problem(problem, "row_gain")
    kind = _problem(problem, "row_kind")
    u = _problem(problem, "row_u")
    row_point = _g(work, "row_point")
    for i in range(row_range[0], row_range[1]):
        row_out[i, 0] = 0.0
        row_out[i, 1] = 0.0
        if kind[i] == EQUALITY:
            continue
        lower, upper, has_upper = limits_of_row(problem, i)
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
        radial = HALF * (a - b)
        norm = np.sqrt(radial * radial + c * c)
        value = HALF * abs(a + b) + norm
        # NaN must not be passed over.
        if not value <= largest:
            largest = value
            derivative = HALF * (slope[i, 0] + slope[i, 1])
            if a + b < 0.0:
                derivative = -derivative
            if norm > 0.0:
                change = HALF * (slope[i, 0] - slope[i, 1])
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
def choose_kappa(problem, work, contact_range, row_range, wished):
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
