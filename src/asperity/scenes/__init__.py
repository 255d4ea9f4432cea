"""Scenes that come with the package."""

from asperity.scenes import pick_from_clutter

__all__ = ["pick_from_clutter"]
