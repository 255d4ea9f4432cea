"""Links of one mechanism that overlap where it starts, as its designer has drawn them."""

from __future__ import annotations

from collections.abc import Mapping

from asperity.midas.engine import Engine
from asperity.midas.engine_layout import FREE
from asperity.plant.names import listed

__all__ = ["LinkPair", "of_one_mechanism", "overlap_note", "overlapping_links"]

LinkPair = tuple[int, int]
"""Two links, the smaller first; the world is the number of links."""

# As many pairs as a note names.
_NAMED = 20


def overlapping_links(engine: Engine, flagged: Mapping[int, float]) -> dict[LinkPair, float]:
    """Links of one mechanism whose geoms are among the pairs, with the smallest distance [m]."""
    found: dict[LinkPair, float] = {}
    for pair, distance in flagged.items():
        if of_one_mechanism(engine, pair):
            links = engine.pair_links(pair)
            found[links] = min(distance, found.get(links, distance))
    return found


def of_one_mechanism(engine: Engine, pair: int) -> bool:
    """Whether joints connect the two sides of a pair.

    They are of one tree of bodies, or both of trees whose root is hinged to the world itself, as
    those of a robot whose base was merged into it are, or one is and the other is the world's. What
    floats is connected to nothing else, and a half-space is nobody's link.
    """
    model, links = engine.model, engine.links.links
    if engine.table.pair_shape[pair, 1] < 0:
        return False
    roots = []
    for geom in engine.pair_geoms(pair):
        body = int(model.geom_bodyid[geom])
        root = int(model.body_rootid[body])
        link = int(engine.links.body_link[body])
        while link >= 0 and links[link].parent >= 0:
            link = links[link].parent
        if link >= 0 and (links[link].kind == FREE or links[link].is_mocap):
            # What floats is its own root, whatever it was written inside of.
            roots.append(int(-1 - link))
        elif link >= 0 and model.body_jntnum[root]:
            roots.append(0)
        else:
            roots.append(root)
    return roots[0] == roots[1]


def overlap_note(engine: Engine, found: Mapping[LinkPair, float]) -> str:
    """A sentence about links that may pass through each other."""
    names = []
    for links, distance in sorted(found.items(), key=lambda item: item[1]):
        one, other = (_link_name(engine, link) for link in links)
        depth = f"{-1e3 * distance:.3g} mm" if distance < 0.0 else "they touch"
        names.append(f"{one} and {other} ({depth})")
    return (
        "Links of one mechanism that overlap where it starts pass through each other: "
        f"{listed(names, _NAMED)}. Midas(overlaps='refuse') has none of that."
    )


def _link_name(engine: Engine, link: int) -> str:
    if link == len(engine.links.links):
        return "the world"
    body = engine.links.links[link].bodies
    model = engine.model
    name = model.body(body[0]).name if body else ""
    return f"'{name}'" if name else f"body {body[0] if body else link}"
