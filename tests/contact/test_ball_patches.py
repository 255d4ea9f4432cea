"""Patches of balls without a mesh, against integrals and against fine meshes."""

from __future__ import annotations

import numpy as np
import pytest
from field_patches import FLOOR, MODULUS, Geom, at, compliant, patch, rigid, slab, turned
from scipy.integrate import quad

from asperity.contact.hydroelastic.field_layout import MOMENTS
from asperity.contact.hydroelastic.shapes import ellipsoid_mesh

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
