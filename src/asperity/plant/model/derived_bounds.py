"""Bounding volumes of geoms, derived again where a user has changed sizes or places of geoms.

MuJoCo's compiler derives them and ``mj_setConst`` does not: ``geom_rbound``, the radius of a ball
about a geom's origin, ``geom_aabb``, its box, and ``bvh_aabb``, boxes of several geoms of a body in
the body's inertial frame. Broad phases compare them, so a geom that has grown beyond its own would
touch nothing there.
"""

from __future__ import annotations

import mujoco
import numpy as np

__all__ = ["DECIDING", "update_bounds"]

DECIDING = frozenset({"geom_type", "geom_size", "geom_pos", "geom_quat", "body_ipos", "body_iquat"})
"""Arrays of a model that bounds follow from."""

_KIND = mujoco.mjtGeom
# What the compiler's rounding may differ by, in parts and [m].
_ROUNDING = 1e-9


def update_bounds(model: mujoco.MjModel) -> None:
    """Write into a model the bounds that belong to its geoms' sizes and places."""
    half, radius = _bounds_of_sizes(model)
    simple = np.flatnonzero(radius > 0.0)
    stale = simple[
        ~np.isclose(model.geom_rbound[simple], radius[simple], _ROUNDING, _ROUNDING)
        | ~np.isclose(model.geom_aabb[simple, 3:], half[simple], _ROUNDING, _ROUNDING).all(axis=1)
    ]
    model.geom_rbound[stale] = radius[stale]
    model.geom_aabb[stale, :3] = 0.0
    model.geom_aabb[stale, 3:] = half[stale]
    _update_trees(model)


def _bounds_of_sizes(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    """Half sides of boxes and radii [m]; radii are 0 where sizes do not say them."""
    kind, size = model.geom_type, model.geom_size
    half, radius = size.copy(), np.zeros(model.ngeom)
    for shape in (_KIND.mjGEOM_SPHERE, _KIND.mjGEOM_CAPSULE, _KIND.mjGEOM_CYLINDER):
        half[kind == shape, 1] = half[kind == shape, 0]
    round_ends = kind == _KIND.mjGEOM_CAPSULE
    half[kind == _KIND.mjGEOM_SPHERE, 2] = size[kind == _KIND.mjGEOM_SPHERE, 0]
    half[kind == _KIND.mjGEOM_CYLINDER, 2] = size[kind == _KIND.mjGEOM_CYLINDER, 1]
    half[round_ends, 2] = size[round_ends, 0] + size[round_ends, 1]
    cornered = (kind == _KIND.mjGEOM_BOX) | (kind == _KIND.mjGEOM_CYLINDER)
    curved = (kind == _KIND.mjGEOM_SPHERE) | (kind == _KIND.mjGEOM_ELLIPSOID) | round_ends
    radius[curved] = half[curved].max(axis=1)
    radius[cornered] = np.linalg.norm(half[cornered], axis=1)
    # A cylinder's rim is round: its corner is at radius and half height.
    cylinder = kind == _KIND.mjGEOM_CYLINDER
    radius[cylinder] = np.hypot(size[cylinder, 0], size[cylinder, 1])
    return half, radius


def _update_trees(model: mujoco.MjModel) -> None:
    """Let boxes of bodies' hierarchies enclose the boxes of the geoms below them."""
    count = int(model.nbvhstatic)
    first, number = model.body_bvhadr, model.body_bvhnum
    for body in np.flatnonzero(number > 0):
        nodes = np.arange(first[body], min(first[body] + number[body], count))
        geom = model.bvh_nodeid[nodes]
        leaves = geom >= 0
        boxes = model.bvh_aabb[nodes].copy()
        bounded = leaves.copy()
        bounded[leaves] = model.geom_rbound[geom[leaves]] > 0.0
        boxes[bounded] = _boxes_in_body(model, int(body), geom[bounded])
        if np.allclose(boxes, model.bvh_aabb[nodes], _ROUNDING, _ROUNDING):
            continue
        for node in np.flatnonzero(~leaves)[::-1]:  # children come after their parents
            below = boxes[model.bvh_child[nodes[node]]]
            low = np.min(below[:, :3] - below[:, 3:], axis=0)
            high = np.max(below[:, :3] + below[:, 3:], axis=0)
            boxes[node] = np.concatenate([0.5 * (low + high), 0.5 * (high - low)])
        model.bvh_aabb[nodes] = boxes


def _boxes_in_body(model: mujoco.MjModel, body: int, geoms: np.ndarray) -> np.ndarray:
    """Centres and half sides of geoms' boxes along the axes of a body's inertial frame."""
    inertial = _matrix(model.body_iquat[body])
    boxes = np.empty((len(geoms), 6))
    for box, geom in zip(boxes, geoms, strict=True):
        rotation = _matrix(model.geom_quat[geom])
        centre = model.geom_pos[geom] + rotation @ model.geom_aabb[geom, :3]
        box[:3] = inertial.T @ (centre - model.body_ipos[body])
        box[3:] = np.abs(inertial.T @ rotation) @ model.geom_aabb[geom, 3:]
    return boxes


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)
