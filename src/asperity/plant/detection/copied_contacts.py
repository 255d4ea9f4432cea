"""Contacts that take their materials, and what they are between, from others."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["copy_contact", "move_contact", "set_frame"]


@compiled
def copy_contact(contacts: Table, source: int, target: int) -> None:
    """Copy the materials of a contact, and what it is between."""
    for side in range(2):
        contacts.geom[target, side] = contacts.geom[source, side]
        contacts.element[target, side] = contacts.element[source, side]
        contacts.vertex[target, side] = contacts.vertex[source, side]
        contacts.link[target, side] = contacts.link[source, side]
        contacts.surface_velocity[target, side] = contacts.surface_velocity[source, side]
    contacts.source[target] = contacts.source[source]
    contacts.area[target] = 0.0
    contacts.patch[target] = -1
    contacts.growth[target] = 1.0
    contacts.carried[target] = 0.0
    for a in range(3):
        contacts.turning_velocity[target, a] = 0.0
    contacts.stiffness[target] = contacts.stiffness[source]
    contacts.dissipation[target] = contacts.dissipation[source]
    contacts.static_friction[target] = contacts.static_friction[source]
    contacts.dynamic_friction[target] = contacts.dynamic_friction[source]
    contacts.stiction_tolerance[target] = contacts.stiction_tolerance[source]
    contacts.relaxation_time[target] = contacts.relaxation_time[source]
    contacts.ellipsoidal[target] = contacts.ellipsoidal[source]
    for k in range(4):
        contacts.slip_scale[target, k] = contacts.slip_scale[source, k]


@compiled
def set_frame(contacts: Table, c: int, x: float, y: float, z: float) -> None:
    """Fill a contact's axes: the normal, and two tangents."""
    frame = contacts.frame[c]
    frame[6] = x
    frame[7] = y
    frame[8] = z
    # As MuJoCo chooses them: beside the y axis, or beside the z axis where this is the normal.
    if abs(y) < 0.5:
        u, v, w = -x * y, 1.0 - y * y, -z * y
    else:
        u, v, w = -x * z, -y * z, 1.0 - z * z
    scale = 1.0 / np.sqrt(u * u + v * v + w * w)
    frame[0] = u * scale
    frame[1] = v * scale
    frame[2] = w * scale
    frame[3] = y * frame[2] - z * frame[1]
    frame[4] = z * frame[0] - x * frame[2]
    frame[5] = x * frame[1] - y * frame[0]


@compiled
def move_contact(contacts: Table, source: int, target: int) -> None:
    """Let a contact take the place of another one, before it has links of flexes."""
    copy_contact(contacts, source, target)
    contacts.signed_distance[target] = contacts.signed_distance[source]
    contacts.inverse_mass[target] = contacts.inverse_mass[source]
    for k in range(9):
        contacts.frame[target, k] = contacts.frame[source, k]
    for n in range(3):
        contacts.point[target, n] = contacts.point[source, n]
        contacts.arm_a[target, n] = contacts.arm_a[source, n]
        contacts.arm_b[target, n] = contacts.arm_b[source, n]
