"""Deformable bodies in a page: the triangles of their surfaces, and prisms along ropes."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.media.bodies import SHOWN_GROUPS

__all__ = ["Flexes", "has_flexes"]

# Sides of the prism around an edge of a rope.
_SIDES = 8


def has_flexes(model: mujoco.MjModel) -> bool:
    """Whether a model has deformable bodies to be seen."""
    return len(_shown(model)) > 0


class Flexes:
    """The visible deformable bodies of a model.

    Parameters
    ----------
    server : viser.ViserServer
    model : mujoco.MjModel
    data : mujoco.MjData
        With vertices where they are at first (`mj_flex`).
    """

    def __init__(self, server: Any, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._model = model
        self._meshes = {flex: _add_mesh(server, model, data, flex) for flex in _shown(model)}
        self._sent: dict[int, NDArray[np.float32]] = {}

    def update(self, data: mujoco.MjData) -> None:
        """Send the surfaces that have changed."""
        for flex, mesh in self._meshes.items():
            positions = _positions(self._model, data, flex)
            sent = self._sent.get(flex)
            if sent is None or not np.array_equal(positions, sent):
                mesh.vertices = positions
                self._sent[flex] = positions


def _shown(model: mujoco.MjModel) -> list[int]:
    """Those of the visible groups."""
    return [flex for flex in range(model.nflex) if model.flex_group[flex] < SHOWN_GROUPS]


def _edges(model: mujoco.MjModel, flex: int) -> NDArray[np.int32]:
    first, count = int(model.flex_edgeadr[flex]), int(model.flex_edgenum[flex])
    return np.array(model.flex_edge[first : first + count])


def _positions(model: mujoco.MjModel, data: mujoco.MjData, flex: int) -> NDArray[np.float32]:
    """Of the triangles' corners."""
    first = int(model.flex_vertadr[flex])
    vertices = data.flexvert_xpos[first : first + int(model.flex_vertnum[flex])]
    if model.flex_dim[flex] > 1:
        return np.array(vertices, np.float32)
    ends = vertices[_edges(model, flex)]
    along = ends[:, 1] - ends[:, 0]
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    beside = np.eye(3)[np.abs(along).argmin(axis=1)]
    out = np.cross(along, beside)
    out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)
    angle = 2.0 * np.pi / _SIDES * np.arange(_SIDES)[:, None]
    ring = np.cos(angle) * out[:, None] + np.sin(angle) * np.cross(along, out)[:, None]
    ring *= float(model.flex_radius[flex])
    return (ends[:, :, None] + ring[:, None]).reshape(-1, 3).astype(np.float32)


def _triangles(model: mujoco.MjModel, flex: int) -> NDArray[np.int32]:
    if model.flex_dim[flex] == 1:
        side = np.arange(_SIDES)
        after = (side + 1) % _SIDES
        one = np.stack([side, after, side + _SIDES], axis=1)
        two = np.stack([after, after + _SIDES, side + _SIDES], axis=1)
        prism = np.concatenate([one, two]).astype(np.int32)
        starts = 2 * _SIDES * np.arange(len(_edges(model, flex)), dtype=np.int32)
        return (starts[:, None, None] + prism).reshape(-1, 3)
    if model.flex_dim[flex] == 2:
        first, count = int(model.flex_elemdataadr[flex]), int(model.flex_elemnum[flex])
        return np.array(model.flex_elem[first : first + 3 * count]).reshape(-1, 3)
    first, count = int(model.flex_shelldataadr[flex]), int(model.flex_shellnum[flex])
    return np.array(model.flex_shell[first : first + 3 * count]).reshape(-1, 3)


def _add_mesh(server: Any, model: mujoco.MjModel, data: mujoco.MjData, flex: int) -> Any:
    color = np.array(model.flex_rgba[flex])
    if model.flex_matid[flex] >= 0:
        color = np.array(model.mat_rgba[model.flex_matid[flex]])
    return server.scene.add_mesh_simple(
        f"/flexes/{flex}",
        _positions(model, data, flex),
        _triangles(model, flex),
        color=tuple(round(255.0 * c) for c in color[:3]),
        opacity=None if color[3] >= 1.0 else float(color[3]),
        flat_shading=True,
        side="double",
    )
