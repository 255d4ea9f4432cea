"""Loading URDF: what is repaired, dropped, refused, and how it is said."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from loading_texts import (
    BOX,
    INERTIA,
    arm,
    has,
    joint,
    link,
    refused,
    urdf,
)

from asperity import Cenic, Icf, Integrator, Midas, Sap, Simulator, load_spec
from asperity.errors import AsperityWarning, ModelError
from asperity.loading import load_model
from asperity.plant.model.own_texts import velocity_limits

# --- URDF: base ------------------------------------------------------------------------------


def test_base_is_fixed_by_default_and_says_how_to_free_it() -> None:
    model, report = arm()
    assert model.nv == 1
    assert has(report, "'base'", "floating_base=True")
    model, report = arm(floating_base=False)
    assert model.nv == 1
    assert not has(report, "floating_base")


def test_floating_base() -> None:
    model, report = arm(floating_base=True)
    assert model.nv == 7
    assert model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    assert model.joint("base_free").bodyid[0] == model.body("base").id
    assert not has(report, "floating_base")


def test_world_link() -> None:
    parts = (link("base"), link("upper"), joint("shoulder", "base", "upper"))
    welded = urdf("<link name='world'/>", *parts, joint("w", "world", "base", "fixed"))
    assert load_model(welded)[0].nv == 1
    assert load_model(welded, floating_base=True)[0].nv == 7
    # A parent "world" need not be declared.
    floating = urdf(*parts, joint("w", "world", "base", "floating"))
    assert load_model(floating)[0].nv == 7
    assert load_model(floating, floating_base=False)[0].nv == 1
    sliding = urdf("<link name='world'/>", *parts, joint("w", "world", "base", "prismatic"))
    assert load_model(sliding)[0].nv == 2
    refused(sliding, "'w'", "prismatic", "floating_base", floating_base=True)


def test_link_that_floats_on_a_link_is_free_where_it_was() -> None:
    bent = "<origin xyz='0.1 0.2 0.3' rpy='0.4 0.5 0.6'/>"
    parts = (link("base"), link("upper"), link("tool"), link("tip"))
    shoulder = joint("shoulder", "base", "upper").replace("<origin xyz='0.5 0 0'/>", bent)
    tool = joint("grip", "upper", "tool", "{kind}").replace("<origin xyz='0.5 0 0'/>", bent)
    text = urdf(*parts, shoulder, tool, joint("wrist", "tool", "tip"))
    fixed, _ = load_model(text.format(kind="fixed"), fuse_static=False)
    model, report = load_model(text.format(kind="floating"))
    assert has(report, "Links on floating joints", "'grip'")
    assert [int(kind) for kind in model.jnt_type] == [3, 0, 3]
    here, there = mujoco.MjData(model), mujoco.MjData(fixed)
    mujoco.mj_kinematics(model, here)
    mujoco.mj_kinematics(fixed, there)
    for body in ("tool", "tip"):
        np.testing.assert_allclose(here.body(body).xpos, there.body(body).xpos, atol=1e-12)
        np.testing.assert_allclose(here.body(body).xmat, there.body(body).xmat, atol=1e-12)
    floating, _ = load_model(text.format(kind="floating"), floating_base=True)
    assert floating.nv == 6 + 1 + 6 + 1
    wrong = text.format(kind="floating").replace("0.1 0.2 0.3", "0.1 0.2")
    refused(wrong, "'shoulder'", "xyz", "three numbers")


def test_single_object_warns_that_it_cannot_move() -> None:
    with pytest.warns(AsperityWarning, match="floating_base=True"):
        load_model(urdf(link("object")))


@pytest.mark.parametrize("fuse", [True, False])
def test_fixed_base_does_not_collide_with_what_it_carries(fuse: bool) -> None:
    # All boxes overlap: only the neighbours may pass through each other.
    near = "<origin xyz='0.01 0 0'/>"
    text = urdf(
        *(link(name) for name in ("base", "foot", "upper", "cuff", "lower")),
        joint("f", "base", "foot", "fixed").replace("<origin xyz='0.5 0 0'/>", near),
        joint("s", "foot", "upper").replace("<origin xyz='0.5 0 0'/>", near),
        joint("c", "upper", "cuff", "fixed").replace("<origin xyz='0.5 0 0'/>", near),
        joint("e", "cuff", "lower").replace("<origin xyz='0.5 0 0'/>", near),
    )
    model, report = load_model(text, fuse_static=fuse)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    names = {"base", "foot"}
    touching = {
        tuple(sorted(model.body(model.geom_bodyid[geom]).name for geom in geoms))
        for geoms in data.contact.geom
    }
    assert touching
    assert all("lower" in pair and names & set(pair) for pair in touching)
    assert has(report, "overlap", "'lower'", "exclude_overlaps=True")
    model, report = load_model(text, fuse_static=fuse, exclude_overlaps=True)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ncon == 0
    assert has(report, "do not collide")
    # A floor still does.
    assert model.geom_contype.all()


def test_overlaps_are_sought_within_the_joint_limits() -> None:
    limit = "<limit lower='1.5' upper='2' effort='1' velocity='1'/>"
    text = urdf(
        *(link(name) for name in "abc"),
        joint("ab", "a", "b"),
        joint("bc", "b", "c", "revolute", limit).replace("0.5 0 0", "-0.5 0 0"),
    )
    assert has(load_model(text)[1], "overlap", "'a'", "'c'")
    slide = "<limit lower='0.5' upper='2' effort='1' velocity='1'/>"
    text = urdf(
        *(link(name) for name in "abc"),
        joint("ab", "a", "b"),
        joint("bc", "b", "c", "prismatic", slide).replace("0.5 0 0", "-0.5 0 0"),
    )
    assert not has(load_model(text)[1], "overlap")


def test_fusing_is_counted() -> None:
    text = urdf(
        link("a"), link("b"), link("tool"), joint("j", "a", "b"), joint("f", "b", "tool", "fixed")
    )
    model, report = load_model(text)
    assert model.nbody == 3
    assert has(report, "Fused 1")
    model, report = load_model(text, fuse_static=False)
    assert model.nbody == 4
    assert not has(report, "Fused")


def test_several_roots_are_named() -> None:
    _, report = load_model(urdf(link("a"), link("b"), link("c"), joint("j", "a", "b")))
    assert has(report, "'a'", "'c'", "no parent")


# --- URDF: joints ----------------------------------------------------------------------------


def test_mimic_becomes_an_equality() -> None:
    text = urdf(
        *(link(name) for name in "abc"),
        joint("ab", "a", "b"),
        joint("bc", "b", "c", more="<mimic joint='ab' multiplier='-2' offset='0.5'/>"),
    )
    model, report = load_model(text)
    assert model.neq == 1
    assert model.eq_type[0] == mujoco.mjtEq.mjEQ_JOINT
    np.testing.assert_allclose(model.eq_data[0, :2], [0.5, -2])
    assert (model.eq_obj1id[0], model.eq_obj2id[0]) == (model.joint("bc").id, model.joint("ab").id)
    assert has(report, "Mimic", "'bc'")


@pytest.mark.parametrize("integrator", [Icf(time_step=2e-3), Cenic(), Midas(time_step=2e-3)])
def test_a_mimic_joint_keeps_its_own_velocity_limit(integrator: Integrator) -> None:
    """Also one that mimics a mimic joint: |4 v| ≤ 2, below the leader's own limit of 1."""

    def limit(speed: float) -> str:
        return f"<limit lower='-9' upper='9' effort='9' velocity='{speed}'/>"

    text = urdf(
        *(link(name) for name in "abcd"),
        joint("ab", "a", "b", more=limit(1.0)),
        joint("bc", "b", "c", more="<mimic joint='ab' multiplier='-2'/>" + limit(9.0)),
        joint("bd", "b", "d", more="<mimic joint='bc' multiplier='2'/>" + limit(2.0)),
    )
    model, _ = load_model(text)
    np.testing.assert_array_equal(velocity_limits(model), [0.5, 9.0, 2.0])
    model.opt.gravity[:] = 0.0
    model.geom_contype[:] = model.geom_conaffinity[:] = 0
    sim = Simulator(model, integrator=integrator)
    sim.data.qfrc_applied[0] = 5.0
    sim.advance_to(1.0)
    # Limits leave the 4000th part of what a step would gain.
    np.testing.assert_allclose(sim.data.qvel, [0.5, -1.0, -2.0], rtol=2e-3)


def test_a_joint_may_mimic_at_a_multiplier_of_nothing() -> None:
    limit = "<limit lower='-9' upper='9' effort='9' velocity='2'/>"
    text = urdf(
        *(link(name) for name in "abc"),
        joint("ab", "a", "b"),
        joint("bc", "b", "c", more=f"<mimic joint='ab' multiplier='0'/>{limit}"),
    )
    np.testing.assert_array_equal(velocity_limits(load_model(text)[0]), [np.inf, 2.0])


def test_damping_friction_and_effort_are_kept() -> None:
    more = "<limit lower='-1' upper='1' effort='3' velocity='2'/>"
    more += "<dynamics damping='0.3' friction='0.2'/>"
    model, report = load_model(urdf(link("a"), link("b"), joint("j", "a", "b", "revolute", more)))
    assert model.dof_damping[0] == 0.3
    assert model.dof_frictionloss[0] == 0.2
    np.testing.assert_allclose(model.jnt_actfrcrange[0], [-3, 3])
    assert not has(report, "elocity")
    np.testing.assert_array_equal(velocity_limits(model), [2.0])
    text = urdf(link("a"), link("b"), joint("j", "a", "b", "revolute", more.replace("'2'", "'0'")))
    model, report = load_model(text)
    assert np.isinf(velocity_limits(model)[0])
    assert has(report, "velocity limit of zero", "'j'")


def test_parts_of_what_was_loaded_may_be_deleted() -> None:
    more = "<limit lower='-1' upper='1' effort='3' velocity='2'/>"
    soft = "<gazebo reference='b'><kp>1e4</kp></gazebo>"
    text = urdf(link("a"), link("b"), joint("j", "a", "b", "revolute", more), soft)
    spec, _ = load_spec(text)
    spec.delete(spec.joint("j"))
    for geom in spec.body("b").geoms:
        spec.delete(geom)
    spec.worldbody.add_body(name="c").add_joint(name="k")
    spec.body("c").add_geom(size=[0.1, 0, 0])
    Simulator(spec, integrator=Icf(time_step=1e-3)).advance_to(0.01)
    # What a user writes must be there.
    spec.add_text(name="asperity:joint:j", data="velocity_limit=2")
    with pytest.raises(ModelError, match="no hinge or slide is named 'j'"):
        Simulator(spec, integrator=Icf(time_step=1e-3))


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("lower='0' upper='0'", "both zero"),
        ("lower='0.1' upper='0.1'", "without limits"),
        ("lower='1' upper='-1'", "without limits"),
        ("lower='1'", "without limits"),
    ],
)
def test_limits_without_room_between_them_are_noted(ends: str, said: str) -> None:
    more = f"<limit {ends} effort='3' velocity='2'/>"
    text = urdf(link("a"), link("b"), joint("stuck", "a", "b", "revolute", more))
    model, report = load_model(text)
    assert not model.jnt_limited[0]
    assert has(report, "'stuck'", said)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_an_end_of_limits_that_is_left_out_is_zero(kind: str) -> None:
    for end, expected in (("lower='-1.5'", [-1.5, 0.0]), ("upper='0.5'", [0.0, 0.5])):
        more = f"<limit {end} effort='3' velocity='2'/>"
        model, report = load_model(urdf(link("a"), link("b"), joint("j", "a", "b", kind, more)))
        assert model.jnt_limited[0]
        np.testing.assert_array_equal(model.jnt_range[0], expected)
        assert not has(report, "'j'", "limits")


def test_elements_that_are_left_out_are_counted() -> None:
    text = urdf(
        link("a"), link("b"), joint("j", "a", "b"), "<transmission/><gazebo/><transmission/>"
    )
    report = load_model(text)[1]
    assert has(report, "Left out", "2 <transmission>", "1 <gazebo>")
    assert not has(report, "gnored")
    more = "<gazebo reference='a'><plugin><speed>3</speed></plugin><maxSlip>1</maxSlip></gazebo>"
    report = load_model(text.replace("<gazebo/>", f"<loop_joint/>{more}"))[1]
    assert has(report, "Ignored, because URDF has no", "1 <loop_joint>")
    assert has(report, "Ignored of Bullet's and Gazebo's elements: maxSlip.")
    more = "<gazebo reference='a'><kd>3</kd></gazebo>"  # of no spring
    report = load_model(text.replace("<gazebo/>", more))[1]
    assert has(report, "Ignored of Bullet's and Gazebo's elements: kd.")


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("<surface><mu1>1</mu1></surface>", ""),
        ("<gravity>half</gravity>", "1 <gravity> of <link>"),
        ("<gravity>0</gravity>", ""),
        ("<kinematic>1</kinematic>", "1 <kinematic> of <link>"),
        ("<gravity>1</gravity><kinematic>0</kinematic><origin xyz='0 0 0' rpy='0 -0 0.0'/>", ""),
        ("<self_filter><geometry><box size='1 1 1'/></geometry></self_filter>", ""),
        ("<visual><geometry><box size='1 1 1'/><plane/></geometry></visual>", ""),
        (f"<collision>{BOX}<verbose value='X'/><material name='grey'/></collision>", ""),
        (f"<collision>{BOX}<bounce value='.5'/></collision>", "1 <bounce> of <collision>"),
    ],
)
def test_what_means_nothing_inside_a_link_is_said(inside: str, said: str) -> None:
    _, report = load_model(urdf(link("a", visual=inside)))
    ignored = [note for note in report.notes if note.startswith("Ignored")]
    assert ignored == ([f"Ignored, because URDF has no such elements: {said}."] if said else [])


def test_what_means_nothing_inside_a_joint_is_said() -> None:
    more = "<joint_properties damping='{}' friction='0.0'/><safety_controller k_velocity='1'/>"
    for damping, said in (("0.1", True), (".0", False)):
        text = urdf(link("a"), link("b"), joint("j", "a", "b", more=more.format(damping)), "<x/>")
        _, report = load_model(text)
        assert has(report, "Ignored", "1 <joint_properties> of <joint>") == said
        assert has(report, "Ignored", "1 <x>")


SLIDER = """<robot name="box"><link name="base">
  <inertial><mass value="2"/>
    <inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size=".4 .4 .1"/></geometry></collision>{contact}</link>{more}</robot>"""


@pytest.mark.parametrize(
    ("contact", "more"),
    [
        ("<contact><lateral_friction value='.3'/></contact>", ""),
        ("", "<gazebo reference='base'><mu1>.3</mu1><mu2>.3</mu2></gazebo>"),
        ("", "<gazebo reference='base'><mu1 value='.3'/></gazebo>"),
        ("<surface><friction><ode><mu1>.3</mu1><mu2>.3</mu2></ode></friction></surface>", ""),
        (
            "",
            "<gazebo reference='base'><collision><surface><friction><ode><mu>.3</mu></ode>"
            "</friction></surface></collision></gazebo>",
        ),
    ],
)
def test_friction_of_bullet_and_gazebo_slows_a_box(contact: str, more: str) -> None:
    """By μ g, although MuJoCo takes the larger coefficient of two, and the floor's is 1."""
    spec, _ = load_spec(SLIDER.format(contact=contact, more=more), floating_base=True)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[0, 0, -0.05])
    sim = Simulator(spec, integrator=Icf(time_step=1e-3))
    sim.advance_to(0.2)
    sim.data.qvel[0] = 2.0
    sim.advance_to(0.4)
    assert sim.data.qvel[0] == pytest.approx(2.0 - 0.3 * 9.81 * 0.2, rel=1e-3)
    assert not has(sim.load_report, "Ignored of")


def test_spinning_and_rolling_friction_are_lengths_in_bullet() -> None:
    contact = (
        "<contact><lateral_friction value='.7'/><spinning_friction value='.02'/>"
        "<rolling_friction value='.01'/><stiffness value='1e4'/><inertia_scaling value='1'/>"
        "</contact>"
    )
    model, report = load_model(SLIDER.format(contact=contact, more=""), floating_base=True)
    np.testing.assert_array_equal(model.geom_friction, [[0.7, 0.02, 0.01]])
    assert model.geom_condim[0] == 6
    assert not has(report, "Ignored of")


@pytest.mark.parametrize("prefix", ["", "left_"])
@pytest.mark.parametrize(
    ("contact", "more"),
    [
        ("<contact><stiffness value='1e4'/><damping value='50'/></contact>", ""),
        ("", "<gazebo reference='base'><kp>1e4</kp><kd>50</kd></gazebo>"),
        ("<surface><contact><ode><kp>1e4</kp><kd>50</kd></ode></contact></surface>", ""),
    ],
)
def test_contact_has_the_stiffness_of_bullet_and_gazebo(
    contact: str, more: str, prefix: str
) -> None:
    """A box of 2 kg rests m g/(4 k) deep on four springs, also as a part of a scene."""
    robot, _ = load_spec(SLIDER.format(contact=contact, more=more), floating_base=True)
    spec = mujoco.MjSpec()
    spec.attach(robot, prefix=prefix, frame=spec.worldbody.add_frame())
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[0, 0, -0.05])
    sim = Simulator(spec, integrator=Icf(time_step=2e-3))
    sim.advance_to(1.0)
    assert sim.data.qpos[2] == pytest.approx(-2.0 * 9.81 / 4e4, rel=1e-4)
    assert not sim.load_report.notes or not has(sim.load_report, "rigid")
    assert has(Simulator(spec, integrator=Midas()).load_report, "Midas keeps contacts rigid")


def test_a_box_rebounds_by_the_restitution_of_bullet() -> None:
    contact = "<contact><stiffness value='1e5'/><restitution value='.4'/></contact>"
    spec, _ = load_spec(SLIDER.format(contact=contact, more=""), floating_base=True)
    spec.option.gravity = [0, 0, 0]
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[0, 0, -0.06])
    sim = Simulator(spec, integrator=Cenic(accuracy=1e-5))
    sim.data.qvel[2] = -1.0
    sim.advance_to(0.1)
    assert sim.data.qvel[2] == pytest.approx(0.4, rel=1e-2)
    # A single point of linear dissipation, which does not pull, does so with all its mass.
    geom = spec.geom("base 0")
    geom.type, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, [0.05, 0, 0]
    sim = Simulator(spec, integrator=Sap(time_step=1e-5, resolve_impacts=False))
    sim.data.qvel[2] = -1.0
    sim.advance_to(0.05)
    assert sim.data.qvel[2] == pytest.approx(0.4, rel=2e-3)


def test_inertia_is_scaled_as_in_bullet() -> None:
    contact = "<contact><inertia_scaling value='3'/></contact>"
    model, _ = load_model(SLIDER.format(contact=contact, more=""), floating_base=True)
    np.testing.assert_allclose(model.body("base").inertia, 0.03)


def test_links_that_shall_not_meet_each_other_pass_through() -> None:
    parts = [link(name) for name in "abcd"]
    joints = [joint("ab", "a", "b"), joint("bc", "b", "c"), joint("bd", "b", "d")]
    off = "<gazebo reference='{}'><selfCollide>{}</selfCollide></gazebo>"
    for word, count in (("false", 1), ("true", 0)):
        text = urdf(*parts, *joints, off.format("c", "false"), off.format("d", word))
        model, report = load_model(text, floating_base=True)
        assert model.nexclude == count
        assert not has(report, "gnored")


def test_where_gazebo_and_a_link_disagree_gazebo_holds() -> None:
    inside = "<surface><mu1>.9</mu1><kp>1e4</kp></surface>"
    more = "<gazebo reference='base'><mu1>{}</mu1></gazebo>"
    for friction, said in ((0.3, True), (0.9, False)):
        text = SLIDER.format(contact=inside, more=more.format(friction))
        spec, report = load_spec(text, floating_base=True)
        assert spec.body("base").geoms[0].friction[0] == friction
        assert any("stiffness=10000.0" in one.data for one in spec.texts)
        assert has(report, "<gazebo> says something else", "'base'") == said
        assert not has(report, "gnored")


def test_stops_that_give_way_are_named_and_others_are_as_rigid_as_all() -> None:
    limit = "<limit lower='-1' upper='0' effort='30' velocity='3'/>"
    more = "<gazebo reference='j'><stopKp>{}</stopKp><stopKd>{}</stopKd></gazebo>"
    for stiffness, damping, said in ((1e6, 1, False), (1e4, 1, True), (1e6, 1e3, True)):
        knee = joint("j", "a", "b", "revolute", limit)
        text = urdf(link("a"), link("b"), knee, more.format(stiffness, damping))
        assert has(load_model(text)[1], "Ignored of", "stopKp, stopKd") == said


def test_joints_begin_where_gazebo_wants_them_in_a_keyframe() -> None:
    limit = "<limit lower='-2' upper='0' effort='30' velocity='3'/>"
    start = "<gazebo reference='{}'><initial_joint_position>-1.5</initial_joint_position></gazebo>"
    parts = link("a"), link("b"), link("c"), joint("i", "a", "b")
    text = urdf(*parts, joint("j", "b", "c", "revolute", limit), start.format("j"))
    model, report = load_model(text)
    assert not model.qpos0.any()
    sim = Simulator(model, keyframe="initial")
    np.testing.assert_array_equal(sim.data.qpos, [0.0, -1.5])
    assert has(report, "Keyframe 'initial'", "'j'")
    _, report = load_model(text.replace("reference='j'", "reference='a'"))
    assert has(report, "Ignored of", "initial_joint_position")
    refused(text.replace("-1.5", "inf"), "initial_joint_position", "line 1", "'inf'")


@pytest.mark.parametrize(
    ("contact", "more"),
    [
        ("", "<gazebo reference='base'><turnGravityOff>true</turnGravityOff></gazebo>"),
        ("", "<gazebo reference='base'><gravity>false</gravity></gazebo>"),
        ("<gravity>0</gravity>", ""),
    ],
)
def test_a_link_without_weight_floats(contact: str, more: str) -> None:
    spec, report = load_spec(SLIDER.format(contact=contact, more=more), floating_base=True)
    assert not has(report, "gnored")
    sim = Simulator(spec, integrator=Icf(time_step=1e-3))
    sim.advance_to(0.5)
    assert abs(sim.data.qpos[2]) < 1e-12


@pytest.mark.parametrize("value", ["-1", "nan", "much"])
def test_bad_friction_is_named_with_its_line(value: str) -> None:
    contact = f"<contact><lateral_friction value='{value}'/></contact>"
    text = SLIDER.format(contact=contact, more="")
    refused(text, "lateral_friction", "line 4", f"'{value}'")


# --- URDF: inertia ---------------------------------------------------------------------------


def test_links_without_inertia() -> None:
    model, report = load_model(urdf(link("a"), link("b", inertial=None), joint("j", "a", "b")))
    assert model.body("b").mass[0] == pytest.approx(1.0)  # 0.1 m cubed at 1000 kg/m³
    assert has(report, "without inertia", "'b'")


def test_massless_links_on_the_way_get_a_little() -> None:
    text = urdf(
        link("a"),
        "<link name='x'/><link name='y'><inertial><mass value='0'/></inertial></link>",
        link("b"),
        joint("ax", "a", "x"),
        joint("xy", "x", "y"),
        joint("yb", "y", "b"),
    )
    model, report = load_model(text)
    assert model.nv == 3
    assert model.body("x").mass[0] == pytest.approx(1e-6)
    assert has(report, "'x'", "'y'", "1e-06 kg")


def test_massless_moving_leaf_is_refused() -> None:
    refused(
        urdf(link("a"), "<link name='tip'/>", joint("j", "a", "tip")), "'tip'", "'j'", "<inertial>"
    )
    # A frame that does not move is fine.
    load_model(
        urdf(
            link("a"),
            link("b"),
            "<link name='tip'/>",
            joint("j", "a", "b"),
            joint("f", "b", "tip", "fixed"),
        )
    )


def test_impossible_inertia_is_replaced_by_its_mean() -> None:
    bad = INERTIA.format(mass=1, i=0.1).replace("izz='0.1'", "izz='0.4'")
    singular = INERTIA.format(mass=1, i=0.1).replace("='0'", "='0.1'")
    for inertial in (bad, singular):
        text = urdf(link("a"), link("b", inertial=inertial), joint("j", "a", "b"))
        model, report = load_model(text)
        mean = 0.2 if inertial is bad else 0.1
        np.testing.assert_allclose(model.body("b").inertia, mean)
        assert has(report, "no body can have", "'b'")
        stern = text.replace(
            "<link name='a'>",
            "<mujoco><compiler balanceinertia='false'/></mujoco><link name='a'>",
        )
        refused(stern, "'b'", "inertia")


def test_mass_without_moments_is_taken_for_a_ball() -> None:
    point = INERTIA.format(mass=4.18879, i=0)  # 4/3 π (0.1 m)³ of water
    model, report = load_model(urdf(link("a"), link("b", inertial=point), joint("j", "a", "b")))
    np.testing.assert_allclose(model.body("b").inertia, 0.4 * 4.18879 * 0.01, rtol=1e-5)
    assert has(report, "ball", "'b'")


def test_bad_numbers_are_refused() -> None:
    for mass, word in (("-1", "-1"), ("nan", "nan"), ("heavy", "heavy")):
        inertial = INERTIA.format(mass=mass, i=0.1)
        refused(urdf(link("a"), link("b", inertial=inertial), joint("j", "a", "b")), word)
    refused(urdf(link("a", inertial="<mass value='1'/>")), "'a'", "<inertia>")


# --- URDF: structure -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], ["no <link>"]),
        ([link("a"), link("a")], ["'a'", "twice"]),
        ([link("a"), link("b"), joint("j", "a", "c")], ["'j'", "'c'", "does not exist"]),
        ([link("a"), link("b"), joint("j", "a", "b", "elastic")], ["'j'", "elastic", "revolute"]),
        (
            [link("a"), link("b"), link("c"), *[joint(n, p, "c") for n, p in ("ja", "kb")]],
            ["'c'", "'j'", "'k'", "equality"],
        ),
        ([link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")], ["loop"]),
        ([link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("j", "b", "c")], ["'j'"]),
        ([link("a"), link("b"), "<joint name='j' type='fixed'/>"], ["'j'", "<parent"]),
        (
            [link("a"), link("b"), joint("j", "a", "b", more="<mimic joint='ghost'/>")],
            ["'j'", "'ghost'"],
        ),
        ([link("a"), "<xacro:include filename='x'/>"], ["xacro:include", "line 1"]),
    ],
)
def test_broken_structure_is_refused(parts: list[str], words: list[str]) -> None:
    refused(urdf(*parts), "XML string", *words)


def test_broken_xml_is_refused_with_its_line() -> None:
    refused("<robot name='r'>\n<link name='a'>\n</robot>", "line 3", "mismatched")


def test_lenient_where_mujoco_is() -> None:
    text = "<?xml version='1.0'?>\n<!-- one -- two -->\n" + urdf(
        link("a"), link("b"), joint("j", "a", "b", more="<vendor:gain vendor:value='3'/>")
    )
    assert load_model(text)[0].nv == 1
    assert load_model(text + "\r\n\0")[0].nv == 1
    refused(text.replace("</robot>", "\0</robot>"), "well-formed")


def test_large_models_are_suspected_of_millimetres() -> None:
    text = urdf(link("a"), link("b"), joint("j", "a", "b")).replace("0.1 0.1 0.1", "300 300 300")
    assert has(load_model(text)[1], "millimetres")
