"""Links by their joints."""

from __future__ import annotations

from asperity.midas.engine_layout import HINGE, POINT, SLIDE
from asperity.midas.model.links import Link

__all__ = ["joint_links", "scalar_links"]


def scalar_links(links: list[Link]) -> list[int]:
    """Links whose joint has one coordinate, in the order of the joint tables."""
    return [i for i, link in enumerate(links) if link.kind in (HINGE, SLIDE)]


def joint_links(links: list[Link]) -> dict[int, int]:
    """The link of every joint; a vertex of a flex has three of them."""
    return {
        link.joint + k: i
        for i, link in enumerate(links)
        for k in range(3 if link.kind == POINT else 1)
    }
