"""Contacts and their forces where MuJoCo's functions and sensors look for them."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.midas.engine_contacts import read_contacts

G = 9.81
ANGLE = np.deg2rad(20)
BLOCK = f"""
<mujoco><option cone="{{cone}}" gravity="{G * np.sin(ANGLE)} 0 {-G * np.cos(ANGLE)}"/><worldbody>
<geom name="floor" type="plane" size="5 5 1" friction=".2"/>
<body name="block" pos="0 0 .0509"><freejoint/><site name="pad" type="box" size=".11 .11 .06"/>
 <geom name="block" type="box" size=".1 .1 .05" friction=".2" mass="2"/></body>
<body pos="0 1 3"><freejoint/><geom size=".05" mass="1"/><site name="other" size=".06"/></body></worldbody>
<sensor><touch site="pad"/><touch site="other"/></sensor></mujoco>"""


def total_force(sim: asp.Simulator) -> np.ndarray:
    """Sum of all contact forces on second geoms, as MuJoCo reads them."""
    total, local = np.zeros(3), np.zeros(6)
    for i in range(sim.data.ncon):
        mujoco.mj_contactForce(sim.model, sim.data, i, local)
        contact = sim.data.contact[i]
        sign = 1 if contact.geom[1] == sim.model.geom("block").id else -1
        total += sign * local[:3] @ contact.frame.reshape(3, 3)
    return total


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_sliding_block(cone):
    """The floor bears the weight's normal part and brakes by Coulomb's law."""
    sim = asp.Simulator(BLOCK.format(cone=cone), integrator=asp.Midas())
    assert sim.advance_to(0.2).success
    weight = 2 * G * np.cos(ANGLE)
    np.testing.assert_allclose(total_force(sim), [-0.2 * weight, 0, weight], rtol=2e-4, atol=1e-6)
    np.testing.assert_allclose(sim.data.sensordata, [weight, 0], rtol=1e-4, atol=1e-9)
    contacts = sim.contacts
    assert sim.data.ncon == len(contacts.geom) == 4
    order = np.lexsort(contacts.point.T)
    ours = np.lexsort(sim.data.contact.pos.T)
    np.testing.assert_allclose(sim.data.contact.pos[ours], contacts.point[order])
    np.testing.assert_allclose(sim.data.contact.dist[ours], contacts.signed_distance[order])
    np.testing.assert_array_equal(sim.data.contact.geom[ours], contacts.geom[order])
    np.testing.assert_allclose(sim.data.contact.friction[:, 0], 0.2)
    for frame in sim.data.contact.frame.reshape(-1, 3, 3):
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(frame) == pytest.approx(1)


def test_contact_forces_are_those_of_the_constraint_forces():
    """Jᵀf of MuJoCo's rows is what the equations of motion leave; at the end nothing touches."""
    sim = asp.Simulator(BLOCK.format(cone="elliptic"), integrator=asp.Midas(tolerance=1e-9))
    assert sim.advance_to(0.3).success
    force = np.zeros(sim.model.nv)
    mujoco.mj_mulJacTVec(sim.model, sim.data, force, sim.data.efc_force)
    np.testing.assert_allclose(force[:6], sim.data.qfrc_constraint[:6], atol=2e-3)
    sim.data.qvel[:3] = (0, 0, 5)
    assert sim.advance_to(0.4).success
    assert not sim.data.ncon
    assert not sim.data.sensordata[0]


def test_frictionless_contacts():
    xml = BLOCK.format(cone="pyramidal").replace('friction=".2"', 'friction="0"')
    sim = asp.Simulator(xml, integrator=asp.Midas())
    assert sim.advance_to(0.2).success
    weight = 2 * G * np.cos(ANGLE)
    np.testing.assert_allclose(total_force(sim), [0, 0, weight], rtol=1e-4, atol=1e-9)


def test_more_contacts_than_mujoco_has_memory_for_are_no_error():
    """The strongest are published, and the simulation goes on; `contacts` has them all."""
    boxes = "".join(
        f'<body pos="{0.1 * i - 1:g} 0 .0501"><joint type="slide" axis="0 0 1"/>'
        '<geom type="box" size=".04 .04 .05"/></body>'
        for i in range(20)
    )
    xml = f"""<mujoco><size memory="1M"/><worldbody>
      <geom type="box" size="2 1 .1" pos="0 0 -.1"/>{boxes}</worldbody></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas(subdivisions=12))
    assert sim.advance_to(0.05).success
    assert 0 < sim.data.ncon < len(sim.contacts.geom)
    weight = 9.81 * sim.model.body_subtreemass[0]
    up = np.where(sim.contacts.geom[:, 1] == 0, -1.0, 1.0) * sim.contacts.force[:, 2]
    assert up.sum() == pytest.approx(weight, rel=0.05)


def test_contacts_are_read_from_the_list_that_the_step_has_left():
    """They are those that a list made for this state alone has."""
    links = "".join(
        f'<body pos="{0.1 if i else 0} 0 0"><joint axis="0 1 0" range="-150 150"/>'
        '<geom type="box" size=".04 .02 .02" pos=".05 0 0" mass=".2"/>'
        for i in range(5)
    )
    xml = f"""<mujoco><worldbody><geom type="box" size="2 2 .1" pos="0 0 -.1"/>
      <body pos="0 0 .12"><freejoint/><geom type="box" size=".02 .02 .02" mass=".2"/>
      {links}{"</body>" * 5}</body></worldbody></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=0.005))
    engine = sim.session.method.engine
    pushed = kept = 0
    for _ in range(60):
        assert sim.step().success
        rebuilds = int(engine.table.counts.rebuilds)
        seen, _ = read_contacts(engine)
        kept += int(engine.table.counts.rebuilds) == rebuilds
        engine.table.boxes.listed = 0
        alone, _ = read_contacts(engine)
        order, other = (np.lexsort(np.round(one.point, 9).T) for one in (seen, alone))
        np.testing.assert_array_equal(seen.geom[order], alone.geom[other])
        np.testing.assert_allclose(seen.force[order], alone.force[other], rtol=1e-9, atol=1e-12)
        pushed += len(seen.geom)
    assert pushed > 30
    assert kept > 30
