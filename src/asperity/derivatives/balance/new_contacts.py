"""Columns by positions of which all is known but contacts that are found anew.

These are points between vertices of flexes. Contacts alone are evaluated in displaced states, where
they are detected, and only for coordinates that move one of them: what touches nothing begins to do
so without a force.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.differences import (
    balance_side,
    choose_side,
    displacement_of,
    is_bent,
)
from asperity.derivatives.layout import ALL_BUT_CONTACTS, POSITION
from asperity.integrators.world_layout import OK

__all__ = ["mark_contacts", "new_contact_columns"]


@compiled
def _mark_body(plant: Table, body: int, known: np.ndarray) -> None:
    """Let contacts be missing in what is known by dofs that move a body."""
    dof = plant.bodies.last_dof[body]
    while dof >= 0:
        known[dof] = min(known[dof], ALL_BUT_CONTACTS)
        dof = plant.dofs.parent[dof]


@compiled
def mark_contacts(plant: Table, contacts: Table, known: np.ndarray) -> None:
    """Let contacts be missing in what is known by dofs that move one of them."""
    elastic = plant.elastic
    for c in range(contacts.count):
        for side in range(2):
            flex = contacts.geom[c, side] - plant.ngeom
            if flex < 0:
                _mark_body(plant, plant.geoms.body[contacts.geom[c, side]], known)
                continue
            # Corners without a weight, too.
            vertices = contacts.vertex[c, side : side + 1]
            if contacts.element[c, side] >= 0:
                corners = elastic.flex_corners[flex]
                corner = elastic.flex_first_corner[flex] + corners * contacts.element[c, side]
                vertices = elastic.corner[corner : corner + corners]
            for vertex in vertices:
                p = elastic.flex_first_vertex[flex] + vertex
                _mark_body(plant, elastic.particle_body[p], known)
                for k in range(elastic.vertex_first[p], elastic.vertex_first[p + 1]):
                    _mark_body(plant, elastic.particle_body[elastic.vertex_particle[k]], known)


@compiled
def _add_contacts(world: Table, work: Table, step: float, index: int, column: np.ndarray) -> int:
    """Add what contacts do to a column by a position."""
    size = displacement_of(work, POSITION, index)
    for side in range(1, 3):
        signed = size if side == 1 else -size
        code = balance_side(world, work, step, POSITION, index, signed, side, True)
        if code != OK:
            return int(code)
    change = (work.sides[1] - work.sides[2]) * (0.5 / size)
    if is_bent(work):
        work.one_sided += 1
        code = choose_side(world, work, step, POSITION, index, size, True, change)
        if code != OK:
            return int(code)
    column += change
    return OK


@compiled
def new_contact_columns(world: Table, work: Table, step: float, known: np.ndarray) -> int:
    """Add contacts to columns by positions of which all else is known; returns a code."""
    if not np.any(known == ALL_BUT_CONTACTS):
        return OK
    base = work.sides[0].copy()
    tolerance = world.steady_tolerance
    # What is taut matters to no contact.
    world.steady_tolerance = np.inf
    code = balance_side(world, work, step, POSITION, 0, 0.0, 0, True)
    for index in range(known.size):
        if code == OK and known[index] == ALL_BUT_CONTACTS:
            code = _add_contacts(world, work, step, index, work.columns[index])
    world.steady_tolerance = tolerance
    work.sides[0] = base
    return code
