"""Flexes that begin within geoms are moved out of them as a whole, if that is asked for."""

from __future__ import annotations

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


def test_a_flex_with_pins_stays() -> None:
    model = compile_soft(FLOOR + cloth(height=-0.01, pins="<pin id='0'/>"))
    with pytest.raises(asp.ModelError, match="Flex 'cloth' and Geom 'floor' intersect"):
        asp.Simulator(model, integrator=asp.Midas(overlaps="separate"))


def test_a_rope_without_room_between_geoms_is_refused() -> None:
    """A ball leaves 1 cm above the floor to a rope that is 2 cm thick."""
    model = compile_soft(
        FLOOR + "<geom name='ball' size='.04' pos='0 0 .05'/>"
        "<flexcomp name='rope' type='grid' dim='1' count='3 1 1' spacing='.05 .05 .05' pos='0 0 .01'"
        " radius='.01' mass='1'><edge equality='true'/></flexcomp>"
    )
    with pytest.raises(asp.ModelError, match=r"Flex 'rope' and .*and finds no room between geoms"):
        asp.Simulator(model, integrator=asp.Midas(overlaps="separate"))


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
