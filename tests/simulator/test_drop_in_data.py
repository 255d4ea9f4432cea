"""What `asperity.step` keeps with an MjData: each for itself, from a reset on anew, no longer."""

from __future__ import annotations

import gc
import threading
import weakref

import mujoco
import numpy as np
import pytest
from changed_models import ARTICULATED, SIMPLE

import asperity as asp
from asperity.integrators import Integrator
from asperity.simulator import drop_in

WALKER = """
<mujoco><option timestep="0.01"/><worldbody>
  <geom type="plane" size="5 5 .1"/>
  <body name="torso" pos="0 0 .45"><freejoint/><geom type="box" size=".2 .1 .05" mass="3"/>
    <body pos=".2 .1 0"><joint name="a" axis="0 1 0" range="-60 60" limited="true" damping=".5"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 .05 -.35" mass=".4"/></body>
    <body pos=".2 -.1 0"><joint name="b" axis="0 1 0" range="-60 60" limited="true" damping=".5"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 -.05 -.35" mass=".4"/></body>
    <body pos="-.2 .1 0"><joint name="c" axis="0 1 0" range="-60 60" limited="true" damping=".5"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 .05 -.35" mass=".4"/></body>
    <body pos="-.2 -.1 0"><joint name="d" axis="0 1 0" range="-60 60" limited="true" damping=".5"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 -.05 -.35" mass=".4"/></body></body>
</worldbody>
<actuator><motor joint="a" gear="8"/><motor joint="b" gear="8"/><motor joint="c" gear="8"/>
  <motor joint="d" gear="8"/></actuator>
<keyframe><key name="tilted" qpos="0 0 .6 .98 .198997 0 0 .1 -.1 .2 -.2" ctrl=".1 0 0 0"/></keyframe>
</mujoco>"""


@pytest.fixture(scope="module")
def walker() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(WALKER)


def episode(model: mujoco.MjModel, data: mujoco.MjData, seed: int, **options) -> bytes:
    """Reset and walk at random, as environments do; returns all states."""
    random = np.random.default_rng(seed)
    mujoco.mj_resetData(model, data)
    data.qpos[7:] += random.uniform(-0.1, 0.1, model.nq - 7)
    data.qvel[:] = 0.1 * random.standard_normal(model.nv)
    mujoco.mj_forward(model, data)
    states = []
    for _ in range(20):
        data.ctrl[:] = random.uniform(-1, 1, model.nu)
        asp.step(model, data, 2, **options)
        states += [data.qpos.copy(), data.qvel.copy(), data.cfrc_ext.copy(), data.sensordata.copy()]
    return b"".join(state.tobytes() for state in states)


@pytest.mark.parametrize(
    "integrator",
    [asp.Cenic(), asp.Cenic(hessian_reuse=True), asp.Tamsi(accuracy=1e-3), asp.Sap(time_step=0.01)],
    ids=["Cenic", "Cenic, reuse", "Tamsi", "Sap"],
)
def test_the_same_episode_has_the_same_bits_whatever_was_before(
    walker: mujoco.MjModel, integrator: Integrator
) -> None:
    data = mujoco.MjData(walker)
    first = episode(walker, data, 1, integrator=integrator)
    assert episode(walker, data, 2, integrator=integrator) != first
    assert episode(walker, data, 1, integrator=integrator) == first
    assert episode(walker, mujoco.MjData(walker), 1, integrator=integrator) == first


def test_midas_begins_anew_too() -> None:
    model = mujoco.MjModel.from_xml_string(SIMPLE)
    data = mujoco.MjData(model)
    ends = []
    for _ in range(2):
        mujoco.mj_resetData(model, data)
        data.ctrl[:] = 0.7
        asp.step(model, data, 10, integrator=asp.Midas(time_step=2e-3))
        ends.append(data.qpos.tobytes() + data.qvel.tobytes())
    assert ends[0] == ends[1]


def test_a_reset_to_a_keyframe_and_a_written_state_begin_anew(walker: mujoco.MjModel) -> None:
    data = mujoco.MjData(walker)
    ends = []
    for key in (0, 0):
        mujoco.mj_resetDataKeyframe(walker, data, key)
        asp.step(walker, data, 10)
        ends.append(data.qpos.tobytes())
        asp.step(walker, data, 13)
    assert ends[0] == ends[1]
    saved = data.qpos.copy(), data.qvel.copy(), data.time
    ends = []
    for _ in range(2):
        data.qpos[:], data.qvel[:], data.time = saved
        data.qvel[0] += 0.1
        asp.step(walker, data, 10)
        ends.append(data.qpos.tobytes())
    assert ends[0] == ends[1]


def test_the_data_of_a_simulator_may_be_reset_by_mujoco(walker: mujoco.MjModel) -> None:
    called: list[float] = []

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        called.append(data.time)
        data.ctrl[:] = np.sin(3.0 * data.time + np.arange(model.nu))

    sim = asp.Simulator(walker, control=control, control_period=0.02)
    ends = []
    for _ in range(2):
        mujoco.mj_resetData(walker, sim.data)
        called.clear()
        assert sim.advance_to(0.2).success
        # Control begins with the new time, and not where it would have gone on.
        np.testing.assert_allclose(called, 0.02 * np.arange(10), atol=1e-12)
        ends.append(sim.data.qpos.tobytes())
    assert ends[0] == ends[1]


def test_states_of_systems_begin_anew_with_the_time(walker: mujoco.MjModel) -> None:
    pid = asp.systems.PidController(["a", "b"], kp=50.0, kd=2.0, ki=40.0, target=0.3)
    data = mujoco.MjData(walker)
    first = episode(walker, data, 1, systems=[pid])
    assert episode(walker, data, 1, systems=[pid]) == first


def test_contact_parameters_are_the_simulator_s(walker: mujoco.MjModel) -> None:
    materials = {"torso": asp.Material(stiffness=3e3)}
    contact = asp.ContactParameters(stiffness=1e4, bodies=materials)
    data = mujoco.MjData(walker)
    sim = asp.Simulator(walker, contact=contact)
    for _ in range(20):
        asp.step(walker, data, contact=contact)
        sim.advance_to(sim.time + walker.opt.timestep)
    np.testing.assert_array_equal(data.qpos, sim.data.qpos)
    kept = drop_in._STEPPED[id(data)].simulator
    asp.step(walker, data, contact=asp.ContactParameters(stiffness=1e4, bodies=dict(materials)))
    assert drop_in._STEPPED[id(data)].simulator is kept
    # A mapping that is changed between calls is heard.
    materials["torso"] = asp.Material(stiffness=1e5)
    asp.step(walker, data, contact=contact)
    assert drop_in._STEPPED[id(data)].simulator.session.plant.materials.geoms[1, 0] == 1e5


def test_a_change_of_the_model_is_heard() -> None:
    model = mujoco.MjModel.from_xml_string(ARTICULATED)
    datas = [mujoco.MjData(model) for _ in range(2)]
    for data in datas:
        asp.step(model, data, 3)
    model.opt.gravity[:] = 0.0, 0.0, 3.0
    model.opt.timestep = 0.003
    speeds = [data.qvel[2] for data in datas]
    for data, speed in zip(datas, speeds, strict=True):
        before = data.time
        asp.step(model, data)
        assert data.time == before + 0.003
        assert data.qvel[2] > speed


@pytest.mark.parametrize("count", [17, 64])
def test_as_many_data_as_there_are_keep_apart(walker: mujoco.MjModel, count: int) -> None:
    datas = [mujoco.MjData(walker) for _ in range(count)]
    for i, data in enumerate(datas):
        data.qvel[:] = 0.01 * i
    for _ in range(3):
        for data in datas:
            asp.step(walker, data)
    simulators = {id(drop_in._STEPPED[id(data)].simulator) for data in datas}
    assert len(simulators) == count
    for i in (0, 5, count - 1):
        alone = mujoco.MjData(walker)
        alone.qvel[:] = 0.01 * i
        asp.step(walker, alone, 3)
        np.testing.assert_array_equal(datas[i].qpos, alone.qpos)


def test_nothing_is_kept_longer_than_the_data(walker: mujoco.MjModel) -> None:
    before = len(drop_in._STEPPED)
    datas = [mujoco.MjData(walker) for _ in range(5)]
    for integrator in (asp.Cenic(), asp.Midas(time_step=0.01)):
        for data in datas:
            asp.step(walker, data, integrator=integrator)
    kept = [weakref.ref(drop_in._STEPPED[id(data)].simulator) for data in datas]
    assert all(ref() is not None for ref in kept)
    gc.disable()
    try:
        del data
        datas.clear()
        assert len(drop_in._STEPPED) == before
        assert [ref() for ref in kept] == [None] * 5
    finally:
        gc.enable()


def test_a_thread_that_steps_the_same_data_is_refused(walker: mujoco.MjModel) -> None:
    data = mujoco.MjData(walker)
    inside, leave = threading.Event(), threading.Event()

    def wait(z: np.ndarray, x: asp.systems.SystemInput) -> np.ndarray:
        inside.set()
        leave.wait(10)
        return np.zeros(1)

    systems = [asp.systems.FunctionSystem(wait, joints=["a"])]
    thread = threading.Thread(target=asp.step, args=(walker, data), kwargs={"systems": systems})
    thread.start()
    assert inside.wait(60)
    with pytest.raises(RuntimeError, match="an MjData of its own"):
        asp.step(walker, data)
    leave.set()
    thread.join()
    assert data.time == walker.opt.timestep
    asp.step(walker, data, systems=systems)
