"""What a contact's sides are fixed to: bodies, of vertices of flexes their own."""

from __future__ import annotations

from asperity.compiled import Table, compiled

__all__ = ["body_of_side", "has_weights"]


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
