"""What a step of Gymnasium's robots costs with `asperity.step`.

CPU time of a step of one environment, in vectors of several lengths, in one process (sync) and in
one process each (async, the CPU time of these processes). It should not depend on the number.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np

import asperity as asp
from asperity.envs import with_asperity

__all__ = ["main", "milliseconds"]

COUNTS = (1, 8, 64)
NAMES = ("Ant-v5", "Humanoid-v5")
KINDS: dict[str, Any] = {
    "sync": gymnasium.vector.SyncVectorEnv,
    "async": gymnasium.vector.AsyncVectorEnv,
}
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")


def maker(name: str, engine: str) -> Callable[[], Any]:
    """A function that makes an environment, in whatever process."""

    def make() -> Any:
        env = gymnasium.make(name)
        return with_asperity(env, integrator=asp.Cenic()) if engine == "asperity" else env

    return make


def _child_seconds(process: Any) -> float:
    # utime and stime, after the name in brackets.
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK


def _seconds(envs: Any) -> float:
    """CPU time so far of what steps the environments."""
    if isinstance(envs, gymnasium.vector.AsyncVectorEnv):
        return sum(_child_seconds(process) for process in envs.processes)
    return time.process_time()


def milliseconds(name: str, engine: str, kind: str, count: int, steps: int, seed: int) -> float:
    """CPU time of a step of one of so many environments [ms], with random actions."""
    envs = KINDS[kind]([maker(name, engine)] * count)
    try:
        random = np.random.default_rng(seed)
        largest = envs.single_action_space.high.max()
        envs.reset(seed=100 * seed)

        def go(number: int) -> None:
            for _ in range(number):
                envs.step(largest * random.uniform(-1, 1, envs.action_space.shape))

        go(5)
        before = _seconds(envs)
        go(steps)
        return 1e3 * (_seconds(envs) - before) / (steps * count)
    finally:
        envs.close()


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line, measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.environments", description=__doc__)
    parser.add_argument("--names", default=",".join(NAMES))
    parser.add_argument("--engines", default="asperity,mujoco")
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)))
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args(argv)
    counts = [int(count) for count in args.counts.split(",")]
    print(f"MuJoCo {mujoco.__version__}, CPU time of a step of one environment [ms]\n")
    print("| environment | | engine | " + " | ".join(map(str, counts)) + " |")
    print("|---" * (3 + len(counts)) + "|")
    for name in args.names.split(","):
        for kind in KINDS:
            for engine in args.engines.split(","):
                found = []
                for count in counts:
                    # Short vectors see as many different states as long ones: ticks are coarse.
                    length = args.steps * (max(counts) // count if kind == "async" else 1)
                    rounds = [
                        milliseconds(name, engine, kind, count, min(length, 10 * args.steps), seed)
                        for seed in range(args.rounds)
                    ]
                    found.append(float(np.median(rounds)))
                cells = " | ".join(f"{value:.2f}" for value in found)
                print(f"| {name} | {kind} | {engine} | {cells} |", flush=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
