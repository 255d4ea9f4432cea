"""Contacts of a simulation as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asperity.compiled import Table

__all__ = ["Contacts", "read_contacts"]


class Contacts(NamedTuple):
    """Contacts of the last step, n of them, with the forces that they delivered.

    A force is the impulse of the step over its length: at rest they add up to the weight, and times
    the step to the change of momentum. Points, normals and distances are those of the step's
    beginning, with which it was solved. (Under error control the last step is the second half of a
    doubled one. Contacts and forces of the trapezoid scheme and of `Midas` are those of a step's
    end.) Where no step has led to the state, at the beginning or after it was changed, they are
    those of a step from there. Classical integrators know forces at an instant only: theirs belong
    to the state.

    Normals point from the first geom to the second, forces act on the second geom; both are in
    world axes.
    """

    geom: np.ndarray
    """Geoms, −1 of a flex, shape (n, 2)."""
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
    flex: np.ndarray
    """Deformable bodies, −1 of a geom, shape (n, 2)."""
    elem: np.ndarray
    """Their elements in contact, −1 of a geom or vertex, shape (n, 2)."""
    vert: np.ndarray
    """Their vertices in contact, −1 of a geom or element, shape (n, 2)."""


def read_contacts(delivered: Table, ngeom: int) -> Contacts:
    """Contacts that a step of a model with so many geoms has delivered."""
    contacts = delivered.contacts
    count = contacts.count
    frame = contacts.frame[:count].reshape(count, 3, 3)
    force = contacts.impulse[:count] / delivered.step
    velocity = contacts.velocity[:count]
    geom = contacts.geom[:count]
    return Contacts(
        geom=np.where(geom < ngeom, geom, -1),
        point=contacts.point[:count].copy(),
        normal=frame[:, 2].copy(),
        signed_distance=contacts.signed_distance[:count].copy(),
        force=np.einsum("ni,nij->nj", force, frame),
        normal_force=force[:, 2].copy(),
        slip_speed=np.hypot(velocity[:, 0], velocity[:, 1]),
        patch=contacts.patch[:count].copy(),
        flex=np.where(geom < ngeom, -1, geom - ngeom),
        elem=contacts.element[:count].copy(),
        vert=contacts.vertex[:count].copy(),
    )
