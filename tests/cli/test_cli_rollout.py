"""``asperity rollout``: many worlds from the command line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import asperity as asp
from asperity.cli import main

MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1"/></body>
    <body pos="1 0 1"><joint name="a" axis="0 1 0"/><geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/></body>
  </worldbody>
  <actuator><motor name="motor" joint="a" ctrlrange="0 2" ctrllimited="true"/></actuator>
  <sensor><jointpos joint="a"/></sensor>
</mujoco>
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.xml"
    path.write_text(MODEL)
    return str(path)


def run(model: str, *options: str) -> int:
    return main(["rollout", model, "--worlds", "5", "--duration", "0.1", *options])


def test_worlds_are_saved_and_depend_on_the_seed_alone(model, tmp_path, capsys) -> None:
    files = {}
    for name, options in {
        "one": ["--threads", "1"],
        "two": ["--threads", "2"],
        "other": ["--seed", "1"],
    }.items():
        path = tmp_path / f"{name}.npz"
        assert run(model, "--save", str(path), *options) == 0
        with np.load(path) as file:
            files[name] = {field: file[field] for field in file.files}
    shown = capsys.readouterr().out
    assert "worlds  5 on 2 threads" in shown
    assert "0.5 s simulated" in shown
    one = files["one"]
    assert one["qpos"].shape == (5, 10, 8)
    assert one["sensordata"].shape == (5, 10, 1)
    assert one["time"][:, -1] == pytest.approx(0.1)
    assert not one["status"].any()
    # A quarter of the range above and below its middle.
    assert one["ctrl"].min() >= 0.5
    assert one["ctrl"].max() <= 1.5
    assert len(set(one["qpos"][:, -1, 0])) == 5
    for field, values in one.items():
        assert np.array_equal(values, files["two"][field])
    assert not np.array_equal(one["qpos"], files["other"]["qpos"])


def test_contact_parameters_reach_the_worlds(model, tmp_path) -> None:
    """A ball of 4.19 kg rests m g/k deep; a second is enough for it to come to rest."""
    path = tmp_path / "worlds.npz"
    options = ["--velocity", "0", "--save", str(path), "--duration", "1", "--dissipation", "10"]
    for stiffness in (1e4, 1e5):
        assert run(model, *options, "--stiffness", str(stiffness)) == 0
        with np.load(path) as file:
            depth = 0.1 - file["qpos"][:, -1, 2]
        weight = 1000.0 * 4.0 / 3.0 * np.pi * 0.1**3 * 9.81
        assert depth == pytest.approx(weight / stiffness, rel=1e-3)


ADHESION = """
<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
  <body name="cup" pos="0 0 .0505"><joint type="slide" axis="0 0 1"/>
    <geom name="cup" type="box" size=".05 .05 .05" mass="1"/></body></worldbody>
  <actuator><adhesion body="cup" ctrlrange="0 1" gain="10"/></actuator></mujoco>
"""


def test_an_actuator_that_some_integrators_know_is_theirs_alone(tmp_path, capsys) -> None:
    path = tmp_path / "cup.xml"
    path.write_text(ADHESION)
    for command in (["simulate", str(path), "--duration", "0.02"], ["rollout", str(path)]):
        options = [*command, "--time-step", "0.01"]
        if command[0] == "rollout":
            options += ["--worlds", "2", "--duration", "0.02", "--velocity", "0"]
        assert main([*options, "--integrator", "midas"]) == 0
        assert main([*options, "--integrator", "icf"]) == 0
        assert main([*options, "--integrator", "implicit-euler"]) == 2
        assert "Cenic, Icf, Sap, Tamsi and Midas know" in " ".join(capsys.readouterr().err.split())
    assert main(["info", str(path)]) == 0
    batch = asp.Batch(str(path), 2, integrator=asp.Midas(time_step=0.01))
    batch.vary("body_mass")[1, 1] = 2.0
    batch.model.opt.gravity[2] = -5.0
    batch.step()
    assert not batch.status.any()


def test_worlds_that_fail_are_told(model, capsys) -> None:
    options = ("--integrator", "icf", "--max-iterations", "1", "--time-step", "0.01")
    assert run(model, *options, "--velocity", "3") == 1
    shown = capsys.readouterr().out
    assert re.search(r"failed  [1-5], the first of them world \d: The contact solver", shown)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--duration", "-1"), "--duration"),
        (("--worlds", "0"), "--worlds must be positive, got 0"),
        (("--worlds", "100000000000"), "100000000000 worlds do not fit into this machine's memory"),
        (("--control", "2"), "--control"),
        (("--velocity", "nan"), "--velocity"),
        (("--save", "worlds.csv"), "does not end in .npz"),
        (("--keyframe", "none"), "keyframe 'none' does not exist"),
        (("--threads", "0"), "threads"),
        (("--seed", "-3"), "--seed"),
    ],
)
def test_bad_options_are_named(model, capsys, options, message) -> None:
    assert run(model, *options) == 2
    assert message in capsys.readouterr().err
