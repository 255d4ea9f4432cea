"""Gradient and Hessian in the variables, by those in the links' coordinates.

Links are eliminated one after the other, those that are carried before those that carry them. With
Q = T Q_parent + E Z, where T has the position of a slide in it, a link's gradient g and Hessian
block H, which have what it carries in them already, give

    Eᵀg and EᵀHE   to its own variables,
    Tᵀg and TᵀHT   to its parent,
    EᵀHT           to the entries between its variables and the parent's coordinates,

and so do blocks between it and other links (`coupled_links`). Rows EᵀH of its variables go on along
the tree in the same way, X to XE in the entries with another link's variables and to XT of its
parent: that is Featherstone's composite rigid body algorithm (1987, chapter 7) for affine bodies. A
product of Jacobians over chains of variables would give the same, and take the length of the chains
as many times as long.

Rows are kept as columns, one after the other for every coordinate, so that they are multiplied as
vectors. Those that nothing gives anything to, since most pairs of links that are listed do not
touch, are neither filled nor handed on.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point, inlined
from asperity.compiled.vector_rows import add_products, set_products
from asperity.midas.energy.turn_terms import add_turn_blocks
from asperity.midas.engine_layout import BALL, FREE, POINT, SLIDE
from asperity.midas.factor.blocks import find_block
from asperity.midas.factor.outer_products import SYMMETRIC, expand, is_zero
from asperity.midas.model.coupled_links import pair_number
from asperity.midas.parts import PART
from asperity.midas.pose.joint_coordinates import add_angle_blocks, add_angle_gradient

__all__ = ["carry_gradient", "carry_part", "place_carries"]

# Names that compiled code can look up.
_add_8 = add_products[8]
_add_4 = add_products[4]
_set_8 = set_products[8]
_set_4 = set_products[4]

_LINE = 8 * 12  # of a block [bytes]


@compiled
def place_carries(links: Table, hessian: Table, z: np.ndarray, q: np.ndarray) -> None:
    """Fill T of every link, and how a slide's coordinate moves it."""
    for link in range(links.parent.size):
        for i in range(4):
            for j in range(4):
                hessian.carry[link, i, j] = links.transfer[link, i, j]
        if links.kind[link] != SLIDE:
            continue
        p = links.parent[link]
        s = z[links.variable[link]]
        for k in range(3):
            hessian.carry[link, 0, 1 + k] += s * links.slide_direction[link, k]
            hessian.slide_motion[link, k] = 0.0
            for j in range(3):
                hessian.slide_motion[link, k] += links.slide_direction[link, j] * q[p, 1 + j, k]


@compiled
def carry_gradient(engine: Table, q: np.ndarray, gradient: np.ndarray) -> None:
    """Fill the gradient in the variables; those of links get what they carry."""
    by_q = engine.newton.link_gradient
    links = engine.links.parent.size
    for back in range(links):
        link = links - 1 - back
        joint = engine.links.joint[link]
        if joint >= 0:
            add_angle_gradient(engine, joint, q, engine.joints.slope[joint], by_q)
        first = engine.links.variable[link]
        if engine.links.kind[link] == SLIDE:
            gradient[first] = engine.joints.slope[joint]
            for k in range(3):
                gradient[first] += engine.hessian.slide_motion[link, k] * by_q[link, 0, k]
        elif engine.links.kind[link] == FREE:
            for i in range(4):
                for k in range(3):
                    gradient[first + 3 * i + k] = by_q[link, i, k]
        else:
            for point in range((engine.links.variable[link + 1] - first) // 3):
                for k in range(3):
                    value = 0.0
                    for i in range(4):
                        value += engine.links.embedding[link, i, point] * by_q[link, i, k]
                    gradient[first + 3 * point + k] = value
        p = engine.links.parent[link]
        if p < links:
            for j in range(4):
                for k in range(3):
                    for i in range(4):
                        by_q[p, j, k] += engine.hessian.carry[link, i, j] * by_q[link, i, k]


@inlined
def _add_multiples(
    target: int, left: int, step: int, right: int, stride: int, n: int, width: int
) -> None:
    """``target[:width] += Σ_k left[k] · right[k][:width]``, for a width of 8 or 12."""
    _add_8(target, left, step, right, stride, n)
    if width > 8:
        _add_4(target + 64, left, step, right + 64, stride, n)


@inlined
def _set_multiples(
    target: int, left: int, step: int, right: int, stride: int, n: int, width: int
) -> None:
    """``target[:width] = Σ_k left[k] · right[k][:width]``, for a width of 8 or 12."""
    _set_8(target, left, step, right, stride, n)
    if width > 8:
        _set_4(target + 64, left, step, right + 64, stride, n)


@compiled
def _hand_to_parent(hessian: Table, link: int, source: int, target: int, width: int) -> None:
    """Add Tᵀ times a link's lines to its parent's, both at addresses."""
    carry = hessian.carry[link].ctypes.data
    for j in range(4):
        for k in range(3):
            _add_multiples(
                target + _LINE * (3 * j + k),
                carry + 8 * j,
                32,
                source + _LINE * k,
                3 * _LINE,
                4,
                width,
            )


@inlined
def _points(kind: int) -> int:
    """How many vectors are the variables of a ball joint, a hinge or a vertex."""
    return 3 if kind == BALL else (1 if kind == POINT else 2)


@compiled
def _times_own(links: Table, hessian: Table, link: int, line: np.ndarray, out: np.ndarray) -> None:
    """Add a line of 12 numbers times E, or what a slide has in its place."""
    kind = links.kind[link]
    if kind == FREE:
        for i in range(12):
            out[i] += line[i]
    elif kind == SLIDE:
        for k in range(3):
            out[0] += hessian.slide_motion[link, k] * line[k]
    else:
        for point in range(_points(kind)):
            for k in range(3):
                for i in range(4):
                    out[3 * point + k] += links.embedding[link, i, point] * line[3 * i + k]


@compiled
def _clear(block: np.ndarray) -> None:
    for i in range(12):
        for j in range(12):
            block[i, j] = 0.0


@compiled
def _enter(factor: Table, link: int, other: int, values: np.ndarray) -> None:
    """Write the entries of a link's variables with another's, which come in lines of its own."""
    size = factor.tree_size[link]
    size_too = factor.tree_size[other]
    if factor.position[link] <= factor.position[other]:
        at = find_block(factor, link, other)
        step = factor.row_step[link]
        for r in range(size):
            for c in range(size_too):
                factor.values[at + r * step + c] = values[c, r]
    else:
        at = find_block(factor, other, link)
        step = factor.row_step[other]
        for c in range(size_too):
            for r in range(size):
                factor.values[at + c * step + r] = values[c, r]


@compiled
def _enter_rows(engine: Table, link: int, other: int, width: int) -> None:
    """Enter a link's rows, of which those in another link's coordinates are complete."""
    rows = engine.hessian.link_rows[other]
    kind = engine.links.kind[other]
    if kind == FREE:
        _enter(engine.factor, link, other, rows)
        return
    values = engine.work.block_work[2]
    if kind == SLIDE:
        _set_multiples(
            values.ctypes.data,
            engine.hessian.slide_motion[other].ctypes.data,
            8,
            rows.ctypes.data,
            _LINE,
            3,
            width,
        )
        _enter(engine.factor, link, other, values)
        return
    embedding = engine.links.embedding[other].ctypes.data
    for point in range(_points(kind)):
        for k in range(3):
            _set_multiples(
                values.ctypes.data + _LINE * (3 * point + k),
                embedding + 8 * point,
                32,
                rows.ctypes.data + _LINE * k,
                3 * _LINE,
                4,
                width,
            )
    _enter(engine.factor, link, other, values)


@inlined
def _carried(hessian: Table, link: int, sums: np.ndarray, q: int, a: int, j: int) -> float:
    """One number of a block's columns, carried from a link to its parent."""
    value = 0.0
    for b in range(4):
        value += sums[q, 4 * a + b] * hessian.carry[link, b, j]
    return value


@compiled
def _hand_pair_on(links: Table, hessian: Table, link: int, other: int, sums: np.ndarray) -> None:
    """Add to a parent's block with another link what a link's is part of."""
    p = links.parent[link]
    if p == other:
        # Both sides are the same now: the block and its transpose.
        for q in range(sums.shape[0]):
            sign = 1.0 if q < SYMMETRIC else -1.0
            for a in range(4):
                for j in range(4):
                    value = _carried(hessian, link, sums, q, a, j)
                    hessian.link_sums[p, q, 4 * a + j] += value
                    hessian.link_sums[p, q, 4 * j + a] += sign * value
        return
    target = hessian.slot_sums[pair_number(hessian, p, other)]
    for q in range(sums.shape[0]):
        sign = 1.0 if q < SYMMETRIC or other < p else -1.0
        for a in range(4):
            for j in range(4):
                value = sign * _carried(hessian, link, sums, q, a, j)
                target[q, 4 * a + j if other < p else 4 * j + a] += value


@compiled
def _use_rows(hessian: Table, other: int) -> np.ndarray:
    """The rows in another link's coordinates, which are zero at first."""
    if hessian.rows_used[other] == 0:
        _clear(hessian.link_rows[other])
        hessian.rows_used[other] = 1
    return hessian.link_rows[other]


@compiled
def _add_pairs(engine: Table, link: int) -> None:
    """Add the rows of a link that come of its blocks with others, and hand those on."""
    block = engine.work.block_work[0]
    links = engine.links.parent.size
    pair = engine.hessian.slot_first[link]
    while pair >= 0:
        other = engine.hessian.slot_link[pair, 0]
        sums = engine.hessian.slot_sums[pair]
        pair = engine.hessian.slot_next[pair]
        if is_zero(sums):
            continue
        _clear(block)
        expand(sums, block)
        rows = _use_rows(engine.hessian, other)
        for i in range(12):
            _times_own(engine.links, engine.hessian, link, block[i], rows[i])
        if engine.links.parent[link] < links:
            _hand_pair_on(engine.links, engine.hessian, link, other, sums)


@compiled
def _hand_block_on(engine: Table, link: int, cross: np.ndarray) -> None:
    """Add TᵀHT + TᵀC + CᵀT to the parent's block, C being what joints put between the two."""
    block = engine.hessian.link_block[link]
    turned = engine.work.block_work[1]
    half = engine.work.block_work[2]
    _clear(turned)
    _hand_to_parent(engine.hessian, link, block.ctypes.data, turned.ctypes.data, 12)
    # TᵀH + 2Cᵀ, times T, has the sought sum for its symmetric part.
    for i in range(12):
        for j in range(12):
            half[i, j] = turned[j, i] + 2.0 * cross[j, i]
    _clear(turned)
    _hand_to_parent(engine.hessian, link, half.ctypes.data, turned.ctypes.data, 12)
    target = engine.hessian.link_block[engine.links.parent[link]]
    for i in range(12):
        for j in range(12):
            target[i, j] += 0.5 * (turned[i, j] + turned[j, i])


@compiled
def _begin_rows(engine: Table, link: int, q: np.ndarray) -> None:
    """Fill a link's rows in coordinates, and hand its blocks on."""
    hessian = engine.hessian
    p = engine.links.parent[link]
    joint = engine.links.joint[link]
    cross = engine.work.block_work[0]
    for at in range(hessian.entry_start[link], hessian.entry_start[link + 1]):
        # Of what is listed, and touches not, the other may be in another thread's hands.
        if engine.factor.link_island[hessian.entry_link[at]] == engine.factor.link_island[link]:
            hessian.rows_used[hessian.entry_link[at]] = 0
    own = _use_rows(hessian, link)
    block = hessian.link_block[link]
    expand(hessian.link_sums[link], block)
    _clear(cross)
    if joint >= 0:
        add_angle_blocks(engine, joint, q, cross)
    add_turn_blocks(engine, link, q, cross)
    for i in range(12):
        _times_own(engine.links, hessian, link, block[i], own[i])
    if p < engine.links.parent.size:
        _hand_block_on(engine, link, cross)
        rows = _use_rows(hessian, p)
        for i in range(3, 12):
            _times_own(engine.links, hessian, link, cross[i], rows[i])
        if engine.newton.curved == 1 and engine.links.kind[link] == SLIDE:
            # A slide's direction turns with the parent.
            for j in range(3):
                for k in range(3):
                    rows[3 * (1 + j) + k, 0] += (
                        engine.links.slide_direction[link, j]
                        * engine.newton.link_gradient[link, 0, k]
                    )
    _add_pairs(engine, link)


@compiled
def _enter_vertex(factor: Table, hessian: Table, link: int) -> None:
    """Enter the block of a vertex: its first coordinates are its variables, and nothing else is."""
    block = hessian.link_block[link]
    sums = hessian.link_sums[link]
    at = factor.diagonal_at[link]
    row = 0
    for i in range(3):
        for j in range(i, 3):
            factor.values[at + j] = block[i, j] + sums[row, 0]
            row += 1
        at += factor.row_step[link]


@entry_point(PART)
def carry_part(engine: Table, island: int, _member: int, _unused: int) -> int:
    """Fill an island's Hessian in the variables, but for what couples coordinates of joints.

    Gradients of links must have what these carry in them; their blocks get it.
    """
    factor = engine.factor
    links = engine.links.parent.size
    for place in range(factor.island_link[island], factor.island_link[island + 1]):
        link = factor.island_order[place]
        if engine.links.kind[link] == POINT and engine.hessian.slot_first[link] < 0:
            _enter_vertex(factor, engine.hessian, link)
            continue
        width = 8 if engine.links.kind[link] > BALL else 12
        _begin_rows(engine, link, engine.poses.q_now)
        for at in range(engine.hessian.entry_start[link], engine.hessian.entry_start[link + 1]):
            other = engine.hessian.entry_link[at]
            if factor.link_island[other] != island or engine.hessian.rows_used[other] == 0:
                continue
            _enter_rows(engine, link, other, width)
            p = engine.links.parent[other]
            if p < links:
                source = engine.hessian.link_rows[other].ctypes.data
                _hand_to_parent(
                    engine.hessian, other, source, _use_rows(engine.hessian, p).ctypes.data, width
                )
        if engine.links.kind[link] == SLIDE:
            factor.values[factor.diagonal_at[link]] += engine.joints.stiffening[
                engine.links.joint[link]
            ]
    return 0
