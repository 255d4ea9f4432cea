"""What edges and bends of ropes and rods change by with positions and velocities, in closed form.

A step has of an edge d, with its direction n, the length it becomes longer by as it turns, L u_t,
and the impulses of a strand or of the row that holds its length,

    p = n f,    f = f_0 + s |d| + c (n · v + u_t(d, v_0)),

and of a bend with κ(d_0, d_1) and J = ∂κ/∂(d_0, d_1) (`asperity.soft.strands`)

    p = Jᵀ m,    m = δt k κ + δt (δt k + c) J v.

With N = 2 d_0 × d_1 and D = |d_0||d_1| + d_0 · d_1 is κ = N/D, and along two directions a and b

    D κ''(a, b) = N''(a, b) − κ D''(a, b) − J a (D' b) − J b (D' a).

What the tension adds across edges is in `asperity.derivatives.balance.tension_columns`.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import EQUALITY
from asperity.derivatives.balance.row_slopes import LENGTH, row_slopes
from asperity.soft.strands import (
    NO_EDGE,
    bend,
    bend_scale,
    direction,
    edge_rates,
    follow_edge,
    relative_velocity,
    turning_speed,
)

__all__ = [
    "Bend",
    "add_edges",
    "bend_of",
    "edge_columns",
    "rope_edges",
    "strand_columns",
]

Bend = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]
"""κ, J (3, 6), D' (6,), the unit vectors (2, 3), and D of a bend, 0 if an edge has no length."""


@compiled
def add_edges(
    elastic: Table, particles: np.ndarray, block: np.ndarray, first: int, columns: np.ndarray
) -> None:
    """Add ∂p/∂d of edges between successive particles to columns, from the first one on."""
    edges = block.shape[0] // 3
    for c in range(edges + 1):
        column = elastic.particle_dof[particles[c]]
        if column < 0:
            continue
        for r in range(edges + 1):
            row = elastic.particle_dof[particles[r]]
            if row < 0:
                continue
            for by in range(max(c - 1, 0), min(c + 1, edges)):
                for of in range(max(r - 1, 0), min(r + 1, edges)):
                    # A particle is the end of the edge before it.
                    sign = 1.0 if (by < c) == (of < r) else -1.0
                    for j in range(3):
                        for i in range(3):
                            columns[first + column + j, row + i] += (
                                sign * block[3 * of + i, 3 * by + j]
                            )


@compiled
def _add_axial(
    elastic: Table,
    state: Table,
    work: Table,
    strand: int,
    step: float,
    law: tuple[float, float, float],
    length: float,
) -> None:
    """Add what an edge's f n changes by; ``law`` is f, s and c, ``length`` L, or −1 for |d|."""
    position = state.soft.position
    particles = elastic.strand_particle[strand]
    x, y, z, inverse = direction(position, particles[0], particles[1])
    if inverse == 0.0:
        return
    n = (x, y, z)
    force, slope, gain = law
    stretches = length < 0.0
    if stretches:
        length = 1.0 / inverse
    v = relative_velocity(elastic, work.velocity, particles[0], particles[1])
    start = relative_velocity(elastic, state.qvel, particles[0], particles[1])
    along = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
    along_start, square = edge_rates(elastic, position, state.qvel, strand)
    root = 1.0 + step * step * square
    by_square = 0.5 * step * length / (root * root)
    by_length = 0.5 * step * square / root if stretches else 0.0
    by_position = np.empty((3, 3))
    by_velocity = np.empty((3, 3))
    for j in range(3):
        across = start[j] - along_start * n[j]
        longer = by_length * n[j] - 2.0 * by_square * inverse * (
            square * n[j] + inverse * inverse * along_start * across
        )
        change = slope * n[j] + gain * (inverse * (v[j] - along * n[j]) + longer)
        faster = 2.0 * gain * by_square * inverse * inverse * across
        for i in range(3):
            unit = 1.0 if i == j else 0.0
            by_position[i, j] = n[i] * change + force * inverse * (unit - n[i] * n[j])
            by_velocity[i, j] = n[i] * faster
    nv = state.qvel.size
    add_edges(elastic, particles, by_position, 0, work.columns)
    add_edges(elastic, particles, by_velocity, nv, work.columns)


@compiled
def _edge_law(
    elastic: Table, state: Table, work: Table, strand: int, step: float
) -> tuple[float, float, float]:
    """f, s and c of a strand that is an edge."""
    position = state.soft.position
    stiffness = elastic.strand_stiffness[strand]
    damping = step * (step * stiffness + elastic.strand_damping[strand])
    a = elastic.strand_particle[strand, 0]
    _, _, _, inverse = direction(position, a, elastic.strand_particle[strand, 1])
    length = 1.0 / inverse if inverse != 0.0 else 0.0
    _, square = edge_rates(elastic, position, state.qvel, strand)
    speed, _ = edge_rates(elastic, position, work.velocity, strand)
    force = step * stiffness * (length - elastic.strand_length[strand])
    force += damping * (speed + turning_speed(length, square, step))
    return force, step * stiffness, damping


@compiled
def bend_of(position: np.ndarray, particles: np.ndarray) -> Bend:
    """κ of a bend and its first derivatives."""
    kappa = np.zeros(3)
    slope = np.zeros((3, 6))
    scale = np.zeros(6)
    unit = np.zeros((2, 3))
    u, v, w, per_first = direction(position, particles[0], particles[1])
    unit[0, 0], unit[0, 1], unit[0, 2] = u, v, w
    u, v, w, per_last = direction(position, particles[1], particles[2])
    unit[1, 0], unit[1, 1], unit[1, 2] = u, v, w
    if per_first == 0.0 or per_last == 0.0:
        return kappa, slope, scale, unit, 0.0
    one, two = 1.0 / per_first, 1.0 / per_last
    cosine = unit[0, 0] * unit[1, 0] + unit[0, 1] * unit[1, 1] + unit[0, 2] * unit[1, 2]
    size = one * two / bend_scale(cosine)
    work = np.empty((3, 9))
    kappa[0], kappa[1], kappa[2] = bend(position, particles, work)
    for i in range(3):
        scale[i] = two * (unit[0, i] + unit[1, i])
        scale[3 + i] = one * (unit[0, i] + unit[1, i])
        for j in range(3):
            # An edge is between the particle before it and the one after it.
            slope[i, j] = -work[i, j]
            slope[i, 3 + j] = work[i, 6 + j]
    return kappa, slope, scale, unit, size


@compiled
def _scale_curvature(unit: np.ndarray, per: float, i: int, j: int) -> float:
    """D'' of two coordinates of both edges, whose lengths have the ratio |d_1|/|d_0|."""
    same = 1.0 if i % 3 == j % 3 else 0.0
    one = i // 3
    other = j // 3
    if one != other:
        return same + unit[one, i % 3] * unit[other, j % 3]
    return (per if one == 0 else 1.0 / per) * (same - unit[one, i % 3] * unit[one, j % 3])


@compiled
def _add_bend(elastic: Table, state: Table, work: Table, strand: int, step: float) -> None:
    """Add what a bend's impulses change by with positions."""
    position = state.soft.position
    particles = elastic.strand_particle[strand]
    kappa, slope, scale, unit, size = bend_of(position, particles)
    if size == 0.0:
        return
    _, _, _, per_first = direction(position, particles[0], particles[1])
    _, _, _, per_last = direction(position, particles[1], particles[2])
    ratio = per_first / per_last
    stiffness = step * elastic.strand_stiffness[strand]
    damping = step * stiffness + step * elastic.strand_damping[strand]
    v = np.empty(6)
    v[0], v[1], v[2] = relative_velocity(elastic, work.velocity, particles[0], particles[1])
    v[3], v[4], v[5] = relative_velocity(elastic, work.velocity, particles[1], particles[2])
    rate = np.zeros(3)
    scale_rate = 0.0
    for j in range(6):
        scale_rate += scale[j] * v[j]
        for i in range(3):
            rate[i] += slope[i, j] * v[j]
    m = np.empty(3)
    along = 0.0
    for i in range(3):
        m[i] = stiffness * kappa[i] + damping * rate[i]
        along += m[i] * kappa[i]
    impulse = np.zeros(6)
    curved = np.zeros(6)
    for j in range(6):
        for i in range(3):
            impulse[j] += m[i] * slope[i, j]
        for k in range(6):
            curved[j] += _scale_curvature(unit, ratio, j, k) * v[k]
    # What δt k κ + δt (δt k + c) J v changes by with d.
    change = np.zeros((3, 6))
    for i in range(3):
        after = (i + 1) % 3
        before = (i + 2) % 3
        change[i, after] += 2.0 * v[3 + before]
        change[i, before] -= 2.0 * v[3 + after]
        change[i, 3 + before] += 2.0 * v[after]
        change[i, 3 + after] -= 2.0 * v[before]
        for j in range(6):
            change[i, j] -= kappa[i] * curved[j] + slope[i, j] * scale_rate + rate[i] * scale[j]
            change[i, j] = stiffness * slope[i, j] + damping / size * change[i, j]
    block = np.empty((6, 6))
    for i in range(6):
        for j in range(6):
            value = -along * _scale_curvature(unit, ratio, i, j)
            value -= impulse[i] * scale[j] + scale[i] * impulse[j]
            if i // 3 != j // 3 and i % 3 != j % 3:
                # 2 m · (a × b), which changes its sign with the order.
                k = 3 - i % 3 - j % 3
                sign = 1.0 if (j - i) % 3 == 1 else -1.0
                value += 2.0 * (sign if i < j else -sign) * m[k]
            value /= size
            for k in range(3):
                value += slope[k, i] * change[k, j]
            block[i, j] = value
    add_edges(elastic, particles, block, 0, work.columns)


@compiled
def strand_columns(elastic: Table, work: Table, state: Table, step: float) -> None:
    """Add what strands do to columns by positions and velocities, but for tensions."""
    for strand in range(elastic.strands):
        if elastic.strand_particle[strand, 2] >= 0:
            _add_bend(elastic, state, work, strand, step)
            continue
        law = _edge_law(elastic, state, work, strand, step)
        _add_axial(elastic, state, work, strand, step, law, -1.0)


@compiled
def rope_edges(elastic: Table, rows: Table) -> np.ndarray:
    """Return the strand whose length each row holds, −1 of other rows."""
    strands = np.full(rows.count, -1, np.int64)
    edge = NO_EDGE
    for r in range(rows.count):
        equality = rows.identity[r]
        if rows.kind[r] == EQUALITY and 0 <= equality < elastic.equality_strand.size:
            edge = follow_edge(elastic, equality, edge)
            strands[r] = max(edge[1], -1)
    return strands


@compiled
def edge_columns(world: Table, work: Table, step: float) -> None:
    """Add what rows that hold edges' lengths do to columns by positions and velocities."""
    elastic = world.plant.elastic
    if elastic.strands == 0:
        return
    state = world.current
    strands = rope_edges(elastic, state.rows)
    if not np.any(strands >= 0):
        return
    laws = work.row_laws
    row_slopes(world, work, step, LENGTH, strands)
    for r in range(strands.size):
        strand = strands[r]
        if strand >= 0:
            law = (-laws.row_impulse[r], -laws.row_change[r], laws.row_curvature[r])
            length = elastic.strand_length[strand]
            _add_axial(elastic, state, work, strand, step, law, length)
