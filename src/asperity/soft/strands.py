"""Ropes and rods: edges that stretch, and bends of two edges that meet, with their stiffness.

An edge d of length ℓ at rest, and a bend of the unit vectors t_0, t_1 along two edges, have

    E = ½ k (|d| − ℓ)²    and    E = ½ k |κ|²,  κ = 2 t_0 × t_1/(1 + t_0 · t_1),

where κ is the curvature binormal (M. Bergou, M. Wardetzky, S. Robinson, B. Audoly, E. Grinspun,
Discrete elastic rods, 2008, equation 1, of a rod that is straight at rest) and k = EI/ℓ_v with the
length ℓ_v that the bend stands for. |κ| = 2 tan(φ/2) for the angle φ between the edges.

With J = ∂κ/∂x, dampers c, the tension T and the unit vector n along an edge the forces of a step
from ẋ_0 to ẋ_1 are

    edges    −n (k (|d| − ℓ + δt u) + c u) − δt max(T, 0)/|d| (1 − n nᵀ) (ẋ_1 − w)
    bends    −Jᵀ (k κ + (δt k + c) J ẋ_1)

with ẋ of an edge's end with respect to its beginning, so that the step's matrix stays positive
definite and constant.

- An edge that turns moves along the chord of a circle, and would become longer by the square of the
  angle. So its length changes at the rate u = n · ẋ_1 + ½ δt |d| ω²/(1 + δt² ω²), where ω is the
  rate |ẋ_t|/|d| of ẋ_0 across the edge.
- The force along n, the direction at the beginning, keeps the angular momentum. What the tension
  adds across the edge is of second order, and damps vibrations of a taut rope that steps do not
  resolve: w is ẋ_0 without these (`asperity.soft.vibrations`).
- T is not k (|d| − ℓ), which small errors of a stiff edge's length change much. It is what the step
  before has found: k (|d| − ℓ + δt u) + c u, plus the force of an equality that holds the length.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.soft.blocks import add_at, own_block

__all__ = [
    "NO_EDGE",
    "add_strand_stiffness",
    "add_strands",
    "bend",
    "bend_scale",
    "direction",
    "edge_rates",
    "find_taut_strands",
    "find_tension",
    "follow_edge",
    "relative_velocity",
    "turning_speed",
]

# Of 1 + t_0 · t_1, so that edges which fold back bend by a finite curvature.
_FOLDED = 1e-6
NO_EDGE = (-1, -1)
"""Before the first row of `follow_edge`."""
# Places of the particles of a matrix's blocks: own ones, and those of `strand_bond`.
_PAIRS = ((0, 0), (1, 1), (2, 2), (1, 0), (2, 0), (2, 1))


@inlined
def direction(position: np.ndarray, a: int, b: int) -> tuple[float, float, float, float]:
    """Unit vector from one particle to another one, and 1/distance; zero if they coincide."""
    x = position[b, 0] - position[a, 0]
    y = position[b, 1] - position[a, 1]
    z = position[b, 2] - position[a, 2]
    length = np.sqrt(x * x + y * y + z * z)
    inverse = 1.0 / length if length != 0.0 else 0.0
    return x * inverse, y * inverse, z * inverse, inverse


@inlined
def bend_scale(cosine: float) -> float:
    """1/(1 + t_0 · t_1), of which κ is twice t_0 × t_1."""
    return 1.0 / max(1.0 + cosine, _FOLDED)


@compiled
def bend(
    position: np.ndarray, particles: np.ndarray, work: np.ndarray
) -> tuple[float, float, float]:
    """κ, and J in ``work``: rows are those of κ, columns the coordinates of three particles."""
    ux, uy, uz, per_u = direction(position, particles[0], particles[1])
    vx, vy, vz, per_v = direction(position, particles[1], particles[2])
    scale = bend_scale(ux * vx + uy * vy + uz * vz)
    k = (
        2.0 * scale * (uy * vz - uz * vy),
        2.0 * scale * (uz * vx - ux * vz),
        2.0 * scale * (ux * vy - uy * vx),
    )
    u = (ux, uy, uz)
    v = (vx, vy, vz)
    for row in range(3):
        after = (row + 1) % 3
        before = (row + 2) % 3
        for column in range(3):
            # Of 2 δt_0 × t_1 and 2 t_0 × δt_1, less the change of 1 + t_0 · t_1.
            first = -k[row] * v[column]
            second = -k[row] * u[column]
            if column == after:
                first += 2.0 * v[before]
                second -= 2.0 * u[before]
            elif column == before:
                first -= 2.0 * v[after]
                second += 2.0 * u[after]
            work[row, column] = scale * first
            work[row, 6 + column] = scale * second
        along_u = work[row, 0] * ux + work[row, 1] * uy + work[row, 2] * uz
        along_v = work[row, 6] * vx + work[row, 7] * vy + work[row, 8] * vz
        for column in range(3):
            of_u = per_u * (work[row, column] - along_u * u[column])
            of_v = per_v * (work[row, 6 + column] - along_v * v[column])
            work[row, column] = -of_u
            work[row, 3 + column] = of_u - of_v
            work[row, 6 + column] = of_v
    return k


@compiled
def add_strands(elastic: Table, position: np.ndarray, work: np.ndarray, force: np.ndarray) -> float:
    """Add forces of all strands; returns their energy [J].

    Parameters
    ----------
    elastic : Table
    position : array, shape (particles, 3)
        In the frames of the flexes [m].
    work : array, shape (3, 9) or larger
    force : array, shape (particles, 3)
        [N]
    """
    energy = 0.0
    for strand in range(elastic.strands):
        stiffness = elastic.strand_stiffness[strand]
        a = elastic.strand_particle[strand, 0]
        b = elastic.strand_particle[strand, 1]
        if elastic.strand_particle[strand, 2] < 0:
            x, y, z, _ = direction(position, a, b)
            stretch = _stretch(elastic, position, strand)
            energy += 0.5 * stiffness * stretch * stretch
            for i, n in enumerate((x, y, z)):
                force[a, i] += stiffness * stretch * n
                force[b, i] -= stiffness * stretch * n
            continue
        k = bend(position, elastic.strand_particle[strand], work)
        energy += 0.5 * stiffness * (k[0] * k[0] + k[1] * k[1] + k[2] * k[2])
        for place in range(3):
            p = elastic.strand_particle[strand, place]
            for i in range(3):
                for row in range(3):
                    force[p, i] -= stiffness * k[row] * work[row, 3 * place + i]
    return energy


@inlined
def relative_velocity(
    elastic: Table, velocity: np.ndarray, a: int, b: int
) -> tuple[float, float, float]:
    """Of the second particle with respect to the first one."""
    x = 0.0
    y = 0.0
    z = 0.0
    of_a = elastic.particle_dof[a]
    of_b = elastic.particle_dof[b]
    if of_b >= 0:
        x += velocity[of_b]
        y += velocity[of_b + 1]
        z += velocity[of_b + 2]
    if of_a >= 0:
        x -= velocity[of_a]
        y -= velocity[of_a + 1]
        z -= velocity[of_a + 2]
    return x, y, z


@compiled
def edge_rates(
    elastic: Table, position: np.ndarray, velocity: np.ndarray, strand: int
) -> tuple[float, float]:
    """Speed along an edge n · ẋ, and the square of the rate at which it turns."""
    a = elastic.strand_particle[strand, 0]
    b = elastic.strand_particle[strand, 1]
    x, y, z, inverse = direction(position, a, b)
    u, v, w = relative_velocity(elastic, velocity, a, b)
    along = x * u + y * v + z * w
    return along, inverse * inverse * max(u * u + v * v + w * w - along * along, 0.0)


@inlined
def turning_speed(length: float, square: float, step: float) -> float:
    """By which an edge becomes longer that turns, the square of its rate being given."""
    return 0.5 * step * length * square / (1.0 + step * step * square)


@compiled
def _stretch(elastic: Table, position: np.ndarray, strand: int) -> float:
    """|d| − ℓ of an edge."""
    a = elastic.strand_particle[strand, 0]
    _, _, _, inverse = direction(position, a, elastic.strand_particle[strand, 1])
    return (1.0 / inverse if inverse != 0.0 else 0.0) - elastic.strand_length[strand]


@compiled
def _add_block(
    elastic: Table, graph: Table, smooth: Table, strand: int, place: int, values: np.ndarray
) -> None:
    """Add a 3 × 3 matrix, row by row, to the block of the particles with a number of `_PAIRS`."""
    if place < 3:
        p = elastic.strand_particle[strand, place]
        if elastic.particle_dof[p] >= 0:
            at, row = own_block(elastic, graph, p)
            for i in range(3):
                for j in range(3):
                    smooth.matrix[at + row * i + j] += values[3 * i + j]
        return
    code = elastic.strand_bond[strand, place - 3]
    if code >= 0:
        add_at(smooth.bond[code >> 1], code & 1, values)


@compiled
def find_taut_strands(elastic: Table, state: Table) -> None:
    """Fill the directions of edges and their max(T, 0)/|d| in ``state.soft.taut``.

    Where the state's ``tension`` is not finite, that of the stretch is taken.
    """
    position = state.soft.position
    for strand in range(elastic.strands):
        taut = state.soft.taut[strand]
        taut[3] = 0.0
        if elastic.strand_particle[strand, 2] >= 0:
            continue
        a = elastic.strand_particle[strand, 0]
        b = elastic.strand_particle[strand, 1]
        taut[0], taut[1], taut[2], inverse = direction(position, a, b)
        tension = state.tension[strand]
        if not abs(tension) < np.inf:
            tension = elastic.strand_stiffness[strand] * _stretch(elastic, position, strand)
        taut[3] = max(tension, 0.0) * inverse


@compiled
def _add_edge(
    elastic: Table,
    state: Table,
    strand: int,
    step: float,
    graph: Table,
    smooth: Table,
) -> None:
    position = state.soft.position
    values = state.soft.work[3]
    n = state.soft.taut[strand]
    a = elastic.strand_particle[strand, 0]
    b = elastic.strand_particle[strand, 1]
    along = step * (step * elastic.strand_stiffness[strand] + elastic.strand_damping[strand])
    across = step * step * n[3]
    _, turning = edge_rates(elastic, position, state.qvel, strand)
    length = _stretch(elastic, position, strand) + elastic.strand_length[strand]
    longer = turning_speed(length, turning, step)
    u, v = state.soft.steady[a], state.soft.steady[b]
    speed = 0.0
    for i in range(3):
        speed += n[i] * (v[i] - u[i])
    for i in range(3):
        pull = along * longer * n[i] - across * (v[i] - u[i] - speed * n[i])
        if elastic.particle_dof[a] >= 0:
            smooth.rhs[elastic.particle_dof[a] + i] += pull
        if elastic.particle_dof[b] >= 0:
            smooth.rhs[elastic.particle_dof[b] + i] -= pull
        for j in range(3):
            values[3 * i + j] = (along - across) * n[i] * n[j] + (across if i == j else 0.0)
    _add_block(elastic, graph, smooth, strand, 0, values)
    _add_block(elastic, graph, smooth, strand, 1, values)
    for k in range(9):
        values[k] = -values[k]
    _add_block(elastic, graph, smooth, strand, 3, values)


@compiled
def add_strand_stiffness(
    elastic: Table, state: Table, step: float, graph: Table, smooth: Table
) -> None:
    """Add what strands have in the matrix and the right side of a step.

    Parameters
    ----------
    elastic, state : Table
        The state of the step's beginning, with w (`asperity.soft.vibrations`).
    step : float
        [s]
    graph, smooth : Table
        Of the convex problem.
    """
    work = state.soft.work
    values = work[3]
    for strand in range(elastic.strands):
        if elastic.strand_particle[strand, 2] < 0:
            _add_edge(elastic, state, strand, step, graph, smooth)
            continue
        bend(state.soft.position, elastic.strand_particle[strand], work)
        factor = step * (step * elastic.strand_stiffness[strand] + elastic.strand_damping[strand])
        for place, (a, b) in enumerate(_PAIRS):
            for i in range(3):
                for j in range(3):
                    value = 0.0
                    for k in range(3):
                        value += work[k, 3 * a + i] * work[k, 3 * b + j]
                    values[3 * i + j] = factor * value
            _add_block(elastic, graph, smooth, strand, place, values)


@inlined
def follow_edge(elastic: Table, equality: int, before: tuple[int, int]) -> tuple[int, int]:
    """Return the equality of a row, and the strand whose length it holds, below 0 if none.

    Rows of an equality follow each other, as edges that are not fixed do. It is given what it has
    returned for the last row.
    """
    strand = int(elastic.equality_strand[equality])
    return equality, before[1] + 1 if strand >= 0 and before[0] == equality else strand


@compiled
def find_tension(
    elastic: Table,
    position: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    rows: Table,
    step: float,
    tension: np.ndarray,
) -> None:
    """Fill the tensions [N] that a step has found.

    Parameters
    ----------
    elastic : Table
    position : array, shape (particles, 3)
        At the step's beginning, in the frames of the flexes [m].
    before, after : array, shape (nv,)
        Velocities at its beginning and end, generalized.
    rows : Table
        The constraint set, with its impulses.
    step : float
        [s]
    tension : array, shape (strands,)
    """
    for strand in range(elastic.strands):
        tension[strand] = 0.0
        if elastic.strand_particle[strand, 2] >= 0:
            continue
        _, turning = edge_rates(elastic, position, before, strand)
        speed, _ = edge_rates(elastic, position, after, strand)
        stretch = _stretch(elastic, position, strand)
        speed += turning_speed(stretch + elastic.strand_length[strand], turning, step)
        stretch += step * speed
        tension[strand] = (
            elastic.strand_stiffness[strand] * stretch + elastic.strand_damping[strand] * speed
        )
    edge = NO_EDGE
    for row in range(rows.count):
        equality = rows.identity[row]
        if rows.source[row] >= 0 and 0 <= equality < elastic.equality_strand.size:
            edge = follow_edge(elastic, equality, edge)
            if edge[1] >= 0:
                tension[edge[1]] -= rows.impulse[row] / step
