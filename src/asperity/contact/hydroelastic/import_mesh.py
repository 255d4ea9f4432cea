"""Field meshes in files."""

from __future__ import annotations

import contextlib
import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asperity.contact.hydroelastic.distance_field import distance_field, project_into_hull
from asperity.contact.hydroelastic.field_mesh import FieldMesh, verify
from asperity.errors import MissingExtra, ModelError

__all__ = ["in_frame", "read_field_mesh", "write_field_mesh"]

Floats = NDArray[np.float64]

_FOREIGN = (".vtk", ".vtu", ".msh")


def write_field_mesh(path: Path, mesh: FieldMesh) -> None:
    """Write a field mesh as ``.npz``, whose arrays have the names of `FieldMesh`'s fields."""
    smallest = np.min_scalar_type(len(mesh.vertices))
    with open(path, "wb") as file:  # np.savez would add a suffix
        np.savez_compressed(
            file,
            vertices=mesh.vertices,
            tetrahedra=mesh.tetrahedra.astype(smallest),
            extent=mesh.extent,
            depth=np.float64(mesh.depth),
        )


def read_field_mesh(path: str | os.PathLike[str], *, depth: float | None = None) -> FieldMesh:
    """Read tetrahedra, and their field or make it of the distance from their surface.

    Parameters
    ----------
    path : path-like
        ``.npz`` with ``vertices`` [m], ``tetrahedra`` and, both or neither, ``extent`` and
        ``depth`` (`FieldMesh`); or ``.vtk``, ``.vtu`` or Gmsh's ``.msh`` with tetrahedra.
    depth : float, optional
        Distance from the surface at which the extent reaches 1 [m], in place of the file's or of
        the largest one (`distance_field`).

    Raises
    ------
    ModelError, MissingExtra
        If the file is missing, holds no tetrahedra or no closed solid of them, or needs a Python
        package that is not installed.
    """
    path = Path(path)
    name = f"field mesh {str(path)!r}"
    if not path.is_file():
        raise ModelError(f"{name} does not exist; correct its path.")
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _read_npz(path, name, depth)
    if suffix in _FOREIGN:
        vertices, tetrahedra = _read_foreign(path, name)
        return distance_field(vertices, tetrahedra, depth=depth, name=name)
    raise ModelError(
        f"{name} does not end in .npz, {', '.join(_FOREIGN)}; 'asperity tetrahedralize {path}' "
        "makes a .npz file of a surface mesh that MuJoCo reads."
    )


def in_frame(
    mesh: FieldMesh,
    position: Floats,
    rotation: Floats,
    hull: Floats,
    name: str,
) -> FieldMesh:
    """The mesh of a file in the frame of a geom's mesh, inside of the geom's hull.

    MuJoCo moves meshes to their centres and principal axes when it compiles a model, and keeps them
    in single precision.

    Parameters
    ----------
    mesh : FieldMesh
        In the frame of the mesh file that the model names, scaled as in the model [m].
    position : ndarray, shape (3,)
        Of the geom's mesh in the frame of the file [m], ``mesh_pos``.
    rotation : ndarray, shape (3, 3)
        Matrix of ``mesh_quat``.
    hull : ndarray, shape (k, 3)
        Vertices of the geom's mesh [m].
    name : str
        What the mesh belongs to, for messages.

    Raises
    ------
    ModelError
        If the mesh does not lie in the hull, so that it has another frame or other units.
    """
    moved = (mesh.vertices - position) @ rotation
    placed = mesh._replace(vertices=project_into_hull(moved, mesh.tetrahedra, hull, name))
    verify(placed, name)
    return placed


def _read_npz(path: Path, name: str, depth: float | None) -> FieldMesh:
    try:
        with np.load(path, allow_pickle=False) as archive:
            held = {key: archive[key] for key in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ModelError(f"{name} cannot be read: {error}.") from None
    missing = [key for key in ("vertices", "tetrahedra") if key not in held]
    if missing or ("extent" in held) != ("depth" in held):
        raise ModelError(
            f"{name} holds {', '.join(held) or 'nothing'}; it needs vertices and tetrahedra, and "
            f"both extent and depth or neither."
        )
    try:
        vertices = np.ascontiguousarray(held["vertices"], dtype=np.float64).reshape(-1, 3)
        tetrahedra = np.ascontiguousarray(held["tetrahedra"]).astype(np.int64, casting="safe")
        tetrahedra = tetrahedra.reshape(-1, 4)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} has arrays of the wrong kind or shape: {error}.") from None
    if "extent" not in held or depth is not None:
        _require_solid(vertices, tetrahedra, name)
        return distance_field(vertices, tetrahedra, depth=depth, name=name)
    extent = np.ascontiguousarray(held["extent"], dtype=np.float64)
    mesh = FieldMesh(vertices, tetrahedra, extent, float(held["depth"]))
    verify(mesh, name)
    return mesh


def _require_solid(vertices: np.ndarray, tetrahedra: np.ndarray, name: str) -> None:
    """Refuse what cannot even be cut."""
    if not len(tetrahedra):
        raise ModelError(
            f"{name} holds no tetrahedra; make them of a closed surface with 'asperity "
            "tetrahedralize'."
        )
    bad = tetrahedra[(tetrahedra < 0) | (tetrahedra >= len(vertices))]
    if len(bad):
        raise ModelError(
            f"{name}: its tetrahedra name vertices that do not exist, such as {bad[0]} of "
            f"{len(vertices)}; export it again."
        )
    if not np.isfinite(vertices).all():
        raise ModelError(f"{name} has coordinates that are not finite; export it again.")


def _read_foreign(path: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        import meshio
    except ImportError:
        raise MissingExtra(
            f"{name} needs the Python package meshio; install it with "
            f"'pip install \"asperity[hydroelastic]\"', or convert the mesh to .npz."
        ) from None
    said = io.StringIO()
    try:
        # It prints why it cannot read a file, and exits.
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            mesh: Any = meshio.read(path)
    except (Exception, SystemExit) as error:  # its readers raise whatever they stumble over
        reason = next(iter(said.getvalue().split("\n")), "") or error or type(error).__name__
        raise ModelError(f"{name} cannot be read: {reason}.") from None
    cells = mesh.cells_dict
    if "tetra" not in cells:
        if "triangle" in cells:
            raise ModelError(
                f"{name} holds a surface, no tetrahedra; make them with 'asperity tetrahedralize' "
                f'of the surface as .obj or .stl, or take surface="rigid".'
            )
        kinds = ", ".join(cells) or "nothing"
        raise ModelError(f"{name} holds {kinds}; it needs linear tetrahedra.")
    vertices = np.asarray(mesh.points, dtype=np.float64)
    tetrahedra = np.asarray(cells["tetra"], dtype=np.int64)
    _require_solid(vertices, tetrahedra, name)
    return vertices, tetrahedra
