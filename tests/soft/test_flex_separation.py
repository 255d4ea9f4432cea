"""Flexes that begin within geoms are moved out of them as a whole, if that is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from midas_models import cloth
from soft_models import compile_soft, cube

import asperity as asp

FLOOR = "<geom name='floor' type='plane' size='1 1 .1'/>"
BALL = "<geom name='ball' size='.04' pos='0 0 .01'/>"


@pytest.mark.parametrize(
    "body",
    [FLOOR + cloth(height=-0.01), FLOOR + cube(height=0.01), BALL + cloth(height=0.045)],
    ids=["cloth in the floor", "volume in the floor", "cloth in a ball"],
)
def test_a_flex_leaves_geoms_as_a_whole(body: str) -> None:
    model = compile_soft(body)
    with pytest.raises(asp.ModelError, match="or let Midas\\(overlaps='separate'\\) move flexes"):
        asp.Simulator(model, integrator=asp.Midas())
    sim = asp.Simulator(model, integrator=asp.Midas(overlaps="separate", verify=True))
    move = sim.data.qpos.reshape(-1, 3).copy()
    assert np.ptp(move, axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert move[0, :2] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert 0.0 < move[0, 2] < 0.05
    sim.advance_to(0.1)
    assert np.isfinite(sim.data.qvel).all()


def test_the_floor_moves_cloth_by_what_it_is_too_low() -> None:
    """To 1.02 activation distances above, besides its radius of 1 mm."""
    model = compile_soft(FLOOR + cloth(height=-0.01))
    sim = asp.Simulator(model, integrator=asp.Midas(overlaps="separate", activation_distance=2e-3))
    assert sim.data.flexvert_xpos[:, 2] == pytest.approx(1e-3 + 1.02 * 2e-3, abs=1e-9)


def _passing(sim: asp.Simulator) -> str:
    """What the note about flexes says that passes."""
    start = "Flexes pass through what they overlap where they start: "
    found = [note for note in sim.load_report.notes if note.startswith(start)]
    return found[0].removeprefix(start) if found else ""


ROPE = (
    "<flexcomp name='rope' type='grid' dim='1' count='3 1 1' spacing='.05 .05 .05'"
    " pos='0 {y} .01' radius='.01' mass='1'><edge equality='true'/></flexcomp>"
)
WEDGE = FLOOR + "<geom name='ball' size='.04' pos='0 0 .05'/>" + ROPE.format(y=0)


def test_a_rope_without_room_passes_what_it_overlaps_most() -> None:
    """A ball leaves 1 cm above the floor to a rope that is 2 cm thick, and the floor bears it."""
    model = compile_soft(WEDGE)
    with pytest.raises(asp.ModelError, match="Flex 'rope' and Geom 'ball' intersect"):
        asp.Simulator(model, integrator=asp.Midas())
    sim = asp.Simulator(model, integrator=asp.Midas(overlaps="separate", verify=True))
    assert _passing(sim).startswith("Flex 'rope' and Geom 'ball' (10 mm). ")
    assert sim.data.qpos.reshape(-1, 3) == pytest.approx(np.tile([0, 0, 1.02e-3], (3, 1)), abs=1e-9)
    sim.advance_to(0.5)
    assert sim.data.flexvert_xpos[:, 2] == pytest.approx(0.011, abs=1e-4)
    assert np.abs(sim.contacts.force[:, 2]).sum() == pytest.approx(9.81, rel=1e-4)
    wall = "<geom name='wall' type='box' size='.1 .02 .1' pos='0 .029 .1'/>"
    sim = asp.Simulator(compile_soft(wall + WEDGE), integrator=asp.Midas(overlaps="separate"))
    assert _passing(sim).startswith("Flex 'rope' and Geom 'ball' (10 mm). ")
    assert sim.data.qpos[1::3] == pytest.approx([-2.02e-3] * 3, abs=1e-9)


def test_what_passes_is_kept(tmp_path: Path) -> None:
    """In a checkpoint and when the model changes, but nothing else passes in later states."""
    model = compile_soft(WEDGE)
    sim = asp.Simulator(model, integrator=asp.Midas(overlaps="separate"))
    sim.advance_to(0.02)
    other = asp.Simulator.load(sim.save(tmp_path / "rope"))
    for one in (sim, other):
        one.model.geom_friction[:] = 0.3
        one.advance_to(0.3)
        assert one.data.flexvert_xpos[:, 2] == pytest.approx(0.011, abs=1e-4)
    assert np.array_equal(other.data.qpos, sim.data.qpos)
    beside = compile_soft(WEDGE.replace("pos='0 0 .01'", "pos='0 .2 .01'"))
    sim = asp.Simulator(beside, integrator=asp.Midas(overlaps="separate"))
    assert not _passing(sim)
    sim.data.qpos.reshape(-1, 3)[:, 1] -= 0.2
    with pytest.raises(asp.ModelError, match="finds no room between geoms"):
        sim.advance_to(0.02)


def test_cloth_passes_the_post_that_it_is_pinned_at() -> None:
    """But nothing else: a ball falls onto it, and stays."""
    post = "<geom name='post' type='cylinder' size='.02 .3' pos='.1 .1 .3'/>"
    ball = "<body pos='0 0 .55'><freejoint/><geom name='ball' size='.03' mass='.01'/></body>"
    pins = "<pin id='0 7 56 63'/>"
    model = compile_soft(post + ball + cloth(height=0.5, pins=pins))
    with pytest.raises(asp.ModelError, match="Flex 'cloth' and Geom 'post' intersect"):
        asp.Simulator(model, integrator=asp.Midas(overlaps="refuse"))
    sim = asp.Simulator(model, integrator=asp.Midas())
    assert _passing(sim).startswith("Flex 'cloth' and Geom 'post' (they cross). ")
    sim.advance_to(0.5)
    assert 0.45 < sim.data.qpos[2] < 0.53
    assert np.any(sim.contacts.geom == model.geom("ball").id)


def test_cloth_with_pins_passes_the_floor_only_if_that_is_asked_for() -> None:
    model = compile_soft(FLOOR + cloth(height=-0.01, pins="<pin id='0'/>"))
    with pytest.raises(asp.ModelError, match="Flex 'cloth' and Geom 'floor' intersect"):
        asp.Simulator(model, integrator=asp.Midas())
    sim = asp.Simulator(model, integrator=asp.Midas(overlaps="separate", verify=True))
    assert _passing(sim).startswith("Flex 'cloth' and Geom 'floor' (")
    sim.advance_to(0.1)
    assert sim.data.flexvert_xpos[63, 2] < -0.03


def test_flexes_that_overlap_pass_each_other_only_if_that_is_asked_for() -> None:
    """Both of them stay where they are, and rest on the floor."""
    model = compile_soft(FLOOR + cube(height=0.06) + cube(name="other", side=0.03, height=0.06))
    with pytest.raises(asp.ModelError, match="Flex 'other' and Flex 'cube' intersect"):
        asp.Simulator(model, integrator=asp.Midas())
    sim = asp.Simulator(model, integrator=asp.Midas(overlaps="separate", verify=True))
    assert _passing(sim).startswith("Flex 'other' and Flex 'cube' (they cross). ")
    assert np.all(sim.data.qpos == 0.0)
    sim.advance_to(0.5)
    bottom = sim.data.flexvert_xpos[:27, 2].min(), sim.data.flexvert_xpos[27:, 2].min()
    assert bottom == pytest.approx((1.5e-3, 1.5e-3), abs=2e-4)


def test_what_is_rigid_in_the_world_may_overlap_the_geoms_there() -> None:
    """Neither of them ever moves, and a ball rests on the flex."""
    fixed = (
        "<body name='b' pos='0 0 .1'><flexcomp name='fixed' type='grid' dim='2' count='3 3 1'"
        " spacing='.1 .1 .1' radius='.005' rigid='true'/></body>"
    )
    ball = "<body name='ball' pos='0 0 .16'><freejoint/><geom size='.05'/></body>"
    model = compile_soft("<geom name='post' size='.02' pos='.08 .08 .1'/>" + fixed + ball)
    sim = asp.Simulator(model, integrator=asp.Midas())
    sim.advance_to(0.5)
    assert 0.155 < sim.data.qpos[2] < 0.16
