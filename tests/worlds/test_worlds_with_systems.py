"""Worlds with external systems: each does what a simulator with such systems does, to the bit."""

from __future__ import annotations

import threading
from collections.abc import Callable

import mujoco
import numba
import numpy as np
import pytest

import asperity as asp
from asperity.integrators import Integrator

XML = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body pos="0 0 0.5">
      <joint name="a" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0.4 0 0"/>
      <body pos="0.4 0 0">
        <joint name="b" axis="0 1 0" damping="0.05" range="-100 100" limited="true"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/>
        <site name="tip" pos="0.3 0 0"/>
      </body>
    </body>
    <body pos="0.35 0 0.09998"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="0.5"/></body>
  </worldbody>
  <actuator><motor name="m" joint="b" ctrlrange="-5 5"/></actuator>
  <sensor><gyro site="tip"/></sensor>
</mujoco>
"""

STEPS = 12


def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(XML)


@numba.njit
def compiled_output(z, x):
    return np.array([x.parameters[0] * (z[0] - x.qpos[0])])


@numba.njit
def compiled_derivative(z, x):
    return np.array([x.parameters[1] - z[0]])


def spring(z: np.ndarray, x: asp.systems.SystemInput) -> list[float]:
    return [-x.parameters[0] * x.qpos[0] + z[0]]


def rate(z: np.ndarray, x: asp.systems.SystemInput) -> list[float]:
    return [np.sin(7.0 * x.time) - z[0] - x.qvel[0]]


MAKE: dict[str, Callable[[], asp.systems.ExternalSystem]] = {
    "PD": lambda: asp.systems.PdController(["a", "b"], kp=30.0, kd=2.0, target=[0.3, -0.5]),
    "PID": lambda: asp.systems.PidController(["a"], kp=30.0, kd=2.0, ki=10.0, target=0.2),
    "inverse dynamics": lambda: asp.systems.InverseDynamicsController(["a", "b"], kp=80.0, kd=15.0),
    "Python": lambda: asp.systems.FunctionSystem(
        spring, rate, joints=["a"], initial_state=[0.5], parameters=[20.0], error_weight=1.0
    ),
    "Numba": lambda: asp.systems.FunctionSystem(
        compiled_output, compiled_derivative, joints=["a"], initial_state=[0.1],
        parameters=[25.0, 0.4],
    ),
    "sampled": lambda: asp.systems.PidController(
        ["a"], kp=10.0, kd=1.0, ki=4.0, target=0.2, sample_time=0.012
    ),
    "of an actuator": lambda: asp.systems.FunctionSystem(
        lambda z, x: [-3.0 * x.qvel[1] - x.parameters[0]], actuators=["m"], parameters=[0.1],
        effort_limit=0.5,
    ),
}  # fmt: skip


def make_different(systems: tuple[asp.systems.ExternalSystem, ...], w: int) -> None:
    """Other numbers for every world."""
    for system in systems:
        if isinstance(system, asp.systems.PidController):
            system.target[:] += 0.1 * w
        else:
            system.parameters[:] *= 1.0 + 0.1 * w


def of_simulator(names: list[str], integrator: Integrator, w: int, steps: int = STEPS) -> tuple:
    """Results of a simulator with the numbers of a world."""
    systems = tuple(MAKE[name]() for name in names)
    make_different(systems, w)
    sim = asp.Simulator(model(), integrator=integrator, systems=systems)
    sim.data.qvel[0] = 0.3 * w
    for _ in range(steps):
        assert sim.step().success
    states = [sim.system_state(system).copy() for system in systems]
    return sim.data, states


def assert_equal(batch: asp.Batch, w: int, expected: tuple) -> None:
    data, states = expected
    for name in ("qpos", "qvel", "sensordata"):
        assert np.array_equal(getattr(batch, name)[w], getattr(data, name)), (w, name)
    for k, state in enumerate(states):
        assert np.array_equal(batch.system_state(k)[w], state)
    published = batch.data(w)
    for name in ("qacc", "qfrc_actuator", "actuator_force", "xpos"):
        assert np.array_equal(getattr(published, name), getattr(data, name)), (w, name)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", MAKE)
def test_every_kind_of_system(name: str, threads: int) -> None:
    integrator = asp.Icf(time_step=5e-3)
    batch = asp.Batch(model(), 5, integrator=integrator, threads=threads, systems=[MAKE[name]()])
    for w in range(5):
        make_different(batch.systems[w], w)
        batch.qvel[w, 0] = 0.3 * w
    for _ in range(3):
        assert not batch.step(STEPS // 3).any()
    for w in range(5):
        assert_equal(batch, w, of_simulator([name], integrator, w))
    assert len({row.tobytes() for row in batch.qpos}) == 5


@pytest.mark.parametrize("integrator", [asp.Cenic(), asp.Tamsi(time_step=5e-3), asp.Sap()])
def test_integrators(integrator: Integrator) -> None:
    names = ["PID", "of an actuator"]
    batch = asp.Batch(
        model(), 3, integrator=integrator, threads=2, systems=[MAKE[name]() for name in names]
    )
    for w in range(3):
        make_different(batch.systems[w], w)
        batch.qvel[w, 0] = 0.3 * w
    for _ in range(STEPS):
        assert not batch.step().any()
    for w in range(3):
        assert_equal(batch, w, of_simulator(names, integrator, w))


def test_worlds_that_are_reset_begin_with_the_initial_states() -> None:
    """Samples, too, are due again, and what was held is gone."""
    integrator = asp.Icf(time_step=5e-3)
    names = ["sampled", "Python"]
    batch = asp.Batch(model(), 2, integrator=integrator, systems=[MAKE[n]() for n in names])
    batch.step(5)
    first = batch.system_state(1)[0].copy()
    batch.reset([1])
    assert np.array_equal(batch.system_state(1), [first, [0.5]])
    assert np.array_equal(batch.system_state(0)[1], [0.0])
    batch.step(STEPS)
    assert_equal(batch, 1, of_simulator(names, integrator, 0))
    assert_equal(batch, 0, of_simulator(names, integrator, 0, STEPS + 5))


def test_states_are_written_between_calls() -> None:
    """A motor's state is its torque here: it turns the free joint by z t² / (2 J)."""
    free = mujoco.MjModel.from_xml_string(
        '<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="j" axis="0 0 1"/>'
        '<geom size="0.1" mass="1"/></body></worldbody></mujoco>'
    )
    motor = asp.systems.FunctionSystem(
        lambda z, x: z, lambda z, x: 0.0 * z, joints=["j"], initial_state=[0.0]
    )
    with pytest.warns(asp.AsperityWarning, match="Nothing can collide"):
        batch = asp.Batch(free, 3, systems=[motor])
    batch.system_state(0)[:, 0] = [0.0, 1e-3, 2e-3]
    batch.advance(2.0)
    inertia = 0.4 * 1.0 * 0.1**2
    assert batch.qpos[:, 0] == pytest.approx(np.array([0.0, 1e-3, 2e-3]) * 2.0 / inertia, rel=1e-9)


def test_fields_vary_beside_systems() -> None:
    """Users go on with the systems that they have at hand."""
    integrator = asp.Icf(time_step=5e-3)
    batch = asp.Batch(model(), 2, integrator=integrator, systems=[MAKE["PID"]()])
    mine = batch.systems[1][0]
    batch.vary("dof_damping")[1, 0] = 0.7
    batch.vary("opt.gravity")[1, 2] = -3.0
    batch.step(2)
    assert batch.systems[1][0] is mine
    mine.target[:] = 0.9
    batch.step(STEPS - 2)
    controller = MAKE["PID"]()
    other = model()
    other.dof_damping[0] = 0.7
    other.opt.gravity[2] = -3.0
    sim = asp.Simulator(other, integrator=integrator, systems=[controller])
    for k in range(STEPS):
        if k == 2:
            controller.target[:] = 0.9
        sim.step()
    assert np.array_equal(batch.qpos[1], sim.data.qpos)
    assert_equal(batch, 0, of_simulator(["PID"], integrator, 0))


@pytest.mark.parametrize("name", ["Python", "Numba", "sampled"])
def test_rollouts(name: str) -> None:
    integrator = asp.Icf(time_step=5e-3)
    one = model()
    states = np.zeros((4, 1 + one.nq + one.nv))
    states[:, 0] = 0.25
    states[:, 1 : 1 + one.nq] = one.qpos0
    states[:, 1 + one.nq] = 0.2 * np.arange(4)
    controls = np.random.default_rng(0).uniform(-1.0, 1.0, (4, STEPS, 1))
    systems = [MAKE[name]()]
    found, sensors = asp.rollout(one, states, controls, integrator=integrator, systems=systems)
    again, _ = asp.rollout(one, states, controls, integrator=integrator, systems=systems, threads=1)
    assert np.array_equal(found, again)
    for w in range(4):
        data = mujoco.MjData(one)
        data.time, data.qvel[0] = 0.25, 0.2 * w
        sim = asp.Simulator(one, integrator=integrator, data=data, systems=[MAKE[name]()])
        for k in range(STEPS):
            sim.data.ctrl[:] = controls[w, k]
            sim.step()
            now = np.concatenate([[sim.time], sim.data.qpos, sim.data.qvel])
            assert np.array_equal(found[w, k], now)
            assert np.array_equal(sensors[w, k], sim.data.sensordata)
    # What was given is only copied.
    assert np.array_equal(systems[0].initial_state, MAKE[name]().initial_state)


def test_python_systems_share_nothing_between_threads() -> None:
    """A system that counts on its own attributes has those of its world, whoever evaluates it."""

    class Counting(asp.systems.ExternalSystem):
        joints = ("a",)
        initial_state = (0.0,)

        def __init__(self) -> None:
            self.threads: set[int] = set()
            self.busy = False

        def output(self, z: np.ndarray, x: asp.systems.SystemInput) -> list[float]:
            assert not self.busy
            self.busy = True
            self.threads.add(threading.get_ident())
            value = [-5.0 * float(np.sum(x.qpos[:1] * np.ones(1000)) / 1000.0)]
            self.busy = False
            return value

        def derivative(self, z: np.ndarray, x: asp.systems.SystemInput) -> list[float]:
            return [1.0]

    integrator = asp.Icf(time_step=5e-3)
    ends = []
    for threads in (1, 4):
        batch = asp.Batch(model(), 16, integrator=integrator, threads=threads, systems=[Counting()])
        batch.qvel[:, 0] = np.linspace(0.0, 1.0, 16)
        for _ in range(10):
            assert not batch.step(2).any()
        assert np.all(batch.system_state(0) == pytest.approx(20 * 5e-3))
        ends.append(batch.qpos.copy())
        assert len({id(own[0]) for own in batch.systems}) == 16
    assert np.array_equal(*ends)


def test_what_a_system_raises_comes_out_with_the_world() -> None:
    def fails(z: np.ndarray, x: asp.systems.SystemInput) -> list[float]:
        if x.time > 0.012 and x.parameters[0] > 0.0:
            raise ZeroDivisionError("a bug")
        return [0.0]

    system = asp.systems.FunctionSystem(fails, joints=["a"], parameters=[0.0])
    integrator = asp.Icf(time_step=5e-3)
    batch = asp.Batch(model(), 3, integrator=integrator, threads=1, systems=[system])
    batch.systems[1][0].parameters[0] = 1.0
    with pytest.raises(ZeroDivisionError, match="a bug") as caught:
        batch.step(10)
    assert caught.value.__notes__ == ["in world 1"]
    assert batch.time[:2] == pytest.approx([0.05, 0.015])
    # It goes on from there.
    batch.systems[1][0].parameters[0] = 0.0
    assert not batch.step(1).any()
    assert batch.time[1] == pytest.approx(0.02)


def test_what_is_not_finite_is_one_worlds_status() -> None:
    system = asp.systems.FunctionSystem(lambda z, x: x.parameters, joints=["a"], parameters=[0.0])
    batch = asp.Batch(model(), 3, integrator=asp.Icf(time_step=5e-3), systems=[system])
    batch.systems[1][0].parameters[0] = np.inf
    status = batch.step(4)
    assert [int(one) for one in status] == [0, int(asp.Status.NON_FINITE), 0]
    assert batch.time == pytest.approx([0.02, 0.0, 0.02])


def test_what_cannot_be_is_refused() -> None:
    class Uncopied(asp.systems.PdController):
        def __deepcopy__(self, memo: dict) -> asp.systems.PdController:
            raise TypeError("not twice")

    controller = MAKE["PD"]()
    for systems, message in (
        (controller, "systems must be a list of external systems"),
        ([3], r"systems\[0\] must be an asperity.systems.ExternalSystem"),
        ([Uncopied(["a"], kp=1.0)], r"Uncopied.*cannot be copied \(not twice\)"),
        ([asp.systems.PdController(["c"], kp=1.0)], "joint 'c' does not exist"),
    ):
        with pytest.raises(asp.ArgumentError, match=message):
            asp.Batch(model(), 2, systems=systems)
    with pytest.raises(asp.ArgumentError, match="does not take external systems"):
        asp.Batch(model(), 2, integrator=asp.Midas(), systems=[controller])
    for batch in (asp.Batch(model(), 2), asp.Batch(model(), 2, systems=[controller])):
        with pytest.raises(asp.ArgumentError, match="there is no external system 1"):
            batch.system_state(1)
    assert asp.Batch(model(), 2).systems == ((), ())
