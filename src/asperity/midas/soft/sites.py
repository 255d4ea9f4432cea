"""Sites of a contact: what moves its points, and blocks of the Hessian between them.

A contact of deformable bodies has a vector between its closest points of Σ y Q over sites, at most
four without interpolated flexes: vertices or nodes, which are links of their own with y =
[c, 0, 0, 0], and rigid links, with y = Σ c [1, x̄] over their vertices. What is fixed in the world
is no site. Rigid are links of shapes, and those that vertices of flexes are pinned to.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.midas.engine_layout import FREE
from asperity.midas.factor.blocks import add_block, find_shared, place_within
from asperity.midas.factor.outer_products import add_outer
from asperity.midas.geometry.stencil import VERTEX_PLANE

__all__ = [
    "add_gradient",
    "add_site_blocks",
    "add_site_gradients",
    "add_site_sums",
    "add_vertex_block",
    "fill_sites",
    "is_exact",
    "is_fixed",
]


@compiled
def is_exact(newton: Table) -> bool:
    """Whether the Hessian has its negative parts: near the solution, unless it was indefinite."""
    return newton.curved == 1 and newton.nearly_rigid == 1


@compiled
def is_fixed(engine: Table, soft: Table, v: int) -> bool:
    """Whether a vertex is fixed in the world."""
    return soft.vertex_link[v] == engine.links.parent.size


@compiled
def _columns(links: Table, link: int, variable: int) -> int:
    """How many variables move a vertex, which is some itself, or is on a rigid link."""
    return 3 if variable >= 0 else links.chain_start[link + 1] - links.chain_start[link]


@compiled
def _variable(links: Table, link: int, variable: int, column: int) -> int:
    return (
        variable + column
        if variable >= 0
        else links.chain_variable[links.chain_start[link] + column]
    )


@compiled
def _rate(links: Table, link: int, variable: int, y: np.ndarray, column: int, k: int) -> float:
    """By how much a variable moves y Q along an axis."""
    if variable >= 0:
        return y[0] if column == k else 0.0
    if links.kind[link] == FREE:
        return y[column // 3] if column % 3 == k else 0.0
    value = 0.0
    for j in range(4):
        value += y[j] * links.jacobian[links.chain_start[link] + column, j, k]
    return value


@compiled
def _add_pinned_gradient(engine: Table, soft: Table, v: int, g: np.ndarray) -> None:
    if is_fixed(engine, soft, v):
        return
    links = engine.links
    link = soft.vertex_link[v]
    for column in range(_columns(links, link, -1)):
        at = _variable(links, link, -1, column)
        for k in range(3):
            engine.newton.gradient[at] += (
                _rate(links, link, -1, soft.vertex_rest[v], column, k) * g[k]
            )


@inlined
def add_gradient(engine: Table, soft: Table, v: int, g: np.ndarray) -> None:
    """Add the gradient in a vertex's position to that in the variables that move it."""
    variable = soft.vertex_variable[v]
    if variable >= 0:
        for k in range(3):
            engine.newton.gradient[variable + k] += g[k]
    else:
        _add_pinned_gradient(engine, soft, v, g)


@compiled
def _add_between(
    engine: Table,
    link: int,
    variable: int,
    y: np.ndarray,
    other: int,
    variable_too: int,
    y_too: np.ndarray,
    block: np.ndarray,
) -> None:
    """Add a 3 × 3 block between two places, and its transpose, to entries of their variables."""
    links = engine.links
    factor = engine.factor
    for column_too in range(_columns(links, other, variable_too)):
        at = _variable(links, other, variable_too, column_too)
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        for k in range(3):
            rate_too = _rate(links, other, variable_too, y_too, column_too, k)
            s0 += block[0, k] * rate_too
            s1 += block[1, k] * rate_too
            s2 += block[2, k] * rate_too
        # Variables of one link follow each other.
        seen = -1
        begin = 0
        for column in range(_columns(links, link, variable)):
            row = _variable(links, link, variable, column)
            if factor.variable_link[row] != seen:
                seen = factor.variable_link[row]
                begin = find_shared(factor, row, at)
            value = (
                _rate(links, link, variable, y, column, 0) * s0
                + _rate(links, link, variable, y, column, 1) * s1
                + _rate(links, link, variable, y, column, 2) * s2
            )
            place = begin + place_within(factor, row, at)
            factor.values[place] += 2.0 * value if row == at else value


@compiled
def _add_pinned_block(engine: Table, soft: Table, one: int, other: int, block: np.ndarray) -> None:
    if is_fixed(engine, soft, one) or is_fixed(engine, soft, other):
        return
    scale = 0.5 if one == other else 1.0
    for i in range(3):
        for j in range(3):
            soft.pinned_block[i, j] = scale * block[i, j]
    _add_between(
        engine,
        soft.vertex_link[one],
        soft.vertex_variable[one],
        soft.vertex_rest[one],
        soft.vertex_link[other],
        soft.vertex_variable[other],
        soft.vertex_rest[other],
        soft.pinned_block,
    )


@inlined
def add_vertex_block(engine: Table, soft: Table, one: int, other: int, block: np.ndarray) -> None:
    """Add a 3 × 3 block between two vertices, or of one with itself."""
    if soft.vertex_variable[one] >= 0 and soft.vertex_variable[other] >= 0:
        add_block(engine.factor, soft.vertex_link[one], soft.vertex_link[other], 1.0, block)
    else:
        _add_pinned_block(engine, soft, one, other, block)


@compiled
def _add_site(engine: Table, soft: Table, s: int, count: int, v: int, c: float) -> int:
    """Add a vertex with a weight to the sites of a row, of which there are ``count``."""
    if is_fixed(engine, soft, v):
        return count
    weight = soft.site_weight[s]
    same = 0
    while same < count and soft.site_link[s, same] != soft.vertex_link[v]:
        same += 1
    if same < count:
        for j in range(4):
            weight[same, j] += c * soft.vertex_rest[v, j]
        return count
    soft.site_link[s, count] = soft.vertex_link[v]
    soft.site_variable[s, count] = soft.vertex_variable[v]
    for j in range(4):
        weight[count, j] = c * soft.vertex_rest[v, j]
    return count + 1


@compiled
def fill_sites(engine: Table, soft: Table, i: int, s: int) -> int:
    """Fill row ``s`` with the sites of a candidate measured at the iterate; returns how many."""
    count = 0
    for corner in range(1 if soft.kind[i] == VERTEX_PLANE else 4):
        v = soft.vertex[i, corner]
        c = soft.coefficient[i, corner]
        if soft.node_first[v] == soft.node_first[v + 1]:
            count = _add_site(engine, soft, s, count, v, c)
        for n in range(soft.node_first[v], soft.node_first[v + 1]):
            count = _add_site(engine, soft, s, count, soft.node[n], c * soft.node_weight[n])
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
    """Add y yᵀ ⊗ H to blocks of rigid links among the sites; H by its upper triangle."""
    for site in range(soft.sites[s]):
        if soft.site_variable[s, site] < 0:
            y = soft.site_weight[s, site]
            add_outer(engine.hessian.link_sums[soft.site_link[s, site]], y, y, h)


@compiled
def _symmetric(h: np.ndarray, i: int, j: int) -> float:
    a = min(i, j)
    return h[j + i if a == 0 else j + i + 1]


@compiled
def add_site_blocks(engine: Table, soft: Table, s: int, h: np.ndarray) -> None:
    """Add c_i c_j H between vertices, and what couples them to rigid links, and these."""
    variable = soft.site_variable[s]
    weight = soft.site_weight[s]
    link = soft.site_link[s]
    block = soft.pinned_block
    for i in range(3):
        for j in range(3):
            block[i, j] = _symmetric(h, i, j)
    for one in range(soft.sites[s]):
        for other in range(one + 1):
            if variable[one] >= 0 and variable[other] >= 0:
                scale = weight[one, 0] * weight[other, 0]
                add_block(engine.factor, link[one], link[other], scale, block)
                continue
            if other == one:
                continue
            _add_between(
                engine,
                link[one],
                variable[one],
                weight[one],
                link[other],
                variable[other],
                weight[other],
                block,
            )
