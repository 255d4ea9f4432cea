"""States that are given: refused if surfaces meet or limits are passed, or separated on request."""

from __future__ import annotations

import copy

import mujoco
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
    model = mujoco.MjModel.from_xml_string(TWO.format(kind=kind, z=0.06, x=0.0, z2=0.158))
    data = mujoco.MjData(model)
    with pytest.raises(asp.ModelError, match=r"'lower'.*'upper' intersect by 2 mm.*='separate'"):
        asp.Simulator(model, integrator=asp.Midas(), data=data)
    np.testing.assert_array_equal(data.qpos, model.qpos0)


def test_depth_below_a_plane():
    with pytest.raises(asp.ModelError, match=r"'lower'.*'floor' intersect by 3 mm"):
        simulator(TWO.format(kind="box", z=0.047, x=1.0, z2=0.06))


def test_touching_is_refused_if_nothing_may_be_moved():
    with pytest.raises(asp.ModelError, match=r"'lower'.*'upper' touch"):
        simulator(TWO.format(kind="box", z=0.06, x=0.0, z2=0.16), overlaps="refuse")


@pytest.mark.parametrize("kind", ["box", "sphere"])
def test_what_touches_is_taken_apart(kind):
    """Box on box on floor: by less than the activation distance, straight up."""
    sim = simulator(TWO.format(kind=kind, z=0.05, x=0.0, z2=0.15), verify=True)
    moved = sim.data.qpos - sim.model.qpos0
    assert np.abs(moved[[0, 1, 7, 8]]).max() < 1e-9
    assert 0.0 < moved[2] < moved[9] < 2.0 * 1e-3
    assert moved[9] - moved[2] < 1e-3
    assert sim.load_report.notes == ()
    assert sim.advance_to(0.1).success
    assert np.abs(sim.data.qpos - sim.model.qpos0).max() < 2e-3


def test_piles_are_taken_apart_layer_by_layer():
    """Three towers that touch nothing but themselves: each box rises by one gap per layer."""
    boxes = "".join(
        f'<body pos="{x} 0 {0.05 + 0.1 * layer}"><freejoint/>'
        f'<geom type="box" size=".05 .05 .05" mass="{1 + layer}"/></body>'
        for x, layers in ((0.0, 1), (0.4, 4), (0.8, 12))
        for layer in range(layers)
    )
    sim = simulator(
        f'<mujoco><worldbody><geom type="plane" size="1 1 1"/>{boxes}</worldbody></mujoco>'
    )
    moved = (sim.data.qpos - sim.model.qpos0).reshape(-1, 7)
    gap = moved[0, 2]
    assert 0.0 < gap < 1e-3
    layers = np.concatenate([np.arange(1.0, count + 1.0) for count in (1, 4, 12)])
    np.testing.assert_allclose(moved[:, 2], gap * layers, rtol=1e-9)
    assert np.abs(moved[:, :2]).max() < 1e-12
    assert sim.advance_to(0.1).success


FINGERS = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="hand" pos="0 0 .5"><joint name="lift" type="slide" axis="0 0 1" damping="5"/>
 <geom name="palm" type="box" size=".06 .02 .02" mass="1"/>
 <body name="left" pos="-.01 0 -.05"><joint name="left" type="slide" axis="-1 0 0" range="{low} .04"
  limited="true"/><geom name="left" type="box" size=".01 .02 .02" mass=".1"/></body>
 <body name="right" pos=".01 0 -.05"><joint name="right" type="slide" axis="1 0 0" range="{low} .04"
  limited="true"/><geom name="right" type="box" size=".01 .02 .02" mass=".1"/>
  <body name="tip" pos="{tip} 0 -.03"><joint name="tip" axis="0 1 0" stiffness="1" damping=".1"/>
   <geom name="tip" type="box" size=".005 .005 .012" mass=".02"/></body></body></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("low", [0.0, -0.002])
def test_closed_fingers_are_opened_a_little_and_still_touch(low):
    """Pads that touch, at the ends of their joints' ranges too, must not be excluded."""
    sim = simulator(FINGERS.format(tip=0.03, low=low), verify=True)
    assert not any("pass through" in note for note in sim.load_report.notes)
    opened = sim.data.qpos[1:3] - sim.model.qpos0[1:3]
    assert np.all(opened > 0.0)
    assert 0.0 < opened.sum() < 1e-3
    sim.data.qfrc_applied[1:3] = -5.0
    assert sim.advance_to(0.2).success
    if low == 0.0:
        return  # the joints' limits may carry the force
    pads = [set(pair) == {2, 3} for pair in sim.contacts.geom]
    squeeze = np.abs(sim.contacts.force[pads, 0]).sum()
    assert squeeze == pytest.approx(5.0, rel=0.02)


def test_links_that_overlap_by_design_are_excluded_and_named():
    """The tip sits inside its neighbour's neighbour, the left finger, and swings freely."""
    sim = simulator(FINGERS.format(tip=-0.014, low=0), verify=True)
    notes = [note for note in sim.load_report.notes if "pass through" in note]
    assert len(notes) == 1
    assert "'left' and 'tip'" in notes[0] or "'tip' and 'left'" in notes[0]
    assert "'right'" not in notes[0]
    sim.data.qfrc_applied[3] = 0.02
    assert sim.advance_to(0.5).success
    with pytest.raises(asp.ModelError, match=r"'left'.*'tip'|'tip'.*'left'"):
        simulator(FINGERS.format(tip=-0.014, low=0), overlaps="refuse")


def test_a_planar_robot_slides_on_its_floor():
    """It touches the floor in all states that its joints allow."""
    xml = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body name="puck" pos="0 0 .05"><joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 1 0"/><geom name="puck" size=".05" mass="1"/></body></worldbody>
      </mujoco>"""
    sim = simulator(xml)
    assert any("Geom 'floor' and 'puck' (they touch)" in note for note in sim.load_report.notes)
    sim.data.qvel[:] = 1.0
    assert sim.advance_to(0.1).success
    np.testing.assert_allclose(sim.data.qpos, 0.1, rtol=1e-6)
    with pytest.raises(asp.ModelError, match=r"'puck'.*'floor' intersect by 1 mm"):
        simulator(xml.replace("0 0 .05", "0 0 .049"))


@pytest.mark.parametrize("depth", [0.0, 0.015])
def test_what_is_mounted_slides_in_the_table_that_it_was_drawn_in(depth):
    """A table is the world, too, if it is a body that carries nothing."""
    sim = simulator(
        f"""<mujoco><worldbody><body name="table"><geom type="box" size="1 1 .1"/></body>
        <body name="channel" pos="0 0 {0.15 - depth}"><body><joint type="slide" axis="1 0 0"/>
        <geom type="cylinder" size=".05 .05" mass="1"/></body></body></worldbody></mujoco>"""
    )
    assert any("and the world" in note for note in sim.load_report.notes)
    sim.data.qvel[:] = 1.0
    assert sim.advance_to(0.1).success
    np.testing.assert_allclose(sim.data.qpos, 0.1, rtol=1e-6)


def test_exclusions_outlive_resets_and_copies():
    sim = simulator(FINGERS.format(tip=-0.014, low=0), verify=True)
    sim.reset()
    assert sim.advance_to(0.05).success
    twin = copy.deepcopy(sim)
    sim.model.geom_friction[:, 0] = 0.5
    for one in (sim, twin):
        assert one.advance_to(0.1).success
    twin.reset()
    assert twin.advance_to(0.05).success


def test_links_that_are_moved_into_each_other_later_are_refused():
    sim = simulator(FINGERS.format(tip=0.03, low=-0.002))
    sim.data.qpos[2] = 0.0
    sim.data.qpos[1] = -0.0015
    with pytest.raises(asp.ModelError, match=r"'left'.*'right' intersect by 1.5 mm"):
        sim.step()


def test_one_solid_inside_another_is_found():
    xml = TWO.format(kind="box", z=0.5, x=0.001, z2=0.5).replace(
        'name="upper" type="box" size=".05 .05 .05"', 'name="upper" type="sphere" size=".02"'
    )
    with pytest.raises(asp.ModelError, match=r"'lower'.*'upper' intersect"):
        simulator(xml)


@pytest.mark.parametrize(("z", "z2"), [(0.05, 0.15), (0.047, 0.142)])
def test_free_bodies_are_moved_apart_on_request(z, z2):
    sim = simulator(TWO.format(kind="box", z=z, x=0.01, z2=z2), overlaps="separate", verify=True)
    report = sim.advance_to(0.5)
    assert report.success
    assert np.abs(sim.data.qpos[[0, 1, 8]]).max() < 1e-4
    assert sim.data.qpos[9] - sim.data.qpos[2] == pytest.approx(0.1, abs=1.1e-3)
    assert np.abs(sim.data.qvel).max() < 1e-4


def test_what_floats_is_moved_apart_on_request_only_from_other_mechanisms():
    """A base that floats in the ground is refused, though its foot is drawn into its leg."""
    xml = """<mujoco><worldbody><geom name="ground" type="box" size="1 1 .1" pos="0 0 -.1"/>
      <body pos="0 0 .02"><freejoint/><geom name="base" type="box" size=".1 .1 .05" mass="1"/>
      </body></worldbody></mujoco>"""
    with pytest.raises(asp.ModelError, match=r"'ground'.*'base'|'base'.*'ground'"):
        simulator(xml)
    assert simulator(xml, overlaps="separate", verify=True).advance_to(0.1).success


def test_a_door_in_its_frame_swings_unless_that_is_refused():
    xml = """<mujoco><worldbody><geom name="wall" type="box" size=".1 .1 .1"/>
      <body pos=".12 0 0"><joint axis="0 0 1"/><geom name="door" type="box" size=".03 .01 .05"/></body>
    </worldbody></mujoco>"""
    with pytest.raises(asp.ModelError, match=r"'wall'.*'door'|'door'.*'wall'"):
        simulator(xml, overlaps="refuse")
    sim = simulator(xml)
    assert any("the world" in note for note in sim.load_report.notes)
    sim.data.qvel[:] = 1.0
    assert sim.advance_to(0.1).success
    assert sim.data.qpos[0] == pytest.approx(0.1, rel=1e-3)


def test_activation_distance_follows_the_smallest_clearance():
    sim = simulator(TWO.format(kind="box", z=0.0502, x=0.0, z2=0.1503))
    sim.step()
    assert sim.session.method.engine.table.pairs.activation.min() == pytest.approx(1e-4, rel=1e-6)
    sim = simulator(TWO.format(kind="box", z=0.06, x=0.0, z2=0.2))
    sim.step()
    assert sim.session.method.engine.table.options.activation == 1e-3


def test_unsupported_elements_are_named():
    base = """<mujoco><worldbody><body name="a"><joint name="j" type="{kind}" {numbers}/>
      <geom type="sphere" size=".1"/></body></worldbody></mujoco>"""
    for kind, numbers in (("ball", 'stiffness="1 2 3"'), ("free", 'damping="1 2"')):
        with pytest.raises(asp.ModelError, match="'j' has a spring or damper that is not linear"):
            simulator(base.format(kind=kind, numbers=numbers))


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
    [("time_step", 0.0), ("time_scheme", "rk4"), ("segments", 10), ("activation_distance", -1.0)],
)
def test_bad_options_are_named(option, value):
    with pytest.raises(asp.ArgumentError, match=option):
        asp.Midas(**{option: value})


def test_a_reset_begins_as_a_new_simulator_without_reading_shapes_again():
    xml = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
    <body pos="0 0 .2"><joint axis="0 1 0" range="-.5 .5" limited="true"/>
      <geom name="arm" type="capsule" fromto="0 0 0 .2 0 0" size=".03"/></body>
    <body pos=".15 0 .4"><freejoint/><geom name="box" type="box" size=".04 .03 .02"/></body>
    </worldbody></mujoco>"""

    def run(sim: asp.Simulator) -> np.ndarray:
        assert sim.advance_to(0.4).success
        return np.concatenate([sim.data.qpos, sim.data.qvel])

    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=0.01))
    first, iterations = run(sim), sim.stats.iterations
    engine = sim.session.method.engine
    for _ in range(2):
        sim.reset()
        np.testing.assert_array_equal(run(sim), first)
        assert sim.session.method.engine is engine
        assert sim.stats.iterations == iterations
    # Another model is another engine.
    sim.model.geom("box").size = [0.05, 0.03, 0.03]
    sim.reset()
    found = run(sim)
    assert sim.session.method.engine is not engine
    other = asp.Simulator(sim.model, integrator=asp.Midas(time_step=0.01))
    np.testing.assert_array_equal(run(other), found)


def test_what_an_equality_holds_together_is_a_mechanism():
    """Two boxes, face to face, with a joint between: taken apart they could not stay so."""
    box = '<body name="{0}" pos="{1} 0 1"><freejoint/><geom type="box" size=".2 .1 .1" mass="1"/></body>'
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody>{box.format("a", 0)}{box.format("b", 0.4)}</worldbody><equality>
        <connect body1="a" body2="b" anchor=".2 0 0"/></equality></mujoco>"""
    )
    sim = asp.Simulator(model, integrator=asp.Midas())
    assert any("'a' and 'b' (they touch)" in note for note in sim.load_report.notes)
    np.testing.assert_array_equal(sim.data.qpos[[0, 7]], [0.0, 0.4])
    sim.data.qvel[[4, 10]] = 1.0, -1.0  # they fold
    assert sim.advance_to(0.5).success
    assert sim.stats.iterations < 5 * sim.stats.steps
    np.testing.assert_allclose(sim.data.qvel[[2, 8]].mean(), -9.81 * 0.5, rtol=1e-9)
    anchors = [
        sim.data.body(n).xpos + sim.data.body(n).xmat.reshape(3, 3)[:, 0] * s
        for n, s in (("a", 0.2), ("b", -0.2))
    ]
    np.testing.assert_allclose(anchors[0], anchors[1], atol=1e-4)
