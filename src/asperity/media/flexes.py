"""Deformable bodies in a page: the triangles of their surfaces."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.media.bodies import SHOWN_GROUPS

__all__ = ["Flexes", "has_flexes"]


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
        self._meshes = [
            (_vertices(model, flex), _add_mesh(server, model, data, flex)) for flex in _shown(model)
        ]
        self._sent: dict[int, NDArray[np.float32]] = {}

    def update(self, data: mujoco.MjData) -> None:
        """Send the surfaces that have changed."""
        for vertices, mesh in self._meshes:
            positions = np.array(data.flexvert_xpos[vertices], np.float32)
            sent = self._sent.get(vertices.start)
            if sent is None or not np.array_equal(positions, sent):
                mesh.vertices = positions
                self._sent[vertices.start] = positions


def _shown(model: mujoco.MjModel) -> list[int]:
    """Volumes and cloths of the visible groups."""
    return [
        flex
        for flex in range(model.nflex)
        if model.flex_group[flex] < SHOWN_GROUPS and model.flex_dim[flex] > 1
    ]


def _vertices(model: mujoco.MjModel, flex: int) -> slice:
    first = int(model.flex_vertadr[flex])
    return slice(first, first + int(model.flex_vertnum[flex]))


def _triangles(model: mujoco.MjModel, flex: int) -> NDArray[np.int32]:
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
        np.array(data.flexvert_xpos[_vertices(model, flex)], np.float32),
        _triangles(model, flex),
        color=tuple(round(255.0 * c) for c in color[:3]),
        opacity=None if color[3] >= 1.0 else float(color[3]),
        flat_shading=True,
        side="double",
    )
