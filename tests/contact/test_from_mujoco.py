"""MuJoCo's soft contacts as contact parameters: bodies rest as deep as in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.plant.mujoco_contacts import _Soft

FAST = '<option timestep="5e-4"/>'


def ball(mass: float, attributes: str = "", floor: str = "", option: str = FAST) -> str:
    return f"""
<mujoco>{option}
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1" {floor}/>
    <body name="ball" pos="0 0 0.1"><joint type="slide" axis="0 0 1"/>
      <geom name="skin" size="0.1" mass="{mass}" {attributes}/></body>
  </worldbody>
</mujoco>
"""


def settled(model: mujoco.MjModel) -> mujoco.MjData:
    """MuJoCo's state of rest."""
    data = mujoco.MjData(model)
    for _ in range(6000):
        mujoco.mj_step(model, data)
    assert np.abs(data.qvel).max() < 1e-8
    return data


def ours(model: mujoco.MjModel, time: float = 6.0) -> asp.Simulator:
    contact = asp.ContactParameters.from_mujoco(model)
    sim = asp.Simulator(model, contact=contact, integrator=asp.Cenic(accuracy=1e-5))
    assert sim.advance_to(time).success
    assert np.abs(sim.data.qvel).max() < 1e-4
    return sim


# Both geoms alike: otherwise MuJoCo mixes.
SOFT = [
    "",
    'solref="0.05 1"',
    'solref="0.02 0.5"',
    'solref="-3000 -100"',
    'solimp="0.5 0.99 0.01 0.3 3"',
    'solimp="0.8 0.8 0.001"',
    'solref="0.0001 1"',
]


@pytest.mark.parametrize("attributes", SOFT)
@pytest.mark.parametrize("mass", [0.01, 3.0])
def test_a_ball_rests_as_deep(mass, attributes):
    model = mujoco.MjModel.from_xml_string(ball(mass, attributes, attributes))
    data = settled(model)
    sim = ours(model)
    assert data.qpos[0] < -1e-7
    assert sim.data.qpos[0] == pytest.approx(data.qpos[0], rel=2e-3)
    # The numbers that MuJoCo itself works with there.
    k, b, impedance, _ = data.efc_KBIP[0]
    soft = _Soft(tuple(model.geom_solref[1]), tuple(model.geom_solimp[1]), 2 * 5e-4)
    depth = -float(data.qpos[0])
    assert soft.impedance(depth) == pytest.approx(impedance, rel=1e-6)
    assert soft.spring(depth) == pytest.approx((impedance * k, b), rel=1e-6)
    # Hunt-Crossley's damping at the depth of rest, m g D, is MuJoCo's.
    dissipation = sim.plant.contact.bodies["ball"].dissipation
    assert mass * 9.81 * dissipation == pytest.approx(mass * impedance * b, rel=1e-3)


def test_two_bodies_are_springs_in_series():
    # Impedance that depends on depth would be that of each body's own weight.
    model = mujoco.MjModel.from_xml_string(
        f"""
<mujoco>{FAST}<default><geom solimp="0.9 0.9 0.001"/></default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="low" pos="0 0 0.1"><joint type="slide" axis="0 0 1"/>
      <geom size="0.1" mass="1"/></body>
    <body name="high" pos="0 0 0.3"><joint type="slide" axis="0 0 1"/>
      <geom size="0.1" mass="3"/></body>
  </worldbody>
</mujoco>
"""
    )
    contact = asp.ContactParameters.from_mujoco(model)
    assert contact.bodies["high"].stiffness == pytest.approx(3 * contact.bodies["low"].stiffness)
    theirs, mine = settled(model).qpos, ours(model).data.qpos
    for depth in (lambda q: q[0], lambda q: q[1] - q[0]):
        assert depth(mine) == pytest.approx(depth(theirs), rel=2e-3)


def test_a_box_on_four_corners():
    model = mujoco.MjModel.from_xml_string(
        f"""
<mujoco>{FAST}
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="box" pos="0 0 0.1"><freejoint/><geom type="box" size="0.2 0.2 0.1" mass="2"/></body>
  </worldbody>
</mujoco>
"""
    )
    theirs, mine = settled(model).qpos[2] - 0.1, ours(model).data.qpos[2] - 0.1
    assert mine == pytest.approx(theirs, rel=0.2)


def test_pairs_have_values_of_their_own():
    text = ball(2.0).replace(
        "</worldbody>",
        """</worldbody><contact>
        <pair geom1="floor" geom2="skin" solref="0.1 1" solimp="0.7 0.7 0.001"/></contact>""",
    )
    model = mujoco.MjModel.from_xml_string(text)
    contact = asp.ContactParameters.from_mujoco(model)
    assert set(contact.pairs) == {("floor", "skin")}
    assert ours(model).data.qpos[0] == pytest.approx(settled(model).qpos[0], rel=2e-3)


def test_names_with_wildcards_mean_themselves():
    text = (
        ball(1.0)
        .replace('"ball"', '"ball[*]"')
        .replace(
            "</worldbody>",
            '<body name="ball2"><freejoint/><geom size="0.1" mass="5"/></body></worldbody>',
        )
    )
    model = mujoco.MjModel.from_xml_string(text)
    contact = asp.ContactParameters.from_mujoco(model)
    assert len(contact.bodies) == 2
    asp.Simulator(model, contact=contact)


def test_what_was_approximated_is_said():
    def notes(text):
        return " ".join(
            asp.ContactParameters.from_mujoco(mujoco.MjModel.from_xml_string(text)).notes
        )

    assert "linear" in notes(ball(1.0))
    assert "no gravity" in notes(ball(1.0, option='<option gravity="0 0 0"/>'))
    assert "'floor'" not in notes(ball(1.0))
    assert "do not move are left out: floor" in notes(ball(1.0, floor='solref="0.1 1"'))
    two = ball(1.0).replace(
        "</worldbody>",
        '<body name="b"><freejoint/><geom size="0.1" solref="0.1 1"/></body></worldbody>',
    )
    assert "series" in notes(two)
    unnamed = ball(1.0).replace('name="ball"', "").replace('name="skin"', "")
    assert "1 geoms have no name" in notes(unnamed)
    with pytest.raises(asp.ModelError, match=r"MjModel"):
        asp.ContactParameters.from_mujoco("scene.xml")


def test_geoms_of_a_body_that_differ_are_named_by_themselves():
    text = ball(1.0).replace(
        "</body>", '<geom name="foot" size="0.05" pos="0 0 -0.2" solref="0.1 1"/></body>'
    )
    contact = asp.ContactParameters.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert set(contact.bodies) == {"ball"}
    assert set(contact.geoms) == {"foot"}
    assert contact.geoms["foot"].stiffness < contact.bodies["ball"].stiffness
