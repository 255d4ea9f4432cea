"""Tetrahedra inside of a closed surface, by TetWild (extra ``hydroelastic``), kept on disk.

Hu, Schneider, Wang, Zorin & Panozzo, "Fast tetrahedral meshing in the wild", ACM Transactions on
Graphics 39(4), 2020. Results of the same input differ in their last vertices; what is on disk is
taken again.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asperity.contact.hydroelastic.distance_field import distance_field, project_into_hull
from asperity.contact.hydroelastic.field_mesh import FieldMesh, oriented
from asperity.contact.hydroelastic.tetwild_process import SETTINGS
from asperity.errors import ArgumentError, MissingExtra, ModelError
from asperity.geometry.kept_arrays import kept_file, load_arrays, save_arrays
from asperity.geometry.surfaces import Surface, is_closed, volume_integrals

__all__ = ["tetrahedralize"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Edges over the diagonal of the bounding box if no resolution is given: a mug has 2000 tetrahedra
# before its walls are split.
_EDGES = 0.1
_MOST_TETRAHEDRA = 1_000_000

# What Python runs, in a process of its own.
_PROGRAM = (str(Path(__file__).with_name("tetwild_process.py")),)

# Part of the key of what is on disk: a new number when the same input is to be cut anew.
_FORMAT = 1


def tetrahedralize(
    surface: Surface,
    *,
    resolution: float | None = None,
    depth: float | None = None,
    name: str = "the mesh",
    keep: bool = True,
) -> FieldMesh:
    """Field mesh of the solid inside of a surface: the distance from the surface in tetrahedra.

    Parameters
    ----------
    surface : Surface
        Closed [m]; equal vertices are merged.
    resolution : float, optional
        Length of edges that is aimed at [m], a tenth of the bounding box's diagonal by default.
    depth : float, optional
        Distance from the surface at which the pressure reaches the modulus [m]; by default the
        largest one (`distance_field`).
    name : str
        What the mesh belongs to, for messages.
    keep : bool
        Whether tetrahedra are taken from the user's cache folder, and put there.

    Raises
    ------
    ArgumentError, ModelError, MissingExtra
        If the surface is not closed or encloses nothing, the resolution would make more than a
        million tetrahedra, or pytetwild is not installed.
    """
    solid = _solid(surface, name)
    diagonal = float(np.linalg.norm(np.ptp(solid.vertices, axis=0)))
    edge = _EDGES * diagonal if resolution is None else float(resolution)
    if not (np.isfinite(edge) and edge > 0.0):
        raise ArgumentError(f"{name}: the resolution must be positive, got {resolution!r} m.")
    estimate = _estimate(solid, edge)
    if estimate > _MOST_TETRAHEDRA:
        raise ArgumentError(
            f"{name}: a resolution of {edge:g} m would make about {estimate:.0g} tetrahedra, more "
            f"than {_MOST_TETRAHEDRA}; take a coarser one."
        )
    path = _kept(solid, edge) if keep else None
    cut = load_arrays(path, "vertices", "tetrahedra")
    if cut is None:
        cut = _cut(solid, edge, diagonal, name)
        save_arrays(path, vertices=cut[0], tetrahedra=cut[1])
    vertices, tetrahedra = cut
    vertices = project_into_hull(vertices, tetrahedra, solid.vertices, name)
    return distance_field(vertices, tetrahedra, depth=depth, name=name)


def _solid(surface: Surface, name: str) -> Surface:
    """Merge equal vertices of a surface and turn its faces outwards, if it is closed."""
    corners = np.asarray(surface.vertices, dtype=np.float64)[surface.faces].reshape(-1, 3)
    if not len(corners) or not np.isfinite(corners).all():
        raise ModelError(
            f"{name} has no triangles, or coordinates that are not finite; export it again."
        )
    vertices, label = np.unique(corners, axis=0, return_inverse=True)
    faces = label.reshape(-1, 3).astype(np.int64)
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
    merged = Surface(vertices, faces)
    if not is_closed(merged):
        sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        _, count = np.unique(np.sort(sides, axis=1), axis=0, return_counts=True)
        raise ModelError(
            f"{name} is not closed and has no inside: {np.count_nonzero(count != 2)} of "
            f"its {len(count)} edges do not belong to two triangles, or triangles disagree on the "
            f'outside; repair it, or take its hull (field_mesh="hull") or surface="rigid".'
        )
    volume = volume_integrals(merged)[0]
    size = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    if abs(volume) <= 1e-12 * size**3:
        raise ModelError(
            f"{name} encloses the volume {volume:.3g} m³ only, of a size of {size:g} m; give it "
            'a thickness, or take surface="rigid".'
        )
    return merged if volume > 0.0 else Surface(vertices, np.ascontiguousarray(faces[:, ::-1]))


def _estimate(surface: Surface, edge: float) -> float:
    """Tetrahedra that fill the volume, or that a single layer on the surface has."""
    volume = volume_integrals(surface)[0]
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    # Of regular tetrahedra, and three on every regular triangle.
    return max(6.0 * np.sqrt(2.0) * volume / edge**3, 3.0 * area / (0.25 * np.sqrt(3.0) * edge**2))


def _cut(surface: Surface, edge: float, diagonal: float, name: str) -> tuple[Floats, Ints]:
    """Run TetWild in a process of its own, in a folder of its own.

    It writes a file into the current folder, ends the process if its input is worse than it can
    bear, and cannot be interrupted.
    """
    if importlib.util.find_spec("pytetwild") is None:
        raise MissingExtra(
            f"{name} needs the Python package pytetwild to be cut into tetrahedra; install it "
            f"with 'pip install \"asperity[hydroelastic]\"', give a file that 'asperity "
            f"tetrahedralize MESH' has written as field_mesh, or take the convex hull "
            f'(field_mesh="hull") or surface="rigid".'
        )
    with tempfile.TemporaryDirectory() as folder:
        np.savez(
            Path(folder, "surface.npz"),
            vertices=surface.vertices,
            faces=surface.faces.astype(np.int32),
            edge_length_fac=min(1.0, edge / diagonal),
        )
        done = subprocess.run(
            [sys.executable, *_PROGRAM],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            said = done.stderr.strip().splitlines()
            raise ModelError(
                f"{name}: TetWild failed (exit code {done.returncode}"
                f"{': ' + said[-1] if said else ''}); look at the mesh."
            )
        with np.load(Path(folder, "tetrahedra.npz")) as archive:
            vertices, tetrahedra = archive["vertices"], archive["tetrahedra"]
    if not len(tetrahedra):
        raise ModelError(f"{name}: TetWild found no inside; check that the mesh is closed.")
    return vertices, oriented(vertices, tetrahedra)


def _kept(surface: Surface, edge: float) -> Path | None:
    """Where the tetrahedra of this input are kept, or None if nothing is."""
    settings = repr((_FORMAT, edge, *sorted(SETTINGS.items()))).encode()
    return kept_file(
        "tetrahedra", (settings, *(np.ascontiguousarray(a).tobytes() for a in surface))
    )
