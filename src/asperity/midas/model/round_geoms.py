"""What round geoms are made of: cores with a radius, or vertices that say where they are."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.geometry.surfaces import Surface

__all__ = ["round_anchor", "round_areas", "round_core"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def round_core(model: mujoco.MjModel, geom: int) -> tuple[Surface | None, float]:
    """Core and radius of a round geom; no core if it is none.

    Its triangles have no area: two corners of an axis are one, or all of a centre.
    """
    kind, size = int(model.geom_type[geom]), model.geom_size[geom]
    long = kind == int(mujoco.mjtGeom.mjGEOM_CAPSULE) and size[1] > 0.0
    if kind != int(mujoco.mjtGeom.mjGEOM_SPHERE) and not long:
        return None, 0.0
    ends = [[0.0, 0.0, -size[1]], [0.0, 0.0, size[1]]] if long else [[0.0, 0.0, 0.0]]
    corners = [[0, 1, 1]] if long else [[0, 0, 0]]
    return Surface(np.array(ends), np.array(corners, dtype=np.int64)), float(size[0])


def round_anchor(model: mujoco.MjModel, geom: int, surface: Surface) -> tuple[Ints, float]:
    """Vertices of a cylinder or an ellipsoid that say where it is, and its area of contact [m²].

    ``surface`` is its polyhedron, in the geom's frame. Of a cylinder there are three vertices of
    either rim, of an ellipsoid the ends of axes, x, −x, y and z; −1 elsewhere, shape (2, 4).
    """
    kind, size = int(model.geom_type[geom]), model.geom_size[geom]
    found = np.full((2, 4), -1, dtype=np.int64)
    if kind == int(mujoco.mjtGeom.mjGEOM_CYLINDER):
        r, h = float(size[0]), float(size[1])
        points = np.array([[x, y, z] for z in (-h, h) for x, y in ((r, 0), (0, r), (-r, 0))])
        own = [slice(0, 3), slice(3, 6)]
        # An eighth of an end, and half of what a capsule's side touches with.
        area = np.pi * r * r / 8.0 + np.pi * r * 2.0 * h / 16.0
    elif kind == int(mujoco.mjtGeom.mjGEOM_ELLIPSOID):
        points = np.vstack([np.diag(size), [-size[0], 0.0, 0.0]])[[0, 3, 1, 2]]
        own = [slice(0, 4)]
        # A 128th of the whole, as of a sphere (Thomsen's formula).
        products = np.array([size[0] * size[1], size[0] * size[2], size[1] * size[2]])
        area = 4.0 * np.pi * float(np.mean(products**1.6075) ** (1 / 1.6075)) / 128.0
    else:
        return found, 0.0
    apart = np.linalg.norm(points[:, None] - surface.vertices[None], axis=2)
    nearest = np.argmin(apart, axis=1)
    for row, part in enumerate(own):
        found[row, : len(nearest[part])] = nearest[part]
    return found, area


def round_areas(surface: Surface, radius: float) -> tuple[Ints, Floats, Floats]:
    """Edges of a core, their areas, and those of its vertices [m²]: what counts as in contact.

    A sphere touches with a 128th of its surface, and the side of a capsule, or of an edge of a
    rope, with a 16th of it: as large a part as a vertex or an edge of a polyhedron of 16 pieces
    around a circle has.
    """
    end = 4.0 * np.pi * radius**2 / 128.0
    if len(surface.vertices) == 1:
        return np.zeros((0, 2), np.int64), np.zeros(0), np.array([end])
    edges = np.ascontiguousarray(surface.faces[:, :2])
    length = np.linalg.norm(surface.vertices[edges[:, 1]] - surface.vertices[edges[:, 0]], axis=1)
    side = 2.0 * np.pi * radius * length / 16.0
    share = np.zeros(len(surface.vertices))
    np.add.at(share, edges, (0.5 * side + end)[:, None])
    return edges, side + 2.0 * end, share
