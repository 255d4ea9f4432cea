"""Contacts of a simulation's state as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asperity.integrators.world import World
from asperity.simulator.publish import contact_impulses

__all__ = ["Contacts", "read_contacts"]


class Contacts(NamedTuple):
    """Contacts of a state, n of them.

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

    Like the forces it is that of the coming step, at whose end the law of friction holds: not the
    speed of ``data.qvel``. Classical integrators know forces at an instant only: theirs, and the
    speeds, are those of the state.
    """


def read_contacts(world: World, force_step: float) -> Contacts:
    """Contacts of the published state; their impulses act over ``force_step`` [s]."""
    table = world.current.contacts
    count = table.count
    frame = table.frame[:count].reshape(count, 3, 3).copy()
    problem = world.problem
    slip = np.empty(count)
    slip[problem.contact[:count]] = np.hypot(problem.v1[:count], problem.v2[:count])
    force = contact_impulses(world) / force_step
    return Contacts(
        geom=table.geom[:count].copy(),
        point=table.point[:count].copy(),
        normal=frame[:, 2],
        signed_distance=table.signed_distance[:count].copy(),
        force=np.einsum("ni,nij->nj", force, frame),
        normal_force=force[:, 2].copy(),
        slip_speed=slip,
    )
