"""Round geoms and boxes on cloth and volumes whose vertices are as far apart as these are wide."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from soft_models import compile_soft, cube, positions

import asperity as asp

BOTH = (asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-3))
NAMES = ("icf", "cenic")
LONG = ("type='capsule' size='.02 .5'", "type='box' size='.02 .02 .5'")
PINS = "".join(f"<pin gridrange='{row}'/>" for row in ("0 0 0 8", "8 0 8 8", "0 0 8 0", "0 8 8 8"))


def _cloth(at: str, pins: str = "") -> str:
    return (
        "<flexcomp name='cloth' type='grid' dim='2' count='9 9 1' spacing='.05 .05 .05' mass='.1'"
        f" pos='{at}' radius='2e-3'>{pins}<elasticity young='1e5' poisson='0' thickness='1e-3'"
        " elastic2d='both' damping='.02'/><contact selfcollide='none' friction='.5'/></flexcomp>"
    )


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
@pytest.mark.parametrize("axis", ["1 0 0", "1 .3 0"])
@pytest.mark.parametrize("geom", LONG, ids=("capsule", "box"))
def test_cloth_hangs_over_the_middle_of_a_long_geom(
    integrator: asp.Icf | asp.Cenic, geom: str, axis: str
) -> None:
    """MuJoCo finds no points between its ends, and the cloth falls through."""
    body = f"<geom {geom} zaxis='{axis}' friction='.5'/>" + _cloth(".007 .011 .03")
    model = compile_soft(body)
    sim = asp.Simulator(model, integrator=integrator)
    triangles = model.flex_elem.reshape(-1, 3)
    shares = np.array([[i, j, 8 - i - j] for i in range(9) for j in range(9 - i)]) / 8.0
    for time in (0.3, 0.6, 1.0, 1.5):
        sim.advance_to(time)
        points = np.einsum("sk,tki->tsi", shares, positions(model, sim.data)[triangles])
        local = points.reshape(-1, 3) @ sim.data.geom_xmat[0].reshape(3, 3)
        aside = np.abs(local[:, :2])
        distance = np.linalg.norm(aside, axis=1) if "capsule" in geom else aside.max(axis=1)
        assert distance.min() > 0.02
        assert 0.021 < points[:, :, 2].max() < 0.08
    # As Midas has it, at the middle of a swing.
    assert positions(model, sim.data)[:, 2].mean() == pytest.approx(-0.06, abs=0.01)


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
@pytest.mark.parametrize(
    ("geom", "axis"),
    [
        ("type='capsule' size='.01 .12'", "1 0 0"),
        ("type='capsule' size='.01 .12'", "1 .3 0"),
        ("type='cylinder' size='.01 .12'", "1 .3 0"),
        ("type='cylinder' size='.01 .03'", "0 0 1"),
        ("type='box' size='.01 .01 .12'", "1 .3 0"),
        ("type='sphere' size='.02'", "0 0 1"),
    ],
    ids=("capsule", "oblique capsule", "cylinder", "upright cylinder", "box", "sphere"),
)
def test_a_geom_comes_to_rest_on_coarse_cloth(
    integrator: asp.Icf | asp.Cenic, geom: str, axis: str
) -> None:
    """Points that MuJoCo finds at its ends would shake with 0.1 m/s."""
    height = 0.033 if axis == "0 0 1" else 0.013
    rod = (
        f"<body name='rod' pos='.013 .017 {height}' zaxis='{axis}'><freejoint/>"
        f"<geom {geom} mass='.1' friction='.5'/></body>"
    )
    sim = asp.Simulator(compile_soft(rod + _cloth("0 0 0", PINS)), integrator=integrator)
    sim.advance_to(3.0)
    assert np.abs(sim.data.qvel).max() < 2e-3
    assert sim.contacts.force.sum(axis=0) == pytest.approx([0.0, 0.0, -0.981], abs=2e-3)
    assert sim.data.body("rod").xpos[2] > -0.06


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
def test_a_ball_rests_on_the_edge_between_two_faces(integrator: asp.Icf | asp.Cenic) -> None:
    """Its centre is above neither of them, and no vertex is near."""
    ball = (
        "<body name='ball' pos='0 .01 .175'><joint type='slide' axis='0 0 1'/>"
        "<geom type='sphere' size='.03' mass='.2'/></body>"
    )
    roof = cube(0.2, count=2, young=1e6, height=0.0, damping=0.02, mass=1.0)
    pins = "<pin gridrange='0 0 0 1 1 0'/><elasticity"
    roof = roof.replace("<flexcomp", "<flexcomp euler='45 0 0'").replace("<elasticity", pins)
    sim = asp.Simulator(compile_soft(ball + roof), integrator=integrator)
    sim.advance_to(1.5)
    assert np.abs(sim.data.qvel).max() < 1e-3
    assert sim.contacts.force[:, 2].sum() == pytest.approx(-0.2 * 9.81, rel=1e-3)
    assert sim.data.body("ball").xpos[2] > 0.1


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
@pytest.mark.parametrize(
    "geom",
    [
        "type='box' size='2 .3 .05' surfacevel='.3 0 0 0 0 0'",
        "type='cylinder' size='1 .05' surfacevel='0 0 0 0 0 1'",
    ],
    ids=("belt", "disc"),
)
def test_a_volume_is_carried_by_a_surface_that_moves(
    integrator: asp.Icf | asp.Cenic, geom: str
) -> None:
    """The disc turns under it, with another velocity at every contact."""
    body = cube(0.05, count=3, young=1e6, height=0.0756)
    body = body.replace("pos='0 0", "pos='.4 .2")
    model = compile_soft(f"<geom {geom}/>" + body)
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(0.2)
    mean = sim.data.qvel.reshape(-1, 3).mean(axis=0)
    x, y, _ = positions(model, sim.data).mean(axis=0)
    expected = [0.3, 0.0] if "box" in geom else [-y, x]
    assert mean[:2] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("overridden", [False, True])
@pytest.mark.parametrize("priority", [(0, 0), (1, 0), (0, 1)])
def test_parameters_are_combined_as_mujoco_does(
    priority: tuple[int, int], overridden: bool
) -> None:
    model = compile_soft("<geom type='box' size='1 1 .1'/>" + _cloth("0 0 .1015"))
    model.geom_friction[0] = [0.3, 0.02, 0.001]
    model.flex_friction[0] = [0.7, 0.01, 0.002]
    model.geom_priority[0], model.flex_priority[0] = priority
    model.geom_condim[0], model.flex_condim[0] = 6, 4
    model.geom_margin[0], model.flex_margin[0] = 0.001, 0.002
    if overridden:
        model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
        model.opt.o_friction[:] = [0.1, 0.2, 0.3, 0.4, 0.5]
        model.opt.o_margin = 0.004
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    sim = asp.Simulator(model, integrator=BOTH[0])
    elastic = sim.session.plant.table.elastic
    contact = data.contact[0]
    assert np.array(elastic.pair_friction)[0] == pytest.approx(contact.friction)
    assert elastic.pair_dimension[0] == contact.dim
    assert elastic.pair_margin[0] == pytest.approx(contact.includemargin)


def test_changes_of_what_collides_count_from_the_next_step_on() -> None:
    model = compile_soft("<geom type='box' size='1 1 .1'/>" + _cloth("0 0 .1021"))
    sim = asp.Simulator(model, integrator=BOTH[0])
    sim.advance_to(0.1)
    assert len(sim.contacts.geom) > 0
    model.flex_contype[0] = model.flex_conaffinity[0] = 0
    sim.advance_to(0.2)
    assert len(sim.contacts.geom) == 0
    assert sim.data.qvel.reshape(-1, 3)[:, 2].mean() == pytest.approx(-0.981, rel=1e-3)


def test_nothing_touches_the_body_that_holds_it() -> None:
    """Elements of a vertex that is fixed to a body, as in MuJoCo."""
    pad = (
        "<body name='palm' pos='0 0 .5'><geom type='box' size='.05 .05 .01'/>"
        "<flexcomp name='pad' type='grid' dim='3' count='3 3 3' spacing='.05 .05 .01'"
        " pos='0 0 .02' radius='1e-3' mass='.02'><pin gridrange='0 0 0 2 2 0'/>"
        "<elasticity young='1e5' poisson='.3' damping='.01'/>"
        "<contact selfcollide='none'/></flexcomp></body>"
    )
    model = compile_soft(pad)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ncon == 0
    sim = asp.Simulator(model, integrator=BOTH[0])
    sim.advance_to(0.1)
    assert len(sim.contacts.geom) == 0


@pytest.mark.parametrize("shape", ["sphere", "ellipsoid"])
def test_a_fin_touches_the_body_that_it_is_in(shape: str) -> None:
    """Nothing bonds its vertices. Points of its elements need room all the same."""
    sim = asp.Simulator(
        f"<mujoco><worldbody><body name='b'><joint/><geom type='{shape}' size='.1 .1 .1'/>"
        "<flexcomp name='fin' type='grid' dim='2' dof='2d' count='4 3 1' spacing='.02 .02 .02' "
        "radius='.001' mass='.1'><edge equality='true' damping='.02'/></flexcomp></body>"
        "</worldbody></mujoco>",
        integrator=asp.Icf(),
    )
    places = sim.session.world.problem.graph.paths.dof.size
    assert len(sim.contacts) > 0
    assert places >= sim.model.nv + 12 * len(sim.contacts)
