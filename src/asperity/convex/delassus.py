"""Contacts of articulated trees in their own coordinates: the Delassus operator W = J B⁻¹ Jᵀ.

B = L Lᵀ is the base of `contact_space`: the mass matrix with what scalar constraints add to it at
first. A column of U = L⁻¹ Jᵀ belongs to a coordinate, one per row of a contact and per constraint
whose curvature has changed since, and W = Uᵀ U. Columns of Jᵀ are zero but on the paths from links
to the world: only chains there are eliminated.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled, inlined
from asperity.compiled.calls import call_pp_status
from asperity.compiled.row_kernels import subtract_rows
from asperity.convex.chain_cholesky import substitute_rows, subtract_block
from asperity.convex.chains import path_chains
from asperity.convex.contact_rows import row_of, width
from asperity.convex.ellipsoids import contact_row
from asperity.convex.hessian_assembly import add_rows, begin_tree
from asperity.convex.potentials.rows import row_is_linear
from asperity.convex.problem import UNCOUPLED
from asperity.convex.problem_layout import MOST_COORDINATES

__all__ = ["STRIDE", "add_changing_rows", "begin_contact_space", "follow_rows"]

STRIDE = 8 * MOST_COORDINATES
"""Bytes from a row of W, or of the columns, to the next."""


@inlined
def _fill_contact(
    graph: Table, scratch: Table, contacts: Table, i: int, rows: int, at: int
) -> None:
    """Fill the columns of Jᵀ of one contact, and note their chains."""
    response = scratch.response
    c = graph.contact[i]
    for side in range(2):
        link = contacts.link[c, side]
        if link < 0:
            continue
        arm = contacts.arm_a if side == 0 else contacts.arm_b
        sign = -1.0 if side == 0 else 1.0
        first = contacts.link_start[link]
        last = first + contacts.link_size[link]
        tree = contacts.link_tree[link]
        start = scratch.response_start[tree]
        # From a dof to its row.
        shift = start - graph.tree_start[tree]
        spatial = graph.tree_spatial[tree] == 1
        if spatial:
            scratch.response_chains[tree] = 1
        elif last > first:
            scratch.response_chains[tree] |= path_chains(
                graph.chains, tree, contacts.chain_dof[first]
            )
        for k in range(rows):
            row = contact_row(contacts, c, arm, row_of(rows, k))
            if spatial:
                for e in range(6):
                    response[start + e, at + k] += sign * row[e]
                continue
            mx, my, mz, x, y, z = row
            for e in range(first, last):
                column = contacts.chain_column[e]
                response[contacts.chain_dof[e] + shift, at + k] += sign * (
                    (mx * column[0] + my * column[1])
                    + (mz * column[2] + x * column[3])
                    + (y * column[4] + z * column[5])
                )


@compiled
def _eliminate(
    graph: Table, hessian: Table, scratch: Table, tree: int, at: int, width: int, mask: int
) -> None:
    """U = L⁻¹ Jᵀ for some columns, which are zero but in the chains of a mask."""
    chains = graph.chains
    stride = 8 * graph.tree_size[tree]
    block = hessian.factor.ctypes.data + 8 * graph.block_start[tree]
    inverse = hessian.factor_inverse_diagonal.ctypes.data + 8 * graph.tree_start[tree]
    columns = scratch.response.ctypes.data + scratch.response_start[tree] * STRIDE + 8 * at
    base = chains.start[tree]
    for chain in range(chains.start[tree + 1] - 1, base - 1, -1):
        if not mask >> (chain - base) & 1:
            continue
        mask |= chains.neighbours[chain]
        first = chains.first[chain]
        n = chains.size[chain]
        rows = block + first * stride
        own = columns + first * STRIDE
        substitute_rows(rows + 8 * first, stride, n, inverse + 8 * first, own, STRIDE, width)
        spans = chains.span_start[chain]
        for s in range(spans, spans + chains.fill_spans[chain]):
            to = chains.fill_span[s, 0]
            subtract_block(
                columns + to * STRIDE,
                STRIDE,
                rows + 8 * to,
                stride,
                chains.fill_span[s, 1],
                own,
                STRIDE,
                width,
                n,
            )


@compiled
def _extend_delassus(scratch: Table, first: int) -> None:
    """Fill −W from a coordinate on."""
    columns = scratch.response.ctypes.data
    w = scratch.delassus
    count = scratch.coordinates
    for a in range(first, count):
        for b in range(a + 1):
            w[a, b] = 0.0
        subtract_rows(
            w.ctypes.data + a * STRIDE,
            columns + 8 * a,
            STRIDE,
            columns,
            STRIDE,
            scratch.response_rows,
            a + 1,
        )
        for b in range(a + 1):
            w[b, a] = w[a, b]


@compiled
def _clear_columns(scratch: Table, first: int, last: int) -> None:
    for i in range(scratch.response_rows):
        for k in range(first, last):
            scratch.response[i, k] = 0.0


@compiled
def _factorize_base(problem: Table, rows: Table) -> bool:
    """Factorize the trees' matrices: without contacts nothing couples them."""
    graph, hessian, at_hand = problem.graph, problem.hessian, problem.at_hand
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = graph.island_tree[index]
        begin_tree(graph, problem.smooth, hessian, tree)
        hessian.factor_island[tree] = 0
    add_rows(graph, problem.iterate, hessian, rows, at_hand.first_row, at_hand.last_row)
    return call_pp_status(problem.entries.factorize, problem, UNCOUPLED) != 0


@compiled
def begin_contact_space(problem: Table, contacts: Table, rows: Table) -> bool:
    """Factorize the base with the present curvatures of rows, and make U and W of contacts."""
    hessian, at_hand = problem.hessian, problem.at_hand
    graph, scratch = problem.graph, problem.scratch
    scratch.base_tree = 0
    if not _factorize_base(problem, rows):
        return False
    problem.counts.factorizations += 1
    scratch.base_tree = graph.island_tree[at_hand.first_tree] + 1
    size = 0
    for index in range(at_hand.first_tree, at_hand.last_tree):
        tree = graph.island_tree[index]
        scratch.response_start[tree] = size
        scratch.response_chains[tree] = 0
        size += graph.tree_size[tree]
    scratch.response_rows = size
    for i in range(at_hand.first_row, at_hand.last_row):
        hessian.row_base[i] = problem.iterate.row_curvature[i]
        hessian.row_coordinate[i] = -1
    count = 0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        count += width(graph, i)
    scratch.coordinates = count
    scratch.contact_coordinates = count
    if count > 0:
        _clear_columns(scratch, 0, count)
        at = 0
        for i in range(at_hand.first_contact, at_hand.last_contact):
            # A constant number of rows makes loops without branches.
            if width(graph, i) == 3:
                _fill_contact(graph, scratch, contacts, i, 3, at)
            else:
                _fill_contact(graph, scratch, contacts, i, width(graph, i), at)
            at += width(graph, i)
        for index in range(at_hand.first_tree, at_hand.last_tree):
            tree = graph.island_tree[index]
            _eliminate(graph, hessian, scratch, tree, 0, count, scratch.response_chains[tree])
        _extend_delassus(scratch, 0)
    return True


@compiled
def _add_row(problem: Table, rows: Table, i: int) -> None:
    """Give a coordinate to a row."""
    graph, scratch = problem.graph, problem.scratch
    at = scratch.coordinates
    _clear_columns(scratch, at, at + 1)
    mask = 0
    r = graph.row[i]
    tree = rows.tree[r, 0]
    shift = scratch.response_start[tree] - graph.tree_start[tree]
    for e in range(rows.start[r, 0], rows.start[r, 2]):
        dof = rows.dof[e]
        scratch.response[dof + shift, at] = rows.jacobian[e]
        mask |= 1 << graph.chains.of_dof[dof]
    _eliminate(graph, problem.hessian, scratch, tree, at, 1, mask)
    problem.hessian.row_coordinate[i] = at
    scratch.coordinates = at + 1


@compiled
def follow_rows(problem: Table, rows: Table) -> bool:
    """Give coordinates to rows whose curvature is not that of the base; False if there are none."""
    hessian, scratch = problem.hessian, problem.scratch
    first = scratch.coordinates
    for i in range(problem.at_hand.first_row, problem.at_hand.last_row):
        if (
            problem.iterate.row_curvature[i] == hessian.row_base[i]
            or hessian.row_coordinate[i] >= 0
        ):
            continue
        if scratch.coordinates == MOST_COORDINATES:
            return False
        _add_row(problem, rows, i)
    _extend_delassus(scratch, first)
    return True


@compiled
def add_changing_rows(problem: Table, rows: Table) -> bool:
    """Give coordinates to rows that change along ``row_du``; False if there are too few."""
    scratch, at_hand = problem.scratch, problem.at_hand
    first = scratch.coordinates
    for i in range(at_hand.first_row, at_hand.last_row):
        if row_is_linear(problem.law, problem.iterate, i):
            continue
        if scratch.coordinates == MOST_COORDINATES:
            for row in range(at_hand.first_row, i):
                if problem.hessian.row_coordinate[row] >= first:
                    problem.hessian.row_coordinate[row] = -1
            scratch.coordinates = first
            return False
        _add_row(problem, rows, i)
    _extend_delassus(scratch, first)
    return True
