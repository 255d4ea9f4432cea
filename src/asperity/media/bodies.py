"""What a viewer without MuJoCo needs to know of a model: bodies with coloured meshes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.geometry.surfaces import Surface
from asperity.media.appearance import checker_tiles, geom_color, site_color
from asperity.media.display_meshes import checkerboard, display_mesh, site_mesh
from asperity.media.textures import TexturedSurface, textured_surface

__all__ = ["SHOWN_GROUPS", "MovingBody", "Part", "carriers", "display_nodes"]

Floats = NDArray[np.float64]
# MuJoCo's viewer shows the groups 0 to 2; models keep collision geometry in 3 and above.
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
    textured : TexturedSurface, optional
        The same surface with an image on it, whose mean colour is ``color``.
    """

    vertices: Floats
    faces: NDArray[np.int64]
    color: Floats
    open: bool
    textured: TexturedSurface | None = None


@dataclass
class MovingBody:
    """A body that moves, with whatever is welded to it, or (``body == 0``) all that does not."""

    body: int
    name: str
    parts: list[Part] = field(default_factory=list)


def display_nodes(model: mujoco.MjModel, data: mujoco.MjData) -> list[MovingBody]:
    """Group the visible geoms and sites by the moving body that carries them.

    Parameters
    ----------
    data : mujoco.MjData
        Any configuration, with poses computed; gives the relative poses of welded bodies.
    """
    carrier = carriers(model)
    meshes: dict[int, dict[tuple[float, ...], list[Surface]]] = defaultdict(
        lambda: defaultdict(list)
    )
    images: dict[int, list[Part]] = defaultdict(list)

    def add(body: int, surface: Surface, color: Floats, is_open: bool = False) -> None:
        if color[3] > 0.0:
            meshes[body][(*np.round(color, 3).tolist(), float(is_open))].append(surface)

    for geom in np.flatnonzero(model.geom_group < SHOWN_GROUPS).tolist():
        body = int(carrier[model.geom_bodyid[geom]])
        kind = mujoco.mjtGeom(int(model.geom_type[geom]))
        is_open = kind in (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
        pose = _Pose.seen_from(data, body, data.geom_xpos[geom], data.geom_xmat[geom])
        textured = textured_surface(model, geom)
        if textured is not None and textured.color[3] > 0.0:
            images[body].append(_textured_part(pose, textured, geom_color(model, geom)))
            continue
        for surface, color in _surfaces(model, geom):
            add(body, pose.of(surface), color, is_open)
    for site in np.flatnonzero(model.site_group < SHOWN_GROUPS).tolist():
        body = int(carrier[model.site_bodyid[site]])
        pose = _Pose.seen_from(data, body, data.site_xpos[site], data.site_xmat[site])
        add(body, pose.of(site_mesh(model, site)), site_color(model, site))
    nodes = []
    for body in sorted({*meshes, *images}):
        parts = [
            Part(*_merge(pieces), color=np.array(key[:4]), open=bool(key[4]))
            for key, pieces in meshes[body].items()
        ]
        nodes.append(MovingBody(body, _node_name(model, body), parts + images[body]))
    return nodes


class _Pose(NamedTuple):
    """Where an object is in the frame of the body that carries it."""

    position: Floats
    rotation: Floats

    @classmethod
    def seen_from(cls, data: mujoco.MjData, body: int, position: Floats, matrix: Floats) -> _Pose:
        """Static objects from the world, the others from their moving body."""
        frame = data.xmat[body].reshape(3, 3)
        return cls(frame.T @ (position - data.xpos[body]), frame.T @ matrix.reshape(3, 3))

    def of(self, surface: Surface) -> Surface:
        """A surface of the object, in the body's frame."""
        return Surface(surface.vertices @ self.rotation.T + self.position, surface.faces)


def _textured_part(pose: _Pose, surface: TexturedSurface, mean: Floats) -> Part:
    vertices = surface.vertices @ pose.rotation.T + pose.position
    placed = surface._replace(vertices=vertices, normals=surface.normals @ pose.rotation.T)
    return Part(vertices, surface.faces, mean, open=False, textured=placed)


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
