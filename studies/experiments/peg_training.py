"""Training of the peg's policy by trust region policy optimization (extra ``train``).

TRPO (Schulman et al. 2015) is that of sb3-contrib. The paper's settings are not given; ours are
here, with which Midas learns in less than ten iterations.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

from asperity.envs.peg_in_hole import PegEnv
from asperity.errors import ArgumentError, MissingExtra
from studies.experiments.runs import Progress

__all__ = ["Episodes", "MakeEnv", "Training", "load", "run_episodes", "train", "vector_of"]

Floats = NDArray[np.float64]
MakeEnv = Callable[[int], VectorEnv[Any, Any, Any]]
"""Makes so many worlds, which are reset in the step in which an episode ends."""

# Of the agent and of its iterations: worlds, steps of all of them together, samples of a batch.
WORLDS, STEPS, BATCH = 8, 1024, 128
LAYERS = (64, 64)
"""Hidden layers; with that of the actions, three."""
TESTS = 10
"""Starts on which the policy is tested after every iteration, always the same."""
_FIRST_TEST = 1000  # seed
GAMMA, LAMBDA, DIVERGENCE = 0.99, 0.97, 0.03  # largest divergence of a step
NOISE = -0.5
"""Logarithm of the first standard deviation of actions."""
SETTINGS = (WORLDS, STEPS, BATCH, LAYERS, TESTS, GAMMA, LAMBDA, DIVERGENCE, NOISE)
"""All of them."""


@dataclass(frozen=True)
class Episodes:
    """Episodes of a policy, one of every start."""

    reward: Floats
    """Sum, shape (n,)."""
    success: NDArray[np.bool_]
    """Shape (n,)."""
    position: Floats
    """Of the peg's middle at the end [m], shape (n, 3)."""


@dataclass(frozen=True)
class Training:
    """A training."""

    reward: Floats
    """Mean of the tests after every iteration, shape (n,)."""
    success: Floats
    """Share of the tests after every iteration, shape (n,)."""
    policy: bytes
    """At the end, as stable-baselines3 saves it."""

    @property
    def first_above(self) -> float:
        """First iteration after which more than 90 % succeed; NaN if there is none."""
        found = np.flatnonzero(self.success > 0.9)
        return float(found[0] + 1) if len(found) else float("nan")


def vector_of(make: Callable[[], PegEnv]) -> MakeEnv:
    """Worlds of a single environment, one after the other."""
    return lambda count: SyncVectorEnv([make] * count, autoreset_mode=AutoresetMode.SAME_STEP)


def train(
    make: MakeEnv,
    seed: int,
    iterations: int,
    progress: Progress = lambda share: None,
    tests: int = TESTS,
) -> Training:
    """Train a policy and test it after every iteration, without the noise of exploration.

    Parameters
    ----------
    make : callable
        See `MakeEnv`.
    seed : int
        Of starts, weights and exploration.
    iterations : int
        Each of 1024 steps in 8 worlds together.
    progress : callable, optional
    tests : int
        Episodes per test.

    Raises
    ------
    ArgumentError
        If sb3-contrib is not installed.
    """
    TRPO, torch = _trpo()
    from asperity.envs.sb3 import Sb3VecEnv
    from studies.experiments.peg_network import Centimetres

    threads = torch.get_num_threads()
    # Small networks are slower in threads, and two trainings at once much slower.
    torch.set_num_threads(1)
    training, testing = Sb3VecEnv(make(WORLDS)), make(tests)
    try:
        agent = TRPO(
            "MlpPolicy",
            training,
            n_steps=STEPS // WORLDS,
            batch_size=BATCH,
            gamma=GAMMA,
            gae_lambda=LAMBDA,
            target_kl=DIVERGENCE,
            seed=seed,
            device="cpu",
            policy_kwargs={
                "net_arch": list(LAYERS),
                "log_std_init": NOISE,
                "features_extractor_class": Centimetres,
            },
        )
        rewards, successes = [], []

        def show(*_: Any) -> bool:
            """Tell how far it is, and go on; an interrupt comes out of here."""
            progress(min(1.0, agent.num_timesteps / (STEPS * iterations)))
            return True

        for _ in range(iterations):
            agent.learn(STEPS, callback=show, reset_num_timesteps=False)
            found = run_episodes(agent, testing, range(_FIRST_TEST, _FIRST_TEST + tests))
            rewards.append(float(found.reward.mean()))
            successes.append(float(found.success.mean()))
            show()
        file = io.BytesIO()
        agent.save(file)
    finally:
        training.close()
        testing.close()
        torch.set_num_threads(threads)
    return Training(np.array(rewards), np.array(successes), file.getvalue())


def load(policy: bytes) -> Any:
    """The agent that was saved.

    Raises
    ------
    ArgumentError
        If sb3-contrib is not installed.
    """
    TRPO, _ = _trpo()
    return TRPO.load(io.BytesIO(policy), device="cpu")


def run_episodes(agent: Any, env: VectorEnv[Any, Any, Any], seeds: Sequence[int]) -> Episodes:
    """One episode in each world of an environment, without the noise of exploration.

    Parameters
    ----------
    agent
        Of stable-baselines3.
    env : gymnasium.vector.VectorEnv
        Of as many worlds as there are seeds.
    seeds : sequence of int
        Of the starts.
    """
    count = env.num_envs
    if len(seeds) != count:
        raise ArgumentError(f"there are {len(seeds)} seeds for {count} worlds.")
    numbers: Any = list(seeds)  # of every world, which Gymnasium's types leave out
    observation, _ = env.reset(seed=numbers)
    reward, success = np.zeros(count), np.zeros(count, bool)
    position, running = np.zeros((count, 3)), np.ones(count, bool)
    while np.any(running):
        action, _ = agent.predict(observation, deterministic=True)
        # Those that have come to their end wait for the others.
        observation, gain, ended, cut, infos = env.step(np.where(running[:, None], action, 0.0))
        reward[running] += gain[running]
        for i in np.flatnonzero(running & (ended | cut)):
            success[i] = ended[i]
            position[i] = infos["final_obs"][i]
            running[i] = False
    return Episodes(reward, success, position)


def _trpo() -> tuple[Any, Any]:
    try:
        import torch
        from sb3_contrib import TRPO
    except ImportError:
        raise MissingExtra(
            "Training needs sb3-contrib and PyTorch, which are not installed; "
            "pip install 'asperity[train]'."
        ) from None
    return TRPO, torch
