"""The simulator: what it refuses, how it fails, control and progress callbacks, determinism."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import mujoco
import numpy as np
import pytest

import asperity as asp

SCENE = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body name="hand" mocap="true" pos="2 0 1"><geom size="0.05"/></body>
    <body name="box" pos="0 0 0.12"><freejoint/>
      <geom name="box" type="box" size="0.1 0.1 0.1" mass="1"/></body>
    <body name="arm" pos="1 0 1"><joint name="j" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1"/></body>
  </worldbody>
  <actuator>
    <motor name="m" joint="j"/>
    <general name="f" joint="j" dyntype="filter" dynprm="0.05" gainprm="0.3"/>
  </actuator>
  <keyframe><key name="up" qpos="0 0 1 1 0 0 0 3" ctrl="0.5 0"/></keyframe>
</mujoco>
"""

INTEGRATORS = [
    asp.Cenic(accuracy=1e-3),
    asp.Cenic(accuracy=1e-3, error_estimate="trapezoid"),
    asp.Icf(time_step=2e-3),
]
EACH = pytest.mark.parametrize("integrator", INTEGRATORS, ids=["cenic", "trapezoid", "icf"])


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(SCENE)


def _state(sim: asp.Simulator) -> np.ndarray:
    data = sim.data
    return np.concatenate([[data.time], data.qpos, data.qvel, data.act])


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "index", "words"),
    [
        ("qpos", (2,), "qpos[2]"),
        ("qvel", (6,), "qvel[6]"),
        ("act", (0,), "act[0]"),
        ("ctrl", (0,), "actuator 'm'"),
        ("ctrl", (1,), "ctrl[1]"),
        ("qfrc_applied", (3,), "qfrc_applied[3]"),
        ("xfrc_applied", (2, 4), "xfrc_applied[2, 4]"),
        ("mocap_pos", (0, 1), "mocap_pos[0, 1]"),
        ("mocap_quat", (0, 3), "mocap_quat[0, 3]"),
    ],
)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_input_that_is_not_finite_is_named_and_changes_nothing(
    model: mujoco.MjModel, name: str, index: tuple[int, ...], words: str, value: float
) -> None:
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    sim.advance_to(0.1)
    before = _state(sim)
    target = getattr(sim.data, name)
    old = float(target[index])
    target[index] = value
    with pytest.raises(asp.ArgumentError) as caught:
        sim.advance_to(0.2)
    assert words in str(caught.value)
    assert str(value) in str(caught.value)
    target[index] = old
    np.testing.assert_array_equal(_state(sim), before)
    # The simulation goes on as if nothing had been tried.
    other = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    other.advance_to(0.1)
    for s in (sim, other):
        assert s.advance_to(0.2).success
    np.testing.assert_array_equal(_state(sim), _state(other))


@pytest.mark.parametrize("time", [0.05, -1.0, math.nan, math.inf])
def test_a_time_in_the_past_or_not_finite_is_refused(model: mujoco.MjModel, time: float) -> None:
    sim = asp.Simulator(model)
    sim.advance_to(0.1)
    before = _state(sim)
    with pytest.raises(asp.ArgumentError, match=str(time)):
        sim.advance_to(time)
    np.testing.assert_array_equal(_state(sim), before)


def test_a_data_time_that_is_not_finite_is_refused(model: mujoco.MjModel) -> None:
    sim = asp.Simulator(model)
    sim.data.time = math.nan
    with pytest.raises(asp.ArgumentError, match="time"):
        sim.advance_to(1.0)


@pytest.mark.parametrize("argument", ["qpos", "qvel", "ctrl"])
def test_wrong_shapes_are_refused(model: mujoco.MjModel, argument: str) -> None:
    with pytest.raises(asp.ArgumentError, match=rf"{argument} must have shape"):
        asp.simulate(model, (0, 1), **{argument: [1.0, 2.0, 3.0]})


@pytest.mark.parametrize(
    "make",
    [
        lambda m: asp.Simulator(m, integrator="cenic"),
        lambda m: asp.Simulator(m, control_period=0.0),
        lambda m: asp.Simulator(m, control_period=math.nan),
        lambda m: asp.Simulator(m).reset("down"),
        lambda m: asp.Simulator(m).reset(3),
        lambda m: asp.simulate(m, (1.0, 0.0)),
        lambda m: asp.simulate(m, (0.0, math.inf)),
        lambda m: asp.simulate(m, (0.0, 1.0), save_at=[0.5, 0.2]),
        lambda m: asp.simulate(m, (0.0, 1.0), save_at=[0.5, 2.0]),
        lambda m: asp.simulate(m, (0.0, 1.0), contact_forces=True),
        lambda m: asp.Cenic(accuracy=0.0),
        lambda m: asp.Cenic(error_estimate="leapfrog"),
        lambda m: asp.Icf(time_step=-1.0),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    model: mujoco.MjModel, make: Callable[[mujoco.MjModel], object]
) -> None:
    with pytest.raises(asp.ArgumentError) as caught:
        make(model)
    assert str(caught.value).endswith(".")


def test_global_callbacks_are_refused_by_name(model: mujoco.MjModel) -> None:
    mujoco.set_mjcb_control(lambda model, data: None)
    try:
        with pytest.raises(asp.ModelError, match="mjcb_control"):
            asp.Simulator(model)
    finally:
        mujoco.set_mjcb_control(None)
    asp.Simulator(model)


# -- failures ----------------------------------------------------------------------------------


def test_a_fixed_step_that_would_not_be_finite_is_not_taken(model: mujoco.MjModel) -> None:
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    sim.advance_to(0.1)
    before = _state(sim)
    sim.data.qfrc_applied[6] = 1e308
    sim.data.qvel[6] = 1e308
    changed = _state(sim)
    report = sim.advance_to(0.2, on_failure="return")
    assert report.status == asp.Status.NON_FINITE
    assert not report.success
    assert "finite" in report.message
    assert report.time == sim.time == before[0]
    np.testing.assert_array_equal(_state(sim), changed)
    # Put right, it goes on.
    sim.data.qfrc_applied[6] = 0.0
    sim.data.qvel[6] = before[1 + model.nq + 6]
    assert sim.advance_to(0.2).success


@EACH
def test_a_controller_that_explodes_ends_with_a_status_and_a_finite_state(
    model: mujoco.MjModel, integrator: asp.Cenic | asp.Icf
) -> None:
    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.qfrc_applied[0] = 1e308 if data.time > 0.5 else 0.0

    sim = asp.Simulator(model, integrator=integrator, control=control, control_period=2e-3)
    report = sim.advance_to(1.0, on_failure="return")
    assert not report.success
    assert 0.0 < report.time < 1.0
    assert np.all(np.isfinite(_state(sim)))
    assert report.time == sim.time
    assert report.message.startswith(report.status.message)


@EACH
def test_a_controller_that_returns_nan_is_named(
    model: mujoco.MjModel, integrator: asp.Cenic | asp.Icf
) -> None:
    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[0] = math.nan if data.time > 0.05 else 0.1

    sim = asp.Simulator(model, integrator=integrator, control=control, control_period=0.01)
    with pytest.raises(asp.ArgumentError, match="actuator 'm'"):
        sim.advance_to(1.0)
    assert np.all(np.isfinite(_state(sim)))
    assert sim.time == pytest.approx(0.06, abs=0.011)


PILE = """
<mujoco><worldbody><geom type="plane" size="0 0 1"/>{}</worldbody></mujoco>
""".format(
    "".join(
        f"<body pos='0 0 {0.1 + 0.18 * i}'><freejoint/>"
        "<geom type='box' size='0.1 0.1 0.1' mass='1'/></body>"
        for i in range(4)
    )
)


def test_a_solve_that_does_not_converge_is_a_status() -> None:
    # Overlapping boxes burst apart: not a matter of one iteration.
    sim = asp.Simulator(PILE, integrator=asp.Icf(time_step=0.01, max_iterations=1))
    before = _state(sim)
    report = sim.advance_to(0.1, on_failure="return")
    assert report.status == asp.Status.NOT_CONVERGED
    assert report.residual > 1e-8
    assert "residual" in report.message
    np.testing.assert_array_equal(_state(sim), before)
    assert asp.Simulator(PILE, integrator=asp.Icf(time_step=0.01)).advance_to(0.1).success


def test_under_error_control_a_solve_that_does_not_converge_is_tried_smaller() -> None:
    sim = asp.Simulator(PILE, integrator=asp.Cenic(accuracy=1e-3, max_iterations=2))
    report = sim.advance_to(0.02, on_failure="return")
    plain = asp.Simulator(PILE, integrator=asp.Cenic(accuracy=1e-3))
    assert plain.advance_to(0.02).success
    if report.success:
        assert report.stats.rejections > 0
        assert report.stats.steps > plain.stats.steps
        np.testing.assert_allclose(sim.data.qpos, plain.data.qpos, atol=0.02)
    else:
        assert report.status == asp.Status.NOT_CONVERGED
        assert np.all(np.isfinite(_state(sim)))


def test_a_rejected_step_leaves_no_trace(model: mujoco.MjModel) -> None:
    # A drop with a long first step is rejected on impact; the accepted states are those of the
    # recorded trajectory, which grows monotonically in time.
    run = asp.simulate(model, (0.0, 1.0), integrator=asp.Cenic(accuracy=1e-6))
    assert run.stats.rejections > 0
    assert np.all(np.diff(run.time) > 0)
    assert run.stats.steps == len(run.time) - 1


def test_ctrl_c_in_advance_keeps_the_last_accepted_state(model: mujoco.MjModel) -> None:
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-5))
    calls = []

    def progress(sim: asp.Simulator) -> None:
        calls.append(sim.time)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sim.advance_to(1e3, progress=progress)
    assert sim.time == calls[-1] > calls[0] > 0.0
    assert sim.advance_to(sim.time + 0.01).success


# -- control and progress ----------------------------------------------------------------------


@EACH
def test_control_is_called_at_multiples_of_its_period(
    model: mujoco.MjModel, integrator: asp.Cenic | asp.Icf
) -> None:
    times: list[float] = []

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        times.append(data.time)
        data.ctrl[0] = math.sin(5 * data.time)

    sim = asp.Simulator(model, integrator=integrator, control=control, control_period=0.013)
    # Whoever asks for stops in between does not change when it is called.
    for stop in (0.005, 0.013, 0.1, 0.1001, 0.5, 1.3):
        sim.advance_to(stop)
    np.testing.assert_allclose(times, 0.013 * np.arange(100), atol=1e-12)


def test_controls_beyond_mujoco_s_largest_number_are_refused(model: mujoco.MjModel) -> None:
    sim = asp.Simulator(model)
    sim.data.ctrl[0] = 1e11
    with pytest.raises(asp.ArgumentError, match="actuator 'm'"):
        sim.advance_to(0.1)


def test_controls_are_held_between_calls() -> None:
    # A force that is refreshed every 0.1 s: the speed is the sum of the held values.
    text = """<mujoco><option gravity="0 0 0"/><worldbody><body>
      <joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="2" contype="0"
      conaffinity="0"/></body></worldbody><actuator><motor joint="x"/></actuator></mujoco>"""

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[0] = 1.0 + data.time

    for integrator in INTEGRATORS:
        sim = asp.Simulator(text, integrator=integrator, control=control, control_period=0.1)
        sim.advance_to(1.0)
        assert sim.data.qvel[0] == pytest.approx(
            np.sum(1 + 0.1 * np.arange(10)) * 0.1 / 2, rel=1e-9
        )


def test_the_control_period_is_the_model_s_timestep_by_default(model: mujoco.MjModel) -> None:
    calls: list[float] = []
    sim = asp.Simulator(model, control=lambda model, data: calls.append(data.time))
    sim.advance_to(0.1)
    np.testing.assert_allclose(calls, 0.002 * np.arange(50), atol=1e-12)


def test_control_sees_published_quantities(model: mujoco.MjModel) -> None:
    seen: list[float] = []

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        fresh = mujoco.MjData(model)
        fresh.qpos, fresh.qvel = data.qpos, data.qvel
        mujoco.mj_kinematics(model, fresh)
        seen.append(float(np.abs(fresh.xpos - data.xpos).max()))

    asp.Simulator(model, control=control, control_period=0.05).advance_to(0.5)
    assert len(seen) == 10
    assert max(seen) == 0.0


def test_progress_is_called_with_an_up_to_date_simulator(model: mujoco.MjModel) -> None:
    times: list[float] = []
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-5))

    def progress(seen: asp.Simulator) -> None:
        assert seen is sim
        assert seen.data.time == seen.time
        times.append(seen.time)

    plain = asp.Simulator(model, integrator=asp.Icf(time_step=1e-5))
    sim.advance_to(0.5, progress=progress)
    plain.advance_to(0.5)
    assert len(times) > 1
    assert np.all(np.diff(times) > 0)
    # Looking does not change the motion.
    np.testing.assert_array_equal(_state(sim), _state(plain))


# -- time, reset, determinism --------------------------------------------------------------------


@EACH
def test_advance_arrives_exactly(model: mujoco.MjModel, integrator: asp.Cenic | asp.Icf) -> None:
    sim = asp.Simulator(model, integrator=integrator)
    for end in (1e-9, 0.1, 1 / 3, 0.7, 0.7, 0.70001):
        report = sim.advance_to(end)
        assert report.success
        assert report.time == sim.time == sim.data.time == end


def test_a_step_is_the_model_s_or_the_integrator_s(model: mujoco.MjModel) -> None:
    sim = asp.Simulator(model)
    sim.step()
    assert sim.time == 0.002
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.005))
    sim.step()
    assert sim.time == 0.005
    assert sim.step_size == 0.005


@EACH
def test_reset_returns_to_the_beginning(
    model: mujoco.MjModel, integrator: asp.Cenic | asp.Icf
) -> None:
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.ctrl[0] = 0.3
    sim.advance_to(0.7)
    first = _state(sim)
    sim.reset()
    assert sim.time == 0.0
    assert sim.stats == asp.Statistics()
    np.testing.assert_array_equal(sim.data.qpos, model.qpos0)
    assert sim.data.ctrl[0] == 0.0
    sim.data.ctrl[0] = 0.3
    sim.advance_to(0.7)
    np.testing.assert_array_equal(_state(sim), first)


def test_reset_to_a_keyframe(model: mujoco.MjModel) -> None:
    sim = asp.Simulator(model)
    for key in ("up", 0, "0"):
        sim.advance_to(sim.time + 0.1)
        sim.reset(key)
        assert sim.data.qpos[2] == 1.0
        assert sim.data.qpos[7] == 3.0
        assert sim.data.ctrl[0] == 0.5
        # Published: derived quantities belong to the keyframe.
        assert sim.data.body("box").xpos[2] == 1.0


def _tumble() -> mujoco.MjModel:
    random = np.random.default_rng(3)
    bodies = []
    for i in range(6):
        x, y = random.uniform(-0.1, 0.1, 2)
        turn = " ".join(f"{a:.3f}" for a in random.uniform(-180, 180, 3))
        bodies.append(
            f"<body pos='{x:.3f} {y:.3f} {0.2 + 0.25 * i}' euler='{turn}'><freejoint/>"
            "<geom type='box' size='0.08 0.06 0.1' mass='0.5'/></body>"
        )
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><geom type='plane' size='0 0 1'/>{''.join(bodies)}</worldbody></mujoco>"
    )


@EACH
def test_the_same_run_gives_the_same_bits(integrator: asp.Cenic | asp.Icf) -> None:
    model = _tumble()
    runs = [asp.simulate(model, (0.0, 1.0), integrator=integrator) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].time, runs[1].time)
    np.testing.assert_array_equal(runs[0].qpos, runs[1].qpos)
    np.testing.assert_array_equal(runs[0].qvel, runs[1].qvel)
    assert runs[0].stats.iterations == runs[1].stats.iterations


def test_simulators_in_threads_give_the_same_bits_as_one_after_the_other() -> None:
    model = _tumble()
    integrator = asp.Cenic(accuracy=1e-3)
    starts = [np.full(model.nv, 0.1 * i) for i in range(3)]
    alone = [asp.simulate(model, (0.0, 1.0), integrator=integrator, qvel=v) for v in starts]
    together: list[asp.Trajectory | None] = [None] * len(starts)

    def work(i: int) -> None:
        together[i] = asp.simulate(model, (0.0, 1.0), integrator=integrator, qvel=starts[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(starts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for first, second in zip(alone, together, strict=True):
        assert second is not None
        np.testing.assert_array_equal(first.time, second.time)
        np.testing.assert_array_equal(first.qpos, second.qpos)
        np.testing.assert_array_equal(first.qvel, second.qvel)


def test_a_restored_state_continues_as_the_original_did() -> None:
    model = _tumble()
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    sim.advance_to(0.5)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)
    saved = np.empty(size)
    mujoco.mj_getState(model, sim.data, saved, mujoco.mjtState.mjSTATE_INTEGRATION)
    sim.advance_to(0.8)
    first = _state(sim)
    other = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    for again in (other, sim):
        mujoco.mj_setState(model, again.data, saved, mujoco.mjtState.mjSTATE_INTEGRATION)
        assert again.advance_to(0.8).success
        np.testing.assert_array_equal(_state(again), first)


def test_statistics_count_work(model: mujoco.MjModel) -> None:
    # Rebounds would take further solves.
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3, resolve_impacts=False))
    report = sim.advance_to(0.2)
    assert report.stats.steps == 100
    assert report.stats.solves == 100
    assert report.stats.rejections == 0
    assert report.stats.evaluations >= 100
    assert 0 < report.stats.factorizations <= report.stats.iterations
    assert report.stats.wall_time > 0
    again = sim.advance_to(0.4)
    assert again.stats.steps == 100
    assert sim.stats.steps == 200


def test_energy_is_that_of_gravity_springs_and_contacts() -> None:
    text = """<mujoco><worldbody><geom type="plane" size="0 0 1"/>
      <body pos="0 0 0.1"><freejoint/><geom size="0.1" mass="2"/></body>
      <body pos="1 0 1"><joint type="slide" axis="1 0 0" stiffness="30"/>
      <geom size="0.1" mass="1"/></body></worldbody></mujoco>"""
    sim = asp.Simulator(text, contact=asp.ContactParameters(stiffness=1e4))
    sim.data.qpos[2] = 0.09
    sim.data.qpos[7] = 0.2
    sim.data.qvel[0] = 3.0
    sim.advance_to(0.0)
    kinetic, potential = sim.energy()
    assert kinetic == pytest.approx(0.5 * 2 * 9, rel=1e-12)
    expected = 2 * 9.81 * 0.09 + 9.81 * 1.0 + 0.5 * 30 * 0.2**2 + 0.5 * 1e4 * 0.01**2
    assert potential == pytest.approx(expected, rel=1e-12)


def test_a_step_refused_at_the_smallest_size_ends_the_simulation() -> None:
    text = """<mujoco><worldbody><geom type="plane" size="0 0 1"/>
      <body pos="0 0 0.3"><freejoint/><geom size="0.1" mass="2"/></body></worldbody></mujoco>"""
    sim = asp.Simulator(text, integrator=asp.Cenic(accuracy=1e-4, min_step=5e-3))
    report = sim.advance_to(1.0, on_failure="return")
    assert report.status == asp.Status.STEP_TOO_SMALL
    # The ball falls freely; on the floor it needs shorter steps.
    assert report.time == pytest.approx(np.sqrt(2 * 0.2 / 9.81), abs=5e-3)
    assert sim.data.qpos[2] == pytest.approx(0.3 - 0.5 * 9.81 * report.time**2, abs=1e-4)
    with pytest.raises(asp.ArgumentError, match="min_step"):
        asp.Cenic(min_step=0.1, max_step=0.1)


@pytest.mark.filterwarnings("ignore:.*Nothing can")
@pytest.mark.parametrize(
    "integrator",
    [
        asp.Cenic(),
        asp.Icf(time_step=0.01),
        asp.Sap(time_step=0.01),
        asp.Tamsi(time_step=0.01),
        asp.Midas(time_step=0.01),
        asp.RungeKutta3(),
    ],
    ids=lambda integrator: type(integrator).__name__,
)
def test_a_scene_in_which_nothing_moves_goes_on(integrator: asp.Integrator) -> None:
    sim = asp.Simulator(
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body name='a' pos='0 0 1'>"
        "<geom size='.1'/></body><body name='b' mocap='true'><geom size='.1'/></body>"
        "</worldbody></mujoco>",
        integrator=integrator,
    )
    sim.data.mocap_pos[0] = (0.3, 0.0, 2.0)
    assert sim.advance_to(0.1).success
    assert sim.time == pytest.approx(0.1)
    assert sim.data.body("b").xpos == pytest.approx([0.3, 0.0, 2.0])
    assert sim.data.body("a").xpos == pytest.approx([0.0, 0.0, 1.0])
