"""What figures 7 to 9 of the Midas paper are made of, with a rule instead of a learned policy."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from asperity.errors import ArgumentError, MissingExtra
from asperity.media import MediaError
from studies.experiments import select

pytest.importorskip("gymnasium", reason="needs gymnasium, of the [rl] or [assets] extra")

from asperity.scenes.peg_in_hole import PegScene
from studies.experiments import peg_policies, peg_runs
from studies.experiments.peg_figures import MARGIN, outside, spread
from studies.experiments.peg_pictures import contact_sheet
from studies.experiments.peg_policies import Plan, make_plan, trained
from studies.experiments.peg_runs import endings, test_policy
from studies.experiments.peg_runs import worlds as worlds_of
from studies.experiments.peg_training import Training, run_episodes

test_policy.__test__ = False  # type: ignore[attr-defined]


class Rule:
    """To the axis and down; once in the hole, or at once, to the side."""

    def __init__(self, aim: float = 0.0, below: float = 0.06, down: float = -0.6) -> None:
        self.aim, self.below, self.down = np.array([aim, 0.0]), below, down

    def predict(self, observation: np.ndarray, deterministic: bool) -> tuple[np.ndarray, None]:
        assert deterministic
        down = np.full((*observation.shape[:-1], 1), self.down)
        aim = np.where(observation[..., 2:] < self.below, self.aim, 0.0)
        return np.concatenate([50.0 * (aim - observation[..., :2]), down], axis=-1), None


def nothing(share: float) -> None: ...


def trainings(plan: Plan, margin: float) -> list[Training]:
    return [trained("Midas", margin, seed, plan, nothing) for seed in range(plan.seeds)]


def test_episodes_of_a_rule() -> None:
    env = worlds_of("Midas", MARGIN)(3)
    found = run_episodes(Rule(), env, range(3))
    assert np.all(found.success)
    assert np.all(np.hypot(found.position[:, 0], found.position[:, 1]) < MARGIN)
    assert np.all(found.reward > 50.0)
    # Each world by itself, whatever the others do.
    alone = run_episodes(Rule(), worlds_of("Midas", MARGIN)(1), [2])
    np.testing.assert_array_equal(alone.position[0], found.position[2])
    assert alone.reward[0] == found.reward[2]
    missed = run_episodes(Rule(down=-0.01), env, range(3))  # too slow
    assert not np.any(missed.success)
    with pytest.raises(ArgumentError, match="2 seeds for 3 worlds"):
        run_episodes(Rule(), env, range(2))


def test_a_peg_that_is_pressed_against_the_hole_stays_within_the_margin() -> None:
    """As far as the margin goes, and in Midas no further."""
    tests = test_policy(Rule(5e-3), "Midas", MARGIN, 3, nothing)
    assert np.all(tests.success)
    aside = np.hypot(tests.position[:, 0], tests.position[:, 1])
    assert np.all(aside > 0.7 * MARGIN)
    assert outside(tests.position, MARGIN) == 0.0


def test_ends_do_not_intersect_and_are_drawn() -> None:
    pytest.importorskip("ipctk")
    pytest.importorskip("matplotlib")
    ends = endings(Rule(5e-3), "Midas", MARGIN, 2)
    assert [end.success for end in ends] == [True, True]
    assert [end.intersects for end in ends] == [False, False]
    assert ends[0].path.shape[1] == len(ends[0].qpos)
    try:
        picture = contact_sheet(PegScene(), [ends, ends])
    except (MediaError, MissingExtra) as error:
        pytest.skip(str(error))
    assert picture.startswith(b"\x89PNG")


def test_numbers_of_the_table() -> None:
    places = np.array([[0.3, 0.4, 9.0], [0.3, 0.5, 9.0], [0.0, -0.6, 0.0], [0.0, 0.0, 1.0]])
    assert outside(places, 0.51) == 0.5
    assert spread(np.array([95.0])) == "95 %"
    assert spread(np.array([90.0, 100.0, 95.0])) == "95 % (90 to 100)"
    success = np.array([0.2, 0.9, 0.95, 0.5])
    assert Training(success, success, b"").first_above == 3.0
    assert np.isnan(Training(success, 0.5 * success, b"").first_above)


def test_trainings_are_kept(monkeypatch: Any, tmp_path: Any) -> None:
    done = []

    def train(make: Any, seed: int, iterations: int, progress: Any) -> Training:
        done.append((seed, iterations))
        return Training(np.full(iterations, 2.0), np.arange(iterations) / iterations, b"policy")

    monkeypatch.setattr(peg_policies, "train", train)
    monkeypatch.setattr(peg_policies, "usable", lambda names: ["Midas"])
    for _ in range(2):
        monkeypatch.setattr(peg_policies, "_TRAINED", {})
        plan = make_plan(False, seeds=2, iterations=4, policies=tmp_path / "kept")
        found = trainings(plan, MARGIN)
        assert plan.engines == ("Midas",)
        assert [training.policy for training in found] == [b"policy"] * 2
        np.testing.assert_array_equal(found[1].success, [0.0, 0.25, 0.5, 0.75])
        assert done == [(0, 4), (1, 4)]
    # Another task, or other iterations, are another training.
    trainings(plan, 1e-4)
    trainings(make_plan(False, seeds=1, iterations=3, policies=tmp_path / "kept"), MARGIN)
    assert done[2:] == [(0, 4), (1, 4), (0, 3)]
    files = sorted((tmp_path / "kept").iterdir())
    assert len(files) == 5
    assert all(path.suffix == ".npz" for path in files)
    monkeypatch.setattr(peg_policies, "_TRAINED", {})
    for path in files:
        path.write_text("nothing of the kind")
    with pytest.raises(ArgumentError, match=r"holds no training .*; remove it"):
        trainings(plan, MARGIN)
    assert make_plan(False).seeds == 5


def test_engines_of_a_plan(monkeypatch: Any) -> None:
    bullet = "Bullet, triangle mesh"
    monkeypatch.setattr(peg_runs, "has_bullet", lambda: True)
    assert make_plan(False).engines == ("Midas", bullet)
    assert make_plan(True).engines[2:] == (
        "Bullet, convex pieces",
        "Bullet, triangle mesh, 1 ms",
        "Bullet, best settings",
    )
    assert make_plan(False, engine=["midas"]).engines == ("Midas",)
    assert make_plan(False, engine=[f"{bullet}*", "midas"]).engines == (
        *(bullet, f"{bullet}, 1 ms"),
        "Midas",
    )
    with pytest.raises(
        ArgumentError, match="no engine is called 'bullet'; there are Midas; Bullet"
    ):
        make_plan(False, engine=["bullet"])
    monkeypatch.setattr(peg_runs, "has_bullet", lambda: False)
    assert make_plan(True).engines == ("Midas",)
    with pytest.raises(MissingExtra, match="needs PyBullet"):
        make_plan(True, engine=["midas", "bullet*"])


def test_names_are_listed_without_gymnasium() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = sys.modules['torch'] = None\n"
        "from studies.experiments import experiments\n"
        "assert 'midas-figure-9' in [e.name for e in experiments()]\n"
        "from studies.experiments import select\n"
        "try: select(['midas-figure-9'])[0].compute(False, lambda share: None)\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "MissingExtra" in found.stdout
    assert "pip install 'asperity[rl]'" in found.stdout


def test_training_without_pytorch_says_what_is_missing(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'asperity\[train\]'"):
        select(["midas-figure-7"])[0].compute(False, nothing)
