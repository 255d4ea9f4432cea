"""Worlds of a batch do what simulators of their own do, to the bit, whoever computes them."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading

import mujoco
import numpy as np
import pytest
from every_integrator import INTEGRATORS

import asperity as asp
from asperity.integrators import Integrator

# Several trees that meet, so that contacts couple them; an articulated one with limits, dry
# friction, a servo with dynamics, and an equality; sensors of all three stages.
SCENE = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="one" pos="0 0 0.09998"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/>
      <site name="in one" size="0.15"/></body>
    <body name="two" pos="0.05 0 0.29996"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="0.5"/></body>
    <body name="three" pos="0.5 0 0.04998"><freejoint/><geom type="sphere" size="0.05" mass="0.2"/></body>
    <body name="arm" pos="0.3 0.3 0.3">
      <joint name="a" axis="0 1 0" damping="0.1" range="-30 30" limited="true"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/>
      <body pos="0.3 0 0">
        <joint name="b" axis="0 1 0" damping="0.05" frictionloss="0.02"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0.2 0 0"/>
        <site name="tip" pos="0.2 0 0"/>
      </body>
    </body>
    <body name="hand" mocap="true" pos="-1 0 0.1"><geom type="sphere" size="0.05"/></body>
  </worldbody>
  <actuator>
    <position name="servo" joint="a" kp="5" kv="0.5" timeconst="0.03"/>
    <motor joint="b" gear="2"/>
  </actuator>
  <sensor>
    <touch site="in one"/><accelerometer site="tip"/><gyro site="tip"/><framepos objtype="body" objname="two"/>
    <actuatorfrc actuator="servo"/>
  </sensor>
  <keyframe><key name="thrown" time="0.3" qvel="1 0 0 0 0 0  0 1 0 0 0 0  -1 0 0 0 0 0  0.5 0" ctrl="0.2 -0.1"/></keyframe>
</mujoco>
"""

COMPILED = {
    name: integrator
    for name, integrator in INTEGRATORS.items()
    if not isinstance(integrator, asp.Midas)
}
RESULTS = ("qpos", "qvel", "act", "sensordata")
PUBLISHED = (*RESULTS, "qacc", "efc_force", "qfrc_constraint", "xpos", "cvel", "actuator_force")


def scene(integrator: Integrator | None = None) -> mujoco.MjModel:
    model = mujoco.MjModel.from_xml_string(SCENE)
    if isinstance(integrator, asp.RungeKutta3):
        # Too stiff for an explicit method.
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return model


def starts(model: mujoco.MjModel, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Different initial velocities, and controls of several steps for each world."""
    random = np.random.default_rng(3)
    velocities = random.normal(0.0, 0.5, (count, model.nv))
    # What lies on something slides upon it.
    for free in range(3):
        velocities[:, 6 * free + 2 : 6 * free + 6] = 0.0
    return velocities, random.uniform(-1.0, 1.0, (6, count, model.nu))


def of_simulators(
    model: mujoco.MjModel, integrator: Integrator, velocities: np.ndarray, controls: np.ndarray
) -> list[asp.Simulator]:
    simulators = []
    for world, velocity in enumerate(velocities):
        data = mujoco.MjData(model)
        data.qvel[:] = velocity
        sim = asp.Simulator(model, integrator=integrator, data=data)
        for control in controls:
            sim.data.ctrl[:] = control[world]
            for _ in range(2):
                assert sim.step().success
        simulators.append(sim)
    return simulators


def of_batch(
    model: mujoco.MjModel,
    integrator: Integrator,
    velocities: np.ndarray,
    controls: np.ndarray,
    threads: int,
) -> asp.Batch:
    batch = asp.Batch(model, len(velocities), integrator=integrator, threads=threads)
    batch.reset(qvel=velocities)
    for control in controls:
        batch.ctrl = control
        assert not batch.step(2).any()
    return batch


@pytest.mark.parametrize("integrator", COMPILED.values(), ids=COMPILED)
def test_every_world_is_a_simulator_to_the_bit(integrator: Integrator) -> None:
    model = scene(integrator)
    velocities, controls = starts(model, 5)
    simulators = of_simulators(model, integrator, velocities, controls)
    batch = of_batch(model, integrator, velocities, controls, threads=2)
    assert len({sim.data.qpos.tobytes() for sim in simulators}) == len(simulators)
    for world, sim in enumerate(simulators):
        for name in RESULTS:
            found = getattr(batch, name)[world]
            assert np.array_equal(found, getattr(sim.data, name)), (world, name)
        assert batch.time[world] == sim.time
        data = batch.data(world)
        for name in PUBLISHED:
            assert np.array_equal(getattr(data, name), getattr(sim.data, name)), (world, name)
        assert data.ncon == sim.data.ncon
    if not isinstance(integrator, asp.RungeKutta3):
        assert sum(sim.data.ncon for sim in simulators) >= 5
    assert batch.stats.steps == sum(sim.stats.steps for sim in simulators)


@pytest.mark.parametrize("name", ["Icf", "Cenic", "Sap, midpoint", "ImplicitEuler"])
def test_threads_make_no_difference(name: str) -> None:
    model = scene()
    velocities, controls = starts(model, 7)
    found = [
        of_batch(model, COMPILED[name], velocities, controls, threads).qpos.tobytes()
        for threads in (1, 2, 3, 7)
    ]
    assert len(set(found)) == 1


def test_pressure_fields_are_those_of_a_simulator() -> None:
    model = scene()
    contact = asp.ContactParameters(surface="compliant", hydroelastic_modulus=1e6, resolution=0.05)
    integrator = asp.Icf(time_step=2e-3)
    batch = asp.Batch(model, 3, integrator=integrator, contact=contact, threads=2)
    sim = asp.Simulator(model, integrator=integrator, contact=contact)
    for _ in range(10):
        batch.step()
        sim.step()
    assert sim.patches.geom.size > 0
    for world in range(3):
        assert np.array_equal(batch.qpos[world], sim.data.qpos)


def test_a_duration_is_that_of_a_simulator() -> None:
    model = scene()
    batch, sim = asp.Batch(model, 2), asp.Simulator(model)
    for duration in (0.013, 0.2):
        batch.advance(duration)
        sim.advance_to(sim.time + duration)
    assert batch.time[1] == sim.time
    assert np.array_equal(batch.qpos[1], sim.data.qpos)
    assert np.array_equal(batch.sensordata[1], sim.data.sensordata)


def test_inputs_reach_the_worlds_that_they_are_written_for() -> None:
    """Mocap poses, applied forces and switched equalities, as in a simulator."""
    model = scene()
    batch = asp.Batch(model, 3, threads=2)
    batch.mocap_pos[1, 0] = [-0.14, 0.0, 0.1]
    batch.xfrc_applied[2, 3, :3] = [0.0, 1.0, 2.0]
    batch.qfrc_applied[2, -1] = 0.1
    sims = [asp.Simulator(model) for _ in range(3)]
    sims[1].data.mocap_pos[0] = [-0.14, 0.0, 0.1]
    sims[2].data.xfrc_applied[3, :3] = [0.0, 1.0, 2.0]
    sims[2].data.qfrc_applied[-1] = 0.1
    for _ in range(4):
        batch.step()
        for world, sim in enumerate(sims):
            sim.step()
            assert np.array_equal(batch.qpos[world], sim.data.qpos), world
    assert not np.array_equal(batch.qpos[0], batch.qpos[1])
    assert not np.array_equal(batch.qpos[0], batch.qpos[2])


def test_a_failing_world_leaves_the_others_alone() -> None:
    model = scene()
    integrator = asp.Icf(time_step=2e-3)
    alone = asp.Batch(model, 1, integrator=integrator)
    batch = asp.Batch(model, 4, integrator=integrator, threads=2)
    batch.step(3)
    alone.step(3)
    before = batch.qpos[2].copy(), batch.time[2], batch.sensordata[2].copy()
    batch.ctrl[2, 1] = np.nan
    batch.xfrc_applied[3, 1, 0] = np.inf
    status = batch.step(5)
    alone.step(5)
    assert list(status) == [0, 0, asp.Status.INVALID_INPUT, asp.Status.INVALID_INPUT]
    assert np.array_equal(batch.qpos[2], before[0])
    assert batch.time[2] == before[1]
    assert np.array_equal(batch.sensordata[2], before[2])
    for world in (0, 1):
        assert np.array_equal(batch.qpos[world], alone.qpos[0])
    with pytest.raises(asp.ArgumentError, match=r"world 2: .*not finite"):
        batch.data(2)
    # Mended, it goes on from where it was.
    batch.ctrl[2, 1] = 0.0
    batch.xfrc_applied[3] = 0.0
    assert not batch.step(5).any()
    again = asp.Batch(model, 1, integrator=integrator)
    again.step(8)
    assert np.array_equal(batch.qpos[2], again.qpos[0])


def test_a_world_that_does_not_converge_has_the_status_of_a_simulator() -> None:
    model = scene()
    integrator = asp.Icf(time_step=2e-3, max_iterations=1)
    velocities, _ = starts(model, 4)
    velocities[0] = 0.0
    batch = asp.Batch(model, 4, integrator=integrator, threads=2)
    batch.reset(qvel=velocities)
    batch.step(20)
    ends = []
    for world in range(4):
        data = mujoco.MjData(model)
        data.qvel[:] = velocities[world]
        sim = asp.Simulator(model, integrator=integrator, data=data)
        for _ in range(20):
            report = sim.step(on_failure="return")
            if not report.success:
                break
        ends.append(report.status)
        assert np.array_equal(batch.qpos[world], sim.data.qpos)
        assert np.array_equal(batch.sensordata[world], sim.data.sensordata)
    assert list(batch.status) == ends
    assert asp.Status.NOT_CONVERGED in ends


def test_reset_of_some_worlds() -> None:
    model = scene()
    batch = asp.Batch(model, 4)
    fresh = batch.qpos.copy(), batch.sensordata.copy()
    batch.ctrl = 0.5
    batch.step(4)
    moved = batch.qpos.copy()
    batch.reset([True, False, True, False])
    assert np.array_equal(batch.qpos[::2], fresh[0][::2])
    assert np.array_equal(batch.qpos[1::2], moved[1::2])
    assert np.array_equal(batch.sensordata[::2], fresh[1][::2])
    assert np.all(batch.ctrl[::2] == 0.0)
    assert np.all(batch.ctrl[1::2] == 0.5)
    assert np.all(batch.time[::2] == 0.0)
    batch.reset(3, keyframe="thrown")
    assert batch.time[3] == 0.3
    assert np.array_equal(batch.qvel[3], model.key_qvel[0])
    assert np.array_equal(batch.ctrl[3], model.key_ctrl[0])
    state = np.tile(model.qpos0, (2, 1))
    state[:, 0] = [1.0, 2.0]
    batch.reset([1, 2], qpos=state, qvel=np.zeros(model.nv))
    assert list(batch.qpos[:, 0]) == [0.0, 1.0, 2.0, 0.0]
    # Where it was before makes no difference.
    sim = asp.Simulator(model)
    batch.reset()
    batch.step(5)
    for _ in range(5):
        sim.step()
    assert np.array_equal(batch.qpos[0], sim.data.qpos)


def test_a_written_state_begins_anew() -> None:
    """Under error control the size of the next step is forgotten, as in a simulator."""
    model = scene()
    batch, sim = asp.Batch(model, 2, threads=1), asp.Simulator(model)
    batch.advance(0.1)
    sim.advance_to(0.1)
    batch.qpos[1, 2] += 0.1
    sim.data.qpos[2] += 0.1
    batch.advance(0.1)
    sim.advance_to(sim.time + 0.1)
    assert np.array_equal(batch.qpos[1], sim.data.qpos)


def test_sensors_follow_what_was_written_when_asked_to() -> None:
    model = scene()
    batch = asp.Batch(model, 2)
    batch.qpos[1, 7:10] = [1.0, 2.0, 3.0]
    assert not np.array_equal(batch.sensordata[1, 7:10], [1.0, 2.0, 3.0])
    batch.forward()
    assert np.array_equal(batch.sensordata[1, 7:10], [1.0, 2.0, 3.0])
    assert np.all(batch.time == 0.0)


def test_a_changed_model_is_taken_over() -> None:
    model = scene()
    batch, sim = asp.Batch(model, 2), asp.Simulator(model)
    batch.step(2)
    sim.step()
    sim.step()
    model.opt.gravity[2] = -3.0
    model.geom_friction[:, 0] = 0.05
    model.dof_damping[-1] = 1.0
    batch.step(3)
    for _ in range(3):
        sim.step()
    assert np.array_equal(batch.qpos[0], sim.data.qpos)
    model.body_parentid[2] = 1
    with pytest.raises(asp.ModelError, match="body_parentid"):
        batch.step()


def test_more_contacts_than_there_is_room_for_at_first() -> None:
    """A world whose contacts outgrow its memory gets more, in the middle of a step."""
    boxes = "".join(
        f'<body pos="{0.3 * x} {0.3 * y} 0.099"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>'
        for x in range(9)
        for y in range(9)
    )
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><size memory="64M"/><worldbody><geom type="plane" size="9 9 1"/>'
        f"{boxes}</worldbody></mujoco>"
    )
    integrator = asp.Icf(time_step=2e-3)
    batch = asp.Batch(model, 3, integrator=integrator, threads=2)
    batch.qpos[1, 2::7] += 1.0  # in the air
    batch.step(2)
    sim = asp.Simulator(model, integrator=integrator)
    sim.step()
    sim.step()
    assert len(sim.contacts.geom) > 256
    assert np.array_equal(batch.qpos[0], sim.data.qpos)
    assert np.array_equal(batch.qpos[2], sim.data.qpos)
    assert np.array_equal(batch.data(2).efc_force, sim.data.efc_force)


@pytest.mark.parametrize("varied", [False, True])
def test_more_contacts_than_mujoco_has_memory_to_publish(varied: bool) -> None:
    """The strongest are published, and what sensors read of them, as by a simulator."""
    boxes = "".join(
        f'<body pos="{0.3 * x} {0.3 * y} 0.0999"><freejoint/><geom type="box" size="0.1 0.1 0.1"/>'
        f'<site name="{x} {y}" size="0.2"/></body>'
        for x in range(7)
        for y in range(7)
    )
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><size memory="4M"/><worldbody><geom type="plane" size="9 9 1"/>'
        f'{boxes}</worldbody><sensor><touch site="0 0"/></sensor></mujoco>'
    )
    integrator = asp.Icf(time_step=2e-3)
    batch = asp.Batch(model, 2, integrator=integrator, threads=2)
    if varied:
        batch.vary("geom_friction")[1] *= 0.5
    batch.step(3)
    for w in range(2):
        sim = asp.Simulator(batch.world_model(w), integrator=integrator)
        for _ in range(3):
            sim.step()
        assert sim.data.ncon < len(sim.contacts.geom)
        assert np.array_equal(batch.qpos[w], sim.data.qpos)
        assert np.array_equal(batch.sensordata[w], sim.data.sensordata)
        assert batch.sensordata[w, 0] > 1.0
        assert np.array_equal(batch.data(w).efc_force, sim.data.efc_force)


def test_wrong_arguments_are_named() -> None:
    model = scene()
    for arguments, message in (
        ({"count": 0}, "count"),
        ({"count": 2.5}, "count"),
        ({"count": 2, "threads": 0}, "threads"),
        ({"count": 2, "integrator": "icf"}, "integrator"),
    ):
        with pytest.raises(asp.ArgumentError, match=message):
            asp.Batch(model, **arguments)
    batch = asp.Batch(model, 3)
    before = batch.qpos.copy()
    with pytest.raises(asp.ArgumentError, match=r"ctrl must have shape \(3, 2\).*\(3, 3\)"):
        batch.ctrl = np.zeros((3, 3))
    for call, message in (
        (lambda: batch.step(-1), "nstep"),
        (lambda: batch.advance(np.nan), "duration"),
        (lambda: batch.reset([True, False]), r"mask must have shape \(3,\)"),
        (lambda: batch.reset([3]), "there is no world 3; the batch has 3"),
        (lambda: batch.reset(qpos=np.zeros((2, model.nq))), "qpos must have shape"),
        (lambda: batch.reset([0], qvel=np.full(model.nv, np.nan)), "qvel must be finite"),
        (lambda: batch.reset(keyframe="none"), "keyframe 'none' does not exist"),
        (lambda: batch.data(3), "there is no world 3"),
    ):
        with pytest.raises(asp.ArgumentError, match=message):
            call()
    assert np.array_equal(batch.qpos, before)
    with pytest.raises(ValueError, match="read-only"):
        batch.status[0] = 1
    for refused in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            refused(batch)


def test_an_interrupt_leaves_every_world_in_an_accepted_state() -> None:
    """Ctrl-C during a long advance: all that was accepted is there, and it can go on."""
    model = scene()
    integrator = asp.Icf(time_step=1e-3)
    batch = asp.Batch(model, 6, integrator=integrator, threads=2)
    batch.step()
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        batch.advance(1e5)
    interrupted = batch.status == asp.Status.INTERRUPTED
    assert interrupted.all()
    assert np.any(batch.time > 1e-3)
    for w in range(6):
        count = round(batch.time[w] / 1e-3)
        assert batch.time[w] == pytest.approx(1e-3 * count)
    times, ends = batch.time.copy(), batch.qpos.copy()
    # An undisturbed world that is told the same stretches of time gets there, too.
    other = asp.Batch(model, 1, integrator=integrator)
    other.step()
    first = int(np.argmax(times))
    other.advance(times[first] - times.min())
    assert np.all(np.isfinite(ends))
    assert other.qpos[0] == pytest.approx(ends[first], abs=1e-6)
    assert not batch.step().any()
    assert batch.time == pytest.approx(times + 1e-3)


def test_a_batch_is_refused_to_a_second_thread() -> None:
    batch = asp.Batch(scene(), 2, integrator=asp.Icf(time_step=1e-3), threads=1)
    running = threading.Thread(target=batch.advance, args=(3.0,))
    running.start()
    refused = False
    while running.is_alive() and not refused:
        try:
            batch.forward()
        except asp.SimulationError as error:
            refused = "another thread" in str(error)
    running.join()
    assert refused
    assert np.all(batch.time >= 3.0)


FIELDS = (
    "xpos",
    "cinert",
    "cvel",
    "qfrc_actuator",
    "qfrc_constraint",
    "cfrc_ext",
    "cacc",
    "subtree_linvel",
)


@pytest.mark.parametrize("name", ["Icf", "Midas"])
@pytest.mark.parametrize("finds", [True, False])
def test_bound_fields_are_those_of_simulators(name: str, finds: bool) -> None:
    integrator = INTEGRATORS[name]
    model = scene()
    if not finds:
        spec = mujoco.MjSpec.from_string(SCENE)
        for sensor in list(spec.sensors):
            spec.delete(sensor)
        model = spec.compile()
    velocities, controls = starts(model, 3)
    batch = asp.Batch(model, 3, integrator=integrator, threads=2)
    bound = {field: batch.bind(field) for field in FIELDS}
    np.testing.assert_array_equal(bound["xpos"][1], batch.data(1).xpos)
    batch.reset(qvel=velocities)
    for control in controls:
        batch.ctrl = control
        batch.advance(0.005)
    for w in range(3):
        sim = asp.Simulator(model, integrator=integrator)
        sim.data.qvel[:] = velocities[w]
        for control in controls[:, w]:
            sim.data.ctrl[:] = control
            sim.advance_to(sim.time + 0.005)
        mujoco.mj_rnePostConstraint(model, sim.data)
        mujoco.mj_subtreeVel(model, sim.data)
        for field, rows in bound.items():
            np.testing.assert_array_equal(rows[w], getattr(sim.data, field), field)
    # What carries the lowest box: the floor pushes with the weight of two, more or less.
    weight = 9.81 * 1.5
    assert 0.5 * weight < bound["cfrc_ext"][0, 1, 5] + bound["cfrc_ext"][0, 2, 5] < 2.0 * weight
    np.testing.assert_array_equal(batch.bind("qpos"), batch.qpos)


def test_fields_that_cannot_be_bound() -> None:
    batch = asp.Batch(scene(), 2, integrator=asp.Icf(time_step=5e-3))
    for field in (
        "efc_force",
        "contact",
        "ncon",
        "jnt_type",
        "energy",
        "nothing",
        3,
        "tree_asleep",
    ):
        with pytest.raises(asp.ArgumentError, match="cannot be bound"):
            batch.bind(field)
    assert batch.step().tolist() == [0, 0]
