"""Many worlds of the peg's task do what environments of their own do, in every way of resetting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import asperity as asp

gym = pytest.importorskip("gymnasium", reason="needs gymnasium, of the [rl] or [assets] extra")

from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

from asperity.envs import PegInHoleEnv, PegInHoleVectorEnv  # noqa: E402

WORLDS, STEPS = 4, 26
# Short episodes: a way of 33 mm, of which a step at the largest speed is 3 mm.
OPTIONS: dict[str, Any] = {
    "max_steps": 14,
    "lowest": 0.002,
    "highest": 0.004,
    "spread": 0.001,
    "depth": 0.01,
}


def assert_same(one: Any, other: Any) -> None:
    """Equal infos, arrays and dictionaries in them included."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, np.ndarray) and one.dtype == object:
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_worlds_are_environments_of_their_own(mode: AutoresetMode) -> None:
    native = PegInHoleVectorEnv(WORLDS, autoreset_mode=mode, **OPTIONS)
    single = SyncVectorEnv([lambda: PegInHoleEnv(**OPTIONS)] * WORLDS, autoreset_mode=mode)
    assert native.metadata["autoreset_mode"] is mode
    assert native.observation_space == single.observation_space
    assert native.action_space == single.action_space
    found, expected = native.reset(seed=3), single.reset(seed=3)
    np.testing.assert_array_equal(found[0], expected[0])
    random = np.random.default_rng(0)
    ends = [0, 0]
    for _ in range(STEPS):
        actions = random.uniform(-1, 1, (WORLDS, 3)).astype(np.float32)
        actions[:, :2] *= 0.2
        actions[: WORLDS // 2, 2] = -1.0  # these succeed
        found, expected = native.step(actions), single.step(actions)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
        _, _, ended, cut, _ = found
        ends[0] += int(ended.sum())
        ends[1] += int(cut.sum())
        over = ended | cut
        if mode is AutoresetMode.DISABLED and np.any(over):
            options = {"reset_mask": over}
            again = native.reset(options=dict(options)), single.reset(options=dict(options))
            np.testing.assert_array_equal(again[0][0], again[1][0])
    assert min(ends) > 0  # some have ended in each way


def test_threads_make_no_difference() -> None:
    actions = np.random.default_rng(2).uniform(-1, 1, (10, 6, 3)).astype(np.float32)
    runs = []
    for threads in (1, 3):
        env = PegInHoleVectorEnv(6, threads=threads)
        env.reset(seed=1)
        runs.append(np.array([env.step(a)[0] for a in actions]))
    np.testing.assert_array_equal(*runs)
    assert len({row.tobytes() for row in runs[0][-1]}) == 6


def test_made_by_name() -> None:
    env = gym.make_vec("asperity/PegInHoleTight-v0", num_envs=3)
    assert isinstance(env.unwrapped, PegInHoleVectorEnv)
    assert env.unwrapped.task.margin == 1e-4
    assert env.unwrapped.autoreset_mode is AutoresetMode.NEXT_STEP
    first, _ = env.reset(seed=[5, 6, 5])
    np.testing.assert_array_equal(first[0], first[2])
    assert np.any(first[0] != first[1])
    same = gym.make_vec("asperity/PegInHole-v0", 2, autoreset_mode="SameStep", max_steps=7)
    assert same.unwrapped.autoreset_mode is AutoresetMode.SAME_STEP
    assert same.unwrapped.task.max_steps == 7
    single = gym.make_vec("asperity/PegInHole-v0", 2, "sync")
    assert isinstance(single, SyncVectorEnv)


def test_wrong_calls() -> None:
    env = PegInHoleVectorEnv(2, autoreset_mode="Disabled", max_steps=1)
    with pytest.raises(asp.ArgumentError, match="world 0 is over or has not begun"):
        env.step(np.zeros((2, 3), np.float32))
    env.reset(seed=0)
    with pytest.raises(asp.ArgumentError, match=r"shape \(2, 3\), got \(3,\)"):
        env.step(np.zeros(3, np.float32))
    bad = np.zeros((2, 3), np.float32)
    bad[1, 2] = np.inf
    time = env.batch.time.copy()
    with pytest.raises(asp.ArgumentError, match=r"must be finite, got inf at \[1, 2\]"):
        env.step(bad)
    np.testing.assert_array_equal(env.batch.time, time)
    env.step(np.zeros((2, 3), np.float32))
    env.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(asp.ArgumentError, match="world 1 is over"):
        env.step(np.zeros((2, 3), np.float32))
    with pytest.raises(asp.ArgumentError, match="must be 2 seeds"):
        env.reset(seed=[1])
    for mask in (np.zeros(2, bool), np.ones(3, bool), np.ones(2)):
        with pytest.raises(asp.ArgumentError, match="reset_mask must be truth values"):
            env.reset(options={"reset_mask": mask})
