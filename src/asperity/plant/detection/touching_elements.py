"""Elements of a flex that MuJoCo need not look at: far ones, and those of which a vertex touches.

A contact of an element does not count where a vertex of it touches the geom as deep as a thousandth
of it (`asperity.plant.detection.flex_contacts`). Pressed between two fingers a cube has 90 elements
of that kind, and no other contacts than those of 30 vertices; MuJoCo takes 1.2 µs for each, which
was a fifth of the time of a step. So the vertices' distances are found first. MuJoCo gets a model
in which these elements are of an inner layer, which does not collide. One of them stays for every
geom: its contact says whether the two collide, and of what material they are.

An element that a second geom might touch stays, too. It might touch those of whose boxes no face
has all of its vertices outside.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_address, store_address
from asperity.plant.detection.geom_distance import point_distance
from asperity.plant.plant_layouts import PLANT, STATE

__all__ = ["can_leave_out", "leave_out_elements"]

_WORD = 8
# Of a vertex, in mean edges: more than a thousandth of how deep an element may be.
_LEAST_DEPTH = 2e-3
# Of an element from that vertex on, in mean edges: there the vertex counts half.
_LARGEST = 1.75
_INNER_LAYER = 2**30
# Of geoms near a flex: a word has six bits for each.
_MOST_GEOMS = 10
_FACES = 6
_ALL_FACES = 63


def can_leave_out(model: mujoco.MjModel) -> bool:
    """Whether elements of the model can only touch geoms: those of one flex, of tetrahedra."""
    return bool(model.nflex == 1 and model.flex_dim[0] == 3 and model.flex_selfcollide[0] == 0)


@compiled
def _outside(plant: Table, state: Table, geom: int, point: np.ndarray, reach: float) -> int:
    """Outside which faces of a geom's box a ball is, with all margins: a bit for each."""
    elastic = plant.elastic
    box = plant.geoms.box[geom]
    rotation = state.mj_geom_xmat[geom]
    reach += elastic.geom_margin[geom] + elastic.geom_gap[geom]
    reach += elastic.flex_margin[0] + elastic.flex_gap[0] + elastic.flex_radius[0]
    code = 0
    for a in range(3):
        along = -box[a]
        for k in range(3):
            along += rotation[3 * k + a] * (point[k] - state.mj_geom_xpos[geom, k])
        if abs(along) > box[3 + a] + reach:
            code |= 1 << (2 * a if along > 0.0 else 2 * a + 1)
    return code


@compiled
def _list_geoms(plant: Table, state: Table) -> int:
    """List the geoms that elements may touch; returns how many.

    Planes touch vertices, whatever the layers of elements.
    """
    soft = state.soft
    position = state.mj_flexvert_xpos
    center = soft.work_points[7]
    square = 0.0
    for a in range(3):
        low = np.inf
        high = -np.inf
        for p in range(position.shape[0]):
            low = min(low, position[p, a])
            high = max(high, position[p, a])
        center[a] = 0.5 * (low + high)
        square += 0.25 * (high - low) ** 2
    count = 0
    for geom in range(plant.ngeom):
        if plant.elastic.geom_is_plane[geom] == 1:
            continue
        if _outside(plant, state, geom, center, np.sqrt(square)) == 0:
            soft.near_geom[count] = geom
            count += 1
    return count


@compiled
def _look_at_vertices(plant: Table, state: Table, geoms: int) -> None:
    """Fill the faces that vertices are outside of, and 1 + the geom that surface ones touch."""
    elastic = plant.elastic
    soft = state.soft
    local, normal = soft.work_points[10], soft.work_points[9]
    least = elastic.flex_radius[0] - _LEAST_DEPTH * elastic.flex_edge[0]
    for p in range(state.mj_flexvert_xpos.shape[0]):
        soft.vertex_geom[p] = 0
        soft.vertex_outside[p] = 0
        point = state.mj_flexvert_xpos[p]
        for k in range(geoms):
            geom = soft.near_geom[k]
            outside = _outside(plant, state, geom, point, 0.0)
            soft.vertex_outside[p] |= outside << (_FACES * k)
            if outside > 0 or elastic.geom_shape[geom] < 0 or elastic.particle_surface[p] == 0:
                continue
            if point_distance(plant, state, geom, point, local, normal) < least:
                soft.vertex_geom[p] = 1 + geom


@compiled
def _touches(plant: Table, state: Table, element: int, geom: int) -> bool:
    """Whether a vertex of an element touches a geom, and makes its own contact void."""
    elastic = plant.elastic
    position = state.mj_flexvert_xpos
    for a in range(4):
        vertex = elastic.corner[4 * element + a]
        if state.soft.vertex_geom[vertex] != 1 + geom:
            continue
        largest = 0.0
        for b in range(4):
            other = elastic.corner[4 * element + b]
            square = 0.0
            for n in range(3):
                square += (position[other, n] - position[vertex, n]) ** 2
            largest = max(largest, square)
        if largest <= (_LARGEST * elastic.flex_edge[0]) ** 2:
            return True
    return False


@compiled
def _leave_out(plant: Table, state: Table, element: int, geoms: int) -> bool:
    """Whether MuJoCo need not look at an element; lists it if a vertex of it touches a geom."""
    corner = plant.elastic.corner
    soft = state.soft
    outside = soft.vertex_outside[corner[4 * element]]
    for a in range(1, 4):
        outside &= soft.vertex_outside[corner[4 * element + a]]
    near = -1
    for k in range(geoms):
        if (outside >> (_FACES * k)) & _ALL_FACES == 0:
            if near >= 0:
                return False
            near = k
    if near < 0:
        return True
    if not _touches(plant, state, element, soft.near_geom[near]):
        return False
    if soft.geom_touched[near] == 0:
        soft.geom_touched[near] = 1
        return False
    soft.left_out[soft.left_out_count] = element
    soft.left_out_geom[soft.left_out_count] = soft.near_geom[near]
    soft.left_out_count += 1
    return True


@entry_point(types.int64(PLANT.type, STATE.type))
def leave_out_elements(plant: Table, state: Table) -> int:
    """Address of a model in which these elements do not collide, for a state with its positions.

    Those whose vertices touch are listed, with the geoms that they touch.
    """
    elastic = plant.elastic
    soft = state.soft
    soft.left_out_count = 0
    geoms = _list_geoms(plant, state)
    if geoms == 0 or geoms > _MOST_GEOMS:
        return plant.detection_model
    _look_at_vertices(plant, state, geoms)
    for k in range(geoms):
        soft.geom_touched[k] = 0
    for element in range(soft.element_layer.size):
        layer = elastic.element_layer[element]
        if layer < elastic.active_layers[0] and _leave_out(plant, state, element, geoms):
            layer = _INNER_LAYER
        soft.element_layer[element] = layer
    struct = soft.detection_struct.ctypes.data
    for word in range(soft.detection_struct.size):
        from_model = load_address(plant.detection_model + _WORD * word)
        store_address(struct + _WORD * word, from_model)
    store_address(struct + soft.layer_offset, soft.element_layer.ctypes.data)
    return struct
