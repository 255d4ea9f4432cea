"""Many worlds of Gymnasium's robots do what its environments do with Asperity's step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import asperity as asp

gym = pytest.importorskip("gymnasium", reason="needs gymnasium, of the [rl] or [assets] extra")
pytest.importorskip("gymnasium.envs.mujoco.mujoco_rendering", reason="needs the package mujoco")

from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

from asperity.envs import ArrayTask, Outcome, RobotVectorEnv, with_asperity  # noqa: E402

WORLDS = 3
# A few seconds in which robots fall.
OPTIONS: dict[str, dict[str, Any]] = {
    "Ant-v5": {"healthy_z_range": (0.6, 1.0)},
    "HalfCheetah-v5": {},
    "Hopper-v5": {},
    "Humanoid-v5": {"healthy_z_range": (1.36, 2.0)},
    "Walker2d-v5": {"healthy_z_range": (1.18, 2.0)},
}
INTEGRATORS = {"Icf": asp.Icf(time_step=5e-3), "Cenic": asp.Cenic(accuracy=1e-2)}


def same(found: Any, expected: Any) -> None:
    """Equal but for rounding, of what Gymnasium finds in single precision."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            same(found[key], expected[key])
    elif expected.dtype == object:
        for one, other in zip(found, expected, strict=True):
            assert (one is None) == (other is None)
            np.testing.assert_allclose(
                np.array(one, float), np.array(other, float), rtol=1e-6, atol=1e-6
            )
    else:
        assert found.dtype.kind == expected.dtype.kind
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("name", list(OPTIONS))
def test_worlds_are_environments_of_their_own(name: str, mode: AutoresetMode) -> None:
    integrator = INTEGRATORS["Cenic" if mode is AutoresetMode.SAME_STEP else "Icf"]
    options = OPTIONS[name]
    many = RobotVectorEnv(
        name, WORLDS, integrator=integrator, autoreset_mode=mode, max_episode_steps=25, **options
    )
    one = SyncVectorEnv(
        [
            lambda: with_asperity(
                gym.make(name, max_episode_steps=25, **options), integrator=integrator
            )
        ]
        * WORLDS,
        autoreset_mode=mode,
    )
    assert many.single_observation_space == one.single_observation_space
    assert many.single_action_space == one.single_action_space
    found, expected = many.reset(seed=5), one.reset(seed=5)
    np.testing.assert_array_equal(found[0], expected[0])
    same(found[1], expected[1])
    random, ended, cut = np.random.default_rng(1), 0, 0
    size, largest = many.single_action_space.shape, many.single_action_space.high.max()
    for _ in range(40):
        action = random.uniform(-largest, largest, (WORLDS, *size)).astype(np.float32)
        found, expected = many.step(action), one.step(action)
        np.testing.assert_array_equal(found[0], expected[0])
        for ours, theirs in zip(found[1:], expected[1:], strict=True):
            same(ours, theirs)
        ended, cut = ended + int(found[2].sum()), cut + int(found[3].sum())
    assert cut > 0 if name == "HalfCheetah-v5" else ended > 0


@pytest.mark.parametrize("name", ["Hopper-v5", "PegInHole-v0"])
def test_a_number_of_worlds_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(asp.ArgumentError, match="num_envs must be a positive whole number, got 0"):
        gym.make_vec(f"asperity/{name}", num_envs=0)


def test_made_by_name() -> None:
    env = gym.make_vec("asperity/Hopper-v5", num_envs=2, integrator=INTEGRATORS["Icf"])
    assert isinstance(env.unwrapped, RobotVectorEnv)
    single = gym.make("asperity/Hopper-v5", integrator=INTEGRATORS["Icf"])
    first, _ = single.reset(seed=3)
    np.testing.assert_array_equal(env.reset(seed=3)[0][0], first)
    action = np.array([0.5, -0.5, 0.2], np.float32)
    np.testing.assert_array_equal(env.step(np.tile(action, (2, 1)))[0][0], single.step(action)[0])


class Upright(ArrayTask):
    """A pendulum on a cart that is to stay upright."""

    def observation(self, worlds: asp.Batch) -> np.ndarray:
        return np.hstack([worlds.qpos, worlds.qvel])

    def outcome(self, worlds: asp.Batch, before: np.ndarray, action: np.ndarray) -> Outcome:
        fallen = np.abs(worlds.qpos[:, 1]) > 0.2
        turned = np.abs(worlds.qpos[:, 1] - before[:, 1])
        return Outcome(1.0 * ~fallen, fallen, np.zeros_like(fallen), {"turned": turned})


def test_a_task_of_a_user() -> None:
    env = RobotVectorEnv("InvertedPendulum-v5", 4, task=Upright(), integrator=INTEGRATORS["Icf"])
    single = with_asperity(gym.make("InvertedPendulum-v5"), integrator=INTEGRATORS["Icf"])
    np.testing.assert_array_equal(env.reset(seed=8)[0][0], single.reset(seed=8)[0])
    over = np.zeros(4, bool)
    for _ in range(60):
        found = env.step(np.full((4, 1), 1.0, np.float32))
        expected = single.step(np.array([1.0], np.float32))
        if not over[0]:
            np.testing.assert_array_equal(found[0][0], expected[0])
            assert (found[1][0], found[2][0]) == (expected[1], expected[2])
        over |= found[2]
    assert over.all()


def test_what_is_refused() -> None:
    with pytest.raises(asp.ArgumentError, match=r"InvertedPendulumEnv of .* has no observation"):
        RobotVectorEnv("InvertedPendulum-v5")
    with pytest.raises(asp.ArgumentError, match=r"AntEnv of .* has no observation"):
        RobotVectorEnv("Ant-v4")
    with pytest.raises(asp.ArgumentError, match="frame_skip has no effect"):
        RobotVectorEnv(gym.make("Hopper-v5"), 2, frame_skip=3)
    scaled = gym.wrappers.RescaleAction(gym.make("Hopper-v5"), -0.5, 0.5)
    with pytest.raises(asp.ArgumentError, match="RescaleAction would have no effect"):
        RobotVectorEnv(scaled, 2)
    with pytest.raises(asp.ArgumentError, match="MujocoEnv or its name"):
        RobotVectorEnv(gym.make("CartPole-v1"), 2)
    stepping = with_asperity(gym.make("Hopper-v5"))
    with pytest.raises(asp.ArgumentError, match="steps with Asperity already"):
        RobotVectorEnv(stepping, 2)
    with pytest.raises(asp.ArgumentError, match=r"observes the shape \(4,\)"):
        RobotVectorEnv("HalfCheetah-v5", 2, task=_Short())


class _Short(Upright):
    def observation(self, worlds: asp.Batch) -> np.ndarray:
        return worlds.qpos[:, :4]
