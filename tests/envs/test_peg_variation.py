"""Pegs that differ from episode to episode are the pegs that their numbers say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs gymnasium, of the [rl] or [assets] extra")

from gymnasium.vector import AutoresetMode, SyncVectorEnv

from asperity.envs import PegInHoleEnv, PegInHoleVectorEnv, PegTask, PegVariation
from asperity.envs.peg_variation import turned
from asperity.errors import ArgumentError

ALL = PegVariation(friction=(0.05, 0.2), mass=(0.5, 2.0), margin=(1e-4, 5e-4), tilt=(-0.02, 0.02))
# Short episodes, as in the tests of vectors of environments.
OPTIONS: dict[str, Any] = {"max_steps": 14, "lowest": 0.002, "highest": 0.004, "spread": 0.001}


def test_worlds_are_environments_of_their_own() -> None:
    count, mode = 3, AutoresetMode.SAME_STEP
    native = PegInHoleVectorEnv(count, variation=ALL, autoreset_mode=mode, **OPTIONS)
    single = SyncVectorEnv(
        [lambda: PegInHoleEnv(variation=ALL, **OPTIONS)] * count, autoreset_mode=mode
    )
    found, expected = native.reset(seed=3), single.reset(seed=3)
    drawn = []
    for _ in range(32):
        np.testing.assert_array_equal(found[0], expected[0])
        for name, (low, high) in ALL.ranges.items():
            np.testing.assert_array_equal(found[-1].get(name), expected[-1].get(name))
            if name in found[-1]:
                own = found[-1][name][found[-1][f"_{name}"]]
                assert np.all((low <= own) & (own <= high))
                drawn += own.tolist()
        actions = np.tile(np.float32([0.1, -0.2, -1.0]), (count, 1))
        found, expected = native.step(actions), single.step(actions)
    assert len(set(drawn)) == len(drawn) == 4 * 3 * count


def end_of(env: PegInHoleEnv, seed: int) -> list[np.ndarray]:
    """A rule that goes into the hole and presses the peg aside."""
    observation, _ = env.reset(seed=seed)
    way, over = [observation], False
    while not over:
        aim = 5e-3 if observation[2] < 0.06 else 0.0
        action = [50.0 * (aim - observation[0]), -50.0 * observation[1], -0.6]
        observation, _, success, cut, _ = env.step(np.array(action, np.float32))
        way.append(observation)
        over = success or cut
    assert success
    return way


@pytest.mark.parametrize(
    "numbers", [{"margin": 2e-4}, {"friction": 0.25}, {"tilt": 0.015}], ids=lambda d: next(iter(d))
)
def test_a_peg_is_that_of_a_task_with_its_number(numbers: dict[str, float]) -> None:
    """Ways are the same but for what the first one has gone through while it was another one."""
    ((name, value),) = numbers.items()
    variation = PegVariation(**{name: (value, value)})
    varied = PegInHoleEnv(variation=variation)
    # Of one activation distance, which the way depends on.
    task = PegTask(**numbers)
    other = PegInHoleEnv(integrator=task.integrator(), **numbers)
    plain = PegInHoleEnv(integrator=task.integrator())
    # Draws of a variation come after those of starts, which are the same.
    found, expected, usual = (end_of(env, 4) for env in (varied, other, plain))
    np.testing.assert_allclose(found[0], expected[0], atol=1e-5)
    assert abs(len(found) - len(expected)) <= 1
    if name == "margin":
        # Before the jaws come to the funnel, which then may centre them.
        aside = [np.hypot(*way[-4][:2]) for way in (found, expected, usual)]
        assert 0.7 * value < aside[0] < value
        assert aside[0] == pytest.approx(aside[1], abs=2e-6)
        assert aside[2] > 0.7 * plain.task.margin
    elif name == "friction":
        np.testing.assert_allclose(found[20], expected[20], atol=1e-5)
    else:
        model = varied.simulator.model
        at, _ = varied.task.addresses(model)
        for env in (varied, other):
            env.reset(seed=4)
        np.testing.assert_allclose(varied.positions()[at:], other.positions()[at:], atol=2e-5)


def test_masses_are_those_of_the_model() -> None:
    env = PegInHoleEnv(variation=PegVariation(mass=(2.0, 2.0)))
    before = env.task.scene.model()
    env.reset(seed=0)
    after, peg = env.simulator.model, before.body("peg").id
    assert after.body_mass[peg] == pytest.approx(2.0 * before.body_mass[peg])
    assert after.body_inertia[peg] == pytest.approx(2.0 * before.body_inertia[peg])
    assert after.body_subtreemass[0] == pytest.approx(
        before.body_subtreemass[0] + before.body_mass[peg]
    )


def test_turns() -> None:
    """Of an upright frame about x, and back."""
    quarter = turned(np.array([1.0, 0.0, 0.0, 0.0]), 0.5 * np.pi)
    np.testing.assert_allclose(quarter, [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0], atol=1e-15)
    start = np.array([[0.5, 0.5, -0.5, 0.5], [0.0, 0.6, 0.8, 0.0]])
    there = turned(start, np.array([0.3, -1.0]))
    np.testing.assert_allclose(turned(there, np.array([-0.3, 1.0])), start, atol=1e-15)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"friction": (0.2, 0.1)}, "friction of a variation must be two finite numbers in order"),
        ({"mass": (0.0, 1.0)}, "mass of a variation must be positive"),
        ({"margin": (1e-4, np.inf)}, "margin of a variation must be two finite numbers"),
        ({"tilt": 0.1}, "tilt of a variation must be two finite numbers"),
    ],
)
def test_impossible_variations(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        PegVariation(**options)


def test_what_is_no_variation() -> None:
    with pytest.raises(ArgumentError, match="variation must be a PegVariation, got 3"):
        PegInHoleEnv(variation=3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="segments must be larger"):
        PegInHoleEnv(variation=PegVariation(margin=(1e-6, 1e-4)))
