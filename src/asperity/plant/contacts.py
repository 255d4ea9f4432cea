"""Point contacts from MuJoCo's collision detection into the contact set."""

from __future__ import annotations

from numba import types

from asperity.compiled import compiled, entry_point
from asperity.compiled.calls import load_address, load_double, load_int
from asperity.contact.contact_set import CONTACT_SET, COUNT_CONTACTS, COUNT_LINKS
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

_plant = PLANT.get
_state = STATE.get
_contacts = CONTACT_SET.get


@compiled
def _link_of(plant, state, contacts, body):
    """The link of a body, made if new; −1 for a body fixed to the world, −2 if none is left."""
    tree = _plant(plant, "body_tree")[body]
    if tree < 0:
        return -1
    body_link = _plant(plant, "body_link")
    if body_link[body] >= 0:
        return body_link[body]
    counts = _contacts(contacts, "counts")
    link_tree = _contacts(contacts, "link_tree")
    link_start = _contacts(contacts, "link_start")
    link_size = _contacts(contacts, "link_size")
    link = counts[COUNT_LINKS]
    if link >= link_tree.size:
        return -2
    start = 0
    if link > 0:
        start = link_start[link - 1] + link_size[link - 1]
    size = 0
    if not _plant(plant, "tree_spatial")[tree]:
        chain_dof = _contacts(contacts, "chain_dof")
        chain_column = _contacts(contacts, "chain_column")
        parent = _plant(plant, "dof_parent")
        cdof = _state(state, "cdof")
        dof = _plant(plant, "body_last_dof")[body]
        while dof >= 0:
            if start + size >= chain_dof.size:
                return -2
            chain_dof[start + size] = dof
            for a in range(6):
                chain_column[start + size, a] = cdof[dof, a]
            size += 1
            dof = parent[dof]
    link_tree[link] = tree
    link_start[link] = start
    link_size[link] = size
    counts[COUNT_LINKS] = link + 1
    body_link[body] = link
    return link


@compiled
def _set_arm(com, root, point, c, arm):
    for a in range(3):
        arm[c, a] = point[c, a] - com[root, a]


@compiled
def _inverse_mass(plant, state, contacts, link, arm, c):
    """One side's part of the mean diagonal of J diag(M)⁻¹ Jᵀ.

    The contact's axes are orthonormal, so the squares of a column of J add up to that of the
    velocity v + ω × r of the contact point.
    """
    inverse = _state(state, "mass_inverse_diagonal")
    tree = _contacts(contacts, "link_tree")[link]
    x = arm[c, 0]
    y = arm[c, 1]
    z = arm[c, 2]
    total = 0.0
    if _plant(plant, "tree_spatial")[tree]:
        start = _plant(plant, "tree_start")[tree]
        total += (y * y + z * z) * inverse[start]
        total += (x * x + z * z) * inverse[start + 1]
        total += (x * x + y * y) * inverse[start + 2]
        total += inverse[start + 3] + inverse[start + 4] + inverse[start + 5]
    else:
        dof = _contacts(contacts, "chain_dof")
        column = _contacts(contacts, "chain_column")
        start = _contacts(contacts, "link_start")[link]
        for e in range(start, start + _contacts(contacts, "link_size")[link]):
            u = column[e, 3] + column[e, 1] * z - column[e, 2] * y
            v = column[e, 4] + column[e, 2] * x - column[e, 0] * z
            w = column[e, 5] + column[e, 0] * y - column[e, 1] * x
            total += (u * u + v * v + w * w) * inverse[dof[e]]
    return total / 3.0


@entry_point(types.int64(types.int64, types.int64))
def read_contacts(plant, state):
    """Fill the contact set; returns ``EVALUATED`` or ``CONTACTS_FULL``."""
    contacts = _state(state, "contacts")
    counts = _contacts(contacts, "counts")
    link = _contacts(contacts, "link")
    frame = _contacts(contacts, "frame")
    point = _contacts(contacts, "point")
    geom = _contacts(contacts, "geom")
    source = _contacts(contacts, "source")
    signed_distance = _contacts(contacts, "signed_distance")
    stiffness = _contacts(contacts, "stiffness")
    dissipation = _contacts(contacts, "dissipation")
    static_friction = _contacts(contacts, "static_friction")
    dynamic_friction = _contacts(contacts, "dynamic_friction")
    stiction_tolerance = _contacts(contacts, "stiction_tolerance")
    relaxation_time = _contacts(contacts, "relaxation_time")
    inverse_mass = _contacts(contacts, "inverse_mass")
    surface_velocity = _contacts(contacts, "surface_velocity")
    arm_a = _contacts(contacts, "arm_a")
    arm_b = _contacts(contacts, "arm_b")
    geom_body = _plant(plant, "geom_body")
    body_root = _plant(plant, "body_root")
    body_link = _plant(plant, "body_link")
    material = _plant(plant, "pair_material")
    com = _state(state, "mj_subtree_com")

    counts[COUNT_CONTACTS] = 0
    counts[COUNT_LINKS] = 0
    for body in range(body_link.size):
        body_link[body] = -1
    data = _state(state, "data")
    found = load_int(data + _plant(plant, "ncon_offset"))
    if found > link.shape[0]:
        return CONTACTS_FULL
    base = load_address(data + _plant(plant, "contact_offset"))
    size = _plant(plant, "contact_size")
    dist_at = _plant(plant, "contact_dist")
    pos_at = _plant(plant, "contact_pos")
    frame_at = _plant(plant, "contact_frame")
    geom_at = _plant(plant, "contact_geom")
    friction_at = _plant(plant, "contact_friction")
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
        if load_int(address + _plant(plant, "contact_exclude")) != 0:
            continue
        geom_a = load_int(address + geom_at)
        geom_b = load_int(address + geom_at + 4)
        model_friction = load_double(address + friction_at)
        if geom_a != last_a or geom_b != last_b or model_friction != last_friction:
            # Contacts of the same two geoms follow each other and share all of this.
            last_a = geom_a
            last_b = geom_b
            last_friction = model_friction
            body_a = geom_body[geom_a]
            body_b = geom_body[geom_b]
            link_a = _link_of(plant, state, contacts, body_a)
            link_b = _link_of(plant, state, contacts, body_b)
            if link_a == -2 or link_b == -2:
                return CONTACTS_FULL
            share = combine(
                _plant(plant, "material"),
                _plant(plant, "material_pairs"),
                _plant(plant, "material_pair_keys"),
                _plant(plant, "material_default"),
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
                frame[c, 3 * i + a] = load_double(address + frame_at + 8 * (row + a))
        for a in range(3):
            # MuJoCo's point is midway through the overlap; the stiffer side's surface is nearer
            # to where the force acts.
            point[c, a] = (
                load_double(address + pos_at + 8 * a) + (share - 0.5) * distance * frame[c, 6 + a]
            )
        link[c, 0] = link_a
        link[c, 1] = link_b
        geom[c, 0] = geom_a
        geom[c, 1] = geom_b
        source[c] = index
        signed_distance[c] = distance
        stiffness[c] = material[STIFFNESS]
        dissipation[c] = material[DISSIPATION]
        sliding = load_int(address + _plant(plant, "contact_dim")) >= 3
        static_friction[c] = material[STATIC_FRICTION] if sliding else 0.0
        dynamic_friction[c] = material[DYNAMIC_FRICTION] if sliding else 0.0
        stiction_tolerance[c] = material[STICTION_TOLERANCE]
        relaxation_time[c] = material[RELAXATION_TIME]
        surface = address + _plant(plant, "contact_surfacevel")
        surface_velocity[c, 0] = load_double(surface)
        surface_velocity[c, 1] = load_double(surface + 8)
        inverse_mass[c] = 0.0
        if link_a >= 0:
            _set_arm(com, body_root[body_a], point, c, arm_a)
            inverse_mass[c] += _inverse_mass(plant, state, contacts, link_a, arm_a, c)
        if link_b >= 0:
            _set_arm(com, body_root[body_b], point, c, arm_b)
            inverse_mass[c] += _inverse_mass(plant, state, contacts, link_b, arm_b, c)
        c += 1
    counts[COUNT_CONTACTS] = c
    return EVALUATED
