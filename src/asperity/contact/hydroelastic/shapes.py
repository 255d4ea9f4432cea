"""Field meshes of primitive shapes and of convex hulls.

All are inscribed: their vertices lie on or in the shape, so that what touches the mesh touches the
shape. On the medial axis, the points with more than one nearest point of the surface, the extent
is 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from asperity.contact.hydroelastic.cells import (
    fan,
    field_mesh,
    prisms,
    quadrilaterals,
    triangles,
    without_slivers,
)
from asperity.contact.hydroelastic.field_mesh import FieldMesh
from asperity.errors import ArgumentError, ModelError
from asperity.geometry.surfaces import Surface, volume_integrals

__all__ = [
    "box_mesh",
    "capsule_mesh",
    "convex_mesh",
    "cylinder_mesh",
    "default_resolution",
    "ellipsoid_mesh",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Medial segments and faces shorter than this share of the depth are points and segments instead:
# tetrahedra on them would have next to no volume.
_SHORT = 1e-6

# Triangles of hulls that are thinner than this share of the size have normals of chance: MuJoCo
# keeps the vertices of meshes in single precision.
_SLIVER = 1e-6

# A resolution that would make more is a slip of the decimal point.
_MOST_TETRAHEDRA = 1_000_000


def default_resolution(radius: float) -> float:
    """Length of edges [m] on a round geom when none is given.

    At an eighth of the radius a ball on a plane carries 0.81 of the field's force at a depth of a
    fiftieth of its radius, and 0.96 at a tenth. Edges are 20 mm at most, as in the published
    scenes, unless that is less than a fiftieth of the radius.

    Parameters
    ----------
    radius : float
        Of the sphere, the cylinder or the capsule, or the longest semi-axis of the ellipsoid [m].
    """
    return min(max(0.02, radius / 50.0), radius / 8.0)


def ellipsoid_mesh(semi_axes: Floats | Sequence[float], resolution: float) -> FieldMesh:
    """Ellipsoid about the origin: the image of a sphere whose extent is linear in the radius.

    Parameters
    ----------
    semi_axes : array_like, shape (3,)
        [m].
    resolution : float
        Length of edges on a sphere with the longest semi-axis as its radius [m]. The edges of an
        octahedron are halved until they are shorter.
    """
    axes = _positive("semi-axes", semi_axes, 3)
    _positive("resolution", [resolution], 1)
    longest = axes.max()
    half_angle = np.arcsin(min(1.0, resolution / (2.0 * longest)))
    level = max(0, int(np.ceil(np.log2(np.pi / half_angle))) - 2)
    _affordable(8 * 4**level, resolution, "an ellipsoid", longest)
    vertices, faces = _sphere(level)
    return fan(vertices * axes, faces, np.zeros(3), float(axes.min()))


def box_mesh(half_lengths: Floats | Sequence[float]) -> FieldMesh:
    """Box about the origin, by its medial axis: a point, a segment or a rectangle.

    The part of the box that is nearest to a face is a fan from the face's centre, with one gradient
    in it, so that a finer mesh would carry the same field.

    Parameters
    ----------
    half_lengths : array_like, shape (3,)
        [m].
    """
    half = _positive("half lengths", half_lengths, 3)
    depth = float(half.min())
    inner = half - depth
    inner[inner < _SHORT * depth] = 0.0
    signs = 2.0 * np.array(list(np.ndindex(2, 2, 2))) - 1.0
    medial, label = np.unique(signs * inner + 0.0, axis=0, return_inverse=True)
    first = 8
    centre_of = 8 + len(medial)
    vertices = np.concatenate([signs * half, medial, np.zeros((6, 3))])
    corner = np.arange(8).reshape(2, 2, 2)
    inside = first + label.reshape(2, 2, 2)
    tetrahedra = []
    for axis in range(3):
        for side in range(2):
            centre = centre_of + 2 * axis + side
            vertices[centre, axis] = (2 * side - 1) * half[axis]
            outer, inner_ring = (
                [int(np.moveaxis(k, axis, 0)[side][ij]) for ij in ((0, 0), (1, 0), (1, 1), (0, 1))]
                for k in (corner, inside)
            )
            quads = [inner_ring]
            for k in range(4):
                n = (k + 1) % 4
                quads.append([outer[k], outer[n], inner_ring[n], inner_ring[k]])
            tetrahedra += [[*face, centre] for quad in quads for face in triangles(quad)]
    extent = np.zeros(len(vertices))
    extent[first:centre_of] = 1.0
    return field_mesh(vertices, np.array(tetrahedra), extent, depth)


def cylinder_mesh(radius: float, half_length: float, resolution: float) -> FieldMesh:
    """Cylinder along z about the origin, by its medial axis: a segment, a point or a disc.

    Parameters
    ----------
    radius, half_length, resolution : float
        [m]; the resolution is the length of the edges around the cylinder at most.
    """
    _positive("radius, half length and resolution", [radius, half_length, resolution], 3)
    n = max(3, int(np.ceil(2.0 * np.pi * radius / resolution)))
    _affordable(9 * n, resolution, "a cylinder", radius)
    ring = _ring(n)
    here = np.arange(n)
    there = (here + 1) % n
    bottom, top = np.zeros(n, np.int64), np.ones(n, np.int64)
    low, high = 2 + here, 2 + n + here
    low_next, high_next = 2 + there, 2 + n + there
    surface = np.zeros((2 + 2 * n, 3))
    surface[0, 2], surface[1, 2] = -half_length, half_length
    surface[2:, :2] = np.tile(radius * ring, (2, 1))
    surface[2 : 2 + n, 2], surface[2 + n :, 2] = -half_length, half_length
    first = np.full(n, len(surface))
    depth = min(radius, half_length)
    excess = half_length - radius
    if excess > _SHORT * depth:
        medial = np.array([[0.0, 0.0, -excess], [0.0, 0.0, excess]])
        parts = [
            np.column_stack([bottom, low, low_next, first]),
            np.column_stack([top, high, high_next, first + 1]),
            prisms(first, low, low_next, first + 1, high, high_next),
        ]
    elif excess < -_SHORT * depth:
        medial = np.zeros((1 + n, 3))
        medial[1:, :2] = -excess * ring
        rim, rim_next = first + 1 + here, first + 1 + there
        parts = [
            prisms(bottom, low, low_next, first, rim, rim_next),
            prisms(top, high, high_next, first, rim, rim_next),
            prisms(low, high, rim, low_next, high_next, rim_next),
        ]
    else:
        medial = np.zeros((1, 3))
        sides = quadrilaterals(np.column_stack([low, low_next, high_next, high]))
        parts = [
            np.column_stack([bottom, low, low_next, first]),
            np.column_stack([top, high, high_next, first]),
            np.column_stack([sides, np.full(len(sides), first[0])]),
        ]
    extent = np.r_[np.zeros(len(surface)), np.ones(len(medial))]
    return field_mesh(np.concatenate([surface, medial]), np.concatenate(parts), extent, depth)


def capsule_mesh(radius: float, half_length: float, resolution: float) -> FieldMesh:
    """Capsule along z about the origin: a cylinder with hemispheres around its medial segment.

    Parameters
    ----------
    radius, half_length, resolution : float
        [m]; the half length is that of the cylinder, the resolution the length of the edges around
        it.
    """
    _positive("radius, half length and resolution", [radius, half_length, resolution], 3)
    n = max(3, int(2.0 * np.pi * radius / resolution))
    rings = max(1, n // 2)
    _affordable(4 * n * rings, resolution, "a capsule", radius)
    ring = _ring(n)
    latitude = 0.5 * np.pi * np.arange(rings) / rings
    cap = np.empty((rings, n, 3))
    cap[:, :, :2] = radius * np.cos(latitude)[:, None, None] * ring
    cap[:, :, 2] = half_length + radius * np.sin(latitude)[:, None]
    mirror = np.array([1.0, 1.0, -1.0])
    pole = np.array([0.0, 0.0, half_length + radius])
    end = np.array([0.0, 0.0, half_length])
    vertices = np.concatenate(
        [[end, end * mirror, pole, pole * mirror], cap.reshape(-1, 3), cap.reshape(-1, 3) * mirror]
    )
    here = np.arange(n)
    there = (here + 1) % n
    upper = 4 + np.arange(rings * n).reshape(rings, n)
    parts = []
    for number, grid in enumerate((upper, upper + rings * n)):
        strips = np.stack(
            [grid[:-1, here], grid[:-1, there], grid[1:, there], grid[1:, here]], axis=-1
        )
        faces = [
            quadrilaterals(strips.reshape(-1, 4)),
            np.column_stack([np.full(n, 2 + number), grid[-1, here], grid[-1, there]]),
        ]
        caps = np.concatenate(faces)
        parts.append(np.column_stack([caps, np.full(len(caps), number)]))
    high, low = upper[0], upper[0] + rings * n
    zero = np.zeros(n, np.int64)
    parts.append(prisms(zero + 1, low, low[there], zero, high, high[there]))
    extent = np.zeros(len(vertices))
    extent[:2] = 1.0
    return field_mesh(vertices, np.concatenate(parts), extent, radius)


def convex_mesh(vertices: Floats, faces: Ints) -> FieldMesh:
    """Convex polyhedron: a fan from its centroid, where the extent is 1.

    Parameters
    ----------
    vertices : ndarray, shape (n, 3)
        [m]; those that no face uses are left out.
    faces : ndarray, shape (m, 3)
        Vertex numbers of triangles around the whole polyhedron, in any orientation.

    Returns
    -------
    FieldMesh
        Its depth is the distance from the centroid to the nearest face.

    Raises
    ------
    ModelError
        If the polyhedron has no volume.
    """
    corners = np.asarray(vertices, dtype=np.float64)[np.asarray(faces)]
    points, label = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    around = label.reshape(-1, 3).astype(np.int64)
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    around = without_slivers(points, around, _SLIVER * size)
    middle = points.mean(axis=0)
    a, b, c = (points[around[:, k]] - middle for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(a, b), c) < 0.0
    around[inward] = around[inward][:, ::-1]
    volume, first, _ = volume_integrals(Surface(points - middle, around))
    if not volume > 1e-12 * size**3:
        raise ModelError(
            f"a hull of size {size:g} m has the volume {volume:.3g} m³: it is flat, and cannot "
            f'carry a pressure field; take surface="rigid".'
        )
    centroid = middle + first / volume
    a, b, c = (points[around[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    distance = np.einsum("ij,ij->i", a - centroid, normal) / np.linalg.norm(normal, axis=1)
    return fan(points, around, centroid, float(distance.min()))


def _sphere(level: int) -> tuple[Floats, Ints]:
    """Octahedron whose faces are cut in four so many times, its vertices on the unit sphere."""
    vertices = np.concatenate([np.eye(3), -np.eye(3)])
    faces = np.array(
        [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
    )
    for _ in range(level):
        count = len(vertices)
        sides = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
        edge, label = np.unique(sides[:, 0] * count + sides[:, 1], return_inverse=True)
        middle = vertices[edge // count] + vertices[edge % count]
        middle /= np.linalg.norm(middle, axis=1)[:, None]
        vertices = np.concatenate([vertices, middle])
        a, b, c = faces.T
        ab, bc, ca = (count + label.reshape(-1, 3)).T
        faces = np.concatenate(
            [np.column_stack(k) for k in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
    return vertices, faces


def _ring(n: int) -> Floats:
    angle = 2.0 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _affordable(tetrahedra: int, resolution: float, shape: str, radius: float) -> None:
    if tetrahedra > _MOST_TETRAHEDRA:
        raise ArgumentError(
            f"a resolution of {resolution:g} m would cut {shape} of radius {radius:g} m into "
            f"{tetrahedra} tetrahedra, more than {_MOST_TETRAHEDRA}; take a coarser one."
        )


def _positive(name: str, values: Floats | Sequence[float], count: int) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (count,) or not (np.isfinite(array).all() and array.min() > 0.0):
        raise ArgumentError(
            f"the {name} of a field mesh must be {count} positive lengths, got {values!r}."
        )
    return array.copy()
