"""Contact parameters that differ from world to world, or are changed for all of them."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp

SCENE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" friction="0.5"/>
    <body pos="0 0 0.06"><freejoint/><geom name="ball" size="0.05" mass="1"/></body>
    <body pos="1 0 0.05"><freejoint/><geom name="box" type="box" size="0.05 0.05 0.05" mass="1"/></body>
  </worldbody>
</mujoco>
"""
GRAVITY = 9.81


def batch(integrator: asp.Integrator | None = None) -> asp.Batch:
    return asp.Batch(SCENE, 3, integrator=integrator or asp.Icf(time_step=2e-3), threads=1)


def single(contact: asp.ContactParameters, integrator: asp.Integrator) -> asp.Simulator:
    return asp.Simulator(SCENE, integrator=integrator, contact=contact)


def test_a_ball_sinks_in_by_its_weight_over_the_stiffness_of_its_world() -> None:
    worlds = batch()
    worlds.vary("contact.stiffness")[:] = [1e4, 3e4, 1e5]
    assert not worlds.advance(1.0).any()
    depth = 0.05 - worlds.qpos[:, 2]
    np.testing.assert_allclose(depth, GRAVITY / np.array([1e4, 3e4, 1e5]), rtol=1e-3)


def test_a_box_slides_by_the_friction_of_its_world() -> None:
    worlds = batch()
    friction = worlds.vary("contact.friction")
    assert np.isnan(friction).all()  # the model's
    friction[:2] = 0.2, 0.3
    worlds.qvel[:, 6] = 1.0
    assert not worlds.advance(0.1).any()
    expected = 1.0 - np.array([0.2, 0.3, 1.0]) * GRAVITY * 0.1
    np.testing.assert_allclose(worlds.qvel[:, 6], expected, atol=1e-2)


@pytest.mark.parametrize(
    "integrator", [asp.Icf(time_step=2e-3), asp.Cenic(), asp.Midas(time_step=2e-3)], ids=repr
)
def test_worlds_do_what_simulators_with_their_parameters_do(integrator: asp.Integrator) -> None:
    worlds = batch(integrator)
    worlds.vary("contact.friction")[:] = [0.1, 0.2, np.nan]
    own = worlds.vary("contact.geom_dissipation")
    assert np.isnan(own).all()
    own[1, 1] = 3.0
    worlds.qvel[:, [0, 6]] = 0.5
    assert not worlds.advance(0.1).any()
    given = (
        asp.ContactParameters(friction=0.1),
        asp.ContactParameters(friction=0.2, geoms={"ball": asp.Material(dissipation=3.0)}),
        asp.ContactParameters(),
    )
    for w, contact in enumerate(given):
        sim = single(contact, integrator)
        sim.data.qvel[[0, 6]] = 0.5
        sim.advance_to(0.1)
        np.testing.assert_array_equal(worlds.qpos[w], sim.data.qpos)


def test_parameters_of_all_worlds_change_but_for_those_that_vary() -> None:
    worlds = batch()
    varied = worlds.vary("contact.stiffness")
    varied[:] = 1e4
    worlds.contact = asp.ContactParameters(friction=0.2)
    worlds.qvel[:, 6] = 1.0
    assert not worlds.advance(0.1).any()
    expected = single(asp.ContactParameters(friction=0.2, stiffness=1e4), worlds.integrator)
    expected.data.qvel[6] = 1.0
    expected.advance_to(0.1)
    for world in worlds.qpos:
        np.testing.assert_array_equal(world, expected.data.qpos)


@pytest.mark.parametrize("name", ["contact.stifness", "contact.geom_", "contact.surface"])
def test_other_parameters_are_refused(name: str) -> None:
    with pytest.raises(asp.ArgumentError, match=r"did you mean 'contact\."):
        batch().vary(name)


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=2e-3), asp.Midas(time_step=2e-3)])
def test_impossible_values_name_the_world(integrator: asp.Integrator) -> None:
    worlds = batch(integrator)
    worlds.vary("contact.friction")[1] = -5.0
    with pytest.raises(asp.ArgumentError, match=r"world 1: .*friction must be non-negative"):
        worlds.step()


def test_attributes_that_do_not_exist_cannot_be_set() -> None:
    worlds = batch()
    with pytest.raises(AttributeError, match=r"no attribute 'qps' to set; did you mean 'qpos'"):
        worlds.qps = 1.0  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"integrator of a Batch cannot be set; make a Batch"):
        worlds.integrator = asp.Sap(time_step=1e-3)  # type: ignore[misc]
    with pytest.raises(asp.ArgumentError, match=r"write ContactParameters\(stiffness=10000.0\)"):
        worlds.contact = {"stiffness": 1e4}  # type: ignore[assignment]
