"""Which links' variables have entries with each other in the reduced Hessian.

Links are eliminated from the last to the first, Q = T Q_parent + E Z. A link that has a block with
another one, by a contact between them, so hands it on to its parent, until the two meet in a common
ancestor, whose own block it then is part of. A link's variables have entries with those of the
links that it has blocks with, of its parent, and of all that carry these.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.midas.engine_layout import LINKS_FULL

__all__ = ["couple_links", "pair_number"]


@compiled
def pair_number(hessian: Table, one: int, other: int) -> int:
    """Number of two links' pair, or −1 if they have none."""
    small = min(one, other)
    pair = hessian.slot_first[max(one, other)]
    while pair >= 0 and hessian.slot_link[pair, 0] != small:
        pair = hessian.slot_next[pair]
    return pair


@compiled
def _chain(hessian: Table, pair: int) -> None:
    """Put a pair into the list of its larger link."""
    large = hessian.slot_link[pair, 1]
    hessian.slot_next[pair] = hessian.slot_first[large]
    hessian.slot_first[large] = pair


@compiled
def _hand_on(engine: Table) -> bool:
    """Add the pairs that links hand on to their parents; False if there is no room."""
    hessian = engine.hessian
    count = hessian.slots
    links = engine.links.parent.size
    for link in range(links):
        hessian.slot_first[link] = -1
    for pair in range(count):
        _chain(hessian, pair)
    for back in range(links):
        link = links - 1 - back
        p = engine.links.parent[link]
        pair = hessian.slot_first[link]
        while pair >= 0 and p < links:
            other = hessian.slot_link[pair, 0]
            if other != p and pair_number(hessian, other, p) < 0:
                if count >= hessian.slot_link.shape[0]:
                    return False
                hessian.slot_link[count, 0] = min(other, p)
                hessian.slot_link[count, 1] = max(other, p)
                _chain(hessian, count)
                count += 1
            pair = hessian.slot_next[pair]
    hessian.couples = count
    return True


@compiled
def _insert(hessian: Table, begin: int, end: int, link: int) -> int:
    """Put a link into a list of descending numbers, if it is not there; returns the list's end."""
    at = end
    while at > begin and hessian.entry_link[at - 1] < link:
        at -= 1
    if at > begin and hessian.entry_link[at - 1] == link:
        return end
    if end < hessian.entry_link.size:
        for k in range(end, at, -1):
            hessian.entry_link[k] = hessian.entry_link[k - 1]
        hessian.entry_link[at] = link
    return end + 1


@compiled
def couple_links(engine: Table) -> int:
    """Find pairs and entries for the pairs in use; returns 0 or `LINKS_FULL`."""
    hessian = engine.hessian
    if not _hand_on(engine):
        return LINKS_FULL
    links = engine.links.parent.size
    end = 0
    for link in range(links):
        begin = end
        hessian.entry_start[link] = begin
        end = _insert(hessian, begin, end, link)
        pair = hessian.slot_first[link]
        while pair >= 0:
            end = _insert(hessian, begin, end, hessian.slot_link[pair, 0])
            pair = hessian.slot_next[pair]
        at = begin
        while at < end and end <= hessian.entry_link.size:
            p = engine.links.parent[hessian.entry_link[at]]
            if p < links:
                end = _insert(hessian, begin, end, p)
            at += 1
        if end > hessian.entry_link.size:
            return LINKS_FULL
    hessian.entry_start[links] = end
    return 0
