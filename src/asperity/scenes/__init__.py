"""Scenes that come with the package."""

from asperity.scenes import gripper_tasks, pick_from_clutter, shaken_mug

__all__ = ["gripper_tasks", "pick_from_clutter", "shaken_mug"]
