"""Integrators on the models that people have: every model of many packages, for a moment.

``python -m studies benchmark public_models --packages FOLDER`` from the root of the repository
installs the packages that are missing in the folder (`packages`), without what they depend on,
loads every URDF and MJCF file of theirs and of other folders (``--folder PATH``, as of a checkout
of MuJoCo), lets every integrator, or those that are named (``--methods Cenic,Midas``), run each for
0.3 s and then for a second with random motors, and counts how that ended. Others than Midas take
the model's own time step. Whether anything intersects under Midas is asked of ``ipctk``. A file
that MuJoCo itself does not load is left out.

Models run one after the other, in an order of chance, each with a limit of CPU time, so that other
work on the machine does not decide, in a process that is replaced when a model takes too long or
ends it. What was done is kept in the folder, and a second call goes on from there; ``--again
CLASS`` does those of a class again. ``--save`` writes the page, which keeps what it says of methods
that were not run. ``--renew`` runs only those models again of which the page says that they do not
run, and keeps what it says of others. ``--notes`` only counts anew what all integrators ignore, of
simulators of all files that are made and not run. ``--rates`` measures instead how fast those that
run under Midas do, in steps of 5 ms and without ``ipctk``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import random
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from studies.benchmarks.public_models.packages import find_models, install
from studies.benchmarks.public_models.page import ignored, page, read_page, renewed, summary
from studies.benchmarks.public_models.rates import NOTE as RATES_NOTE
from studies.benchmarks.public_models.rates import rates_summary
from studies.benchmarks.public_models.trial import INTEGRATORS
from studies.benchmarks.public_models.worker import Worker
from studies.benchmarks.saved import RESULTS, save_table
from studies.documents.result_files import rows_of_markdown

_NOTE = (
    "Every URDF and MJCF file of packages on PyPI and of the folder `model` of MuJoCo's "
    "repository: 0.3 s without controls and 1 s with random ones, at the model's own time step, "
    "`Midas` in steps of 10 ms, from the first keyframe if links meet as they are drawn. A model "
    "runs if every step converges, nothing is NaN and, under `Midas`, `ipctk` finds no "
    "intersection. It is slow if loading and the first part take 40 s of CPU time or the second "
    "80 s. Files that MuJoCo does not load, most of them parts of models, are left out. Rows with "
    "fewer files were not run to the end. Every method has the days and the commits of its run. "
    "What is ignored is that of simulators of all files, which are made and not run (`--notes`)."
)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m studies benchmark public_models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--packages", type=Path, required=True, help="where they are installed")
    parser.add_argument("--methods", default=",".join(INTEGRATORS), help="all of them by default")
    parser.add_argument("--folder", action="append", default=[], type=Path)
    parser.add_argument("--rates", action="store_true", help="how fast models run, instead")
    parser.add_argument("--notes", action="store_true", help="count what is ignored, instead")
    parser.add_argument("--renew", action="store_true", help="only what the page says to fail")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--again", action="append", default=[], help="classes to do again")
    parser.add_argument(
        "--budget", type=float, default=math.inf, help="wall time to stop after [s]"
    )
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    return parser.parse_args(argv)


def _run_on() -> str:
    """The day and the commit, which is marked if files were changed since."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True
    )
    return f"{datetime.date.today().isoformat()} ({commit.stdout.strip()})"


def _sweep(
    models: Sequence[tuple[str, Path]],
    method: str,
    file: Path,
    options: argparse.Namespace,
    what: str = "parts",
) -> dict[str, dict[str, Any]]:
    """Run all models that were not done yet; returns what is known of all."""
    results: dict[str, dict[str, Any]] = {}
    if file.is_file():
        results = json.loads(file.read_text())
    worker: Worker | None = None
    run_on = _run_on()
    for name, path in models:
        done = name in results and not any(one in results[name]["class"] for one in options.again)
        if done or options.only not in name:
            continue
        if time.perf_counter() > options.budget:
            break
        worker = worker or Worker(method)
        found, usable = worker.run(str(path), what)
        results[name] = found | {"run on": run_on}
        if not usable:
            worker.end()
            worker = None
        print(f"{method} {name}: {found['class']} {found.get('message', '')[:100]}", flush=True)
        file.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    if worker is not None:
        worker.end()
    return results


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line, run what is left to run, and print or save the page."""
    options = _options(argv)
    options.budget += time.perf_counter()
    install(options.packages)
    models = list(find_models(options.packages, options.folder))
    # By chance, so that those of a sweep that was ended early are a sample of all.
    random.Random(0).shuffle(models)
    print(f"{len(models)} files", flush=True)
    if options.rates:
        lines = rates_summary(
            _sweep(models, "Midas", options.packages / "rates.json", options, "rates")
        )
        print("\n".join(lines))
        if options.save:
            save_table("midas_robots", "Rates of Midas on public models", RATES_NOTE, lines)
        return
    file = RESULTS / "public_models.md"
    summaries = read_page(rows_of_markdown(file))
    if options.notes:
        noted = _sweep(models, "Icf", options.packages / "notes.json", options, "notes").values()
        for method, one in summaries.items():
            found = ignored(known[method] for known in noted if method in known)
            summaries[method] = replace(one, ignored=found)
    for method in () if options.notes else options.methods.split(","):
        if options.renew:
            failed = {name for name, _, _ in summaries[method].reasons}
            again = [one for one in models if one[0] in failed]
            file = options.packages / f"{method}-renewed.json"
            found = _sweep(again, method, file, options)
            # Others were run before, and are on the page.
            found = {name: one for name, one in found.items() if name in failed}
            summaries[method] = renewed(summaries[method], found)
            continue
        found = _sweep(models, method, options.packages / f"{method}.json", options)
        if found:
            summaries[method] = summary(found)
    lines = page(summaries)
    print("\n".join(lines))
    if options.save:
        save_table("public_models", "Integrators on public models", _NOTE, lines)


if __name__ == "__main__":
    main()
