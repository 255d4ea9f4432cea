"""Point contacts from MuJoCo's collision detection into the contact set."""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_address, load_double, load_int
from asperity.contact.materials import (
    DISSIPATION,
    DYNAMIC_FRICTION,
    RELAXATION_TIME,
    STATIC_FRICTION,
    STICTION_TOLERANCE,
    STIFFNESS,
    combine,
)
from asperity.plant.layouts import CONTACTS_FULL, EVALUATED, PLANT, STATE

__all__ = ["read_contacts"]


@compiled
def _link_of(plant: Table, state: Table, contacts: Table, body: int) -> int:
    """The link of a body, made if new; −1 for a body fixed to the world, −2 if none is left."""
    tree = plant.body_tree[body]
    if tree < 0:
        return -1
    if plant.body_link[body] >= 0:
        return plant.body_link[body]
    link = contacts.link_count
    if link >= contacts.link_tree.size:
        return -2
    start = 0
    if link > 0:
        start = contacts.link_start[link - 1] + contacts.link_size[link - 1]
    size = 0
    if not plant.tree_spatial[tree]:
        dof = plant.body_last_dof[body]
        while dof >= 0:
            if start + size >= contacts.chain_dof.size:
                return -2
            contacts.chain_dof[start + size] = dof
            for a in range(6):
                contacts.chain_column[start + size, a] = state.cdof[dof, a]
            size += 1
            dof = plant.dof_parent[dof]
    contacts.link_tree[link] = tree
    contacts.link_start[link] = start
    contacts.link_size[link] = size
    contacts.link_count = link + 1
    plant.body_link[body] = link
    return link


@compiled
def _set_arm(com: np.ndarray, root: int, point: np.ndarray, c: int, arm: np.ndarray) -> None:
    for a in range(3):
        arm[c, a] = point[c, a] - com[root, a]


@compiled
def _inverse_mass(
    plant: Table, state: Table, contacts: Table, link: int, arm: np.ndarray, c: int
) -> float:
    """One side's part of the mean diagonal of J diag(M)⁻¹ Jᵀ.

    The contact's axes are orthonormal, so the squares of a column of J add up to that of the
    velocity v + ω × r of the contact point.
    """
    inverse = state.mass_inverse_diagonal
    tree = contacts.link_tree[link]
    x = arm[c, 0]
    y = arm[c, 1]
    z = arm[c, 2]
    total = 0.0
    if plant.tree_spatial[tree]:
        start = plant.tree_start[tree]
        total += (y * y + z * z) * inverse[start]
        total += (x * x + z * z) * inverse[start + 1]
        total += (x * x + y * y) * inverse[start + 2]
        total += inverse[start + 3] + inverse[start + 4] + inverse[start + 5]
    else:
        column = contacts.chain_column
        start = contacts.link_start[link]
        for e in range(start, start + contacts.link_size[link]):
            u = column[e, 3] + column[e, 1] * z - column[e, 2] * y
            v = column[e, 4] + column[e, 2] * x - column[e, 0] * z
            w = column[e, 5] + column[e, 0] * y - column[e, 1] * x
            total += (u * u + v * v + w * w) * inverse[contacts.chain_dof[e]]
    return total / 3.0


@entry_point(types.int64(PLANT.type, STATE.type))
def read_contacts(plant: Table, state: Table) -> int:
    """Fill the contact set; returns ``EVALUATED`` or ``CONTACTS_FULL``."""
    contacts = state.contacts
    material = plant.pair_material

    contacts.count = 0
    contacts.link_count = 0
    for body in range(plant.body_link.size):
        plant.body_link[body] = -1
    data = state.data
    found = load_int(data + plant.ncon_offset)
    if found > contacts.link.shape[0]:
        return CONTACTS_FULL
    base = load_address(data + plant.contact_offset)
    size = plant.contact_size
    dist_at = plant.contact_dist
    pos_at = plant.contact_pos
    frame_at = plant.contact_frame
    geom_at = plant.contact_geom
    friction_at = plant.contact_friction
    last_a = -1
    last_b = -1
    last_friction = 0.0
    body_a = 0
    body_b = 0
    link_a = -1
    link_b = -1
    share = 0.5
    c = 0
    for index in range(found):
        address = base + index * size
        if load_int(address + plant.contact_exclude) != 0:
            continue
        geom_a = load_int(address + geom_at)
        geom_b = load_int(address + geom_at + 4)
        model_friction = load_double(address + friction_at)
        if geom_a != last_a or geom_b != last_b or model_friction != last_friction:
            # Contacts of the same two geoms follow each other and share all of this.
            last_a = geom_a
            last_b = geom_b
            last_friction = model_friction
            body_a = plant.geom_body[geom_a]
            body_b = plant.geom_body[geom_b]
            link_a = _link_of(plant, state, contacts, body_a)
            link_b = _link_of(plant, state, contacts, body_b)
            if link_a == -2 or link_b == -2:
                return CONTACTS_FULL
            share = combine(
                plant.material,
                plant.material_pairs,
                plant.material_pair_keys,
                plant.material_default,
                geom_a,
                geom_b,
                model_friction,
                material,
            )
        if link_a < 0 and link_b < 0:
            continue
        distance = load_double(address + dist_at)
        if material[STIFFNESS] <= 0.0:
            continue
        for i in range(3):
            # MuJoCo's rows are (n, t1, t2).
            row = 3 * ((i + 1) % 3)
            for a in range(3):
                contacts.frame[c, 3 * i + a] = load_double(address + frame_at + 8 * (row + a))
        for a in range(3):
            # MuJoCo's point is midway through the overlap; the stiffer side's surface is nearer
            # to where the force acts.
            contacts.point[c, a] = (
                load_double(address + pos_at + 8 * a)
                + (share - 0.5) * distance * contacts.frame[c, 6 + a]
            )
        contacts.link[c, 0] = link_a
        contacts.link[c, 1] = link_b
        contacts.geom[c, 0] = geom_a
        contacts.geom[c, 1] = geom_b
        contacts.source[c] = index
        contacts.signed_distance[c] = distance
        contacts.stiffness[c] = material[STIFFNESS]
        contacts.dissipation[c] = material[DISSIPATION]
        sliding = load_int(address + plant.contact_dim) >= 3
        contacts.static_friction[c] = material[STATIC_FRICTION] if sliding else 0.0
        contacts.dynamic_friction[c] = material[DYNAMIC_FRICTION] if sliding else 0.0
        contacts.stiction_tolerance[c] = material[STICTION_TOLERANCE]
        contacts.relaxation_time[c] = material[RELAXATION_TIME]
        surface = address + plant.contact_surfacevel
        contacts.surface_velocity[c, 0] = load_double(surface)
        contacts.surface_velocity[c, 1] = load_double(surface + 8)
        contacts.inverse_mass[c] = 0.0
        if link_a >= 0:
            _set_arm(
                state.mj_subtree_com, plant.body_root[body_a], contacts.point, c, contacts.arm_a
            )
            contacts.inverse_mass[c] += _inverse_mass(
                plant, state, contacts, link_a, contacts.arm_a, c
            )
        if link_b >= 0:
            _set_arm(
                state.mj_subtree_com, plant.body_root[body_b], contacts.point, c, contacts.arm_b
            )
            contacts.inverse_mass[c] += _inverse_mass(
                plant, state, contacts, link_b, contacts.arm_b, c
            )
        c += 1
    contacts.count = c
    return EVALUATED
