"""How far the bodies of joints are from each other where the joint holds them together."""

from __future__ import annotations

import numpy as np

from asperity.midas.engine import Engine
from asperity.midas.layouts import FREE, HINGE, SLIDE

__all__ = ["largest_gap"]


def largest_gap(engine: Engine) -> float:
    """Largest distance [m] between the two places of a joint's anchor, of parent and child.

    Along the axis of a slide it does not count; of a hinge, differences of the unit axis do.
    """
    links, q = engine.links.links, engine.table.q
    largest = 0.0
    for index, link in enumerate(links):
        if link.kind == FREE:
            continue
        parent = link.parent if link.parent >= 0 else len(links)
        above = links[link.parent].centre if link.parent >= 0 else np.zeros(3)
        here = q[index, 0] + (link.anchor - link.centre) @ q[index, 1:]
        there = q[parent, 0] + (link.offset + link.turn @ link.anchor - above) @ q[parent, 1:]
        gap = here - there
        axis = (link.turn @ link.axis) @ q[parent, 1:]
        if link.kind == SLIDE:
            gap = gap - (gap @ axis) / (axis @ axis) * axis
        elif link.kind == HINGE:
            largest = max(largest, float(np.abs(link.axis @ q[index, 1:] - axis).max()))
        largest = max(largest, float(np.abs(gap).max()))
    return largest
