"""What notebooks show as HTML, by a function of a higher layer.

Tables and playbacks are made by `asperity.media`, which knows simulators, reports and trajectories;
these do not know it. The package joins the two when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

__all__ = ["Shown"]


class Shown:
    """Base of what notebooks show as HTML."""

    as_html: ClassVar[Callable[[object], str]]
    """Makes HTML of an object."""

    def _repr_html_(self) -> str:
        """In notebooks."""
        return Shown.as_html(self)
