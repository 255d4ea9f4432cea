"""Deformable bodies in pages: their surfaces follow the vertices."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np

from asperity.media.flexes import Flexes, has_flexes

MODEL = """
<mujoco>
  <option integrator="discrete"/>
  <worldbody>
    <flexcomp name="cube" type="grid" dim="3" count="3 3 3" spacing="0.1 0.1 0.1" mass="1"
              rgba="1 0 0 1"><elasticity young="1e5"/></flexcomp>
    <flexcomp name="hidden" type="grid" dim="3" count="3 3 3" spacing="0.1 0.1 0.1" mass="1"
              group="4"><elasticity young="1e5"/></flexcomp>
  </worldbody>
</mujoco>
"""


class Scene:
    """What a page was told to show."""

    def __init__(self) -> None:
        self.meshes: dict[str, Any] = {}

    def add_mesh_simple(
        self, name: str, vertices: np.ndarray, faces: np.ndarray, **look: Any
    ) -> Any:
        self.meshes[name] = SimpleNamespace(vertices=vertices, faces=faces, **look)
        return self.meshes[name]


def test_ropes_are_prisms_along_their_edges() -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><flexcomp name='rope' type='grid' dim='1' count='4 1 1' mass='1'"
        " spacing='0.1 0.1 0.1' radius='0.02'><edge equality='true'/></flexcomp></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    server = SimpleNamespace(scene=Scene())
    flexes = Flexes(server, model, data)
    (mesh,) = server.scene.meshes.values()
    assert mesh.faces.max() + 1 == len(mesh.vertices)
    data.qpos[2] = 0.1
    mujoco.mj_kinematics(model, data)
    mujoco.mj_flex(model, data)
    flexes.update(data)
    sides = len(mesh.vertices) // 6
    rings = mesh.vertices.reshape(3, 2, sides, 3)
    ends = data.flexvert_xpos[model.flex_edge]
    assert np.allclose(rings.mean(axis=2), ends, atol=1e-6)
    assert np.allclose(np.linalg.norm(rings - ends[:, :, None], axis=-1), 0.02, atol=1e-6)
    across = np.einsum("eksi,ei->eks", rings - ends[:, :, None], ends[:, 1] - ends[:, 0])
    assert np.allclose(across, 0.0, atol=1e-6)


def test_surfaces_follow_vertices() -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    server = SimpleNamespace(scene=Scene())
    assert has_flexes(model)
    flexes = Flexes(server, model, data)
    (mesh,) = server.scene.meshes.values()
    assert mesh.color == (255, 0, 0)
    # Two triangles in each of four squares of each side, a closed surface.
    assert mesh.faces.shape == (48, 3)
    edges = np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    assert np.all(counts == 2)
    data.qpos[:3] = 0.05
    mujoco.mj_kinematics(model, data)
    mujoco.mj_flex(model, data)
    flexes.update(data)
    assert np.allclose(mesh.vertices, data.flexvert_xpos[:27], atol=1e-6)
