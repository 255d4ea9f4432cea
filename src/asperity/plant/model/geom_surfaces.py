"""Triangle meshes of MuJoCo's geoms, each in its geom's frame."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError
from asperity.geometry import primitives
from asperity.geometry.surfaces import Surface
from asperity.plant.model.names import element

__all__ = ["geom_surface", "primitive_surface"]

_Type = mujoco.mjtGeom


def geom_surface(
    model: mujoco.MjModel,
    geom: int,
    *,
    segments: int = 16,
    subdivisions: int = 1,
    hulls: bool,
    closed: bool = True,
) -> Surface:
    """Triangles of one geom, which must not be a plane.

    They face outwards, every vertex is there once, and a mesh of a solid is closed.

    Parameters
    ----------
    model : mujoco.MjModel
    geom : int
    segments : int
        Straight pieces around a circle, a multiple of 4.
    subdivisions : int
        Pieces of every edge of a box.
    hulls : bool
        Whether a mesh is replaced by its convex hull.
    closed : bool
        Whether a height field has walls and a base, or is its upper surface only.

    Raises
    ------
    ModelError
        If the geom has no surface, or its mesh is flat.
    """
    size = np.array(model.geom_size[geom])
    kind = _Type(int(model.geom_type[geom]))
    primitive = primitive_surface(kind, size, segments, subdivisions)
    if primitive is not None:
        return primitive
    data = int(model.geom_dataid[geom])
    if kind == _Type.mjGEOM_HFIELD:
        return _height_field(model, data, closed)
    name = element(model, mujoco.mjtObj.mjOBJ_GEOM, geom)
    if kind in (_Type.mjGEOM_MESH, _Type.mjGEOM_SDF) and data >= 0:
        return _mesh(model, data, name, hulls)
    raise ModelError(f"{name} is a {kind.name}, which has no surface; use a box or a mesh.")


def primitive_surface(
    kind: mujoco.mjtGeom, size: NDArray[np.float64], segments: int, subdivisions: int = 1
) -> Surface | None:
    """Triangles of a box or a round shape of MuJoCo's sizes [m], None for other kinds."""
    if kind == _Type.mjGEOM_BOX:
        return primitives.box(size, subdivisions)
    if kind == _Type.mjGEOM_SPHERE:
        return primitives.ellipsoid(np.full(3, size[0]), segments)
    if kind == _Type.mjGEOM_ELLIPSOID:
        return primitives.ellipsoid(size, segments)
    if kind == _Type.mjGEOM_CAPSULE:
        return primitives.capsule(size[0], size[1], segments)
    if kind == _Type.mjGEOM_CYLINDER:
        return primitives.cylinder(size[0], size[1], segments)
    return None


def _mesh(model: mujoco.MjModel, mesh: int, name: str, hulls: bool) -> Surface:
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    vertices = model.mesh_vert[first : first + count].astype(np.float64)
    if hulls:
        from scipy.spatial import QhullError  # slow to import, and most need it not

        try:
            return primitives.convex_hull(vertices)
        except QhullError:
            raise ModelError(
                f"{name}: its mesh is flat and has no convex hull; give it a thickness, or "
                "take a box."
            ) from None
    first, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    faces = model.mesh_face[first : first + count].astype(np.int64)
    vertices, label = np.unique(vertices, axis=0, return_inverse=True)
    faces = label.reshape(-1)[faces]
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    faces = faces[np.linalg.norm(np.cross(b - a, c - a), axis=1) > 0.0]
    if len(faces) == 0:
        raise ModelError(
            f"{name}: its mesh has no triangle with an area; correct its file or its scale."
        )
    # Vertices that no triangle has are no part of the surface.
    used, faces = np.unique(faces, return_inverse=True)
    return Surface(vertices[used], faces.reshape(-1, 3))


def _height_field(model: mujoco.MjModel, index: int, closed: bool) -> Surface:
    rows, columns = int(model.hfield_nrow[index]), int(model.hfield_ncol[index])
    first = model.hfield_adr[index]
    size = np.array(model.hfield_size[index])
    data = np.array(model.hfield_data[first : first + rows * columns], dtype=np.float64)
    heights = size[2] * data.reshape(rows, columns)
    return primitives.height_field(heights, size[:2], size[3], closed=closed)
