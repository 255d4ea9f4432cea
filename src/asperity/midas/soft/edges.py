"""Edges of ropes, cloth and volumes, and bends of rods.

An edge has the stretch s = |d| − ℓ, a bend the curvature s = κ (`asperity.soft.strands`). With the
stiffness k, a damper c and the step h their energy is

    ½ k |s|² + ½ c/h |s − s_0|²,

s_0 being what its rate counts from (`asperity.midas.soft.past`). The Hessian leaves out second
derivatives of κ, and far from the solution those of an edge that is pressed.

An edge that an equality holds has the energy λ φ + ½ ρ φ² besides, as constraints of links have
(`asperity.midas.energy.equality_terms`), φ being s less what the step leaves of a given stretch.
After every minimization λ takes over ρ φ, until φ is no more than a hundred millionth of ℓ. The
penalty ρ is a hundred times what moves all that moves by φ in a step, and grows where a round
leaves too much. Where something keeps edges from their lengths, as pins do, the last solution
stands, and the next step begins without multipliers.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_laws import EQUALITY_RECOVERY
from asperity.midas.soft.calls import CLOSED, STUCK, WAITING
from asperity.midas.soft.couples import add_couple
from asperity.midas.soft.sites import add_gradient, is_exact, is_fixed
from asperity.soft.strands import bend, direction

__all__ = [
    "add_strand_terms",
    "begin_strands",
    "close_edges",
    "count_stretches",
    "keep_edge_forces",
    "leave_edges_open",
    "strand_energy",
]

# Penalty in units of inertia/h².
_PENALTY = 1e2
# Share of strains that a round may leave; else penalties grow by the next number, up to the last.
_PROGRESS = 0.1
_GROWTH = 10.0
_LARGEST_GROWTH = 1e3
# Strain that is left of what an equality holds.
_STRAIN = 1e-8
# Strain from which an edge counts as open.
_OPEN = 1e-6
# Share of strains that a round with the largest penalties has left, from which others are in vain.
_STUCK = 0.5


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
def begin_strands(soft: Table, step: float, h: float) -> None:
    """Take up the last multipliers of edges, and decide what a step of h [s] leaves of stretches.

    ``step`` is that of forces [s].
    """
    growth = _LARGEST_GROWTH / _GROWTH if soft.left_open == 1 else 1.0
    soft.left_open = 0
    for strand in range(soft.strand_length.size):
        inertia = soft.strand_inertia[strand] if soft.strand_active[strand] == 1 else 0.0
        soft.strand_penalty[strand] = growth * _PENALTY * inertia / (step * step)
        soft.strand_force[strand] = soft.strand_force_start[strand]
        _measure(soft, soft.start, strand)
        stretch = soft.strand_now[0]
        soft.strand_rest[strand] = 0.0
        if abs(stretch) > _STRAIN * soft.strand_length[strand]:
            soft.strand_rest[strand] = stretch * EQUALITY_RECOVERY / (EQUALITY_RECOVERY + h)


@compiled
def count_stretches(soft: Table, x: np.ndarray, weight: float) -> None:
    """Add what strands with dampers are at positions to what their rates count from."""
    for strand in range(soft.strand_length.size):
        if soft.strand_damping[strand] > 0.0:
            _measure(soft, x, strand)
            for row in range(3):
                soft.strand_past[strand, row] += weight * soft.strand_now[row]


@compiled
def strand_energy(soft: Table, x: np.ndarray, h: float) -> float:
    """Energy of strands, with what damping takes [J]."""
    total = 0.0
    for strand in range(soft.strand_length.size):
        _measure(soft, x, strand)
        stiffness = soft.strand_stiffness[strand]
        rate = soft.strand_damping[strand] / h
        for row in range(3):
            s = soft.strand_now[row]
            change = s - soft.strand_past[strand, row]
            total += 0.5 * (stiffness * s * s + rate * change * change)
        gap = soft.strand_now[0] - soft.strand_rest[strand]
        total += gap * (soft.strand_force[strand] + 0.5 * soft.strand_penalty[strand] * gap)
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
        stiffness = soft.strand_stiffness[strand]
        rate = soft.strand_damping[strand] / h
        penalty = soft.strand_penalty[strand]
        force = soft.strand_force[strand] + penalty * (now[0] - soft.strand_rest[strand])
        places = 3 if vertex[2] >= 0 else 2
        rows = 3 if vertex[2] >= 0 else 1
        for row in range(3):
            change = now[row] - soft.strand_past[strand, row]
            now[row] = stiffness * now[row] + rate * change
        now[0] += force
        along = stiffness + penalty + rate
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


@compiled
def _gap(soft: Table, strand: int) -> float:
    """What an edge that an equality holds is longer than it is to be where vertices are now [m]."""
    if soft.strand_penalty[strand] == 0.0:
        return 0.0
    _measure(soft, soft.now, strand)
    return float(soft.strand_now[0] - soft.strand_rest[strand])


@compiled
def close_edges(soft: Table, h: float, before: float) -> tuple[int, float]:
    """Let multipliers take over what penalties hold; penalties grow if strains have not shrunk.

    Returns `CLOSED`, `WAITING` or `STUCK`, and the largest strain; ``before`` is that of the
    minimization before the last, or infinity.
    """
    largest = 0.0
    for strand in range(soft.strand_length.size):
        gap = _gap(soft, strand)
        soft.strand_force[strand] += soft.strand_penalty[strand] * gap
        largest = max(largest, abs(gap) / soft.strand_length[strand])
    if largest <= _STRAIN:
        return CLOSED, largest
    if largest > _PROGRESS * before:
        most = _LARGEST_GROWTH * _PENALTY / (h * h)
        grown = False
        for strand in range(soft.strand_length.size):
            penalty = soft.strand_penalty[strand]
            soft.strand_penalty[strand] = min(_GROWTH * penalty, most * soft.strand_inertia[strand])
            grown |= soft.strand_penalty[strand] > penalty
        if not (grown or largest < _STUCK * before):
            return STUCK, largest
    return WAITING, largest


@compiled
def leave_edges_open(soft: Table) -> bool:
    """Forget multipliers, and mark edges that are longer or shorter; True if there are any."""
    soft.left_open = 1
    found = False
    for strand in range(soft.strand_length.size):
        if abs(_gap(soft, strand)) > _OPEN * soft.strand_length[strand]:
            soft.strand_opened[strand] = 1
            found = True
    return found


@compiled
def keep_edge_forces(soft: Table) -> None:
    """At the end of a step, keep the multipliers for the next one."""
    for strand in range(soft.strand_length.size):
        soft.strand_force_start[strand] = 0.0 if soft.left_open == 1 else soft.strand_force[strand]
