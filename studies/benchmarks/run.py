"""Command line of the benchmarks: ``python -m studies benchmark run clutter``; see the README."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import mujoco

from studies.benchmarks.engines import Setting
from studies.benchmarks.measure import Job, Measurement, measure_in_subprocess
from studies.benchmarks.report import RESULTS, Row, write

READING = (
    "Times are CPU seconds per simulated second of the advance alone, one thread. "
    '"Asperity / this" below 1 means that Asperity is faster. The overlap is the deepest one of '
    "the final poses, found for all with the same collision detection; when it approaches the "
    "size of an object (0.1 m), objects have sunk into one another or into a wall."
)
CHAOS = (
    "Objects that tumble part ways after the first impacts: final heights compare sanity, "
    "not accuracy."
)


# "newton" chooses by the size of the model.
SPARSE = {"newton", "newton-sparse"}
SPARSE_DEFECT = (
    "The sparse factorization of MuJoCo's Newton solver is wrong in 4.0.0 and right in 4.0.1: "
    "times of newton-sparse, and of newton, which chooses sparse algebra for large models, are not "
    "MuJoCo's best; install mujoco-core 4.0.1 to compare with them."
)


def mujoco_note(methods: Sequence[str]) -> str:
    """What to know of MuJoCo's part in a comparison: its version, above all."""
    names = {name for engine, name in map(_split, methods) if engine == "mujoco"}
    if not names:
        return ""
    release = mujoco.mj_versionString()
    note = (
        f"MuJoCo is {release} and uses its default soft contacts, not the description's stiffness."
    )
    return f"{note} {SPARSE_DEFECT}" if release == "4.0.0" and names & SPARSE else note


def _warn(note: str) -> str:
    """Say before a long run, too, what its report will say of a defect."""
    if SPARSE_DEFECT in note:
        print(f"warning: {SPARSE_DEFECT}", file=sys.stderr, flush=True)
    return note


def _floats(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _ints(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _words(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def collect(jobs: Sequence[Job], repeat: int, timeout: float, seeds: Sequence[int]) -> list[Row]:
    """Measure all jobs, ``repeat`` times over; a whole round before the next one begins.

    So what disturbs the machine for a while disturbs all engines. Each round has the next of the
    ``seeds``: the cost of clutter depends on how the objects happen to fall, by a factor of two
    and more, so that one initial state tells little. A job that has timed out once is not tried
    again.
    """
    results: list[list[Measurement]] = [[] for _ in jobs]
    for turn in range(repeat):
        for job, mine in zip(jobs, results, strict=True):
            if mine and mine[-1].status.startswith("over "):
                continue
            seed = seeds[turn % len(seeds)]
            result = measure_in_subprocess(replace(job, seed=seed), timeout)
            mine.append(result)
            outcome = f"{result.cpu_time:.3f} s" if result.ok else result.status
            print(
                f"[{turn + 1}/{repeat}] {job.scene} {job.resolution} {job.label}: {outcome}",
                file=sys.stderr,
                flush=True,
            )
    return [Row(job, tuple(mine)) for job, mine in zip(jobs, results, strict=True)]


def _split(method: str) -> tuple[str, str]:
    engine, _, name = method.partition(":")
    return engine, name


def _jobs(
    scenes: Sequence[str], settings: Sequence[dict[str, float]], methods: Sequence[str], time: float
) -> list[Job]:
    jobs = []
    for scene in scenes:
        for options in settings:
            for engine, name in map(_split, methods):
                jobs.append(Job(engine, Setting(name, **options), scene, time))
    return jobs


def clutter(args: argparse.Namespace) -> Path:
    """Error-controlled integration of the CENIC paper's clutter."""
    settings = [{"accuracy": a} for a in args.accuracies]
    scenes = [f"clutter-{kind}" for kind in args.kinds]
    methods = args.methods or ["asperity:cenic", "drake:cenic"]
    rows = collect(_jobs(scenes, settings, methods, args.duration or 10.0), *_budget(args))
    return write("clutter", "Clutter under error control", f"{READING} {CHAOS}", rows, args.results)


def fixed(args: argparse.Namespace) -> Path:
    """Fixed steps in piles of growing size."""
    settings = [{"time_step": h} for h in args.time_steps]
    scenes = [f"pile-{n}" for n in args.bodies]
    methods = args.methods or [
        "asperity:icf",
        "mujoco:newton-dense",
        "mujoco:newton-sparse",
        "drake:cenic-fixed",
        "drake:lagged",
        "drake:similar",
        "drake:sap",
    ]
    notes = f"{READING} {CHAOS} {_warn(mujoco_note(methods))}"
    rows = collect(_jobs(scenes, settings, methods, args.duration or 2.0), *_budget(args))
    return write("fixed", "Piles with fixed steps", notes, rows, args.results)


def dense(args: argparse.Namespace) -> Path:
    """Mixed bodies that fall into a bin, where many contacts feed each other."""
    settings = [{"time_step": 5e-3}]
    scenes = [f"bin-{n}" for n in args.bin_bodies]
    methods = args.methods or ["asperity:icf", "mujoco:cg", "mujoco:newton"]
    notes = f"{READING} {CHAOS} {_warn(mujoco_note(methods))}"
    rows = collect(_jobs(scenes, settings, methods, args.duration or 1.0), *_budget(args))
    return write("bin", "A bin of mixed bodies", notes, rows, args.results)


def sap(args: argparse.Namespace) -> Path:
    """SAP with the near-rigid clutter of its paper."""
    scenes = [f"sap-clutter-{n}{end}" for end in ("", "-open") for n in args.sap_bodies]
    methods = args.methods or ["asperity:sap", "drake:sap", "mujoco:newton"]
    jobs = _jobs(scenes, [{"time_step": 0.01}], methods, args.duration or 10.0)
    notes = f'{READING} {CHAOS} {_warn(mujoco_note(methods))} "open" is without walls.'
    rows = collect(jobs, *_budget(args))
    return write("sap", "Near-rigid clutter with SAP", notes, rows, args.results)


def threads(args: argparse.Namespace) -> Path:
    """Two worlds on two Python threads of one process against one world."""
    jobs = []
    for method in args.methods or ["asperity:icf", "mujoco:newton-dense"]:
        engine, name = _split(method)
        setting = Setting(name, time_step=1e-3)
        for worlds in (1, 2):
            jobs.append(Job(engine, setting, "pile-20", args.duration or 2.0, worlds))
    rows = collect(jobs, *_budget(args))
    lines = []
    for one, two in zip(rows[::2], rows[1::2], strict=True):
        if one.wall is not None and two.wall is not None:
            gain = 2.0 * one.wall / two.wall
            lines.append(f"- {one.job.label}: two threads do {gain:.2f} times the work of one.")
        else:
            lines.append(f"- {one.job.label}: {one.status} / {two.status}")
    notes = "Throughput is worlds per wall second. The second row of each method is two worlds."
    return write(
        "threads", "Two worlds on two threads", notes, rows, args.results, extra="\n".join(lines)
    )


COMMANDS = {"clutter": clutter, "fixed": fixed, "bin": dense, "sap": sap, "threads": threads}


def _budget(args: argparse.Namespace) -> tuple[int, float, list[int]]:
    return args.repeat, args.timeout, args.seeds


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m studies benchmark run", description=__doc__)
    parser.add_argument("command", choices=[*COMMANDS, "all"])
    parser.add_argument("--accuracies", type=_floats, default=[1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
    parser.add_argument("--kinds", type=_words, default=["soft", "hard"], help="clutter: which")
    parser.add_argument("--bodies", type=_ints, default=[1, 20, 40, 80], help="fixed: sizes")
    parser.add_argument(
        "--bin-bodies", type=_ints, default=[100, 300, 500, 1000], help="bin: sizes"
    )
    parser.add_argument("--sap-bodies", type=_ints, default=[8, 40, 80, 160], help="sap: sizes")
    parser.add_argument("--time-steps", type=_floats, default=[1e-2, 1e-3], help="fixed [s]")
    parser.add_argument("--duration", type=float, help="simulated time [s]")
    parser.add_argument("--repeat", type=int, default=5, help="rounds")
    parser.add_argument("--seeds", type=_ints, default=[41, 42, 43, 44, 45], help="one per round")
    parser.add_argument("--timeout", type=float, default=300.0, help="per measurement [s]")
    parser.add_argument("--methods", type=_words, help="engine:method,… instead of the default")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write to")
    args = parser.parse_args(argv)
    for name in COMMANDS if args.command == "all" else [args.command]:
        path = COMMANDS[name](args)
        print(path.read_text())


if __name__ == "__main__":
    main()
