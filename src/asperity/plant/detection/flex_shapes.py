"""Contacts of cloth and volumes with height fields, simple shapes and hulls of meshes.

MuJoCo finds none where a capsule lies across elements, and of others points that are anywhere on
faces or edges that lie on each other, and elsewhere in every step. So it is not asked: vertices of
the flex touch the geom at their distance from it, and corners and edges of both touch as
`asperity.plant.detection.flex_corners` says.

As in MuJoCo nothing touches the body to which one of its vertices is fixed.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.combination import (
    DISSIPATION,
    DYNAMIC_FRICTION,
    RELAXATION_TIME,
    STATIC_FRICTION,
    STICTION_TOLERANCE,
    STIFFNESS,
)
from asperity.plant.detection.collision import (
    combine_materials,
    fill_contact,
    fill_ellipsoid,
    make_links,
)
from asperity.plant.detection.flex_corners import (
    HELD,
    MOST_SIDES,
    add_contact,
    add_corners,
    add_crossings,
)
from asperity.plant.detection.flex_links import first_face
from asperity.plant.detection.geom_distance import point_distance

__all__ = ["add_shape_contacts", "is_of_shapes"]

_FRAME = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@compiled
def is_of_shapes(plant: Table, a: int, b: int) -> bool:
    """Whether contacts of two geoms or flexes are those that are found here."""
    elastic = plant.elastic
    flex = max(a, b) - plant.ngeom
    geom = min(a, b)
    return (
        flex >= 0
        and geom < plant.ngeom
        and elastic.geom_shape[geom] >= 0
        and first_face(elastic, flex) < first_face(elastic, flex + 1)
    )


@compiled
def _find_bounds(plant: Table, state: Table, flex: int) -> None:
    """Fill rows 0 and 1 of ``work_points`` with the box around a flex."""
    position = state.mj_flexvert_xpos
    work = state.soft.work_points
    first = plant.elastic.flex_first_vertex[flex]
    last = first + plant.elastic.flex_vertices[flex]
    for n in range(3):
        low = np.inf
        high = -np.inf
        for p in range(first, last):
            low = min(low, position[p, n])
            high = max(high, position[p, n])
        work[0, n] = low
        work[1, n] = high


@compiled
def _is_near(plant: Table, state: Table, geom: int, reach: float) -> bool:
    """Whether the boxes around a geom and around a flex are as near as a reach."""
    work = state.soft.work_points
    rotation = state.mj_geom_xmat[geom]
    for n in range(3):
        half = reach
        for a in range(3):
            half += abs(rotation[3 * n + a]) * plant.geoms.box[geom, 3 + a]
        center = state.mj_geom_xpos[geom, n]
        for a in range(3):
            center += rotation[3 * n + a] * plant.geoms.box[geom, a]
        if not (center - half <= work[1, n] and work[0, n] <= center + half):
            return False
    return True


@compiled
def _look_around(plant: Table, state: Table, flex: int, geom: int, reach: float) -> bool:
    """Fill where vertices are in a geom's frame, and outside which of its sides.

    Returns whether any vertex is not outside the same side as all others.
    """
    elastic = plant.elastic
    soft = state.soft
    sides = elastic.geom_side_first[geom]
    end = min(elastic.geom_side_first[geom + 1], sides + MOST_SIDES)
    rotation = state.mj_geom_xmat[geom]
    center = state.mj_geom_xpos[geom]
    first = elastic.flex_first_vertex[flex]
    common = -1
    for p in range(first, first + elastic.flex_vertices[flex]):
        code = HELD if elastic.particle_body[p] == plant.geoms.body[geom] else 0
        local = soft.vertex_local[p]
        for a in range(3):
            along = 0.0
            for k in range(3):
                along += rotation[3 * k + a] * (state.mj_flexvert_xpos[p, k] - center[k])
            local[a] = along
        for i in range(sides, end):
            side = elastic.geom_side[i]
            if side[0] * local[0] + side[1] * local[1] + side[2] * local[2] > side[3] + reach:
                code |= 1 << (i - sides)
        soft.vertex_outside[p] = code
        common &= code
    return common == 0


@compiled
def _add_template(plant: Table, state: Table, k: int) -> bool:
    """Add a contact without weight, of the materials of a pair; False without room or stiffness."""
    elastic = plant.elastic
    contacts = state.contacts
    c = contacts.count
    geoms = (elastic.pair_geom[k], plant.ngeom + elastic.pair_flex[k])
    combine_materials(plant, state, geoms[0], geoms[1], elastic.pair_friction[k, 0])
    material = state.work.pair_material
    sliding = 1.0 if elastic.pair_dimension[k] > 1 else 0.0
    fill_contact(
        plant,
        state,
        c,
        geoms,
        -1,
        (0.0, 0.0, 0.0),
        _FRAME,
        0.0,
        (
            material[STIFFNESS],
            material[DISSIPATION],
            sliding * material[STATIC_FRICTION],
            sliding * material[DYNAMIC_FRICTION],
            material[STICTION_TOLERANCE],
            material[RELAXATION_TIME],
        ),
        (0.0, 0.0),
    )
    if state.every_friction != 0 and sliding > 0.0:
        friction = elastic.pair_friction[k].ctypes.data
        fill_ellipsoid(contacts, c, friction, elastic.pair_dimension[k])
    state.work.contact_weight[c] = 0.0
    contacts.element[c, 0] = -1
    contacts.vertex[c, 0] = -1
    contacts.element[c, 1] = 0
    contacts.vertex[c, 1] = -1
    contacts.count = c + 1
    return material[STIFFNESS] > 0.0


@compiled
def _add_vertices(plant: Table, state: Table, c: int, flex: int, geom: int, margin: float) -> bool:
    """Add contacts of vertices with a geom; False without room."""
    elastic = plant.elastic
    soft = state.soft
    work = soft.work_points
    first = elastic.flex_first_vertex[flex]
    for vertex in range(elastic.flex_vertices[flex]):
        p = first + vertex
        if soft.vertex_outside[p] != 0 or elastic.particle_surface[p] == 0:
            continue
        for n in range(3):
            work[9, n] = state.mj_flexvert_xpos[p, n]
        distance = point_distance(plant, state, geom, work[9], work[8], work[10])
        distance -= elastic.flex_radius[flex]
        if distance <= margin and not add_contact(plant, state, c, distance, -1, vertex):
            return False
    return True


@compiled
def add_shape_contacts(plant: Table, state: Table) -> bool:
    """Add contacts of all flexes with faces and all geoms with outlines; False without room."""
    elastic = plant.elastic
    contacts = state.contacts
    last = -1
    for k in range(elastic.pair_geom.size):
        flex = elastic.pair_flex[k]
        geom = elastic.pair_geom[k]
        margin = elastic.pair_margin[k]
        if flex != last:
            _find_bounds(plant, state, flex)
            last = flex
        reach = margin + elastic.flex_radius[flex]
        if not _is_near(plant, state, geom, reach) or not _look_around(
            plant, state, flex, geom, reach
        ):
            continue
        if make_links(plant, state, geom, plant.ngeom + flex) < 0:
            return False
        c = contacts.count
        if c >= contacts.link.shape[0]:
            return False
        if not _add_template(plant, state, k):
            contacts.count = c
            continue
        if not (
            _add_vertices(plant, state, c, flex, geom, margin)
            and add_corners(plant, state, c, flex, geom, margin)
            and add_crossings(plant, state, c, flex, geom, margin)
        ):
            return False
        if contacts.count == c + 1:
            contacts.count = c
    return True
