"""OBJ files of several objects: every solid a geom of its own.

Decompositions into convex pieces (V-HACD, CoACD) come as one file with an object for each piece.
MuJoCo's compiler reads the triangles of one of them only, and collides the convex hull of all.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.geometry.surfaces import Surface, is_closed, volume_integrals
from asperity.loading.mesh_paths import mesh_name, mesh_path
from asperity.plant.model.names import listed

__all__ = ["read_objects", "split_objects"]

# Attributes of a geom that are its own.
_OWN = frozenset(
    ("name", "meshname", "id", "signature", "parent", "frame", "classname", "info", "compiler",
     "plugin", "type", "mass")
)  # fmt: skip
# Volume [m³] below which a piece has no mass to speak of, and no geom.
_LEAST_VOLUME = 1e-12


def split_objects(spec: mujoco.MjSpec) -> list[str]:
    """Give every object of the OBJ files that collide a mesh, and their geoms siblings.

    Parameters
    ----------
    spec : mujoco.MjSpec
        Changed in place.

    Returns
    -------
    list of str
        A sentence, if something was done.
    """
    done = []
    paired = {name for pair in spec.pairs for name in (pair.geomname1, pair.geomname2)}
    for mesh in list(spec.meshes):
        path = mesh_path(spec, mesh.file)
        if path is None or path.suffix.lower() != ".obj":
            continue
        geoms = [geom for geom in spec.geoms if geom.meshname == mesh_name(mesh)]
        if not any(geom.contype or geom.conaffinity or geom.name in paired for geom in geoms):
            continue
        pieces = read_objects(path.read_text(errors="replace"), str(path))
        if len(pieces) < 2:
            continue
        _split(spec, mesh, geoms, pieces)
        done.append(f"'{path.name}' ({len(pieces)})")
    if not done:
        return []
    return [
        f"OBJ files of several objects became a geom for each object: {listed(sorted(set(done)))}."
    ]


def read_objects(text: str, name: str = "OBJ file") -> list[Surface]:
    """Solids of an OBJ file, each on its own, and all that is not closed as one more.

    Raises
    ------
    ModelError
        Naming the file and the line that cannot be read.
    """
    vertices: list[list[float]] = []
    objects: list[list[tuple[int, int, int]]] = [[]]
    last_face = -1
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append(_numbers(words[1:4], f"{name}, line {number}", line))
        elif words[0] in ("o", "g"):
            objects.append([])
        elif words[0] == "f":
            try:
                corners = [int(word.split("/")[0]) for word in words[1:]]
            except ValueError:
                raise ModelError(
                    f"{name}, line {number}: {line.strip()!r} is no face such as 'f 1 2 3'; "
                    "correct it."
                ) from None
            corners = [c - 1 if c > 0 else len(vertices) + c for c in corners]
            last_face = max(last_face, max(corners, default=0))
            if min(corners, default=0) < 0:
                raise ModelError(
                    f"{name}, line {number}: {line.strip()!r} names a vertex before the "
                    "first, which is 1; correct it."
                )
            objects[-1] += [
                (corners[0], one, other) for one, other in itertools.pairwise(corners[1:])
            ]
    if last_face >= len(vertices):
        raise ModelError(
            f"{name}: a face has vertex {last_face + 1}, and there are {len(vertices)}; the file "
            "is damaged or incomplete."
        )
    positions = np.array(vertices, dtype=np.float64).reshape(-1, 3)
    solids: list[Surface] = []
    sheets: list[Surface] = []
    for faces in filter(None, objects):
        surface = _compact(positions, np.array(faces, dtype=np.int64))
        solid = is_closed(surface) and abs(volume_integrals(surface)[0]) > _LEAST_VOLUME
        (solids if solid else sheets).append(surface)
    if sheets:
        starts = np.cumsum([0, *(len(sheet.vertices) for sheet in sheets[:-1])])
        solids.append(
            Surface(
                np.concatenate([sheet.vertices for sheet in sheets]),
                np.concatenate([s.faces + at for s, at in zip(sheets, starts, strict=True)]),
            )
        )
    return solids


def _numbers(words: list[str], where: str, line: str) -> list[float]:
    try:
        found = [float(word) for word in words]
    except ValueError:
        found = []
    if len(found) != 3 or not np.all(np.isfinite(found)):
        raise ModelError(
            f"{where}: {line.strip()!r} is no vertex of three finite numbers; correct it."
        )
    return found


def _compact(positions: np.ndarray, faces: np.ndarray) -> Surface:
    """The triangles with the vertices that they have, each once."""
    used, label = np.unique(faces, return_inverse=True)
    vertices, same = np.unique(positions[used], axis=0, return_inverse=True)
    faces = same.reshape(-1)[label.reshape(-1, 3)]
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2])
    return Surface(vertices, faces[distinct & (faces[:, 2] != faces[:, 0])])


def _split(spec: mujoco.MjSpec, mesh: Any, geoms: list[Any], pieces: list[Surface]) -> None:
    """Let a mesh be its first piece, and add the others with siblings of its geoms."""
    base = mesh_name(mesh)
    volumes = np.abs([volume_integrals(piece)[0] for piece in pieces])
    shares = volumes / volumes.sum() if volumes.sum() > 0.0 else np.full(len(pieces), 0.0)
    masses = [float(geom.mass) for geom in geoms]
    for i, piece in enumerate(pieces):
        target = mesh
        if i > 0:
            target = spec.add_mesh(name=f"{base}_{i}")
            for attribute in ("scale", "refpos", "refquat", "inertia", "maxhullvert"):
                setattr(target, attribute, getattr(mesh, attribute))
        target.uservert = piece.vertices.ravel()
        target.userface = piece.faces.ravel()
        for geom, mass in zip(geoms, masses, strict=True):
            sibling = geom if i == 0 else _sibling(geom, f"{base}_{i}", i)
            if not math.isnan(mass):
                sibling.mass = mass * shares[i]
    mesh.name = base
    mesh.file = ""


def _sibling(geom: Any, mesh: str, number: int) -> Any:
    """A geom like another one, of another mesh."""
    made = geom.parent.add_geom(type=geom.type, meshname=mesh)
    if geom.name:
        made.name = f"{geom.name}_{number}"
    for attribute in dir(geom):
        if attribute.startswith("_") or attribute in _OWN:
            continue
        value = getattr(geom, attribute)
        if not callable(value):
            setattr(made, attribute, value)
    return made
