"""Contacts whose normals cannot be those of their geoms.

Where cylinders and ellipsoids just touch flat faces or each other, MuJoCo's search for the deepest
point may end anywhere: within its tolerance of 10⁻⁶ m, directions along the surface are as good to
it as the normal. Between a cylinder and a box, 3 % of the normals are wrong at an overlap of 10⁻⁷ m
and more than half at 10⁻¹⁰ m. Parallel cylinders that overlap by 10⁻¹⁰ m get contacts half a radius
deep. A surface that moves along such a normal would count as one that hits. What touches carries
next to nothing, so these contacts are left out until they are known.
"""

from __future__ import annotations

import math

import mujoco

from asperity.compiled import Table, compiled
from asperity.compiled.calls import load_double, load_int

__all__ = ["CHECKED", "ROUND", "UNSURE", "has_possible_normal"]

CYLINDER = int(mujoco.mjtGeom.mjGEOM_CYLINDER)
ELLIPSOID = int(mujoco.mjtGeom.mjGEOM_ELLIPSOID)
CHECKED = (CYLINDER, ELLIPSOID)
"""Types of geoms whose normals are looked at."""
_BALLS = (int(mujoco.mjtGeom.mjGEOM_SPHERE), int(mujoco.mjtGeom.mjGEOM_CAPSULE))
ROUND = (*_BALLS, CYLINDER, ELLIPSOID)
"""Types of geoms without corners."""

UNSURE = 10.0
"""Overlap up to which normals are looked at, over MuJoCo's tolerance (`mjOption.ccd_tolerance`)."""

# Overlap from which they are as well, and how far a contact may be from the outermost point along
# its normal, both over a geom's least size. In between, contacts of rims and edges that MuJoCo has
# with the normal of a face nearby are better than none.
_DEEP = 0.3
_FAR = 0.1


@compiled
def _is_possible(
    plant: Table, state: Table, geom: int, address: int, side: float, depth: float
) -> bool:
    """Whether a geom can have a contact with its normal.

    A contact of a round geom is about as far out along its normal as that reaches.

    ``side`` is 1 for the geom that the normal points away from, and -1 for the other one.
    """
    kind = plant.geoms.kind[geom]
    if kind not in CHECKED:
        return True
    size = plant.geoms.size[geom]
    least = min(size[0], size[1])
    if kind == ELLIPSOID:
        least = min(least, size[2])
    if plant.geoms.unsure < depth < _DEEP * least:
        return True
    point = address + plant.offsets.contact_pos
    normal = address + plant.offsets.contact_frame
    out = 0.0
    for k in range(3):
        out += load_double(normal + 8 * k) * (
            load_double(point + 8 * k) - state.mj_geom_xpos[geom, k]
        )
    across = 0.0
    reach = 0.0
    for axis in range(3):
        along = 0.0
        for k in range(3):
            along += load_double(normal + 8 * k) * state.mj_geom_xmat[geom, 3 * k + axis]
        if kind == ELLIPSOID:
            across += (along * size[axis]) ** 2
        elif axis == 2:
            reach = size[1] * abs(along)
        else:
            across += (along * size[0]) ** 2
    return side * out >= reach + math.sqrt(across) - _FAR * least - depth


@compiled
def _overlap(
    plant: Table, state: Table, one: int, other: int, axis: int, of: int, radial: bool
) -> float:
    """Overlap of two round geoms along an axis of one of them, or away from that of a cylinder."""
    turn = state.mj_geom_xmat[of]
    x = state.mj_geom_xpos[other, 0] - state.mj_geom_xpos[one, 0]
    y = state.mj_geom_xpos[other, 1] - state.mj_geom_xpos[one, 1]
    z = state.mj_geom_xpos[other, 2] - state.mj_geom_xpos[one, 2]
    u, v, w = turn[axis], turn[3 + axis], turn[6 + axis]
    if radial:
        along = u * x + v * y + w * z
        u, v, w = x - along * u, y - along * v, z - along * w
    length = math.sqrt(u * u + v * v + w * w)
    if length == 0.0:
        return math.inf
    overlap = -abs(u * x + v * y + w * z)
    for side in range(2):
        geom = one if side == 0 else other
        turn = state.mj_geom_xmat[geom]
        size = plant.geoms.size[geom]
        across = 0.0
        reach = 0.0
        for k in range(3):
            part = u * turn[k] + v * turn[3 + k] + w * turn[6 + k]
            if plant.geoms.kind[geom] == ELLIPSOID:
                across += (part * size[k]) ** 2
            elif k == 2:
                reach = size[1] * abs(part)
            else:
                across += (part * size[0]) ** 2
        overlap += reach + math.sqrt(across)
    return overlap / length


@compiled
def _just_touch(plant: Table, state: Table, one: int, other: int) -> bool:
    """Whether two round geoms overlap by next to nothing along an axis or beside one."""
    for side in range(2):
        of = one if side == 0 else other
        for axis in range(3):
            for radial in range(2):
                overlap = _overlap(plant, state, one, other, axis, of, radial == 1)
                if overlap <= plant.geoms.unsure:
                    return True
    return False


@compiled
def has_possible_normal(plant: Table, state: Table, address: int) -> bool:
    """Whether the normal of one of MuJoCo's contacts can be that of its geoms, as far as known.

    Normals of thin and wide geoms are never exact. What overlaps more is kept all the same.
    """
    if not plant.geoms.any_checked:
        return True
    one = load_int(address + plant.offsets.contact_geom)
    other = load_int(address + plant.offsets.contact_geom + 4)
    if one < 0 or other < 0:
        return True  # of a flex
    depth = abs(load_double(address + plant.offsets.contact_dist))
    kind = plant.geoms.kind
    round_ones = kind[one] in CHECKED and kind[other] in CHECKED
    if depth > plant.geoms.unsure and not round_ones:
        return True
    if _is_possible(plant, state, one, address, 1.0, depth) and _is_possible(
        plant, state, other, address, -1.0, depth
    ):
        return True
    return depth > plant.geoms.unsure and not _just_touch(plant, state, one, other)
