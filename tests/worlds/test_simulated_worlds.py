"""Worlds of a method that remembers its steps: each has a simulator, and its bits."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

MODEL = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 0.1"/>
    <body name="box" pos="0 0 0.11"><freejoint/><geom name="box" type="box" size="0.1 0.1 0.1"/></body>
    <body name="lever" pos="0.6 0 0.5"><joint name="a" axis="0 1 0" damping="0.1"/>
      <geom name="lever" type="capsule" size="0.03" fromto="0 0 0 0.2 0 0"/></body>
  </worldbody>
  <actuator><motor name="motor" joint="a"/></actuator>
  <sensor><framelinacc objtype="body" objname="box"/></sensor>
</mujoco>
"""

MIDAS = asp.Midas(time_step=5e-3)


def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(MODEL)


@pytest.mark.parametrize("threads", [1, 2])
def test_every_world_is_a_simulator(threads: int) -> None:
    one = model()
    batch = asp.Batch(one, 3, integrator=MIDAS, threads=threads)
    velocities = np.zeros((3, one.nv))
    velocities[:, 0] = [0.0, 0.5, 1.0]
    batch.reset(qvel=velocities)
    sims = []
    for velocity in velocities:
        data = mujoco.MjData(one)
        data.qvel[:] = velocity
        sims.append(asp.Simulator(one, integrator=MIDAS, data=data))
    for k in range(10):
        batch.ctrl[:, 0] = [0.1 * k, 0.2, -0.1]
        assert not batch.step().any()
        for w, sim in enumerate(sims):
            sim.data.ctrl[0] = [0.1 * k, 0.2, -0.1][w]
            sim.step()
    for w, sim in enumerate(sims):
        assert np.array_equal(batch.qpos[w], sim.data.qpos)
        assert np.array_equal(batch.sensordata[w], sim.data.sensordata)
        assert np.array_equal(batch.data(w).efc_force, sim.data.efc_force)
    assert batch.stats.steps == 30


def test_one_that_cannot_begin_has_a_status_and_its_state() -> None:
    one = model()
    batch = asp.Batch(one, 3, integrator=MIDAS, threads=2)
    batch.qpos[1, 2] = 0.05  # in the floor
    batch.ctrl[2] = np.nan
    before = batch.qpos.copy()
    with pytest.warns(asp.AsperityWarning, match="world 1: .*floor"):
        batch.step()
    assert list(batch.status) == [0, asp.Status.INVALID_INPUT, asp.Status.INVALID_INPUT]
    assert np.array_equal(batch.qpos[1:], before[1:])
    assert batch.time[0] == 5e-3
    assert batch.time[1] == 0.0
    batch.reset([1, 2])
    assert not batch.step().any()
    assert np.array_equal(batch.qpos[1], batch.qpos[2])
