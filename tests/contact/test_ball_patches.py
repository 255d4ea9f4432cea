"""Patches of balls without a mesh, against integrals and against fine meshes."""

from __future__ import annotations

import numpy as np
import pytest
from field_patches import FLOOR, MODULUS, Geom, at, compliant, patch, rigid, slab, turned
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from asperity.contact.hydroelastic.field_layout import MOMENTS
from asperity.contact.hydroelastic.shapes import box_mesh, cylinder_mesh, ellipsoid_mesh

R = 0.05


def ball(radius: float = R, modulus: float = MODULUS, *, hard: bool = False) -> Geom:
    mesh = ellipsoid_mesh([radius] * 3, radius / 2.0)
    geom = rigid(mesh) if hard else compliant(mesh, modulus)
    return geom._replace(ball=radius)


def meshed(geom: Geom, *, hard: bool = False) -> Geom:
    mesh = ellipsoid_mesh([geom.ball] * 3, geom.ball / 20.0)
    return rigid(mesh) if hard else compliant(mesh, geom.modulus)


@pytest.mark.parametrize(("depth", "error"), [(0.001, 1e-6), (0.005, 2e-5), (0.02, 2e-3)])
def test_ball_on_a_plane(depth: float, error: float) -> None:
    a = R - depth
    exact = 2.0 * np.pi * MODULUS * ((R**2 - a**2) / 2.0 - (R**3 - a**3) / (3.0 * R))
    found = patch(ball(), FLOOR, at(z=a), at())
    assert len(found.point) == 12
    assert found.force == pytest.approx([0.0, 0.0, -exact], rel=error, abs=1e-9 * exact)
    assert found.area.sum() == pytest.approx(np.pi * (R**2 - a**2), rel=1e-12)
    # Its slope over the depth is the derivative of the force.
    slope = (
        2.0
        * np.pi
        * MODULUS
        / R
        * quad(lambda r: r * a / np.hypot(r, a), 0.0, (R**2 - a**2) ** 0.5)[0]
    )
    assert found.stiffness.sum() == pytest.approx(slope, rel=max(error, 1e-5))


PAIRS = {
    "equal": (ball(), ball()),
    "different": (ball(), ball(0.03, 4.0 * MODULUS)),
    "rigid second": (ball(), ball(0.04, hard=True)),
    "rigid first": (ball(0.04, hard=True), ball()),
    "slab": (ball(), slab(0.08, 0.5 * MODULUS)),
    "rigid on a slab": (ball(hard=True), slab(0.08)),
    "floor": (ball(), FLOOR),
}


@pytest.mark.parametrize("name", sorted(PAIRS))
@pytest.mark.parametrize("swap", [False, True])
def test_balls_are_limits_of_their_meshes(name: str, swap: bool) -> None:
    rng = np.random.default_rng(3)
    first, second = PAIRS[name]
    fine = [
        meshed(g, hard="rigid" in name and g.kind == 3) if g.ball else g for g in (first, second)
    ]
    turn = turned(rng)
    reach = first.ball + second.ball - 0.004
    # A half-space is where its plane is, below the ball.
    a = at(turn=turned(rng))
    b = at(*(turn.as_matrix() @ [0.0, 0.0, -reach]), turn=turn)
    geoms, meshes, poses = [first, second], fine, [a, b]
    if swap:
        geoms, meshes, poses = geoms[::-1], meshes[::-1], poses[::-1]
    exact = patch(*geoms, *poses)
    close = patch(*meshes, *poses, quadrature=MOMENTS)
    assert len(exact.point) == 12
    scale = float(np.linalg.norm(exact.force))
    # A mesh is inside of its ball: some per cent of the depth are missing.
    assert close.force == pytest.approx(exact.force, abs=0.06 * scale)
    assert np.linalg.norm(close.force) < 1.001 * scale
    centre = exact.point.mean(axis=0)
    assert close.point.mean(axis=0) == pytest.approx(centre, abs=2e-3)
    assert exact.area.sum() == pytest.approx(close.area.sum(), rel=0.1)
    across = exact.force - scale * turn.as_matrix()[:, 2] * np.sign(
        exact.force @ turn.as_matrix()[:, 2]
    )
    assert across == pytest.approx(np.zeros(3), abs=1e-9 * scale)


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_stiffness_of_balls_is_the_slope_of_their_force(name: str) -> None:
    first, second = PAIRS[name]
    reach = first.ball + second.ball - 0.001
    up = np.array([0.0, 0.0, 1.0])
    step = 1e-7

    def force(shift: float) -> float:
        return float(patch(first, second, at(z=reach + shift), at()).force[2])

    slope = (force(step) - force(-step)) / (2.0 * step)
    found = patch(first, second, at(z=reach), at())
    # The slope is that of the pressure along the normal; where the surface is curved and the
    # pressure changes along it, too, the patch also moves, by which the force changes a little.
    curved = name not in ("equal", "floor")
    assert found.slope(up) == pytest.approx(slope, rel=0.03 if curved else 5e-3)


HALF = (0.2, 0.15, 0.1)
BOX = compliant(box_mesh(HALF))._replace(depth=HALF[2], sides=HALF)
SIDES = {
    "box": (BOX, slab(HALF[2])),
    "harder box": (BOX._replace(modulus=5.0 * MODULUS), slab(HALF[2], 5.0 * MODULUS)),
    "rigid box": (rigid(box_mesh(HALF))._replace(sides=HALF), FLOOR),
    "cylinder": (
        compliant(cylinder_mesh(0.2, 0.1, 0.02))._replace(depth=0.1, sides=(0.2, 0.0, 0.1)),
        slab(0.1),
    ),
}


@pytest.mark.parametrize("name", sorted(SIDES))
@pytest.mark.parametrize("swap", [False, True])
def test_flat_sides_are_half_spaces(name: str, swap: bool) -> None:
    other, half_space = SIDES[name]
    small = ball(0.03)
    upside_down = Rotation.from_euler("x", np.pi)
    for pose, turn in ((at(0.08, -0.05, 0.128), None), (at(0.08, -0.05, -0.128), upside_down)):
        surface = at(z=np.sign(pose.position[2]) * 0.1, turn=turn)
        if swap:
            found = patch(other, small, at(), pose)
            exact = patch(half_space, small, surface, pose)
        else:
            found = patch(small, other, pose, at())
            exact = patch(small, half_space, pose, surface)
        assert len(found.point) == 12
        assert found.force == pytest.approx(exact.force, rel=1e-12, abs=1e-9)
        assert found.moment(pose.position) == pytest.approx(exact.moment(pose.position), abs=1e-9)
        assert found.stiffness.sum() == pytest.approx(exact.stiffness.sum(), rel=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_all_sides_of_a_box_are_alike(axis: int) -> None:
    place = np.zeros(3)
    place[axis] = -HALF[axis] - 0.028
    force = patch(ball(0.03), BOX, at(*place), at()).force
    assert force == pytest.approx(
        np.eye(3)[axis] * np.linalg.norm(patch(ball(0.03), BOX, at(z=0.128), at()).force), abs=1e-9
    )


@pytest.mark.parametrize("name", sorted(SIDES))
def test_nothing_jumps_where_a_ball_comes_to_an_edge(name: str) -> None:
    other, _ = SIDES[name]
    small = ball(0.03)
    # No edge of its mesh is parallel to one of the others'.
    turn = turned(np.random.default_rng(1))
    way = np.linspace(0.2 - 0.03, 0.2 + 0.03, 6001)
    found = [patch(small, other, at(x, 0.01, 0.128, turn), at()) for x in way]
    forces = np.array([one.force for one in found])
    counts = [len(one.point) for one in found]
    assert counts[0] == 12
    assert max(counts) > 12
    assert counts[-1] == 0
    largest = np.linalg.norm(forces, axis=1).max()
    assert np.linalg.norm(np.diff(forces, axis=0), axis=1).max() < 5e-3 * largest


def test_a_ball_that_is_deep_in_a_box_is_left_to_the_meshes() -> None:
    inside = patch(ball(0.03), BOX, at(0.0, 0.0, 0.09), at())
    meshes = patch(ball(0.03)._replace(ball=0.0), BOX, at(0.0, 0.0, 0.09), at())
    assert inside.force == pytest.approx(meshes.force, abs=1e-9)
