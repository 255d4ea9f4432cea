"""Links of one mechanism that overlap where it starts, as its designer has drawn them."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from asperity.midas.engine import Engine
from asperity.midas.engine_layout import FREE, POINT
from asperity.midas.model.pairs import FlexPair, LinkPair, pair_names
from asperity.midas.pose.touching import merely_touch
from asperity.plant.model.flexes import flex_particles, particle_bodies
from asperity.plant.model.names import element, listed

__all__ = [
    "are_tied",
    "flex_note",
    "is_held_by",
    "near_note",
    "of_one_mechanism",
    "overlap_note",
    "overlapping_links",
]

_SITE = int(mujoco.mjtObj.mjOBJ_SITE)
_TIES = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))

# As many pairs as a note names.
_NAMED = 20


def overlapping_links(engine: Engine, flagged: Mapping[int, float]) -> dict[LinkPair, float]:
    """Links of one mechanism whose geoms are among the pairs, with the smallest distance [m]."""
    found: dict[LinkPair, float] = {}
    for pair, distance in flagged.items():
        # What only touches a half-space and cannot leave it slides along it, as a planar robot.
        if of_one_mechanism(engine, pair, half_spaces=merely_touch(engine, pair, distance)):
            links = engine.pair_links(pair)
            found[links] = min(distance, found.get(links, distance))
    return found


def of_one_mechanism(engine: Engine, pair: int, *, half_spaces: bool = False) -> bool:
    """Whether joints connect the two sides of a pair, or an equality ties them to each other.

    They are of one tree of bodies, or both of trees whose root is hinged to the world itself, as
    those of a robot whose base was merged into it are, or one is fixed to the world and the other
    is the world's. What floats is connected to nothing else. Half-spaces are the world's if they
    count at all.
    """
    roots = [_root(engine, engine.model.geom_bodyid[geom]) for geom in engine.pair_geoms(pair)]
    if engine.table.pairs.shape[pair, 1] < 0:
        return half_spaces and roots[0] >= 0
    fixed = 0 in roots and min(roots) >= 0
    return roots[0] == roots[1] or fixed or are_tied(engine, pair)


def are_tied(engine: Engine, pair: int) -> bool:
    """Whether an equality ties the two links of a pair to each other, neither being the world."""
    model, body_link = engine.model, engine.links.body_link
    links = {int(body_link[model.geom_bodyid[geom]]) for geom in engine.pair_geoms(pair)}
    for i in np.flatnonzero(np.isin(model.eq_type, _TIES) & (model.eq_active0 != 0)):
        ends = np.array([model.eq_obj1id[i], model.eq_obj2id[i]])
        bodies = model.site_bodyid[ends] if model.eq_objtype[i] == _SITE else ends
        if min(links) >= 0 and links == set(body_link[bodies].tolist()):
            return True
    return False


def is_held_by(engine: Engine, pair: FlexPair) -> bool:
    """Whether a flex is pinned in the mechanism of the other side, which is no half-space."""
    model = engine.model
    if pair.other == model.ngeom + pair.flex or pair.other in engine.shapes.plane_geom:
        return False
    bodies = particle_bodies(model)
    one = bodies[flex_particles(model, pair.flex)]
    other = (
        model.geom_bodyid[[pair.other]]
        if pair.other < model.ngeom
        else bodies[flex_particles(model, pair.other - model.ngeom)]
    )
    return not {_root(engine, body) for body in one}.isdisjoint(
        _root(engine, body) for body in other
    )


def _root(engine: Engine, body: int) -> int:
    """What a body hangs on: a body, 0 for the world, or something negative for what floats."""
    model, links = engine.model, engine.links.links
    root = int(model.body_rootid[body])
    link = int(engine.links.body_link[body])
    while link >= 0 and max(links[link].parent, links[link].holder) >= 0:
        link = max(links[link].parent, links[link].holder)
    if link >= 0 and (links[link].kind in (FREE, POINT) or links[link].is_mocap):
        return -1 - link
    # What carries nothing that moves is a part of the world, as a table is.
    carries = np.any(model.body_treeid[model.body_rootid == root] >= 0)
    return root if (carries if link < 0 else model.body_jntnum[root] == 0) else 0


def overlap_note(engine: Engine, found: Mapping[LinkPair, float]) -> str:
    """A sentence about links that may pass through each other."""
    names = []
    for links, distance in sorted(found.items(), key=lambda item: item[1]):
        one, other = (_link_name(engine, link) for link in links)
        names.append(f"{one} and {other} ({_depth(distance)})")
    return (
        "Links of one mechanism that overlap where it starts pass through each other: "
        f"{listed(names, _NAMED)}. Midas(overlaps='refuse') has none of that."
    )


def flex_note(engine: Engine, found: Mapping[FlexPair, float]) -> str:
    """A sentence about flexes that may pass through something."""
    names = []
    for pair, distance in sorted(found.items(), key=lambda item: item[1]):
        one, other = pair_names(engine.model, pair)
        names.append(f"{one} and {'itself' if one == other else other} ({_depth(distance)})")
    return (
        "Flexes pass through what they overlap where they start: "
        f"{listed(names, _NAMED)}. Midas(overlaps='refuse') has none of that."
    )


def _depth(distance: float) -> str:
    if not np.isfinite(distance):
        return "they cross"
    return f"{-1e3 * distance:.3g} mm" if distance < 0.0 else "they touch"


def near_note(engine: Engine, found: Mapping[LinkPair, float]) -> str:
    """A sentence about links whose activation distance is much smaller than that of others."""
    names = []
    for links, distance in sorted(found.items(), key=lambda item: item[1]):
        one, other = (_link_name(engine, link) for link in links)
        names.append(f"{one} and {other} ({1e3 * distance:.3g} mm)")
    return (
        "Links that start much nearer to each other than the usual activation distance have a "
        f"smaller one: {listed(names, _NAMED)}."
    )


def _link_name(engine: Engine, link: int) -> str:
    model = engine.model
    if link < 0:
        return element(model, mujoco.mjtObj.mjOBJ_GEOM, engine.shapes.plane_geom[-1 - link])
    if link == len(engine.links.links):
        return "the world"
    bodies = engine.links.links[link].bodies
    name = model.body(bodies[0]).name if bodies else ""
    return f"'{name}'" if name else f"body {bodies[0] if bodies else link}"
