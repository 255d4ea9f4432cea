"""Contacts with edges and sides of boxes that a neighbour covers.

Floors, tables and shells are often made of several boxes. What slides over one of them overlaps by
a little, and meets the next one's side, which stops it; what rolls meets an edge whose normal
leans. Neither is part of the surface of the whole. A contact of a box is left out if the same geom
touches another box of the same body, or of bodies that are fixed to each other, such that

- the other contact has the normal of that box's face, and this one leans more;
- this box comes nowhere out of that face's plane: it is no wall, and no step;
- its surface at the contact lies on the other box, or in it.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_double, load_int, store_int
from asperity.plant.detection.collision import contact_address, contacts_found
from asperity.plant.detection.field_corners import EXCLUDED
from asperity.plant.detection.geom_distance import BOX
from asperity.plant.plant_layouts import EVALUATED, PLANT, STATE

__all__ = ["leave_out_seams", "meets_level_neighbour", "shells_of_boxes"]

# Cosine of the angle of a face's normal to a contact's, from which the contact is with the face.
_UPRIGHT = 0.99
# Difference of the cosines of two normals from which one of them leans: a tenth of a degree.
_LEANS = 1.5e-6
# Over the smallest half side of a box: how wide a gap may be, and how high a step.
_GAP = 1e-3
_STEP = 1e-5


def shells_of_boxes(model: mujoco.MjModel) -> np.ndarray:
    """Number of the shell that a box is part of, −1 of other geoms: int64, shape (ngeom,).

    Boxes of one body, and of bodies without joints between them, are a shell, if they collide.
    """
    boxes = model.geom_type == BOX
    boxes &= (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    shell = np.where(boxes, model.body_weldid[model.geom_bodyid], -1).astype(np.int64)
    several = np.bincount(shell + 1, minlength=model.nbody + 1)[shell + 1] > 1
    return np.where(several, shell, -1)


@compiled
def _reach(plant: Table, state: Table, box: int, x: float, y: float, z: float) -> float:
    """How far a box comes along a direction."""
    turn, size = state.mj_geom_xmat[box], plant.geoms.size[box]
    place = state.mj_geom_xpos[box]
    reach = x * place[0] + y * place[1] + z * place[2]
    for axis in range(3):
        reach += size[axis] * abs(x * turn[axis] + y * turn[3 + axis] + z * turn[6 + axis])
    return reach


@compiled
def _scale(plant: Table, one: int, other: int) -> float:
    """The smallest half side of two boxes."""
    a, b = plant.geoms.size[one], plant.geoms.size[other]
    return min(min(min(a[0], a[1]), a[2]), min(min(b[0], b[1]), b[2]))


@compiled
def _is_level(
    plant: Table, state: Table, box: int, other: int, x: float, y: float, z: float
) -> bool:
    """Whether a box comes no farther along a direction than another one."""
    step = _STEP * _scale(plant, box, other)
    return _reach(plant, state, box, x, y, z) <= _reach(plant, state, other, x, y, z) + step


@compiled
def _covers(plant: Table, state: Table, box: int, gap: float, x: float, y: float, z: float) -> bool:
    """Whether a point lies in a box, or outside by no more than a gap."""
    turn, size = state.mj_geom_xmat[box], plant.geoms.size[box]
    place = state.mj_geom_xpos[box]
    u, v, w = x - place[0], y - place[1], z - place[2]
    for axis in range(3):
        along = u * turn[axis] + v * turn[3 + axis] + w * turn[6 + axis]
        if abs(along) > size[axis] + gap:
            return False
    return True


@compiled
def _is_covered(
    plant: Table, state: Table, address: int, side: int, other: int, other_side: int
) -> bool:
    """Whether another contact of a geom says that the box of this one is covered there.

    ``side`` and ``other_side`` are the boxes' in their contacts.
    """
    offsets = plant.offsets
    box = load_int(address + offsets.contact_geom + 4 * side)
    neighbour = load_int(other + offsets.contact_geom + 4 * other_side)
    normal = address + offsets.contact_frame
    other_normal = other + offsets.contact_frame
    # Out of the boxes.
    out = 1.0 - 2.0 * side
    other_out = 1.0 - 2.0 * other_side
    turn = state.mj_geom_xmat[neighbour]
    upright = _UPRIGHT
    x, y, z = 0.0, 0.0, 0.0
    for axis in range(3):
        along = 0.0
        for k in range(3):
            along += other_out * load_double(other_normal + 8 * k) * turn[3 * k + axis]
        if abs(along) > upright:
            upright = abs(along)
            sign = 1.0 if along > 0.0 else -1.0
            x, y, z = sign * turn[axis], sign * turn[3 + axis], sign * turn[6 + axis]
    if upright == _UPRIGHT:
        return False
    along = x * load_double(normal) + y * load_double(normal + 8) + z * load_double(normal + 16)
    if out * along >= upright - _LEANS or not _is_level(plant, state, box, neighbour, x, y, z):
        return False
    point = address + offsets.contact_pos
    # From midway to the surface of the box.
    ahead = -0.5 * out * load_double(address + offsets.contact_dist)
    return _covers(
        plant,
        state,
        neighbour,
        _GAP * _scale(plant, box, neighbour),
        load_double(point) + ahead * load_double(normal),
        load_double(point + 8) + ahead * load_double(normal + 8),
        load_double(point + 16) + ahead * load_double(normal + 16),
    )


@compiled
def _list_contacts(
    plant: Table, state: Table, listed: np.ndarray, last: np.ndarray, before: np.ndarray
) -> int:
    """List what boxes of shells touch; returns how many contacts that are.

    Sides of these contacts are numbered, two of each. ``last`` becomes each geom's last one that is
    of a box which it touches, and ``before`` the one before it, or −1.
    """
    shell, offsets = plant.geoms.shell, plant.offsets
    count = 0
    for index in range(listed.size):
        address = contact_address(plant, state, index)
        geoms = address + offsets.contact_geom
        one, other = load_int(geoms), load_int(geoms + 4)
        if one < 0 or other < 0 or (shell[one] < 0 and shell[other] < 0):
            continue
        listed[count] = address
        for side in range(2):
            if shell[one if side == 0 else other] >= 0:
                geom = other if side == 0 else one
                before[2 * count + side] = last[geom]
                last[geom] = 2 * count + side
        count += 1
    return count


@entry_point(types.int64(PLANT.type, STATE.type))
def leave_out_seams(plant: Table, state: Table) -> int:
    """Mark what is covered among the contacts that MuJoCo has found as excluded."""
    shell, offsets = plant.geoms.shell, plant.offsets
    found = contacts_found(plant, state)
    listed = np.empty(found, np.int64)
    before = np.empty(2 * found, np.int64)
    last = np.full(shell.size, -1, np.int64)
    for k in range(_list_contacts(plant, state, listed, last, before)):
        geoms = listed[k] + offsets.contact_geom
        for side in range(2):
            box = load_int(geoms + 4 * side)
            if shell[box] < 0:
                continue
            at = last[load_int(geoms + 4 * (1 - side))]
            while at >= 0:
                other = listed[at // 2]
                neighbour = load_int(other + offsets.contact_geom + 4 * (at % 2))
                if (
                    neighbour != box
                    and shell[neighbour] == shell[box]
                    and _is_covered(plant, state, listed[k], side, other, at % 2)
                ):
                    store_int(listed[k] + offsets.contact_exclude, EXCLUDED)
                    break
                at = before[at]
    return EVALUATED


@compiled
def meets_level_neighbour(
    plant: Table, state: Table, contacts: Table, c: int, known: Table
) -> bool:
    """Whether one of a contact's geoms has come from a neighbour of the other, without a step.

    ``known`` are earlier contacts.
    """
    shell = plant.geoms.shell
    for side in range(2):
        box = contacts.geom[c, side]
        if box >= shell.size or shell[box] < 0:
            continue
        out = 1.0 - 2.0 * side
        x, y, z = out * contacts.frame[c, 6], out * contacts.frame[c, 7], out * contacts.frame[c, 8]
        for k in range(known.count):
            for other_side in range(2):
                neighbour = known.geom[k, other_side]
                if (
                    known.geom[k, 1 - other_side] == contacts.geom[c, 1 - side]
                    and neighbour < shell.size
                    and shell[neighbour] == shell[box]
                    and _is_level(plant, state, box, neighbour, x, y, z)
                ):
                    return True
    return False
