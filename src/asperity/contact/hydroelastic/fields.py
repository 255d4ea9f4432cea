"""Arrays of one pressure field or rigid surface, and the pool of all of a model's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from asperity.compiled import Table
from asperity.contact.hydroelastic.field_layout import (
    COMPLIANT_HALF_SPACE,
    COMPLIANT_MESH,
    FIELDS,
    LEVELS,
)
from asperity.contact.hydroelastic.field_mesh import FieldMesh, boundary_faces, gradients
from asperity.contact.hydroelastic.tree import Tree, build_tree, node_boxes

__all__ = ["Field", "compliant_field", "new_fields", "part_boxes", "rigid_field"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Triangles with less area than this share of the largest have no normal.
_NO_AREA = 1e-14
# The tree is built over the centres of what has an extent of at most this: most contacts are
# shallow, and see that layer only.
_LAYER = 0.02
_MOST_PARTS = 64
# To which gradients and normals are compared.
_DIGITS = 7


class Nodes(NamedTuple):
    """A tree's nodes, with items counted from the field's first."""

    box: Floats
    child: Ints
    first: Ints
    size: Ints


class Field(NamedTuple):
    """A field over tetrahedra, or the surface of a rigid geom, or both."""

    vertex: Floats
    extent: Floats
    gradient: Floats
    constant: Floats
    steepness: Floats
    barycentric: Floats
    cell: Ints
    nodes: Nodes
    corner: Floats
    normal: Floats
    facet: Ints
    surface_nodes: Nodes
    hull: Floats
    depth: float
    """Where the extent is 1 [m]; 0 of a rigid surface."""


_NO_NODES = Nodes(
    np.zeros((0, LEVELS, 6)),
    np.zeros((0, 2), np.int64),
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
)


def _layers(corners: Floats, extent: Floats, cut: float) -> tuple[Floats, Floats]:
    """Boxes of the parts of tetrahedra where the extent is at most ``cut``."""
    inside = extent <= cut * (1.0 + 1e-12)
    low = np.where(inside[:, :, None], corners, np.inf).min(axis=1)
    high = np.where(inside[:, :, None], corners, -np.inf).max(axis=1)
    for i in range(4):
        for j in range(4):
            crossed = inside[:, i] & ~inside[:, j]
            rise = extent[crossed, j] - extent[crossed, i]
            share = ((cut - extent[crossed, i]) / rise)[:, None]
            point = corners[crossed, i] + share * (corners[crossed, j] - corners[crossed, i])
            low[crossed] = np.minimum(low[crossed], point)
            high[crossed] = np.maximum(high[crossed], point)
    return low, high


def _convex_corners(vertices: Floats) -> Floats:
    """Vertices of the convex hull, or all of them if they lie in a plane."""
    if len(vertices) <= 4:
        return np.ascontiguousarray(vertices)
    from scipy.spatial import ConvexHull, QhullError  # slow to import, and most need it not

    try:
        return np.ascontiguousarray(vertices[np.sort(ConvexHull(vertices).vertices)])
    except QhullError:
        return np.ascontiguousarray(vertices)


def _alike(rows: Floats) -> Ints:
    """Number groups of equal rows, of the size of 1; −1 for rows that are alone."""
    # What rounds to different numbers nevertheless counts as two, which costs time only.
    rounded = np.round(rows, _DIGITS) + 0.0  # no −0
    _, number, count = np.unique(rounded, axis=0, return_inverse=True, return_counts=True)
    number = number.reshape(-1)
    return np.where(count[number] > 1, number, -1).astype(np.int64)


def compliant_field(mesh: FieldMesh) -> Field:
    """Make a field of a mesh, with the triangles of its surface."""
    corners = mesh.vertices[mesh.tetrahedra]
    extent = mesh.extent[mesh.tetrahedra]
    # Rows (x, 1) times the columns (L_i, b_i) of their inverse are barycentric coordinates.
    rows = np.concatenate([corners, np.ones((len(corners), 4, 1))], axis=2)
    barycentric = np.linalg.inv(rows).transpose(0, 2, 1)
    gradient = gradients(mesh)
    constant = np.mean(extent - np.einsum("tij,tj->ti", corners, gradient), axis=1)
    low, high = _layers(corners, extent, _LAYER)
    # Every tetrahedron of a field has a corner on its surface or none: the latter are deep.
    deep = low[:, 0] > high[:, 0]
    centres = np.where(deep[:, None], corners.mean(axis=1), 0.5 * (low + high))
    centres[~np.isfinite(centres)] = 0.0
    tree = build_tree(centres)
    box = np.zeros((len(tree.first), LEVELS, 6))
    for level in range(LEVELS):
        box[:, level] = node_boxes(tree, *_layers(corners, extent, 4.0**-level))
    order = tree.order
    steepness = np.linalg.norm(gradient, axis=1)
    linear = np.column_stack([gradient / np.max(steepness), constant])
    used = np.unique(mesh.tetrahedra)
    surface = rigid_field(mesh.vertices, boundary_faces(mesh.tetrahedra))
    return Field(
        vertex=np.ascontiguousarray(corners[order]),
        extent=np.ascontiguousarray(extent[order]),
        gradient=np.ascontiguousarray(gradient[order]),
        constant=constant[order],
        steepness=steepness[order],
        barycentric=np.ascontiguousarray(barycentric[order]),
        cell=_alike(linear)[order],
        nodes=_nodes(tree, box),
        corner=surface.corner,
        normal=surface.normal,
        facet=surface.facet,
        surface_nodes=surface.surface_nodes,
        hull=_convex_corners(mesh.vertices[used]),
        depth=float(mesh.depth),
    )


def _nodes(tree: Tree, box: Floats) -> Nodes:
    return Nodes(
        np.ascontiguousarray(box),
        tree.child,
        tree.first.astype(np.int64),
        tree.size.astype(np.int64),
    )


def rigid_field(vertices: Floats, faces: Ints) -> Field:
    """Make the surface of a rigid geom; its triangles are anticlockwise seen from outside."""
    corners = np.asarray(vertices, dtype=np.float64)[faces]
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(doubled, axis=1)
    kept = area > _NO_AREA * np.max(area, initial=0.0)
    corners, normal = corners[kept], doubled[kept] / area[kept, None]
    low, high = corners.min(axis=1), corners.max(axis=1)
    offset = np.sum(normal * corners[:, 0], axis=1)
    plane = np.column_stack([normal, offset / max(float(np.abs(corners).max()), 1e-300)])
    tree = build_tree(0.5 * (low + high))
    # Levels of pressure mean nothing here: only the first is used.
    box = np.repeat(node_boxes(tree, low, high)[:, None], LEVELS, axis=1)
    return Field(
        vertex=np.zeros((0, 4, 3)),
        extent=np.zeros((0, 4)),
        gradient=np.zeros((0, 3)),
        constant=np.zeros(0),
        steepness=np.zeros(0),
        barycentric=np.zeros((0, 4, 4)),
        cell=np.zeros(0, np.int64),
        nodes=_NO_NODES,
        corner=np.ascontiguousarray(corners[tree.order]),
        normal=np.ascontiguousarray(normal[tree.order]),
        facet=_alike(plane)[tree.order],
        surface_nodes=_nodes(tree, box),
        hull=_convex_corners(np.asarray(vertices, dtype=np.float64)[np.unique(faces)]),
        depth=0.0,
    )


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.ascontiguousarray(np.concatenate(arrays))


def new_fields(
    fields: Sequence[Field],
    kind: Ints,
    field: Ints,
    modulus: Floats,
    depth: Floats,
    ball: Floats,
    sides: Floats,
    round_: Ints,
    convex: Ints,
    point_pairs: Ints,
    quadrature: int,
    angle_rule: int,
) -> Table:
    """Pool the fields of a model.

    Parameters
    ----------
    fields : sequence of Field
    kind, field : arrays of int64, shape (ngeom,)
        What every geom is, and the number of its field, −1 without one.
    modulus, depth : arrays, shape (ngeom,)
        Hydroelastic modulus [Pa], and the distance from the surface where it is reached [m].
    ball : array, shape (ngeom,)
        Radius of balls [m], 0 of all else.
    sides : array, shape (ngeom, 3)
        Half lengths of boxes; radius, 0 and half length of cylinders; zeros of all else [m].
    round_ : array of int64, shape (ngeom,)
        Whether the field turns into itself about the geom's z axis.
    convex : array of int64, shape (ngeom,)
        Whether the field or surface fills the convex shape that MuJoCo collides.
    point_pairs : array of int64
        Sorted keys min · ngeom + max of pairs of geoms that touch in points.
    quadrature, angle_rule : int
        As in `asperity.contact.hydroelastic.field_layout`.
    """
    # A triangle that no geom has comes first, so that no array is ever empty.
    every = [rigid_field(np.eye(3), np.array([[0, 1, 2]])), *fields]
    tetrahedra = np.cumsum([0, *(len(f.vertex) for f in every)])
    triangles = np.cumsum([0, *(len(f.corner) for f in every)])
    hulls = np.cumsum([0, *(len(f.hull) for f in every)])
    nodes: list[Nodes] = []
    roots = np.full((len(every), 2), -1, np.int64)
    total = 0
    for i, one in enumerate(every):
        for column, (tree, item) in enumerate(
            ((one.nodes, tetrahedra[i]), (one.surface_nodes, triangles[i]))
        ):
            if len(tree.first):
                roots[i, column] = total
                child = np.where(tree.child >= 0, tree.child + total, -1)
                nodes.append(tree._replace(child=child, first=tree.first + item))
                total += len(tree.first)
    steepest = [float(np.max(f.steepness, initial=0.0)) for f in every]
    return Table(
        FIELDS,
        vertex=_joined([f.vertex for f in every]),
        extent=_joined([f.extent for f in every]),
        gradient=_joined([f.gradient for f in every]),
        constant=_joined([f.constant for f in every]),
        steepness=_joined([f.steepness for f in every]),
        barycentric=_joined([f.barycentric for f in every]),
        cell=_joined([f.cell for f in every]),
        corner=_joined([f.corner for f in every]),
        normal=_joined([f.normal for f in every]),
        facet=_joined([f.facet for f in every]),
        box=_joined([n.box for n in nodes]),
        child=_joined([n.child for n in nodes]),
        first=_joined([n.first for n in nodes]),
        count=_joined([n.size for n in nodes]),
        root=np.ascontiguousarray(roots[1:, 0]),
        surface_root=np.ascontiguousarray(roots[1:, 1]),
        tetrahedron_count=np.diff(tetrahedra)[1:].astype(np.int64),
        triangle_count=np.diff(triangles)[1:].astype(np.int64),
        hull_first=hulls[1:-1].astype(np.int64),
        hull_count=np.diff(hulls)[1:].astype(np.int64),
        steepest=np.array(steepest[1:]),
        hull=_joined([f.hull for f in every]),
        geom_kind=kind,
        geom_field=field,
        geom_modulus=modulus,
        geom_depth=depth,
        geom_ball=ball,
        geom_round=round_,
        geom_sides=np.ascontiguousarray(sides),
        geom_side_depth=np.where(sides > 0.0, sides, np.inf).min(axis=1),
        geom_convex=convex,
        point_pairs=point_pairs,
        quadrature=quadrature,
        angle_rule=angle_rule,
        any=int(np.any((kind == COMPLIANT_MESH) | (kind == COMPLIANT_HALF_SPACE))),
    )


def part_boxes(fields: Table, field: int) -> Floats:
    """Boxes of parts of a field or surface, as few as a tree's upper nodes make of it.

    Returns
    -------
    array, shape (n, 6)
        Centres and half sides [m]; n is at most 64.
    """
    root = int(fields.root[field]) if fields.root[field] >= 0 else int(fields.surface_root[field])
    nodes = [root]
    while 2 * len(nodes) <= _MOST_PARTS:
        below = [int(child) for node in nodes for child in fields.child[node] if child >= 0]
        leaves = [node for node in nodes if fields.child[node, 0] < 0]
        if not below:
            break
        nodes = leaves + below
    return np.array(fields.box[nodes, 0])
