"""What a step of Gymnasium's robots costs with `asperity.step`.

CPU time of a step of one environment, in vectors of several lengths, in one process (sync) and in
one process each (async, the CPU time of these processes). It should not depend on the number: all
lengths have the same environments, with the same seeds and actions, so many vectors after each
other. Where these end must not depend on it either, to the last bit.
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
from studies.benchmarks.saved import save_table

__all__ = ["main", "milliseconds"]

COUNTS = (1, 8, 64)
NAMES = ("Ant-v5", "Humanoid-v5")
KINDS: dict[str, Any] = {
    "sync": gymnasium.vector.SyncVectorEnv,
    "async": gymnasium.vector.AsyncVectorEnv,
}
# Steps before the clock starts, in which kernels are loaded.
_WARM = 5
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


def _part(name: str, engine: str, kind: str, seeds: range, steps: int) -> tuple[float, np.ndarray]:
    """CPU time [s] of so many steps of environments with these seeds, and where they end."""
    envs = KINDS[kind]([maker(name, engine)] * len(seeds))
    try:
        randoms = [np.random.default_rng(seed) for seed in seeds]
        largest = envs.single_action_space.high.max()
        size = envs.single_action_space.shape
        seen, _ = envs.reset(seed=list(seeds))
        before = 0.0
        for step in range(_WARM + steps):
            if step == _WARM:
                before = _seconds(envs)
            seen = envs.step(largest * np.array([r.uniform(-1, 1, size) for r in randoms]))[0]
        return _seconds(envs) - before, np.array(seen)
    finally:
        envs.close()


def milliseconds(
    name: str, engine: str, kind: str, count: int, steps: int, total: int = COUNTS[-1]
) -> tuple[float, np.ndarray]:
    """CPU time of a step of one environment [ms], with random actions, and all observations.

    In vectors of ``count`` there are ``total`` environments, whose seeds and actions are the same
    for every count.
    """
    parts = [
        _part(name, engine, kind, range(first, first + count), steps)
        for first in range(0, total, count)
    ]
    seconds = sum(part[0] for part in parts)
    return 1e3 * seconds / (steps * total), np.concatenate([part[1] for part in parts])


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line, measure and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m studies benchmark environments", description=__doc__
    )
    parser.add_argument("--names", default=",".join(NAMES))
    parser.add_argument("--engines", default="asperity,mujoco")
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)))
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    args = parser.parse_args(argv)
    counts = [int(count) for count in args.counts.split(",")]
    print(f"MuJoCo {mujoco.__version__}, CPU time of a step of one environment [ms]\n")
    lines = [
        "| environment | kind | engine | " + " | ".join(map(str, counts)) + " |",
        "|---" * (3 + len(counts)) + "|",
    ]
    print("\n".join(lines))
    for name in args.names.split(","):
        ends: dict[str, list[np.ndarray]] = {engine: [] for engine in args.engines.split(",")}
        for kind in KINDS:
            for engine, seen in ends.items():
                cells = []
                for count in counts:
                    time_taken, end = milliseconds(
                        name, engine, kind, count, args.steps, max(counts)
                    )
                    cells.append(f"{time_taken:.2f}")
                    seen.append(end)
                lines.append(f"| {name} | {kind} | {engine} | {' | '.join(cells)} |")
                print(lines[-1], flush=True)
        for engine, seen in ends.items():
            same = all(np.array_equal(seen[0], end) for end in seen)
            print(f"| {name} | | {engine} | {'same' if same else 'DIFFERENT'} bits everywhere |")
    sys.stdout.flush()
    if args.save:
        note = "CPU time of a step of one environment [ms], in vectors of several lengths."
        save_table("environments", "Gymnasium's robots", "environments --save", note, lines)


if __name__ == "__main__":
    main()
