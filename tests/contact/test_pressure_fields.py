"""Forces of pressure fields against integrals over the surface where pressures are equal."""

from __future__ import annotations

import numpy as np
import pytest
from field_patches import FLOOR, MODULUS, Geom, at, compliant, patch, rigid, slab, turned
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from asperity.contact.hydroelastic.field_layout import (
    ADAPTIVE,
    CENTRE_OF_PRESSURE,
    CENTROID,
    CUT,
    MOMENTS,
    SMOOTH,
)
from asperity.contact.hydroelastic.shapes import box_mesh, cylinder_mesh, ellipsoid_mesh

R = 0.05
BALL = compliant(ellipsoid_mesh([R] * 3, 0.0025))
CUBE = compliant(box_mesh([R] * 3))


def ball_on_plane(depth: float) -> float:
    """Force of a field E (1 − ρ/r) on a rigid plane [N]."""
    a = R - depth
    return 2.0 * np.pi * MODULUS * ((R**2 - a**2) / 2.0 - (R**3 - a**3) / (3.0 * R))


def cube_on_plane(depth: float) -> float:
    """Force of a cube's field, its distance from the surface over R, on a rigid plane [N].

    The field is the distance to the bottom or, if that is nearer, to a side: a frustum of a pyramid
    over the square.
    """
    side = 2.0 * R
    top = side - 2.0 * depth
    return MODULUS / R * depth * (side**2 + side * top + top**2) / 3.0


def test_box_on_a_plane_is_exact() -> None:
    for depth in (1e-5, 1e-3, 0.02):
        found = patch(CUBE, FLOOR, at(z=R - depth), at())
        assert found.force == pytest.approx([0.0, 0.0, -cube_on_plane(depth)], rel=1e-10, abs=1e-9)


def test_ball_on_a_plane_converges_with_the_second_order() -> None:
    exact = ball_on_plane(0.005)
    errors = []
    for resolution in (0.01, 0.005, 0.0025, 0.00125):
        ball = compliant(ellipsoid_mesh([R] * 3, resolution))
        errors.append(1.0 + patch(ball, FLOOR, at(z=R - 0.005), at()).force[2] / exact)
    assert errors[-1] < 0.005
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert np.all((ratios > 3.4) & (ratios < 4.3)), ratios


def test_two_balls_touch_in_the_middle() -> None:
    distance = 0.098
    found = patch(BALL, BALL, at(), at(z=distance))
    assert found.point[:, 2] == pytest.approx(0.5 * distance, abs=1e-12)
    rim = np.sqrt(R**2 - 0.25 * distance**2)
    exact, _ = quad(
        lambda r: 2 * np.pi * r * MODULUS * (1 - np.hypot(r, 0.5 * distance) / R), 0.0, rim
    )
    assert found.force == pytest.approx([0.0, 0.0, exact], rel=0.05, abs=1e-9)


def test_the_softer_of_two_cubes_gives_way() -> None:
    """In the middle of two faces, springs in series: pressures are equal, depths add up."""
    hard = compliant(box_mesh([R] * 3), 9.0 * MODULUS)
    depth = 1e-3
    found = patch(CUBE, hard, at(), at(z=2.0 * R - depth, x=0.01, y=0.02))
    inner = found.pressure.max()
    assert inner == pytest.approx(MODULUS / R * depth * 0.9, rel=1e-9)
    # The surface is near that of the hard one, by a tenth of the depth.
    deepest = found.point[np.argmax(found.pressure)]
    assert deepest[2] == pytest.approx(R - 0.9 * depth, abs=1e-12)


@pytest.mark.parametrize("modulus", [MODULUS, 3.0 * MODULUS])
def test_slab_and_rigid_box(modulus: float) -> None:
    """A rigid box on a compliant slab carries E/ℓ times depth times area."""
    box = rigid(box_mesh([0.03, 0.02, 0.01]))
    found = patch(slab(0.2, modulus), box, at(), at(z=0.01 - 1e-3))
    bottom = modulus / 0.2 * 1e-3 * 0.06 * 0.04
    assert found.force == pytest.approx([0.0, 0.0, bottom], rel=1e-10, abs=1e-9)
    assert found.area[found.normal[:, 2] > 0.5].sum() == pytest.approx(0.06 * 0.04, rel=1e-12)


def test_slab_and_cube_share_the_depth() -> None:
    """Two springs in series, E/ℓ each."""
    ours, theirs = MODULUS / R, MODULUS / 0.2
    depth = 2e-4
    found = patch(CUBE, slab(0.2), at(z=R - depth), at())
    flat = found.normal[:, 2] < -0.999
    pressure = ours * theirs / (ours + theirs) * depth
    assert found.pressure[flat].max() == pytest.approx(pressure, rel=1e-9)


def test_a_rigid_box_enters_a_cube() -> None:
    box = rigid(box_mesh([0.02, 0.01, 0.03]))
    depth = 2e-3
    found = patch(CUBE, box, at(), at(z=R + 0.03 - depth))
    exact = MODULUS / R * depth * 0.04 * 0.02
    assert found.force == pytest.approx([0.0, 0.0, exact], rel=1e-10, abs=1e-9)


def test_a_surface_in_a_face_of_tetrahedra_counts_once() -> None:
    """Rigid triangles in the plane of symmetry of a cube are in faces of its tetrahedra."""
    box = rigid(box_mesh([0.02, 0.02, 0.02]))
    half = 0.02
    # The mean of max(|x|, |y|) over the square is 2/3 of its half side.
    exact = MODULUS * 4.0 * half**2 * (1.0 - 2.0 * half / (3.0 * R))
    forces = []
    for shift in (-1e-9, -1e-15, 0.0, 1e-15, 1e-9):
        # Its lower face is in the plane z = 0, where the field is largest.
        found = patch(CUBE, box, at(), at(z=0.02 + shift), normal=np.array([0.0, 0.0, 1.0]))
        below = found.normal[:, 2] > 0.999
        forces.append(float(np.sum(found.forces[below, 2])))
    assert forces == pytest.approx([exact] * 5, rel=1e-6)


@pytest.mark.parametrize("rule", [ADAPTIVE, CENTRE_OF_PRESSURE, MOMENTS])
def test_a_tilted_box_has_the_moment_of_its_pressure(rule: int) -> None:
    """An edge of a box that lies deeper carries more."""
    angle, depth = 2e-3, 1e-3
    turn = Rotation.from_euler("y", angle)
    found = patch(CUBE, FLOOR, at(z=R - depth, turn=turn), at(), quadrature=rule)
    # The field on the plane z = 0, by its definition, on a fine grid
    axis = (np.arange(2000) + 0.5) * (2.2 * R / 2000) - 1.1 * R
    x, y = np.meshgrid(axis, axis, indexing="ij")
    points = np.stack([x, y, np.full_like(x, -(R - depth))], axis=-1) @ turn.as_matrix()
    extent = np.maximum(1.0 - np.abs(points).max(axis=-1) / R, 0.0)
    pressure = MODULUS * extent * (2.2 * R / 2000) ** 2
    assert found.force[2] == pytest.approx(-pressure.sum(), rel=1e-4)
    exact = float(np.sum(x * pressure))
    assert found.moment(np.zeros(3))[1] == pytest.approx(exact, rel=2e-3)
    coarse = patch(CUBE, FLOOR, at(z=R - depth, turn=turn), at(), quadrature=CENTROID)
    assert coarse.moment(np.zeros(3))[1] < 0.85 * exact


def test_spreading_points_changes_neither_force_nor_moment() -> None:
    rng = np.random.default_rng(8)
    for other in (BALL, CUBE, rigid(box_mesh([R] * 3)), FLOOR, slab(0.1)):
        for _ in range(5):
            pose = at(z=R if other.field else 0.3 * R, turn=turned(rng))
            second = at(z=-0.6 * R)
            up = np.array([0.0, 0.0, -1.0])
            one, some, every = (
                patch(CUBE, other, pose, second, quadrature=rule, normal=up)
                for rule in (CENTRE_OF_PRESSURE, ADAPTIVE, MOMENTS)
            )
            assert len(one.point) > 0
            assert len(every.point) == 3 * len(one.point)
            # Polygons of one plane and pressure are one face, and few are spread.
            assert 3 <= len(some.point) <= len(one.point) + 41
            scale = float(np.linalg.norm(one.forces, axis=1).sum())
            for spread in (some, every):
                assert spread.force == pytest.approx(one.force, abs=1e-9 * scale)
                assert spread.moment(second.position) == pytest.approx(
                    one.moment(second.position), abs=1e-9 * scale
                )


def test_a_rectangle_of_few_polygons_rocks_as_it_should() -> None:
    """About every axis through its middle, with E/ℓ times the second moment of its area."""
    for half in ([0.1, 0.08, 0.06], [0.03, 0.05, 0.01]):
        box = compliant(box_mesh(half))
        found = patch(box, FLOOR, at(z=half[2] - 1e-7), at(), quadrature=ADAPTIVE)
        for axis in range(2):
            exact = MODULUS / min(half) * 4.0 / 3.0 * half[axis] ** 3 * half[1 - axis]
            stiffness = float(np.sum(found.stiffness * found.point[:, axis] ** 2))
            assert stiffness == pytest.approx(exact, rel=0.01)


def test_moments_resist_turning_as_a_disc_does() -> None:
    """Sliding friction of a turning disc has the moment 2/3 μ N r."""
    disc = compliant(cylinder_mesh(R, 0.02, 0.005))
    for rule, tolerance in ((CENTRE_OF_PRESSURE, 0.02), (ADAPTIVE, 0.02), (MOMENTS, 0.01)):
        found = patch(disc, FLOOR, at(z=0.02 - 1e-6), at(), quadrature=rule)
        normal = -found.forces[:, 2]
        arm = np.hypot(found.point[:, 0], found.point[:, 1])
        torsion = np.sum(normal * arm) / np.sum(normal)
        assert torsion == pytest.approx(2.0 / 3.0 * R, rel=tolerance)


def test_polygons_of_one_plane_and_pressure_are_one_face() -> None:
    """A cube that stands has six points, however its mesh is cut, and friction as a square has."""
    for other in (FLOOR, CUBE, rigid(box_mesh([2 * R] * 3))):
        # Smaller than what it stands on: side faces that are flush have pressures of their own.
        half = 0.7 * R
        cube = compliant(box_mesh([half] * 3))
        below = at() if other is FLOOR else at(z=-R if other is CUBE else -2 * R)
        found = patch(cube, other, at(z=half - 1e-7), below, quadrature=ADAPTIVE)
        carried = np.linalg.norm(found.forces, axis=1)
        large = carried > 1e-3 * carried.sum()
        assert np.count_nonzero(large) == 6
        arm = np.hypot(found.point[large, 0], found.point[large, 1])
        # The mean distance from the middle of a square, over its half side
        mean = (np.sqrt(2.0) + np.log(1.0 + np.sqrt(2.0))) / 3.0
        assert np.mean(arm) == pytest.approx(mean * half, rel=0.02)


@pytest.mark.parametrize("angle", np.geomspace(1e-7, 0.3, 12))
def test_spread_faces_push_nowhere_the_other_way_and_keep_the_moment(angle: float) -> None:
    turn = Rotation.from_euler("xy", [0.7 * angle, angle])
    one, some = (
        patch(CUBE, FLOOR, at(z=R - 1e-4, turn=turn), at(), quadrature=rule)
        for rule in (CENTRE_OF_PRESSURE, ADAPTIVE)
    )
    scale = float(np.linalg.norm(one.forces, axis=1).sum())
    assert some.pressure.min() >= 0.0
    assert some.force == pytest.approx(one.force, abs=1e-9 * scale)
    assert some.moment(np.zeros(3)) == pytest.approx(one.moment(np.zeros(3)), abs=1e-9 * scale)


@pytest.mark.parametrize(
    ("geom", "other", "direction"),
    [(BALL, FLOOR, -1.0), (BALL, BALL, 1.0), (CUBE, BALL, 1.0)],
)
def test_stiffness_is_the_slope_of_the_force(geom: Geom, other: Geom, direction: float) -> None:
    height = 0.049 if other is FLOOR else 0.0
    second = at() if other is FLOOR else at(x=0.003, y=0.002, z=0.098)
    step = 1e-7
    found = patch(geom, other, at(z=height), second)
    ahead = patch(geom, other, at(z=height + direction * step), second)
    behind = patch(geom, other, at(z=height - direction * step), second)
    slope = (np.abs(ahead.force[2]) - np.abs(behind.force[2])) / (2.0 * step)
    assert found.slope(np.array([0.0, 0.0, 1.0])) == pytest.approx(slope, rel=2e-3)


def test_thin_things_fade_instead_of_jumping() -> None:
    """A thin rigid plate that turns inside a ball: its back stops counting smoothly."""
    ball = compliant(ellipsoid_mesh([R] * 3, 0.01))
    plate = rigid(box_mesh([0.03, 0.03, 0.001]))
    along = np.array([0.0, 0.0, 1.0])
    jumps = {}
    for rule in (SMOOTH, CUT):
        forces = []
        for angle in np.arange(0.0, 1.6, 1e-3):
            turn = Rotation.from_euler("xy", [angle, 0.7 * angle])
            other = at(z=0.02, turn=turn)
            forces.append(patch(ball, plate, at(), other, angle_rule=rule, normal=along).force)
        jumps[rule] = np.linalg.norm(np.diff(forces, axis=0), axis=1).max()
    assert jumps[SMOOTH] < 0.25 * jumps[CUT], jumps


def test_nothing_touches_at_a_distance() -> None:
    for other in (BALL, CUBE, FLOOR, rigid(box_mesh([R] * 3))):
        away = at(z=-2.0 * R - 1e-9) if other is not FLOOR else at(z=-R - 1e-9)
        assert len(patch(BALL, other, at(), away).point) == 0
