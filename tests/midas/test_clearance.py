"""States that are given: refused if surfaces meet or limits are passed, or separated on request."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp

TWO = """
<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body pos="0 0 {z}"><freejoint/><geom name="lower" type="{kind}" size=".05 .05 .05" mass="1"/></body>
<body pos="{x} 0 {z2}"><freejoint/><geom name="upper" type="{kind}" size=".05 .05 .05" mass="1"/></body>
</worldbody></mujoco>"""


def simulator(xml: str, **options) -> asp.Simulator:
    return asp.Simulator(xml, integrator=asp.Midas(**options))


@pytest.mark.parametrize("kind", ["box", "sphere", "ellipsoid"])
def test_overlap_is_refused_with_names_and_depth(kind):
    sim = simulator(TWO.format(kind=kind, z=0.06, x=0.0, z2=0.158))
    before = sim.data.qpos.copy()
    with pytest.raises(asp.ModelError, match=r"'lower'.*'upper' intersect by 2 mm.*separate=True"):
        sim.step()
    np.testing.assert_array_equal(sim.data.qpos, before)


def test_depth_below_a_plane():
    sim = simulator(TWO.format(kind="box", z=0.047, x=1.0, z2=0.06))
    with pytest.raises(asp.ModelError, match=r"'lower'.*'floor' intersect by 3 mm"):
        sim.step()


def test_touching_is_refused():
    sim = simulator(TWO.format(kind="box", z=0.06, x=0.0, z2=0.16))
    with pytest.raises(asp.ModelError, match=r"'lower'.*'upper' touch"):
        sim.step()


def test_one_solid_inside_another_is_found():
    xml = TWO.format(kind="box", z=0.5, x=0.001, z2=0.5).replace(
        'name="upper" type="box" size=".05 .05 .05"', 'name="upper" type="sphere" size=".02"'
    )
    with pytest.raises(asp.ModelError, match=r"'lower'.*'upper' intersect"):
        simulator(xml).step()


@pytest.mark.parametrize(("z", "z2"), [(0.05, 0.15), (0.047, 0.142)])
def test_free_bodies_are_moved_apart_on_request(z, z2):
    sim = simulator(TWO.format(kind="box", z=z, x=0.01, z2=z2), separate=True, verify=True)
    report = sim.advance_to(0.5)
    assert report.success
    assert np.abs(sim.data.qpos[[0, 1, 8]]).max() < 1e-4
    assert sim.data.qpos[9] - sim.data.qpos[2] == pytest.approx(0.1, abs=1.1e-3)
    assert np.abs(sim.data.qvel).max() < 1e-4


def test_welded_overlap_cannot_be_separated():
    xml = """<mujoco><worldbody><geom name="wall" type="box" size=".1 .1 .1"/>
      <body pos=".12 0 0"><joint axis="0 0 1"/><geom name="door" type="box" size=".03 .01 .05"/></body>
    </worldbody></mujoco>"""
    with pytest.raises(asp.ModelError, match=r"'wall'.*'door'|'door'.*'wall'"):
        simulator(xml, separate=True).step()


def test_activation_distance_follows_the_smallest_clearance():
    sim = simulator(TWO.format(kind="box", z=0.0502, x=0.0, z2=0.1503))
    sim.step()
    assert sim.method.engine.table.activation == pytest.approx(1e-4, rel=1e-6)
    sim = simulator(TWO.format(kind="box", z=0.06, x=0.0, z2=0.2))
    sim.step()
    assert sim.method.engine.table.activation == 1e-3


def test_unsupported_elements_are_named():
    base = """<mujoco><worldbody><body name="a"><joint name="j" type="ball" {ball}/>
      <geom type="sphere" size=".1"/><body name="b"><joint name="k" axis="0 1 0"/>
      <geom type="sphere" size=".1" pos="1 0 0"/></body></body></worldbody>{more}</mujoco>"""
    for ball, more, name in (
        ('frictionloss="1"', "", "'j' is a ball joint with dry friction"),
        ("", '<actuator><motor name="m" joint="j" gear="1 0 0"/></actuator>', "'m'"),
        ("", '<actuator><intvelocity name="n" joint="k" actrange="-1 1"/></actuator>', "'n'"),
    ):
        with pytest.raises(asp.ModelError, match=name):
            simulator(base.format(ball=ball, more=more))


def test_a_failed_start_leaves_everything_as_it_was():
    sim = simulator(TWO.format(kind="box", z=0.06, x=0.0, z2=0.2))
    assert sim.step().success
    before = sim.data.qpos.copy(), sim.time
    sim.data.qpos[2] = 0.15
    moved = sim.data.qpos.copy()
    with pytest.raises(asp.ModelError, match="intersect"):
        sim.step()
    np.testing.assert_array_equal(sim.data.qpos, moved)
    assert sim.time == before[1]
    sim.data.qpos[:] = before[0]
    assert sim.step().success


@pytest.mark.parametrize(
    ("option", "value"),
    [("time_step", 0.0), ("scheme", "rk4"), ("segments", 10), ("activation_distance", -1.0)],
)
def test_bad_options_are_named(option, value):
    with pytest.raises(asp.ModelError, match=option):
        asp.Midas(**{option: value})
