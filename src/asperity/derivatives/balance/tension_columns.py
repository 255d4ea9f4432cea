"""What tensions change by with positions and velocities, in closed form.

With the stiffness K of tensions at the step's beginning a step has (`asperity.soft.vibrations`)

    δt² K (v − w),    w = 2 y − z,    y = R M v_0,    z = R M y,    R = (M + α K)⁻¹,    α = δt²/c.

With E = α K R = 1 − M R it changes by

    δt² (dK (v − w) + E ((1 + E) dK y − dK z)) − c E (1 + E) M dv_0.

Here tensions are those of the state, T = k (|d| − ℓ) of edges, as in steps that remember nothing.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.dense_solve import factorize_system, solve_system
from asperity.derivatives.balance.strand_columns import add_edges
from asperity.derivatives.balance.triangle_columns import add_triangle_tension
from asperity.soft.vibrations import SLOW

__all__ = ["tension_columns"]


@compiled
def _add_edge(
    elastic: Table, soft: Table, strand: int, vectors: np.ndarray, out: np.ndarray
) -> None:
    """Add what K y of an edge changes by with positions, as `add_triangle_tension` does."""
    taut = soft.taut[strand]
    if not taut[3] > 0.0:
        return
    particles = elastic.strand_particle[strand]
    square = 0.0
    for i in range(3):
        square += (soft.position[particles[1], i] - soft.position[particles[0], i]) ** 2
    length = np.sqrt(square)
    # T/|d| is k (1 − ℓ/|d|).
    stiffer = elastic.strand_stiffness[strand] * elastic.strand_length[strand] / square
    turned = taut[3] / length
    block = np.empty((3, 3))
    for n in range(vectors.shape[0]):
        y = vectors[n, particles[1]] - vectors[n, particles[0]]
        along = y[0] * taut[0] + y[1] * taut[1] + y[2] * taut[2]
        for i in range(3):
            for j in range(3):
                across = y[j] - along * taut[j]
                unit = 1.0 if i == j else 0.0
                block[i, j] = stiffer * (y[i] - along * taut[i]) * taut[j]
                block[i, j] -= turned * along * (unit - taut[i] * taut[j])
                block[i, j] -= turned * taut[i] * across
        add_edges(elastic, particles, block, 0, out[n])


@compiled
def _fill_system(elastic: Table, soft: Table, mass: np.ndarray, scale: float) -> np.ndarray:
    """Return M + scale K, with ones where there is no particle."""
    system = np.diag(np.where(mass > 0.0, mass, 1.0))
    block = np.empty((3, 3))
    for strand in range(elastic.strands):
        n = soft.taut[strand]
        if n[3] > 0.0:
            for i in range(3):
                for j in range(3):
                    unit = 1.0 if i == j else 0.0
                    block[i, j] = scale * n[3] * (unit - n[i] * n[j])
            add_edges(elastic, elastic.strand_particle[strand], block, 0, system)
    for triangle in range(elastic.triangles):
        n = soft.taut[elastic.strands + triangle]
        if not n[3] > 0.0:
            continue
        first = elastic.element_first[elastic.triangle_element[triangle]]
        for a in range(first, first + 3):
            row = elastic.particle_dof[elastic.place_particle[a]]
            for b in range(first, first + 3):
                column = elastic.particle_dof[elastic.place_particle[b]]
                if row < 0 or column < 0:
                    continue
                g, h = elastic.place_gradient[a], elastic.place_gradient[b]
                value = scale * n[3] * (g[0] * h[0] + g[1] * h[1])
                for i in range(3):
                    for j in range(3):
                        system[row + i, column + j] += value * n[i] * n[j]
    return system


@compiled
def _fill_vectors(
    elastic: Table, root: Table, velocity: np.ndarray, start: np.ndarray, mass: np.ndarray
) -> np.ndarray:
    """Return v − w, y and z of all particles."""
    solved = np.empty((3, mass.size))
    solved[0] = start
    for k in range(2):
        solved[k + 1] = mass * solved[k]
        solve_system(root, solved[k + 1], 1)
    solved[0] = velocity - 2.0 * solved[1] + solved[2]
    vectors = np.zeros((3, elastic.particles, 3))
    for p in range(elastic.particles):
        dof = elastic.particle_dof[p]
        if dof >= 0:
            for k in range(3):
                for i in range(3):
                    vectors[k, p, i] = solved[k, dof + i]
    return vectors


@compiled
def tension_columns(elastic: Table, work: Table, state: Table, step: float, whole: float) -> None:
    """Add what tensions do to columns by positions, velocities and what stays of deformations.

    ``whole`` is the whole step, if this is one of its halves [s].
    """
    soft = state.soft
    if not np.any(soft.taut[:, 3] > 0.0):
        return
    nv = state.qvel.size
    right = work.right
    columns = work.columns
    mass = np.zeros(nv)
    for p in range(elastic.particles):
        dof = elastic.particle_dof[p]
        if dof >= 0:
            for i in range(3):
                mass[dof + i] = state.mass_diagonal[dof + i]
    factorize_system(work.root, _fill_system(elastic, soft, mass, whole * whole / SLOW))
    vectors = _fill_vectors(elastic, work.root, work.velocity, state.qvel, mass)
    # By positions, and by what stays of deformations.
    count = nv + state.plastic.size
    behind = work.result.shape[0] - count
    changes = np.zeros((3, count, nv))
    for strand in range(elastic.strands):
        _add_edge(elastic, soft, strand, vectors, changes)
    for triangle in range(elastic.triangles):
        add_triangle_tension(elastic, state, triangle, vectors, work.flow.stretch, changes)
    square = step * step
    slow = SLOW * square / (whole * whole)
    for i in range(nv):
        for k in range(count):
            columns[k if k < nv else behind + k, i] += square * changes[0, k, i]
            right[i, k] = square * changes[1, k, i]
        for k in range(nv):
            right[i, count + k] = -slow * mass[i] if i == k else 0.0
    solve_system(work.root, right, count + nv)
    for i in range(nv):
        for k in range(count):
            value = square * (2.0 * changes[1, k, i] - changes[2, k, i]) - mass[i] * right[i, k]
            right[i, k] = value
            columns[k if k < nv else behind + k, i] += value
        for k in range(nv):
            value = -2.0 * slow * mass[i] if i == k else 0.0
            value -= mass[i] * right[i, count + k]
            right[i, count + k] = value
            columns[nv + k, i] += value
    solve_system(work.root, right, count + nv)
    for i in range(nv):
        for k in range(count):
            columns[k if k < nv else behind + k, i] -= mass[i] * right[i, k]
        for k in range(nv):
            columns[nv + k, i] -= mass[i] * right[i, count + k]
