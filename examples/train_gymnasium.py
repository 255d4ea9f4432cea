"""A policy learns to push a puck onto a mark: ``python examples/train_gymnasium.py``.

The environment is Gymnasium's (``pip install gymnasium``): every episode has another distance and
another coefficient of friction, and the one action is the puck's speed. The policy is a power law,
v = exp(w₀ + w₁ ln d + w₂ ln μ), and the cross-entropy method finds its three weights, without any
library for learning. Coulomb knows the answer, v = √(2 μ g d), so that what was learned can be
compared with it.
"""

from __future__ import annotations

import argparse
import math
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import asperity as asp

SCENE = """
<mujoco>
  <worldbody>
    <geom name="table" type="plane" size="9 9 0.1" friction="0"/>
    <body name="puck" pos="0 0 0.02"><freejoint/>
      <geom name="puck" type="cylinder" size="0.05 0.02" mass="0.3"/></body>
  </worldbody>
</mujoco>
"""
COULOMB = np.array([0.5 * math.log(2.0 * 9.81), 0.5, 0.5])
"""Weights of v = √(2 μ g d)."""


class Shuffleboard(gymnasium.Env[np.ndarray, np.ndarray]):
    """Push a puck over a distance; the observation is (distance [m], friction)."""

    observation_space = gymnasium.spaces.Box(0.0, 10.0, (2,), np.float64)
    action_space = gymnasium.spaces.Box(0.0, 10.0, (1,), np.float64)

    def __init__(self, accuracy: float = 1e-3) -> None:
        self.model, _ = asp.load_model(SCENE)
        self.sim = asp.Simulator(self.model, integrator=asp.Cenic(accuracy=accuracy))
        self.rest = self.sim.data.qpos.copy()
        self.task = np.ones(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.task = self.np_random.uniform((0.3, 0.15), (1.2, 0.6))
        # What is written into the model counts from the next step on.
        self.model.geom_friction[:, 0] = self.task[1]
        self.sim.reset()
        return self.task.copy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.sim.data.qvel[0] = float(action[0])
        report = self.sim.advance_to(3.0, on_failure="return")
        error = float(self.sim.data.qpos[0] - self.task[0])
        return self.task.copy(), -abs(error), True, not report.success, {"error": error}


class Learned(NamedTuple):
    """What was learned."""

    weights: np.ndarray
    error: float
    """Mean distance of the puck from the mark, in fresh episodes [m]."""
    first_error: float
    """The same before learning [m]."""
    episodes: int


def _act(weights: np.ndarray, task: np.ndarray) -> np.ndarray:
    speed = math.exp(float(weights @ np.array([1.0, *np.log(task)])))
    return np.array([min(speed, 10.0)])


def _mean_error(env: Shuffleboard, weights: np.ndarray, seeds: range) -> float:
    errors = []
    for seed in seeds:
        task, _ = env.reset(seed=seed)
        _, reward, *_ = env.step(_act(weights, task))
        errors.append(-reward)
    return float(np.mean(errors))


def run(generations: int = 20, population: int = 32, episodes: int = 6, seed: int = 0) -> Learned:
    """Learn by the cross-entropy method."""
    env = Shuffleboard()
    random = np.random.default_rng(seed)
    mean, spread = np.array([0.5, 0.0, 0.0]), np.full(3, 0.6)
    fresh = range(10**6, 10**6 + 50)
    first = _mean_error(env, mean, fresh)
    for generation in range(generations):
        candidates = mean + spread * random.standard_normal((population, 3))
        # The same episodes for all of a generation.
        seeds = range(generation * episodes, (generation + 1) * episodes)
        errors = [_mean_error(env, weights, seeds) for weights in candidates]
        elite = candidates[np.argsort(errors)[: population // 4]]
        mean, spread = elite.mean(axis=0), elite.std(axis=0) + 0.01
    count = generations * population * episodes
    return Learned(mean, _mean_error(env, mean, fresh), first, count)


def main() -> None:
    """Run from the command line."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    found = run()
    print(f"{found.episodes} episodes")
    print(f"distance from the mark: {1e3 * found.first_error:.0f} mm before learning, ", end="")
    print(f"{1e3 * found.error:.0f} mm after")
    print(
        "learned  v = {:.2f} d^{:.2f} μ^{:.2f}".format(
            math.exp(found.weights[0]), *found.weights[1:]
        )
    )
    print("Coulomb  v = {:.2f} d^{:.2f} μ^{:.2f}".format(math.exp(COULOMB[0]), *COULOMB[1:]))


if __name__ == "__main__":
    main()
