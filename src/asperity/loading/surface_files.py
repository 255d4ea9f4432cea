"""Triangle surfaces in the files that MuJoCo reads."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np

from asperity.errors import ArgumentError, ModelError
from asperity.geometry.surfaces import Surface
from asperity.loading.mesh_files import READABLE
from asperity.loading.text_stl import is_text_stl, read_text_stl

__all__ = ["read_surface", "write_obj"]


def read_surface(path: Path, scale: float = 1.0) -> Surface:
    """Read ``.obj``, ``.stl`` or MuJoCo's ``.msh``.

    Parameters
    ----------
    path : Path
    scale : float
        The length [m] of one unit of the file.

    Returns
    -------
    Surface
        In the frame of the file; equal vertices are merged, as MuJoCo keeps them in single
        precision.

    Raises
    ------
    ModelError
        If the file is missing or MuJoCo cannot read it.
    """
    if not path.is_file():
        raise ModelError(f"mesh {str(path)!r} does not exist; correct its path.")
    if path.suffix.lower() not in READABLE:
        raise ModelError(f"mesh {str(path)!r} is none of {', '.join(READABLE)}; convert it.")
    if not (np.isfinite(scale) and scale > 0.0):
        raise ArgumentError(f"the scale of mesh {str(path)!r} must be positive, got {scale!r}.")
    if path.suffix.lower() == ".stl" and is_text_stl(path):
        surface = read_text_stl(path)
        return Surface(scale * surface.vertices, surface.faces)
    spec = mujoco.MjSpec()
    # By name MuJoCo would take a file that it has read before, though it was written anew since.
    spec.assets = {path.name: path.read_bytes()}
    mesh = spec.add_mesh(name="mesh", file=path.name, scale=[scale] * 3)
    # The inertia of a shell exists for meshes that are not closed, too, which others judge.
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh")
    try:
        model = spec.compile()
    except ValueError as error:
        raise ModelError(
            f"mesh {str(path)!r} cannot be read: {error}. Export it again, as a closed surface of "
            "triangles."
        ) from None
    # MuJoCo moves meshes to their centres and principal axes.
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, model.mesh_quat[0])
    corners = model.mesh_vert[model.mesh_face].reshape(-1, 3)
    merged, label = np.unique(corners, axis=0, return_inverse=True)
    vertices = merged.astype(np.float64) @ turn.reshape(3, 3).T + model.mesh_pos[0]
    return Surface(vertices, label.reshape(-1, 3).astype(np.int64))


def write_obj(path: Path, surface: Surface) -> None:
    """Write a surface as Wavefront ``.obj``."""
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in surface.vertices.tolist()]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in surface.faces.tolist()]
    path.write_text("\n".join(lines) + "\n")
