"""Half-spaces below flat faces of boxes and meshes, as the engine's table has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from asperity.geometry.hull_faces import HullFace, hull_faces
from asperity.midas.model.shapes import Shapes

__all__ = ["face_tables"]

# Area of the smallest face, as a share of a surface's: boxes of 1 × 3 × 12 have all of theirs, and
# what is round has none.
_LEAST = 0.02


def face_tables(
    shapes: Shapes, tables: Mapping[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Half-spaces of a model: its planes, then those below faces that round shapes may be above.

    Parameters
    ----------
    shapes : Shapes
    tables : mapping
        Their fields of `SHAPES`.

    Returns
    -------
    dict, dict
        Fields of `SHAPES`, and of `PAIRS`.
    """
    pairs = shapes.pair_shape
    is_round = shapes.anchor[:, 0, 0] >= 0
    found: dict[int, tuple[int, int]] = {}
    planes = [shapes.planes]
    corners = [np.full((len(shapes.planes), 3), -1, np.int64)]
    borders: list[np.ndarray] = [np.zeros((0, 2), np.int64)] * len(shapes.planes)
    pair_faces = np.full((len(pairs), 2), -1, np.int64)
    for i, (a, b) in enumerate(pairs):
        if b < 0 or is_round[a] == is_round[b]:
            continue
        flat = int(b if is_round[a] else a)
        if shapes.radius[flat] > 0.0:
            continue
        if flat not in found:
            begin = len(borders)
            offset = int(tables["vertex_start"][flat])
            moves = offset < int(tables["moving_vertices"])
            for face in hull_faces(shapes.surface[flat], _LEAST):
                planes.append(_half_space(shapes.surface[flat].vertices, face)[None])
                corners.append(np.where(moves, face.corners + offset, -1)[None])
                borders.append(face.border + offset)
            found[flat] = begin, len(borders)
        if found[flat][0] < found[flat][1]:
            pair_faces[i] = found[flat]
    solid = pairs[:, 1] >= 0
    fields = {
        "plane": np.ascontiguousarray(np.concatenate(planes)),
        "plane_corner": np.ascontiguousarray(np.concatenate(corners)),
        "plane_border": np.cumsum([0, *map(len, borders)]),
        "border_vertex": np.ascontiguousarray(np.concatenate([np.zeros((0, 2), int), *borders])),
    }
    return fields, {
        "flat": int(np.count_nonzero(pair_faces[:, 0] >= 0)),
        "may_overlap": 0,
        "faces": pair_faces,
        "plane": np.where(solid, -1, -1 - pairs[:, 1]),
        "form": np.zeros(len(pairs), np.int64),
    }


def _half_space(vertices: np.ndarray, face: HullFace) -> np.ndarray:
    """Outward normal and offset of a face, in the coordinates of the vertices, shape (4,)."""
    a, b, c = vertices[face.corners]
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal)
    return np.append(normal, float(np.max(vertices @ normal)))
