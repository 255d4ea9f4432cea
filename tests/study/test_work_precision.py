"""Localised errors against analytic solutions, and what a study recommends."""

from __future__ import annotations

import csv
import itertools
import math

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.cli import main
from asperity.integrators import registry
from asperity.integrators.registry import Variant, register
from asperity.simulator import Recorder
from asperity.study import (
    LocalErrors,
    Study,
    Trial,
    local_errors,
    study_methods,
    work_precision,
)
from asperity.study.local_error import States, windows_of

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

SPRING = """
<mujoco><option gravity="0 0 0"/>
  <worldbody><body><joint name="x" type="slide" axis="1 0 0" stiffness="100"/>
    <geom size="0.1" mass="1"/></body></worldbody>
  <actuator><general joint="x" dyntype="filter" dynprm="0.3" gainprm="20"/></actuator>
  <keyframe><key name="out" qpos="0.1"/></keyframe>
</mujoco>
"""
BOX = """
<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <body pos="0 0 0.2" euler="20 30 0"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
</worldbody></mujoco>
"""


def _model(xml: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(xml)


def _history(model: mujoco.MjModel, step: float, end: float, act: float = 0.0) -> States:
    recorder = Recorder(model, integrator=asp.Icf(time_step=step))
    recorder.data.qpos[0] = 0.1
    recorder.data.act[0] = act
    recorder.start_record()
    assert recorder.advance_to(end).success
    return States(*recorder.record(), recorder.activations(), recorder.plasticity())


def test_windows_are_as_long_as_asked_for_and_cover_the_time() -> None:
    time = np.concatenate([[0.0], np.cumsum(np.random.default_rng(0).uniform(1e-3, 0.05, 200))])
    windows = windows_of(time, 0.025, 10**6)
    for begin, end in windows:
        assert time[end] - time[begin] >= 0.025 * (1 - 1e-8)
        assert end == begin + 1 or time[end - 1] - time[begin] < 0.025
    assert all(a[1] == b[0] for a, b in itertools.pairwise(windows))
    assert time[-1] - time[windows[-1][1]] < 0.025
    few = windows_of(time, 0.025, 7)
    assert len(few) == 7
    assert set(few) <= set(windows)
    even = windows_of(np.arange(101) * 1e-3, 0.025, 10)
    assert even == [(0, 25), (25, 50), (50, 75), (75, 100)]


def test_the_local_error_of_an_oscillator_is_the_analytic_one() -> None:
    model = _model(SPRING)
    step = 1e-3
    history = _history(model, step, 1.0)
    reference = asp.Simulator(model, integrator=asp.Icf(time_step=1e-5))
    found = local_errors(history, reference, most=10**6)
    omega = 10.0
    t = 25 * step
    flow = np.array(
        [
            [math.cos(omega * t), math.sin(omega * t) / omega],
            [-omega * math.sin(omega * t), math.cos(omega * t)],
        ]
    )
    states = np.array([history.qpos[::25, 0], history.qvel[::25, 0]])
    errors = states[:, 1:] - flow @ states[:, :-1]
    assert found.windows == 40
    # The reference has an error of its own, a hundredth of this one.
    assert found.position == pytest.approx(np.sqrt(np.mean(errors[0] ** 2)), rel=0.02)
    assert found.velocity == pytest.approx(np.sqrt(np.mean(errors[1] ** 2)), rel=0.02)


def test_a_method_s_error_against_itself_is_round_off() -> None:
    model = _model(SPRING)
    # With an activation that decays, which the windows must take over.
    history = _history(model, 1e-3, 0.5, act=1.0)
    assert history.act[-1, 0] == pytest.approx(math.exp(-0.5 / 0.3), rel=0.01)
    reference = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    found = local_errors(history, reference)
    assert found.position < 1e-12
    assert found.velocity < 1e-11


def test_errors_do_not_grow_with_the_duration_and_halve_with_the_step() -> None:
    model = _model(SPRING)
    reference = asp.Simulator(model, integrator=asp.Icf(time_step=1e-5))
    by_step = [
        local_errors(_history(model, step, 1.0), reference).velocity for step in (2e-3, 1e-3)
    ]
    assert by_step[0] / by_step[1] == pytest.approx(2.0, rel=0.1)
    double = _model(
        "<mujoco><worldbody><body><joint name='x' axis='0 1 0'/>"
        "<geom type='capsule' fromto='0 0 0 0 0 -.5' size='.02'/><body pos='0 0 -.5'>"
        "<joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 -.5' size='.02'/></body>"
        "</body></worldbody><keyframe><key qpos='3 1'/></keyframe></mujoco>"
    )
    errors = [
        work_precision(
            double, methods=["icf"], time_steps=[1e-3], duration=end, keyframe=0, windows=60
        ).trials[0]
        for end in (1.5, 6.0)
    ]
    assert errors[0].errors is not None
    assert errors[1].errors is not None
    assert errors[1].errors.position < 4 * errors[0].errors.position


def test_a_simulation_shorter_than_a_window_says_so() -> None:
    model = _model(SPRING)
    reference = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    with pytest.raises(asp.SimulationError, match=r"shorter than a window of 0\.025 s"):
        local_errors(_history(model, 1e-3, 0.02), reference)


def _trial(method: str, parameter: float, wall_time: float, position: float | None) -> Trial:
    errors = None if position is None else LocalErrors(position, 0.1, 40)
    status = asp.Status.SUCCESS if errors else asp.Status.NOT_CONVERGED
    stats = asp.Statistics(steps=10, wall_time=wall_time)
    expression = study_methods()[method].expression.format(parameter)
    return Trial(method, parameter, expression, status, stats, errors, 2.0)


def test_the_recommendation_is_the_cheapest_that_is_good_enough() -> None:
    trials = (
        _trial("cenic", 1e-1, 0.1, 5e-2),
        _trial("cenic", 1e-3, 0.4, 5e-4),
        _trial("cenic", 1e-4, 0.9, 5e-5),
        _trial("icf", 1e-3, 1.2, 8e-4),
        _trial("icf", 1e-2, 0.01, None),
    )
    sentence = Study(trials, 1e-3, 0.025, {}).recommendation
    assert "choose Cenic(accuracy=0.001): 5.0e-04, at 0.2 s" in sentence
    assert "Icf(time_step=0.001) takes 3.0 times as long" in sentence
    assert "choose Cenic(accuracy=0.1)" in Study(trials, 0.1, 0.025, {}).recommendation
    nothing = Study(trials, 1e-6, 0.025, {}).recommendation
    assert "Nothing that was tried" in nothing
    assert "Cenic(accuracy=0.0001) with 5.0e-05" in nothing
    assert "Every simulation failed" in Study(trials[-1:], 1e-3, 0.025, {}).recommendation


def test_precision_is_bought_and_failures_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))

    # All that a new method needs is an entry.
    @register("impatient", variants=(Variant("time_step", max_iterations=1, tolerance=1e-15),))
    class _Impatient(asp.Icf):
        pass

    shares: list[float] = []
    study = work_precision(
        _model(BOX),
        methods=["cenic", "icf", "impatient"],
        accuracies=[1e-1, 1e-4],
        time_steps=[1e-2, 5e-4],
        duration=0.4,
        progress=shares.append,
    )
    by_name = {(t.method, t.parameter): t for t in study.trials}
    for method, loose, tight in (("cenic", 1e-1, 1e-4), ("icf", 1e-2, 5e-4)):
        first, second = by_name[method, loose].errors, by_name[method, tight].errors
        assert first is not None
        assert second is not None
        assert second.position < 0.3 * first.position
        assert by_name[method, tight].stats.evaluations > by_name[method, loose].stats.evaluations
    failed = by_name["impatient", 1e-2]
    assert failed.status == asp.Status.NOT_CONVERGED
    assert failed.errors is None
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0 + 1e-12
    known = study.reference_errors["icf"]
    tight = by_name["icf", 5e-4].errors
    assert tight is not None
    assert known.position < tight.position


def test_bad_arguments_are_refused() -> None:
    model = _model(BOX)
    for message, arguments in (
        ("method 'euler' is unknown; there are cenic,", {"methods": ["euler"]}),
        ("duration must be positive", {"duration": -1.0}),
        ("target must be positive", {"target": math.nan}),
        ("windows must be at least 1", {"windows": 0}),
        ("nothing to try", {"methods": []}),
        ("accuracies has no effect on icf", {"methods": ["icf"], "accuracies": [1e-3]}),
        ("time_steps has no effect on cenic", {"methods": ["cenic"], "time_steps": [1e-3]}),
        ("reference_step must be smaller than the window of 0.025 s", {"reference_step": 0.1}),
        ("every time step, got 0.001", {"time_steps": [1e-3], "reference_step": 1e-3}),
    ):
        with pytest.raises(asp.ArgumentError, match=message):
            work_precision(model, **arguments)


def test_the_command_writes_a_table_a_plot_and_a_recommendation(tmp_path, capsys) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "box.xml"
    path.write_text(BOX)
    command = ["study", str(path), "--methods", "cenic,icf", "--accuracies", "1e-1,1e-3"]
    command += ["--time-steps", "2e-3", "--duration", "0.3", "--reference-step", "5e-5"]
    command += ["--target", "1", "--out", str(tmp_path / "out")]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "For an error below 1 (m, rad)" in shown
    assert "are known to" in shown
    with (tmp_path / "out" / "study.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["cenic", "cenic", "icf"]
    assert all(float(row["position error"]) > 0 for row in rows)
    assert (tmp_path / "out" / "study.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_refuses_what_it_cannot_use(tmp_path, capsys) -> None:
    path = tmp_path / "box.xml"
    path.write_text(BOX)
    for message, options in (
        ("--accuracies must be numbers with commas", ["--accuracies", "1e-1;1e-2"]),
        ("--time-steps must be positive", ["--time-steps", "0"]),
        ("method 'rk4' is unknown", ["--methods", "rk4"]),
        ("keyframe 'home' does not exist", ["--keyframe", "home"]),
    ):
        assert main(["study", str(path), *options, "--out", str(tmp_path)]) == 2
        assert message in capsys.readouterr().err
