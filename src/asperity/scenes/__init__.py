"""Scenes that come with the package."""

from asperity.scenes import (
    cenic_clutter,
    dish_rack,
    gripper_tasks,
    pick_from_clutter,
    sap_clutter,
    shaken_mug,
    spring_cylinder,
)

__all__ = [
    "cenic_clutter",
    "dish_rack",
    "gripper_tasks",
    "pick_from_clutter",
    "sap_clutter",
    "shaken_mug",
    "spring_cylinder",
]
