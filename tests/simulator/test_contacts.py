"""Contacts as a table, one by one, and by names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import asperity as asp

SCENE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" condim="6" friction="0.5 0.01 0.02"/>
    <body name="box" pos="0 0 0.05">
      <freejoint/><geom name="box" type="box" size="0.05 0.05 0.05" mass="2"/>
    </body>
    <body name="pair" pos="1 0 0.05">
      <freejoint/><geom name="left" size="0.05" mass="1"/>
      <geom size="0.05" pos="0.2 0 0" mass="1"/>
    </body>
    <body name="ball" pos="2 0 0.05"><freejoint/><geom name="ball" size="0.05" mass="1"/></body>
  </worldbody>
</mujoco>
"""
GRAVITY = 9.81


@pytest.fixture(scope="module")
def sim() -> asp.Simulator:
    simulator = asp.Simulator(SCENE, integrator=asp.Icf(time_step=2e-3))
    simulator.advance_to(0.3)
    simulator.data.qvel[-1] = 10.0  # the ball spins about the vertical
    simulator.advance_to(0.31)
    return simulator


def test_they_are_counted_taken_one_by_one_and_chosen(sim: asp.Simulator) -> None:
    contacts = sim.contacts
    assert len(contacts) == len(list(contacts)) == len(contacts.point) == 7
    first = contacts[0]
    assert first.geom == ("floor", "box")
    assert first.normal_force == pytest.approx(2 * GRAVITY / 4, rel=1e-3)
    np.testing.assert_array_equal(first.point, contacts.point[0])
    assert contacts[-1].geom == ("floor", "ball")
    strong = contacts[contacts.normal_force > 6.0]
    assert len(strong) == 3
    np.testing.assert_array_equal(strong.force, contacts.force[contacts.normal_force > 6.0])


def test_they_are_found_by_names_of_geoms_and_bodies(sim: asp.Simulator) -> None:
    contacts = sim.contacts
    assert contacts.of("box").normal_force.sum() == pytest.approx(2 * GRAVITY, rel=1e-3)
    assert len(contacts.of("floor")) == 7
    assert len(contacts.of("pair")) == 2  # a body of two geoms, of which one has no name
    assert len(contacts.of("b*", "floor")) == 5
    assert len(contacts.of("floor", "left")) == 1
    assert len(contacts.of("box", "ball")) == 0
    assert contacts.of("pair")[1].geom == ("floor", "Geom 3")
    with pytest.raises(asp.ArgumentError, match="no geom, flex or body is named 'cup'"):
        contacts.of("cup")


def test_torsional_friction_is_a_torque_along_the_normal(sim: asp.Simulator) -> None:
    ball = sim.contacts.of("ball")[0]
    # Against the spin, by the coefficient of torsion times the weight.
    np.testing.assert_allclose(ball.torque, [0.0, 0.0, -0.01 * GRAVITY], rtol=1e-2, atol=1e-4)
    assert np.abs(sim.contacts.of("box").torque).max() < 1e-6


def test_the_repr_is_one_line(sim: asp.Simulator) -> None:
    said = repr(sim.contacts)
    assert said.startswith("<7 contacts: floor – box: 4, floor – left: 1, floor – Geom 3: 1, floor")
    assert said.endswith("49.05 N in all>")
    assert "\n" not in said
    none = sim.contacts.of("box", "ball")
    assert repr(none) == "<0 contacts>"


def test_they_are_a_table_for_pandas(sim: asp.Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    frame: Callable[[Any], Any] = dict
    monkeypatch.setattr("asperity.simulator.current_contacts.data_frame", frame)
    columns = sim.contacts.to_pandas()
    assert columns["geom1"][0] == "floor"
    np.testing.assert_array_equal(columns["force_z"], sim.contacts.force[:, 2])
    assert {len(column) for column in columns.values()} == {7}
