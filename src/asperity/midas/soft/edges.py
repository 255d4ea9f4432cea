"""Edges of ropes, cloth and volumes, and bends of rods.

An edge has the stretch s = |d| − ℓ, a bend the curvature s = κ (`asperity.soft.strands`). With the
stiffness k, a damper c and the step h their energy is

    ½ k |s|² + ½ c/h |s − s_0|²,

s_0 being that of the step's beginning. The Hessian leaves out second derivatives of κ, and far from
the solution those of an edge that is pressed.

An edge that an equality holds is a stiff spring: k is more by what the weight of all that moves
would stretch by a ten thousandth of it (`asperity.midas.soft.soft_tables`). Springs of convex
potentials give no energy to a chain of light edges with heavy ends, whatever the step. Multipliers
that a step takes over from the one before do, and closing their gaps takes many rounds.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.soft.couples import add_couple
from asperity.midas.soft.sites import add_gradient, is_exact, is_fixed
from asperity.soft.strands import bend, direction

__all__ = ["add_strand_terms", "begin_strands", "strand_energy"]


@compiled
def _measure(soft: Table, x: np.ndarray, strand: int) -> float:
    """Fill a strand's s and ∂s/∂x; returns 1/|d| of an edge, 0 of a bend."""
    vertex = soft.strand_particle[strand]
    now = soft.strand_now
    rates = soft.strand_rates
    if vertex[2] >= 0:
        now[0], now[1], now[2] = bend(x, soft.strand_particle[strand], rates)
        return 0.0
    nx, ny, nz, inverse = direction(x, vertex[0], vertex[1])
    now[0] = (1.0 / inverse if inverse > 0.0 else 0.0) - soft.strand_length[strand]
    now[1] = 0.0
    now[2] = 0.0
    for column, n in enumerate((nx, ny, nz)):
        rates[0, column] = -n
        rates[0, 3 + column] = n
    return inverse


@compiled
def begin_strands(soft: Table) -> None:
    """Keep what strands are at the step's beginning."""
    for strand in range(soft.strand_length.size):
        _measure(soft, soft.start, strand)
        for row in range(3):
            soft.strand_start[strand, row] = soft.strand_now[row]


@compiled
def strand_energy(soft: Table, x: np.ndarray, h: float) -> float:
    """Energy of strands, with what damping takes [J]."""
    total = 0.0
    for strand in range(soft.strand_length.size):
        _measure(soft, x, strand)
        stiffness = soft.strand_stiffness[strand] + soft.strand_held[strand]
        rate = soft.strand_damping[strand] / h
        for row in range(3):
            s = soft.strand_now[row]
            change = s - soft.strand_start[strand, row]
            total += 0.5 * (stiffness * s * s + rate * change * change)
    return total


@compiled
def add_strand_terms(engine: Table, soft: Table, whole: bool) -> None:
    """Add gradients, and with ``whole`` the Hessian to the blocks of couples."""
    h = engine.time.step
    now = soft.strand_now
    rates = soft.strand_rates
    block = soft.small[0]
    exact = is_exact(engine.newton)
    for strand in range(soft.strand_length.size):
        inverse = _measure(soft, soft.now, strand)
        vertex = soft.strand_particle[strand]
        stiffness = soft.strand_stiffness[strand] + soft.strand_held[strand]
        rate = soft.strand_damping[strand] / h
        places = 3 if vertex[2] >= 0 else 2
        rows = 3 if vertex[2] >= 0 else 1
        for row in range(3):
            change = now[row] - soft.strand_start[strand, row]
            now[row] = stiffness * now[row] + rate * change
        along = stiffness + rate
        pull = now[0] if exact else max(now[0], 0.0)
        across = pull * inverse
        for a in range(places):
            if is_fixed(engine, soft, vertex[a]):
                continue
            for k in range(3):
                soft.slope_work[a, k] = 0.0
                for row in range(rows):
                    soft.slope_work[a, k] += h * h * now[row] * rates[row, 3 * a + k]
            add_gradient(engine, soft, vertex[a], soft.slope_work[a])
            if not whole:
                continue
            for b in range(a + 1):
                # Ends of an edge move across it.
                sign = across if a == b else -across
                for k in range(3):
                    for n in range(3):
                        value = sign if k == n else 0.0
                        for row in range(rows):
                            product = rates[row, 3 * a + k] * rates[row, 3 * b + n]
                            value += (along - across) * product
                        block[k, n] = value
                at = soft.strand_couple[strand, a * (a + 1) // 2 + b]
                add_couple(soft.couple_block, at, vertex[a], vertex[b], block, 0, 0)
