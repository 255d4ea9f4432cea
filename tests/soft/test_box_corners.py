"""Corners, ends and edges of geoms on flexes whose vertices are as far apart as these are wide."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from soft_models import Array, compile_soft, cube, positions

import asperity as asp
from asperity.plant.model.flexes import flex_elements, surface_faces

BOTH = (asp.Icf(time_step=1e-3), asp.Cenic(accuracy=1e-3))
FLOOR = "<geom type='plane' size='1 1 .1'/>"
BOX = (
    "<body name='box' pos='{} .001 {}'><freejoint/>"
    "<geom type='box' size='.04 .04 .02' mass='.2' friction='.5'/></body>"
)
CLOTH = (
    "<flexcomp name='cloth' type='grid' dim='2' count='5 5 1' spacing='.05 .05 .05' mass='.1'"
    " pos='0 0 1e-3' radius='1e-3'><elasticity young='1e6' poisson='0' thickness='1e-3'"
    " elastic2d='both'/><contact selfcollide='none'/></flexcomp>"
)


def _tilt(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Angle of the box's axis with the vertical [rad]."""
    return float(np.arccos(min(data.body("box").xmat[8], 1.0)))


@pytest.mark.parametrize("integrator", BOTH, ids=("icf", "cenic"))
@pytest.mark.parametrize("x", [0.0, 0.02, 0.03])
def test_a_box_lies_flat_on_coarse_cloth(integrator: asp.Icf | asp.Cenic, x: float) -> None:
    """It touches a row of vertices or two, and would sink to the floor with its corners."""
    model = compile_soft(FLOOR + BOX.format(x, 0.0221) + CLOTH)
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(1.0)
    assert _tilt(model, sim.data) < 5e-3
    assert sim.data.body("box").xpos[2] == pytest.approx(0.022, abs=2e-4)
    contacts = sim.contacts
    box = np.any(contacts.geom == 1, axis=1)
    assert contacts.normal_force[box].sum() == pytest.approx(0.2 * 9.81, rel=1e-2)
    assert np.all(contacts.flex[box].max(axis=1) == 0)


@pytest.mark.parametrize("integrator", BOTH, ids=("icf", "cenic"))
def test_a_box_rests_on_one_vertex_of_a_volume_and_its_corners(
    integrator: asp.Icf | asp.Cenic,
) -> None:
    body = cube(0.2, count=3, young=1e5, height=0.1005, mass=1.0)
    model = compile_soft(FLOOR + BOX.format(0.01, 0.2215) + body)
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(1.0)
    assert _tilt(model, sim.data) < 1e-2
    box = np.any(sim.contacts.geom == 1, axis=1)
    assert sim.contacts.force[box].sum(axis=0) == pytest.approx([0.0, 0.0, -1.962], abs=0.03)


@pytest.mark.parametrize("integrator", BOTH, ids=("icf", "cenic"))
def test_corners_and_vertices_slide_with_coulomb_s_friction(
    integrator: asp.Icf | asp.Cenic,
) -> None:
    model = compile_soft(
        FLOOR
        + BOX.format(0.01, 0.0221)
        + CLOTH.replace("<contact", "{}<contact").format("<pin id='0 4 20 24'/>")
    )
    model.flex_friction[:] = model.geom_friction[:] = [0.2, 0.0, 0.0]
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(0.2)
    sim.data.qvel[0] = 0.3
    sim.advance_to(0.25)
    before = sim.data.qvel[0]
    sim.advance_to(0.3)
    assert before - sim.data.qvel[0] == pytest.approx(0.05 * 0.2 * 9.81, rel=5e-2)


@pytest.mark.parametrize("integrator", BOTH, ids=("icf", "cenic"))
@pytest.mark.parametrize(
    ("geom", "half"),
    [
        ("type='box' size='.4 .03 .03' xyaxes='.94 .342 0 -.242 .664 .707'", 0.03 * np.sqrt(2.0)),
        ("type='capsule' size='.01 .4' zaxis='.94 .342 0'", 0.01),
        ("type='cylinder' size='.01 .4' zaxis='.94 .342 0'", 0.01),
    ],
    ids=("box", "capsule", "cylinder"),
)
def test_an_edge_or_a_rod_comes_to_rest_on_a_coarse_volume(
    integrator: asp.Icf | asp.Cenic, geom: str, half: float
) -> None:
    """Points that MuJoCo finds are anywhere on its line: vertices would shake with 50 mm/s."""
    rod = (
        f"<body name='rod' pos='.017 .026 {0.404 + half}'><joint type='slide' axis='0 0 1'/>"
        f"<geom {geom} mass='3'/></body>"
    )
    body = cube(0.4, count=5, young=5e4, height=0.201, mass=1.0)
    sim = asp.Simulator(compile_soft(FLOOR + rod + body), integrator=integrator)
    sim.advance_to(2.0)
    for _ in range(5):
        sim.advance_to(sim.data.time + 0.01)
        assert np.abs(sim.data.qvel).max() < 1e-3
    rod_contacts = np.any(sim.contacts.geom == 1, axis=1)
    assert sim.contacts.force[rod_contacts].sum(axis=0)[2] == pytest.approx(-3.0 * 9.81, rel=5e-3)


@pytest.mark.parametrize("integrator", BOTH, ids=("icf", "cenic"))
@pytest.mark.parametrize("count", ["5 3 3", "9 5 5"])
def test_a_block_lies_half_over_the_edge_of_a_box(
    integrator: asp.Icf | asp.Cenic, count: str
) -> None:
    """Its weight is above the edge, between vertices: these are 30 mm and more behind it."""
    table = "<geom type='box' size='.2 .3 .1' pos='-.2 0 -.1'/>"
    spacing = 0.4 / (int(count[0]) - 1)
    block = (
        f"<flexcomp name='block' type='grid' dim='3' count='{count}' pos='-.03 0 .102' mass='1'"
        f" spacing='{spacing} {spacing} {spacing}' radius='.002'>"
        "<elasticity young='3e4' poisson='.3' damping='.005'/><contact selfcollide='none'/>"
        "</flexcomp>"
    )
    model = compile_soft(table + block)
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(1.5)
    contacts = sim.contacts
    assert contacts.force.sum(axis=0) == pytest.approx([0.0, 0.0, 9.81], abs=0.05)
    assert np.abs(sim.data.qvel).max() < 1e-3
    # What bends down behind the edge is the block, not its surface into the table.
    assert positions(model, sim.data)[:, 2].max() > 0.19


@pytest.mark.parametrize("body", [cube(count=3), CLOTH])
def test_faces_look_outwards_and_are_of_their_elements(body: str) -> None:
    model = compile_soft(body)
    first, faces, owner = surface_faces(model)
    x: Array = positions(model, mujoco.MjData(model))
    elements = flex_elements(model, 0)
    assert np.repeat(np.arange(len(elements)), np.diff(first)).tolist() == owner.tolist()
    for face, element in zip(faces, owner, strict=True):
        assert set(face) <= set(elements[element])
    if model.flex_dim[0] == 3:
        a, b, c = (x[v] for v in faces.T)
        away = np.einsum("fi,fi->f", np.cross(b - a, c - a), (a + b + c) / 3.0 - x.mean(axis=0))
        assert np.all(away > 0.0)
