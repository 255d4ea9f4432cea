"""Patches of two geoms, without a model around them, for tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from asperity.compiled import Table
from asperity.contact.hydroelastic.field_layout import (
    CENTRE_OF_PRESSURE,
    COMPLIANT_HALF_SPACE,
    COMPLIANT_MESH,
    FIELD_WORK,
    RIGID_HALF_SPACE,
    RIGID_MESH,
    SMOOTH,
)
from asperity.contact.hydroelastic.field_mesh import FieldMesh, boundary_faces
from asperity.contact.hydroelastic.fields import Field, compliant_field, new_fields, rigid_field
from asperity.contact.hydroelastic.patch import find_points

WORK = Table(FIELD_WORK, points=20000)
MODULUS = 1e7


class Geom(NamedTuple):
    """A geom: its kind, and what it is made of."""

    kind: int
    field: Field | None = None
    modulus: float = MODULUS
    depth: float = 1.0
    ball: float = 0.0
    sides: tuple[float, float, float] = (0.0, 0.0, 0.0)


class Pose(NamedTuple):
    """Where a geom is."""

    position: np.ndarray
    rotation: np.ndarray


class Patch(NamedTuple):
    """Points of a patch in world axes; normals point from the first geom to the second."""

    point: np.ndarray
    normal: np.ndarray
    stiffness: np.ndarray
    signed_distance: np.ndarray
    area: np.ndarray
    pressure: np.ndarray

    @property
    def forces(self) -> np.ndarray:
        """Forces of all points on the second geom [N]."""
        return (-self.stiffness * self.signed_distance)[:, None] * self.normal

    @property
    def force(self) -> np.ndarray:
        """Force on the second geom [N]."""
        return self.forces.sum(axis=0)

    def moment(self, about: np.ndarray) -> np.ndarray:
        """Moment on the second geom about a point [N m]."""
        return np.cross(self.point - about, self.forces).sum(axis=0)

    def slope(self, direction: np.ndarray) -> float:
        """Change of the force along a direction as the second geom moves against it [N/m]."""
        return float(np.sum(self.stiffness * (self.normal @ direction) ** 2))


def compliant(mesh: FieldMesh, modulus: float = MODULUS) -> Geom:
    """A geom with a field."""
    return Geom(COMPLIANT_MESH, compliant_field(mesh), modulus)


def rigid(mesh: FieldMesh) -> Geom:
    """A geom with the surface of a mesh."""
    return Geom(RIGID_MESH, rigid_field(mesh.vertices, boundary_faces(mesh.tetrahedra)))


FLOOR = Geom(RIGID_HALF_SPACE)


def slab(depth: float, modulus: float = MODULUS) -> Geom:
    """A compliant half-space."""
    return Geom(COMPLIANT_HALF_SPACE, None, modulus, depth)


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0, turn: Rotation | None = None) -> Pose:
    """A pose."""
    return Pose(np.array([x, y, z]), np.eye(3) if turn is None else turn.as_matrix())


def turned(rng: np.random.Generator) -> Rotation:
    """A random rotation."""
    return Rotation.random(random_state=int(rng.integers(1 << 30)))


def extreme(mesh: FieldMesh, pose: Pose, direction: np.ndarray) -> np.ndarray:
    """The vertex of a mesh that is farthest along a direction, in the world."""
    vertices = mesh.vertices @ pose.rotation.T + pose.position
    return np.asarray(vertices[np.argmax(vertices @ direction)])


def moved(pose: Pose, by: Pose) -> Pose:
    """A pose after a rigid motion of the world."""
    return Pose(by.rotation @ pose.position + by.position, by.rotation @ pose.rotation)


def patch(
    a: Geom,
    b: Geom,
    pose_a: Pose,
    pose_b: Pose,
    *,
    normal: np.ndarray | None = None,
    quadrature: int = CENTRE_OF_PRESSURE,
    angle_rule: int = SMOOTH,
) -> Patch:
    """Points of two geoms; ``normal`` is a hint along which they overlap least."""
    fields: list[Field] = []
    number = []
    for geom in (a, b):
        number.append(-1 if geom.field is None else len(fields))
        if geom.field is not None:
            fields.append(geom.field)
    table = new_fields(
        fields,
        np.array([a.kind, b.kind]),
        np.array(number),
        np.array([a.modulus, b.modulus]),
        np.array([a.depth, b.depth]),
        np.array([a.ball, b.ball]),
        np.array([a.sides, b.sides]),
        np.array([a.ball > 0.0, b.ball > 0.0]).astype(np.int64),
        np.ones(2, np.int64),
        np.zeros(0, np.int64),
        quadrature,
        angle_rule,
    )
    if normal is None:
        normal = pose_b.position - pose_a.position
        if a.field is None:
            normal = pose_a.rotation[:, 2]
        elif b.field is None:
            normal = -pose_b.rotation[:, 2]
        normal = normal / max(float(np.linalg.norm(normal)), 1e-300)
    x, y, z = (float(value) for value in normal)
    status, base = find_points(
        table,
        WORK,
        0,
        1,
        np.array([pose_a.position, pose_b.position]),
        np.array([pose_a.rotation.ravel(), pose_b.rotation.ravel()]),
        (x, y, z),
    )
    assert status == 0
    rows = WORK.point[: WORK.point_count].copy()
    position, rotation = pose_a if base == 0 else pose_b
    sign = 1.0 if base == 0 else -1.0
    return Patch(
        rows[:, :3] @ rotation.T + position,
        sign * rows[:, 3:6] @ rotation.T,
        rows[:, 6],
        rows[:, 7],
        rows[:, 8],
        rows[:, 9],
    )
