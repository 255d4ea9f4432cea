"""Twist of rods: an angle for every edge, and the torque of bends whose edges turn differently.

An edge's angle θ is between two directions across it: that of its material, and a fixed one that
the smallest rotation takes from T, the rod's unit vector at rest, to the edge's unit vector t. The
edge turns about itself at the speed ω of its joint. Where ω = 0, its material is led parallel to
itself over time (M. Bergou, B. Audoly, E. Vouga, M. Wardetzky, E. Grinspun, Discrete viscous
threads, 2010), and θ changes with t all the same. Let A(a, b, c) be the smallest rotations a → b,
b → c and c → a after each other, which turn about a. A step from t to t' ends at

    θ' = θ + δt ω + ∠A(t', T, t).

A bend of two edges with the vertices x_0, x_1, x_2 is twisted by

    m = θ_1 − θ_0 + ∠A(t_1, t_0, T),    ∂m/∂x_0 = −κ/(2 |d_0|),    ∂m/∂x_2 = κ/(2 |d_1|)

and minus both for x_1, with κ of `asperity.soft.strands`, where edges do not turn. m is the one
between −π and π: a bend holds half a turn. E = ½ k m², k = GJ/ℓ_v. The forces of a step from ẋ_0 to
ẋ_1 are −∇m (k m + (δt k + c) ∇m · ẋ_1), with ∇m of its beginning and dampers c.

All of it is in positions. In MuJoCo 4.0 m = θ_1 − θ_0 and vertices have the same forces, by which
a twisted rod that moves out of a plane gains or loses energy. In a plane with T both are the same.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.soft.blocks import add_at
from asperity.soft.strands import bend_scale, direction

__all__ = [
    "TWIST_PAIRS",
    "add_twist_stiffness",
    "add_twists",
    "along_edge",
    "axis_of",
    "find_twist",
    "half_bend",
    "turn_edges",
    "turned",
    "turned_slopes",
    "turning_slopes",
    "twist_slopes",
    "within_half_a_turn",
]

TWIST_PAIRS = ((0, 1), (1, 2), (1, 3), (1, 4), (0, 2), (0, 3), (0, 4), (3, 2), (4, 2), (4, 3))
"""Pairs of a bend's nodes that it couples: the edges after and before, and three particles."""

_Vector = tuple[float, float, float]


@inlined
def _rotation(a: _Vector, b: _Vector) -> tuple[float, float, float, float]:
    """The smallest rotation of one unit vector into another one, a quaternion of any length."""
    return (
        1.0 + a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@inlined
def _after(
    p: tuple[float, float, float, float], q: tuple[float, float, float, float]
) -> tuple[float, float, float, float]:
    """The rotation q, and then p."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] + p[2] * q[0] + p[3] * q[1] - p[1] * q[3],
        p[0] * q[3] + p[3] * q[0] + p[1] * q[2] - p[2] * q[1],
    )


@compiled
def turned(a: _Vector, b: _Vector, c: _Vector) -> float:
    """The angle ∠A(a, b, c) of the rotations a → b, b → c and c → a, about a."""
    p = _after(_rotation(c, a), _after(_rotation(b, c), _rotation(a, b)))
    return float(2.0 * np.arctan2(p[1] * a[0] + p[2] * a[1] + p[3] * a[2], p[0]))


@inlined
def axis_of(axis: np.ndarray, i: int) -> _Vector:
    """A row of three numbers."""
    return axis[i, 0], axis[i, 1], axis[i, 2]


@inlined
def along_edge(position: np.ndarray, a: int, b: int) -> tuple[_Vector, float]:
    """Unit vector from one particle to another one, and 1/distance."""
    x, y, z, inverse = direction(position, a, b)
    return (x, y, z), inverse


@inlined
def half_bend(u: _Vector, v: _Vector) -> _Vector:
    """½ κ of two unit vectors: their cross product over 1 + u · v."""
    scale = bend_scale(u[0] * v[0] + u[1] * v[1] + u[2] * v[2])
    return (
        scale * (u[1] * v[2] - u[2] * v[1]),
        scale * (u[2] * v[0] - u[0] * v[2]),
        scale * (u[0] * v[1] - u[1] * v[0]),
    )


@inlined
def within_half_a_turn(angle: float) -> float:
    """The angle between −π and π that is the same but for whole turns."""
    return float(angle - 2.0 * np.pi * np.floor(angle / (2.0 * np.pi) + 0.5))


@compiled
def twist_slopes(
    position: np.ndarray, particles: np.ndarray, gradient: np.ndarray
) -> tuple[_Vector, _Vector]:
    """Fill ∂m/∂x of three particles where edges do not turn; returns t_0 and t_1."""
    u, per_u = along_edge(position, particles[0], particles[1])
    v, per_v = along_edge(position, particles[1], particles[2])
    half = half_bend(u, v)
    for i in range(3):
        gradient[i] = -half[i] * per_u
        gradient[3 + i] = half[i] * (per_u - per_v)
        gradient[6 + i] = half[i] * per_v
    return u, v


@compiled
def find_twist(elastic: Table, state: Table, twist: int, gradient: np.ndarray) -> float:
    """m, and ∂m/∂x of three particles in ``gradient``."""
    u, v = twist_slopes(state.soft.position, elastic.twist_particle[twist], gradient)
    m = turned(v, u, axis_of(elastic.twist_axis, twist))
    for side in range(2):
        at = elastic.twist_qpos[twist, side]
        if at >= 0:
            m += state.qpos[at] if side == 0 else -state.qpos[at]
    return within_half_a_turn(m)


@compiled
def add_twists(elastic: Table, state: Table) -> float:
    """Add forces of twist, and fill ``soft.torque``; returns the energy [J].

    A bend's torque [N m] acts on the edge before it, and against the one after it.
    """
    soft = state.soft
    gradient = soft.work[0]
    energy = 0.0
    for twist in range(elastic.twists):
        m = find_twist(elastic, state, twist, gradient)
        torque = elastic.twist_stiffness[twist] * m
        soft.torque[twist] = torque
        energy += 0.5 * torque * m
        for place in range(3):
            p = elastic.twist_particle[twist, place]
            for i in range(3):
                soft.force[p, i] -= torque * gradient[3 * place + i]
    return energy


@inlined
def _tree(elastic: Table, twist: int, node: int) -> int:
    """Of one of a bend's two edges or three particles; −1 of what is fixed."""
    if node < 2:
        return int(elastic.twist_tree[twist, node])
    return int(elastic.particle_tree[elastic.twist_particle[twist, node - 2]])


@compiled
def add_twist_stiffness(
    elastic: Table, state: Table, step: float, graph: Table, smooth: Table
) -> None:
    """Add what twist has in the matrix of a step.

    Parameters
    ----------
    elastic, state : Table
    step : float
        [s]
    graph, smooth : Table
        Of the convex problem.
    """
    # ∇m by nodes: three numbers each, of which edges have the first one.
    gradient = state.soft.work[1, :15]
    values = state.soft.work[3]
    for twist in range(elastic.twists):
        find_twist(elastic, state, twist, gradient[6:])
        for i in range(6):
            gradient[i] = 0.0
        gradient[0] = 1.0
        gradient[3] = -1.0
        factor = step * (step * elastic.twist_stiffness[twist] + elastic.twist_damping[twist])
        for node in range(5):
            tree = _tree(elastic, twist, node)
            if tree < 0:
                continue
            n = 1 if node < 2 else 3
            block = graph.block_start[tree]
            for i in range(n):
                for j in range(n):
                    smooth.matrix[block + n * i + j] += (
                        factor * gradient[3 * node + i] * gradient[3 * node + j]
                    )
        for pair, (a, b) in enumerate(TWIST_PAIRS):
            code = elastic.twist_bond[twist, pair]
            if code >= 0:
                for i in range(3):
                    for j in range(3):
                        values[3 * i + j] = factor * gradient[3 * a + i] * gradient[3 * b + j]
                add_at(smooth.bond[code >> 1], code & 1, values)


@compiled
def _fill_positions(elastic: Table, qpos: np.ndarray, position: np.ndarray) -> None:
    """Fill the positions of particles."""
    for p in range(elastic.particles):
        first = elastic.particle_qpos[p]
        for a in range(3):
            position[p, a] = elastic.particle_base[p, a]
            if first >= 0:
                position[p, a] += qpos[first + a]


@compiled
def turn_edges(elastic: Table, source: Table, qpos: np.ndarray) -> None:
    """Add to the angles of a step's end what they change by without turning, ∠A(t', T, t)."""
    if elastic.turning_qpos.size == 0:
        return
    position = source.soft.conjugate[0]
    _fill_positions(elastic, qpos, position)
    for place in range(elastic.turning_qpos.size):
        a = elastic.turning_particle[place, 0]
        b = elastic.turning_particle[place, 1]
        before, _ = along_edge(source.soft.position, a, b)
        after, _ = along_edge(position, a, b)
        axis = axis_of(elastic.turning_axis, place)
        qpos[elastic.turning_qpos[place]] += turned(after, axis, before)


@compiled
def turned_slopes(
    position: np.ndarray,
    before: np.ndarray,
    axis: np.ndarray,
    a: int,
    b: int,
    c: int,
    d: int,
    out: np.ndarray,
) -> None:
    """Fill what ∠A(t', T, t) changes by with two vectors d' and d, two rows.

    With N = t' · (T × t) and D = 1 + t' · T + T · t + t · t' it is 2 atan(N/D).

    Parameters
    ----------
    position, before : array, shape (particles, 3)
        In which d' is from particle a to b, and d from c to d [m].
    axis : array, shape (3,)
        T.
    a, b, c, d : int
    out : array, shape (2, 3)
        [1/m]
    """
    first, per_after = along_edge(position, a, b)
    last, per_before = along_edge(before, c, d)
    volume = 0.0
    total = 1.0
    for i in range(3):
        one = (i + 1) % 3
        two = (i + 2) % 3
        out[0, i] = axis[one] * last[two] - axis[two] * last[one]
        out[1, i] = first[one] * axis[two] - first[two] * axis[one]
        volume += first[i] * out[0, i]
        total += first[i] * axis[i] + axis[i] * last[i] + last[i] * first[i]
    scale = 2.0 / (volume * volume + total * total)
    for side in range(2):
        other = last if side == 0 else first
        own = first if side == 0 else last
        along = 0.0
        for i in range(3):
            out[side, i] = scale * (total * out[side, i] - volume * (axis[i] + other[i]))
            along += out[side, i] * own[i]
        for i in range(3):
            out[side, i] = (out[side, i] - along * own[i]) * (
                per_after if side == 0 else per_before
            )


@compiled
def turning_slopes(
    elastic: Table, source: Table, qpos: np.ndarray, edge: int, out: np.ndarray
) -> None:
    """Fill what an edge's angle changes by with its vectors d' and d of a step, two rows."""
    position = source.soft.conjugate[0]
    _fill_positions(elastic, qpos, position)
    a = elastic.turning_particle[edge, 0]
    b = elastic.turning_particle[edge, 1]
    axis = elastic.turning_axis[edge]
    turned_slopes(position, source.soft.position, axis, a, b, a, b, out)
