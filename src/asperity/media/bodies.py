"""What a viewer without MuJoCo needs to know of a model: bodies with coloured meshes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.geometry.surfaces import Surface
from asperity.media.appearance import checker_tiles, geom_color
from asperity.media.display_meshes import checkerboard, display_mesh

__all__ = ["SHOWN_GROUPS", "MovingBody", "Part", "carriers", "display_nodes"]

Floats = NDArray[np.float64]
# MuJoCo's viewer shows the geom groups 0 to 2; models keep collision geometry in 3 and above.
SHOWN_GROUPS = 3


@dataclass(frozen=True)
class Part:
    """All triangles of one body that share a colour.

    Attributes
    ----------
    vertices : ndarray, shape (n, 3)
        In the body's frame [m].
    faces : ndarray, shape (m, 3)
        Triangles.
    color : ndarray, shape (4,)
        Red, green, blue and opacity, from 0 to 1.
    open : bool
        Whether the surface is a sheet with two sides rather than the skin of a solid.
    """

    vertices: Floats
    faces: NDArray[np.int64]
    color: Floats
    open: bool


@dataclass
class MovingBody:
    """A body that moves, with whatever is welded to it, or (``body == 0``) all that does not."""

    body: int
    name: str
    parts: list[Part] = field(default_factory=list)


def display_nodes(model: mujoco.MjModel, data: mujoco.MjData) -> list[MovingBody]:
    """Group the visible geoms by the moving body that carries them.

    Parameters
    ----------
    data : mujoco.MjData
        Any configuration, with poses computed; gives the relative poses of welded bodies.
    """
    carrier = carriers(model)
    meshes: dict[int, dict[tuple[float, ...], list[Surface]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for geom in range(model.ngeom):
        if model.geom_group[geom] >= SHOWN_GROUPS:
            continue
        body = int(carrier[model.geom_bodyid[geom]])
        kind = mujoco.mjtGeom(int(model.geom_type[geom]))
        is_open = kind in (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
        # Seen from the carrier: static geoms in the world, the others in their moving body.
        origin, frame = data.xpos[body], data.xmat[body].reshape(3, 3)
        rotation = frame.T @ data.geom_xmat[geom].reshape(3, 3)
        position = frame.T @ (data.geom_xpos[geom] - origin)
        for (vertices, faces), color in _surfaces(model, geom):
            if color[3] > 0.0:
                key = (*np.round(color, 3).tolist(), float(is_open))
                piece = Surface(vertices @ rotation.T + position, faces)
                meshes[body][key].append(piece)
    nodes = []
    for body in sorted(meshes):
        parts = [
            Part(*_merge(pieces), color=np.array(key[:4]), open=bool(key[4]))
            for key, pieces in meshes[body].items()
        ]
        nodes.append(MovingBody(body, _node_name(model, body), parts))
    return nodes


def _surfaces(model: mujoco.MjModel, geom: int) -> list[tuple[Surface, Floats]]:
    """Meshes of one geom with their colours: two for a checkered plane, else at most one."""
    mesh = display_mesh(model, geom)
    if mesh is None:
        return []
    color = geom_color(model, geom)
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
        half = mesh[0][:, :2].max(axis=0)
        tiles = checker_tiles(model, geom, half)
        if tiles is not None:
            cells, light, dark = tiles
            first, second = checkerboard(half, cells)
            alpha = color[3:]
            return [(first, np.append(light, alpha)), (second, np.append(dark, alpha))]
    return [(mesh, color)]


def carriers(model: mujoco.MjModel) -> NDArray[np.int64]:
    """For each body, the nearest ancestor (or itself) that can move; 0 if there is none."""
    carrier = np.zeros(model.nbody, dtype=np.int64)
    for body in range(1, model.nbody):
        moves = model.body_jntnum[body] > 0 or model.body_mocapid[body] >= 0
        carrier[body] = body if moves else carrier[model.body_parentid[body]]
    return carrier


def _node_name(model: mujoco.MjModel, body: int) -> str:
    if body == 0:
        return "static"
    name = model.body(body).name.replace("/", "_")
    # The number keeps apart bodies that differ only in a slash, and unnamed ones.
    return f"{name or 'body'}_{body}"


def _merge(meshes: list[Surface]) -> Surface:
    offsets = np.cumsum([0] + [len(vertices) for vertices, _ in meshes[:-1]])
    return Surface(
        np.concatenate([vertices for vertices, _ in meshes]),
        np.concatenate([f + k for (_, f), k in zip(meshes, offsets, strict=True)]),
    )
