"""Points w of the geodesic interior-point method: start, curvatures, motion, result.

See `studies.experiments.reference.geodesic_kernel`.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import EQUALITY
from asperity.convex.potentials.contact_driver import evaluate_contacts
from studies.experiments.reference.geodesic_table import HALF, limits_of_row

__all__ = ["fill_frames", "fill_row_curvatures", "fill_solution", "move_points", "start_points"]

# A limit's R is β²/(4π²) of its inverse mass, with β = 0.1, or little less.
_ROW_MASS = 2.5e-4


@compiled
def _near_path(y: float, m: float, c2: float) -> float:
    """Of a complementary pair y = λ − c² s, the λ/√m that the central path has instead."""
    root = np.sqrt(y * y + 4.0 * m * c2)
    value = 0.5 * (y + root) if y > 0.0 else 2.0 * m * c2 / (root - y)
    return value / np.sqrt(m)


@compiled
def start_points(
    problem: Table,
    work: Table,
    contact_range: tuple[int, int],
    row_range: tuple[int, int],
    warm: bool,
) -> None:
    """Fill w: of the guess, whose velocities are filled, or of nothing."""
    law = problem.law
    sigma = problem.options.slip_regularization
    point = work.point
    m = work.complementarity
    if warm:
        evaluate_contacts(problem, contact_range[0], contact_range[1])
    for i in range(contact_range[0], contact_range[1]):
        mu = law.friction[i]
        c2 = sigma * law.tangential_gain[i]  # an estimate of the contact's mass
        point[i, 0] = 0.0
        point[i, 1] = 0.0
        point[i, 2] = c2 if mu > 0.0 else np.sqrt(c2)
        if not warm:
            continue
        slack = (
            problem.iterate.vn[i]
            - law.normal_target[i]
            + problem.iterate.gn[i] / law.normal_gain[i]
        )
        if mu <= 0.0:
            point[i, 2] = _near_path(problem.iterate.gn[i] - c2 * slack, m, c2)
            continue
        y0 = mu * problem.iterate.gn[i] - c2 * slack / mu
        y1 = problem.iterate.g1[i] - c2 * (
            problem.iterate.v1[i] + problem.iterate.g1[i] / law.tangential_gain[i]
        )
        y2 = problem.iterate.g2[i] - c2 * (
            problem.iterate.v2[i] + problem.iterate.g2[i] / law.tangential_gain[i]
        )
        norm = np.sqrt(y1 * y1 + y2 * y2)
        a = _near_path(y0 + norm, m, c2)
        b = _near_path(y0 - norm, m, c2)
        scale = 0.5 * (a - b) / norm if norm > 0.0 else 0.0
        point[i, 0] = scale * y1
        point[i, 1] = scale * y2
        point[i, 2] = a * b
    for i in range(row_range[0], row_range[1]):
        if law.row_kind[i] == EQUALITY:
            continue
        c2 = _ROW_MASS * law.row_gain[i]
        lower, upper, _ = limits_of_row(law, i)
        for side in range(2):
            work.row_point[i, side] = np.sqrt(c2)
            if warm:
                gap = (
                    lower - problem.iterate.row_u[i]
                    if side == 0
                    else upper + problem.iterate.row_u[i]
                )
                work.row_point[i, side] = _near_path(
                    (law.row_gain[i] if gap > 0.0 else c2) * gap, m, c2
                )


@compiled
def _curvature(
    large: float, small: float, mu: float, kn: float, kt: float
) -> tuple[float, float, float]:
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
def fill_frames(problem: Table, work: Table, contact_range: tuple[int, int]) -> None:
    """Eigenvalues and axes of Q, and the curvatures S of the contacts."""
    law = problem.law
    point = work.point
    frame = work.frame
    for i in range(contact_range[0], contact_range[1]):
        mu = law.friction[i]
        if mu <= 0.0:
            w = point[i, 2]
            problem.iterate.h11[i] = 0.0
            problem.iterate.h12[i] = 0.0
            problem.iterate.h22[i] = 0.0
            problem.iterate.h1n[i] = 0.0
            problem.iterate.h2n[i] = 0.0
            problem.iterate.hnn[i] = w * w / (1.0 + w * w / law.normal_gain[i])
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
        a, b, c = _curvature(large, small, mu, law.normal_gain[i], law.tangential_gain[i])
        along = 0.5 * (a + b) - c
        across = point[i, 2] / (1.0 + point[i, 2] / law.tangential_gain[i])
        problem.iterate.hnn[i] = (0.5 * (a + b) + c) / (mu * mu)
        problem.iterate.h1n[i] = 0.5 * (a - b) * x / mu
        problem.iterate.h2n[i] = 0.5 * (a - b) * y / mu
        problem.iterate.h11[i] = along * x * x + across * y * y
        problem.iterate.h12[i] = (along - across) * x * y
        problem.iterate.h22[i] = along * y * y + across * x * x


@compiled
def fill_row_curvatures(problem: Table, work: Table, row_range: tuple[int, int]) -> None:
    law = problem.law
    for i in range(row_range[0], row_range[1]):
        if law.row_kind[i] == EQUALITY:
            problem.iterate.row_curvature[i] = law.row_gain[i]
            continue
        w = work.row_point[i, 0]
        problem.iterate.row_curvature[i] = w * w / (1.0 + w * w / law.row_gain[i])
        if limits_of_row(law, i)[2]:
            w = work.row_point[i, 1]
            problem.iterate.row_curvature[i] += w * w / (1.0 + w * w / law.row_gain[i])


@compiled
def move_points(
    law: Table,
    work: Table,
    contact_range: tuple[int, int],
    row_range: tuple[int, int],
    kappa: float,
    alpha: float,
) -> None:
    """w ← Q exp(α d)."""
    point = work.point
    frame = work.frame
    for i in range(contact_range[0], contact_range[1]):
        a = alpha * (work.offset[i, 0] + kappa * work.slope[i, 0])
        if law.friction[i] <= 0.0:
            point[i, 2] *= np.exp(a)
            continue
        b = alpha * (work.offset[i, 1] + kappa * work.slope[i, 1])
        c = alpha * (work.offset[i, 2] + kappa * work.slope[i, 2])
        middle = HALF * (a + b)
        radial = HALF * (a - b)
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
    for i in range(row_range[0], row_range[1]):
        if law.row_kind[i] != EQUALITY:
            for side in range(2):
                work.row_point[i, side] *= np.exp(
                    alpha * (work.row_offset[i, side] + kappa * work.row_slope[i, side])
                )


@compiled
def fill_solution(
    problem: Table,
    work: Table,
    contact_range: tuple[int, int],
    row_range: tuple[int, int],
    kappa: float,
) -> None:
    """λ = Q(e + d)/κ, as impulses."""
    law = problem.law
    frame = work.frame
    impulse = work.impulse
    for i in range(contact_range[0], contact_range[1]):
        a = work.offset[i, 0] + kappa * work.slope[i, 0]
        if law.friction[i] <= 0.0:
            impulse[i, 0] = 0.0
            impulse[i, 1] = 0.0
            impulse[i, 2] = work.point[i, 2] * (1.0 + a) / kappa
            continue
        a = HALF * frame[i, 0] * (HALF + a) / kappa
        b = HALF * frame[i, 1] * (HALF + work.offset[i, 1] + kappa * work.slope[i, 1]) / kappa
        c = frame[i, 2] * (work.offset[i, 2] + kappa * work.slope[i, 2]) / kappa
        impulse[i, 0] = (a - b) * frame[i, 3] - c * frame[i, 4]
        impulse[i, 1] = (a - b) * frame[i, 4] + c * frame[i, 3]
        impulse[i, 2] = (a + b) / law.friction[i]
    # An equality's impulse needs the row's velocity: the caller fills it into ``row_u``.
    for i in range(row_range[0], row_range[1]):
        if law.row_kind[i] == EQUALITY:
            work.row_impulse[i, 0] = law.row_gain[i] * (
                law.row_target[i] - problem.iterate.row_u[i]
            )
            continue
        for side in range(2):
            d = work.row_offset[i, side] + kappa * work.row_slope[i, side]
            work.row_impulse[i, side] = work.row_point[i, side] * (1.0 + d) / kappa
