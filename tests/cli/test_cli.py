"""The command line: its files, its summary, its errors and Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from asperity import Icf, Trajectory, __version__, simulate
from asperity.cli import main
from asperity.cli.outputs import Outputs
from asperity.integrators.registry import options_of, registered
from asperity.media import MediaError
from asperity.simulator import Recorder

BALL = """
<mujoco model="ball">
  <custom><text name="asperity" data="stiffness=2e4 dissipation=5"/></custom>
  <worldbody>
    <camera name="side" pos="0 -3 0.5" xyaxes="1 0 0 0 0 1"/>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <body name="ball" pos="0 0 0.2"><freejoint/><geom name="skin" size="0.1"/></body>
    <body name="arm" pos="1 0 1">
      <joint name="hinge" axis="0 1 0" range="-1 1" limited="true" frictionloss="0.1"/>
      <geom name="link" type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/>
    </body>
  </worldbody>
  <actuator>
    <position name="servo" joint="hinge" kp="10" kv="1" forcerange="-3 3"/>
    <motor name="push" joint="hinge"/>
  </actuator>
  <keyframe><key name="high" qpos="0 0 0.5 1 0 0 0 0.2"/></keyframe>
</mujoco>
"""

WITHOUT_CONTACT = """
<mujoco>
  <worldbody>
    <body><freejoint/><geom size="0.1" contype="0" conaffinity="0"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def ball(tmp_path) -> Path:
    path = tmp_path / "ball.xml"
    path.write_text(BALL)
    return path


def test_help_and_version(capsys):
    assert main(["--version"]) == 0
    printed = capsys.readouterr().out
    versions = (
        rf"asperity {re.escape(__version__)} \(MuJoCo 4\.\S+, Numba 0\.\S+, Python 3\.\S+\)\n"
    )
    assert re.fullmatch(versions, printed), printed
    for arguments in (
        ["-h"],
        ["simulate", "-h"],
        ["demo", "-h"],
        ["info", "-h"],
        ["reproduce", "-h"],
        ["view", "-h"],
    ):
        assert main(arguments) == 0
        assert "Usage: asperity" in capsys.readouterr().out


def test_units_survive_markup(capsys):
    """Square brackets would be taken for markup and vanish."""
    main(["simulate", "--help"])
    assert "Simulated time, in s." in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--accuracy", "1e-2", "--max-step", "0.05", "--error-estimate", "trapezoid"],
        ["--integrator", "icf", "--time-step", "0.002"],
        [
            "--integrator",
            "icf",
            "--time-step",
            "2e-3",
            "--friction-bound",
            "similar",
            "--hessian-reuse",
        ],
        ["--integrator", "sap"],
        ["--integrator", "tamsi", "--time-step", "0.002", "--substeps", "off"],
        ["--integrator", "runge-kutta-3", "--accuracy", "1e-3"],
        ["--integrator", "implicit-euler", "--time-step", "0.005"],
        ["--integrator", "sdirk2"],
        ["--integrator", "rosenbrock2", "--accuracy", "1e-3"],
        ["--integrator", "sap", "--time-step", "0.005", "--theta-scheme", "midpoint"],
        ["--integrator", "sap", "--theta-scheme", "implicit-euler", "--relaxation-time", "0.02"],
        ["--integrator", "midas", "--time-step", "0.005"],
        [
            "--integrator",
            "midas",
            "--time-scheme",
            "bdf2",
            "--overlaps",
            "separate",
            "--stiction-tolerance",
            "1e-2",
        ],
        ["--keyframe", "high", "--stiffness", "1e4", "--friction", "0.3"],
        ["--keyframe", "0", "--dissipation", "1", "--stiction-tolerance", "1e-3"],
    ],
)
def test_simulate_prints_a_summary_and_saves_every_step(ball, tmp_path, capsys, options):
    target = tmp_path / "run.npz"
    code = main(["simulate", str(ball), "--duration", "0.5", "--save", str(target), *options])
    out, err = capsys.readouterr()
    assert code == 0, err
    for label in ("SUCCESS", "Steps", "Step sizes", "Newton iterations", "Wall time", "Energy"):
        assert label in out
    assert ("Smallest clearance" in out) == ("midas" in options)
    assert ("Evaluations" in out) != ("midas" in options)
    assert f"Wrote {target}" in out
    saved = np.load(target)
    assert saved["status"] == "SUCCESS"
    assert saved["time"][0] == 0.0
    assert saved["time"][-1] == pytest.approx(0.5)
    assert len(saved["time"]) == saved["stats_steps"] + 1
    assert saved["qpos"].shape == (len(saved["time"]), 8)


def test_a_resting_ball_penetrates_by_weight_over_stiffness(tmp_path, capsys):
    path = tmp_path / "rest.xml"
    path.write_text(
        '<mujoco><worldbody><geom type="plane" size="1 1 0.1"/><body pos="0 0 0.0999">'
        '<freejoint/><geom size="0.1" mass="2"/></body></worldbody></mujoco>'
    )
    assert main(["simulate", str(path), "--duration", "1", "--stiffness", "1e5"]) == 0
    out = capsys.readouterr().out
    depth = float(re.search(r"Largest penetration\s+([\d.e-]+) mm", out)[1])
    assert depth == pytest.approx(1e3 * 2 * 9.81 / 1e5, rel=0.05)
    assert float(re.search(r"largest ([\d.e-]+) m/s", out)[1]) < 1e-6


def test_a_sliding_box_does_not_count_as_sticking(tmp_path, capsys):
    path = tmp_path / "slide.xml"
    path.write_text(
        '<mujoco><worldbody><geom type="plane" size="9 9 0.1" friction="0.1"/>'
        '<body pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" friction="0.1"/>'
        "</body></worldbody>"
        '<keyframe><key qvel="3 0 0 0 0 0"/></keyframe></mujoco>'
    )
    assert main(["simulate", str(path), "--duration", "0.3", "--keyframe", "0"]) == 0
    assert "Slip while sticking" not in capsys.readouterr().out


def test_pictures(ball, tmp_path, capsys):
    pytest.importorskip("viser")
    arguments = ["simulate", str(ball), "--duration", "0.2", "--fps", "10", "--camera", "side"]
    page = tmp_path / "run.html"
    assert main([*arguments, "--html", str(page)]) == 0
    assert page.read_text().startswith("<!")
    video = tmp_path / "run.mp4"
    code = main([*arguments, "--video", str(video)])
    err = capsys.readouterr().err
    if code == 2 and "install" in err:
        pytest.skip(f"no videos here: {err}")
    assert code == 0
    assert video.stat().st_size > 500


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--integrator", "euler"], "--integrator 'euler' is unknown; use one of cenic,"),
        (["--stiffness", "-1"], "--stiffness must be positive"),
        (["--friction", "nan"], "friction"),
        (["--accuracy", "0"], "--accuracy"),
        (["--duration", "-1"], "--duration"),
        (["--duration", "soon"], "--duration"),
        (["--time-step", "0.01"], "--time-step does not apply"),
        (["--integrator", "midas", "--accuracy", "0.01"], "--accuracy does not apply"),
        (["--integrator", "icf", "--coupling", "one-way"], "or choose --integrator tamsi."),
        (["--jacobian", "analytic"], "--integrator implicit-euler, sdirk2 or rosenbrock2."),
        (["--integrator", "tamsi", "--substeps", "no"], "--substeps"),
        (["--integrator", "midas", "--segments", "1.5"], "--segments"),
        (["--integrator", "midas", "--segments", "6"], "--segments must be a multiple of 4"),
        (
            ["--integrator", "tamsi", "--time-step", "1e-3", "--accuracy", "1e-3"],
            "--time-step asks for fixed steps and --accuracy for error control",
        ),
        (["--max-step", "1e-10"], "--min-step 1e-09 must be below --max-step 1e-10"),
        (["--integrator", "icf", "--theta-scheme", "midpoint"], "--theta-scheme does not apply"),
        (["--integrator", "sap", "--dissipation", "1"], "--dissipation does not apply"),
        (["--relaxation-time", "1"], "choose --integrator sap"),
        (["--overlaps", "separate"], "choose --integrator midas"),
        (["--integrator", "midas", "--stiffness", "1e5"], "--stiffness does not apply"),
        (["--integrator", "midas", "--time-scheme", "midpoint"], "use one of bdf2, implicit-euler"),
        (
            ["--error-estimate", "midpoint"],
            "--error-estimate 'midpoint' is unknown; use one of extrapolation,",
        ),
        (["--integrator", "sap", "--theta-scheme", "trapezoid"], "use one of explicit-euler,"),
        (["--integrator", "sap", "--time-step", "-1"], "--time-step must be a positive"),
        (["--integrator", "sap", "--relaxation-time", "-1"], "--relaxation-time must be"),
        (["--keyframe", "low"], "keyframe 'low'"),
        (["--keyframe", "7"], "keyframe 7"),
        (["--camera", "top", "--html", "run.html"], "camera named 'top'"),
        (["--fps", "0", "--html", "run.html"], "fps"),
        (["--fps", "10"], "--fps is for pictures; give --video or --html"),
        (["--camera", "side", "--save", "run.npz"], "--camera is for pictures"),
        (["--integrator", "sap", "--accuracy", "1", "--resolve-impacts", "on"], "=True is for"),
        (["--video", "run.avi"], ".mp4"),
        (["--html", "run.mp4"], ".html"),
        (["--save", "run.csv"], ".npz"),
        (["--save", "missing/run.npz"], "missing"),
        (["--save", "folder.npz"], "is a folder"),
        (["--save", "/proc/run.npz"], "/proc/run.npz cannot be written"),
        (["--package-path", "."], "package_paths"),
        (["--wrong"], "--wrong"),
    ],
)
def test_bad_options_are_named_before_anything_runs(
    ball, tmp_path, monkeypatch, capsys, options, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.npz").mkdir()
    monkeypatch.setattr("asperity.simulator.Recorder.advance_to", _must_not_run)
    assert main(["simulate", str(ball), *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.strip().splitlines()
    assert line.startswith("asperity: error: ")
    assert message in line


def _must_not_run(*_: object, **__: object) -> None:
    raise AssertionError("the simulation began")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        ("", "is empty"),
        ("<mujoco><worldbody><geom/></mujoco>", "model.xml"),
        ("<sdf/>", "SDF"),
        ('<mujoco><worldbody><body><freejoint/><geom size="-1"/></body></worldbody></mujoco>', ""),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "info"])
def test_bad_models_are_one_line(tmp_path, capsys, command, content, message):
    path = tmp_path / "model.xml"
    if content is not None:
        path.write_text(content)
    assert main([command, str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("asperity: error: ")
    assert len(err.strip().splitlines()) == 1
    assert message in err


def test_traceback_on_request(tmp_path, capsys):
    missing = str(tmp_path / "missing.xml")
    for arguments in (["--traceback", "info", missing], ["info", missing, "--traceback"]):
        assert main(arguments) == 2
        err = capsys.readouterr().err
        assert "Traceback" in err
        assert err.strip().splitlines()[-1].startswith("asperity: error: ")


def test_an_unexpected_error_is_one_line_too(ball, monkeypatch, capsys):
    def fail(*_: object) -> None:
        raise ZeroDivisionError("no reason")

    monkeypatch.setattr("asperity.cli.models.load", fail)
    assert main(["info", str(ball)]) == 1
    err = capsys.readouterr().err
    assert err.startswith("asperity: error: unexpected ZeroDivisionError: no reason")
    assert "--traceback" in err


def test_a_failed_simulation_saves_what_it_has(tmp_path, capsys):
    path = tmp_path / "explosive.xml"
    path.write_text(
        '<mujoco><worldbody><body><joint type="slide"/><geom size="0.1"/></body></worldbody>'
        '<keyframe><key qvel="1e308"/></keyframe></mujoco>'
    )
    target = tmp_path / "run.npz"
    arguments = ["--keyframe", "0", "--integrator", "icf", "--time-step", "10", "--duration", "100"]
    assert main(["simulate", str(path), *arguments, "--save", str(target)]) == 1
    out, err = capsys.readouterr()
    assert "NON_FINITE" in out
    assert "asperity: error: The next state" in err
    assert np.load(target)["status"] == "NON_FINITE"


def test_a_file_that_cannot_be_written_afterwards_does_not_stop_the_others(
    ball, tmp_path, monkeypatch, capsys
):
    def fail(*_: object, **__: object) -> None:
        raise MediaError("The disk is full.")

    monkeypatch.setattr("asperity.cli.outputs.write_web_playback", fail)
    monkeypatch.setattr(Outputs, "check", lambda self, model: None)
    page, states = tmp_path / "run.html", tmp_path / "run.npz"
    files = ["--html", str(page), "--save", str(states)]
    assert main(["simulate", str(ball), "--duration", "0.1", *files]) == 1
    assert "was not written: The disk is full." in capsys.readouterr().err
    assert states.is_file()


def test_info_tells_what_a_model_holds(ball, capsys):
    assert main(["info", str(ball)]) == 0
    out = capsys.readouterr().out
    assert "hinge (hinge)" in out
    assert re.search(r"servo +hinge +implicit +10 +1 +-3 to 3", out)
    assert re.search(r"push +hinge +explicit", out)
    assert "joint limit (hinge)" in out
    assert "dry friction" in out
    assert "Geoms that can collide: 3 of 3" in out
    assert "20000" in out
    assert "model:" in out
    assert "mass [kg]" in out


def test_info_lists_the_integrators(capsys):
    assert main(["info", "--integrators"]) == 0
    out = capsys.readouterr().out
    for name, entry in registered().items():
        assert re.search(rf"^ {name} +{entry.preset.__name__} +\w", out, re.MULTILINE)
        options = out.split(f"Options of {name} ")[1].split("Options of ")[0]
        for option in options_of(entry.preset):
            assert f"--{option.name.replace('_', '-')} " in options


def test_help_says_which_integrators_an_option_belongs_to(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main(["simulate", "--help"])
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Fixed step size [s] (not cenic)." in out
    assert "[default: icf, tamsi: 0.001; sap, midas: 0.01]" in out
    assert "Linear dissipation, in s (sap)." in out
    assert "the model's, else 3e-6; midas and classical: 1e-4" in out
    assert "tamsi: Whether TALS cuts Newton's updates" in out
    for entry in registered().values():
        for option in options_of(entry.preset):
            assert f"--{option.name.replace('_', '-')} " in out


def test_help_compiles_nothing():
    """Help is there before the second that Numba and MuJoCo take to be imported."""
    command = (
        "import sys; from asperity.cli import main; main(sys.argv[1:])\n"
        "assert not {'numba', 'mujoco', 'numpy'} & set(sys.modules)"
    )
    for arguments in (["--help"], ["simulate", "--help"], ["info", "--integrators"]):
        subprocess.run([sys.executable, "-c", command, *arguments], check=True, capture_output=True)


def test_info_warns_when_nothing_collides(tmp_path, capsys):
    path = tmp_path / "ghost.xml"
    path.write_text(WITHOUT_CONTACT)
    assert main(["info", str(path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Geoms that can collide: 0 of 1" in out
    assert "Nothing can collide" in out


def test_info_with_a_floor(tmp_path, capsys):
    path = tmp_path / "ball.xml"
    path.write_text(
        "<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
    )
    assert main(["info", str(path), "--floor", "-0.5"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Geoms that can collide: 2 of 2" in out
    assert "Nothing can collide" not in out
    assert main(["info", str(path), "--floor", "nan"]) == 2


def test_demo_without_libraries_still_has_its_numbers(tmp_path, monkeypatch, capsys):
    def missing(*_: object) -> None:
        raise MediaError("No OpenGL library was found; install one with 'apt-get install it'.")

    monkeypatch.setattr("asperity.cli.outputs.check_video_support", missing)
    arguments = ["demo", "--duration", "0.05", "--no-html", "--accuracy", "1e-2"]
    # Cut short, the can has not been moved: the pick failed.
    assert main([*arguments, "--out", str(tmp_path / "new")]) == 1
    out, err = capsys.readouterr()
    assert "no video: No OpenGL library was found" in err
    assert "SUCCESS" in out
    assert "estimated position error is below 0.01 (m, rad)" in out
    assert "The can" in out
    assert not list((tmp_path / "new").iterdir())


def test_an_interrupt_keeps_what_was_computed(ball, tmp_path):
    target = tmp_path / "run.npz"
    command = (
        "import sys, asperity.cli.runner as runner\n"
        "from asperity.cli import main\n"
        "begin = runner.Recorder.start_record\n"
        "def announce(simulator):\n"
        "    begin(simulator)\n"
        "    print('started', flush=True)\n"
        "runner.Recorder.start_record = announce\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    arguments = ["simulate", str(ball), "--duration", "1e6", "--max-step", "1e-4"]
    process = subprocess.Popen(
        [sys.executable, "-c", command, *arguments, "--save", str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "started"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "INTERRUPTED" in out
    assert "Traceback" not in err
    saved = np.load(target)
    assert saved["status"] == "INTERRUPTED"
    assert np.all(np.diff(saved["time"]) > 0)
    assert 0 < saved["time"][-1] < 1e6


def test_a_run_that_is_saved_in_parts_is_readable_when_it_is_ended(ball, tmp_path):
    target = tmp_path / "run.npz"
    arguments = ["simulate", str(ball), "--duration", "1e9", "--integrator", "icf"]
    process = subprocess.Popen(
        [sys.executable, "-m", "asperity", *arguments, "--save", str(target), "--save-every=5"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and not (tmp_path / "run.0003.npz").exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "Wrote" in out
    assert not target.exists()
    whole = Trajectory.load(tmp_path / "run.*.npz")
    assert whole.status.name == "INTERRUPTED"
    assert whole.time[-1] > 15.0
    # Nothing is missing between parts, and saving them has changed no bit.
    np.testing.assert_allclose(np.diff(whole.time), 1e-3, rtol=1e-6)
    alone = simulate(str(ball), (0.0, 15.0), integrator=Icf(time_step=1e-3), save_at=[15.0])
    np.testing.assert_allclose(whole.at(15.0)[0], alone.qpos, atol=1e-12)


def test_memory_is_bounded_without_save_every(ball, tmp_path, monkeypatch):
    # A state of the ball takes 8 (1 + 7 + 6) bytes, and a thousand of them are recorded at once.
    most = 20_000 * 8 * 14
    monkeypatch.setattr("asperity.cli.simulate.MOST_BYTES", most)
    kept = []

    def look(self):
        kept.append(measured.fget(self))
        return kept[-1]

    measured = Recorder.kept_bytes
    monkeypatch.setattr(Recorder, "kept_bytes", property(look))
    target = tmp_path / "run.npz"
    arguments = ["simulate", str(ball), "--duration", "400", "--integrator", "icf"]
    assert main([*arguments, "--save", str(target)]) == 0
    assert not target.exists()
    assert len(list(tmp_path.glob("run.*.npz"))) > 3
    whole = Trajectory.load(tmp_path / "run.*.npz")
    # Round-off of so many steps may be a step of its own.
    assert whole.time[-1] == 400.0
    np.testing.assert_allclose(np.diff(whole.time)[:-1], 1e-3, rtol=1e-6)
    assert len(kept) > 3
    # What is simulated between two looks, a twentieth of a second of wall time, comes on top.
    assert max(kept) < 0.5 * (whole.time.nbytes + whole.qpos.nbytes + whole.qvel.nbytes)
    assert main(arguments) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--save-every", "1"], "needs --save"),
        (["--save", "run.npz", "--save-every", "-1"], "positive number"),
        (["--save", "run.npz", "--save-every", "1", "--html", "run.html"], "need the whole run"),
        (["--plot", "run.gif"], "--plot run.gif does not end in .png or .pdf or .svg"),
    ],
)
def test_parts_and_plots_that_cannot_be_are_named(ball, capsys, options, message):
    assert main(["simulate", str(ball), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_history_is_plotted(ball, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    target = tmp_path / "run.svg"
    assert main(["simulate", str(ball), "--duration", "0.3", "--plot", str(target)]) == 0
    assert f"Wrote {target}" in capsys.readouterr().out
    assert target.read_text().lstrip().startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "99999"], "port must be between 0 and 65535"),
        (["--host", "8.8.8.8"], "host '8.8.8.8' is no address of this machine"),
        (["--host", "no such host"], "host 'no such host' is no address"),
    ],
)
def test_an_address_for_the_live_view_is_refused_before_the_model_is_read(
    tmp_path, capsys, options, message
):
    assert main(["view", str(tmp_path / "missing.xml"), *options]) == 2
    assert message in capsys.readouterr().err
