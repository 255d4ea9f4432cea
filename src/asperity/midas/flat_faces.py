"""Faces of boxes that do not move, which are half-spaces to round shapes above them.

A box is part of the half-space below each of its faces. So a cylinder or an ellipsoid that keeps
clear of one of these half-spaces keeps clear of the box, as round as it is (`round_planes`), and
where all of it stays above the face, the distance is the same. Where it reaches beyond the face, it
is a polyhedron again, which lies inside of it: nothing is nearer than it was.

Which of both it is, is chosen when candidates are listed for a step, and stays so to the step's
end. It does not become round below half of the activation distance, where a facet may have brought
it nearer than that.
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.compiled import Table, compiled
from asperity.midas.distances import ELLIPSOID_PLANE, RIM_PLANE, round_height
from asperity.midas.vertex_boxes import box_vertex

__all__ = ["FACES", "box_faces", "choose_faces", "faces_of_pairs", "keep_faces"]

FACES = 6
"""Of a box."""

# What a shape was to a box at the end of the last step, if it is known.
_ROUND = 1
_POLYHEDRON = 2
# Height in activation distances above which a polyhedron may become round.
_CLEAR = 0.5


def box_faces(
    model: mujoco.MjModel, geom: int, turn: NDArray[np.float64], point: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Half-spaces of a box, and its extents along their other two axes.

    Parameters
    ----------
    model : mujoco.MjModel
    geom : int
    turn : ndarray
        The geom's axes in the world, as columns.
    point : ndarray
        Its middle [m].

    Returns
    -------
    planes : ndarray
        Outward normals and offsets [m], shape (6, 4).
    sides : ndarray
        Of both other axes: direction, the middle's coordinate and half the extent [m], shape
        (6, 2, 5).
    """
    size = model.geom_size[geom]
    planes = np.zeros((FACES, 4))
    sides = np.zeros((FACES, 2, 5))
    for face in range(FACES):
        k, sign = face % 3, 1.0 if face < 3 else -1.0
        planes[face, :3] = sign * turn[:, k]
        planes[face, 3] = planes[face, :3] @ point + size[k]
        for side, j in enumerate(((k + 1) % 3, (k + 2) % 3)):
            axis = turn[:, j]
            sides[face, side] = (*axis, axis @ point, size[j])
    return planes, sides


def faces_of_pairs(
    pairs: NDArray[np.int64], anchor: NDArray[np.int64], faces: NDArray[np.int64]
) -> dict[str, Any]:
    """Of pairs of shapes, what says which half-space each meets as, and how many are to choose.

    Parameters
    ----------
    pairs : ndarray
        As ``pair_shape``.
    anchor : ndarray
        As ``shape_anchor``.
    faces : ndarray
        First half-space of shapes that are boxes, −1 of others.
    """
    found = np.full(len(pairs), -1, np.int64)
    solid = pairs[:, 1] >= 0
    found[solid] = np.where(anchor[pairs[solid, 0], 0, 0] >= 0, faces[pairs[solid, 1]], -1)
    return {
        "flat_pairs": int(np.count_nonzero(found >= 0)),
        "may_overlap": 0,
        "pair_faces": found,
        "pair_plane": np.where(solid, -1, -1 - pairs[:, 1]),
        "pair_form": np.zeros(len(pairs), np.int64),
    }


@compiled
def _is_above(engine: Table, box: np.ndarray, plane: int) -> bool:
    """Whether a box along the world's axes is above a face, not beyond its sides."""
    for side in range(2):
        axis = engine.plane_side[plane, side]
        middle = -axis[3]
        half = 0.0
        for k in range(3):
            middle += 0.5 * (box[0, k] + box[1, k]) * axis[k]
            half += 0.5 * (box[1, k] - box[0, k]) * abs(axis[k])
        if abs(middle) + half > axis[4]:
            return False
    return True


@compiled
def _height(engine: Table, shape: int, plane: int) -> float:
    """Height [m] of a round shape where its path begins; its vertices must have their boxes."""
    c = engine.side_weight[0]
    lowest = math.inf
    for which in range(2):
        anchor = engine.shape_anchor[shape, which]
        if anchor[0] < 0:
            break
        is_rim = anchor[3] < 0
        height = round_height(
            RIM_PLANE if is_rim else ELLIPSOID_PLANE + plane,
            anchor[0],
            anchor[1],
            anchor[2],
            plane if is_rim else anchor[3],
            engine.vertex_start,
            engine.plane,
            engine.activation,
            c,
        )
        lowest = min(lowest, height)
    return lowest


@compiled
def choose_faces(engine: Table) -> None:
    """Choose, for a new list whose shapes have their boxes, which faces are half-spaces.

    Of a state that may overlap, any shape that has its middle above a face is round there.
    """
    if engine.flat_pairs == 0:
        return
    for pair in range(engine.pair_faces.size):
        first = engine.pair_faces[pair]
        if first < 0:
            continue
        engine.pair_plane[pair] = -1
        shape = engine.pair_shape[pair, 0]
        box = engine.shape_box[shape]
        for v in range(engine.shape_vertex[shape], engine.shape_vertex[shape + 1]):
            box_vertex(engine, v)
        best = 0.0
        if engine.pair_form[pair] == _POLYHEDRON:
            best = _CLEAR * engine.activation
        if engine.may_overlap == 1:
            best = -math.inf
        for plane in range(first, first + FACES):
            if not _is_above(engine, box, plane):
                continue
            normal = engine.plane[plane]
            middle = -normal[3]
            for k in range(3):
                middle += 0.5 * (box[0, k] + box[1, k]) * normal[k]
            height = _height(engine, shape, plane)
            if middle > 0.0 and height > best:
                best = height
                engine.pair_plane[pair] = plane


@compiled
def keep_faces(engine: Table) -> None:
    """At the end of a step, remember what shapes were to boxes."""
    if engine.flat_pairs == 0:
        return
    for pair in range(engine.pair_faces.size):
        engine.pair_form[pair] = _ROUND if engine.pair_plane[pair] >= 0 else _POLYHEDRON
