"""Trajectories on disk: what is saved is read back, and no failure destroys what was there."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.simulator import trajectory_file
from asperity.simulator.atomic_files import replaced

BALL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 0.099"><joint name="up" type="slide" axis="0 0 1"/>
      <geom name="ball" size="0.1" mass="1"/></body>
  </worldbody>
  <actuator><motor name="lift" joint="up"/></actuator>
</mujoco>
"""


def push(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    data.ctrl[0] = 1.0 if data.time < 0.045 else -2.0


@pytest.fixture(scope="module")
def run() -> asp.Trajectory:
    times = np.linspace(0.0, 0.1, 6)
    return asp.simulate(BALL, (0.0, 0.1), control=push, save_at=times, contact_forces=True)


def test_everything_is_read_back(run: asp.Trajectory, tmp_path: Path) -> None:
    back = asp.Trajectory.load(run.save(tmp_path / "run.npz"))
    for name in ("time", "qpos", "qvel", "ctrl"):
        np.testing.assert_array_equal(getattr(back, name), getattr(run, name))
    assert (back.status, back.message, back.stats) == (run.status, run.message, run.stats)
    assert len(back.contacts) == len(run.contacts) == 6
    for one, other in zip(back.contacts, run.contacts, strict=True):
        assert len(one.force) == 1, "the ball lies on the floor"
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)
    # The model is that of the simulation: the same steps follow from it.
    assert back.model.body("ball").id == run.model.body("ball").id
    again = asp.simulate(back.model, (0.0, 0.1), control=push, save_at=back.time)
    np.testing.assert_array_equal(again.time, back.time)
    assert back.at(0.05)[0].shape == (1, 1)


def test_controls_are_those_from_each_time_on(run: asp.Trajectory) -> None:
    # They change at 0.05 s, the first time of the control after 0.045 s.
    np.testing.assert_array_equal(run.ctrl[:, 0], [1.0, 1.0, 1.0, -2.0, -2.0, -2.0])
    held = asp.simulate(BALL, (0.0, 0.02), ctrl=[0.5])
    np.testing.assert_array_equal(held.ctrl, np.full((len(held.time), 1), 0.5))


def test_a_full_disk_leaves_the_old_file(
    run: asp.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run.save(tmp_path / "run.npz")
    before = path.read_bytes()

    def fill(file: Any, **arrays: Any) -> None:
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trajectory_file.np, "savez_compressed", fill)
    with pytest.raises(OSError, match="No space"):
        run.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.npz"]


def test_replaced_files_keep_their_mode_and_their_links(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    with replaced(link) as file:
        file.write(b"new")
        assert target.read_bytes() == b"old"
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_another_model_serves_where_that_of_the_file_does_not(
    run: asp.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run.save(tmp_path / "run.npz")
    monkeypatch.setattr(mujoco, "__version__", "9.9.9")
    with pytest.raises(asp.ArgumentError, match=r"MuJoCo 9\.9\.9 cannot read; pass the model"):
        asp.Trajectory.load(path)
    assert asp.Trajectory.load(path, model=run.model).model is run.model
    other = mujoco.MjModel.from_xml_string("<mujoco/>")
    with pytest.raises(asp.ArgumentError, match="belongs to another model: it has 1 positions"):
        asp.Trajectory.load(path, model=other)
    with pytest.raises(asp.ArgumentError, match=r"must be a mujoco\.MjModel, got str"):
        asp.Trajectory.load(path, model=BALL)  # type: ignore[arg-type]


def test_what_is_no_trajectory_is_refused(run: asp.Trajectory, tmp_path: Path) -> None:
    missing, text, other, cut = (tmp_path / f"{i}.npz" for i in range(4))
    text.write_text("no archive")
    np.savez(other, x=np.zeros(3))
    cut.write_bytes(run.save(tmp_path / "run.npz").read_bytes()[:-200])
    with pytest.raises(asp.ArgumentError, match=r"0\.npz cannot be read \(No such file"):
        asp.Trajectory.load(missing)
    for path in (text, cut):
        with pytest.raises(asp.ArgumentError, match=r"was not written by Trajectory\.save"):
            asp.Trajectory.load(path)
    with pytest.raises(asp.ArgumentError, match="it has no 'time'"):
        asp.Trajectory.load(other)


@pytest.mark.skipif(sys.platform == "win32", reason="no signals between processes")
def test_sigterm_saves_what_there_is(tmp_path: Path) -> None:
    model, target = tmp_path / "ball.xml", tmp_path / "run.npz"
    model.write_text(BALL)
    # A small program, since the command line shows nothing that tells when steps begin.
    script = """
import sys
from asperity.cli import runner
from asperity.cli.app import main
from asperity.simulator import Recorder
advance = Recorder.advance_to
def announced(self, *arguments, **options):
    print("begins", flush=True)
    return advance(self, *arguments, **options)
Recorder.advance_to = announced
sys.exit(main(sys.argv[1:]))
"""
    command = ["simulate", str(model), "--duration", "1e6", "--save", str(target)]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *command], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("begins"):
            break
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 130
    run = asp.Trajectory.load(target)
    assert run.status == asp.Status.INTERRUPTED
    assert len(run.time) > 1
