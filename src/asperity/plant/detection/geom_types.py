"""MuJoCo's types of geoms, as compiled code compares with them."""

from __future__ import annotations

__all__ = ["BOX", "CAPSULE", "CYLINDER", "ELLIPSOID", "HEIGHT_FIELD", "MESH", "ROUND", "SPHERE"]

# MuJoCo's mjtGeom.
HEIGHT_FIELD = 1
SPHERE = 2
CAPSULE = 3
ELLIPSOID = 4
CYLINDER = 5
BOX = 6
MESH = 7

ROUND = (SPHERE, CAPSULE, CYLINDER, ELLIPSOID)
"""Types of geoms without corners."""
