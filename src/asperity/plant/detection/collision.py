"""The contact set: contacts between geoms, and MuJoCo's point contacts in it.

Whoever finds contacts empties the set (`empty_contacts`), makes the links of each two geoms that
touch (`make_links`), looks up what their materials make of each other, and adds the contacts one by
one (`fill_contact`). `read_contacts` does this with what MuJoCo's collision detection has found.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, consistent, entry_point, inlined
from asperity.compiled.calls import load_address, load_double, load_int
from asperity.contact.combination import (
    DISSIPATION,
    DYNAMIC_FRICTION,
    RELAXATION_TIME,
    STATIC_FRICTION,
    STICTION_TOLERANCE,
    STIFFNESS,
    combine,
)
from asperity.plant.detection.gliding_kernels import comes_too_fast, counts_at_distance
from asperity.plant.plant_layouts import CONTACTS_FULL, EVALUATED, PLANT, STATE
from asperity.plant.resting_layout import RESTING

__all__ = [
    "NO_PAIR",
    "add_mujoco_contact",
    "combine_materials",
    "contact_address",
    "contacts_found",
    "counts_as_contact",
    "empty_contacts",
    "fill_contact",
    "fill_ellipsoid",
    "fill_mujoco_contact",
    "follow_pair",
    "make_links",
    "read_contacts",
    "side_inverse_mass",
]

# MuJoCo's least coefficient of friction.
_LEAST_FRICTION = 1e-5

# Stiffness of what comes too fast, over that which takes half of its speed in a step.
_RIGID = 1e4

# MuJoCo's mark of a contact at a distance that is not below its margin.
_IN_GAP = 1


@compiled
def _link_of(plant: Table, state: Table, contacts: Table, body: int) -> int:
    """The link of a body, made if new; −1 for a body fixed to the world, −2 if none is left."""
    tree = plant.bodies.tree[body]
    if tree < 0:
        return -1
    if state.work.body_link[body] >= 0:
        return state.work.body_link[body]
    link = contacts.link_count
    if link >= contacts.link_tree.size:
        return -2
    start = 0
    if link > 0:
        start = contacts.link_start[link - 1] + contacts.link_size[link - 1]
    size = 0
    if not plant.trees.spatial[tree]:
        dof = plant.bodies.last_dof[body]
        while dof >= 0:
            if start + size >= contacts.chain_dof.size:
                return -2
            contacts.chain_dof[start + size] = dof
            for a in range(6):
                contacts.chain_column[start + size, a] = state.cdof[dof, a]
            size += 1
            dof = plant.dofs.parent[dof]
    contacts.link_tree[link] = tree
    contacts.link_start[link] = start
    contacts.link_size[link] = size
    contacts.link_count = link + 1
    state.work.body_link[body] = link
    return link


@compiled
def empty_contacts(state: Table) -> None:
    """Forget all contacts and links."""
    state.contacts.count = 0
    state.contacts.ellipsoids = 0
    state.contacts.link_count = 0
    state.contacts.patch_count = 0
    for body in range(state.work.body_link.size):
        state.work.body_link[body] = -1


@compiled
def make_links(plant: Table, state: Table, geom_a: int, geom_b: int) -> int:
    """Make the links of two geoms' bodies; 1, 0 if neither body can move, −1 without room."""
    link_a = _link_of(plant, state, state.contacts, plant.geoms.body[geom_a])
    link_b = _link_of(plant, state, state.contacts, plant.geoms.body[geom_b])
    if link_a == -2 or link_b == -2:
        return -1
    return 1 if link_a >= 0 or link_b >= 0 else 0


@consistent
def side_inverse_mass(
    plant: Table, state: Table, contacts: Table, link: int, arm: np.ndarray, c: int
) -> float:
    """One side's part of the mean diagonal of J diag(M)⁻¹ Jᵀ.

    The contact's axes are orthonormal, so the squares of a column of J add up to that of the
    velocity v + ω × r of the contact point.
    """
    inverse = state.mass_inverse_diagonal
    tree = contacts.link_tree[link]
    x, y, z = arm[c, 0], arm[c, 1], arm[c, 2]
    total = 0.0
    if plant.trees.spatial[tree]:
        start = plant.trees.start[tree]
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


@consistent
def _fill_side(plant: Table, state: Table, c: int, body: int, arm: np.ndarray) -> None:
    """Fill one side's arm, and add its part of the inverse mass, if the body can move."""
    contacts = state.contacts
    link = state.work.body_link[body]
    if link < 0:
        return
    root = plant.bodies.reference[body]
    for a in range(3):
        arm[c, a] = contacts.point[c, a] - state.mj_subtree_com[root, a]
    contacts.inverse_mass[c] += side_inverse_mass(plant, state, contacts, link, arm, c)


@consistent
def fill_contact(
    plant: Table,
    state: Table,
    c: int,
    geoms: tuple[int, int],
    source: int,
    point: tuple[float, float, float],
    frame: tuple[float, float, float, float, float, float, float, float, float],
    signed_distance: float,
    material: tuple[float, float, float, float, float, float],
    surface_velocity: tuple[float, float],
) -> None:
    """Fill contact ``c`` of the state's contact set, which has room for it.

    With several threads contacts are filled in another entry point: with the same bits, whatever
    is around.

    Parameters
    ----------
    plant, state : Table
    c : int
        Number of the contact; the set's ``count`` stays as it is.
    geoms : tuple of int
        Geoms 1 and 2, whose links have been made.
    source : int
        Where the contact comes from: its index among those that MuJoCo has found.
    point : tuple of float
        Where the force acts [m], in world axes as all of this.
    frame : tuple of float
        Both tangents and the normal, which points from geom 1 to geom 2.
    signed_distance : float
        Negative where the geoms overlap [m].
    material : tuple of float
        Stiffness [N/m], dissipation [s/m], coefficients of static and dynamic friction, stiction
        tolerance [m/s], and relaxation time [s] (negative if there is none).
    surface_velocity : tuple of float
        Of moving surfaces, along the tangents [m/s].
    """
    contacts = state.contacts
    for a in range(9):
        contacts.frame[c, a] = frame[a]
    for a in range(3):
        contacts.point[c, a] = point[a]
    contacts.geom[c, 0], contacts.geom[c, 1] = geoms
    contacts.source[c] = source
    contacts.area[c] = 0.0
    contacts.patch[c] = -1
    contacts.ellipsoidal[c] = 0
    contacts.growth[c] = 1.0
    contacts.carried[c] = 0.0
    for a in range(3):
        contacts.turning_velocity[c, a] = 0.0
    contacts.distance_change[c] = 0.0
    contacts.signed_distance[c] = signed_distance
    contacts.stiffness[c] = material[0]
    contacts.dissipation[c] = material[1]
    contacts.static_friction[c] = material[2]
    contacts.dynamic_friction[c] = material[3]
    contacts.stiction_tolerance[c] = material[4]
    contacts.relaxation_time[c] = material[5]
    contacts.surface_velocity[c, 0], contacts.surface_velocity[c, 1] = surface_velocity
    body_a = plant.geoms.body[geoms[0]]
    body_b = plant.geoms.body[geoms[1]]
    contacts.link[c, 0] = state.work.body_link[body_a]
    contacts.link[c, 1] = state.work.body_link[body_b]
    contacts.inverse_mass[c] = 0.0
    _fill_side(plant, state, c, body_a, contacts.arm_a)
    _fill_side(plant, state, c, body_b, contacts.arm_b)


@compiled
def _triple(at: int) -> tuple[float, float, float]:
    return load_double(at), load_double(at + 8), load_double(at + 16)


@compiled
def _stop(plant: Table, state: Table, c: int, share: float) -> None:
    """Make a contact rigid, so that the step ends where its geoms touch, and let it act there.

    A spring as soft as the user's could be pressed together by more than a geom. Each side has the
    arm of its own surface, which the gap keeps from being that of the contact's point.
    """
    contacts = state.contacts
    gap = max(contacts.signed_distance[c], 0.0)
    contacts.inverse_mass[c] = 0.0
    contacts.ellipsoidal[c] = 0
    for side in range(2):
        link = contacts.link[c, side]
        if link < 0:
            continue
        arm = contacts.arm_a if side == 0 else contacts.arm_b
        shift = gap * ((1.0 if side == 1 else 0.0) - share)
        for a in range(3):
            arm[c, a] += shift * contacts.frame[c, 6 + a]
        contacts.inverse_mass[c] += side_inverse_mass(plant, state, contacts, link, arm, c)
    rigid = _RIGID / max(contacts.inverse_mass[c] * state.step * state.step, 1e-300)
    contacts.stiffness[c] = max(contacts.stiffness[c], rigid)


@inlined
def add_mujoco_contact(
    plant: Table,
    state: Table,
    index: int,
    address: int,
    geoms: tuple[int, int],
    share: float,
) -> None:
    """Add a contact of MuJoCo's, for which there is room, with the material in ``pair_material``.

    Without stiffness it is none, and neither is a contact at a distance unless what glides or comes
    too fast may get there. ``share`` is geom 1's part of the contact's compliance, as `combine`
    returns it.
    """
    material = state.work.pair_material
    if material[STIFFNESS] <= 0.0:
        return
    added = state.contacts.count
    fill_mujoco_contact(plant, state, added, index, address, geoms, share, material)
    if state.widened == 0:
        state.contacts.count = added + 1
    elif comes_too_fast(plant, state, *geoms, not state.contacts.signed_distance[added] > 0.0):
        _stop(plant, state, added, share)
        state.contacts.count = added + 1
    elif not state.contacts.signed_distance[added] > 0.0 or counts_at_distance(
        plant, state, added, address
    ):
        state.contacts.count = added + 1


@consistent
def fill_mujoco_contact(
    plant: Table,
    state: Table,
    c: int,
    index: int,
    address: int,
    geoms: tuple[int, int],
    share: float,
    material: np.ndarray,
) -> None:
    """Make contact ``c`` of the set one of MuJoCo's, as `fill_contact` does."""
    offsets = plant.offsets
    distance = load_double(address + offsets.contact_dist)
    # MuJoCo's rows are (n, t1, t2).
    normal = _triple(address + offsets.contact_frame)
    tangent_1 = _triple(address + offsets.contact_frame + 24)
    tangent_2 = _triple(address + offsets.contact_frame + 48)
    # Its point is midway through the overlap; the stiffer side's surface is nearer to where the
    # force acts.
    x, y, z = _triple(address + offsets.contact_pos)
    ahead = (share - 0.5) * distance
    sliding = load_int(address + offsets.contact_dim) >= 3
    surface = address + offsets.contact_surfacevel
    fill_contact(
        plant,
        state,
        c,
        geoms,
        index,
        (x + ahead * normal[0], y + ahead * normal[1], z + ahead * normal[2]),
        (*tangent_1, *tangent_2, *normal),
        distance,
        (
            material[STIFFNESS],
            material[DISSIPATION],
            material[STATIC_FRICTION] if sliding else 0.0,
            material[DYNAMIC_FRICTION] if sliding else 0.0,
            material[STICTION_TOLERANCE],
            material[RELAXATION_TIME],
        ),
        (load_double(surface), load_double(surface + 8)),
    )
    if state.every_friction != 0 and sliding:
        friction = address + offsets.contact_friction
        fill_ellipsoid(state.contacts, c, friction, load_int(address + offsets.contact_dim))


@compiled
def fill_ellipsoid(contacts: Table, c: int, friction: int, dimension: int) -> None:
    """Give a contact all coefficients of friction, at an address, as MuJoCo has them.

    Torsion and rolling have their coefficients whatever that of sliding is, which then counts as
    10⁻⁵ at least, as in MuJoCo. That along the second tangent keeps its ratio to the first.
    """
    first = load_double(friction)
    second = load_double(friction + 8)
    if dimension <= 3 and first == second:
        return
    if contacts.static_friction[c] < _LEAST_FRICTION:
        contacts.static_friction[c] = _LEAST_FRICTION
        contacts.dynamic_friction[c] = _LEAST_FRICTION
    inverse = 1.0 / contacts.static_friction[c]
    scale = contacts.slip_scale[c]
    scale[0] = second / first
    scale[1] = load_double(friction + 24) * inverse if dimension > 4 else 0.0
    scale[2] = load_double(friction + 32) * inverse if dimension > 4 else 0.0
    scale[3] = load_double(friction + 16) * inverse if dimension > 3 else 0.0
    contacts.ellipsoidal[c] = max(dimension, 3)
    contacts.ellipsoids = 1


@compiled
def combine_materials(plant: Table, state: Table, a: int, b: int, friction: float) -> float:
    """Fill ``pair_material`` for two geoms; returns geom 1's part of the compliance."""
    materials = plant.materials
    return combine(
        materials.of_geom,
        materials.pairs,
        materials.pair_keys,
        materials.default,
        a,
        b,
        friction,
        state.work.pair_material,
    )


NO_PAIR = (-1, -1, 0.0, 0, 0.5)
"""What `follow_pair` begins with."""


@inlined
def follow_pair(
    plant: Table, state: Table, address: int, last: tuple[int, int, float, int, float]
) -> tuple[int, int, float, int, float]:
    """What there is to know of the two geoms of one of MuJoCo's contacts.

    Geoms 1 and 2, their friction, what `make_links` says of them, and what `combine_materials`
    does. Contacts of the same two geoms follow each other and share all of this: ``last`` is that
    of the contact before.
    """
    offsets = plant.offsets
    a = load_int(address + offsets.contact_geom)
    b = load_int(address + offsets.contact_geom + 4)
    friction = load_double(address + offsets.contact_friction)
    if a == last[0] and b == last[1] and friction == last[2]:
        return last
    moving = make_links(plant, state, a, b)
    share = combine_materials(plant, state, a, b, friction)
    return a, b, friction, moving, share


@compiled
def contacts_found(plant: Table, state: Table) -> int:
    """How many contacts MuJoCo has found."""
    return (
        state.found
        if state.detect_shared != 0
        else load_int(state.data + plant.offsets.ncon_offset)
    )


@inlined
def contact_address(plant: Table, state: Table, index: int) -> int:
    """Where one of them is."""
    offsets = plant.offsets
    if state.detect_shared != 0:
        return load_address(state.found_address + 8 * index)
    return load_address(state.data + offsets.contact_offset) + index * offsets.contact_size


@compiled
def counts_as_contact(plant: Table, address: int) -> bool:
    """Whether one of MuJoCo's contacts is one: not excluded, or so only because it just touches.

    What touches without overlap carries no force in MuJoCo. Here it does at the end of a step
    that presses it together, however long the step is.
    """
    offsets = plant.offsets
    excluded = load_int(address + offsets.contact_exclude)
    if excluded == _IN_GAP:
        distance = load_double(address + offsets.contact_dist)
        return distance <= load_double(address + offsets.contact_margin)
    return excluded == 0


@compiled
def _neither_is_awake(plant: Table, state: Table, geom_a: int, geom_b: int) -> bool:
    """Whether of two geoms each is at rest, or does not move at all."""
    resting = RESTING.at(state.resting)
    a = plant.bodies.tree[plant.geoms.body[geom_a]]
    b = plant.bodies.tree[plant.geoms.body[geom_b]]
    return (a < 0 or resting.at_rest[a] == 1) and (b < 0 or resting.at_rest[b] == 1)


@entry_point(types.int64(PLANT.type, STATE.type))
def read_contacts(plant: Table, state: Table) -> int:
    """Fill the contact set; returns ``EVALUATED`` or ``CONTACTS_FULL``."""
    contacts = state.contacts
    empty_contacts(state)
    found = contacts_found(plant, state)
    if found > contacts.link.shape[0]:
        return CONTACTS_FULL
    pair = NO_PAIR
    for index in range(found):
        address = contact_address(plant, state, index)
        if not counts_as_contact(plant, address):
            continue
        pair = follow_pair(plant, state, address, pair)
        a, b, _, moving, share = pair
        if moving < 0:
            contacts.count = 0
            return CONTACTS_FULL
        if state.resting != 0 and _neither_is_awake(plant, state, a, b):
            continue
        if moving == 1:
            add_mujoco_contact(plant, state, index, address, (a, b), share)
    return EVALUATED
