"""Contacts of a simulation as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asperity.compiled import Table

__all__ = ["Contacts", "read_contacts"]


class Contacts(NamedTuple):
    """Contacts of the last step, n of them, with the forces that they delivered.

    A force is the impulse of the step over its length. At rest forces add up to the weight, and in
    motion their impulses to the change of momentum. Points, normals and distances are those of the
    step's beginning. (Under error control the last step is the second half of a doubled one.
    Contacts and forces of the trapezoid scheme and of `Midas` are those of a step's end.) Where no
    step has led to the state, at the beginning or after it was changed, they are those of a step
    from there. Forces of classical integrators are those of the state.

    Normals point from the first geom to the second, forces act on the second geom; both are in
    world axes.
    """

    geom: np.ndarray
    """Geoms, shape (n, 2)."""
    point: np.ndarray
    """Where the force acts [m], shape (n, 3)."""
    normal: np.ndarray
    """Unit normals, shape (n, 3)."""
    signed_distance: np.ndarray
    """Negative where the geoms overlap [m], shape (n,)."""
    force: np.ndarray
    """Force on the second geom [N], shape (n, 3)."""
    normal_force: np.ndarray
    """Its normal part [N], shape (n,)."""
    slip_speed: np.ndarray
    """Speed of the surfaces along each other [m/s], shape (n,).

    That of the step's end, for which the law of friction holds.
    """
    patch: np.ndarray
    """Which patch of pressure fields a contact is a point of, −1 of point contacts, shape (n,)."""


def read_contacts(delivered: Table) -> Contacts:
    """Contacts that a step has delivered."""
    contacts = delivered.contacts
    count = contacts.count
    frame = contacts.frame[:count].reshape(count, 3, 3)
    force = contacts.impulse[:count] / delivered.step
    velocity = contacts.velocity[:count]
    return Contacts(
        geom=contacts.geom[:count].copy(),
        point=contacts.point[:count].copy(),
        normal=frame[:, 2].copy(),
        signed_distance=contacts.signed_distance[:count].copy(),
        force=np.einsum("ni,nij->nj", force, frame),
        normal_force=force[:, 2].copy(),
        slip_speed=np.hypot(velocity[:, 0], velocity[:, 1]),
        patch=contacts.patch[:count].copy(),
    )
