"""Notes on the stiffness of contact: where `Icf`, which has it, differs visibly, and only there."""

from __future__ import annotations

import re

import numpy as np
import pytest

import asperity as asp

G = 9.81
RADIUS, MASS, USUAL = 0.05, 2.0, 1e-3
NOTE = re.compile(
    r"Midas keeps contacts rigid: with the stiffness that is given, one of (.*) and (.*) that bears "
    r"(\S+) kg would give way by (\S+) mm and swing at (\S+) Hz(?: \(and (\d+) more pairs?\))?\."
)
BALL = """
<mujoco><option gravity="0 0 {gravity}"/><worldbody>
  <geom name="floor" type="plane" size="5 5 1"/>
  <body pos="0 0 {height}"><freejoint/>
    <geom name="ball" size="{radius}" mass="{mass}"/>{more}
  </body>
</worldbody></mujoco>
"""
ARM = """
<body pos=".2 0 1"><joint axis="0 1 0"/>
  <geom name="arm" size=".02" mass="{mass}" contype="0" conaffinity="0"/>
</body>
"""


def ball(height: float = RADIUS + USUAL, more: str = "", gravity: float = -G) -> str:
    return BALL.format(height=height, radius=RADIUS, mass=MASS, more=more, gravity=gravity)


def found(sim: asp.Simulator) -> re.Match[str] | None:
    notes = [note for note in sim.load_report.notes if "rigid" in note]
    assert len(notes) <= 1
    match = NOTE.fullmatch(notes[0]) if notes else None
    assert match or not notes, notes
    return match


def simulators(depth: float, **options: float) -> tuple[asp.Simulator, asp.Simulator]:
    """A ball on Midas, and on a contact of `Icf` that gives way by a depth [m]."""
    contact = asp.ContactParameters(geoms={"ball": asp.Material(stiffness=MASS * G / depth)})
    return (
        asp.Simulator(ball(), integrator=asp.Midas(**options), contact=contact),
        asp.Simulator(ball(RADIUS), integrator=asp.Icf(time_step=2e-3), contact=contact),
    )


@pytest.mark.parametrize("depth", [1.1e-3, 5e-3])
def test_a_soft_contact_has_the_depth_to_which_icf_sinks(depth: float) -> None:
    midas, soft = simulators(depth)
    note = found(midas)
    assert note
    assert note.group(1, 2) == ("Geom 'ball'", "Geom 'floor'")
    soft.advance_to(2.0)
    sunk = RADIUS - soft.data.qpos[2]
    assert float(note.group(4)) == pytest.approx(1e3 * sunk, rel=5e-3)
    assert sunk > USUAL


@pytest.mark.parametrize("depth", [1e-5, 0.9e-3])
def test_a_stiff_contact_rests_where_midas_does_and_has_no_note(depth: float) -> None:
    midas, soft = simulators(depth)
    assert found(midas) is None
    for sim in (midas, soft):
        sim.advance_to(2.0)
    # Each is within an activation distance of the surface, on its own side.
    assert 0.0 < midas.data.qpos[2] - RADIUS < USUAL
    assert -USUAL < soft.data.qpos[2] - RADIUS < 0.0


def test_a_swing_that_steps_would_resolve_is_noted_with_its_frequency() -> None:
    """By smaller steps of Midas, although it is less than an activation distance deep."""
    depth = 0.3e-3
    midas, _ = simulators(depth, time_step=5e-3)
    note = found(midas)
    assert note
    assert float(note.group(4)) < 1e3 * USUAL
    assert found(simulators(depth, time_step=6e-3)[0]) is None
    contact = asp.ContactParameters(stiffness=MASS * G / depth, dissipation=0.0)
    swings = asp.Simulator(
        ball(RADIUS - 1.2 * depth), integrator=asp.Icf(time_step=5e-5), contact=contact
    )
    speed = []
    while swings.time < 0.2:
        swings.advance_to(swings.time + 2e-4)
        speed.append(swings.data.qvel[2])
    turns = np.flatnonzero(np.diff(np.sign(speed)) > 0)
    period = 2e-4 * (turns[-1] - turns[0]) / (len(turns) - 1)
    assert len(turns) > 4
    assert float(note.group(5)) == pytest.approx(1.0 / period, rel=5e-3)


HAND = """
<mujoco><option gravity="0 0 {gravity}"/><worldbody><body>
  <joint type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="50" diaginertia="1 1 1"/>
  <body><joint type="slide" axis="0 1 0"/><geom name="low" type="box" size=".1 .1 .05" mass="1"/>
  </body>
  <body pos="0 0 {height}"><joint type="slide" axis="0 0 1"/>
    <geom name="top" size="{radius}" mass="{mass}"/></body>
</body></worldbody></mujoco>
"""


def test_a_finger_bears_the_other_and_not_the_hand() -> None:
    depth = 2e-3
    contact = asp.ContactParameters(geoms={"top": asp.Material(stiffness=MASS * G / depth)})
    hand = {"gravity": -G, "radius": RADIUS, "mass": MASS}
    xml = HAND.format(height=2.0 * RADIUS + USUAL, **hand)
    note = found(asp.Simulator(xml, integrator=asp.Midas(), contact=contact))
    assert note
    assert note.group(3) == f"{MASS:g}"
    xml = HAND.format(height=2.0 * RADIUS, **hand)
    soft = asp.Simulator(xml, integrator=asp.Icf(time_step=2e-3), contact=contact)
    soft.advance_to(2.0)
    assert float(note.group(4)) == pytest.approx(-1e3 * soft.data.qpos[2], rel=5e-3)


def test_the_whole_mechanism_rests_on_a_contact() -> None:
    """Also without gravity, where loads are as on earth."""
    contact = asp.ContactParameters(stiffness=5e4)
    for gravity in (-G, 0.0):
        xml = ball(more=ARM.format(mass=4.0), gravity=gravity)
        note = found(asp.Simulator(xml, integrator=asp.Midas(), contact=contact))
        assert note
        assert note.group(3, 4) == ("6", "1.18")
    # The ball alone sinks by 0.4 mm.
    assert found(asp.Simulator(ball(), integrator=asp.Midas(), contact=contact)) is None


PILE = """
<mujoco><worldbody>
  <geom name="floor" type="plane" size="5 5 1"/>
  <body pos="0 0 .06"><freejoint/><geom name="heavy" size=".05" mass="8"/></body>
  <body pos="1 0 .06"><freejoint/><geom name="light" size=".05" mass=".5"/></body>
</worldbody></mujoco>
"""


@pytest.mark.parametrize(
    ("contact", "softest", "pairs"),
    [
        # Springs in series, of which the floor's is not given.
        ({"geoms": {"heavy": 4e4, "light": 4e4}}, ("heavy", "light", 8 * G / 2e4), 1),
        ({"geoms": {"light": 4e4}}, ("heavy", "light", 8 * G / 4e4), 0),
        ({"pairs": {("heavy", "floor"): 2e4}}, ("heavy", "floor", 8 * G / 2e4), 0),
        (
            {"stiffness": 4e4, "pairs": {("heavy", "light"): 1e6}},
            ("heavy", "floor", 8 * G / 4e4),
            0,
        ),
        (
            {"stiffness": 4e4, "pairs": {("heavy", "floor"): 3e4}},
            ("heavy", "floor", 8 * G / 3e4),
            1,
        ),
        ({"stiffness": 4e4, "pairs": {("heavy", "*"): 1e6}}, None, 0),
        ({}, None, 0),  # nobody asks for the stiffness that others have by default
    ],
)
def test_pairs_have_the_stiffness_of_their_materials(contact, softest, pairs: int) -> None:
    given = {
        name: {key: asp.Material(stiffness=k) for key, k in value.items()}
        if isinstance(value, dict)
        else value
        for name, value in contact.items()
    }
    note = found(
        asp.Simulator(PILE, integrator=asp.Midas(), contact=asp.ContactParameters(**given))
    )
    assert (note is None) == (softest is None)
    if note and softest:
        assert {*note.group(1, 2)} == {f"Geom '{name}'" for name in softest[:2]}
        assert float(note.group(4)) == pytest.approx(1e3 * softest[2], rel=5e-3)
        assert int(note.group(6) or 0) == pairs


def test_a_nearer_start_makes_less_visible() -> None:
    """Within a small activation distance surfaces are known better."""
    contact = asp.ContactParameters(stiffness=MASS * G / 0.1e-3)
    near = asp.Midas(activation_distance=0.05e-3)
    assert found(asp.Simulator(ball(), integrator=asp.Midas(), contact=contact)) is None
    assert found(asp.Simulator(ball(), integrator=near, contact=contact))


def test_contact_that_is_given_later_is_noted() -> None:
    sim = asp.Simulator(ball(), integrator=asp.Midas())
    assert found(sim) is None
    sim.contact = asp.ContactParameters(stiffness=1e3)
    note = found(sim)
    assert note
    assert float(note.group(4)) == pytest.approx(MASS * G, rel=5e-3)


def test_deformable_bodies_are_named_if_their_stiffness_is_given() -> None:
    xml = """<mujoco><worldbody><flexcomp name="cloth" type="grid" count="3 3 1" dim="2"
      spacing=".1 .1 .1" pos="0 0 1" radius=".005" mass=".1">
      <elasticity young="1e5" poisson=".2" thickness="1e-3" elastic2d="stretch"/></flexcomp>
    </worldbody></mujoco>"""
    for contact in (
        asp.ContactParameters(stiffness=1e3),
        asp.ContactParameters(geoms={"cloth": asp.Material(stiffness=1e3)}),
    ):
        notes = asp.Simulator(xml, integrator=asp.Midas(), contact=contact).load_report.notes
        assert "Midas keeps contacts rigid: Flex 'cloth'." in notes
    notes = asp.Simulator(xml, integrator=asp.Midas()).load_report.notes
    assert not any("rigid" in note for note in notes)
