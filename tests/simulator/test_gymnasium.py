"""Gymnasium's own environments with `asperity.step` in place of `mj_step` are reproducible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp

gym = pytest.importorskip("gymnasium", reason="needs gymnasium, of the [assets] extra")

ENVIRONMENTS = ("Ant-v5", "Humanoid-v5")


def maker(name: str) -> Callable[[], Any]:
    """A function that makes the environment, in whatever process."""

    def make() -> Any:
        env = gym.make(name)
        base = env.unwrapped

        def step(ctrl: np.ndarray, frames: int) -> None:
            base.data.ctrl[:] = ctrl
            asp.step(base.model, base.data, frames)
            mujoco.mj_rnePostConstraint(base.model, base.data)

        base._step_mujoco_simulation = step
        return env

    return make


def roll_out(env: Any, steps: int = 8, seed: int = 7) -> np.ndarray:
    """Observations of an episode with random actions, from a reset on."""
    observation, _ = env.reset(seed=seed)
    random = np.random.default_rng(seed)
    found = [observation]
    for _ in range(steps):
        size = env.action_space.high.max()
        found.append(env.step(size * random.uniform(-1, 1, env.action_space.shape))[0].copy())
    return np.array(found)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_episode_is_the_same_from_every_reset(name: str) -> None:
    env = maker(name)()
    first = roll_out(env, 20)
    assert not np.array_equal(roll_out(env, 20, seed=8), first)
    np.testing.assert_array_equal(roll_out(env, 20), first)
    np.testing.assert_array_equal(roll_out(maker(name)(), 20), first)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_friction_of_every_step_has_the_bound_that_its_normal_forces_give(name: str) -> None:
    # Bounds that are changed between solves alone did not settle in one step of twenty.
    env = gym.make(name).unwrapped
    sim = asp.Simulator(env.model, integrator=asp.Icf(time_step=1e-2))
    random = np.random.default_rng(0)
    for step in range(300):
        sim.data.ctrl[:] = env.action_space.high.max() * random.uniform(-1, 1, env.model.nu)
        sim.advance_to(1e-2 * (step + 1))
    assert len(sim.contacts) > 0
    assert sim.stats.fallbacks == 0


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_vectors_of_environments_are_reproducible(name: str) -> None:
    both = []
    for kind, count in ((gym.vector.SyncVectorEnv, 18), (gym.vector.AsyncVectorEnv, 2)):
        envs = kind([maker(name)] * count)
        try:
            first = roll_out(envs)
            np.testing.assert_array_equal(roll_out(envs), first)
        finally:
            envs.close()
        both.append(first)
    # Actions are drawn for all at once; the first observations are those of the seeds alone.
    np.testing.assert_array_equal(both[0][0, :2], both[1][0])
    assert len({observation.tobytes() for observation in both[0][-1]}) == 18


@pytest.mark.slow
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_sixty_four_of_them(name: str) -> None:
    found = []
    for kind in (gym.vector.SyncVectorEnv, gym.vector.AsyncVectorEnv):
        envs = kind([maker(name)] * 64)
        try:
            found += [roll_out(envs), roll_out(envs)]
        finally:
            envs.close()
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
