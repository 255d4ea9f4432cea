"""Cylinders and ellipsoids on boxes that do not move, round where all of them is above a face."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

G = 9.81
LYING = 'euler="1.5707963267948966 0 0"'
CYLINDER = 'type="cylinder" size=".1 .05"'
CAN = 'type="cylinder" size=".033 .06"'
SPHEROID = 'type="ellipsoid" size=".1 .1 .05"'
TABLE = '<geom name="table" type="box" size="9 2 .1" pos="0 0 -.1" friction=".3"/>'


def scene(geom: str, place: str, floor: str) -> str:
    return f"""<mujoco><compiler angle="radian"/><worldbody>{floor}
      <body {place}><freejoint/><geom name="round" {geom} mass="1" friction=".3"/></body>
      </worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("geom", "height", "share"),
    [
        (CYLINDER, 0.1009, 2 / 3),
        # It begins where it touches.
        (CYLINDER, 0.1, 2 / 3),
        (CAN, 0.0339, 2 / 3),
        (SPHEROID, 0.1009, 5 / 7),
    ],
)
def test_slipping_becomes_rolling(geom, height, share):
    """Angular momentum about the table: of a cylinder 2/3 of the first speed is left."""
    xml = scene(geom, f'pos="0 0 {height}" {LYING}', TABLE)
    sim = asp.Simulator(xml, integrator=asp.Midas())
    sim.data.qvel[0] = 2.0
    assert sim.advance_to(3.0).success
    assert sim.data.qvel[0] == pytest.approx(2.0 * share, rel=2e-3)


def test_a_cylinder_rolls_down_a_tilted_box():
    angle = 0.2
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    up = np.array([np.sin(angle), 0.0, np.cos(angle)])
    x, _, z = -0.1 * up
    board = f'<geom type="box" size="5 2 .1" pos="{x} 0 {z}" euler="0 {angle} 0" friction=".3"/>'
    x, _, z = 0.1009 * up
    xml = scene(CYLINDER, f'pos="{x} 0 {z}" {LYING}', board)
    sim = asp.Simulator(xml, integrator=asp.Midas())
    assert sim.advance_to(1.0).success
    assert sim.data.qvel[:3] @ down == pytest.approx(2 / 3 * G * np.sin(angle), rel=1e-3)
    assert abs(sim.data.qvel[:3] @ up) < 1e-4


@pytest.mark.parametrize("geom", [CYLINDER, 'type="ellipsoid" size=".1 .07 .04"'])
def test_nothing_passes_a_table_that_it_is_thrown_at(geom):
    """Near its edges and its corners too; checked by MuJoCo's collision detection."""
    rng = np.random.default_rng(11)
    table = '<geom type="box" size=".3 .2 .05" euler=".2 .1 .4"/><geom type="plane" size="9 9 1" '
    table += 'pos="0 0 -.6"/>'
    for _ in range(6):
        sim = asp.Simulator(scene(geom, 'pos="0 0 .5"', table), integrator=asp.Midas(verify=True))
        sim.data.qpos[:2] = rng.uniform(-0.3, 0.3, 2)
        sim.data.qpos[3:] = rng.normal(size=4)
        sim.data.qpos[3:] /= np.linalg.norm(sim.data.qpos[3:])
        sim.data.qvel[:] = (*rng.uniform(-1, 1, 2), -5.0, *rng.uniform(-30, 30, 3))
        for _ in range(60):
            assert sim.step().success
            mujoco.mj_kinematics(sim.model, sim.data)
            deepest = mujoco.mj_geomDistance(sim.model, sim.data, 0, 2, 1.0, None)
            # Beyond a face it is a polyhedron of 16 segments both ways, which lies inside of it.
            assert deepest > -0.1 * (1.0 - np.cos(np.pi / 16) ** 2) - 1e-5


def test_a_cylinder_rolls_off_a_table_and_falls():
    table = '<geom type="box" size=".3 .3 .05" pos="0 0 -.05" friction=".3"/>'
    sim = asp.Simulator(scene(CYLINDER, f'pos="0 0 .1009" {LYING}', table), integrator=asp.Midas())
    # It rolls from the start.
    sim.data.qvel[[0, 5]] = 0.5, -5.0
    heights = []
    for _ in range(120):
        assert sim.step().success
        heights.append(sim.data.qpos[2])
        if sim.data.qpos[0] < 0.19:
            assert sim.data.qvel[0] == pytest.approx(0.5, rel=1e-3)
    assert min(heights) < -1.0


def test_to_look_at_contacts_changes_nothing():
    xml = scene(CYLINDER, f'pos="0 0 .1009" {LYING}', TABLE)
    one, other = (asp.Simulator(xml, integrator=asp.Midas()) for _ in range(2))
    for sim in (one, other):
        sim.data.qvel[0] = 2.0
    for _ in range(50):
        one.step()
        other.step()
        assert len(other.contacts.force) == 2
        assert {tuple(sorted(pair)) for pair in other.contacts.geom} == {(0, 1)}
    assert np.array_equal(one.data.qpos, other.data.qpos)
    assert np.array_equal(one.data.qvel, other.data.qvel)
