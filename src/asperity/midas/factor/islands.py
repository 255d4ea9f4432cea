"""Islands: links that nothing couples to others, whose part of the Hessian is one by itself.

In the factor's order the links of an island follow each other, so that it has a range of panels, in
whose rows there are no others. Small islands are taken together, until they are worth a part.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled

__all__ = ["divide_into_islands"]

# Numbers of the factor that make a part.
_ENTRIES = 1024


@compiled
def divide_into_islands(factor: Table, components: int, size: int) -> None:
    """Fill the islands' panels and their links, children before parents.

    Parameters are the factor, whose panels are known, how many parts of it hang together, and the
    size of all panels.
    """
    panels = factor.panels
    order = factor.order
    count = 0
    for component in range(components):
        end = factor.component_start[component + 1]
        for place in range(factor.component_start[component], end):
            factor.link_island[order[place]] = count
        panel = panels.count
        entries = size - panels.at[factor.island_panel[count]]
        if end < order.size:
            panel = panels.of_tree[order[end]]
            entries -= size - panels.at[panel]
        if entries >= _ENTRIES or end == order.size:
            count += 1
            factor.island_panel[count] = panel
    factor.islands = count
    begin = factor.island_link
    for island in range(count + 1):
        begin[island] = 0
    for link in range(order.size):
        begin[factor.link_island[link]] += 1
    total = 0
    for island in range(count):
        total += begin[island]
        begin[island] = total
    begin[count] = total
    # From the last links to the first, each before those of its island that are placed.
    for link in range(order.size):
        island = factor.link_island[link]
        begin[island] -= 1
        factor.island_order[begin[island]] = link
