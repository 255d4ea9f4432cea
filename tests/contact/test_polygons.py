"""Polygons against rational arithmetic: where two linear pressures in two tetrahedra are equal.

The reference knows nothing of clipping: corners are the points where the plane of equal pressures
meets two of the eight faces, if they are inside of all others.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from field_patches import at, compliant, patch
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from asperity.contact.hydroelastic.field_layout import CENTROID, CUT
from asperity.contact.hydroelastic.field_mesh import FieldMesh
from asperity.contact.hydroelastic.polygons import area_and_centroid, section

Row = tuple[Fraction, Fraction, Fraction, Fraction]  # a linear function: gradient and constant
Point = tuple[Fraction, Fraction, Fraction]

COORDINATE = st.integers(-6, 6)
VERTEX = st.tuples(COORDINATE, COORDINATE, COORDINATE)
# One corner on the surface, as in the meshes of geoms, and pressures of eighths.
EXTENTS = st.tuples(st.just(0), *[st.integers(1, 8)] * 3)


def solve(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """Gauss's elimination, exact."""
    n = len(rows)
    system = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if system[i][k] != 0), None)
        if pivot is None:
            return None
        system[k], system[pivot] = system[pivot], system[k]
        system[k] = [value / system[k][k] for value in system[k]]
        for i in range(n):
            if i != k and system[i][k] != 0:
                share = system[i][k]
                system[i] = [a - share * b for a, b in zip(system[i], system[k], strict=True)]
    return [row[n] for row in system]


def linear(vertices: np.ndarray, values: list[Fraction]) -> Row | None:
    """The linear function with these values at four points."""
    rows = [[*(Fraction(int(x)) for x in vertex), Fraction(1)] for vertex in vertices]
    found = solve(rows, values)
    return None if found is None else (found[0], found[1], found[2], found[3])


def value(row: Row, point: Point) -> Fraction:
    return row[0] * point[0] + row[1] * point[1] + row[2] * point[2] + row[3]


def exact_polygon(plane: Row, faces: list[Row]) -> list[Point]:
    """Corners of what a plane has in common with half-spaces, unordered."""
    corners: list[Point] = []
    for one, other in combinations(faces, 2):
        rows = [list(plane[:3]), list(one[:3]), list(other[:3])]
        found = solve(rows, [-plane[3], -one[3], -other[3]])
        if found is not None:
            point = (found[0], found[1], found[2])
            if point not in corners and all(value(face, point) >= 0 for face in faces):
                corners.append(point)
    return corners


def area_vector_and_centroid(corners: list[Point], normal: np.ndarray) -> tuple[float, np.ndarray]:
    """Area and centroid: rational sums over corners, in the order of their angles."""
    middle = [sum(c[k] for c in corners) / len(corners) for k in range(3)]
    arms = np.array([[float(c[k] - middle[k]) for k in range(3)] for c in corners])
    first = arms[0] / np.linalg.norm(arms[0])
    second = np.cross(normal, first)
    order = np.argsort(np.arctan2(arms @ second, arms @ first))
    # The component along one axis is in proportion to the area.
    axis = int(np.argmax(np.abs(normal)))
    i, j = [k for k in range(3) if k != axis]
    total = Fraction(0)
    moment = [Fraction(0)] * 3
    for k in range(len(order)):
        a, b = corners[order[k]], corners[order[(k + 1) % len(order)]]
        twice = (a[i] - middle[i]) * (b[j] - middle[j]) - (a[j] - middle[j]) * (b[i] - middle[i])
        total += twice
        for m in range(3):
            moment[m] += twice * (a[m] + b[m] + middle[m]) / 3
    centroid = np.array([float(m / total) for m in moment])
    return abs(float(total)) / 2.0 / abs(normal[axis]), centroid


def mesh(vertices: np.ndarray, extents: list[Fraction], aside: float) -> FieldMesh:
    """A tetrahedron, and far away another one of a steep field.

    The search leaves out what a field's steepness and the overlap say cannot be reached from the
    surface, where fields vanish; the first one's does not vanish there.
    """
    far = 1e-3 * np.vstack([np.zeros(3), np.eye(3)]) + [aside, 0.0, 0.0]
    return FieldMesh(
        np.vstack([vertices, far]),
        np.array([[0, 1, 2, 3], [4, 5, 6, 7]]),
        np.array([*(float(e) for e in extents), 0.0, 1.0, 1.0, 1.0]),
        depth=1e-3,
    )


@settings(deadline=None, max_examples=300)
@given(
    st.tuples(*[VERTEX] * 4),
    st.tuples(*[VERTEX] * 4),
    EXTENTS,
    EXTENTS,
    st.sampled_from([1, 3, 100]),
)
def test_the_polygon_of_two_tetrahedra_is_exact(
    first: tuple, second: tuple, extents_a: tuple, extents_b: tuple, ratio: int
) -> None:
    sides = []
    for corners, extents in ((first, extents_a), (second, extents_b)):
        vertices = np.array(corners)
        orientation = round(np.linalg.det((vertices[1:] - vertices[0]).astype(float)))
        assume(abs(orientation) >= 6)
        if orientation < 0:
            vertices = vertices[[0, 2, 1, 3]]
        sides.append((vertices, [Fraction(e, 8) for e in extents]))
    (va, ea), (vb, eb) = sides
    pressure_a = linear(va, ea)
    pressure_b = linear(vb, [ratio * e for e in eb])
    faces = [
        linear(v, [Fraction(int(i == k)) for i in range(4)]) for v in (va, vb) for k in range(4)
    ]
    assert pressure_a is not None
    assert pressure_b is not None
    plane = tuple(b - a for a, b in zip(pressure_a, pressure_b, strict=True))
    # A polygon that is a face belongs to one of the two tetrahedra that share it, in a whole mesh.
    for v in (va, vb):
        on_plane = [value(plane, tuple(Fraction(int(x)) for x in vertex)) == 0 for vertex in v]  # type: ignore[arg-type]
        assume(sum(on_plane) < 3)
    slope = np.array([float(x) for x in plane[:3]])
    assume(np.any(slope))
    normal = slope / np.linalg.norm(slope)
    # Which polygons count is another matter: those that both fields push apart do.
    ga, gb = (np.array([float(x) for x in p[:3]]) for p in (pressure_a, pressure_b))
    assume(-ga @ normal > 0.01 * np.linalg.norm(ga))
    assume(gb @ normal > 0.01 * np.linalg.norm(gb))
    corners = exact_polygon(plane, [face for face in faces if face is not None])  # type: ignore[arg-type]
    found = patch(
        compliant(mesh(va, ea, 50.0), 1e6),
        compliant(mesh(vb, eb, -50.0), ratio * 1e6),
        at(),
        at(),
        normal=normal,
        quadrature=CENTROID,
        angle_rule=CUT,
    )
    area, centroid = 0.0, np.zeros(3)
    if len(corners) > 2:
        area, centroid = area_vector_and_centroid(corners, normal)
    if len(found.area) == 0:
        # Rounding may lose what is as thin as rounding.
        assert area <= 1e-9
        return
    event("a polygon")
    assert len(found.area) == 1
    assert found.area[0] == pytest.approx(area, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(found.normal[0], normal, atol=1e-12)
    if area > 1e-6:
        np.testing.assert_allclose(found.point[0], centroid, atol=1e-8)
        exact = float(value(pressure_a, tuple(Fraction(x) for x in centroid)))  # type: ignore[arg-type]
        assert found.pressure[0] == pytest.approx(1e6 * exact, rel=1e-8, abs=1e-2)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**30))
def test_sections_of_the_parts_add_up(seed: int) -> None:
    """A tetrahedron cut into four at a point inside, by a plane, and so has the first moment."""
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(4, 3))
    inside = rng.dirichlet(np.ones(4)) @ vertices
    parts = np.array(
        [vertices] + [np.vstack([np.delete(vertices, k, 0), inside]) for k in range(4)]
    )
    normal = rng.normal(size=3)
    offset = normal @ (rng.dirichlet(np.ones(4)) @ vertices)
    polygon, centroid = np.zeros((12, 3)), np.zeros(3)
    areas, moments = [], []
    for t in range(5):
        centroid[:] = 0.0
        count = section(parts, t, parts[t] @ normal - offset, polygon)
        areas.append(area_and_centroid(polygon, count, centroid) if count else 0.0)
        moments.append(areas[-1] * centroid)
    assert areas[0] > 0.0
    assert sum(areas[1:]) == pytest.approx(areas[0], rel=1e-10)
    np.testing.assert_allclose(sum(moments[1:]), moments[0], atol=1e-10 * (1.0 + areas[0]))
