"""What Asperity refuses to simulate, and what it says it ignores."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.errors import ModelError
from asperity.plant.model.support import check_supported

SLIDER = "<body name='{0}'><joint name='{0}' type='slide'/><geom name='{0}' size='0.1'/></body>"


def model(
    *, bodies: int = 3, body: str = "", sections: str = "", option: str = ""
) -> mujoco.MjModel:
    sliders = "".join(SLIDER.format(name) for name in "abcdef"[:bodies])
    text = f"<mujoco>{option}<worldbody>{sliders}{body}</worldbody>{sections}</mujoco>"
    return mujoco.MjModel.from_xml_string(text)


def tendon(attributes: str, joints: str = "abc") -> str:
    parts = "".join(f"<joint joint='{name}' coef='1'/>" for name in joints)
    return f"<tendon><fixed name='rope' {attributes}>{parts}</fixed></tendon>"


def refused(model: mujoco.MjModel, *words: str) -> None:
    with pytest.raises(ModelError) as caught:
        check_supported(model)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_plain_model_has_no_notes() -> None:
    assert check_supported(model()) == ()


def test_flex() -> None:
    flex = (
        "<flexcomp name='cloth' type='grid' count='3 3 1' spacing='0.1 0.1 0.1' dim='2' "
        "mass='1' radius='0.01'><edge equality='true'/></flexcomp>"
    )
    refused(model(body=flex), "Flex 'cloth'", "deformable")


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ("gaintype='user'", ["user-defined"]),
        ("biastype='user'", ["user-defined"]),
        ("dyntype='user' actdim='1'", ["user-defined"]),
    ],
)
def test_actuators(attributes: str, words: list[str]) -> None:
    section = f"<actuator><general name='act' joint='a' {attributes}/></actuator>"
    refused(model(sections=section), "Actuator 'act'", *words)


def test_built_in_actuators_are_fine() -> None:
    section = (
        "<actuator><position joint='a' kp='1'/><velocity joint='a' kv='1'/><motor joint='b'/>"
        "<muscle joint='b' lengthrange='0 1'/><intvelocity joint='c' kp='1'/>"
        "</actuator>"
    )
    assert check_supported(model(sections=section)) == ()


@pytest.mark.parametrize(
    "kind",
    [
        "<dcmotor name='x' joint='c' motorconst='1' resistance='1'/>",
        "<pid name='x' joint='c' kp='1' ki='1'/>",
    ],
)
def test_actuators_with_inner_states(kind: str) -> None:
    refused(model(sections=f"<actuator>{kind}</actuator>"), "'x'", "inner states")


def test_adhesion_and_plasticity() -> None:
    refused(
        model(sections="<actuator><adhesion name='cup' body='a' ctrlrange='0 1'/></actuator>"),
        "'cup'",
    )
    ball = "<body name='z' pos='3 0 0'><freejoint/><geom name='z' size='0.1' {}/></body>"
    sticky = model(body=ball.format("adhesion='1'"))
    refused(sticky, "Geom 'z'", "adhesion", "Cenic, Icf, Sap, Tamsi and Midas")
    assert check_supported(sticky, every_friction=True) == ()
    late = model(body=ball.format(""))
    late.geom_adhesion[-1] = 1.0
    with pytest.raises(ModelError, match="Geom 'z' has adhesion, and the model was compiled"):
        check_supported(late, every_friction=True)
    assert check_supported(model(body=ball.format("surfacevel='1 0 0 0 0 0'"))) == ()
    wire = "<body><joint name='w' stiffness='1' springyield='0.1'/><geom size='0.1'/></body>"
    refused(model(body=wire), "Joint 'w'", "springyield")


def test_midas_refuses_adhesion_that_came_later() -> None:
    late = model(body="<body pos='3 0 0'><freejoint/><geom name='z' size='0.1'/></body>")
    late.geom_adhesion[-1] = 5.0
    with pytest.raises(ModelError, match="Geom 'z' has adhesion, and the model was compiled"):
        asp.Simulator(late, integrator=asp.Midas())


def test_equalities() -> None:
    section = (
        "<equality><connect body1='a' body2='b' anchor='0 0 0'/><weld body1='a' body2='b'/>"
        "<joint joint1='a' joint2='b'/><tendon name='e' tendon1='rope'/></equality>"
    )
    fine = model(sections=section + tendon("", "ab"))
    assert check_supported(fine) == ()
    fine.eq_type[3] = mujoco.mjtEq.mjEQ_DISTANCE
    refused(fine, "Equality constraint 'e'", "'distance'")


def test_tendons_may_span_anything() -> None:
    extra = (
        "<equality><tendon tendon1='rope'/></equality><actuator><motor tendon='rope'/></actuator>"
    )
    attributes = "range='0 1' stiffness='1' damping='1' frictionloss='1' armature='1'"
    assert check_supported(model(sections=tendon(attributes) + extra)) == ()


@pytest.mark.parametrize(
    "name",
    ["control", "passive", "contactfilter", "act_dyn", "act_gain", "act_bias", "sensor", "time"],
)
def test_global_callbacks(name: str) -> None:
    subject = model()
    install = getattr(mujoco, f"set_mjcb_{name}")
    install(lambda *_: 0)
    try:
        refused(subject, f"mjcb_{name}", "control=")
    finally:
        install(None)
    assert check_supported(subject) == ()


def test_plugins() -> None:
    pid = (
        "<extension><plugin plugin='mujoco.pid'/></extension><actuator>"
        "<plugin name='act' joint='a' plugin='mujoco.pid' actdim='1'>"
        "<config key='ki' value='2'/></plugin></actuator>"
    )
    subject = model(sections=pid)
    assert check_supported(subject) == ()
    subject.plugin_statenum[0] = 1
    refused(subject, "Actuator 'act'", "state of their own")
    subject = model()
    subject.body_plugin[1] = 0
    refused(subject, "Body 'a'", "plugin")
    subject = model()
    subject.geom_plugin[1] = 0
    refused(subject, "Geom 'b'", "plugin")


def test_options() -> None:
    flag = "<option><flag {}='enable'/></option>"
    notes = check_supported(model(option=flag.format("speculative")))
    assert any("speculative" in note for note in notes)
    slept = model(option=flag.format("sleep"))
    assert any("Nothing sleeps" in note for note in check_supported(slept, sleep=False))
    assert check_supported(slept, sleep=True) == ()
    asleep = "<body name='z' sleep='init' pos='3 0 0'><freejoint/><geom size='0.1'/></body>"
    notes = check_supported(model(body=asleep, option=flag.format("sleep")))
    assert any("Body 'z'" in note and "awake" in note for note in notes)
    assert check_supported(model(body=asleep)) == ()
    notes = check_supported(model(body=asleep, option=flag.format("sleep")), starts_asleep=True)
    assert not any("awake" in note for note in notes)
    assert any("Nothing falls asleep" in note for note in notes)
    for name in ("override", "ipc"):
        option = flag.format(name).replace("<option>", "<option integrator='discrete'>")
        notes = check_supported(model(option=option))
        assert any(f'{name}="enable"' in note for note in notes)
    notes = check_supported(model(option="<option noslip_iterations='3'/>"))
    assert any("noslip" in note for note in notes)


@pytest.mark.parametrize(
    ("field", "index", "words"),
    [
        ("body_mass", 2, ["Body 'b'", "mass"]),
        ("body_inertia", (1, 0), ["Body 'a'", "inertia"]),
        ("jnt_stiffness", 0, ["Joint 'a'", "stiffness"]),
        ("jnt_stiffnesspoly", (2, 1), ["Joint 'c'", "stiffnesspoly"]),
        ("dof_damping", 1, ["Joint 'b'", "damping"]),
        ("dof_armature", 2, ["Joint 'c'", "armature"]),
        ("dof_frictionloss", 0, ["Joint 'a'", "frictionloss"]),
        ("geom_friction", (0, 0), ["Geom 'a'", "friction"]),
        ("geom_size", (2, 0), ["Geom 'c'", "size"]),
        ("jnt_range", (1, 0), ["Joint 'b'", "range"]),
        ("qpos0", 2, ["Joint 'c'", "qpos0"]),
        ("tendon_stiffness", 0, ["Tendon 'rope'", "stiffness"]),
        ("actuator_gainprm", (1, 0), ["Actuator 'pid'", "gainprm"]),
        ("actuator_gear", (1, 0), ["Actuator 'pid'", "gear"]),
        ("actuator_ctrlrange", (2, 0), ["Actuator 'pid'", "ctrlrange"]),
        ("eq_data", (0, 1), ["Equality constraint 'tie'", "data"]),
        ("pair_friction", (0, 0), ["Contact pair 'p'", "friction"]),
    ],
)
def test_not_finite_is_named(field: str, index: int | tuple[int, int], words: list[str]) -> None:
    subject = model(
        sections=tendon("", "ab") + "<actuator><motor name='m' joint='a'/>"
        "<pid name='pid' joint='b' kp='1'/></actuator>"
        "<equality><joint name='tie' joint1='a' joint2='b'/></equality>"
        "<contact><pair name='p' geom1='a' geom2='b'/></contact>"
    )
    check_supported(subject)
    getattr(subject, field)[index] = np.nan
    refused(subject, *words, "not finite")


def test_options_must_be_finite() -> None:
    subject = model()
    subject.opt.gravity[2] = np.inf
    refused(subject, "gravity")
    for step in (0.0, -0.1, np.nan):
        subject = model()
        subject.opt.timestep = step
        refused(subject, "timestep")


def test_infinite_ranges_mean_no_limit() -> None:
    subject = model()
    subject.jnt_range[0] = (-np.inf, np.inf)
    assert check_supported(subject) == ()


def test_friction_that_is_simplified_is_noted() -> None:
    ball = "<body pos='3 0 0'><freejoint/><geom name='z' size='0.1' condim='{}' {}/></body>"
    for condim, noted in ((1, False), (3, False), (4, True), (6, True)):
        notes = check_supported(model(body=ball.format(condim, "")))
        assert any("'z'" in note and "rolling" in note for note in notes) == noted
        assert check_supported(model(body=ball.format(condim, "")), every_friction=True) == ()
    ghost = ball.format(6, "contype='0' conaffinity='0'")
    assert check_supported(model(body=ghost)) == ()
    pair = "<contact><pair name='p' geom1='a' geom2='b' condim='{}' friction='{} 0.5'/></contact>"
    notes = check_supported(model(sections=pair.format(3, 0.4)))
    assert any("'p'" in note and "both directions" in note for note in notes)
    assert check_supported(model(sections=pair.format(3, 0.5))) == ()
    notes = check_supported(model(sections=pair.format(4, 0.5)))
    assert any("'p'" in note and "rolling" in note for note in notes)


@pytest.mark.parametrize("integrator", [asp.Cenic(sleep=False), asp.Icf(sleep=False)])
def test_bodies_that_sleep_are_simulated_like_the_others(integrator: asp.Icf | asp.Cenic) -> None:
    """MuJoCo looks for no contacts of what sleeps, so that it would sink in its first step."""
    ball = "<body name='z' {} pos='0 0 0.0999'><freejoint/><geom name='z' size='0.1'/></body>"
    floor = "<geom type='plane' size='1 1 1'/>"
    flag = "<option><flag sleep='enable'/></option>"
    states = []
    for attribute in ("sleep='init'", ""):
        subject = model(bodies=0, body=floor + ball.format(attribute), option=flag)
        data = mujoco.MjData(subject)
        assert (data.tree_asleep[0] >= 0) == bool(attribute)
        sim = asp.Simulator(subject, data=data, integrator=integrator)
        assert len(sim.contacts.force) == 1
        sim.advance_to(0.05)
        sim.reset()
        sim.advance_to(0.1)
        states.append(sim.data.qpos.copy())
    np.testing.assert_array_equal(*states)


SLIDES = (
    "<body name='sled'><joint name='x' type='slide' axis='1 0 0'/>"
    "<joint name='y' type='slide' axis='0 1 0'/>"
    "<joint name='diagonal' type='slide' axis='1 1 0' {}/><geom size='0.1' mass='1'/></body>"
)


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=2e-3), asp.Cenic()])
def test_slides_against_each_other(integrator: asp.Integrator) -> None:
    """Opposite motions of three slides in a plane have no inertia: M is singular."""
    for lost in ("", "range='-1 1' limited='true'"):
        with pytest.raises(
            ModelError, match="'diagonal' moves its body in a direction in which 'x', 'y' can"
        ):
            asp.Simulator(model(bodies=0, body=SLIDES.format(lost)), integrator=integrator)
    for held in ("armature='0.1'", "damping='1'", "stiffness='10'", "frictionloss='1'"):
        sled = model(bodies=0, body=SLIDES.format(held), option="<option gravity='1 0 0'/>")
        sim = asp.Simulator(sled, integrator=integrator)
        assert sim.advance_to(0.5).success
        place = sim.data.body("sled").xpos
        assert place[:2] == pytest.approx([0.125, 0.0], abs=1e-3)
