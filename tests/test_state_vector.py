"""State and inputs as MuJoCo's vector: every array is where its name says, in batches, too."""

from __future__ import annotations

import mujoco
import numpy as np

import asperity as asp
from asperity.simulator.inputs import present_vector
from asperity.simulator.state_vector import STATE_BITS, exchanged_bits, parts_of

SCENE = """
<mujoco>
  <worldbody>
    <body name="hand" mocap="true"><geom size=".05" contype="0" conaffinity="0"/></body>
    <body name="held"><freejoint/><geom size=".05" mass="1"/></body>
    <body pos="1 0 0"><joint name="hinge"/><geom size=".1" mass="1"/></body>
  </worldbody>
  <equality>
    <weld body1="hand" body2="held"/>
    <joint joint1="hinge"/>
  </equality>
  <actuator>
    <motor joint="hinge"/>
    <general joint="hinge" dyntype="filter" dynprm="1"/>
  </actuator>
</mujoco>
"""


def _filled(model: mujoco.MjModel) -> mujoco.MjData:
    """Data in which no two numbers are the same, but for flags."""
    data = mujoco.MjData(model)
    vector = 0.01 * np.arange(1.0, mujoco.mj_stateSize(model, exchanged_bits(model)) + 1.0)
    vector[parts_of(model)["eq_active"]] = [0.0, 1.0]
    mujoco.mj_setState(model, data, vector, exchanged_bits(model))
    return data


def test_every_array_is_where_its_name_says() -> None:
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = _filled(model)
    vector, parts = present_vector(model, data), parts_of(model)
    for name, part in parts.items():
        np.testing.assert_array_equal(vector[part], np.ravel(getattr(data, name)), err_msg=name)
    assert sum(part.stop - part.start for part in parts.values()) == len(vector)
    assert parts["act"].stop == mujoco.mj_stateSize(model, STATE_BITS)


def test_what_is_written_into_a_batch_reaches_its_worlds() -> None:
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = _filled(model)
    data.qpos[3:7] = data.mocap_quat[0] = [0.5, 0.5, 0.5, 0.5]
    batch = asp.Batch(model, 3, integrator=asp.Icf(time_step=1e-3))
    # The model has no delays, which a batch would refuse, and so no history.
    names = [name for name, part in parts_of(model).items() if part.stop > part.start]
    for name in names:
        getattr(batch, name)[1] = getattr(data, name)
    found = batch.data(1)
    for name in names:
        np.testing.assert_array_equal(getattr(found, name), getattr(data, name), err_msg=name)
    np.testing.assert_array_equal(batch.data(0).ctrl, 0.0)


def test_a_written_state_begins_anew_as_in_another_simulator() -> None:
    model = mujoco.MjModel.from_xml_string(SCENE)
    integrator = asp.Cenic(accuracy=1e-4)
    used, fresh = (asp.Simulator(model, integrator=integrator) for _ in range(2))
    used.data.ctrl[0] = 1.0
    used.advance_to(0.3)
    vector = present_vector(model, _filled(model))
    vector[0] = 0.3
    for sim in (used, fresh):
        mujoco.mj_setState(model, sim.data, vector, exchanged_bits(model))
        assert sim.advance_to(0.5).success
    np.testing.assert_array_equal(used.data.qpos, fresh.data.qpos)
    np.testing.assert_array_equal(used.data.qacc, fresh.data.qacc)
    assert used.step_size == fresh.step_size
