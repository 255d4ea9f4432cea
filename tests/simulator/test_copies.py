"""Copies and pickles go on where the original was, to the bit and independently, or are refused."""

from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from changed_models import ARTICULATED, SIMPLE
from every_integrator import INTEGRATORS

import asperity as asp
from asperity.integrators import Integrator
from asperity.simulator import Recorder

_Copy = Callable[[Any], Any]


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


COPIES: dict[str, _Copy] = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickled}


def told(sim: asp.Simulator) -> list[bytes]:
    """All that a simulator tells."""
    data, stats = sim.data, {**vars(sim.stats), "wall_time": 0.0}
    names = "qpos qvel act qacc xpos efc_force qfrc_constraint actuator_force ctrl mocap_pos"
    return [
        *(np.array(getattr(data, name)).tobytes() for name in names.split()),
        *(part.tobytes() for part in sim.contacts.arrays().values()),
        repr((sim.time, data.ncon, data.nefc, stats, sim.step_size, sim.clearance)).encode(),
    ]


def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    data.ctrl[:] = np.sin(40.0 * data.time + np.arange(model.nu))


def in_motion(integrator: Integrator, **options: Any) -> asp.Simulator:
    model = mujoco.MjModel.from_xml_string(
        SIMPLE if isinstance(integrator, asp.Midas) else ARTICULATED
    )
    if isinstance(integrator, asp.RungeKutta3):
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    sim = asp.Simulator(
        model, integrator=integrator, control=control, control_period=0.007, **options
    )
    assert sim.advance_to(0.02).success
    return sim


EVERY = INTEGRATORS | {
    "Icf, reuse": asp.Icf(time_step=2e-3, hessian_reuse=True),
    "Midas, BDF2": asp.Midas(time_step=5e-3, time_scheme="bdf2"),
}


@pytest.mark.parametrize("integrator", EVERY.values(), ids=EVERY)
def test_copies_go_on_to_the_bit(integrator: Integrator) -> None:
    sim = in_motion(integrator)
    copies = {name: make(sim) for name, make in COPIES.items()}
    for name, other in copies.items():
        assert told(other) == told(sim), name
    assert copies["copy"].model is sim.model
    assert copies["deepcopy"].model is not sim.model
    # One after the other, in an order that would show what they share.
    ends = {}
    for name, other in copies.items():
        assert other.advance_to(0.04).success
        ends[name] = told(other)
    before = told(sim)
    assert sim.advance_to(0.04).success
    assert before != told(sim)
    assert all(end == told(sim) for end in ends.values())


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_what_was_changed_since_the_last_call_is_copied(make: _Copy) -> None:
    sim = in_motion(asp.Cenic())
    sim.control = None
    sim.data.ctrl[:] = 0.3
    sim.data.qvel[0] = 1.0
    sim.model.opt.gravity[2] = -3.0
    other = make(sim)
    np.testing.assert_array_equal(other.data.qvel, sim.data.qvel)
    for one in (sim, other):
        assert one.advance_to(0.05).success
    np.testing.assert_array_equal(other.data.qpos, sim.data.qpos)


def test_a_deep_copy_shares_no_model() -> None:
    sim = in_motion(asp.Icf(time_step=2e-3))
    other = copy.deepcopy(sim)
    other.model.opt.gravity[:] = 0.0
    third = copy.deepcopy(sim)
    for one in (sim, other, third):
        assert one.advance_to(0.05).success
    np.testing.assert_array_equal(sim.data.qpos, third.data.qpos)
    assert np.any(sim.data.qpos != other.data.qpos)
    # Together with what refers to the same model.
    model, moved = copy.deepcopy((sim.model, sim))
    assert moved.model is model


class Gains:
    """A controller with a memory."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.calls += 1
        data.ctrl[:] = 0.01 * self.calls


def test_a_deep_copy_has_a_controller_of_its_own() -> None:
    model = mujoco.MjModel.from_xml_string(ARTICULATED)
    sim = asp.Simulator(model, control=Gains(), control_period=0.005)
    sim.advance_to(0.02)
    other, shared = copy.deepcopy(sim), copy.copy(sim)
    assert shared.control is sim.control
    other.advance_to(0.04)
    assert (sim.control.calls, other.control.calls) == (4, 8)


def lag(z: np.ndarray, x: asp.systems.SystemInput) -> np.ndarray:
    return (x.qpos[-4:-3] - z) / 0.02


def pull(z: np.ndarray, x: asp.systems.SystemInput) -> np.ndarray:
    return -30.0 * z


@pytest.mark.parametrize("integrator", [asp.Cenic(), asp.Sap(time_step=2e-3), asp.Rosenbrock2()])
def test_systems_are_copied_with_their_states(integrator: Integrator) -> None:
    text = SIMPLE.replace("</worldbody>", '<body pos="2.6 0 .5"><freejoint/><geom name="cup" '
    'size=".05"/></body></worldbody>')  # fmt: skip
    systems = [
        asp.systems.PidController(["shoulder"], kp=20.0, kd=1.0, ki=30.0, target=0.2),
        asp.systems.InverseDynamicsController(["slide"], kp=30.0, kd=9.0, target=0.1),
        asp.systems.PidController(["slide too"], kp=9.0, ki=2.0, target=0.1, sample_time=0.008),
        asp.systems.FunctionSystem(pull, lag, joints=["shoulder"], initial_state=[0.1]),
        asp.systems.Suction(["box"], force=1.0, reach=3.0, targets=["cup"])
        if not isinstance(integrator, asp.Rosenbrock2)
        else asp.systems.PdController(["slide"], kp=1.0),
    ]
    text = text.replace('name="box" type="box" size=".1 .1 .1"', 'name="box" size=".1"')
    model = mujoco.MjModel.from_xml_string(text)
    sim = asp.Simulator(model, integrator=integrator, systems=systems)
    assert sim.advance_to(0.021).success
    copies = [make(sim) for make in COPIES.values()]
    assert [len(other.systems) for other in copies] == [5, 5, 5]
    assert copies[0].systems[0] is systems[0]
    assert copies[1].systems[0] is not systems[0]
    for other in (*copies, sim):
        assert other.advance_to(0.05).success
    for other in copies:
        assert told(other) == told(sim)
        for own, theirs in zip(systems, other.systems, strict=True):
            np.testing.assert_array_equal(sim.system_state(own), other.system_state(theirs))
            np.testing.assert_array_equal(sim.system_output(own), other.system_output(theirs))


def test_a_pickle_goes_on_in_another_process() -> None:
    """Where everything has other addresses."""
    sims = [in_motion(integrator) for integrator in (asp.Cenic(), asp.Midas(time_step=5e-3))]
    program = """if True:
        import pickle, sys
        for sim in pickle.load(sys.stdin.buffer):
            assert sim.advance_to(0.04).success
            print((sim.data.qpos.tobytes() + sim.data.qacc.tobytes()).hex())
        """
    found = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(sims),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        check=True,
    )
    for sim, line in zip(sims, found.stdout.decode().split(), strict=True):
        assert sim.advance_to(0.04).success
        assert (sim.data.qpos.tobytes() + sim.data.qacc.tobytes()).hex() == line


def test_what_subclasses_add_is_copied() -> None:
    recorder = Recorder(mujoco.MjModel.from_xml_string(SIMPLE), integrator=asp.Icf(time_step=2e-3))
    recorder.start_record()
    recorder.advance_to(0.02)
    other = copy.deepcopy(recorder)
    for one in (recorder, other):
        one.advance_to(0.04)
    for mine, theirs in zip(recorder.record(), other.record(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert len(other.record()[0]) == 21


def test_trajectories_and_presets_are_copied() -> None:
    model = mujoco.MjModel.from_xml_string(SIMPLE)
    trajectory = asp.simulate(model, (0.0, 0.02), save_at=[0.0, 0.02], contact_forces=True)
    contact = asp.ContactParameters(geoms={"box": asp.Material(friction=0.3)})
    for make in COPIES.values():
        other = make(trajectory)
        np.testing.assert_array_equal(other.qpos, trajectory.qpos)
        np.testing.assert_array_equal(other.at([0.01])[0], trajectory.at([0.01])[0])
        assert other.status == trajectory.status
        assert other.stats == trajectory.stats
        assert make(contact) == contact
        for integrator in EVERY.values():
            assert make(integrator) == integrator


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_parts_of_a_simulator_are_refused(make: _Copy) -> None:
    sim = in_motion(asp.Cenic())
    midas = in_motion(asp.Midas(time_step=5e-3))
    parts = (
        *(
            sim.session.world,
            sim.session.plant,
            sim.session.coupling,
            sim.session.method,
            sim.session.method.base,
            sim.session.world.table,
        ),
        *(
            sim.session.world.current,
            sim.session.world.problem,
            midas.session.method.engine,
            midas.session.method,
        ),
    )
    for part in parts:
        with pytest.raises(TypeError, match=r"holds addresses .* copy or pickle its Simulator\.$"):
            make(part)


def test_what_cannot_be_pickled_is_named() -> None:
    sim = asp.Simulator(SIMPLE, control=lambda model, data: None)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dump(sim, io.BytesIO())
    assert copy.deepcopy(sim).control is sim.control
    assert sim.step().success


def test_a_simulator_runs_once_at_a_time() -> None:
    model = mujoco.MjModel.from_xml_string(SIMPLE)
    inside, leave = threading.Event(), threading.Event()

    def wait(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[:] = 0.3
        inside.set()
        leave.wait(10)

    sim = asp.Simulator(model, control=wait, control_period=1.0)
    found: list[asp.Report] = []
    thread = threading.Thread(target=lambda: found.append(sim.advance_to(0.1)))
    thread.start()
    assert inside.wait(10)
    for call in (
        sim.step,
        sim.reset,
        sim.warm_up,
        lambda: sim.advance_to(0.2),
        lambda: copy.copy(sim),
        lambda: copy.deepcopy(sim),
        lambda: pickle.dumps(sim),
    ):
        with pytest.raises(RuntimeError, match="give every thread a simulator of its own"):
            call()
    leave.set()
    thread.join()
    assert found[0].success
    alone = asp.Simulator(
        model, control=lambda model, data: data.ctrl.fill(0.3), control_period=1.0
    )
    alone.advance_to(0.1)
    np.testing.assert_array_equal(sim.data.qpos, alone.data.qpos)
    assert sim.step().success


def test_threads_that_get_in_each_other_s_way_do_no_harm() -> None:
    """In compiled code, which runs without the GIL."""
    model = mujoco.MjModel.from_xml_string(SIMPLE)
    alone = asp.Simulator(model, integrator=asp.Icf(time_step=1e-5))
    alone.advance_to(0.2)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-5))
    refused = 0
    thread = threading.Thread(target=sim.advance_to, args=(0.2,))
    thread.start()
    while sim.session.world.table.steps == 0:
        time.sleep(1e-4)
    while thread.is_alive():
        try:
            sim.advance_to(0.2)
        except asp.SimulationError:
            refused += 1
    thread.join()
    assert refused > 0
    np.testing.assert_array_equal(sim.data.qpos, alone.data.qpos)


def test_a_callback_cannot_advance_its_own_simulator() -> None:
    sim = asp.Simulator(SIMPLE)

    def progress(simulator: asp.Simulator) -> None:
        simulator.step()

    with pytest.raises(asp.SimulationError, match="a call of which this one is a part"):
        sim.advance_to(60.0, progress=progress)
    assert sim.step().success
