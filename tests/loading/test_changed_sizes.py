"""A model whose sizes were changed before it is simulated."""

from __future__ import annotations

import mujoco
import pytest

import asperity as asp


@pytest.mark.parametrize("many", [False, True])
def test_a_ball_that_was_made_larger_lies_higher(many: bool) -> None:
    """MuJoCo's broad phase would know it by its old bounds, and let it sink."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><geom type="box" size="2 2 .1" pos="0 0 -.1"/>
        <body pos="0 0 .5"><freejoint/><geom name="ball" size=".1"/></body></worldbody></mujoco>"""
    )
    model.geom("ball").size[0] = 0.5
    method = asp.Icf(time_step=5e-3)
    if many:
        batch = asp.Batch(model, 1, integrator=method)
        batch.step(100)
        height = batch.qpos[0, 2]
    else:
        sim = asp.Simulator(model, integrator=method)
        sim.advance_to(0.5)
        height = sim.data.qpos[2]
    assert height == pytest.approx(0.5, abs=2e-3)
