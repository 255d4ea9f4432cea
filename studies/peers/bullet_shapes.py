"""Geoms of a MuJoCo model as collision shapes of PyBullet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError

__all__ = ["BulletShapes", "bullet_quaternion", "collision_geoms"]

Floats = NDArray[np.float64]

_GEOM = mujoco.mjtGeom
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
_MOST_PIECES = 16  # more would be left out without a word


def collision_geoms(model: mujoco.MjModel, body: int) -> list[int]:
    """Geoms of a body that may touch others."""
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    return [
        geom
        for geom in range(first, first + count)
        if model.geom_contype[geom] or model.geom_conaffinity[geom]
    ]


def bullet_quaternion(quat: Floats) -> list[float]:
    """MuJoCo's order (w first) to Bullet's (w last)."""
    w, x, y, z = (float(value) for value in quat)
    return [x, y, z, w]


class BulletShapes:
    """Makes collision shapes.

    Parameters
    ----------
    client : BulletClient
    model : mujoco.MjModel
    folder : str
        For mesh files.
    hulls, concave : bool
        See `studies.peers.bullet.BulletWorld`.
    """

    def __init__(
        self, client: Any, model: mujoco.MjModel, folder: str, hulls: bool, concave: bool
    ) -> None:
        self._client, self._model, self._folder = client, model, Path(folder)
        self._hulls, self._concave = hulls, concave

    def of(self, body: int) -> int:
        """Collision shape of a body's geoms, in its frame; −1 for none."""
        client, model = self._client, self._model
        geoms = collision_geoms(model, body)
        if not geoms:
            return -1
        if model.geom_type[geoms[0]] == _GEOM.mjGEOM_CYLINDER:
            return self._cylinder(body, geoms)
        path = self._folder / f"body_{body}.obj"
        boxes = [g for g in geoms if not self._hulls and self._is_box(g)]
        meshes = [g for g in geoms if g not in boxes]
        as_they_are = self._concave and model.body_weldid[body] == 0
        if meshes and as_they_are:
            path.write_text(self._surfaces(meshes), encoding="utf-8")
        elif meshes:
            path.write_text(_obj([self._vertices(g) for g in meshes]), encoding="utf-8")
        if not boxes:
            flags = client.GEOM_FORCE_CONCAVE_TRIMESH if as_they_are else 0
            shape: int = client.createCollisionShape(
                client.GEOM_MESH, fileName=str(path), flags=flags
            )
            return shape
        # A list for every parameter of every piece, the meshes' as one.
        extra = [path] if meshes else []
        if len(boxes) + len(extra) > _MOST_PIECES:
            name = model.body(body).name
            raise ModelError(f"body {name!r} has more than {_MOST_PIECES} pieces for PyBullet.")
        pieces: int = client.createCollisionShapeArray(
            shapeTypes=[client.GEOM_BOX] * len(boxes) + [client.GEOM_MESH] * len(extra),
            halfExtents=[model.geom_size[g].tolist() for g in boxes] + [[0.0] * 3] * len(extra),
            fileNames=[""] * len(boxes) + [str(p) for p in extra],
            collisionFramePositions=[model.geom_pos[g].tolist() for g in boxes]
            + [[0.0] * 3] * len(extra),
            collisionFrameOrientations=[bullet_quaternion(model.geom_quat[g]) for g in boxes]
            + [[0.0, 0.0, 0.0, 1.0]] * len(extra),
        )
        return pieces

    def _cylinder(self, body: int, geoms: list[int]) -> int:
        model, geom = self._model, geoms[0]
        if len(geoms) > 1 or np.any(model.geom_pos[geom]) or model.geom_quat[geom, 0] != 1.0:
            name = model.body(body).name
            raise ModelError(
                f"body {name!r}: Bullet is given a cylinder in a body's middle, alone."
            )
        radius, half = (float(value) for value in model.geom_size[geom, :2])
        shape: int = self._client.createCollisionShape(
            self._client.GEOM_CYLINDER, radius=radius, height=2.0 * half
        )
        return shape

    def _is_box(self, geom: int) -> bool:
        return bool(self._model.geom_type[geom] == _GEOM.mjGEOM_BOX)

    def _vertices(self, geom: int) -> Floats:
        """Vertices of a convex geom in its body's frame [m], shape (n, 3)."""
        model = self._model
        kind = int(model.geom_type[geom])
        if kind == _GEOM.mjGEOM_BOX:
            local = _CORNERS * model.geom_size[geom]
        elif kind == _GEOM.mjGEOM_MESH:
            mesh = int(model.geom_dataid[geom])
            first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
            local = model.mesh_vert[first : first + count].astype(np.float64)
        else:
            raise ModelError(f"geom {geom} is neither box nor mesh and is not given to Bullet.")
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, model.geom_quat[geom])
        return np.asarray(local @ turn.reshape(3, 3).T + model.geom_pos[geom])

    def _surfaces(self, geoms: list[int]) -> str:
        """Meshes with all their triangles as a Wavefront file."""
        model, lines, first = self._model, [], 1
        for geom in geoms:
            vertices, mesh = self._vertices(geom), int(model.geom_dataid[geom])
            begin, count = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
            lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices]
            for a, b, c in model.mesh_face[begin : begin + count] + first:
                lines.append(f"f {a} {b} {c}")
            first += len(vertices)
        return "\n".join(lines) + "\n"


def _obj(pieces: list[Floats]) -> str:
    """Convex pieces as objects of a Wavefront file; their triangles only name the vertices."""
    lines, first = [], 1
    for i, vertices in enumerate(pieces):
        lines.append(f"o piece_{i}")
        lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices]
        lines += [f"f {first} {first + k} {first + k + 1}" for k in range(1, len(vertices) - 1)]
        first += len(vertices)
    return "\n".join(lines) + "\n"
