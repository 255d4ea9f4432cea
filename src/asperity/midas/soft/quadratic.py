"""Quadratic energies: what cells of grids resist beyond their mean strain, and bending of cloth.

Cells bend by incompatible modes (`asperity.soft.elements`), along axes that turn with the cell from
step to step. What their stiffness is more than that of their mean strain vanishes for linear
deformations, so that frozen axes resist no rotation. Bending of flat cloth is quadratic in
positions (M. Bergou, M. Wardetzky, D. Harmon, D. Zorin, E. Grinspun, A quadratic bending model for
inextensible surfaces, 2006). Where cloth is curved at rest, a triangle with those beside it is a
cell as well: its stiffness vanishes for rotations of the shape at rest.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.soft.sites import add_block
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
    for a in range(8):
        for i in range(3):
            soft.cell_place[cell, 3 * a + i] = (
                r[i, 0] * rest[a, 0] + r[i, 1] * rest[a, 1] + r[i, 2] * rest[a, 2]
            )
    for a in range(8):
        for b in range(8):
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
    for a in range(8):
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
    for i in range(24):
        one = 0.0
        other = 0.0
        for j in range(24):
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
    for a in range(8):
        variable = soft.vertex_variable[vertex[a]]
        if variable < 0:
            continue
        for k in range(3):
            value = 0.0
            for j in range(24):
                value += turned[3 * a + k, j] * (soft.offset[0, j] + rate * soft.offset[1, j])
            engine.newton.gradient[variable + k] += h * h * value
    if not whole:
        return
    block = soft.small[0]
    for a in range(8):
        for b in range(a + 1):
            for i in range(3):
                for j in range(3):
                    block[i, j] = scale * turned[3 * a + i, 3 * b + j]
            add_block(
                engine.factor,
                soft.vertex_variable[vertex[a]],
                soft.vertex_variable[vertex[b]],
                block,
            )


@compiled
def quadratic_energy(soft: Table, x: np.ndarray, h: float) -> float:
    """Energy of cells and of bending, with what damping takes [J]."""
    total = 0.0
    for cell in range(soft.cell_element.size):
        total += _cell_energy(soft, cell, x, h)
    for b in range(soft.bend_damping.size):
        vertex = soft.bend_vertex[b]
        rate = soft.bend_damping[b] / h
        for i in range(6):
            p = vertex[i]
            for j in range(6):
                q = vertex[j]
                if p < 0 or q < 0 or soft.bend_matrix[b, i, j] == 0.0:
                    continue
                dot = 0.0
                for k in range(3):
                    one = x[p, k] - x[vertex[0], k]
                    two = x[q, k] - x[vertex[0], k]
                    dot += one * two
                    one -= soft.start[p, k] - soft.start[vertex[0], k]
                    two -= soft.start[q, k] - soft.start[vertex[0], k]
                    dot += rate * one * two
                total += 0.5 * soft.bend_matrix[b, i, j] * dot
    return total


@compiled
def _add_bend(engine: Table, soft: Table, b: int, whole: bool) -> None:
    h = engine.time.step
    x = soft.now
    vertex = soft.bend_vertex[b]
    rate = soft.bend_damping[b] / h
    small = soft.small[0]
    for i in range(6):
        p = vertex[i]
        if p < 0 or soft.vertex_variable[p] < 0:
            continue
        variable = soft.vertex_variable[p]
        for j in range(6):
            q = vertex[j]
            if q < 0:
                continue
            value = h * h * soft.bend_matrix[b, i, j]
            for k in range(3):
                at = x[q, k] - x[vertex[0], k]
                moved = at - soft.start[q, k] + soft.start[vertex[0], k]
                engine.newton.gradient[variable + k] += value * (at + rate * moved)
            if whole and j <= i and soft.vertex_variable[q] >= 0:
                for k in range(3):
                    for n in range(3):
                        small[k, n] = value * (1.0 + rate) if k == n else 0.0
                add_block(engine.factor, variable, soft.vertex_variable[q], small)


@compiled
def add_quadratic_terms(engine: Table, soft: Table, whole: bool) -> None:
    """Add gradients, and with ``whole`` the Hessian."""
    for cell in range(soft.cell_element.size):
        _add_cell(engine, soft, cell, whole)
    for b in range(soft.bend_damping.size):
        _add_bend(engine, soft, b, whole)
