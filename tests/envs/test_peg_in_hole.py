"""``asperity/PegInHole-v0``: nothing ever intersects, episodes are reproducible, checkers pass."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import sys
import warnings
from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp

gym = pytest.importorskip("gymnasium", reason="needs gymnasium, of the [rl] or [assets] extra")

import asperity.envs  # noqa: E402
from asperity.envs import PegInHoleEnv  # noqa: E402
from asperity.errors import MissingExtra  # noqa: E402
from asperity.scenes.peg_in_hole import PegScene  # noqa: E402

NAMES = ("asperity/PegInHole-v0", "asperity/PegInHoleTight-v0")
DOWN = np.array([0.0, 0.0, -1.0], np.float32)


def episode(env: Any, seed: int, steps: int = 60, towards: float = -0.4) -> list[np.ndarray]:
    """Observations of random actions with a drift."""
    random = np.random.default_rng(seed)
    found = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        action = random.normal((0.0, 0.0, towards), 0.5)
        observation, _, terminated, truncated, _ = env.step(action.astype(np.float32))
        found.append(observation)
        if terminated or truncated:
            break
    return found


def test_all_that_is_installed_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = asperity.envs.__spec__
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "stable_baselines3", None)
        patch.setattr(gym, "register", lambda **_: None)
        spec.loader.exec_module(module)
    assert set(asperity.envs.__all__) | {"Sb3VecEnv"} == {*module.__all__, "Sb3VecEnv"}
    assert "Sb3VecEnv" not in module.__all__
    for name in module.__all__:
        assert hasattr(module, name)


def insert(env: Any, seed: int) -> tuple[np.ndarray, float, dict[str, Any]]:
    """An episode of a rule: to the axis, and down."""
    observation, _ = env.reset(seed=seed)
    total = 0.0
    while True:
        action = np.array([*(-50.0 * observation[:2]), -0.6], np.float32)
        observation, reward, terminated, truncated, info = env.step(action)
        total += reward
        if terminated or truncated:
            return observation, total, info


@pytest.mark.parametrize("margin", [5e-4, 1e-4])
def test_nothing_intersects_whatever_the_actions(margin: float) -> None:
    """`ipctk` looks at every state, starts included."""
    pytest.importorskip("ipctk")
    task = asperity.envs.PegTask(margin=margin)
    options = {"time_step": 0.01, "activation_distance": 0.1 * margin, "verify": True}
    env = PegInHoleEnv(margin=margin, integrator=asp.Midas(**options))
    lowest = 1.0
    for seed in range(4):
        towards = (-0.4, -1.0, -0.7, -0.2)[seed]
        found = np.array(episode(env, seed, towards=towards))
        lowest = min(lowest, float(found[:, 2].min()))
        assert env.simulator.clearance > 0.0
    # They did touch: the peg's end was in the funnel.
    assert task.tip(np.array([0.0, 0.0, lowest])) < task.scene.rim - 0.005
    _, _, info = insert(env, 7)
    assert info == {"is_success": True}


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_inserts_the_peg(name: str) -> None:
    env = gym.make(name)
    task = env.unwrapped.task
    for seed in range(3):
        observation, total, info = insert(env, seed)
        assert info["is_success"]
        assert task.tip(observation) <= task.scene.hole_depth - task.depth
        assert np.hypot(*observation[:2]) < task.margin
        # The way down at full speed is worth a third of the steps, success at half the time 50.
        assert 50.0 < total < 100.0 + task.max_steps


@pytest.mark.parametrize(("share", "slides"), [(0.9, True), (1.1, False)])
def test_a_funnel_guides_the_peg_if_the_hand_lets_it(share: float, slides: bool) -> None:
    """On a slope of 45 degrees, F down slides against less than F (1 − μ) / (1 + μ) sideways.

    Against more the peg stands in the funnel, and either way it stays whole in the hand.
    """
    scene, friction = PegScene(), 0.1
    weight = PegInHoleEnv().simulator.model.body("peg").mass[0] * 9.81
    limit = (scene.lift_force + weight) * (1.0 - friction) / (1.0 + friction)
    env = PegInHoleEnv(scene=PegScene(side_force=share * limit), friction=friction)
    observation, _ = env.reset(seed=3)
    for _ in range(60):
        action = np.array([*(50.0 * ([0.012, 0.0] - observation[:2])), -1.0], np.float32)
        observation, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            break
    assert terminated == slides
    tip = env.task.tip(observation)
    assert slides or env.task.scene.hole_depth + 0.002 < tip < env.task.scene.rim
    model, data = env.simulator.model, env.simulator.data
    held = data.body("hand").xpos - data.body("peg").xpos
    start = mujoco.MjData(model)
    mujoco.mj_kinematics(model, start)
    way = start.body("hand").xpos - start.body("peg").xpos
    assert np.linalg.norm(held - way) < 3e-3


def test_episodes_are_reproducible() -> None:
    env = PegInHoleEnv()
    first = episode(env, 5)
    assert not np.array_equal(episode(env, 6)[0], first[0])
    np.testing.assert_array_equal(np.array(episode(env, 5)), np.array(first))
    np.testing.assert_array_equal(np.array(episode(PegInHoleEnv(), 5)), np.array(first))


def test_copies_go_on_by_themselves() -> None:
    env = gym.make(NAMES[0])
    env.reset(seed=2)
    for _ in range(8):
        env.step(DOWN)
    others = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = [env.step(DOWN)[0] for _ in range(5)]
    for other in others:
        np.testing.assert_array_equal([other.step(DOWN)[0] for _ in range(5)], expected)
    # The random numbers of starts, too.
    start, _ = env.reset()
    for other in others:
        np.testing.assert_array_equal(other.reset()[0], start)


@pytest.mark.parametrize("name", NAMES)
def test_gymnasiums_checker(name: str) -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Positions have no bounds.
        warnings.filterwarnings("ignore", message=".*A Box observation space (min|max)imum value")
        check_env(gym.make(name).unwrapped, skip_render_check=True)


@pytest.mark.extras
@pytest.mark.parametrize("name", NAMES)
def test_the_checker_of_stable_baselines(name: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(gym.make(name).unwrapped)


def test_pictures() -> None:
    from asperity.media import MediaError

    env = gym.make(NAMES[0], render_mode="rgb_array")
    env.reset(seed=1)
    try:
        first = env.render()
    except (MediaError, MissingExtra) as error:
        pytest.skip(str(error))
    assert first.shape == (480, 480, 3)
    for _ in range(5):
        env.step(DOWN)
    assert np.any(env.render() != first)
    env.close()


def test_a_failure_ends_the_episode() -> None:
    env = PegInHoleEnv(integrator=asp.Midas(time_step=0.01, max_iterations=2))
    env.reset(seed=1)
    for _ in range(20):
        *_, terminated, truncated, info = env.step(np.array([1.0, 0.5, -1.0], np.float32))
        if truncated:
            break
    assert truncated
    assert not terminated
    assert not info["is_success"]
    assert "iteration limit" in info["failure"]
    # And the next one begins.
    observation, _ = env.reset(seed=1)
    assert np.all(np.isfinite(observation))
    with pytest.raises(asp.SimulationError, match="the jaws did not close: The contact solver"):
        PegInHoleEnv(integrator=asp.Midas(time_step=0.01, max_iterations=1))


def test_wrong_actions_and_options() -> None:
    env = PegInHoleEnv()
    env.reset(seed=1)
    before = env.simulator.time
    with pytest.raises(asp.ArgumentError, match=r"shape \(3,\), got \(2,\)"):
        env.step(np.zeros(2, np.float32))
    with pytest.raises(asp.ArgumentError, match=r"must be finite, got nan at \[1\]"):
        env.step(np.array([0.0, np.nan, 0.0], np.float32))
    assert env.simulator.time == before
    with pytest.raises(asp.ArgumentError, match="render_mode must be"):
        PegInHoleEnv("human")
    with pytest.raises(asp.ArgumentError, match="margin must be positive"):
        gym.make(NAMES[0], margin=-1.0)
    with pytest.raises(TypeError, match="colour"):
        PegInHoleEnv(colour="red")
