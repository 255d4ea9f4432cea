"""Checkpoints, initial states, progress, notebooks, logging: what makes simulators pleasant."""

from __future__ import annotations

import dataclasses
import html
import inspect
import logging
import re
import sys

import mujoco
import numpy as np
import pytest
import rich
from rich.console import Console

import asperity as asp

SCENE = """
<mujoco model="box &amp; arm">
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body name="box" pos="0 0 0.3"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
    <body name="arm" pos="1 0 1"><joint name="hinge" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/></body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
  <keyframe><key name="high" qpos="0 0 2 1 0 0 0 0.5" ctrl="0.3"/></keyframe>
</mujoco>
"""


def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    data.ctrl[0] = np.sin(30.0 * data.time)


# -- checkpoints ---------------------------------------------------------------------------------


def test_a_checkpoint_goes_on_to_the_bit(tmp_path):
    sim = asp.Simulator(SCENE, control=control, control_period=0.007)
    sim.advance_to(0.123)
    path = sim.save(tmp_path / "run.checkpoint")
    other = asp.Simulator.load(path)
    for one in (sim, other):
        assert one.advance_to(0.5).success
    np.testing.assert_array_equal(other.data.qpos, sim.data.qpos)
    np.testing.assert_array_equal(other.data.qvel, sim.data.qvel)
    assert dataclasses.replace(other.stats, wall_time=0.0) == dataclasses.replace(
        sim.stats, wall_time=0.0
    )


def test_what_cannot_be_saved_or_loaded_is_named(tmp_path, monkeypatch):
    path = tmp_path / "run.checkpoint"
    sim = asp.Simulator(SCENE, control=lambda model, data: None)
    with pytest.raises(asp.ArgumentError, match="cannot be saved"):
        sim.save(path)
    assert not path.exists()
    sim.control = None
    sim.save(path)
    whole = path.read_bytes()
    with pytest.raises(asp.ArgumentError, match="cannot be read"):
        asp.Simulator.load(tmp_path / "none")
    for content in (b"", b"something else", whole[:40], whole[:-200]):
        path.write_bytes(content)
        with pytest.raises(asp.ArgumentError, match=r"run\.checkpoint"):
            asp.Simulator.load(path)
    path.write_bytes(whole)
    monkeypatch.setattr(mujoco, "__version__", "9.9")
    with pytest.raises(asp.ArgumentError, match=r"MuJoCo 9\.9 cannot"):
        asp.Simulator.load(path)


# -- the same arguments ----------------------------------------------------------------------------


def test_simulate_takes_what_a_simulator_takes():
    of_simulator = inspect.signature(asp.Simulator).parameters
    of_simulate = inspect.signature(asp.simulate).parameters
    assert set(of_simulator) <= set(of_simulate)
    for name, parameter in of_simulator.items():
        assert parameter.default == of_simulate[name].default, name


def test_initial_states_of_simulators():
    sim = asp.Simulator(SCENE, keyframe="high", qvel=np.full(7, 0.1))
    assert sim.data.qpos[2] == 2.0
    assert sim.data.ctrl[0] == 0.3
    assert np.all(sim.data.qvel == 0.1)
    # Published.
    assert sim.data.body("box").xpos[2] == 2.0
    data = mujoco.MjData(sim.model)
    data.qvel[:] = 7.0
    other = asp.Simulator(sim.model, data=data, ctrl=[0.2])
    assert np.all(other.data.qvel == 7.0)
    assert other.data.ctrl[0] == 0.2
    trajectory = asp.simulate(SCENE, (0.0, 0.1), keyframe=0, qvel=np.full(7, 0.1))
    again = asp.Simulator(SCENE, keyframe=0, qvel=np.full(7, 0.1))
    again.advance_to(0.1)
    np.testing.assert_array_equal(trajectory.qpos[-1], again.data.qpos)
    untouched = data.qpos.copy()
    for wrong, words in (
        ({"keyframe": "low"}, "'low'"),
        ({"qpos": [1.0]}, r"qpos must have shape \(8,\)"),
        ({"ctrl": "much"}, "ctrl"),
        ({"qvel": np.full(7, np.nan)}, "qvel"),
    ):
        with pytest.raises(asp.ArgumentError, match=words):
            asp.Simulator(sim.model, data=data, **wrong)
        np.testing.assert_array_equal(data.qpos, untouched)


# -- progress --------------------------------------------------------------------------------------


def test_a_progress_bar(capsys):
    slow = asp.Icf(time_step=1e-4)
    sim = asp.Simulator(SCENE, integrator=slow, control=control, control_period=1e-3)
    assert sim.advance_to(1.0, progress=True).success
    told = capsys.readouterr()
    assert told.out == ""
    assert asp.simulate(SCENE, (0.0, 0.2), integrator=slow, progress=True).success
    sim.advance_to(1.1, progress=False)
    plain = asp.Simulator(SCENE, integrator=slow, control=control, control_period=1e-3)
    plain.advance_to(1.0)
    plain.advance_to(1.1)
    np.testing.assert_array_equal(plain.data.qpos, sim.data.qpos)
    for wrong in (1, "yes"):
        with pytest.raises(asp.ArgumentError, match="progress must be True or a function"):
            sim.advance_to(2.0, progress=wrong)
        with pytest.raises(asp.ArgumentError, match="progress must be True or a function"):
            asp.simulate(SCENE, (0.0, 0.1), progress=wrong)


# -- notebooks -------------------------------------------------------------------------------------


def test_tables_in_notebooks(monkeypatch):
    sim = asp.Simulator(SCENE)
    report = sim.advance_to(0.2)
    shown = sim._repr_html_()
    assert "box &amp; arm" in shown
    assert "accuracy 0.001" in shown
    assert "<td" in report._repr_html_()
    assert "SUCCESS" in report._repr_html_()
    fixed = asp.Simulator(SCENE, integrator=asp.Midas(time_step=0.01))
    assert "steps of 0.01 s" in fixed._repr_html_()
    # Without viser there is the table alone.
    monkeypatch.setitem(sys.modules, "viser", None)
    trajectory = asp.simulate(SCENE, (0.0, 0.1))
    assert "iframe" not in trajectory._repr_html_()
    assert f"{len(trajectory.time)}</td>" in trajectory._repr_html_()


def test_a_playback_in_notebooks(capsys):
    pytest.importorskip("viser")
    trajectory = asp.simulate(SCENE, (0.0, 0.2), save_at=np.linspace(0.0, 0.2, 5))
    shown = trajectory._repr_html_()
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1])
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "</html>" in page
    # No banners.
    assert capsys.readouterr().out == ""
    # A single state is no motion.
    assert "iframe" not in asp.simulate(SCENE, (0.0, 0.0))._repr_html_()


# -- logging ---------------------------------------------------------------------------------------


def test_a_playback_says_nothing_in_a_notebook_of_jupyter(monkeypatch):
    """What Rich prints there goes to the page, past the standard output."""
    pytest.importorskip("viser")
    shown = []
    monkeypatch.setattr("rich.jupyter.display", lambda segments, text: shown.append(text))
    monkeypatch.setattr("rich._console", Console(force_jupyter=True))
    rich.print("is shown")
    assert len(shown) == 1
    assert "iframe" in asp.simulate(SCENE, (0.0, 0.1))._repr_html_()
    assert len(shown) == 1
    rich.print("is shown again")
    assert len(shown) == 2


def test_advances_are_logged(caplog):
    sim = asp.Simulator(SCENE, integrator=asp.Cenic(accuracy=1e-8, min_step=0.02))
    with caplog.at_level(logging.INFO, logger="asperity"):
        sim.data.qvel[3:6] = 300.0
        assert not sim.advance_to(1.0, on_failure="return").success
    assert "stopped at" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="asperity"):
        asp.Simulator(SCENE).advance_to(0.01)
    assert "advanced to 0.01 s" in caplog.text


# -- names -----------------------------------------------------------------------------------------


def test_the_package_shows_what_is_public():
    assert sorted(dir(asp)) == sorted([*asp.__all__, "__version__"])
    assert all(hasattr(asp, name) for name in dir(asp))
    assert callable(asp.view)


def _members(owner):
    for name, member in inspect.getmembers(owner):
        if not name.startswith("_") and name in vars(owner):
            yield name, member


@pytest.mark.parametrize("name", sorted(asp.__all__))
def test_all_that_is_public_has_a_docstring(name):
    public = getattr(asp, name)
    assert inspect.getdoc(public), name
    if not inspect.isclass(public):
        return
    documented = inspect.getdoc(public) + (
        inspect.getsource(public) if not issubclass(public, int) else ""
    )
    for member, value in _members(public):
        if callable(value) or isinstance(value, property | classmethod):
            assert inspect.getdoc(value), f"{name}.{member}"
        elif not issubclass(public, asp.Status):
            assert re.search(rf"\b{member}\b", documented), f"{name}.{member}"
    if dataclasses.is_dataclass(public):
        for one in dataclasses.fields(public):
            told = " ".join(inspect.getdoc(base) or "" for base in public.__mro__)
            assert re.search(rf"\b{one.name}\b", told), f"{name}.{one.name}"
