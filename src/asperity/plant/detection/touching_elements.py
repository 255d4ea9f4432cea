"""Elements of a flex that MuJoCo need not look at.

Where elements touch most shapes is found in `asperity.plant.detection.flex_shapes`, and MuJoCo
would take 1.2 µs for each, which was a fifth of the time of a grasp. So it gets a model in which
elements are of an inner layer, which does not collide, unless they might touch a geom of another
shape. An element might touch those of whose boxes no face has all of its vertices outside.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_address, store_address
from asperity.plant.plant_layouts import PLANT, STATE

__all__ = ["can_leave_out", "leave_out_elements"]

_WORD = 8
_INNER_LAYER = 2**30
# Of geoms near a flex: a word has six bits for each.
_MOST_GEOMS = 10
_FACES = 6
_ALL_FACES = 63


def can_leave_out(model: mujoco.MjModel) -> bool:
    """Whether elements of the model can only touch geoms: those of one flex that has faces."""
    return bool(
        model.nflex == 1
        and model.flex_dim[0] > 1
        and not model.flex_rigid[0]
        and model.flex_selfcollide[0] == 0
    )


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
    """List the geoms that MuJoCo's elements may touch; returns how many.

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
        if plant.elastic.geom_is_plane[geom] == 1 or plant.elastic.geom_shape[geom] >= 0:
            continue
        if _outside(plant, state, geom, center, np.sqrt(square)) == 0:
            soft.near_geom[count] = geom
            count += 1
    return count


@compiled
def _look_at_vertices(plant: Table, state: Table, geoms: int) -> None:
    """Fill the faces that vertices are outside of."""
    soft = state.soft
    for p in range(state.mj_flexvert_xpos.shape[0]):
        soft.vertex_outside[p] = 0
        for k in range(geoms):
            outside = _outside(plant, state, soft.near_geom[k], state.mj_flexvert_xpos[p], 0.0)
            soft.vertex_outside[p] |= outside << (_FACES * k)


@compiled
def _is_near(plant: Table, state: Table, element: int, geoms: int) -> bool:
    """Whether an element might touch one of the geoms."""
    elastic = plant.elastic
    corners = elastic.flex_corners[0]
    outside = -1
    for a in range(corners):
        outside &= state.soft.vertex_outside[elastic.corner[corners * element + a]]
    near = False
    for k in range(geoms):
        near = near or (outside >> (_FACES * k)) & _ALL_FACES == 0
    return near


@entry_point(types.int64(PLANT.type, STATE.type))
def leave_out_elements(plant: Table, state: Table) -> int:
    """Address of a model in which these elements do not collide, for a state with its positions."""
    elastic = plant.elastic
    soft = state.soft
    geoms = _list_geoms(plant, state)
    if geoms > _MOST_GEOMS:
        return plant.detection_model
    _look_at_vertices(plant, state, geoms)
    for element in range(soft.element_layer.size):
        layer = elastic.element_layer[element]
        if layer < elastic.active_layers[0] and not _is_near(plant, state, element, geoms):
            layer = _INNER_LAYER
        soft.element_layer[element] = layer
    struct = soft.detection_struct.ctypes.data
    for word in range(soft.detection_struct.size):
        from_model = load_address(plant.detection_model + _WORD * word)
        store_address(struct + _WORD * word, from_model)
    store_address(struct + soft.layer_offset, soft.element_layer.ctypes.data)
    return struct
