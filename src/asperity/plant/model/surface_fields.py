"""Pressure fields and rigid surfaces of a model's geoms, as one table for compiled code."""

from __future__ import annotations

import functools

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.contact.hydroelastic.field_layout import (
    ADAPTIVE,
    CENTRE_OF_PRESSURE,
    CENTROID,
    COMPLIANT_HALF_SPACE,
    COMPLIANT_MESH,
    CUT,
    MOMENTS,
    NO_SURFACE,
    RIGID_HALF_SPACE,
    RIGID_MESH,
    SMOOTH,
)
from asperity.contact.hydroelastic.field_mesh import FieldMesh, boundary_faces
from asperity.contact.hydroelastic.fields import Field, compliant_field, new_fields, rigid_field
from asperity.contact.hydroelastic.import_mesh import in_frame, read_field_mesh
from asperity.contact.hydroelastic.shapes import (
    box_mesh,
    capsule_mesh,
    convex_mesh,
    cylinder_mesh,
    default_resolution,
    ellipsoid_mesh,
)
from asperity.contact.hydroelastic.tetrahedralize import tetrahedralize
from asperity.errors import ArgumentError, AsperityError, ModelError
from asperity.geometry.primitives import convex_hull, height_field
from asperity.geometry.surfaces import Surface
from asperity.plant.model.names import element
from asperity.plant.model.surface_parameters import GeomSurface, ResolvedSurfaces

__all__ = ["make_fields"]

_KINDS = mujoco.mjtGeom
_GEOM = mujoco.mjtObj.mjOBJ_GEOM
_QUADRATURES = {
    "adaptive": ADAPTIVE,
    "centre-of-pressure": CENTRE_OF_PRESSURE,
    "centroid": CENTROID,
    "moments": MOMENTS,
}
_ANGLE_RULES = {"smooth": SMOOTH, "cut": CUT}


def make_fields(model: mujoco.MjModel, surfaces: ResolvedSurfaces) -> Table:
    """Make the fields of a model; geoms of equal shape and options share one.

    Raises
    ------
    ArgumentError, ModelError
        If a geom's mesh cannot carry what it was told to.
    """
    ngeom = model.ngeom
    kind = np.full(ngeom, NO_SURFACE, np.int64)
    number = np.full(ngeom, -1, np.int64)
    modulus = np.ones(ngeom)
    depth = np.full(ngeom, np.inf)
    convex = np.ones(ngeom, np.int64)
    fields: list[Field] = []
    known: dict[int, int] = {}
    made: dict[tuple[object, ...], Field] = {}
    for index in range(ngeom):
        geom = surfaces.geoms[index]
        if not surfaces.any_compliant or geom.surface == "point":
            continue
        compliant = geom.surface == "compliant"
        modulus[index] = geom.hydroelastic_modulus
        if int(model.geom_type[index]) == int(_KINDS.mjGEOM_PLANE):
            kind[index] = COMPLIANT_HALF_SPACE if compliant else RIGID_HALF_SPACE
            if compliant and geom.depth is not None:
                depth[index] = geom.depth
            continue
        kind[index] = COMPLIANT_MESH if compliant else RIGID_MESH
        field = _field_of(model, index, geom, made)
        if id(field) not in known:
            known[id(field)] = len(fields)
            fields.append(field)
        number[index] = known[id(field)]
        if compliant:
            depth[index] = field.depth
        convex[index] = int(_is_convex(model, index, geom))
    spheres = model.geom_type == int(_KINDS.mjGEOM_SPHERE)
    return new_fields(
        fields,
        kind,
        number,
        modulus,
        depth,
        np.where(spheres & (kind != NO_SURFACE), model.geom_size[:, 0], 0.0),
        _flat_sides(model),
        _is_round(model).astype(np.int64),
        convex,
        surfaces.point_pairs,
        _QUADRATURES[surfaces.quadrature],
        _ANGLE_RULES[surfaces.angle_rule],
    )


def _flat_sides(model: mujoco.MjModel) -> np.ndarray:
    """Half lengths of boxes; radius, 0 and half length of cylinders; zeros of all else."""
    kind = model.geom_type[:, None]
    size = model.geom_size
    ends = np.column_stack([size[:, 0], np.zeros(model.ngeom), size[:, 1]])
    boxes = np.where(kind == int(_KINDS.mjGEOM_BOX), size, 0.0)
    return np.where(kind == int(_KINDS.mjGEOM_CYLINDER), ends, boxes)


def _is_round(model: mujoco.MjModel) -> np.ndarray:
    """Whether geoms turn into themselves about their z axis."""
    kind = model.geom_type
    round_ = (kind == int(_KINDS.mjGEOM_SPHERE)) | (kind == int(_KINDS.mjGEOM_CAPSULE))
    round_ |= kind == int(_KINDS.mjGEOM_CYLINDER)
    spheroid = model.geom_size[:, 0] == model.geom_size[:, 1]
    return round_ | ((kind == int(_KINDS.mjGEOM_ELLIPSOID)) & spheroid)


def _is_convex(model: mujoco.MjModel, index: int, geom: GeomSurface) -> bool:
    """Whether the field fills the convex shape that MuJoCo collides."""
    kind = int(model.geom_type[index])
    if kind == int(_KINDS.mjGEOM_MESH):
        return geom.field_mesh in (None, "hull")
    return kind != int(_KINDS.mjGEOM_HFIELD)


def _field_of(
    model: mujoco.MjModel, index: int, geom: GeomSurface, made: dict[tuple[object, ...], Field]
) -> Field:
    """The field of a geom, from ``made`` if another geom has the same."""
    kind = int(model.geom_type[index])
    compliant = geom.surface == "compliant"
    if kind not in (int(_KINDS.mjGEOM_HFIELD), int(_KINDS.mjGEOM_MESH)):
        x, y, z = (float(value) for value in model.geom_size[index])
        try:
            return _primitive(kind, (x, y, z), geom.resolution, compliant)
        except AsperityError as error:
            raise type(error)(f"{element(model, _GEOM, index)}: {error}") from None
    data = int(model.geom_dataid[index])
    key = (kind, data, compliant, geom.field_mesh, geom.depth, geom.resolution)
    if key not in made:
        if kind == int(_KINDS.mjGEOM_HFIELD):
            made[key] = _height_field(model, data)
        else:
            made[key] = _mesh(model, index, geom)
    return made[key]


@functools.lru_cache(maxsize=256)
def _primitive(
    kind: int, size: tuple[float, float, float], resolution: float | None, compliant: bool
) -> Field:
    if kind == int(_KINDS.mjGEOM_BOX):
        return _made(box_mesh(size), compliant)
    # An ellipsoid's edges are counted along its longest axis.
    radius = max(size) if kind == int(_KINDS.mjGEOM_ELLIPSOID) else size[0]
    length = default_resolution(radius) if resolution is None else resolution
    if kind == int(_KINDS.mjGEOM_SPHERE):
        return _made(ellipsoid_mesh((size[0],) * 3, length), compliant)
    if kind == int(_KINDS.mjGEOM_ELLIPSOID):
        return _made(ellipsoid_mesh(size, length), compliant)
    if kind == int(_KINDS.mjGEOM_CYLINDER):
        return _made(cylinder_mesh(size[0], size[1], length), compliant)
    assert kind == int(_KINDS.mjGEOM_CAPSULE), kind
    return _made(capsule_mesh(size[0], size[1], length), compliant)


def _made(mesh: FieldMesh, compliant: bool) -> Field:
    """The field of a mesh, or its surface only."""
    if not compliant:
        return rigid_field(mesh.vertices, boundary_faces(mesh.tetrahedra))
    return compliant_field(mesh)


def _height_field(model: mujoco.MjModel, data: int) -> Field:
    rows, columns = int(model.hfield_nrow[data]), int(model.hfield_ncol[data])
    start = int(model.hfield_adr[data])
    size = model.hfield_size[data]
    heights = model.hfield_data[start : start + rows * columns].reshape(rows, columns)
    surface = height_field(
        heights.astype(np.float64) * size[2], size[:2], float(size[3]), closed=False
    )
    return rigid_field(surface.vertices, surface.faces)


def _mesh(model: mujoco.MjModel, index: int, geom: GeomSurface) -> Field:
    from scipy.spatial import QhullError  # slow to import, and most need it not

    mesh = int(model.geom_dataid[index])
    start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    vertices = model.mesh_vert[start : start + count].astype(np.float64)
    compliant = geom.surface == "compliant"
    name = element(model, _GEOM, index)
    if geom.field_mesh == "surface":
        first, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
        return rigid_field(vertices, model.mesh_face[first : first + faces].astype(np.int64))
    if geom.field_mesh in (None, "hull"):
        if geom.depth is not None:
            raise ArgumentError(
                f"{name}: depth applies to tetrahedra, and a hull's depth follows from its shape; "
                "set field_mesh='tetrahedralize', or name a file of tetrahedra."
            )
        try:
            hull = convex_hull(vertices)
        except QhullError:
            raise ModelError(
                f"{name}: its mesh is flat, so its hull has no inside for a field of pressure; set "
                "surface='rigid' with field_mesh='surface', or surface='point'."
            ) from None
        return _made(convex_mesh(hull.vertices, hull.faces), compliant)
    start, count = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    faces = model.mesh_face[start : start + count].astype(np.int64)
    if geom.field_mesh == "tetrahedralize":
        surface = Surface(vertices, faces)
        cut = tetrahedralize(surface, resolution=geom.resolution, depth=geom.depth, name=name)
        return _made(cut, compliant)
    try:
        read = read_field_mesh(geom.field_mesh, depth=geom.depth)
    except AsperityError as error:
        raise type(error)(f"{name}: {error}") from None
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.mesh_quat[mesh])
    position = np.asarray(model.mesh_pos[mesh], dtype=np.float64)
    return _made(in_frame(read, position, turn.reshape(3, 3), vertices, name), compliant)
