"""Events: zeros of functions of the simulation, as in scipy.integrate.solve_ivp."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from every_integrator import INTEGRATORS
from scipy.integrate import solve_ivp

import asperity as asp

FALLING = """
<mujoco>
  <worldbody>
    <body name="ball" pos="0 0 1"><freejoint/><geom size="0.1" mass="1"/></body>
  </worldbody>
</mujoco>
"""

PENDULUM = """
<mujoco>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body pos="0 0 2"><joint name="hinge" axis="0 1 0" armature="1"/>
      <geom size="0.01" mass="1" pos="0 0 -1"/></body>
  </worldbody>
</mujoco>
"""

ON_FLOOR = FALLING.replace("<worldbody>", '<worldbody><geom type="plane" size="1 1 1"/>')


def event(function, *, terminal=False, direction=0):
    def wrapped(sim):
        return function(sim)

    wrapped.terminal, wrapped.direction = terminal, direction
    return wrapped


def half(sim):
    """Half a metre above the ground."""
    return sim.data.body("ball").xpos[2] - 0.5


@pytest.mark.parametrize("integrator", INTEGRATORS.values(), ids=INTEGRATORS)
def test_the_time_of_a_fall(integrator):
    trajectory = asp.simulate(
        FALLING, (0.0, 0.5), integrator=integrator, events=event(half, terminal=True)
    )
    exact = np.sqrt(2.0 * 0.5 / 9.81)
    # Errors of steps of first order add up.
    tolerance = 2.0 * (integrator.time_step or 5e-3)
    assert trajectory.t_events[0] == pytest.approx([exact], abs=tolerance)
    assert trajectory.status == asp.Status.EVENT
    assert trajectory.success
    assert trajectory.time[-1] == trajectory.t_events[0][0]
    assert trajectory.qpos[-1, 2] == pytest.approx(0.5, abs=1e-9)
    assert "terminal event" in trajectory.message


def test_events_are_those_of_scipy():
    """A pendulum that swings: its lowest points, by direction, and its turning points."""

    def swing(t, y):
        # m l² + armature = 2 kg m²
        return [y[1], -9.81 * np.sin(y[0]) / 2.0]

    def lowest(t, y):
        return y[0]

    def upwards(t, y):
        return y[0]

    def turning(t, y):
        return y[1]

    upwards.direction, turning.terminal = 1, 3
    exact = solve_ivp(
        swing, (0.0, 20.0), [1.2, 0.0], events=[lowest, upwards, turning], rtol=1e-10, atol=1e-10
    )
    ours = asp.simulate(
        PENDULUM,
        (0.0, 20.0),
        qpos=[1.2],
        integrator=asp.Cenic(accuracy=1e-7),
        events=[
            event(lambda sim: sim.data.qpos[0]),
            event(lambda sim: sim.data.qpos[0], direction=1),
            event(lambda sim: sim.data.qvel[0], terminal=3),
        ],
    )
    assert [len(times) for times in ours.t_events] == [len(times) for times in exact.t_events]
    for mine, theirs in zip(ours.t_events, exact.t_events, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-4)
    assert ours.time[-1] == ours.t_events[2][-1]
    # Where it occurred, the function is zero in the dense output that everybody sees.
    qpos, _ = ours.at(ours.t_events[0])
    np.testing.assert_allclose(qpos, 0.0, atol=1e-10)


def test_looking_changes_nothing():
    plain = asp.simulate(ON_FLOOR, (0.0, 1.0))
    looked = asp.simulate(
        ON_FLOOR,
        (0.0, 1.0),
        events=[event(half), event(lambda sim: sim.contacts.normal_force.sum() - 5.0)],
    )
    for name in ("time", "qpos", "qvel"):
        np.testing.assert_array_equal(getattr(looked, name), getattr(plain, name))
    assert looked.stats.steps == plain.stats.steps
    assert len(looked.t_events[0]) == 1
    assert len(looked.t_events[1]) >= 1
    assert plain.t_events == []


def test_contacts_and_controls_are_seen():
    touching = event(lambda sim: len(sim.contacts.geom) - 0.5, terminal=True)
    trajectory = asp.simulate(ON_FLOOR, (0.0, 1.0), events=touching)
    # Contact begins when the gap closes, to the step's own reach.
    assert trajectory.qpos[-1, 2] == pytest.approx(0.1, abs=5e-3)

    def push(model, data):
        data.qfrc_applied[2] = 20.0 if data.time > 0.1 else 0.0

    force = event(lambda sim: sim.data.qfrc_applied[2] - 10.0)
    pushed = asp.simulate(FALLING, (0.0, 0.3), control=push, control_period=0.01, events=force)
    assert pushed.t_events[0] == pytest.approx([0.11], abs=0.011)


def test_what_a_function_does_to_its_simulator_has_no_effect():
    def meddling(sim):
        sim.data.qvel[:] = 7.0
        sim.model  # noqa: B018
        return 1.0

    plain = asp.simulate(FALLING, (0.0, 0.3))
    other = asp.simulate(FALLING, (0.0, 0.3), events=meddling)
    np.testing.assert_array_equal(plain.qpos, other.qpos)


def test_save_at_ends_with_the_event():
    stop = event(half, terminal=True)
    trajectory = asp.simulate(FALLING, (0.0, 1.0), events=stop, save_at=np.linspace(0.0, 1.0, 11))
    np.testing.assert_allclose(trajectory.time, [0.0, 0.1, 0.2, 0.3])
    assert trajectory.ctrl.shape == (4, 0)


def test_times_are_kept_in_files(tmp_path):
    events = [event(half), event(lambda sim: 1.0), event(lambda sim: sim.data.qpos[2] - 0.7)]
    trajectory = asp.simulate(FALLING, (0.0, 0.5), events=events)
    again = asp.Trajectory.load(trajectory.save(tmp_path / "run.npz"))
    assert [len(times) for times in again.t_events] == [1, 0, 1]
    for mine, theirs in zip(again.t_events, trajectory.t_events, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (
        asp.Trajectory.load(asp.simulate(FALLING, (0, 0.1)).save(tmp_path / "b.npz")).t_events == []
    )


def test_systems_are_seen_in_the_state_that_they_have():
    rate = asp.systems.FunctionSystem(
        joints=("hinge",),
        initial_state=[0.0],
        output=lambda z, x: np.zeros(1),
        derivative=lambda z, x: np.ones(1),
    )

    def integral(sim):
        return sim.system_state(sim.systems[0])[0] - 0.25

    trajectory = asp.simulate(PENDULUM, (0.0, 0.5), systems=[rate], events=integral)
    assert trajectory.t_events[0] == pytest.approx([0.25], abs=0.1)
    assert len(trajectory.t_events[0]) == 1


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (3.0, "must be functions"),
        ("half", "must be functions"),
        ([half, None], "got None"),
        (event(half, terminal="yes"), "terminal of event 'wrapped'"),
        (event(half, terminal=-1), "terminal of event 'wrapped'"),
        (event(half, direction="up"), "direction of event 'wrapped'"),
        (event(half, direction=float("nan")), "direction"),
        (lambda sim: float("nan"), "is nan at 0.0 s"),
        (event(lambda sim: None), "event 'wrapped' returns at 0.0 s must be a number, got None"),
        (event(lambda sim: sim.data.qpos[:1]), "'wrapped' returns .* number, got array"),
        (event(lambda sim: True), "'wrapped' returns .* number, got True"),
    ],
)
def test_what_cannot_be_looked_for_is_named(events, words):
    with pytest.raises(asp.ArgumentError, match=words):
        asp.simulate(FALLING, (0.0, 0.1), events=events)


def test_an_error_in_a_function_is_passed_on():
    def broken(sim):
        raise KeyError("shoulder")

    with pytest.raises(KeyError, match="shoulder"):
        asp.simulate(FALLING, (0.0, 0.1), events=broken)


def test_copies_of_what_is_looked_at_are_independent():
    seen = []

    def keep(sim):
        seen.append(copy.copy(sim).time)
        return 1.0

    asp.simulate(FALLING, (0.0, 0.05), events=keep)
    assert seen == sorted(seen)
