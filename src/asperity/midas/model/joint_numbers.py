"""Links whose joint has one coordinate."""

from __future__ import annotations

from asperity.midas.engine_layout import HINGE, SLIDE
from asperity.midas.model.links import Link

__all__ = ["scalar_links"]


def scalar_links(links: list[Link]) -> list[int]:
    """Links whose joint has one coordinate, in the order of the joint tables."""
    return [i for i, link in enumerate(links) if link.kind in (HINGE, SLIDE)]
