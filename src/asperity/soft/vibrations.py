"""Velocities without the vibrations of what is taut that a step does not resolve.

What a tension adds across an edge or a triangle is of second order if it acts on ẋ_1 − ẋ_0, and
then swings and spins keep their energy. Vibrations that a step does not resolve must be damped, for
which it has to act on ẋ_1 alone. So it acts on ẋ_1 − w, with

    w = 2 y − z,    (M + δt² K/c) y = M ẋ_0,    (M + δt² K/c) z = M y

and the stiffness K of the tensions. In a mode of frequency ω this is ẋ_0 (1 + 2 x)/(1 + x)² with
x = (ω δt)²/c, which is ẋ_0 but for fourth-order terms in slow modes, and 0 in fast ones. Steps of
implicit Euler, and extrapolated ones whose halves have the whole step's δt here, are stable at
every frequency for c up to 3. Conjugate gradients find y and z.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["SLOW", "add_tension_rates", "find_steady_velocity"]

SLOW = 1.5
"""c."""

_MOST_ITERATIONS = 200


@compiled
def _add_stiffness(
    elastic: Table, taut: np.ndarray, scale: float, x: np.ndarray, out: np.ndarray
) -> None:
    """Add K x, times a number; x is zero where particles are fixed."""
    for strand in range(elastic.strands):
        t = taut[strand]
        if t[3] > 0.0:
            a = elastic.strand_particle[strand, 0]
            b = elastic.strand_particle[strand, 1]
            along = 0.0
            for i in range(3):
                along += t[i] * (x[b, i] - x[a, i])
            for i in range(3):
                across = scale * t[3] * (x[b, i] - x[a, i] - along * t[i])
                out[a, i] -= across
                out[b, i] += across
    for triangle in range(elastic.triangles):
        t = taut[elastic.strands + triangle]
        if t[3] > 0.0:
            first = elastic.element_first[elastic.triangle_element[triangle]]
            u = 0.0
            v = 0.0
            for k in range(first, first + 3):
                p = elastic.place_particle[k]
                speed = t[0] * x[p, 0] + t[1] * x[p, 1] + t[2] * x[p, 2]
                u += elastic.place_gradient[k, 0] * speed
                v += elastic.place_gradient[k, 1] * speed
            for k in range(first, first + 3):
                p = elastic.place_particle[k]
                gradient = elastic.place_gradient[k]
                across = scale * t[3] * (gradient[0] * u + gradient[1] * v)
                for i in range(3):
                    out[p, i] += across * t[i]


@compiled
def add_tension_rates(
    elastic: Table, state: Table, velocity: np.ndarray, factor: float, out: np.ndarray
) -> None:
    """Add a factor times K ẋ, of the tensions in ``state.soft.taut``.

    Parameters
    ----------
    elastic, state : Table
    velocity : array, shape (nv,)
    factor : float
    out : array, shape (nv,)
    """
    x, rates = state.soft.conjugate[0], state.soft.conjugate[1]
    x[:] = 0.0
    rates[:] = 0.0
    for p in range(elastic.particles):
        dof = elastic.particle_dof[p]
        if dof >= 0:
            for i in range(3):
                x[p, i] = velocity[dof + i]
    _add_stiffness(elastic, state.soft.taut, factor, x, rates)
    for p in range(elastic.particles):
        dof = elastic.particle_dof[p]
        if dof >= 0:
            for i in range(3):
                out[dof + i] += rates[p, i]


@compiled
def _find_diagonal(elastic: Table, state: Table, scale: float, out: np.ndarray) -> None:
    """Fill what particles have of M + scale K with themselves, at most."""
    for p in range(elastic.particles):
        dof = elastic.particle_dof[p]
        out[p, 0] = state.mass_diagonal[dof] if dof >= 0 else np.inf
    for strand in range(elastic.strands):
        for place in range(2):
            out[elastic.strand_particle[strand, place], 0] += scale * state.soft.taut[strand, 3]
    for triangle in range(elastic.triangles):
        tension = state.soft.taut[elastic.strands + triangle, 3]
        first = elastic.element_first[elastic.triangle_element[triangle]]
        for k in range(first, first + 3):
            g = elastic.place_gradient[k]
            out[elastic.place_particle[k], 0] += scale * tension * (g[0] * g[0] + g[1] * g[1])


@compiled
def _find_change(elastic: Table, state: Table, scale: float, limit: float) -> None:
    """Fill ``conjugate[0]`` with x of (M + scale K) x = −scale K ``steady``.

    Needs the diagonal in ``conjugate[4]``. The square of the residual, in the norm of its inverse,
    falls below the limit.
    """
    soft = state.soft
    x, r, d, product = soft.conjugate[0], soft.conjugate[1], soft.conjugate[2], soft.conjugate[3]
    soft.conjugate[:3] = 0.0
    _add_stiffness(elastic, soft.taut, -scale, soft.steady, r)
    before = np.inf
    for _ in range(_MOST_ITERATIONS):
        square = 0.0
        for p in range(elastic.particles):
            for i in range(3):
                square += r[p, i] * r[p, i] / soft.conjugate[4, p, 0]
        if not square > limit:
            return
        product[:] = 0.0
        for p in range(elastic.particles):
            dof = elastic.particle_dof[p]
            if dof >= 0:
                for i in range(3):
                    d[p, i] = r[p, i] / soft.conjugate[4, p, 0] + square / before * d[p, i]
                    product[p, i] = state.mass_diagonal[dof] * d[p, i]
        _add_stiffness(elastic, soft.taut, scale, d, product)
        curvature = 0.0
        for p in range(elastic.particles):
            for i in range(3):
                curvature += d[p, i] * product[p, i]
        share = square / curvature
        before = square
        for p in range(elastic.particles):
            if elastic.particle_dof[p] >= 0:
                for i in range(3):
                    x[p, i] += share * d[p, i]
                    r[p, i] -= share * product[p, i]


@compiled
def find_steady_velocity(elastic: Table, state: Table, step: float, tolerance: float) -> None:
    """Fill ``state.soft.steady`` with w, of the tensions in ``state.soft.taut``.

    Parameters
    ----------
    elastic, state : Table
    step : float
        The whole step, if this is one of its halves [s].
    tolerance : float
        Of changes, in the norm of M, over ẋ_0.
    """
    soft = state.soft
    if len(soft.taut) == 0:
        return
    soft.steady[:] = 0.0
    limit = 0.0
    for p in range(elastic.particles):
        dof = elastic.particle_dof[p]
        if dof >= 0:
            for i in range(3):
                soft.steady[p, i] = state.qvel[dof + i]
                limit += state.mass_diagonal[dof] * soft.steady[p, i] ** 2
    limit *= tolerance * tolerance
    _find_diagonal(elastic, state, step * step / SLOW, soft.conjugate[4])
    for sign in (1.0, -1.0):
        _find_change(elastic, state, step * step / SLOW, limit)
        for p in range(elastic.particles):
            for i in range(3):
                soft.steady[p, i] += sign * soft.conjugate[0, p, i]
