"""Contacts with edges and sides of geoms that a neighbour covers.

Floors, tables and shells are often made of several boxes or convex meshes. What slides over one of
them overlaps by a little, and meets the next one's side, which stops it; what rolls meets an edge
whose normal leans. Neither is part of the surface of the whole. A contact of a box or of a mesh is
left out if the same geom touches another one of the same body, or of bodies that are fixed to each
other, such that

- the other contact has the normal of a face of that one, and this contact's normal leans more;
- this one comes nowhere out of that face's plane: it is no wall, and no step;
- its surface at the contact lies on the other one, or in it.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_double, load_int, store_int
from asperity.plant.detection.collision import contact_address, contacts_found
from asperity.plant.detection.field_corners import EXCLUDED
from asperity.plant.detection.hulls import covers, nearest_face, reach
from asperity.plant.plant_layouts import EVALUATED, PLANT, STATE

__all__ = ["leave_out_seams", "meets_level_neighbour"]

# Cosine of the angle of a face's normal to a contact's, from which the contact is with the face.
_UPRIGHT = 0.99
# Difference of the cosines of two normals from which one of them leans: a tenth of a degree.
_LEANS = 1.5e-6
# Over the smaller thickness of two geoms: how wide a gap may be, and how high a step.
_GAP = 0.02
_STEP = 1e-5


@compiled
def _thinner(plant: Table, one: int, other: int) -> float:
    return min(plant.hulls.thickness[one], plant.hulls.thickness[other])


@compiled
def _is_level(
    plant: Table, state: Table, geom: int, other: int, x: float, y: float, z: float
) -> bool:
    """Whether a geom comes no farther along a direction than another one."""
    step = _STEP * _thinner(plant, geom, other)
    return reach(plant, state, geom, x, y, z) <= reach(plant, state, other, x, y, z) + step


@compiled
def _is_covered(
    plant: Table, state: Table, address: int, side: int, other: int, other_side: int
) -> bool:
    """Whether another contact says that a shell's geom is covered where this contact is.

    ``side`` and ``other_side`` are those of the shell's geoms in their contacts.
    """
    offsets = plant.offsets
    geom = load_int(address + offsets.contact_geom + 4 * side)
    neighbour = load_int(other + offsets.contact_geom + 4 * other_side)
    normal = address + offsets.contact_frame
    other_normal = other + offsets.contact_frame
    # Out of the shell.
    out = 1.0 - 2.0 * side
    other_out = 1.0 - 2.0 * other_side
    upright, (x, y, z) = nearest_face(
        plant,
        state,
        neighbour,
        other_out * load_double(other_normal),
        other_out * load_double(other_normal + 8),
        other_out * load_double(other_normal + 16),
    )
    if upright < _UPRIGHT:
        return False
    along = x * load_double(normal) + y * load_double(normal + 8) + z * load_double(normal + 16)
    if out * along >= upright - _LEANS or not _is_level(plant, state, geom, neighbour, x, y, z):
        return False
    point = address + offsets.contact_pos
    # From midway to the geom's surface.
    ahead = -0.5 * out * load_double(address + offsets.contact_dist)
    # Points on round geoms are as far off along the surface as MuJoCo's tolerance lets them be.
    touching = load_int(address + offsets.contact_geom + 4 * (1 - side))
    unsure = np.sqrt(2.0 * plant.hulls.tolerance * plant.hulls.thickness[touching])
    return covers(
        plant,
        state,
        neighbour,
        _GAP * _thinner(plant, geom, neighbour) + unsure,
        load_double(point) + ahead * load_double(normal),
        load_double(point + 8) + ahead * load_double(normal + 8),
        load_double(point + 16) + ahead * load_double(normal + 16),
    )


@compiled
def _list_contacts(
    plant: Table, state: Table, listed: np.ndarray, last: np.ndarray, before: np.ndarray
) -> int:
    """List what geoms of shells touch; returns how many contacts that are.

    Sides of these contacts are numbered, two of each. ``last`` becomes each geom's last one that is
    of one which it touches, and ``before`` the one before it, or −1.
    """
    shell, offsets = plant.hulls.shell, plant.offsets
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
    shell, offsets = plant.hulls.shell, plant.offsets
    found = contacts_found(plant, state)
    listed = np.empty(found, np.int64)
    before = np.empty(2 * found, np.int64)
    last = np.full(shell.size, -1, np.int64)
    for k in range(_list_contacts(plant, state, listed, last, before)):
        geoms = listed[k] + offsets.contact_geom
        for side in range(2):
            geom = load_int(geoms + 4 * side)
            if shell[geom] < 0:
                continue
            at = last[load_int(geoms + 4 * (1 - side))]
            while at >= 0:
                other = listed[at // 2]
                neighbour = load_int(other + offsets.contact_geom + 4 * (at % 2))
                if (
                    neighbour != geom
                    and shell[neighbour] == shell[geom]
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
    shell = plant.hulls.shell
    for side in range(2):
        geom = contacts.geom[c, side]
        if geom >= shell.size or shell[geom] < 0:
            continue
        out = 1.0 - 2.0 * side
        x, y, z = out * contacts.frame[c, 6], out * contacts.frame[c, 7], out * contacts.frame[c, 8]
        for k in range(known.count):
            for other_side in range(2):
                neighbour = known.geom[k, other_side]
                if (
                    known.geom[k, 1 - other_side] == contacts.geom[c, 1 - side]
                    and neighbour < shell.size
                    and shell[neighbour] == shell[geom]
                    and _is_level(plant, state, geom, neighbour, x, y, z)
                ):
                    return True
    return False
