"""STL files in text form, which MuJoCo does not read."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.geometry.surfaces import Surface
from asperity.loading.mesh_paths import mesh_name, mesh_path
from asperity.plant.model.names import listed

__all__ = ["convert_text_stl", "is_text_stl", "read_text_stl"]

_HEADER, _TRIANGLE = 84, 50


def convert_text_stl(spec: mujoco.MjSpec) -> list[str]:
    """Give meshes of a specification the triangles of their text files.

    Parameters
    ----------
    spec : mujoco.MjSpec
        Changed in place.

    Returns
    -------
    list of str
        A sentence, if something was done.

    Raises
    ------
    ModelError
        Naming the file and the line that cannot be read.
    """
    done = set()
    for mesh in spec.meshes:
        path = mesh_path(spec, mesh.file)
        if path is None or path.suffix.lower() != ".stl" or not is_text_stl(path):
            continue
        surface = read_text_stl(path)
        mesh.name = mesh_name(mesh)
        mesh.file = ""
        mesh.uservert = surface.vertices.ravel()
        mesh.userface = surface.faces.ravel()
        done.add(f"'{path.name}'")
    return [f"STL files in text form were converted: {listed(sorted(done))}."] if done else []


def is_text_stl(path: Path) -> bool:
    """Whether an STL file is one of words; a binary one can begin with ``solid``, too."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
    if not header.lstrip().lower().startswith(b"solid"):
        return False
    triangles = int.from_bytes(header[80:_HEADER], "little")
    return path.stat().st_size != _HEADER + _TRIANGLE * triangles


def read_text_stl(path: Path) -> Surface:
    """Read the triangles of an STL file in text form; equal vertices are one.

    Raises
    ------
    ModelError
        Naming the file and the line that cannot be read.
    """
    corners: list[list[float]] = []
    facet = 0
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
        words = line.split()
        if words and words[0] == "facet":
            facet = len(corners)
        if words and words[0] == "endfacet" and len(corners) != facet + 3:
            raise ModelError(
                f"{path}, line {number}: a facet has {len(corners) - facet} vertices; it needs 3."
            )
        if not words or words[0] != "vertex":
            continue
        try:
            corner = [float(word) for word in words[1:]]
        except ValueError:
            corner = []
        if len(corner) != 3 or not np.all(np.isfinite(corner)):
            raise ModelError(
                f"{path}, line {number}: {line.strip()!r} is no vertex of three finite numbers; "
                "correct it."
            )
        corners.append(corner)
    if not corners or len(corners) % 3 != 0:
        raise ModelError(
            f"{path} ends within a triangle, or has none; export it again, as binary STL or OBJ."
        )
    vertices, label = np.unique(np.array(corners), axis=0, return_inverse=True)
    faces = label.reshape(-1, 3)
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2])
    return Surface(vertices, faces[distinct & (faces[:, 2] != faces[:, 0])].astype(np.int64))
