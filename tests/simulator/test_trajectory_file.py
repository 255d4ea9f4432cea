"""Trajectories on disk: what is saved is read back, and no failure destroys what was there."""

from __future__ import annotations

import dataclasses
import os
import signal
import stat
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.simulator import trajectory_file
from asperity.simulator.atomic_files import replaced
from asperity.simulator.trajectory_columns import columns_of

BALL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 0.0999"><joint name="up" type="slide" axis="0 0 1"/>
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
        for left, right in zip(one.arrays().values(), other.arrays().values(), strict=True):
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
    run.save(tmp_path / "0.0001.npz")
    with pytest.raises(asp.ArgumentError, match=r"there are parts, 0\.0001\.npz to 0\.0001\.npz"):
        asp.Trajectory.load(missing)
    for path in (text, cut):
        with pytest.raises(asp.ArgumentError, match=r"was not written by Trajectory\.save"):
            asp.Trajectory.load(path)
    with pytest.raises(asp.ArgumentError, match="it has no array 'time'"):
        asp.Trajectory.load(other)


def _part(run: asp.Trajectory, first: int, last: int) -> asp.Trajectory:
    """The states from the first to the last one."""
    rows = slice(first, last + 1)
    names = ("time", "qpos", "qvel", "ctrl", "act", "sensordata", "contacts")
    return dataclasses.replace(run, **{name: getattr(run, name)[rows] for name in names})


def test_parts_are_one_run_again_with_contacts_and_sensors(tmp_path: Path) -> None:
    times = np.linspace(0.0, 0.1, 6)
    ball = BALL.replace("</mujoco>", "<sensor><jointpos joint='up'/></sensor></mujoco>")
    whole = asp.simulate(ball, (0.0, 0.1), save_at=times, contact_forces=True, sensors=True)
    # Their names are in another order than the times.
    for name, first, last in (("c", 0, 2), ("a", 2, 3), ("b", 3, 5)):
        _part(whole, first, last).save(tmp_path / f"run.{name}.npz", model="beside")
    back = asp.Trajectory.load(tmp_path / "run.*.npz")
    for name in ("time", "qpos", "qvel", "ctrl", "act", "sensordata"):
        np.testing.assert_array_equal(getattr(back, name), getattr(whole, name))
    assert back.sensordata.shape == (6, 1)
    forces = [[one.force for one in run.contacts] for run in (back, whole)]
    np.testing.assert_array_equal(*forces)


def test_files_that_are_not_parts_of_one_run_are_refused(
    run: asp.Trajectory, tmp_path: Path
) -> None:
    _part(run, 0, 2).save(tmp_path / "run.1.npz")
    _part(run, 3, 5).save(tmp_path / "run.2.npz")
    with pytest.raises(asp.ArgumentError, match=r"run\.2\.npz does not begin with the state"):
        asp.Trajectory.load(tmp_path / "run.*.npz")
    dataclasses.replace(_part(run, 2, 5), contacts=[]).save(tmp_path / "run.2.npz")
    with pytest.raises(asp.ArgumentError, match="has contacts"):
        asp.Trajectory.load(tmp_path / "run.*.npz")


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


MUSCLE = """
<mujoco>
  <worldbody>
    <body name="arm"><joint name="hinge" axis="0 1 0" range="-1 1" limited="true"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/></body>
  </worldbody>
  <actuator><general name="lag" joint="hinge" dyntype="filterexact" dynprm="0.1"/></actuator>
  <sensor><jointpos name="angle" joint="hinge"/><jointvel joint="hinge"/></sensor>
</mujoco>
"""


@pytest.fixture(scope="module")
def sampled() -> asp.Trajectory:
    pd = asp.systems.PdController(joints=["hinge"], kp=5.0, kd=0.5, target=[0.3])
    return asp.simulate(
        MUSCLE,
        (0.0, 0.2),
        ctrl=[1.0],
        integrator=asp.Cenic(error_estimate="step-doubling"),
        save_at=np.linspace(0.0, 0.2, 11),
        sensors=True,
        systems=[pd],
        history=True,
    )


def test_activations_sensors_and_outputs_are_kept(sampled: asp.Trajectory) -> None:
    time = sampled.time
    np.testing.assert_allclose(sampled.act[:, 0], 1.0 - np.exp(-time / 0.1), atol=1e-9)
    np.testing.assert_array_equal(sampled.sensordata[:, 0], sampled.qpos[:, 0])
    np.testing.assert_array_equal(sampled.sensordata[:, 1], sampled.qvel[:, 0])
    expected = 5.0 * (0.3 - sampled.qpos[:, 0]) - 0.5 * sampled.qvel[:, 0]
    np.testing.assert_allclose(sampled.system_outputs[0][:, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("place", ["inside", "beside", "omitted"])
def test_all_of_it_is_read_back(sampled: asp.Trajectory, tmp_path: Path, place: Any) -> None:
    path = sampled.save(tmp_path / "run.npz", model=place)
    if place == "omitted":
        with pytest.raises(asp.ArgumentError, match="holds no model"):
            asp.Trajectory.load(path)
    back = asp.Trajectory.load(path, model=sampled.model if place == "omitted" else None)
    for name in ("act", "sensordata"):
        np.testing.assert_array_equal(getattr(back, name), getattr(sampled, name))
    np.testing.assert_array_equal(back.system_outputs[0], sampled.system_outputs[0])
    assert back.history is not None
    assert sampled.history is not None
    for column, values in sampled.history.items():
        np.testing.assert_array_equal(back.history[column], values)
    assert back.model.nv == 1


def test_trajectories_beside_one_model_share_its_file(
    sampled: asp.Trajectory, tmp_path: Path
) -> None:
    for name in ("one.npz", "two.npz"):
        sampled.save(tmp_path / name, model="beside")
    (model,) = tmp_path.glob("model-*.npz")
    model.unlink()
    with pytest.raises(asp.ArgumentError, match=r"its model, .*model-.* cannot be read"):
        asp.Trajectory.load(tmp_path / "one.npz")


def test_columns_have_the_model_s_names(
    sampled: asp.Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asperity.simulator.trajectory.data_frame", dict)
    columns = sampled.to_pandas()
    assert list(columns) == [
        *("time", "qpos:hinge", "qvel:hinge", "act:0", "ctrl:lag"),
        *("sensordata:angle", "sensordata:1"),
    ]
    np.testing.assert_array_equal(columns["sensordata:angle"], sampled.qpos[:, 0])
    pytest.importorskip("matplotlib")
    assert len(sampled.plot().axes) == 5


def test_every_coordinate_has_a_column() -> None:
    joints = "<joint axis='1 0 0'/><joint axis='0 1 0'/><joint name='arm.1' axis='0 0 1'/>"
    ball = "<geom size='.1' mass='1'/>"
    links = f"<body pos='1 0 0'><joint name='4'/>{ball}<body><joint/>{ball}</body></body>"
    cloth = "<flexcomp name='cloth' type='grid' count='2 2 1' spacing='.1 .1 .1' radius='.01'/>"
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><body name='arm'>{joints}{ball}</body>{links}{cloth}</worldbody></mujoco>"
    )
    run = types.SimpleNamespace(
        **{name: np.zeros((1, 0)) for name in ("act", "ctrl", "sensordata")},
        time=np.zeros(1),
        qpos=np.arange(model.nq, dtype=float)[None],
        qvel=np.zeros((1, model.nv)),
    )
    columns = columns_of(model, run)["qpos"]
    vertices = [f"qpos:cloth_{vertex}.{axis}" for vertex in range(4) for axis in range(3)]
    named = ["qpos:arm.0", "qpos:arm.2", "qpos:arm.1", "qpos:4.0", "qpos:4.1"]
    assert list(columns) == named + vertices
    assert [values[0] for values in columns.values()] == list(range(model.nq))


def test_what_cannot_move_has_nothing_to_plot() -> None:
    pytest.importorskip("matplotlib")
    run = asp.simulate("<mujoco/>", (0.0, 0.01))
    with pytest.raises(asp.ArgumentError, match="nothing to plot"):
        run.plot()
