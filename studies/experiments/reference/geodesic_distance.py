"""Right-hand sides of the geodesic interior-point method, its distance d, and the choice of κ.

See `studies.experiments.reference.geodesic_kernel`.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.contact.constraint_set import EQUALITY
from studies.experiments.reference.geodesic_table import HALF, limits_of_row

__all__ = ["choose_kappa", "fill_distance", "fill_first_impulses", "fill_second_impulses"]


@compiled
def _resolvent(
    large: float, small: float, mu: float, kn: float, kt: float
) -> tuple[float, float, float]:
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
def fill_first_impulses(
    problem: Table, work: Table, contact_range: tuple[int, int], row_range: tuple[int, int]
) -> None:
    """2 Q T e, the part of the right-hand side without κ."""
    law = problem.law
    frame = work.frame
    for i in range(contact_range[0], contact_range[1]):
        mu = law.friction[i]
        problem.iterate.g1[i] = 0.0
        problem.iterate.g2[i] = 0.0
        if mu <= 0.0:
            w = work.point[i, 2]
            problem.iterate.gn[i] = 2.0 * w / (1.0 + w * w / law.normal_gain[i])
            continue
        a, b, c = _resolvent(
            frame[i, 0], frame[i, 1], mu, law.normal_gain[i], law.tangential_gain[i]
        )
        a = frame[i, 0] * (a + c)
        b = frame[i, 1] * (b + c)
        problem.iterate.gn[i] = (a + b) / mu
        problem.iterate.g1[i] = (a - b) * frame[i, 3]
        problem.iterate.g2[i] = (a - b) * frame[i, 4]
    for i in range(row_range[0], row_range[1]):
        problem.iterate.row_impulse[i] = 0.0
        if law.row_kind[i] == EQUALITY:
            continue
        w = work.row_point[i, 0]
        problem.iterate.row_impulse[i] = 2.0 * w / (1.0 + w * w / law.row_gain[i])
        if limits_of_row(law, i)[2]:
            w = work.row_point[i, 1]
            problem.iterate.row_impulse[i] -= 2.0 * w / (1.0 + w * w / law.row_gain[i])


@inlined
def _unforced(graph: Table, law: Table, contacts: Table, i: int) -> tuple[float, float, float]:
    """v̂: the velocities J v at which a contact exerts no force."""
    c = graph.contact[i]
    turning, surface = contacts.turning_velocity, contacts.surface_velocity
    return (
        -surface[c, 0] - turning[c, 0],
        -surface[c, 1] - turning[c, 1],
        law.normal_target[i] - turning[c, 2],
    )


@compiled
def fill_second_impulses(
    problem: Table,
    contacts: Table,
    work: Table,
    contact_range: tuple[int, int],
    row_range: tuple[int, int],
) -> None:
    """S v̂, the part of the right-hand side with κ."""
    graph = problem.graph
    law = problem.law
    for i in range(contact_range[0], contact_range[1]):
        x, y, n = _unforced(graph, law, contacts, i)
        problem.iterate.g1[i] = (
            problem.iterate.h11[i] * x + problem.iterate.h12[i] * y + problem.iterate.h1n[i] * n
        )
        problem.iterate.g2[i] = (
            problem.iterate.h12[i] * x + problem.iterate.h22[i] * y + problem.iterate.h2n[i] * n
        )
        problem.iterate.gn[i] = (
            problem.iterate.h1n[i] * x + problem.iterate.h2n[i] * y + problem.iterate.hnn[i] * n
        )
    for i in range(row_range[0], row_range[1]):
        if law.row_kind[i] == EQUALITY:
            problem.iterate.row_impulse[i] = law.row_gain[i] * law.row_target[i]
            continue
        lower, upper, has_upper = limits_of_row(law, i)
        w = work.row_point[i, 0]
        problem.iterate.row_impulse[i] = (
            law.row_lower[i] + w * w / (1.0 + w * w / law.row_gain[i]) * lower
        )
        if has_upper:
            w = work.row_point[i, 1]
            problem.iterate.row_impulse[i] -= w * w / (1.0 + w * w / law.row_gain[i]) * upper


@compiled
def fill_distance(
    problem: Table,
    contacts: Table,
    work: Table,
    contact_range: tuple[int, int],
    row_range: tuple[int, int],
    second: bool,
    out: np.ndarray,
    row_out: np.ndarray,
) -> None:
    """A part of d from the velocities at hand: that at κ = 0, or (second) the change with κ."""
    graph = problem.graph
    law = problem.law
    frame = work.frame
    for i in range(contact_range[0], contact_range[1]):
        mu = law.friction[i]
        x = problem.iterate.v1[i]
        y = problem.iterate.v2[i]
        n = problem.iterate.vn[i]
        if second:
            x0, y0, n0 = _unforced(graph, law, contacts, i)
            x, y, n = x - x0, y - y0, n - n0
        if mu <= 0.0:
            w = work.point[i, 2]
            t = 1.0 / (1.0 + w * w / law.normal_gain[i])
            out[i, 0] = -t * w * n + (0.0 if second else 2.0 * t - 1.0)
            out[i, 1] = 0.0
            out[i, 2] = 0.0
            continue
        large = frame[i, 0]
        small = frame[i, 1]
        a, b, c = _resolvent(large, small, mu, law.normal_gain[i], law.tangential_gain[i])
        radial = frame[i, 3] * x + frame[i, 4] * y
        across = frame[i, 3] * y - frame[i, 4] * x
        e1 = large * HALF * (n / mu + radial)
        e2 = small * HALF * (n / mu - radial)
        out[i, 0] = -a * e1 - c * e2
        out[i, 1] = -c * e1 - b * e2
        out[i, 2] = -frame[i, 2] * across / (1.0 + work.point[i, 2] / law.tangential_gain[i])
        if not second:
            out[i, 0] += HALF * (2.0 * (a + c) - 1.0)
            out[i, 1] += HALF * (2.0 * (b + c) - 1.0)
    for i in range(row_range[0], row_range[1]):
        row_out[i, 0] = 0.0
        row_out[i, 1] = 0.0
        if law.row_kind[i] == EQUALITY:
            continue
        lower, upper, has_upper = limits_of_row(law, i)
        for side in range(2):
            if side == 1 and not has_upper:
                continue
            x = problem.iterate.row_u[i] if side == 0 else -problem.iterate.row_u[i]
            if second:
                x -= lower if side == 0 else upper
            w = work.row_point[i, side]
            t = 1.0 / (1.0 + w * w / law.row_gain[i])
            row_out[i, side] = -t * w * x + (0.0 if second else 2.0 * t - 1.0)


@compiled
def _distance(
    law: Table,
    work: Table,
    contact_range: tuple[int, int],
    row_range: tuple[int, int],
    kappa: float,
) -> tuple[float, float]:
    """‖d‖_∞ at κ, and its derivative."""
    slope = work.slope
    largest = 0.0
    derivative = 0.0
    for i in range(contact_range[0], contact_range[1]):
        a = work.offset[i, 0] + kappa * slope[i, 0]
        if law.friction[i] <= 0.0:
            if not abs(a) <= largest:
                largest = abs(a)
                derivative = slope[i, 0] if a > 0.0 else -slope[i, 0]
            continue
        b = work.offset[i, 1] + kappa * slope[i, 1]
        c = work.offset[i, 2] + kappa * slope[i, 2]
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
    for i in range(row_range[0], row_range[1]):
        for side in range(2):
            a = work.row_offset[i, side] + kappa * work.row_slope[i, side]
            if not abs(a) <= largest:
                largest = abs(a)
                derivative = work.row_slope[i, side] if a > 0.0 else -work.row_slope[i, side]
    return largest, derivative


@compiled
def _nearest(work: Table, contact_range: tuple[int, int], row_range: tuple[int, int]) -> float:
    """The κ of least ‖d‖_2."""
    product = 0.0
    square = 0.0
    for i in range(contact_range[0], contact_range[1]):
        for a in range(3):
            product += work.offset[i, a] * work.slope[i, a]
            square += work.slope[i, a] * work.slope[i, a]
    for i in range(row_range[0], row_range[1]):
        for a in range(2):
            product += work.row_offset[i, a] * work.row_slope[i, a]
            square += work.row_slope[i, a] * work.row_slope[i, a]
    return -product / square if square > 0.0 else 0.0


@compiled
def choose_kappa(
    law: Table,
    work: Table,
    contact_range: tuple[int, int],
    row_range: tuple[int, int],
    wished: float,
) -> tuple[float, float]:
    """The largest κ up to the wished one with ‖d‖_∞ ≤ 1, or else the best one; and its ‖d‖_∞.

    ‖d‖_∞ is convex in κ, so Newton's method from the right comes down to the largest root.
    """
    kappa = wished
    for _ in range(60):
        norm, derivative = _distance(law, work, contact_range, row_range, kappa)
        if norm <= 1.0 + 1e-9:
            return kappa, norm
        if not derivative > 0.0:
            break
        kappa -= (norm - 1.0) / derivative
        if kappa <= 0.0:
            break
    kappa = min(max(_nearest(work, contact_range, row_range), 0.0), wished)
    return kappa, _distance(law, work, contact_range, row_range, kappa)[0]
