"""Contacts where a displacement of the state takes them.

By the motion of their geoms, and their relative motion
(`asperity.derivatives.balance.contact_motion`).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.sides import body_of_side
from asperity.plant.detection.field_motion import surface_motion

__all__ = ["fill_side", "move_contacts"]


@compiled
def fill_side(plant: Table, work: Table, c: int, body: int, side: int, out: np.ndarray) -> None:
    """Fill what (point, normal, distance) change by as one body moves, (7, 6) by its axis."""
    motion = work.motion
    point = work.sets.contact_point[c]
    origin = motion.contact_origin[c]
    com = motion.com[plant.bodies.reference[body]]
    relative = motion.relative[c]
    sign = 1.0 if side == 1 else -1.0
    for k in range(7):
        for a in range(3):
            # The motion at the origin is v + ω × r.
            one = (a + 1) % 3
            two = (a + 2) % 3
            out[k, a] = sign * (
                relative[k, a]
                + relative[k, 3 + two] * (origin[one] - com[one])
                - relative[k, 3 + one] * (origin[two] - com[two])
            )
            out[k, 3 + a] = sign * relative[k, 3 + a]
    if side == 1:
        return
    # The motion of geom 1 carries the contact along.
    for a in range(3):
        one = (a + 1) % 3
        two = (a + 2) % 3
        out[two, a] += point[one] - com[one]
        out[one, a] -= point[two] - com[two]
        out[a, 3 + a] += 1.0
        out[3 + two, a] += motion.contact_frame[c, 6 + one]
        out[3 + one, a] -= motion.contact_frame[c, 6 + two]


@compiled
def _turn_frame(frame: np.ndarray, change: np.ndarray, out: np.ndarray) -> None:
    """Fill by how much a contact's axes change: tangents turn with the normal, by n × dn."""
    x, y, z = frame[6], frame[7], frame[8]
    u = y * change[5] - z * change[4]
    v = z * change[3] - x * change[5]
    w = x * change[4] - y * change[3]
    for t in range(3):
        x, y, z = frame[3 * t], frame[3 * t + 1], frame[3 * t + 2]
        out[3 * t] = v * z - w * y
        out[3 * t + 1] = w * x - u * z
        out[3 * t + 2] = u * y - v * x


@compiled
def _fill_axis(plant: Table, work: Table, body: int, out: np.ndarray) -> None:
    """The spatial motion of a body by ``displacement``."""
    motion = work.motion
    for a in range(6):
        out[a] = 0.0
    dof = plant.bodies.last_dof[body]
    while dof >= 0:
        size = work.displacement[dof]
        if size != 0.0:
            for a in range(6):
                out[a] += size * motion.cdof[dof, a]
        dof = plant.dofs.parent[dof]


@compiled
def _move_surface(plant: Table, state: Table, c: int) -> None:
    """Fill how surfaces that move by themselves do so along a contact's tangents."""
    contacts = state.contacts
    point = contacts.point[c]
    at = (point[0], point[1], point[2])
    first = surface_motion(plant, state, contacts.geom[c, 0], at[0], at[1], at[2])
    second = surface_motion(plant, state, contacts.geom[c, 1], at[0], at[1], at[2])
    for t in range(2):
        speed = 0.0
        for a in range(3):
            speed += contacts.frame[c, 3 * t + a] * (second[a] - first[a])
        contacts.surface_velocity[c, t] = speed


@compiled
def move_contacts(plant: Table, work: Table, state: Table) -> None:
    """Move contacts from where they are in the state itself, by ``displacement``.

    The state has been evaluated where that displacement leads to, without contacts.
    """
    geoms = plant.geoms
    motion = work.motion
    sets = work.sets
    contacts = state.contacts
    axis = np.zeros(6)
    by_axis = np.zeros((7, 6))
    change = np.zeros(7)
    turned = np.zeros(9)
    for c in range(contacts.count):
        body_a = body_of_side(plant, contacts, c, 0)
        body_b = body_of_side(plant, contacts, c, 1)
        change[:] = 0.0
        for side in range(2):
            body = body_b if side == 1 else body_a
            _fill_axis(plant, work, body, axis)
            fill_side(plant, work, c, body, side, by_axis)
            for k in range(7):
                for a in range(6):
                    change[k] += by_axis[k, a] * axis[a]
        _turn_frame(motion.contact_frame[c], change, turned)
        for a in range(9):
            contacts.frame[c, a] = motion.contact_frame[c, a] + turned[a]
        contacts.signed_distance[c] = motion.contact_distance[c] + change[6]
        root_a = plant.bodies.reference[body_a]
        root_b = plant.bodies.reference[body_b]
        for a in range(3):
            point = sets.contact_point[c, a] + change[a]
            contacts.point[c, a] = point
            contacts.arm_a[c, a] = point - state.mj_subtree_com[root_a, a]
            contacts.arm_b[c, a] = point - state.mj_subtree_com[root_b, a]
        if geoms.has_moving_surfaces == 1:
            _move_surface(plant, state, c)
