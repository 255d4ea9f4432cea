"""Scenes that come with the package."""

from asperity.scenes import pick_from_clutter, sap_clutter, shaken_mug, spring_cylinder

__all__ = ["pick_from_clutter", "sap_clutter", "shaken_mug", "spring_cylinder"]
