"""How far the bodies of joints are from each other where the joint holds them together."""

from __future__ import annotations

import numpy as np

from asperity.midas.engine import Engine
from asperity.midas.engine_layout import FREE, HINGE, SLIDE

__all__ = ["largest_gap"]


def largest_gap(engine: Engine) -> float:
    """Largest distance [m] between the two places of a joint's anchor, of parent and child.

    Along the axis of a slide it does not count; of a hinge, differences of the unit axis do. Gaps of
    equality constraints are among them, where angles are coupled in rad.
    """
    links, q, table = engine.links.links, engine.table.poses.q, engine.table
    largest = 0.0
    # Springs and dampers of free bodies are ties without an inertia.
    ties = np.flatnonzero(table.gaps.inertia[: 3 * len(table.ties.link) : 3])
    if len(ties):
        ends = [
            np.einsum("ti,tik->tk", table.ties.given[ties, side], q[table.ties.link[ties, side]])
            for side in (0, 1)
        ]
        largest = float(np.abs(ends[0] - ends[1]).max())
    for (one, other), c in zip(table.couplings.joint, table.couplings.polynomial, strict=True):
        x = table.joints.value[other] if other >= 0 else 0.0
        largest = max(largest, abs(float(table.joints.value[one] - np.polyval(c[::-1], x))))
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
