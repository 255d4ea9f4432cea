"""Engines that verification compares: they agree where there is one answer, and say what they lack."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from studies.benchmarks.verification import impacts, rolling, which_engine
from studies.benchmarks.verification.case import NotApplicable, Simulate, World
from studies.benchmarks.verification.families import CASES
from studies.benchmarks.verification.methods import COLUMNS, resolve
from studies.benchmarks.verification.results import Result, load
from studies.peers import __main__ as environment
from studies.peers.mujoco import SETTINGS, MujocoSetting, MujocoSimulate

FINE = MujocoSimulate(MujocoSetting(1e-4, "RK4"))
OTHERS = {"rapier": "RapierSimulate", "motrixsim": "MotrixSimulate"}


def peer(name: str) -> Simulate:
    pytest.importorskip({"rapier": "rapier3d"}.get(name, name))
    simulate: Simulate = getattr(importlib.import_module(f"studies.peers.{name}"), OTHERS[name])(
        1e-3
    )
    return simulate


TREE = World(
    "<body name='base' pos='.1 .2 .3' euler='.3 .2 .1'><freejoint/>"
    "<inertial pos='0 0 0' mass='2' diaginertia='.03 .05 .04'/>"
    "<body pos='0 0 .2' euler='0 .4 0'><joint axis='0 1 0'/>"
    "<inertial pos='.1 0 0' mass='.5' diaginertia='.01 .01 .01'/></body></body>"
)


@pytest.mark.parametrize("name", OTHERS)
def test_a_tree_moves_as_in_mujoco(name: str) -> None:
    simulate = peer(name)
    qpos = TREE.model().qpos0.copy()
    qpos[7] = 0.3
    qvel = [0.3, -0.2, 0.1, 1.0, -2.0, 0.7, 0.4]
    expected = FINE(TREE, 0.2, qpos=qpos, qvel=qvel)
    found = simulate(TREE, 0.2, qpos=qpos, qvel=qvel)
    # Single precision, and steps of first order.
    np.testing.assert_allclose(found.qpos[0], qpos, atol=1e-5)
    np.testing.assert_allclose(found.qvel[0], qvel, atol=1e-4)
    found.qpos[-1, 3:7] *= np.sign(found.qpos[-1, 3:7] @ expected.qpos[-1, 3:7])
    np.testing.assert_allclose(found.qpos[-1], expected.qpos[-1], atol=5e-3)


@pytest.mark.parametrize("name", OTHERS)
def test_forces_act_at_the_centre_in_the_axes_of_the_world(name: str) -> None:
    world = World(
        "<body name='push' euler='0 0 1'><freejoint/>"
        "<inertial pos='0 0 0' mass='2' diaginertia='1 1 1'/></body>",
        gravity=(0.0, 0.0, 0.0),
    )
    run = peer(name)(world, 0.1, forces={"push": [3, 0, 0, 0, 0, 0.5]})
    np.testing.assert_allclose(run.qvel[-1], [0.15, 0, 0, 0, 0, 0.05], atol=2e-3)


@pytest.mark.parametrize("name", OTHERS)
def test_a_ball_rolls(name: str) -> None:
    case = CASES["slip-to-roll"]
    assert case.measure(peer(name)) == pytest.approx(case.truth, abs=case.tolerance)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(("case", "what"), [("tackle", "tendons"), ("honey", "fluids")])
def test_what_an_engine_lacks_is_said(case: str, what: str, name: str) -> None:
    with pytest.raises(NotApplicable, match=what):
        CASES[case].measure(peer(name))


def test_speculative_contacts_of_mujoco_let_less_through_a_wall() -> None:
    case = CASES["thin-wall"]
    careful, speculative = (
        case.measure(MujocoSimulate(SETTINGS[name][-1]))
        for name in ("mujoco:careful", "mujoco:speculative")
    )
    assert speculative < careful
    assert len(impacts.BULLET_SPEEDS) > careful


def test_every_setting_of_mujoco_rolls_a_ball() -> None:
    for settings in SETTINGS.values():
        run = MujocoSimulate(settings[0])(rolling.rolling_ball(), 0.2, qvel=[1, 0, 0, 0, 10, 0])
        assert run.qvel[-1, 0] == pytest.approx(1.0, abs=0.02)


def test_engines_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapier3d", None)
    monkeypatch.delitem(sys.modules, "studies.peers.rapier", raising=False)
    with pytest.raises(ImportError, match="rapier3d"):
        resolve("rapier@1e-3")


def test_the_environment_takes_the_newest_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "versions" / "3.12.1" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.touch()
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    there = {"python3.11": "/a/python3.11", "python3.13": "/b/python3.13", "python3.14": "/shim"}
    monkeypatch.setattr(environment.shutil, "which", there.get)
    monkeypatch.setattr(
        environment, "_says", lambda command: "" if command[0] == "/shim" else command[0]
    )
    assert environment.pythons()[:3] == ["/b/python3.13", str(own), "/a/python3.11"]


def test_the_table_of_engines_has_eleven_cases() -> None:
    rows = [
        Result("slide-to-rest", "cenic@1e-3", CASES["slide-to-rest"].truth, "ok", 1.0, ""),
        Result("held", "cenic@1e-3", None, "never", 1.0, ""),
        Result("trot", "cenic@1e-3", None, "stopped: early", 1.0, ""),
        Result("dominoes", "cenic@1e-3", None, "cannot: none", 1.0, ""),
    ]
    text = which_engine.table({(row.case, row.method): row for row in rows})
    assert "Rapier" not in text
    assert set(which_engine.WHY) <= set(CASES)
    assert len(which_engine.WHY) == 11
    columns = {name for names in COLUMNS.values() for name in names}
    assert set(which_engine.ENGINES.values()) <= columns


def test_every_engine_of_the_table_has_results() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "which-engine.md"
    text = page.read_text(encoding="utf-8")
    kept = load()
    for title, method in which_engine.ENGINES.items():
        assert title in text
        assert sum(name == method for _, name in kept) >= 100
