"""Controls in the command line: numbers, functions of the user's, and completion of words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import asperity as asp
from asperity.cli import main

ARM = """
<mujoco>
  <worldbody>
    <body name="arm"><joint name="a" axis="0 1 0" damping="1"/><geom size="0.1" pos="0.3 0 0"/></body>
    <body name="leg"><joint name="b" axis="0 1 0" damping="1"/><geom size="0.1" pos="0.3 0 0"/></body>
  </worldbody>
  <actuator>
    <position name="servo" joint="a" kp="500" kv="20"/><motor name="push" joint="b"/>
  </actuator>
  <keyframe><key name="held" ctrl="0.3 0.4"/></keyframe>
</mujoco>
"""

CONTROL = """
def control(model, data):
    data.ctrl[:] = 0.1, data.time

value = 3
"""


@pytest.fixture
def model(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    (tmp_path / "mine.py").write_text(CONTROL)
    (tmp_path / "broken.py").write_text("import nothing_of_this_name")
    monkeypatch.chdir(tmp_path)
    return path


def controls(model: Path, *options: str) -> np.ndarray:
    """Controls of a run with these options, shape (n, 2)."""
    file = model.with_name("run.npz")
    run = ["simulate", str(model), "--duration", "0.1", "--save", str(file), *options]
    assert main(run) == 0
    return asp.Trajectory.load(file).ctrl


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), (0.0, 0.0)),
        (("--ctrl", "0.5,-1e-1"), (0.5, -0.1)),
        (("--ctrl", "push = 2"), (0.0, 2.0)),
        (("--ctrl", "push=2, servo=1"), (1.0, 2.0)),
        (("--keyframe", "held", "--ctrl", "push=2"), (0.3, 2.0)),
    ],
)
def test_controls_are_held(model, options, expected):
    assert np.all(controls(model, *options) == expected)


@pytest.mark.parametrize("where", ["mine.py:control", "mine:control"])
def test_a_function_writes_controls_at_its_period(model, where):
    ctrl = controls(model, "--control", where, "--control-period", "0.025")
    assert np.all(ctrl[:, 0] == 0.1)
    np.testing.assert_allclose(np.unique(ctrl[:, 1]), [0.0, 0.025, 0.05, 0.075], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ctrl", "1"), "1 numbers, and the model has 2 controls"),
        (("--ctrl", "1,two"), "'two' is not a finite number"),
        (("--ctrl", "1,nan"), "'nan' is not a finite number"),
        (("--ctrl", "foot=1"), "'foot=1' names no control; there are: servo, push"),
        (("--ctrl", "servo=1,2"), "'2' names no control"),
        (("--control", "control"), "is not MODULE:FUNCTION"),
        (("--control", "mine.py:value"), "has no function 'value'"),
        (("--control", "no.py:control"), "no file no.py"),
        (("--control", "broken.py:control"), "ModuleNotFoundError"),
        (("--control", "no_such_module:control"), "cannot be imported"),
        (("--control-period", "0.1"), "--control, which is not given"),
        (("--control", "mine.py:control", "--control-period", "-1"), "control_period"),
    ],
)
def test_what_cannot_be_used_is_named(model, options, words, capsys):
    assert main(["simulate", str(model), "--duration", "0.1", *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "expected"), [("sim", "simulate"), ("simulate --accu", "--accuracy"), ("vi", "view")]
)
def test_words_are_completed_in_the_shell(typed, expected):
    words = f"asperity {typed}".split(" ")
    environment = os.environ | {
        "_ASPERITY_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    code = "import sys; from asperity.cli import main; sys.exit(main([]))"
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert expected in ended.stdout.split(), ended.stderr
