"""Inertia, orthogonality and constant forces of links.

    E = ½ tr((Q − Q̃)ᵀ M (Q − Q̃)) + h² (κV ‖AAᵀ − 1‖² − ⟨F, Q⟩)

with the 4 × 4 mass M = ∫ρ[1, x̄]ᵀ[1, x̄]dV (ABD, Lan et al. 2022, section 3.1) and their
orthogonality energy (equation 7). Its Hessian, with C = AAᵀ − 1 and rows aᵢ of Aᵀ,

    ∂²V/∂aᵢ∂aⱼ = 4κV (C_ij 1 + aⱼaᵢᵀ + δ_ij Σ aₘaₘᵀ),

vanishes for rigid links, whose C is 0. Its first term alone can make it indefinite, and is left out
where it does, and where links are stretched because a direction has turned them: that is undone at
once without it, and slowly with it. Near the solution it is what directions need to be Newton's.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.engine_layout import POINT
from asperity.midas.parts import LINKS, PART, count_parts, do_parts, sum_of_parts

__all__ = ["LINK_KERNELS", "add_link_terms", "link_energy", "link_rounding"]


@compiled
def _end(links: Table, part: int) -> int:
    return min((part + 1) * LINKS, links.rigidity.size)


@compiled
def _is_mass_point(engine: Table, link: int) -> bool:
    """Whether a link is a vertex of a deformable body that no fluid holds."""
    return engine.links.kind[link] == POINT and engine.forces.drag.shape[0] == 0


@compiled
def _change_of_rate(engine: Table, q: np.ndarray, link: int, a: int) -> float:
    """Rate of a link's coordinate less that which the fluid's forces are of, times the step."""
    i = a // 3
    k = a % 3
    return (
        q[link, i, k]
        - engine.poses.q_slip[link, i, k]
        - engine.time.step * engine.forces.drag_rate[link, i, k]
    )


@entry_point(PART)
def link_energy_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Sum the energy of some links."""
    q = engine.poses.q_trial if engine.newton.at_trial == 1 else engine.poses.q_now
    h = engine.time.step
    total = 0.0
    for link in range(part * LINKS, _end(engine.links, part)):
        if _is_mass_point(engine, link):
            for k in range(3):
                a = q[link, 0, k] - engine.poses.q_target[link, 0, k]
                total += 0.5 * engine.links.mass[link, 0, 0] * a * a
                total -= h * h * engine.forces.force[link, 0, k] * q[link, 0, k]
            continue
        strain = 0.0
        for i in range(3):
            for j in range(3):
                c = -1.0 if i == j else 0.0
                for k in range(3):
                    c += q[link, 1 + i, k] * q[link, 1 + j, k]
                strain += c * c
        work = 0.0
        for k in range(3):
            for i in range(4):
                work += engine.forces.force[link, i, k] * q[link, i, k]
        total += h * h * (engine.links.rigidity[link] * strain - work)
        if engine.forces.drag.shape[0] > 0:
            for a in range(12):
                change = _change_of_rate(engine, q, link, a)
                for b in range(12):
                    total += (
                        0.5
                        * h
                        * engine.forces.drag[link, a, b]
                        * change
                        * _change_of_rate(engine, q, link, b)
                    )
        for k in range(3):
            for i in range(4):
                a = q[link, i, k] - engine.poses.q_target[link, i, k]
                for j in range(4):
                    total += (
                        0.5
                        * engine.links.mass[link, i, j]
                        * a
                        * (q[link, j, k] - engine.poses.q_target[link, j, k])
                    )
    engine.parts.value[part] = total
    return 0


@compiled
def link_energy(engine: Table) -> float:
    """Energy of all links [J s²]."""
    parts = count_parts(engine.links.rigidity.size, LINKS)
    do_parts(engine, engine.entries.link_energy_part, parts)
    return sum_of_parts(engine, parts)


@compiled
def link_rounding(engine: Table, q: np.ndarray) -> float:
    """What round-off of coordinates does to `link_energy` [J s²], in units of the relative one.

    Displacements of a step are small differences of coordinates, so that the energy is known far
    less well than to its last digit.
    """
    h = engine.time.step
    total = 0.0
    for link in range(engine.links.rigidity.size):
        strain = 0.0
        for i in range(4):
            for k in range(3):
                total += engine.links.mass[link, i, i] * abs(
                    (q[link, i, k] - engine.poses.q_target[link, i, k]) * q[link, i, k]
                )
        for i in range(3):
            c = -1.0
            for k in range(3):
                c += q[link, 1 + i, k] * q[link, 1 + i, k]
            strain += abs(c)
        total += 4.0 * h * h * engine.links.rigidity[link] * strain
        for a in range(12 if engine.forces.drag.shape[0] > 0 else 0):
            change = _change_of_rate(engine, q, link, a)
            total += h * engine.forces.drag[link, a, a] * abs(change * q[link, a // 3, a % 3])
    return total


@entry_point(PART)
def link_terms_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Set gradients and Hessian blocks of some links; as `add_link_terms`."""
    newton = engine.newton
    q = engine.poses.q_now
    h = engine.time.step
    whole = newton.only_slopes == 0
    bent = newton.curved == 1 and newton.nearly_rigid == 1
    for link in range(part * LINKS, _end(engine.links, part)):
        if _is_mass_point(engine, link) and engine.hessian.slot_first[link] < 0:
            m = engine.links.mass[link, 0, 0]
            for k in range(3):
                change = q[link, 0, k] - engine.poses.q_target[link, 0, k]
                newton.link_gradient[link, 0, k] = (
                    m * change - h * h * engine.forces.force[link, 0, k]
                )
                for i in range(3):
                    newton.link_gradient[link, 1 + i, k] = 0.0
                    # Nothing else of its block is read.
                    engine.hessian.link_block[link, i, k] = m if i == k else 0.0
            continue
        if whole:
            for i in range(12):
                for j in range(12):
                    engine.hessian.link_block[link, i, j] = 0.0
        for i in range(4):
            for k in range(3):
                value = -h * h * engine.forces.force[link, i, k]
                for j in range(4):
                    value += engine.links.mass[link, i, j] * (
                        q[link, j, k] - engine.poses.q_target[link, j, k]
                    )
                    if whole:
                        engine.hessian.link_block[link, 3 * i + k, 3 * j + k] += engine.links.mass[
                            link, i, j
                        ]
                newton.link_gradient[link, i, k] = value
        if engine.forces.drag.shape[0] > 0:
            for b in range(12):
                change = h * _change_of_rate(engine, q, link, b)
                for a in range(12):
                    newton.link_gradient[link, a // 3, a % 3] += (
                        engine.forces.drag[link, a, b] * change
                    )
                    if whole:
                        engine.hessian.link_block[link, a, b] += h * engine.forces.drag[link, a, b]
        scale = 4.0 * h * h * engine.links.rigidity[link]
        if scale == 0.0:
            continue
        for i in range(1, 4):
            for j in range(1, 4):
                c = -1.0 if i == j else 0.0
                for k in range(3):
                    c += q[link, i, k] * q[link, j, k]
                for k in range(3):
                    newton.link_gradient[link, i, k] += scale * c * q[link, j, k]
                    for m in range(3 if whole else 0):
                        value = q[link, j, k] * q[link, i, m]
                        if i == j:
                            for n in range(1, 4):
                                value += q[link, n, k] * q[link, n, m]
                        if k == m and bent:
                            value += c
                        engine.hessian.link_block[link, 3 * i + k, 3 * j + m] += scale * value
    return 0


@compiled
def add_link_terms(engine: Table) -> None:
    """Set the links' gradients and Hessian blocks to those of `link_energy`.

    Only with ``curved`` these have the term that may be indefinite.
    """
    do_parts(engine, engine.entries.link_terms_part, count_parts(engine.links.rigidity.size, LINKS))


LINK_KERNELS = (link_energy_part, link_terms_part)
