"""What the twist of rods changes by with positions, in closed form.

With m and ∇m of `asperity.soft.twists`, a = ∂m/∂d of two edges where they do not turn, and their
turning ω, a bend has the impulses

    s = δt k m + δt (δt k + c) (ω_1 − ω_0 + a · v)    on the edges,    a s    along them.

a = ½ (κ/|d_0|, κ/|d_1|) changes by κ' of `asperity.derivatives.balance.strand_columns`, and m by
the angles of the edges and, where these stay, by −∠A(t_1, T, t_0).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.strand_columns import add_edges, bend_of
from asperity.soft.strands import direction, relative_velocity
from asperity.soft.twists import find_twist, turned_slopes

__all__ = ["twist_columns"]


@compiled
def _add_twist(elastic: Table, state: Table, work: Table, twist: int, step: float) -> None:
    position = state.soft.position
    particles = elastic.twist_particle[twist]
    kappa, slope, _, unit, size = bend_of(position, particles)
    if size == 0.0:
        return
    per = np.empty(2)
    _, _, _, per[0] = direction(position, particles[0], particles[1])
    _, _, _, per[1] = direction(position, particles[1], particles[2])
    stiffness = step * elastic.twist_stiffness[twist]
    damping = step * stiffness + step * elastic.twist_damping[twist]
    v = np.empty(6)
    v[0], v[1], v[2] = relative_velocity(elastic, work.velocity, particles[0], particles[1])
    v[3], v[4], v[5] = relative_velocity(elastic, work.velocity, particles[1], particles[2])
    impulse = stiffness * find_twist(elastic, state, twist, state.soft.work[0])
    for side in range(2):
        dof = elastic.twist_dof[twist, side]
        if dof >= 0:
            impulse += (damping if side == 0 else -damping) * work.velocity[dof]
    slopes = np.empty((2, 3))
    middle, last = particles[1], particles[2]
    turned_slopes(
        position,
        position,
        elastic.twist_axis[twist],
        middle,
        last,
        particles[0],
        middle,
        slopes,
    )
    lever = np.empty(6)
    block = np.empty((6, 6))
    # s by d, and then a s.
    change = np.zeros(6)
    for i in range(6):
        e = i // 3
        lever[i] = 0.5 * per[e] * kappa[i % 3]
        impulse += damping * lever[i] * v[i]
        change[i] -= stiffness * slopes[1 - e, i % 3]
        for j in range(6):
            block[i, j] = 0.5 * per[e] * slope[i % 3, j]
            if j // 3 == e:
                block[i, j] -= lever[i] * per[e] * unit[e, j % 3]
            change[j] += damping * v[i] * block[i, j]
    for i in range(6):
        for j in range(6):
            block[i, j] = impulse * block[i, j] + lever[i] * change[j]
    columns = work.columns
    add_edges(elastic, particles, block, 0, columns)
    for side in range(2):
        dof = elastic.twist_dof[twist, side]
        if dof < 0:
            continue
        sign = 1.0 if side == 0 else -1.0
        for other in range(2):
            if elastic.twist_dof[twist, other] >= 0:
                value = stiffness if side == other else -stiffness
                columns[dof, elastic.twist_dof[twist, other]] += value
        for place in range(3):
            p = elastic.particle_dof[particles[place]]
            for e in range(max(place - 1, 0), min(place + 1, 2)):
                # The first particle begins the first edge, the second one ends it.
                end = sign if e < place else -sign
                for i in range(3):
                    if p >= 0:
                        columns[dof, p + i] += end * stiffness * lever[3 * e + i]
                        columns[p + i, dof] += end * change[3 * e + i]


@compiled
def twist_columns(elastic: Table, work: Table, state: Table, step: float) -> None:
    """Add what twist does to columns by positions."""
    for twist in range(elastic.twists):
        _add_twist(elastic, state, work, twist, step)
