"""``python -m studies.benchmarks.ablation.trial``: methods on cases, with the package in the path.

Writes one line of JSON for each run. A process of its own, since a process has one package.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from studies.benchmarks.ablation.work_scenes import WORK_SCENES, WorkScene
from studies.benchmarks.verification.families import CASES
from studies.benchmarks.verification.methods import Method, evaluate, resolve, warm_up
from studies.benchmarks.verification.page import grade
from studies.peers.asperity import AsperitySimulate
from studies.peers.limits import Deadline

__all__ = ["GRADES", "NEAR_BY", "STOPPED", "Trial", "run"]

GRADES = ("right", "near", "wrong", "stopped")
STOPPED = GRADES.index("stopped")

NEAR_BY = (0.7, 0.84, 1.0, 1.19, 1.41)
"""Every accuracy (or time step) is tried at these multiples of it, since single runs scatter."""


_WORK = ("steps", "rejections", "solves", "iterations")


@dataclass(frozen=True)
class Trial:
    """One method on one case.

    Attributes
    ----------
    case, method
        Names.
    number
        The accuracy or time step [s] that a table shows it under.
    near_by
        Multiple of that with which it was run; of scenes without an outcome the seed.
    grade
        Index into `GRADES`.
    value
        What was found; None if nothing was.
    steps, rejections, solves, iterations
        Work, as in `asperity.Statistics`.
    """

    case: str
    method: str
    number: float
    near_by: float
    grade: int
    value: float | None
    steps: int
    rejections: int
    solves: int
    iterations: int


def _run_one(case: str, method: str, number: float, near_by: float, limit: float) -> Trial | None:
    """One run; None where the method cannot take part."""
    name = f"{method}@{number * near_by:.6g}"
    (make,) = resolve(name).ways
    made: list[AsperitySimulate] = []

    def keep(deadline: Deadline) -> AsperitySimulate:
        simulate = make(deadline)
        assert isinstance(simulate, AsperitySimulate)
        made.append(simulate)
        return simulate

    value, status = evaluate(CASES[case], Method(name, (keep,)), limit)
    if status.startswith("cannot"):
        return None
    found = grade(CASES[case], value, name) if status in ("ok", "never") else STOPPED
    work = made[0].work
    return Trial(
        case,
        method,
        number,
        near_by,
        found,
        value,
        *(work[count] for count in _WORK),
    )


def _count_work(scene: WorkScene, seed: int, method: str, number: float) -> Trial:
    """Run a scene from one of its initial states."""
    (make,) = resolve(f"{method}@{number:g}").ways
    simulate = make(Deadline(math.inf))
    assert isinstance(simulate, AsperitySimulate)
    simulator, done = scene.run(seed, simulate.integrator)
    work = vars(simulator.stats)
    return Trial(
        scene.name,
        method,
        number,
        seed,
        0 if done else STOPPED,
        None,
        *(work[count] for count in _WORK),
    )


def run(
    methods: Sequence[tuple[str, float]], cases: Sequence[str], limit: float, path: Path
) -> None:
    """Run methods, given as name and number, on cases, and write what they find."""
    with path.open("w", encoding="utf-8") as file:
        for method, number in methods:
            warm_up(resolve(f"{method}@{number:g}"))
            for case in cases:
                for near_by in NEAR_BY:
                    found = _run_one(case, method, number, near_by, limit)
                    if found is not None:
                        file.write(json.dumps(asdict(found)) + "\n")
            for scene in WORK_SCENES:
                for seed in scene.seeds if method in scene.methods else ():
                    found = _count_work(scene, seed, method, number)
                    file.write(json.dumps(asdict(found)) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m studies.benchmarks.ablation.trial")
    parser.add_argument("job", type=json.loads, help="JSON: methods, cases, limit, path")
    job = parser.parse_args().job
    run([tuple(m) for m in job["methods"]], job["cases"], job["limit"], Path(job["path"]))
