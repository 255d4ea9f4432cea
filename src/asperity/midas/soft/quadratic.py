"""Quadratic energies: what cells of grids resist beyond their mean strain, and bending of cloth.

Cells bend by incompatible modes (`asperity.soft.elements`), along axes that turn with the cell from
step to step. What their stiffness is more than that of their mean strain vanishes for linear
deformations, so that frozen axes resist no rotation. Triangles of cloth that bends are cells as
well, with those beside them: their stiffness vanishes for rotations of the shape at rest
(`asperity.soft.bending`).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.soft.sites import add_gradient, add_vertex_block, is_fixed
from asperity.midas.soft.strains import deform, stretch

__all__ = ["add_quadratic_terms", "quadratic_energy", "turn_cells"]


@compiled
def turn_cells(soft: Table) -> None:
    """Turn the stiffness of cells to where they are at the step's beginning."""
    for cell in range(soft.cell_element.size):
        stretch(soft, deform(soft, soft.cell_element[cell], soft.start))
        _turn_cell(soft, cell)


@compiled
def _turn_cell(soft: Table, cell: int) -> None:
    """Fill R K Rᵀ of a cell and R X, with R = U Vᵀ of its element's singular vectors."""
    v = soft.small[2]
    u = soft.small[3]
    r = soft.small[4]
    half = soft.small[5]
    k = soft.matrix[soft.cell_matrix[cell]]
    out = soft.cell_turned[cell]
    for i in range(3):
        for j in range(3):
            r[i, j] = u[i, 0] * v[j, 0] + u[i, 1] * v[j, 1] + u[i, 2] * v[j, 2]
    rest = soft.cell_rest[cell]
    corners = soft.cell_corners[cell]
    for a in range(corners):
        for i in range(3):
            soft.cell_place[cell, 3 * a + i] = (
                r[i, 0] * rest[a, 0] + r[i, 1] * rest[a, 1] + r[i, 2] * rest[a, 2]
            )
    for a in range(corners):
        for b in range(corners):
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
                    out[3 * a + i, 3 * b + j] = value


@compiled
def _offsets(soft: Table, cell: int, x: np.ndarray) -> np.ndarray:
    """Fill x_a − x_0 − R X_a of a cell's corners, and how that has changed; returns its corners."""
    vertex = soft.cell_vertex[cell]
    for a in range(soft.cell_corners[cell]):
        for k in range(3):
            at = x[vertex[a], k] - x[vertex[0], k]
            soft.offset[0, 3 * a + k] = at - soft.cell_place[cell, 3 * a + k]
            soft.offset[1, 3 * a + k] = at - soft.start[vertex[a], k] + soft.start[vertex[0], k]
    return vertex


@compiled
def _cell_energy(soft: Table, cell: int, x: np.ndarray, h: float) -> float:
    _offsets(soft, cell, x)
    rate = soft.element_damping[soft.cell_element[cell]] / h
    total = 0.0
    width = 3 * soft.cell_corners[cell]
    for i in range(width):
        one = 0.0
        other = 0.0
        for j in range(width):
            one += soft.cell_turned[cell, i, j] * soft.offset[0, j]
            other += soft.cell_turned[cell, i, j] * soft.offset[1, j]
        total += 0.5 * (soft.offset[0, i] * one + rate * soft.offset[1, i] * other)
    return total


@compiled
def _add_cell(engine: Table, soft: Table, cell: int, whole: bool) -> None:
    h = engine.time.step
    vertex = _offsets(soft, cell, soft.now)
    turned = soft.cell_turned[cell]
    rate = soft.element_damping[soft.cell_element[cell]] / h
    scale = h * h * (1.0 + rate)
    corners = soft.cell_corners[cell]
    for a in range(corners):
        if is_fixed(engine, soft, vertex[a]):
            continue
        for k in range(3):
            value = 0.0
            for j in range(3 * corners):
                value += turned[3 * a + k, j] * (soft.offset[0, j] + rate * soft.offset[1, j])
            soft.slope_work[a, k] = h * h * value
        add_gradient(engine, soft, vertex[a], soft.slope_work[a])
    if not whole:
        return
    block = soft.small[0]
    for a in range(corners):
        for b in range(a + 1):
            for i in range(3):
                for j in range(3):
                    block[i, j] = scale * turned[3 * a + i, 3 * b + j]
            add_vertex_block(engine, soft, vertex[a], vertex[b], block)


@compiled
def quadratic_energy(soft: Table, x: np.ndarray, h: float) -> float:
    """Energy of cells, with what damping takes [J]."""
    total = 0.0
    for cell in range(soft.cell_element.size):
        total += _cell_energy(soft, cell, x, h)
    return total


@compiled
def add_quadratic_terms(engine: Table, soft: Table, whole: bool) -> None:
    """Add gradients, and with ``whole`` the Hessian."""
    for cell in range(soft.cell_element.size):
        _add_cell(engine, soft, cell, whole)
