"""Fixed steps have the same bits, however the time is divided into calls."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

SCENE = """
<mujoco><option timestep="1e-3"/><worldbody>
  <geom name="floor" type="plane" size="5 5 .1"/>
  <body pos="0 0 .25" euler="20 30 0"><freejoint/>
    <geom type="box" size=".1 .12 .1" mass="1"/></body>
  <body pos="1 0 1"><joint axis="0 1 0" frictionloss=".3"/>
    <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" mass=".5"/></body>
</worldbody></mujoco>
"""
STEPS = 200


@pytest.mark.parametrize("method", [asp.Sap, asp.Tamsi, asp.Midas])
def test_one_call_has_the_bits_of_many(method: type[asp.Sap]) -> None:
    """The last step of a call is as long as the others, whatever the round-off of times.

    `Icf` also begins each call with another guess.
    """
    model = mujoco.MjModel.from_xml_string(SCENE)
    setting = method(time_step=1e-3)
    whole, halves, single = (asp.Simulator(model, integrator=setting) for _ in range(3))
    whole.advance_to(1e-3 * STEPS)
    halves.advance_to(0.5e-3 * STEPS)
    halves.advance_to(1e-3 * STEPS)
    for _ in range(STEPS):
        single.step()
    data = mujoco.MjData(model)
    asp.step(model, data, STEPS, integrator=setting)
    start = np.concatenate([[0.0], model.qpos0, np.zeros(model.nv)])
    rolled, _ = asp.rollout(model, start, nstep=STEPS, integrator=setting)
    expected = [*whole.data.qpos, *whole.data.qvel]
    for end in (halves.data, single.data, data):
        np.testing.assert_array_equal([*end.qpos, *end.qvel], expected)
    np.testing.assert_array_equal(rolled[0, -1, 1:], expected)
