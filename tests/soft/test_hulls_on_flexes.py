"""Hulls of meshes touch flexes as boxes do: with their corners, edges and sides."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np
import pytest
from scipy.optimize import nnls
from soft_models import Array, cube

import asperity as asp
from asperity.plant.detection.hulls import hull_triangles
from asperity.plant.model.flex_outlines import _outline

BOTH = (asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-3))
NAMES = ("icf", "cenic")
HALF = (0.05, 0.04, 0.03)
CLOTH = (
    "<flexcomp name='cloth' type='grid' dim='2' count='9 9 1' spacing='.025 .025 .025' mass='.05'"
    " pos='{} .003 {}' radius='2e-3'><elasticity young='1e5' poisson='0' thickness='1e-3'"
    " damping='.01' elastic2d='both'/><contact selfcollide='none'/></flexcomp>"
)


def _mesh(name: str, points: Array) -> str:
    numbers = " ".join(f"{number:.9g}" for number in points.ravel())
    return f"<mesh name='{name}' vertex='{numbers}'/>"


def _box_points() -> Array:
    return np.array(HALF) * [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]


def _rock(count: int = 40, radius: float = 0.05) -> Array:
    points = np.random.default_rng(2).normal(size=(count, 3))
    return radius * points / np.linalg.norm(points, axis=1)[:, None]


def _with_assets(bodies: str, *assets: str) -> mujoco.MjModel:
    spec = mujoco.MjSpec.from_string(
        f"<mujoco><option integrator='discrete'/><asset>{''.join(assets)}</asset>"
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )
    return spec.compile()


def _geoms() -> Iterator[str]:
    yield f"type='box' size='{HALF[0]} {HALF[1]} {HALF[2]}'"
    yield "type='mesh' mesh='box'"


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
@pytest.mark.parametrize(
    ("place", "turn"),
    [("0 0 .08", ""), ("0 0 .08", "euler='20 35 10'"), ("0 0 .08", "euler='0 45 0'")],
)
@pytest.mark.parametrize("soft", ["volume", "cloth"])
def test_a_mesh_of_a_box_is_a_box(
    soft: str, place: str, turn: str, integrator: asp.Icf | asp.Cenic
) -> None:
    """It falls on its side, a corner or an edge; meshes have vertices of single precision."""
    flex = cube(0.1, count=4, young=3e4, height=0.0505, mass=0.5)
    if soft == "cloth":
        flex = CLOTH.format(0.0, 0.025).replace("<contact", "<pin id='0 8 72 80'/><contact")
    found = []
    for geom in _geoms():
        body = (
            f"<body name='thing' pos='{place} ' {turn}><freejoint/><geom {geom} mass='.2'/></body>"
        )
        if soft == "volume":
            body = body.replace("0 0 .08", "0.01 0.005 .18")
        floor = "<geom type='plane' size='1 1 .1'/>" if soft == "volume" else ""
        sim = asp.Simulator(
            _with_assets(floor + body + flex, _mesh("box", _box_points())), integrator=integrator
        )
        sim.advance_to(0.15)
        found.append(sim.data.body("thing").xpos.copy())
        assert np.any(sim.contacts.normal_force > 0.0)
    assert found[1] == pytest.approx(found[0], abs=2e-5)


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
def test_fingers_of_meshes_hold_a_soft_cube(integrator: asp.Icf | asp.Cenic) -> None:
    """Points that MuJoCo finds would let it creep by 30 µm a second, and cost ten times the steps."""
    fingers = "".join(
        f"<body pos='{sign * 0.0805} 0 .05'><joint type='slide' axis='{-sign} 0 0'/>"
        "<geom type='mesh' mesh='pad' mass='.2' friction='1'/></body>"
        for sign in (-1, 1)
    )
    model = _with_assets(
        fingers + cube(0.1, count=5, young=1e5, height=0.05, mass=0.1),
        _mesh("pad", _box_points() * [0.6, 1.0, 1.0]),
    )
    model.flex_friction[:] = [1.0, 0.0, 0.0]
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qfrc_applied[:2] = 4.0
    sim.advance_to(0.5)
    steps, before = sim.stats.steps, sim.data.flexvert_xpos[:, 2].mean()
    sim.advance_to(1.5)
    assert before - sim.data.flexvert_xpos[:, 2].mean() == pytest.approx(0.0, abs=2e-6)
    assert sim.contacts.force[:, 2].sum() == pytest.approx(0.1 * 9.81, rel=1e-3)
    if isinstance(integrator, asp.Cenic):
        assert sim.stats.steps - steps < 60


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
def test_a_rock_comes_to_rest_on_a_soft_cube(integrator: asp.Icf | asp.Cenic) -> None:
    rock = "<body name='rock' pos='.01 0 .16'><freejoint/><geom type='mesh' mesh='rock' mass='.3'/>"
    model = _with_assets(
        f"<geom type='plane' size='1 1 .1'/>{rock}</body>"
        + cube(0.1, count=4, young=1e5, height=0.0505, mass=0.5),
        _mesh("rock", _rock() * [1.0, 1.0, 0.5]),
    )
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(3.0)
    for _ in range(5):
        sim.advance_to(sim.data.time + 0.05)
        assert np.abs(sim.data.qvel).max() < 1e-3
    rock_contacts = np.any(sim.contacts.geom == 1, axis=1)
    assert sim.contacts.force[rock_contacts].sum(axis=0) == pytest.approx(
        [0.0, 0.0, -0.3 * 9.81], abs=0.02
    )


def test_distances_from_hulls_are_those_to_the_nearest_point() -> None:
    """Of vertices of a flex that are inside and outside, before sides, edges and corners."""
    model = _with_assets(
        "<geom type='mesh' mesh='rock' margin='1'/>" + CLOTH.format(0.01, 0.02),
        _mesh("rock", _rock(12)),
    )
    mesh = int(model.geom_dataid[0])
    corners, normals = hull_triangles(model, mesh)
    points = np.unique(corners.reshape(-1, 3), axis=0)
    offsets = np.sum(normals * corners[:, 0], axis=1)
    assert np.all(corners.reshape(-1, 3) @ normals.T <= offsets + 1e-7)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    sim.data.qpos[2::3] += np.random.default_rng(0).uniform(-0.08, 0.08, 81)
    sim.take_over()
    contacts = sim.contacts
    seen = np.flatnonzero(contacts.vert[:, 1] >= 0)
    assert len(seen) == 81
    turn, place = sim.data.geom_xmat[0].reshape(3, 3), sim.data.geom_xpos[0]
    outside = 0
    for c in seen:
        vertex = sim.data.flexvert_xpos[contacts.vert[c, 1]]
        local = turn.T @ (vertex - place)
        heights = normals @ local - offsets
        expected = heights.max()
        if expected > 0.0:
            outside += 1
            # Shares of the vertices in the nearest point, which are not negative and add up to 1.
            shares, _ = nnls(np.vstack([points.T, 1e3 * np.ones(len(points))]), [*local, 1e3])
            expected = np.linalg.norm(shares @ points / shares.sum() - local)
        assert contacts.signed_distance[c] == pytest.approx(expected - 2e-3, abs=2e-6)
    assert 20 < outside < 81


def test_edges_of_hulls_are_between_faces_that_are_not_level() -> None:
    """A box has 12, however its sides are divided; the ways away from an edge lie in its sides."""
    model = _with_assets("<geom type='mesh' mesh='box'/>", _mesh("box", _box_points()))
    outline = _outline(model, 0)
    sides = model.geom_aabb[0, 3:]
    assert sorted(sides) == pytest.approx(sorted(HALF))
    assert len(outline.corner) == 8
    assert len(outline.edge) == 12
    for edge in outline.edge:
        middle, along, half, one, other = edge[:3], edge[3:6], edge[6], edge[7:10], edge[10:]
        on = np.isclose(np.abs(middle), sides, atol=1e-6)
        assert on.sum() == 2
        assert half == pytest.approx(sides[~on][0], rel=1e-5)
        assert np.abs(along[~on]) == pytest.approx(1.0)
        ways = np.array([one, other])
        assert np.abs(ways[:, on]).sum() == pytest.approx(2.0)
        assert np.all(ways @ middle < 0.0)
        assert one @ other == pytest.approx(0.0, abs=1e-6)
