"""Sites of a contact: what moves its points, and blocks of the Hessian between them.

A contact of deformable bodies has a vector between its closest points of Σ y Q over at most four
sites: vertices, which are links of their own with y = [c, 0, 0, 0], and at most one rigid link,
with y = Σ c [1, x̄] over its vertices. What is fixed in the world is no site.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.energy.outer_products import add_outer
from asperity.midas.engine_layout import FREE
from asperity.midas.geometry.stencil import VERTEX_PLANE

__all__ = [
    "add_block",
    "add_site_blocks",
    "add_site_gradients",
    "add_site_sums",
    "add_symmetric",
    "fill_sites",
]


@compiled
def _add(factor: Table, row: int, column: int, value: float) -> None:
    i = max(row, column)
    j = min(row, column)
    factor.values[factor.row_start[i] + j - factor.row_first[i]] += value


@compiled
def add_block(factor: Table, one: int, other: int, block: np.ndarray) -> None:
    """Add a 3 × 3 block between two vertices, by their first variables; −1 of what is fixed."""
    if one < 0 or other < 0:
        return
    for i in range(3):
        row = factor.variable_row[one + i]
        for j in range(i + 1 if one == other else 3):
            _add(factor, row, factor.variable_row[other + j], block[i, j])


@compiled
def fill_sites(engine: Table, soft: Table, i: int, s: int) -> int:
    """Fill row ``s`` with the sites of a candidate measured at the iterate; returns how many."""
    world = engine.links.parent.size
    count = 0
    rigid = -1
    weight = soft.site_weight[s]
    for corner in range(1 if soft.kind[i] == VERTEX_PLANE else 4):
        v = soft.vertex[i, corner]
        c = soft.coefficient[i, corner]
        if soft.vertex_link[v] == world:
            continue
        if soft.vertex_variable[v] < 0 and rigid >= 0:
            for j in range(4):
                weight[rigid, j] += c * soft.vertex_rest[v, j]
            continue
        if soft.vertex_variable[v] < 0:
            rigid = count
        soft.site_link[s, count] = soft.vertex_link[v]
        soft.site_variable[s, count] = soft.vertex_variable[v]
        for j in range(4):
            weight[count, j] = c * soft.vertex_rest[v, j]
        count += 1
    soft.sites[s] = count
    return count


@compiled
def add_site_gradients(engine: Table, soft: Table, s: int, g0: float, g1: float, g2: float) -> None:
    """Add y ⊗ g to the gradients of all sites' links."""
    gradient = engine.newton.link_gradient
    for site in range(soft.sites[s]):
        link = soft.site_link[s, site]
        for j in range(4):
            y = soft.site_weight[s, site, j]
            gradient[link, j, 0] += y * g0
            gradient[link, j, 1] += y * g1
            gradient[link, j, 2] += y * g2


@compiled
def add_site_sums(engine: Table, soft: Table, s: int, h: np.ndarray) -> None:
    """Add y yᵀ ⊗ H to the block of a rigid link among the sites; H by its upper triangle."""
    for site in range(soft.sites[s]):
        if soft.site_variable[s, site] < 0:
            y = soft.site_weight[s, site]
            add_outer(engine.hessian.link_sums[soft.site_link[s, site]], y, y, h)


@compiled
def _symmetric(h: np.ndarray, i: int, j: int) -> float:
    a = min(i, j)
    return h[j + i if a == 0 else j + i + 1]


@compiled
def add_symmetric(factor: Table, one: int, other: int, scale: float, h: np.ndarray) -> None:
    """Add scale · H between two vertices."""
    for i in range(3):
        row = factor.variable_row[one + i]
        for j in range(i + 1 if one == other else 3):
            _add(factor, row, factor.variable_row[other + j], scale * _symmetric(h, i, j))


@compiled
def _add_with_rigid(
    engine: Table, variable: int, scale: float, h: np.ndarray, link: int, y: np.ndarray
) -> None:
    """Add scale · H ∂(yQ)/∂z between a vertex and the variables that move a rigid link."""
    links = engine.links
    factor = engine.factor
    start = links.chain_start[link]
    for column in range(links.chain_start[link + 1] - start):
        to = factor.variable_row[links.chain_variable[start + column]]
        for i in range(3):
            value = 0.0
            if links.kind[link] == FREE:
                value = _symmetric(h, i, column % 3) * y[column // 3]
            else:
                for k in range(3):
                    rate = 0.0
                    for j in range(4):
                        rate += y[j] * links.jacobian[start + column, j, k]
                    value += _symmetric(h, i, k) * rate
            _add(factor, factor.variable_row[variable + i], to, scale * value)


@compiled
def add_site_blocks(engine: Table, soft: Table, s: int, h: np.ndarray) -> None:
    """Add c_i c_j H between vertices, and what couples them to a rigid link."""
    variable = soft.site_variable[s]
    weight = soft.site_weight[s]
    for one in range(soft.sites[s]):
        if variable[one] < 0:
            continue
        for other in range(soft.sites[s]):
            if variable[other] < 0:
                link = soft.site_link[s, other]
                _add_with_rigid(engine, variable[one], weight[one, 0], h, link, weight[other])
            elif other <= one:
                scale = weight[one, 0] * weight[other, 0]
                add_symmetric(engine.factor, variable[one], variable[other], scale, h)
