"""Vector environments as stable-baselines3's, and what learning is tested by (extra ``train``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import asperity as asp

pytest.importorskip("stable_baselines3", reason="needs the [train] extra")

import gymnasium as gym
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from asperity.envs import PegInHoleEnv, PegInHoleVectorEnv, Sb3VecEnv, with_asperity

pytestmark = pytest.mark.extras

OPTIONS: dict[str, Any] = {"max_steps": 10, "lowest": 0.002, "highest": 0.004, "spread": 0.001}


def test_worlds_are_those_of_stable_baselines() -> None:
    native = Sb3VecEnv("asperity/PegInHole-v0", num_envs=3, **OPTIONS)
    assert isinstance(native.env.unwrapped, PegInHoleVectorEnv)
    dummy = DummyVecEnv([lambda: Monitor(PegInHoleEnv(**OPTIONS))] * 3)
    for env in (native, dummy):
        env.seed(4)
    np.testing.assert_array_equal(native.reset(), dummy.reset())
    random = np.random.default_rng(1)
    ends = 0
    for _ in range(25):
        actions = random.uniform(-0.3, 0.3, (3, 3)).astype(np.float32)
        actions[0, 2] = -1.0
        found, expected = native.step(actions), dummy.step(actions)
        for one, other in zip(found[:3], expected[:3], strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
        for one, other in zip(found[3], expected[3], strict=True):
            assert one["is_success"] == other["is_success"]
            assert one.get("TimeLimit.truncated", False) == other["TimeLimit.truncated"]
            assert ("episode" in one) == ("episode" in other)
            if "episode" in one:
                ends += 1
                assert one["episode"]["l"] == other["episode"]["l"]
                assert one["episode"]["r"] == pytest.approx(other["episode"]["r"], abs=1e-5)
                last = one["terminal_observation"]
                np.testing.assert_array_equal(last, other["terminal_observation"])
    assert ends > 5


def test_attributes_and_methods() -> None:
    native = Sb3VecEnv("asperity/PegInHole-v0", num_envs=2)
    assert [task.margin for task in native.get_attr("task")] == [5e-4, 5e-4]
    assert len(native.get_attr("task", indices=0)) == 1
    assert not native.has_attr("colour")
    native.set_attr("note", 7)
    assert native.get_attr("note") == [7, 7]
    with pytest.raises(asp.ArgumentError, match="the same in all worlds"):
        native.set_attr("note", 8, indices=[0])
    assert native.env_is_wrapped(Monitor) == [True, True]
    assert native.env_is_wrapped(gym.wrappers.TimeLimit, indices=[1]) == [False]
    single = SyncVectorEnv([PegInHoleEnv] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    both = Sb3VecEnv(single)
    both.set_attr("note", 8, indices=[1])
    assert both.get_attr("note") == [None, 8]
    assert both.env_method("position", indices=[0])[0].shape == (3,)
    assert len(both.reset_infos) == 2


def test_what_does_not_fit() -> None:
    with pytest.raises(asp.ArgumentError, match="reset in the step in which"):
        Sb3VecEnv(gym.make_vec("CartPole-v1", 2, "sync"))
    with pytest.raises(
        asp.ArgumentError, match="a name or a gymnasium VectorEnv, got PegInHoleEnv"
    ):
        Sb3VecEnv(PegInHoleEnv())  # type: ignore[arg-type]
    carts = gym.make_vec(
        "CartPole-v1", 2, "sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP}
    )
    with pytest.raises(asp.ArgumentError, match="apply only if env is a name"):
        Sb3VecEnv(carts, margin=1e-4)
    assert Sb3VecEnv(carts).num_envs == 2
    assert Sb3VecEnv("CartPole-v1", 3).reset().shape == (3, 4)


def test_an_agent_learns_what_it_learns_in_worlds_of_stable_baselines() -> None:
    from stable_baselines3 import PPO

    found = []
    for worlds in (
        Sb3VecEnv("asperity/PegInHole-v0", num_envs=2, **OPTIONS),
        DummyVecEnv([lambda: Monitor(PegInHoleEnv(**OPTIONS))] * 2),
    ):
        env = VecNormalize(worlds)
        agent = PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu")
        first = [one.detach().clone() for one in agent.policy.parameters()]
        agent.learn(128)
        weights = [one.detach().numpy() for one in agent.policy.parameters()]
        assert any(
            np.abs(one - other.numpy()).max() > 1e-4
            for one, other in zip(weights, first, strict=True)
        )
        assert agent.ep_info_buffer is not None
        episodes = [(one["l"], one["r"]) for one in agent.ep_info_buffer]
        assert len(episodes) >= 8
        assert len(agent.ep_success_buffer or ()) == len(episodes)
        # Without a warning that there is no Monitor.
        rewards = evaluate_policy(agent, env, n_eval_episodes=4, return_episode_rewards=True)
        found.append((weights, np.array(episodes), np.array(rewards)))
    (weights, *numbers), (expected, *expected_numbers) = found
    for one, other in zip(weights, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
    for one, other in zip(numbers, expected_numbers, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_trpo_learns_the_task_as_figure_7_shows() -> None:
    pytest.importorskip("sb3_contrib")
    from studies.experiments.peg_figures import MARGIN, outside
    from studies.experiments.peg_runs import test_policy, worlds
    from studies.experiments.peg_training import load, train

    found = train(worlds("Midas", MARGIN), seed=0, iterations=6)
    assert found.success[0] < 0.2
    assert found.success[-1] > 0.9
    assert found.reward[-1] > found.reward[0] + 30.0
    tests = test_policy(load(found.policy), "Midas", MARGIN, 20, lambda share: None)
    assert tests.success.mean() > 0.9
    assert outside(tests.position[tests.success], MARGIN) == 0.0


@pytest.mark.slow
def test_commands_from_end_to_end(monkeypatch: Any, tmp_path: Any, capsys: Any) -> None:
    """A hardly trained policy is enough for every line and file of the figures."""
    pytest.importorskip("sb3_contrib")
    from asperity.cli import main
    from studies.experiments import peg_figures, peg_policies, peg_runs, peg_training, peg_transfer

    monkeypatch.setattr(peg_training, "STEPS", 64)
    monkeypatch.setattr(peg_training, "BATCH", 32)
    monkeypatch.setattr(peg_training, "TESTS", 2)
    monkeypatch.setattr(peg_runs, "_AT_ONCE", 2)
    monkeypatch.setattr(peg_figures, "_TESTS", 2)
    monkeypatch.setattr(peg_figures, "_EACH", (1, 1))
    monkeypatch.setattr(peg_transfer, "_EACH", (2, 2))
    monkeypatch.setattr(peg_transfer, "_USUAL", ("Midas",))
    monkeypatch.setattr(peg_transfer, "_PEGS", peg_transfer._PEGS[-1:])
    monkeypatch.setenv("COLUMNS", "200")
    kept = tmp_path / "kept"
    names = [f"midas-{name}" for name in ("figure-7", "figure-8", "figure-9", "harder-task")]
    short = ["--seeds", "1", "--iterations", "1", "--policies", str(kept)]
    engines = ["--engine", "midas", "--out", str(tmp_path)]
    assert main(["reproduce", *names, *short, *engines]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Midas: success after 1 iterations, 1 seed" in shown
    assert len(list(kept.iterdir())) == 2
    monkeypatch.setattr(peg_policies, "_TRAINED", {})
    randomised = ["--engine", "midas, randomised", *engines]
    transfers = ["midas-transfer", "midas-other-pegs"]
    assert main(["reproduce", *transfers, *short, *randomised]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "from Midas, randomised in Midas" in shown
    assert "from Midas, randomised in Midas, margin 0.1 mm instead of 0.5 mm" in shown
    assert len(list(kept.iterdir())) == 3
    for name in (*names, *transfers):
        assert (tmp_path / f"{name}.csv").stat().st_size > 0
        assert (tmp_path / f"{name}.png").stat().st_size > 0
    agent = peg_training.load((tmp_path / "midas-figure-7-midas.zip").read_bytes())
    assert agent.predict(np.zeros(3, np.float32))[0].shape == (3,)


def test_named_environments_of_mujoco_step_with_asperity() -> None:
    worlds = Sb3VecEnv("Hopper-v5", 2, integrator=asp.Icf(time_step=2e-3))
    worlds.seed(3)
    worlds.reset()
    found = worlds.step(np.full((2, 3), 0.2, np.float32))[0]
    for seed, world in enumerate(found, start=3):
        alone = with_asperity(gym.make("Hopper-v5"), integrator=asp.Icf(time_step=2e-3))
        alone.reset(seed=seed)
        np.testing.assert_array_equal(alone.step(np.full(3, 0.2, np.float32))[0], world)
    with pytest.raises(asp.ArgumentError, match="no model of MuJoCo; omit integrator"):
        Sb3VecEnv("CartPole-v1", 2, integrator=asp.Icf(time_step=2e-3))


def test_robots_in_one_batch_are_those_with_an_environment_each() -> None:
    """The same observations, rewards and episodes, with ends by falling and by time."""
    options: dict[str, Any] = {"integrator": asp.Icf(time_step=5e-3), "max_episode_steps": 12}
    height = {"healthy_z_range": (0.5, 1.0)}
    batch = Sb3VecEnv("asperity/Ant-v5", 3, **options, **height)
    dummy = DummyVecEnv([lambda: Monitor(_ant(options, height))] * 3)
    for env in (batch, dummy):
        env.seed(4)
    np.testing.assert_array_equal(batch.reset(), dummy.reset())
    random, episodes = np.random.default_rng(1), []
    for _ in range(45):
        actions = random.uniform(-1.0, 1.0, (3, 8)).astype(np.float32)
        found, expected = batch.step(actions), dummy.step(actions)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(found[2], expected[2])
        for one, other in zip(found[3], expected[3], strict=True):
            assert one.get("TimeLimit.truncated", False) == other["TimeLimit.truncated"]
            assert ("episode" in one) == ("episode" in other)
            if "episode" in one:
                episodes.append(one["episode"]["l"])
                assert one["episode"]["l"] == other["episode"]["l"]
                assert one["episode"]["r"] == pytest.approx(other["episode"]["r"], abs=1e-4)
                last = one["terminal_observation"]
                np.testing.assert_array_equal(last, other["terminal_observation"])
    assert 12 in episodes
    assert min(episodes) < 12


def _ant(options: dict[str, Any], height: dict[str, Any]) -> gym.Env:
    made = gym.make("Ant-v5", max_episode_steps=options["max_episode_steps"], **height)
    return with_asperity(made, integrator=options["integrator"])
