"""What a contact's sides are fixed to, of vertices of flexes their own body, and its axes."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["body_of_side", "contact_axes", "has_weights"]


@compiled
def _particle(plant: Table, contacts: Table, c: int, side: int) -> int:
    """The vertex of a flex that is a side of a contact, −1 if none is."""
    flex = contacts.geom[c, side] - plant.ngeom
    if flex < 0 or contacts.vertex[c, side] < 0:
        return -1
    return int(plant.elastic.flex_first_vertex[flex] + contacts.vertex[c, side])


@compiled
def body_of_side(plant: Table, contacts: Table, c: int, side: int) -> int:
    """The body that carries a side, unless this is a point between several vertices or nodes."""
    p = _particle(plant, contacts, c, side)
    if p >= 0:
        return int(plant.elastic.particle_body[p])
    return int(plant.geoms.body[contacts.geom[c, side]])


@compiled
def has_weights(plant: Table, contacts: Table, c: int) -> bool:
    """Whether a side of a contact is a point between several vertices or nodes."""
    elastic = plant.elastic
    for side in range(2):
        if contacts.geom[c, side] >= plant.ngeom:
            p = _particle(plant, contacts, c, side)
            if p < 0 or elastic.vertex_first[p] < elastic.vertex_first[p + 1]:
                return True
    return False


@compiled
def contact_axes(contacts: Table, c: int, frame: np.ndarray, components: int) -> np.ndarray:
    """Axes of a contact's impulses in the world, scaled as its slips are, shape (components, 3).

    The first three are those of forces, others those of moments, 0 where there are none.
    """
    axes = np.zeros((components, 3))
    for k in range(3):
        for a in range(3):
            axes[k, a] = frame[3 * k + a]
    if components > 3 and contacts.ellipsoidal[c] != 0:
        scale = contacts.slip_scale[c]
        for a in range(3):
            axes[1, a] *= scale[0]
            for k in range(3):
                axes[3 + k, a] = scale[1 + k] * frame[3 * k + a]
    return axes
