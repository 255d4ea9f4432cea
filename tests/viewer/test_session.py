"""Sessions: a simulation that is played, and told by other threads what to do."""

from __future__ import annotations

import sys
import threading
import time

import mujoco
import numpy as np
import pytest
from every_integrator import INTEGRATORS

import asperity as asp
from asperity.integrators import Integrator
from asperity.viewer.session import Session

SCENE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="box" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2"/></body>
    <body name="post" pos="2 0 0.5"><geom size="0.05"/></body>
    <body name="hand" mocap="true" pos="0 2 1"><geom size="0.05"/></body>
    <body name="arm" pos="-2 0 1"><joint name="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" contype="0" conaffinity="0"/></body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
  <keyframe><key name="high" qpos="0 0 3 1 0 0 0 0" mpos="0 2 1" time="7"/></keyframe>
</mujoco>
"""


def session(integrator: Integrator | None = None, **options) -> Session:
    if integrator is None:
        integrator = asp.Icf(time_step=2e-3)
    return Session(asp.Simulator(SCENE, integrator=integrator, **options))


def play(one: Session, time: float) -> None:
    """Play, in turns of a 60th of a second that may take as long as they need."""
    one.play()
    end = one.simulator.time + time
    while one.simulator.time < end - 1e-9:
        one.turn(1 / 60, most=60.0)
        assert one.playing, one.message


def test_speed_is_simulated_over_wall_time():
    for integrator in (asp.Icf(time_step=2e-3), asp.Cenic()):
        one = session(integrator)
        one.turn(0.1)
        assert one.simulator.time == 0.0
        one.play()
        for speed in (1.0, 0.25):
            one.set_speed(speed)
            begin = one.simulator.time
            for _ in range(10):
                one.turn(0.02, most=60.0)
            # Fixed steps stay whole: what is missing to one is owed.
            missing = begin + 0.2 * speed - one.simulator.time
            assert -1e-9 <= missing <= (integrator.time_step or 0.0) + 1e-9
        one.pause()
        before = one.simulator.time
        one.turn(0.1)
        assert one.simulator.time == before


def test_a_simulation_that_cannot_keep_up_gives_the_others_their_turn():
    def slow(model, data):
        time.sleep(0.02)

    one = session(asp.Cenic(), control=slow, control_period=1e-3)
    one.play()
    begin = time.monotonic()
    one.turn(1.0, most=0.1)
    assert 0.0 < one.simulator.time < 0.2
    assert time.monotonic() - begin < 10.0
    # What was not done in time is not caught up with.
    before = one.simulator.time
    one.simulator.control = None
    one.turn(0.01, most=60.0)
    assert one.simulator.time == pytest.approx(before + 0.01)


def test_steps_and_resets():
    one = session()
    one.step()
    one.step()
    assert one.simulator.time == pytest.approx(4e-3)
    one.reset("high")
    assert one.simulator.time == 7.0
    assert one.simulator.data.qpos[2] == 3.0
    assert one.resets == 1
    one.restart()
    assert one.simulator.time == 0.0
    assert one.simulator.data.qpos[2] == 1.0
    controlled = session(asp.Cenic())
    step = controlled.simulator.step_size
    controlled.step()
    assert controlled.simulator.time == pytest.approx(step)
    one.tell(one.reset, "low")
    one.turn(0.0)
    assert "'low'" in one.message


def test_a_session_begins_again_where_it_began():
    simulator = asp.Simulator(SCENE, integrator=asp.Icf(time_step=2e-3))
    simulator.data.qvel[:] = 0.3
    simulator.data.ctrl[0] = 0.1
    simulator.advance_to(0.1)
    before = {name: getattr(simulator.data, name).copy() for name in ("qpos", "qvel", "ctrl")}
    one = Session(simulator)
    play(one, 0.2)
    assert np.any(simulator.data.qpos != before["qpos"])
    one.restart()
    assert simulator.time == 0.1
    for name, values in before.items():
        np.testing.assert_array_equal(getattr(simulator.data, name), values)
    # Published: what is drawn is drawn there, too.
    np.testing.assert_allclose(simulator.data.body("box").xpos, before["qpos"][:3])


@pytest.mark.parametrize("integrator", INTEGRATORS.values(), ids=INTEGRATORS)
def test_what_is_pulled_comes_and_hangs_below_the_pointer(integrator):
    one = session(integrator)
    simulator = one.simulator
    body = simulator.model.body("box").id
    one.grab(body, np.zeros(3))
    target = np.array([0.3, -0.2, 1.2])
    one.drag(target)
    play(one, 1.5)
    # The spring of the whole mass holds its weight: g/ω² below.
    hangs = target - [0.0, 0.0, 9.81 / 15.0**2]
    np.testing.assert_allclose(simulator.data.xpos[body], hangs, atol=2e-3)
    assert np.abs(simulator.data.qvel[:6]).max() < 0.01
    one.release()
    assert not simulator.data.xfrc_applied.any()
    before = simulator.data.xpos[body, 2]
    play(one, 0.2)
    assert before - simulator.data.xpos[body, 2] == pytest.approx(0.5 * 9.81 * 0.2**2, abs=0.02)


def test_a_corner_that_is_pulled_comes_with_its_body():
    one = session(asp.Cenic())
    one.simulator.model.opt.gravity[:] = 0.0
    body = one.simulator.model.body("box").id
    corner = np.array([0.1, 0.1, 0.1])
    one.grab(body, corner)
    target = np.array([0.6, 0.4, 0.9])
    one.drag(target)
    play(one, 6.0)
    point, wanted = one.held
    np.testing.assert_allclose(wanted, target)
    np.testing.assert_allclose(point, target, atol=2e-3)


def test_what_cannot_move_is_named_and_mocap_bodies_are_carried():
    one = session()
    model, data = one.simulator.model, one.simulator.data
    one.tell(one.grab, model.body("post").id, np.zeros(3))
    one.turn(0.0)
    assert "'post'" in one.message
    assert one.held is None
    one.grab(model.body("hand").id, np.array([0.0, 0.0, 0.05]))
    one.tell(one.drag, np.array([0.5, 2.0, 1.0]))
    play(one, 0.05)
    np.testing.assert_allclose(data.mocap_pos[0], [0.5, 2.0, 0.95])
    one.release()
    np.testing.assert_allclose(data.mocap_pos[0], [0.5, 2.0, 0.95])


def test_forces_that_were_applied_before_stay():
    one = session()
    data = one.simulator.data
    body = one.simulator.model.body("box").id
    data.xfrc_applied[body] = [0.0, 0.0, 2 * 9.81, 0.0, 0.0, 0.0]
    one.grab(body, np.zeros(3))
    play(one, 0.5)
    # Carried already, it does not sink.
    np.testing.assert_allclose(data.xpos[body], [0.0, 0.0, 1.0], atol=1e-6)
    one.release()
    assert data.xfrc_applied[body, 2] == 2 * 9.81


def test_a_failure_is_a_sentence_and_the_session_goes_on():
    calls = []

    def control(model, data):
        calls.append(data.time)
        if data.time > 0.05:
            raise ValueError("no such gain")

    one = session(control=control, control_period=0.01)
    one.play()
    while one.playing:
        one.turn(1 / 60)
    assert one.message == "ValueError: no such gain"
    one.tell(one.use_controller, False)
    one.tell(one.reset)
    one.tell(one.play)
    one.turn(0.1, most=60.0)
    assert one.playing
    assert one.message == ""
    assert one.simulator.time > 0.05
    # What ends with a status, too.
    stiff = session(asp.Cenic(accuracy=1e-6, min_step=0.05))
    stiff.simulator.data.qvel[3:6] = 300.0
    stiff.play()
    for _ in range(600):
        stiff.turn(1 / 60, most=60.0)
        if not stiff.playing:
            break
    assert stiff.message.startswith("Error control reached the smallest step")


def test_accuracy_is_changed_while_it_runs():
    one = session(asp.Cenic(accuracy=1e-2))
    play(one, 0.2)
    steps = one.simulator.stats.steps
    one.tell(one.set_option, "accuracy", 1e-5)
    play(one, 0.2)
    assert one.simulator.integrator.accuracy == 1e-5
    assert one.simulator.stats.steps > steps
    one.tell(one.set_option, "accuracy", -1.0)
    one.turn(0.0)
    assert "accuracy" in one.message
    assert one.simulator.integrator.accuracy == 1e-5


def test_orders_of_other_threads_never_meet_the_running_simulator():
    one = session(asp.Cenic())
    one.play()
    failures = []
    stop = threading.Event()

    def order() -> None:
        random = np.random.default_rng(threading.get_ident() % 1000)
        while not stop.is_set():
            one.tell(one.set_control, 0, float(random.uniform(-1.0, 1.0)))
            one.tell(one.grab, 1, random.uniform(-0.1, 0.1, 3))
            one.tell(one.drag, random.uniform([-1.0, -1.0, 0.5], [1.0, 1.0, 2.5]))
            one.tell(one.release)
            time.sleep(0.01)

    threads = [threading.Thread(target=order) for _ in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for _ in range(60):
            one.turn(1 / 60, most=60.0)
            failures.append(one.message)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert set(failures) == {""}
    assert one.playing
    assert one.simulator.time > 0.0
    mujoco.mj_forward(one.simulator.model, one.simulator.data)
    assert np.isfinite(one.simulator.data.qacc).all()
