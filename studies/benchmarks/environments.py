"""Steps per second of Gymnasium's robots: many worlds here, in Gymnasium and in mujoco.rollout.

A step of an environment is several of the model's time steps with one action, what is observed and
rewarded, and a new episode where one ends. `asperity.envs.RobotVectorEnv` takes it with `Icf` at
the model's time step and with `Cenic`; ``gymnasium.vector.SyncVectorEnv`` and ``mujoco.rollout``
with MuJoCo's Euler and RK4. Rollouts neither observe nor reward anything, and begin where `Icf`
has come to. Actions are random and the same for all. Blocks of all methods follow each other, on
one thread; the table shows medians of their CPU times: others may use the machine, too.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.vector import SyncVectorEnv
from mujoco import rollout as mujoco_rollout

import asperity as asp
from asperity.envs import RobotVectorEnv
from studies.benchmarks.saved import Table

__all__ = ["Contest", "main"]

COUNTS = (1, 64, 1024)
NAMES = ("Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "Walker2d-v5")
MUJOCO = {
    "Euler": int(mujoco.mjtIntegrator.mjINT_EULER),
    "RK4": int(mujoco.mjtIntegrator.mjINT_RK4),
}
METHODS = (
    "Icf",
    "Cenic",
    *(f"{who}, {how}" for who in ("Gymnasium", "rollout") for how in MUJOCO),
)
PAIRS = tuple(("Icf", method) for method in METHODS[2:])
"""Whose rates are compared."""
_WARM = 10  # steps before the clock starts
_BLOCKS = 5
_SEED = 7


class Contest:
    """Environments of one kind, with all methods.

    Parameters
    ----------
    name : str
        Of Gymnasium's environment.
    count : int
        Worlds.
    """

    def __init__(self, name: str, count: int) -> None:
        step = float(gymnasium.make(name).unwrapped.model.opt.timestep)
        self.count = count
        self.ours = {
            "Icf": self._vector(name, asp.Icf(time_step=step)),
            "Cenic": self._vector(name, asp.Cenic()),
        }
        self.theirs = SyncVectorEnv([lambda: gymnasium.make(name)] * count)
        self.worlds = [env.unwrapped for env in self.theirs.envs]
        self.frames = self.worlds[0].frame_skip
        self.model = copy.copy(self.worlds[0].model)
        self.data = mujoco.MjData(self.model)
        self.rollout = mujoco_rollout.Rollout(nthread=0)
        self.random = np.random.default_rng(_SEED)
        for env in (*self.ours.values(), self.theirs):
            env.reset(seed=_SEED)

    def _vector(self, name: str, integrator: asp.Integrator) -> RobotVectorEnv:
        return RobotVectorEnv(name, self.count, integrator=integrator, threads=1)

    def block(self, steps: int) -> dict[str, float]:
        """CPU time [s] of so many steps by method."""
        space = self.theirs.single_action_space
        size = (steps, self.count, *space.shape)
        actions = self.random.uniform(space.low, space.high, size).astype(space.dtype)
        states = self._states()
        runs: dict[str, Callable[[], None]] = {
            name: lambda env=env: self._act(env, actions) for name, env in self.ours.items()
        }
        for how, integrator in MUJOCO.items():
            runs[f"Gymnasium, {how}"] = lambda it=integrator: self._gymnasium(it, actions)
            runs[f"rollout, {how}"] = lambda it=integrator: self._roll(it, states, actions)
        times = {}
        for method in METHODS:
            started = time.process_time()
            runs[method]()
            times[method] = time.process_time() - started
        return times

    def _states(self) -> np.ndarray:
        batch = self.ours["Icf"].batch
        return np.concatenate([batch.time[:, None], batch.qpos, batch.qvel, batch.act], axis=1)

    def _act(self, env: Any, actions: np.ndarray) -> None:
        for action in actions:
            env.step(action)

    def _gymnasium(self, integrator: int, actions: np.ndarray) -> None:
        for world in self.worlds:
            world.model.opt.integrator = integrator
        self._act(self.theirs, actions)

    def _roll(self, integrator: int, states: np.ndarray, actions: np.ndarray) -> None:
        self.model.opt.integrator = integrator
        for action in actions:
            held = np.repeat(action[:, None].astype(float), self.frames, axis=1)
            found, _ = self.rollout.rollout(self.model, self.data, states, held)
            states = found[:, -1]


def measure(name: str, count: int, steps: int) -> dict[str, float]:
    """Steps of environments per second of CPU time, by method, and ratios of pairs."""
    contest = Contest(name, count)
    contest.block(_WARM)
    blocks = [contest.block(steps) for _ in range(_BLOCKS)]
    times = {method: np.array([one[method] for one in blocks]) for method in METHODS}
    found = {method: steps * count / float(np.median(times[method])) for method in METHODS}
    for ours, theirs in PAIRS:
        found[f"{ours} / {theirs}"] = float(np.median(times[theirs] / times[ours]))
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line, measure and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m studies benchmark environments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--names", default=",".join(NAMES))
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)))
    parser.add_argument("--steps", type=int, default=1000, help="of one world, in a block")
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    table = Table("environment", "worlds", *METHODS, *(f"{a} / {b}" for a, b in PAIRS))
    for name in args.names.split(","):
        for count in map(int, args.counts.split(",")):
            # In larger vectors a step is longer, and less of it is what a call costs.
            found = measure(name, count, max(4, args.steps // count))
            rates = [f"{found[method]:.0f}" for method in METHODS]
            ratios = [f"{found[f'{a} / {b}']:.2f}" for a, b in PAIRS]
            table.add(name, count, *rates, *ratios)
    if args.save:
        note = (
            "Steps of environments per second of CPU time, on one thread, with random actions: "
            "medians of blocks that follow each other, and medians of the blocks' ratios. `Icf` "
            "(at the model's time step) and `Cenic` (accuracy 1e-3) are `RobotVectorEnv`; "
            "Gymnasium is its `SyncVectorEnv`; `mujoco.rollout` observes and rewards nothing. "
            "All models but HalfCheetah ask MuJoCo for RK4."
        )
        table.save("environments", "Gymnasium's robots", note)


if __name__ == "__main__":
    main()
