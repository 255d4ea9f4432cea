"""Rollouts: what a simulator does that is told the controls step by step, shaped as MuJoCo's."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from every_integrator import INTEGRATORS
from mujoco import rollout as mujoco_rollout

import asperity as asp

pytest.importorskip("mujoco.rollout")

MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="ball" pos="0 0 0.0999"><freejoint/><geom name="ball" type="sphere" size="0.1" mass="1"/><site name="in" size="0.2"/></body>
    <body pos="1 0 1"><joint name="a" axis="0 1 0" damping="0.1"/><geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/></body>
    <body name="hand" mocap="true" pos="-1 0 0.1"><geom type="sphere" size="0.05"/></body>
  </worldbody>
  <equality><weld name="grip" body1="ball" body2="hand" active="false"/></equality>
  <actuator><position name="servo" joint="a" kp="5" timeconst="0.05"/></actuator>
  <sensor><touch site="in"/><framelinacc objtype="body" objname="ball"/><jointpos joint="a"/></sensor>
</mujoco>
"""

STATE = mujoco.mjtState


def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(MODEL)


def initial(one: mujoco.MjModel, count: int) -> np.ndarray:
    """States with different velocities and activations."""
    random = np.random.default_rng(5)
    data = mujoco.MjData(one)
    states = []
    for w in range(count):
        data.time = 0.1 * w
        data.qvel[:] = random.normal(0.0, 0.3, one.nv)
        data.act[:] = random.normal(0.0, 0.3, one.na)
        state = np.empty(mujoco.mj_stateSize(one, int(STATE.mjSTATE_FULLPHYSICS)))
        mujoco.mj_getState(one, data, state, int(STATE.mjSTATE_FULLPHYSICS))
        states.append(state)
    return np.array(states)


def step_by_step(
    one: mujoco.MjModel,
    state: np.ndarray,
    inputs: np.ndarray,
    spec: int,
    integrator: asp.integrators.Integrator,
) -> tuple[np.ndarray, np.ndarray]:
    data = mujoco.MjData(one)
    mujoco.mj_setState(one, data, state, int(STATE.mjSTATE_FULLPHYSICS))
    sim = asp.Simulator(one, integrator=integrator, data=data)
    states, sensors = [], []
    for values in inputs:
        mujoco.mj_setState(one, data, values, spec)
        assert sim.step().success
        mujoco.mj_getState(one, data, state, int(STATE.mjSTATE_FULLPHYSICS))
        states.append(state.copy())
        sensors.append(data.sensordata.copy())
    return np.array(states), np.array(sensors)


@pytest.mark.parametrize("name", ["Icf", "Cenic", "Tamsi", "Sap, midpoint", "Sdirk2", "Midas"])
def test_a_rollout_is_a_simulator_that_is_told_every_step(name: str) -> None:
    one = model()
    if name == "Midas":
        one.eq_active0[:] = 0
    integrator = INTEGRATORS[name]
    states = initial(one, 3)
    if name == "Midas":
        states[:, 3] = 0.11
        states[:, 1 + one.nq : 1 + one.nq + 6] *= 0.1
    controls = np.random.default_rng(6).uniform(-1.0, 1.0, (3, 7, one.nu))
    found, sensors = asp.rollout(one, states, controls, integrator=integrator, threads=2)
    for w in range(3):
        expected, readings = step_by_step(
            one, states[w].copy(), controls[w], int(STATE.mjSTATE_CTRL), integrator
        )
        assert np.array_equal(found[w], expected)
        assert np.array_equal(sensors[w], readings)
    assert np.any(sensors[:, :, 0] > 1.0) or name == "Midas"


def test_dry_friction_of_joints_holds_as_in_a_simulator() -> None:
    one = model()
    one.dof_frictionloss[-1] = 2.0
    states = initial(one, 1)
    controls = np.zeros((1, 10, one.nu))
    for integrator in (asp.Icf(time_step=2e-3), asp.Cenic()):
        found, _ = asp.rollout(one, states, controls, integrator=integrator)
        expected, _ = step_by_step(
            one, states[0].copy(), controls[0], int(STATE.mjSTATE_CTRL), integrator
        )
        assert np.array_equal(found[0], expected)


def test_every_kind_of_input() -> None:
    """Forces, poses of mocap bodies and switched equalities, in MuJoCo's order."""
    one = model()
    spec = int(STATE.mjSTATE_USER)
    size = mujoco.mj_stateSize(one, spec)
    data = mujoco.MjData(one)
    inputs = np.empty((5, size))
    random = np.random.default_rng(7)
    for k in range(5):
        data.ctrl[:] = random.normal(size=one.nu)
        data.qfrc_applied[:] = random.normal(size=one.nv)
        data.xfrc_applied[1] = random.normal(size=6)
        data.mocap_pos[0, 0] = -1.0 + 0.001 * k
        data.eq_active[0] = k > 2
        mujoco.mj_getState(one, data, inputs[k], spec)
    state = initial(one, 1)
    for integrator in (asp.Icf(time_step=2e-3), asp.Cenic()):
        found, sensors = asp.rollout(one, state, inputs, control_spec=spec, integrator=integrator)
        expected, readings = step_by_step(one, state[0].copy(), inputs, spec, integrator)
        assert np.array_equal(found[0], expected)
        assert np.array_equal(sensors[0], readings)


def test_bits_of_inputs_need_inputs() -> None:
    one = model()
    with pytest.raises(asp.ArgumentError, match="control_spec says what control holds"):
        asp.rollout(one, initial(one, 1), control_spec=int(STATE.mjSTATE_USER), nstep=2)


@pytest.mark.parametrize(
    ("shape", "control", "nstep"),
    [
        ((4,), (6,), None),
        ((1,), (4, 6), None),
        ((4,), (1, 1), 6),
        ((), (4, 6), 6),
        ((4,), None, 6),
        ((4,), None, None),
        ((), (3,), None),
        ((2,), (1, 3), 0),
    ],
)
def test_shapes_are_those_of_mujoco(shape, control, nstep) -> None:
    one = model()
    states = initial(one, shape[0] if shape else 1)
    if not shape:
        states = states[0]
    controls = None if control is None else np.full((*control, one.nu), 0.1)
    expected: list[tuple[int, ...]] | str
    try:
        theirs = mujoco_rollout.rollout(one, mujoco.MjData(one), states, controls, nstep=nstep)
        expected = [array.shape for array in theirs]
    except ValueError:
        expected = "refused"
    try:
        found = [
            array.shape
            for array in asp.rollout(
                one, states, controls, nstep=nstep, integrator=asp.Icf(time_step=4e-3)
            )
        ]
    except asp.ArgumentError:
        found = "refused"
    assert found == expected


def test_a_smooth_motion_is_that_of_mujoco() -> None:
    """The same arguments mean the same: at a small step both go to the same solution."""
    one = model()
    one.opt.timestep = 1e-4
    one.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    states = initial(one, 3)
    controls = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 100, 1))
    theirs, _ = mujoco_rollout.rollout(one, mujoco.MjData(one), states, controls)
    ours, _ = asp.rollout(one, states, controls, integrator=asp.Icf(time_step=1e-4))
    assert np.abs(ours[:, :, 0] - theirs[:, :, 0]).max() < 1e-12
    assert np.abs(ours - theirs).max() < 1e-3
    assert np.abs(ours - states[:, None]).max() > 1e-2


def test_models_of_their_own() -> None:
    one, other = model(), model()
    other.opt.gravity[2] = -1.0
    states = initial(one, 4)
    controls = np.full((4, 5, 1), 0.3)
    integrator = asp.Icf(time_step=4e-3)
    models = [one, other, one, other]
    found, sensors = asp.rollout(models, states, controls, integrator=integrator)
    for w, its in enumerate(models):
        expected, readings = asp.rollout(its, states[w], controls[w], integrator=integrator)
        assert np.array_equal(found[w], expected[0])
        assert np.array_equal(sensors[w], readings[0])
    assert not np.array_equal(
        found[1], asp.rollout(one, states[1], controls[1], integrator=integrator)[0][0]
    )


def test_a_kept_model_that_has_changed_is_another_one() -> None:
    one = model()
    state = initial(one, 1)
    integrator = asp.Icf(time_step=4e-3)
    before, _ = asp.rollout(one, state, nstep=20, integrator=integrator)
    one.opt.gravity[2] = -1.0
    after, _ = asp.rollout(one, state, nstep=20, integrator=integrator)
    other = model()
    other.opt.gravity[2] = -1.0
    expected, _ = asp.rollout(other, state, nstep=20, integrator=integrator)
    assert np.array_equal(after, expected)
    assert not np.array_equal(after, before)


def test_rollouts_that_fail_repeat_their_last_state_and_say_so() -> None:
    one = model()
    states = initial(one, 4)
    controls = np.full((4, 6, 1), 0.3)
    integrator = asp.Icf(time_step=4e-3)
    whole, readings = asp.rollout(one, states, controls, integrator=integrator)
    states[3, 2] = np.inf
    controls[1, 3:] = np.nan
    with pytest.warns(asp.AsperityWarning, match=r"2 of 4 rollouts .*\(1, 3\).*not finite"):
        found, sensors = asp.rollout(one, states, controls, integrator=integrator, threads=2)
    for w in (0, 2):
        assert np.array_equal(found[w], whole[w])
        assert np.array_equal(sensors[w], readings[w])
    assert np.array_equal(found[1, :3], whole[1, :3])
    assert np.all(found[1, 3:] == whole[1, 2])
    assert np.all(sensors[1, 3:] == readings[1, 2])
    assert np.array_equal(found[3], np.tile(states[3], (6, 1)))
    assert np.all(np.isnan(sensors[3]))


def test_results_go_where_they_are_wanted() -> None:
    one = model()
    states = initial(one, 2)
    state, sensordata = np.empty((2, 3, states.shape[1])), np.empty((2, 3, one.nsensordata))
    found = asp.rollout(one, states, state=state, sensordata=sensordata)
    assert found[0] is state
    assert found[1] is sensordata
    expected = asp.rollout(one, states, nstep=3)
    assert np.array_equal(state, expected[0])
    assert np.array_equal(sensordata, expected[1])


def test_wrong_arguments_are_named() -> None:
    one = model()
    states = initial(one, 4)
    for call, message in (
        (lambda: asp.rollout(one, states[:, :-1]), "last axis of initial_state must be"),
        (lambda: asp.rollout(one, states, np.zeros((3, 5, 1))), "control is for 3 worlds"),
        (lambda: asp.rollout(one, states, np.zeros((4, 5, 2))), "last axis of control"),
        (lambda: asp.rollout(one, states, np.zeros((4, 5, 1)), nstep=6), "control is for 5 steps"),
        (lambda: asp.rollout(one, states, nstep=-1), "nstep"),
        (lambda: asp.rollout(one, states, nstep=1.5), "nstep"),
        (lambda: asp.rollout(one, states, control_spec=8), "control_spec"),
        (
            lambda: asp.rollout(one, states[None, None]),
            "initial_state must have the axes worlds, values",
        ),
        (lambda: asp.rollout("ant.xml", states), "model must be"),
        (lambda: asp.rollout([one, None], states), r"model\[1\] must be"),
        (lambda: asp.rollout([one] * 3, states), "initial_state is for 4 worlds"),
        (lambda: asp.rollout(one, states, threads=0), "threads"),
        (lambda: asp.rollout(one, states, integrator="icf"), "integrator"),
        (lambda: asp.rollout(one, states, state=np.zeros((4, 2, 3))), "last axis of state"),
        (lambda: asp.rollout(one, states, "abc"), "control must be numbers"),
    ):
        with pytest.raises(asp.ArgumentError, match=message):
            call()
