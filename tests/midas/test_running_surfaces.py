"""Surfaces that run like belts (``geom_surfacevel``) carry what lies on them."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

GRAVITY = 9.81
BOX = '<body pos="0 0 .15"><freejoint/><geom type="box" size=".1 .1 .05" mass="1"/></body>'


def simulator(world: str, step: float = 0.01) -> asp.Simulator:
    xml = f"<mujoco><worldbody>{world}</worldbody></mujoco>"
    return asp.Simulator(
        xml,
        integrator=asp.Midas(time_step=step),
        contact=asp.ContactParameters(friction=0.4),
    )


@pytest.mark.parametrize(
    "belt",
    [
        'type="box" size="5 .5 .05" pos="0 0 .05" surfacevel=".8 0 0 0 0 0"',
        'type="plane" size="5 .5 .05" pos="0 0 .1" surfacevel=".8 0 0 0 0 0"',
        # Its own x axis is the world's −y, and it runs along its y.
        'type="box" size=".5 5 .05" pos="0 0 .05" euler="0 0 -90" surfacevel="0 .8 0 0 0 0"',
    ],
)
def test_a_belt_carries_a_box_to_its_speed(belt):
    """Friction accelerates by μg until the box has the belt's speed, after u²/2μg less of way."""
    sim = simulator(f"<geom {belt}/>{BOX}")
    sim.advance_to(2.0)
    assert sim.data.qvel[0] == pytest.approx(0.8, abs=1e-3)
    assert np.abs(sim.data.qvel[1:]).max() < 1e-3
    assert sim.contacts.slip_speed.max() < 1e-3
    # It falls by less than a millimetre before friction begins.
    assert sim.data.qpos[0] == pytest.approx(0.8 * 2.0 - 0.8**2 / (2 * 0.4 * GRAVITY), abs=0.02)


def test_friction_on_a_belt_is_that_of_its_slip():
    sim = simulator(
        f'<geom type="plane" size="0 0 1" pos="0 0 .1" surfacevel="20 0 0 0 0 0"/>{BOX}'
    )
    sim.advance_to(0.3)
    before = float(sim.data.qvel[0])
    sim.advance_to(0.5)
    assert sim.data.qvel[0] - before == pytest.approx(0.4 * GRAVITY * 0.2, rel=1e-3)
    assert sim.contacts.slip_speed == pytest.approx(20.0 - sim.data.qvel[0], rel=1e-3)


@pytest.mark.parametrize("kind", ["cylinder", "box"])
def test_a_turning_surface_turns_what_lies_on_it(kind):
    size = ".5 .05" if kind == "cylinder" else ".5 .5 .05"
    disc = f'<geom type="{kind}" size="{size}" pos="0 0 .05" surfacevel="0 0 0 0 0 2"/>'
    sim = simulator(disc + BOX)
    sim.advance_to(1.5)
    assert sim.data.qvel[5] == pytest.approx(2.0, abs=5e-3)


def test_what_runs_on_a_moving_body_drives_it():
    """A vehicle whose underside runs backwards, like a tank's track, goes forwards."""
    tank = (
        '<body pos="0 0 .15"><freejoint/><geom type="box" size=".3 .1 .05" mass="1" '
        'surfacevel="-.5 0 0 0 0 0"/></body>'
    )
    sim = simulator('<geom type="plane" size="0 0 1" pos="0 0 .1"/>' + tank)
    sim.advance_to(1.0)
    assert sim.data.qvel[0] == pytest.approx(0.5, abs=1e-3)
