"""Forces of contacts and constraints where MuJoCo's own functions and sensors look for them.

``data.contact`` gets the contacts of the step. ``efc_force`` gets their forces and those of limits,
equalities and dry friction. ``mj_contactForce`` and MuJoCo's touch and contact sensors then report
our forces. Contacts have rows of sliding, or none, and those of torsion and rolling where they have
these.

The rows are MuJoCo's at the new state, the forces those of the step that led to it.
``qfrc_constraint`` is the generalized force of both, and of limits and dry friction without a row,
as the limit of a joint that has just left it.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import (
    call_ppp_status,
    call_pppn_status,
    load_address,
    load_double,
    load_int,
    store_double,
    store_int,
)
from asperity.contact.constraint_set import ACTUATOR, LIMIT, PASSIVE
from asperity.plant import native

__all__ = [
    "PYRAMIDAL",
    "add_contacts",
    "blank_contact",
    "fill_accelerations",
    "fill_forces",
    "room_for_contacts",
]

# MuJoCo's mjtConstraint and mjtJoint.
_FRICTION_DOF = 1
_LIMIT_JOINT = 3
_BALL = 1

# Share of MuJoCo's memory that contacts may take with their rows, of which a contact has at most so
# many, of so many bytes beside the Jacobian's numbers and their columns.
_SHARE = 0.5
_ROWS = 10
_ROW = 256
# MuJoCo's own numbers of a default contact; nothing of ours depends on them.
_SOLREF = (0.02, 1.0)
_SOLIMP = (0.9, 0.95, 0.001, 0.5, 2.0)
_LEAST_FRICTION = 1e-5

# MuJoCo's enumerations are slow to compare with.
PYRAMIDAL = int(mujoco.mjtCone.mjCONE_PYRAMIDAL)


@compiled
def _dimension(contacts: Table, c: int) -> int:
    """MuJoCo's ``dim`` of a contact with friction."""
    if contacts.ellipsoidal[c] == 0:
        return 3
    if contacts.slip_scale[c, 1] > 0.0:
        return 6
    return 4 if contacts.slip_scale[c, 3] > 0.0 else 3


@compiled
def _friction_of(contacts: Table, c: int, which: int) -> float:
    """One of the coefficients (sliding, sliding, torsion, rolling, rolling)."""
    friction = contacts.static_friction[c]
    if which == 0:
        return friction
    if contacts.ellipsoidal[c] == 0:
        return friction if which == 1 else 0.0
    if which == 1:
        return friction * contacts.slip_scale[c, 0]
    if which == 2:
        return friction * contacts.slip_scale[c, 3]
    return friction * contacts.slip_scale[c, which - 2]


@compiled
def _force_of(contacts: Table, c: int, which: int, step: float) -> float:
    """The force or torque that goes with that coefficient."""
    if which < 2:
        return contacts.impulse[c, which] / step
    if contacts.ellipsoidal[c] == 0:
        return 0.0
    return contacts.angular_impulse[c, 2 if which == 2 else which - 3] / step


@compiled
def _weakest(contacts: Table, room: int) -> float:
    """Normal impulse of the weakest among the ``room`` strongest contacts."""
    low = high = contacts.impulse[0, 2]
    for c in range(contacts.count):
        low = min(low, contacts.impulse[c, 2])
        high = max(high, contacts.impulse[c, 2])
    # `high` is the impulse of a contact than which fewer than `room` are stronger.
    while low < high:
        middle = 0.5 * low + 0.5 * high
        # Of two neighbours the mean may be either.
        middle = low if middle >= high else middle
        stronger = 0
        below, above = low, high
        for c in range(contacts.count):
            impulse = contacts.impulse[c, 2]
            if impulse > middle:
                stronger += 1
                above = min(above, impulse)
            else:
                below = max(below, impulse)
        if stronger >= room:
            low = above
        else:
            high = below
    return high


@compiled
def _next_strongest(contacts: Table, c: int, least: float, equal: int) -> tuple[int, int]:
    """The next contact from ``c`` on that is published, and how many that equal the least remain.

    Of contacts with just the ``least`` impulse so many are: the first ones.
    """
    while contacts.impulse[c, 2] < least or (contacts.impulse[c, 2] == least and equal == 0):
        c += 1
    return c, equal - (1 if contacts.impulse[c, 2] == least else 0)


@compiled
def _strongest(contacts: Table, room: int) -> tuple[float, int]:
    """The least normal impulse of the ``room`` strongest contacts, and how many have just that."""
    if room >= contacts.count or room == 0:
        return -np.inf, 0
    least = _weakest(contacts, room)
    equal = room
    for c in range(contacts.count):
        if contacts.impulse[c, 2] > least:
            equal -= 1
    return least, equal


@compiled
def add_contacts(
    plant: Table, model: int, data: int, delivered: Table, blank: int, room: int
) -> None:
    """Replace MuJoCo's contacts by those delivered.

    Where MuJoCo's memory (``<size memory>``) has no room for all of them, the weakest are left out.
    ``room`` is how many it is sure to hold, ``blank`` the address of a contact without contents,
    which is filled with one after another.
    """
    contacts = delivered.contacts
    ncon = data + plant.offsets.ncon_offset
    wanted = min(contacts.count, room)
    while True:
        store_int(ncon, 0)
        least, equal = _strongest(contacts, wanted)
        c = 0
        for _ in range(wanted):
            c, equal = _next_strongest(contacts, c, least, equal)
            _fill_contact(plant, contacts, c, blank)
            call_ppp_status(plant.mujoco.add_contact, model, data, blank)
            c += 1
        if load_int(ncon) == wanted:
            return
        wanted = load_int(ncon)


@compiled
def _fill_contact(plant: Table, contacts: Table, c: int, blank: int) -> None:
    """Make one of MuJoCo's contacts of one that was delivered."""
    offsets = plant.offsets
    store_double(blank + offsets.contact_dist, contacts.signed_distance[c])
    for a in range(3):
        store_double(blank + offsets.contact_pos + 8 * a, contacts.point[c, a])
        # MuJoCo's rows are (n, t1, t2).
        for i in range(3):
            at = offsets.contact_frame + 8 * (3 * ((i + 1) % 3) + a)
            store_double(blank + at, contacts.frame[c, 3 * i + a])
    sliding = contacts.static_friction[c] > 0.0
    store_int(blank + offsets.contact_dim, _dimension(contacts, c) if sliding else 1)
    for a in range(5):
        friction = max(_friction_of(contacts, c, a), _LEAST_FRICTION)
        store_double(blank + offsets.contact_friction + 8 * a, friction)
    for side in range(2):
        geom = contacts.geom[c, side]
        flex = geom - plant.ngeom
        soft = flex >= 0
        at = blank + 4 * side
        store_int(at + offsets.contact_flex, flex if soft else -1)
        store_int(at + offsets.contact_elem, contacts.element[c, side] if soft else -1)
        store_int(at + offsets.contact_vert, contacts.vertex[c, side] if soft else -1)
        geom = -1 if soft else geom
        store_int(blank + offsets.contact_geom + 4 * side, geom)
        first = offsets.contact_first_geom if side == 0 else offsets.contact_second_geom
        store_int(blank + first, geom)


@compiled
def _write_contacts(plant: Table, data: int, delivered: Table, force: int, pyramidal: int) -> None:
    offsets = plant.offsets
    contacts = delivered.contacts
    base = load_address(data + offsets.contact_offset)
    count = load_int(data + offsets.ncon_offset)
    least, equal = _strongest(contacts, count)
    following = 0
    for i in range(count):
        c, equal = _next_strongest(contacts, following, least, equal)
        following = c + 1
        contact = base + i * offsets.contact_size
        row = load_int(contact + offsets.contact_efc_address)
        if row < 0:
            continue
        at = force + 8 * row
        normal = contacts.impulse[c, 2] / delivered.step
        kinds = load_int(contact + offsets.contact_dim) - 1
        if kinds == 0 or pyramidal == 0:
            store_double(at, normal)
        for k in range(kinds):
            value = _force_of(contacts, c, k, delivered.step)
            if pyramidal == 0:
                store_double(at + 8 * (1 + k), value)
            else:
                # Opposite edges of the pyramid: all sums are normal, a difference tangential.
                value *= 0.5 / max(_friction_of(contacts, c, k), _LEAST_FRICTION)
                store_double(at + 16 * k, 0.5 * normal / kinds + value)
                store_double(at + 16 * k + 8, 0.5 * normal / kinds - value)


@compiled
def _identity(plant: Table, data: int, row: int) -> int:
    """Type and id of one of MuJoCo's rows, as a constraint set has them."""
    offsets = plant.offsets
    kind = load_int(load_address(data + offsets.efc_type_offset) + 4 * row)
    return (kind << 32) + load_int(load_address(data + offsets.efc_id_offset) + 4 * row)


@compiled
def _find_rows(plant: Table, data: int, delivered: Table, count: int) -> None:
    """Find MuJoCo's rows of joint limits, by sign, and of dry friction of dofs."""
    offsets = plant.offsets
    jacobian = load_address(data + offsets.efc_jacobian_offset)
    rowadr = load_address(data + offsets.efc_rowadr_offset)
    limit_rows = delivered.limit_rows
    nv = plant.nv
    for i in range(limit_rows.shape[0]):
        limit_rows[i, 0] = -1
        limit_rows[i, 1] = -1
    for i in range(delivered.friction_rows.size):
        delivered.friction_rows[i] = -1
    for i in range(count):
        identity = _identity(plant, data, i)
        kind = identity >> 32
        index = identity - (kind << 32)
        if kind == _FRICTION_DOF:
            delivered.friction_rows[index] = i
        elif kind == _LIMIT_JOINT:
            side = 1
            if plant.joints.type[index] != _BALL:
                if plant.sparse_rows:
                    entry = load_int(rowadr + 4 * i)
                else:
                    entry = i * nv + plant.joints.dof[index]
                side = 1 if load_double(jacobian + 8 * entry) > 0.0 else 0
            limit_rows[index, side] = i


@compiled
def _write_limit(delivered: Table, force: int, joint: int, value: float) -> bool:
    """Write a limit's force into MuJoCo's rows of it; False if there is none."""
    rows = delivered.limit_rows[joint]
    # A limit pushes into its own row, and what it pulls is in the only one there is.
    pushing = 1 if value >= 0.0 else 0
    alone = rows[0] < 0 or rows[1] < 0
    for side in range(2):
        if rows[side] >= 0 and (side == pushing or alone):
            store_double(force + 8 * rows[side], value if side == 1 else -value)
    return rows[0] >= 0 or rows[1] >= 0


@compiled
def _add_tendon_force(plant: Table, data: int, delivered: Table, source: int, value: float) -> None:
    """Add the force of a tendon's limit, of which MuJoCo has no row, to ``loose_force``."""
    tendons = plant.tendons
    jacobian = load_address(data + plant.offsets.tendon_jacobian_offset)
    tendon = source // 2
    signed = value if source % 2 == 0 else -value
    first = tendons.rowadr[tendon]
    for e in range(first, first + tendons.rownnz[tendon]):
        delivered.loose_force[tendons.colind[e]] += signed * load_double(jacobian + 8 * e)


@compiled
def _write_rows(plant: Table, data: int, delivered: Table, force: int, count: int) -> None:
    """Write what is not of contacts; ``loose_force`` gets what has no row."""
    rows = delivered.rows
    _find_rows(plant, data, delivered, count)
    # MuJoCo's rows are sorted by type and then by id, as ours are that were made from them.
    next_row = 0
    for r in range(rows.count):
        if rows.kind[r] in (ACTUATOR, PASSIVE):
            continue
        value = rows.impulse[r] / delivered.step
        if rows.source[r] >= 0:
            while next_row < count and _identity(plant, data, next_row) < rows.identity[r]:
                next_row += 1
            if next_row < count and _identity(plant, data, next_row) == rows.identity[r]:
                store_double(force + 8 * next_row, value)
                next_row += 1
            elif rows.kind[r] == LIMIT:
                _add_tendon_force(plant, data, delivered, rows.source[r], value)
            continue
        index = -1 - rows.source[r]
        if rows.kind[r] != LIMIT:
            if delivered.friction_rows[index] >= 0:
                store_double(force + 8 * delivered.friction_rows[index], value)
            else:
                delivered.loose_force[index] += value
        elif not _write_limit(delivered, force, index, value) and plant.joints.type[index] != _BALL:
            delivered.loose_force[plant.joints.dof[index]] += value


@compiled
def fill_forces(
    plant: Table, model: int, data: int, delivered: Table, pyramidal: int, field: int
) -> None:
    """Fill ``efc_force``, and the generalized constraint forces, whose offset is ``field``."""
    offsets = plant.offsets
    out = load_address(data + field)
    count = load_int(data + offsets.nefc_offset)
    force = load_address(data + offsets.efc_force_offset)
    loose = delivered.loose_force
    for i in range(plant.nv):
        loose[i] = 0.0
        store_double(out + 8 * i, 0.0)
    for i in range(count):
        store_double(force + 8 * i, 0.0)
    if count > 0:
        _write_contacts(plant, data, delivered, force, pyramidal)
    _write_rows(plant, data, delivered, force, count)
    if count > 0:
        call_pppn_status(plant.mujoco.multiply_transposed, model, data, out, force)
    for i in range(plant.nv):
        store_double(out + 8 * i, load_double(out + 8 * i) + loose[i])


@compiled
def fill_accelerations(data: int, delivered: Table, field: int, warm_start: int) -> None:
    """Fill ``qacc`` and ``qacc_warmstart``, which have these offsets."""
    acceleration = delivered.acceleration
    for i in range(acceleration.size):
        store_double(load_address(data + field) + 8 * i, acceleration[i])
        store_double(load_address(data + warm_start) + 8 * i, acceleration[i])


def blank_contact() -> np.ndarray:
    """Memory of one of MuJoCo's contacts without contents.

    Filled with one contact after another, and so not to be shared by two threads.
    """
    blank = np.zeros(native.struct_size("mjContact") // 8, np.int64)
    reals, integers = blank.view(np.float64), blank.view(np.int32)
    for field, values in (("solref", _SOLREF), ("solimp", _SOLIMP)):
        first = native.offset("mjContact", field) // 8
        reals[first : first + len(values)] = values
    # Without a row, unless MuJoCo makes one.
    integers[native.offset("mjContact", "efc_address") // 4] = -1
    for field in ("flex", "elem", "vert"):
        at = native.offset("mjContact", field) // 4
        integers[at : at + 2] = -1
    return blank


def room_for_contacts(data: mujoco.MjData) -> int:
    """Contacts that leave MuJoCo's memory room for their rows and its own computations."""
    row = 12 * data.model.nv + _ROW
    size = native.struct_size("mjContact") + _ROWS * row
    return max(int(_SHARE * data.narena / size), 1)
