"""What decides which geoms touch, with which law, and on which kinds of bodies."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY, compile_mjcf, on_plane

import asperity as asp

ICF = asp.Icf(time_step=2e-3)
CENIC = asp.Cenic(accuracy=1e-4)
BOTH = pytest.mark.parametrize("setting", [ICF, CENIC], ids=["icf", "cenic"])
FLOOR = "<geom name='floor' type='plane' size='0 0 1'/>"


def _simulator(
    model: mujoco.MjModel,
    end: float,
    setting: asp.Cenic | asp.Icf = ICF,
    *,
    contact: asp.ContactParameters | None = None,
    qvel: list[float] | None = None,
) -> asp.Simulator:
    sim = asp.Simulator(model, integrator=setting, contact=contact)
    if qvel is not None:
        sim.data.qvel[:] = qvel
    assert sim.advance_to(end).success
    return sim


@pytest.mark.parametrize(
    ("mask", "touches"),
    [
        ("contype='1' conaffinity='1'", True),
        ("contype='0' conaffinity='0'", False),
        ("contype='2' conaffinity='2'", False),
        ("contype='2' conaffinity='1'", True),
        ("contype='1' conaffinity='2'", True),
    ],
)
def test_masks_decide_what_touches(mask: str, touches: bool) -> None:
    model = on_plane(f"type='box' size='0.1 0.1 0.1' mass='1' {mask}", position="0 0 0.1")
    sim = _simulator(model, 1.0)
    fallen = 0.1 - sim.data.qpos[2]
    assert fallen == pytest.approx(0.0 if touches else 0.5 * GRAVITY, abs=0.02)
    assert (len(sim.contacts.force) > 0) == touches


def _two_balls(sections: str) -> mujoco.MjModel:
    return compile_mjcf(
        FLOOR
        + "".join(
            f"<body name='{n}' pos='{x} 0 0.1'><freejoint/>"
            f"<geom name='{n}' size='0.1' mass='1' friction='1'/></body>"
            for n, x in (("a", 0.0), ("b", 0.3))
        ),
        sections=sections,
    )


def test_excluded_bodies_pass_through_each_other() -> None:
    free = "<contact><exclude body1='a' body2='b'/></contact>"
    through = _simulator(_two_balls(free), 0.5, qvel=[2.0, 0, 0, 0, 20, 0] + [0] * 6)
    assert through.data.qpos[0] > 0.8
    assert through.data.qpos[7] == pytest.approx(0.3, abs=1e-9)
    pushed = _simulator(_two_balls(""), 0.5, qvel=[2.0, 0, 0, 0, 20, 0] + [0] * 6)
    assert pushed.data.qpos[7] > 0.5


@BOTH
def test_a_pair_has_its_own_friction(setting: asp.Cenic | asp.Icf) -> None:
    pair = (
        "<contact><pair geom1='floor' geom2='box' condim='3' friction='0.2 0.2 0 0 0'/></contact>"
    )
    box = "<body pos='0 0 0.05'><freejoint/>"
    box += "<geom name='box' type='box' size='0.1 0.1 0.05' mass='1' friction='0.9'/></body>"
    for sections, mu in ((pair, 0.2), ("", 1.0)):
        sim = _simulator(
            compile_mjcf(FLOOR + box, sections=sections), 0.1, setting, qvel=[3.0, 0, 0, 0, 0, 0]
        )
        before = sim.data.qvel[0]
        sim.advance_to(0.2)
        # Floor and box alone: MuJoCo takes the larger coefficient, which is the floor's 1.
        assert before - sim.data.qvel[0] == pytest.approx(mu * GRAVITY * 0.1, rel=1e-2)


@BOTH
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
def test_condim_decides_about_friction(setting: asp.Cenic | asp.Icf, condim: int) -> None:
    model = on_plane(
        f"type='box' size='0.1 0.1 0.05' mass='1' friction='0.5' condim='{condim}'",
        position="0 0 0.05",
        plane=f"friction='0.5' condim='{condim}'",
    )
    sim = _simulator(model, 0.1, setting, qvel=[3.0, 0, 0, 0, 0, 0])
    before = sim.data.qvel[0]
    sim.advance_to(0.2)
    slowed = before - sim.data.qvel[0]
    expected = 0.0 if condim == 1 else 0.5 * GRAVITY * 0.1
    assert slowed == pytest.approx(expected, rel=1e-2, abs=1e-9)


@BOTH
def test_a_margin_makes_no_force_before_touching(setting: asp.Cenic | asp.Icf) -> None:
    model = on_plane("size='0.1' mass='1' margin='0.05'", plane="margin='0.05'")
    sim = asp.Simulator(model, integrator=setting)
    sim.data.qpos[2] = 0.15
    fall = math.sqrt(2 * 0.05 / GRAVITY)
    sim.advance_to(0.9 * fall)
    # Within the margin, seen, but falling freely.
    assert len(sim.contacts.force) == 1
    assert sim.contacts.signed_distance[0] > 0
    assert sim.contacts.normal_force[0] == 0
    assert sim.data.qvel[2] == pytest.approx(-GRAVITY * 0.9 * fall, rel=1e-9)
    sim.advance_to(10.0)
    assert 0.1 - sim.data.qpos[2] == pytest.approx(GRAVITY / 1e5, rel=1e-4)


@pytest.mark.parametrize("step", [1e-2, 1e-3])
@pytest.mark.parametrize("method", [asp.Icf, asp.Tamsi])
def test_what_just_touches_is_held_from_the_first_step_on(
    method: type[asp.Icf] | type[asp.Tamsi], step: float
) -> None:
    """m (v_z + g δt) = k δt (−δt v_z), but for damping: a box does not fall for a step."""
    stiffness, mass = 1e6, 1.0
    contact = asp.ContactParameters(stiffness=stiffness, dissipation=0.0)
    sim = asp.Simulator(
        on_plane(f"type='box' size='.1 .1 .1' mass='{mass}'", position="0 0 0.1"),
        integrator=method(time_step=step),
        contact=contact,
    )
    sim.step()
    four = 4 * stiffness * step**2
    assert sim.data.qvel[2] == pytest.approx(-GRAVITY * step / (1 + four / mass), rel=1e-6)
    assert len(sim.contacts.force) == 4


@BOTH
def test_a_belt_carries_a_box_to_its_speed(setting: asp.Cenic | asp.Icf) -> None:
    # MuJoCo: surface velocity of the geom in its own frame, linear and then angular.
    speed = 0.8
    model = compile_mjcf(
        f"<geom name='belt' type='box' size='5 0.5 0.05' surfacevel='{speed} 0 0 0 0 0' "
        "friction='0.4'/>"
        "<body pos='0 0 0.1'><freejoint/>"
        "<geom type='box' size='0.1 0.1 0.05' mass='1' friction='0.4'/></body>"
    )
    sim = _simulator(model, 0.05, setting)
    before = sim.data.qvel[0]
    sim.advance_to(0.15)
    # Carried along by sliding friction at first …
    assert sim.data.qvel[0] - before == pytest.approx(0.4 * GRAVITY * 0.1, rel=2e-2)
    # (the slip is that of the end of the last step, the state's)
    assert sim.contacts.slip_speed == pytest.approx(speed - sim.data.qvel[0], rel=1e-3)
    # … and then resting on the belt.
    sim.advance_to(3.0)
    assert sim.data.qvel[0] == pytest.approx(speed, abs=1e-4)
    assert np.abs(sim.data.qvel[1:]).max() < 1e-4
    expected = speed * 3.0 - speed**2 / (2 * 0.4 * GRAVITY)
    assert sim.data.qpos[0] == pytest.approx(expected, abs=5e-3)


@BOTH
def test_a_moving_mocap_body_pushes(setting: asp.Cenic | asp.Icf) -> None:
    model = compile_mjcf(
        FLOOR + "<body name='pusher' mocap='true' pos='-0.25 0 0.1'>"
        "<geom type='box' size='0.05 0.2 0.05'/></body>"
        "<body pos='0 0 0.1'><freejoint/>"
        "<geom type='box' size='0.1 0.1 0.1' mass='1' friction='0.5'/></body>"
    )
    sim = asp.Simulator(model, integrator=setting)
    for k in range(1, 401):
        sim.data.mocap_pos[0, 0] = -0.25 + 0.001 * k
        assert sim.advance_to(0.01 * k).success
    # The front face is at 0.2; the box in front of it, held by friction against its push.
    assert sim.data.qpos[0] == pytest.approx(0.15 - 0.0 + 0.15, abs=2e-2)
    assert sim.data.qpos[2] == pytest.approx(0.1, abs=1e-3)


@BOTH
@pytest.mark.parametrize("axis", [0, 2])
def test_what_is_welded_to_a_mocap_body_lifts_and_carries(
    setting: asp.Cenic | asp.Icf, axis: int
) -> None:
    """A mocap body itself does neither at this speed, which its note says."""
    plate = "<geom name='plate' type='box' size='0.5 0.5 0.05' mass='5'/>"
    told = "<body name='told' mocap='true' pos='0 0 -0.05'>{}</body>"
    box = (
        "<body pos='0 0 0.05'><freejoint/><geom type='box' size='0.05 0.05 0.05' mass='1'/></body>"
    )
    alone = asp.Simulator(compile_mjcf(told.format(plate) + box), integrator=setting)
    assert "plate" in next(note for note in alone.load_report.notes if "Mocap" in note)

    held = f"<body name='held' pos='0 0 -0.05' gravcomp='1'><freejoint/>{plate}</body>"
    weld = "<equality><weld body1='told' body2='held'/></equality>"

    def move(_model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.mocap_pos[0, axis] = (0.0, 0.0, -0.05)[axis] + 0.4 * data.time

    sim = asp.Simulator(
        compile_mjcf(told.format("") + held + box, sections=weld),
        integrator=setting,
        control=move,
        control_period=0.001,
    )
    assert not any("Mocap" in note for note in sim.load_report.notes)
    sim.advance_to(1.0)
    assert sim.data.qvel[6 + axis] == pytest.approx(0.4, rel=1e-2)
    assert sim.data.qpos[7 + axis] - sim.data.qpos[axis] == pytest.approx(
        (0.0, 0.0, 0.1)[axis], abs=0.02
    )


@pytest.mark.parametrize("joints", ["free", "slide", "ball", "hinges"])
def test_every_kind_of_tree_carries_its_weight(joints: str) -> None:
    """Contact forces add up to the weight whatever the joints above the contact are."""
    bodies = {
        "free": "<freejoint/><geom type='sphere' size='0.1' mass='2'/>",
        "slide": "<joint type='slide' axis='0 0 1'/><geom type='sphere' size='0.1' mass='2'/>",
        "ball": "<joint type='slide' axis='0 0 1'/><body><joint type='ball'/>"
        "<geom type='sphere' size='0.1' mass='2'/></body><inertial pos='0 0 0' mass='1e-6' "
        "diaginertia='1e-6 1e-6 1e-6'/>",
        "hinges": "<joint type='slide' axis='0 0 1'/><joint type='slide' axis='1 0 0'/>"
        "<joint type='hinge' axis='0 1 0'/><joint type='hinge' axis='1 0 0'/>"
        "<geom type='sphere' size='0.1' mass='2'/>",
    }
    model = compile_mjcf(FLOOR + f"<body pos='0 0 0.11'>{bodies[joints]}</body>")
    for setting in (ICF, CENIC):
        sim = _simulator(model, 5.0, setting)
        assert sim.contacts.force[0, 2] == pytest.approx(2 * GRAVITY, rel=1e-5)
        assert sim.contacts.signed_distance[0] == pytest.approx(-2 * GRAVITY / 1e5, rel=1e-5)


def test_trees_of_different_kinds_stack() -> None:
    # A plate on a vertical slide rests on a free box, which rests on a two-joint arm's end plate.
    model = compile_mjcf(
        "<body pos='0 0 1'><joint type='slide' axis='0 0 1' range='-1 0' limited='true'/>"
        "<geom type='box' size='0.3 0.3 0.02' mass='3'/>"
        "<body pos='0 0 0.1'><joint type='slide' axis='0 0 1' stiffness='5000' damping='200'/>"
        "<geom type='box' size='0.2 0.2 0.02' mass='1' contype='1'/></body></body>"
        "<body pos='0 0 1.17'><freejoint/><geom type='box' size='0.1 0.1 0.05' mass='2'/></body>"
        "<body pos='0 0 1.24'><joint type='slide' axis='0 0 1'/>"
        "<geom type='box' size='0.15 0.15 0.02' mass='0.5'/></body>"
        "<geom type='plane' size='0 0 1' pos='0 0 0.9'/>"
    )
    sim = _simulator(model, 5.0)
    by_pair: dict[tuple[int, int], float] = {}
    for geoms, force in zip(sim.contacts.geom, sim.contacts.normal_force, strict=True):
        key = tuple(int(g) for g in np.sort(geoms))
        by_pair[key] = by_pair.get(key, 0.0) + float(force)  # type: ignore[index]
    weights = sorted(by_pair.values())
    expected = [0.5 * GRAVITY, 2.5 * GRAVITY, 6.5 * GRAVITY]
    np.testing.assert_allclose(weights, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("contact", "stiffness"),
    [
        (asp.ContactParameters(stiffness=2e4), 2e4),
        (asp.ContactParameters(geoms={"ball": asp.Material(stiffness=3e4)}), 3e4),
        (asp.ContactParameters(bodies={"body": asp.Material(stiffness=4e4)}), 4e4),
        (
            asp.ContactParameters(
                geoms={"ball": asp.Material(stiffness=3e4), "floor": asp.Material(stiffness=6e4)}
            ),
            2e4,  # springs in series
        ),
        (asp.ContactParameters(pairs={("floor", "ball"): asp.Material(stiffness=5e4)}), 5e4),
        (asp.ContactParameters(pairs={("ball", "floor"): asp.Material(stiffness=5e4)}), 5e4),
    ],
)
def test_contact_parameters_decide_the_depth(
    contact: asp.ContactParameters, stiffness: float
) -> None:
    model = on_plane("name='ball' size='0.1' mass='1'", position="0 0 0.1")
    sim = _simulator(model, 5.0, contact=contact)
    assert 0.1 - sim.data.qpos[2] == pytest.approx(GRAVITY / stiffness, rel=1e-5)


def test_contact_parameters_in_the_model() -> None:
    text = (
        "<mujoco><custom><text name='asperity' data='stiffness=7e4'/></custom><worldbody>"
        f"{FLOOR}<body pos='0 0 0.1'><freejoint/><geom size='0.1' mass='1'/></body>"
        "</worldbody></mujoco>"
    )
    sim = asp.Simulator(text, integrator=ICF)
    sim.advance_to(5.0)
    assert 0.1 - sim.data.qpos[2] == pytest.approx(GRAVITY / 7e4, rel=1e-5)


def test_friction_given_in_python_wins_over_the_model_s() -> None:
    box = "type='box' size='0.1 0.1 0.05' mass='1' friction='0.9'"
    model = on_plane(box, position="0 0 0.05")
    sim = _simulator(
        model, 0.1, contact=asp.ContactParameters(friction=0.3), qvel=[3.0, 0, 0, 0, 0, 0]
    )
    before = sim.data.qvel[0]
    sim.advance_to(0.2)
    assert before - sim.data.qvel[0] == pytest.approx(0.3 * GRAVITY * 0.1, rel=1e-2)


def test_contacts_between_static_bodies_are_ignored() -> None:
    model = compile_mjcf(
        FLOOR + "<geom type='box' size='1 1 0.1'/>"
        "<body pos='3 0 0.1'><freejoint/><geom size='0.1' mass='1'/></body>"
    )
    sim = _simulator(model, 1.0)
    assert len(sim.contacts.force) == 1
