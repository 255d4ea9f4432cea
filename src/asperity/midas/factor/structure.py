"""Which entries the factor of the reduced Hessian has, and in which order links are eliminated.

Links have an entry with those that carry them, and so have both chains of a pair that touches, or
that something else couples. Links are eliminated in the order of minimum degree: children before
their parents, so that the rows of a finger know nothing of the other fingers (Featherstone 2005,
branch-induced sparsity), unless they touch. Vertices of deformable bodies come first: those of
cloth and ropes, then those of volumes, by nested dissection (`asperity.soft.dissection`), which
would cost cloth that has folds 1.5 times the operations. Factors are stored in panels, as those of
particles in convex problems are: to `asperity.convex.elimination` and `asperity.convex.particles`,
links are trees.

All of this is found again when other pairs touch than before. It depends on these pairs alone, and
not on the order in which they are listed.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.bits import lowest_bit
from asperity.convex.elimination import (
    clear_couplings,
    couple,
    eliminate,
    order_by_subtrees,
    sort_column,
)
from asperity.convex.particles.panels import SPARE, find_columns, list_island, list_updates
from asperity.midas.engine_layout import FACTOR_FULL
from asperity.midas.factor.islands import divide_into_islands
from asperity.midas.factor.outer_products import is_zero

__all__ = ["arrange"]

# Share of the room that is left for the pairs of a rebound, which comes too late to grow.
_SPARE = 0.25


@compiled
def _note(factor: Table, at: int, one: int, other: int) -> bool:
    """Note a pair of links, and say whether there was another one in its place."""
    pair = factor.pair_link[at]
    if pair[0] == one and pair[1] == other:
        return False
    pair[0] = one
    pair[1] = other
    return True


@compiled
def _note_pairs(engine: Table) -> bool:
    """Note the pairs that have a block, and say whether they are others than those before."""
    factor = engine.factor
    count = 0
    changed = False
    for slot in range(engine.hessian.slots):
        if not is_zero(engine.hessian.slot_sums[slot]):
            pair = engine.hessian.slot_link[slot]
            changed = _note(factor, count, pair[0], pair[1]) or changed
            count += 1
    for i in range(engine.soft.pairs):
        pair = engine.soft.pair_link[i]
        changed = _note(factor, count, pair[0], pair[1]) or changed
        count += 1
    changed = changed or count != factor.pairs
    factor.pairs = count
    return changed


@compiled
def _couple_chains(factor: Table, parent: np.ndarray, one: int, other: int) -> None:
    """Couple two links and all that carry them."""
    a = one
    while a < parent.size:
        b = other
        while b < parent.size:
            couple(factor, a, b)
            b = parent[b]
        a = parent[a]


@compiled
def _couple_links(engine: Table) -> None:
    """Mark all links that have entries with each other, and fill their degrees."""
    factor = engine.factor
    parent = engine.links.parent
    clear_couplings(factor)
    for link in range(parent.size):
        above = parent[link]
        while above < parent.size:
            couple(factor, link, above)
            above = parent[above]
    crossing = engine.joints.crossing_link
    for i in range(crossing.shape[0]):
        _couple_chains(factor, parent, crossing[i, 0], crossing[i, 1])
    for i in range(factor.pairs):
        _couple_chains(factor, parent, factor.pair_link[i, 0], factor.pair_link[i, 1])
    # With their own size no degree is less than that of a link which one carries.
    apart = 2 * engine.newton.gradient.size
    for link in range(parent.size):
        factor.degree[link] += factor.tree_size[link] + apart * factor.rank[link]


@compiled
def _list_components(factor: Table) -> int:
    """List links that hang together by entries side by side in the order; how many such parts."""
    links = factor.ntree
    order = factor.order
    waiting = factor.waiting
    for word in range(waiting.size):
        waiting[word] = -1
    components = 0
    done = 0
    for first in range(links):
        if waiting[first >> 6] >> (first & 63) & 1 == 0:
            continue
        factor.component_start[components] = done
        components += 1
        waiting[first >> 6] &= ~(1 << (first & 63))
        order[done] = first
        at = done
        done += 1
        while at < done:
            row = factor.adjacency[order[at]]
            at += 1
            for word in range(waiting.size):
                bits = row[word] & waiting[word]
                waiting[word] &= ~bits
                while bits != 0:
                    order[done] = 64 * word + lowest_bit(bits)
                    done += 1
                    bits &= bits - 1
    for word in range(waiting.size):
        waiting[word] = 0
    factor.component_start[components] = links
    return components


@compiled
def _place_blocks(factor: Table, column: np.ndarray) -> None:
    """Find where blocks begin; ``column`` is space for a number of each link."""
    panels = factor.panels
    for panel in range(panels.count):
        find_columns(factor, panel, column)
        for place in range(panels.first[panel], panels.last[panel]):
            link = factor.order[place]
            row = panels.at[panel] + column[link] * panels.stride[panel]
            factor.row_step[link] = panels.stride[panel]
            factor.diagonal_at[link] = row + column[link]
            entry = factor.column_start[link]
            for word in range(factor.adjacency.shape[1]):
                bits = factor.adjacency[link, word]
                while bits != 0:
                    factor.block_at[entry] = row + column[64 * word + lowest_bit(bits)]
                    entry += 1
                    bits &= bits - 1


@compiled
def _lay_out(engine: Table, spare: float) -> int:
    """Find order, entries, panels and islands; returns 0 or `FACTOR_FULL`."""
    factor = engine.factor
    factor.size = 0
    factor.knows_couples = 0
    factor.panels.count = 0
    _couple_links(engine)
    components = _list_components(factor)
    entries = 0
    size = 0
    for i in range(components):
        first = factor.component_start[i]
        last = factor.component_start[i + 1]
        entries = eliminate(factor, first, last, entries)
        if entries < 0:
            return FACTOR_FULL
        order_by_subtrees(factor, first, last)
        for place in range(first, last):
            sort_column(factor, factor.order[place])
        size = list_island(factor, first, last, size, 0)
    divide_into_islands(factor, components, size)
    _place_blocks(factor, engine.work.tree_column)
    list_updates(factor)
    factor.size = size + SPARE
    whole = 1.0 + spare
    full = whole * factor.size > factor.values.size or whole * entries > factor.entry_tree.size
    return FACTOR_FULL if full else 0


@compiled
def arrange(engine: Table, after_step: bool) -> int:
    """Lay out the factor for the pairs of links that have a block; returns 0 or `FACTOR_FULL`.

    What contacts sum for these blocks must have been summed. After a step there is what it has left
    of the room.
    """
    factor = engine.factor
    factor.code = 0
    if _note_pairs(engine):
        factor.code = _lay_out(engine, 0.0 if after_step else _SPARE)
        if factor.code != 0:
            factor.pairs = -1
    return factor.code
