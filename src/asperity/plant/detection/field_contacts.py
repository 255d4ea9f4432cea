"""Contacts of a model in which geoms have pressure fields or rigid surfaces.

MuJoCo's contacts say which geoms are near each other, with all its rules of who may touch whom, and
their friction. Where two geoms make a patch, its points take the place of MuJoCo's points; where
one has gone past the other's field as a whole and the patch is empty, MuJoCo's points stay.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_double, load_int
from asperity.contact.combination import (
    DYNAMIC_FRICTION,
    RELAXATION_TIME,
    STATIC_FRICTION,
    STICTION_TOLERANCE,
    combine_dissipation,
)
from asperity.contact.hydroelastic.field_layout import RIGID_HALF_SPACE, RIGID_MESH
from asperity.contact.hydroelastic.patch import find_points, makes_patch
from asperity.contact.hydroelastic.points import POINTS_FULL
from asperity.contact.hydroelastic.polygons import tangents
from asperity.plant.detection.collision import (
    NO_PAIR,
    add_mujoco_contact,
    contact_address,
    contacts_found,
    counts_as_contact,
    empty_contacts,
    fill_contact,
    follow_pair,
)
from asperity.plant.detection.field_motion import carry, growth_of, surface_motion
from asperity.plant.plant_layouts import CONTACTS_FULL, EVALUATED, PLANT, STATE

__all__ = ["read_field_contacts"]


@compiled
def _is_rigid(fields: Table, geom: int) -> bool:
    return fields.geom_kind[geom] in (RIGID_MESH, RIGID_HALF_SPACE)


@compiled
def _modulus(fields: Table, geom: int) -> float:
    """Hydroelastic modulus of a geom [Pa], infinite of rigid ones."""
    return np.inf if _is_rigid(fields, geom) else fields.geom_modulus[geom]


@compiled
def _add_patch(plant: Table, state: Table, index: int, address: int, a: int, b: int) -> int:
    """Add the points of two geoms; ``EVALUATED`` or ``CONTACTS_FULL``."""
    materials = plant.materials
    offsets = plant.offsets
    fields = plant.fields
    work = state.work.fields
    contacts = state.contacts
    xpos = state.mj_geom_xpos
    xmat = state.mj_geom_xmat
    at = address + offsets.contact_frame
    normal = (load_double(at), load_double(at + 8), load_double(at + 16))
    status, base = find_points(fields, work, a, b, xpos, xmat, normal)
    if status == POINTS_FULL or contacts.count + work.point_count > contacts.link.shape[0]:
        return CONTACTS_FULL
    begun = contacts.count
    patch = contacts.patch_count
    contacts.patch_count = patch + 1
    material = state.work.pair_material
    dissipation = combine_dissipation(
        materials.of_geom,
        materials.pairs,
        materials.pair_keys,
        materials.default,
        a,
        b,
        _modulus(fields, a),
        _modulus(fields, b),
    )
    sliding = load_int(address + offsets.contact_dim) >= 3
    sign = 1.0 if base == a else -1.0
    point = work.point
    growth = growth_of(work, -load_double(address + offsets.contact_dist))
    for i in range(work.point_count):
        if point[i, 6] <= 0.0:
            continue
        px, py, pz = xpos[base, 0], xpos[base, 1], xpos[base, 2]
        nx = 0.0
        ny = 0.0
        nz = 0.0
        for k in range(3):
            px += xmat[base, k] * point[i, k]
            py += xmat[base, 3 + k] * point[i, k]
            pz += xmat[base, 6 + k] * point[i, k]
            nx += sign * xmat[base, k] * point[i, 3 + k]
            ny += sign * xmat[base, 3 + k] * point[i, 3 + k]
            nz += sign * xmat[base, 6 + k] * point[i, 3 + k]
        first, second = tangents(nx, ny, nz)
        frame = (*first, *second, nx, ny, nz)
        # Each point of a surface that turns moves in its own way.
        ux, uy, uz = surface_motion(plant, state, b, px, py, pz)
        vx, vy, vz = surface_motion(plant, state, a, px, py, pz)
        ux -= vx
        uy -= vy
        uz -= vz
        added = contacts.count
        fill_contact(
            plant,
            state,
            added,
            (a, b),
            index,
            (px, py, pz),
            frame,
            point[i, 7],
            (
                point[i, 6],
                dissipation,
                material[STATIC_FRICTION] if sliding else 0.0,
                material[DYNAMIC_FRICTION] if sliding else 0.0,
                material[STICTION_TOLERANCE],
                material[RELAXATION_TIME],
            ),
            (
                frame[0] * ux + frame[1] * uy + frame[2] * uz,
                frame[3] * ux + frame[4] * uy + frame[5] * uz,
            ),
        )
        contacts.patch[added] = patch
        contacts.area[added] = point[i, 8]
        contacts.growth[added] = growth
        contacts.count = added + 1
    if contacts.count > begun:
        carry(plant, state, begun, a, b)
    return EVALUATED


@compiled
def _is_deep(fields: Table, a: int, b: int, distance: float) -> bool:
    """Whether two geoms overlap by more than their fields are deep.

    A geom that is past the other's surface as a whole makes no patch that could push it out.
    """
    if fields.geom_convex[a] == 0 or fields.geom_convex[b] == 0:
        return False
    compliance_a = fields.geom_depth[a] / fields.geom_modulus[a]
    compliance_b = fields.geom_depth[b] / fields.geom_modulus[b]
    if _is_rigid(fields, a):
        return -distance > fields.geom_depth[b]
    if _is_rigid(fields, b):
        return -distance > fields.geom_depth[a]
    pressure = min(fields.geom_modulus[a], fields.geom_modulus[b])
    return -distance > pressure * (compliance_a + compliance_b)


@entry_point(types.int64(PLANT.type, STATE.type))
def read_field_contacts(plant: Table, state: Table) -> int:
    """Fill the contact set; returns ``EVALUATED`` or ``CONTACTS_FULL``."""
    contacts = state.contacts
    empty_contacts(state)
    pair = NO_PAIR
    nothing = False
    for index in range(contacts_found(plant, state)):
        address = contact_address(plant, state, index)
        if not counts_as_contact(plant, address):
            continue
        last_a, last_b, _, _, _ = pair
        pair = follow_pair(plant, state, address, pair)
        a, b, _, moving, share = pair
        if moving < 0:
            contacts.count = 0
            return CONTACTS_FULL
        if moving != 1:
            continue
        if makes_patch(plant.fields, a, b):
            new = a != last_a or b != last_b
            # Of all that MuJoCo finds of two geoms, the first stands for the patch.
            if new:
                before = contacts.count
                if _add_patch(plant, state, index, address, a, b) == CONTACTS_FULL:
                    return CONTACTS_FULL
                nothing = contacts.count == before
            distance = load_double(address + plant.offsets.contact_dist)
            if not (nothing and _is_deep(plant.fields, a, b, distance)):
                continue
        if contacts.count >= contacts.link.shape[0]:
            return CONTACTS_FULL
        add_mujoco_contact(plant, state, index, address, (a, b), share)
    return EVALUATED
