"""Scenes that come with the package."""

from asperity.scenes import pick_from_clutter, sap_clutter, spring_cylinder

__all__ = ["pick_from_clutter", "sap_clutter", "spring_cylinder"]
