"""Quadratic energies: what cells of grids resist beyond their mean strain, and bending of cloth.

Cells bend by incompatible modes (`asperity.soft.elements`), along axes that are frozen over a step:
those of where the last step leads, or of the beginning without one that counts. What their
stiffness is more than that of their mean strain vanishes for linear deformations, so that frozen
axes resist no rotation. Triangles of cloth that bends are cells as well, with those beside them:
their stiffness vanishes for rotations of the shape at rest (`asperity.soft.bending`), and of the
shape that stays where they have yielded (`asperity.soft.folds`). Where that is flat, it is the same
along all axes, and none are needed.

Over a step their stiffness K is constant. With the moves u of vertices from the step's beginning,
where cells pull with the force f, their energy is f·u + ½ uᵀ K u. Damping adds β/2h times that of K
for moves from where velocities count (`asperity.midas.soft.past`).
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.soft.couples import add_couple
from asperity.midas.soft.sites import add_gradient, is_fixed
from asperity.midas.soft.strains import deform, stretch
from asperity.soft.folds import FOLD_BLOCK, fold_block, fold_push, fold_terms

__all__ = ["add_quadratic_slopes", "quadratic_energy", "turn_cells"]


@compiled
def turn_cells(soft: Table, plastic: np.ndarray, h: float) -> None:
    """Sum stiffness of cells, turned to where they are ahead, and their force at the beginning.

    ``plastic`` is how edges stay folded.
    """
    for couple in range(soft.couple.shape[0]):
        for i in range(3):
            for j in range(3):
                soft.couple_steady[couple, i, j] = 0.0
    for v in range(soft.steady_force.shape[0]):
        for k in range(3):
            soft.steady_force[v, k] = 0.0
    for cell in range(soft.cell_element.size):
        element = soft.cell_element[cell]
        damped = 1.0 + soft.element_damping[element] / h
        if soft.cell_flat[cell] == 1:
            _add_flat_cell(soft, cell, damped)
            continue
        if stretch(soft, deform(soft, element, soft.ahead))[3] == -math.inf:
            stretch(soft, deform(soft, element, soft.start))
        _turn_cell(soft, cell, damped)
    _add_folds(soft, plastic, h)


@compiled
def _add_flat_cell(soft: Table, cell: int, damped: float) -> None:
    """Add K of cloth that is flat at rest, which no rotation changes, and its force."""
    k = soft.matrix[soft.cell_matrix[cell]]
    vertex = soft.cell_vertex[cell]
    offset = soft.cell_offset
    couple = 0
    for a in range(soft.cell_corners[cell]):
        for i in range(3):
            offset[a, i] = soft.start[vertex[a], i] - soft.start[vertex[0], i]
            offset[a, i] += (damped - 1.0) * (soft.start[vertex[a], i] - soft.past[vertex[a], i])
        for b in range(a + 1):
            value = k[3 * a, 3 * b]
            block = soft.couple_steady[soft.cell_couple[cell, couple]]
            for i in range(3):
                block[i, i] += damped * value
                soft.steady_force[vertex[a], i] += value * offset[b, i]
                if a != b:
                    soft.steady_force[vertex[b], i] += value * offset[a, i]
            couple += 1


@compiled
def _turn_cell(soft: Table, cell: int, damped: float) -> None:
    """Add R K Rᵀ of a cell, with R = U Vᵀ of its element's singular vectors, and its force."""
    v = soft.small[2]
    u = soft.small[3]
    r = soft.small[4]
    half = soft.small[5]
    block = soft.small[6]
    k = soft.matrix[soft.cell_matrix[cell]]
    for i in range(3):
        for j in range(3):
            r[i, j] = u[i, 0] * v[j, 0] + u[i, 1] * v[j, 1] + u[i, 2] * v[j, 2]
    rest = soft.cell_rest[cell]
    vertex = soft.cell_vertex[cell]
    corners = soft.cell_corners[cell]
    offset = soft.cell_offset
    # Strains and, times β/h, their changes before the step; K has no use for translations.
    for a in range(corners):
        for i in range(3):
            offset[a, i] = soft.start[vertex[a], i] - soft.start[vertex[0], i]
            for j in range(3):
                offset[a, i] -= r[i, j] * rest[a, j]
            offset[a, i] += (damped - 1.0) * (soft.start[vertex[a], i] - soft.past[vertex[a], i])
    couple = 0
    for a in range(corners):
        for b in range(a + 1):
            for i in range(3):
                for j in range(3):
                    half[i, j] = 0.0
                    for n in range(3):
                        half[i, j] += r[i, n] * k[3 * a + n, 3 * b + j]
            for i in range(3):
                for j in range(3):
                    value = 0.0
                    for n in range(3):
                        value += half[i, n] * r[j, n]
                    block[i, j] = damped * value
                    soft.steady_force[vertex[a], i] += value * offset[b, j]
                    if a != b:
                        soft.steady_force[vertex[b], j] += value * offset[a, i]
            at = soft.cell_couple[cell, couple]
            add_couple(soft.couple_steady, at, vertex[a], vertex[b], block, 0, 0)
            couple += 1


@compiled
def _add_folds(soft: Table, plastic: np.ndarray, h: float) -> None:
    """Add what triangles that stay bent have besides."""
    work, local, block = soft.fold_work, soft.fold_local, soft.small[6]
    for bend in range(soft.bends):
        cell = soft.bend_element[bend]
        vertex = soft.cell_vertex[cell, : soft.cell_corners[cell]]
        found, _, along = fold_terms(soft, bend, soft.start, plastic, vertex, work, local)
        if not found:
            continue
        damped = 1.0 + soft.element_damping[soft.cell_element[cell]] / h
        couple = 0
        for a in range(vertex.size):
            push = fold_push(a, work, local)
            for k in range(3):
                soft.steady_force[vertex[a], k] -= push * work[3, k]
            for b in range(a + 1):
                if fold_block(a, b, along, work, local):
                    for i in range(3):
                        for j in range(3):
                            value = work[1, FOLD_BLOCK + 3 * i + j]
                            block[i, j] = damped * value
                            pull = (damped - 1.0) * value
                            one, other = vertex[a], vertex[b]
                            gone = soft.start[other, j] - soft.past[other, j]
                            soft.steady_force[one, i] += pull * gone
                            if a != b:
                                gone = soft.start[one, i] - soft.past[one, i]
                                soft.steady_force[other, j] += pull * gone
                    at = soft.cell_couple[cell, couple]
                    add_couple(soft.couple_steady, at, vertex[a], vertex[b], block, 0, 0)
                couple += 1


@compiled
def quadratic_energy(soft: Table, x: np.ndarray) -> float:
    """Change of the energy of cells over the step, with what damping takes [J]."""
    if soft.cell_element.size == 0:
        return 0.0
    start = soft.start
    total = 0.0
    for couple in range(soft.couple.shape[0]):
        one = soft.couple[couple, 0]
        other = soft.couple[couple, 1]
        share = 0.5 if one == other else 1.0
        for i in range(3):
            along = 0.0
            for j in range(3):
                along += soft.couple_steady[couple, i, j] * (x[other, j] - start[other, j])
            along *= share
            if one == other:
                along += soft.steady_force[one, i]
            total += along * (x[one, i] - start[one, i])
    return total


@compiled
def add_quadratic_slopes(engine: Table, soft: Table) -> None:
    """Add gradients of cells."""
    if soft.cell_element.size == 0:
        return
    now = soft.now
    start = soft.start
    slope = soft.steady_slope
    for v in range(slope.shape[0]):
        for k in range(3):
            slope[v, k] = soft.steady_force[v, k]
    for couple in range(soft.couple.shape[0]):
        one = soft.couple[couple, 0]
        other = soft.couple[couple, 1]
        k = soft.couple_steady[couple]
        # Moves are read before any slope is written, so that nothing is read again.
        a0 = now[one, 0] - start[one, 0]
        a1 = now[one, 1] - start[one, 1]
        a2 = now[one, 2] - start[one, 2]
        b0 = now[other, 0] - start[other, 0]
        b1 = now[other, 1] - start[other, 1]
        b2 = now[other, 2] - start[other, 2]
        for i in range(3):
            slope[one, i] += k[i, 0] * b0 + k[i, 1] * b1 + k[i, 2] * b2
        if one != other:
            for j in range(3):
                slope[other, j] += k[0, j] * a0 + k[1, j] * a1 + k[2, j] * a2
    square = engine.time.step * engine.time.step
    for couple in range(soft.couple.shape[0]):
        v = soft.couple[couple, 0]
        if v == soft.couple[couple, 1] and not is_fixed(engine, soft, v):
            for k in range(3):
                slope[v, k] *= square
            add_gradient(engine, soft, v, slope[v])
