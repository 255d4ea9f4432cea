"""Tendons that run over a body of a third kinematic tree, and tendons of free bodies."""

from __future__ import annotations

import pytest

import asperity as asp

# A heavy pulley on rails of its own, and two weights on a rope over it.
ATWOOD = """
<mujoco>
  <worldbody>
    <body name="pulley" pos="0 0 2" gravcomp="1">
      <joint type="slide" axis="0 0 1"/>
      <geom name="pulley" type="cylinder" size="0.1 0.05" euler="90 0 0" mass="1e6"/>
      <site name="above" pos="0 0 0.2"/>
    </body>
    <body name="light" pos="-0.1 0 1">
      <joint name="light" type="slide" axis="0 0 1"/><geom size="0.02" mass="1"/>
      <site name="a"/>
    </body>
    <body name="heavy" pos="0.1 0 1">
      <joint name="heavy" type="slide" axis="0 0 1"/><geom size="0.02" mass="2"/>
      <site name="b"/>
    </body>
  </worldbody>
  <tendon>
    <spatial name="rope" limited="true" range="0 2.3141592653589793">
      <site site="a"/><geom geom="pulley" sidesite="above"/><site site="b"/>
    </spatial>
  </tendon>
</mujoco>
"""
HANGING = """
<mujoco>
  <worldbody>
    <site name="a" pos="0 0 2"/>
    <body name="ball" pos="0 0 1"><freejoint/><geom size=".05" mass="2"/><site name="b"/></body>
  </worldbody>
  <tendon><spatial name="rope" armature="{}"><site site="a"/><site site="b"/></spatial></tendon>
</mujoco>
"""
GRAVITY = 9.81


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize(
    "integrator",
    [asp.Cenic(), asp.Icf(time_step=1e-3), asp.Sap(time_step=1e-3), asp.Tamsi(time_step=1e-3)],
    ids=repr,
)
def test_weights_over_a_pulley_accelerate_as_atwood_s_machine(integrator: asp.Integrator) -> None:
    sim = asp.Simulator(ATWOOD, integrator=integrator)
    sim.advance_to(0.3)
    way = 0.5 * GRAVITY / 3.0 * 0.3**2
    assert sim.data.joint("heavy").qpos[0] == pytest.approx(-way, rel=0.02)
    assert sim.data.joint("light").qpos[0] == pytest.approx(way, rel=0.02)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize(
    "integrator",
    [
        *(asp.Cenic(), asp.Icf(time_step=1e-3), asp.Sap(time_step=1e-3)),
        *(asp.Tamsi(time_step=1e-3), asp.Midas(time_step=1e-3), asp.RungeKutta3(accuracy=1e-6)),
    ],
    ids=repr,
)
def test_a_tendon_s_armature_is_inertia_of_a_free_body(integrator: asp.Integrator) -> None:
    """It falls along the tendon with m g/(m + armature)."""
    sim = asp.Simulator(HANGING.format(6), integrator=integrator)
    sim.advance_to(0.2)
    assert sim.data.qvel[2] == pytest.approx(-0.2 * GRAVITY * 2.0 / 8.0, rel=1e-6)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_armature_that_mujoco_s_inertia_has_no_place_for_is_refused() -> None:
    sim = asp.Simulator(HANGING.format(0), integrator=asp.Icf(time_step=1e-3))
    sim.advance_to(0.01)
    sim.model.tendon_armature[0] = 6.0
    with pytest.raises(asp.ModelError, match=r"'rope' had no armature .* of Body 'ball'"):
        sim.advance_to(0.02)
    assert sim.time == pytest.approx(0.01)
    sim.model.tendon_armature[0] = 0.0
    sim.advance_to(0.02)
    assert sim.data.qvel[2] == pytest.approx(-0.02 * GRAVITY)
