"""Patches of pressure fields: what the points of two geoms add up to."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.contact.hydroelastic.field_layout import RIGID_MESH
from asperity.simulator.current_contacts import read_contacts

__all__ = ["Patches", "read_patches"]


class Patches(NamedTuple):
    """Patches of the last step, m of them, whose points are contacts of the simulation.

    Forces and moments act on the second geom, in world axes. As for contacts, forces are those that
    the step delivered, and geometry that of its beginning.
    """

    geom: np.ndarray
    """Geoms, shape (m, 2)."""
    first: np.ndarray
    """First contact of every patch, shape (m,); the others follow it."""
    size: np.ndarray
    """Number of contacts of every patch, shape (m,)."""
    area: np.ndarray
    """Area [m²], shape (m,)."""
    force: np.ndarray
    """Force [N], shape (m, 3)."""
    point: np.ndarray
    """Mean of the points, weighted with their normal forces [m], shape (m, 3)."""
    moment: np.ndarray
    """Moment about that point [N m], shape (m, 3)."""
    normal: np.ndarray
    """Mean unit normal, weighted with areas, shape (m, 3)."""
    mean_pressure: np.ndarray
    """Pressure of the fields, mean over the area [Pa], shape (m,)."""
    max_pressure: np.ndarray
    """Largest mean pressure of a polygon [Pa], shape (m,)."""
    share_of_modulus: np.ndarray
    """That pressure over the softer geom's modulus, shape (m,). Towards 1 the overlap is as deep as
    the field: pressures do not grow any more, and a stiffer or thicker field is called for."""


def read_patches(model: mujoco.MjModel, delivered: Table, fields: Table) -> Patches:
    """Patches that a step has delivered, between geoms with these fields."""
    contacts = read_contacts(model, delivered)
    table = delivered.contacts
    count = len(contacts.geom)
    area = table.area[:count]
    elastic = table.stiffness[:count] * np.maximum(-contacts.signed_distance, 0.0)
    of_patch = contacts.patch
    member = np.flatnonzero(of_patch >= 0)
    numbers, start = np.unique(of_patch[member], return_index=True)
    size = np.diff(np.append(start, len(member)))
    first = member[start] if len(member) else np.zeros(0, np.int64)

    def total(values: np.ndarray) -> np.ndarray:
        if not len(numbers):
            return np.zeros((0, *values.shape[1:]))
        return np.asarray(np.add.reduceat(values[member], start, axis=0))

    whole = total(area)
    weight = contacts.normal_force
    # Where nothing presses, areas weigh.
    idle = np.isin(of_patch, numbers[total(weight) <= 0.0])
    weight = np.where(idle, area, weight)
    safe = np.maximum(whole, 1e-300)
    point = total(weight[:, None] * contacts.point) / np.maximum(total(weight), 1e-300)[:, None]
    about = total(np.cross(contacts.point, contacts.force))
    force = total(contacts.force)
    normal = total(area[:, None] * contacts.normal)
    length = np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    pressure = elastic / np.maximum(area, 1e-300)
    largest = np.zeros(len(numbers))
    if len(numbers):
        largest = np.maximum.reduceat(pressure[member], start)
    modulus = np.where(fields.geom_kind >= RIGID_MESH, np.inf, fields.geom_modulus)
    softer = modulus[contacts.geom[first]].min(axis=1, initial=np.inf)
    return Patches(
        geom=contacts.geom[first],
        first=first,
        size=size,
        area=whole,
        force=force,
        point=point,
        moment=about - np.cross(point, force),
        normal=normal / length,
        mean_pressure=total(elastic) / safe,
        max_pressure=largest,
        share_of_modulus=largest / softer,
    )
