"""Islands: trees that nothing couples to others, whose part of the Hessian is one by itself.

In the factor's order the trees of an island follow each other, so that it has a range of rows, none
of which begins before that. Small islands are taken together, until they are worth a part.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled

__all__ = ["divide_into_islands"]

# Numbers of the factor that make a part.
_ENTRIES = 1024


@compiled
def divide_into_islands(engine: Table) -> None:
    """Fill the islands' rows and their links, children before parents, for a factor laid out."""
    factor = engine.factor
    trees = factor.tree_order.size
    row = factor.row_first.size
    # First row that this row or a later one reaches to; of trees, from the last to the first.
    reach = row
    place = factor.island_row
    count = 0
    for back in range(trees):
        t = factor.tree_order[trees - 1 - back]
        size = engine.links.tree_variable[t + 1] - engine.links.tree_variable[t]
        for i in range(row - size, row):
            reach = min(reach, factor.row_first[i])
        row -= size
        factor.tree_island[t] = count
        entries = factor.row_start[place[count - 1] if count > 0 else factor.row_first.size]
        entries -= factor.row_start[row]
        if reach == row and (entries >= _ENTRIES or row == 0):
            place[count] = row
            count += 1
    factor.islands = count
    # They were counted from the last one.
    for i in range(count // 2):
        j = count - 1 - i
        place[i], place[j] = place[j], place[i]
    place[count] = factor.row_first.size
    links = engine.links.tree.size
    begin = factor.island_link
    for island in range(count + 1):
        begin[island] = 0
    for link in range(links):
        begin[count - 1 - factor.tree_island[engine.links.tree[link]]] += 1
    total = 0
    for island in range(count):
        size = begin[island]
        begin[island] = total
        total += size
    for back in range(links):
        link = links - 1 - back
        island = count - 1 - factor.tree_island[engine.links.tree[link]]
        factor.island_order[begin[island]] = link
        begin[island] += 1
    for back in range(count):
        begin[count - back] = begin[count - back - 1]
    begin[0] = 0
