"""A gripper learns to insert a peg with Ray's RLlib: ``python examples/train_rllib.py``.

Needs the extra ``rllib`` (``pip install -e ".[rllib]"``). Every runner of environments, which on a
cluster are processes of any of its machines, steps many worlds at once, by one call of compiled
code: the vector environment ``asperity/PegInHole-v0``. Proximal policy optimization learns from
what they bring. Observations are given in centimetres from the funnel's throat, since a network
hardly tells positions in metres apart.
"""

from __future__ import annotations

import argparse
import math
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.wrappers.vector import TransformObservation
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.tune.registry import register_env

import asperity.envs

# The name by which runners find it, wherever they are.
NAME = "peg-in-hole"
MIDDLE = np.array([0.0, 0.0, 0.06])  # [m], throat of the funnel


class Iteration(NamedTuple):
    """What an iteration has brought."""

    steps: int
    """Of all worlds together, so far."""
    reward: float
    """Mean of the latest episodes; NaN before one has ended."""
    length: float
    """Their mean length, in steps; an episode that is inserted is shorter than 100."""


def make_worlds(config: dict[str, Any]) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Worlds of a runner, which tells their number; the rest are options of the environment."""
    options = dict(config)
    worlds = asperity.envs.PegInHoleVectorEnv(options.pop("num_envs"), **options)
    space = gymnasium.spaces.Box(-np.inf, np.inf, worlds.observation_space.shape, np.float32)
    single = worlds.single_observation_space
    return TransformObservation(
        worlds,
        lambda positions: (100.0 * (positions - MIDDLE)).astype(np.float32),
        observation_space=space,
        single_observation_space=single,
    )


def configure(
    runners: int = 0, worlds: int = 8, batch: int = 2048, seed: int = 0, **options: Any
) -> PPOConfig:
    """Settings of the algorithm; without runners, the process itself steps the worlds."""
    return (
        PPOConfig()
        .environment(NAME, env_config=options)
        .env_runners(
            num_env_runners=runners,
            num_envs_per_env_runner=worlds,
            gym_env_vectorize_mode="vector_entry_point",
            rollout_fragment_length="auto",
        )
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[64, 64], vf_share_layers=False))
        .training(
            gamma=0.99,
            lambda_=0.97,
            lr=1e-3,
            train_batch_size_per_learner=batch,
            minibatch_size=min(256, batch),
            num_epochs=10,
            clip_param=0.2,
            # Rewards of an episode go up to a hundred.
            vf_clip_param=1e4,
        )
        .debugging(seed=seed, log_level="ERROR")
    )


def run(iterations: int = 12, **settings: Any) -> list[Iteration]:
    """Train, and tell what every iteration has brought."""
    register_env(NAME, make_worlds)
    algorithm = configure(**settings).build_algo()
    found = []
    try:
        for _ in range(iterations):
            report = algorithm.train()["env_runners"]
            found.append(
                Iteration(
                    int(report["num_env_steps_sampled_lifetime"]),
                    float(report.get("episode_return_mean", math.nan)),
                    float(report.get("episode_len_mean", math.nan)),
                )
            )
            print("{:7d} steps: mean reward {:6.1f}, {:5.1f} steps an episode".format(*found[-1]))
    finally:
        algorithm.stop()
    return found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=12, help="of 2048 steps each")
    parser.add_argument("--runners", type=int, default=0, help="processes that step worlds")
    parser.add_argument("--worlds", type=int, default=8, help="of each of them")
    chosen = parser.parse_args()
    run(chosen.iterations, runners=chosen.runners, worlds=chosen.worlds)


if __name__ == "__main__":
    main()
