"""``python -m studies benchmark ablation``: switch mechanisms off, write docs/ablation.md."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path

from studies.benchmarks.ablation.mechanisms import MECHANISMS, METHODS
from studies.benchmarks.ablation.page import PAGE, write, write_all_cases
from studies.benchmarks.ablation.results import NOTHING, RESULTS, Results, load, save
from studies.benchmarks.ablation.trial import Trial
from studies.benchmarks.ablation.variant import Edit, make_variant
from studies.benchmarks.measure import ROOT, SINGLE_THREAD
from studies.benchmarks.verification.families import CASES


def _matching(patterns: str | None, known: Sequence[str]) -> list[str]:
    if patterns is None:
        return list(known)
    wanted = patterns.split(",")
    for pattern in wanted:
        if not any(fnmatch(name, pattern) for name in known):
            raise SystemExit(f"nothing is called {pattern!r}; there are {', '.join(known)}")
    return [name for name in known if any(fnmatch(name, pattern) for pattern in wanted)]


def _try_variant(
    edits: Sequence[Edit], methods: Sequence[str], cases: Sequence[str], limit: float
) -> list[Trial]:
    """Run methods on cases with a copy of the package that has these edits."""
    with tempfile.TemporaryDirectory(prefix="asperity-without-") as folder:
        found = Path(folder) / "trials.jsonl"
        job = {
            "methods": [(method, number) for method in methods for number in METHODS[method]],
            "cases": list(cases),
            "limit": limit,
            "path": str(found),
        }
        sources = str(make_variant(edits, Path(folder)))
        environment = {**os.environ, **SINGLE_THREAD, "PYTHONPATH": f"{sources}:{ROOT}"}
        subprocess.run(
            [sys.executable, "-m", "studies.benchmarks.ablation.trial", json.dumps(job)],
            env=environment,
            cwd=folder,
            check=True,
        )
        lines = found.read_text(encoding="utf-8").splitlines()
    return [Trial(**json.loads(line)) for line in lines]


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(
        prog="python -m studies benchmark ablation", description=__doc__
    )
    parser.add_argument("--mechanisms", help="names or patterns, comma-separated; all if none")
    parser.add_argument("--methods", help=f"of {', '.join(METHODS)}; all if none")
    parser.add_argument("--cases", help="names or patterns of verification; all if none")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--limit", type=float, default=60.0, help="wall time of one run [s]")
    parser.add_argument("--results", type=Path, default=RESULTS, help="JSON, added to")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    parser.add_argument("--page-only", action="store_true", help="of the results that are there")
    parser.add_argument("--list", action="store_true", help="show the mechanisms")
    args = parser.parse_args(argv)
    if args.list:
        for mechanism in MECHANISMS:
            print(f"{mechanism.name:22} {', '.join(mechanism.methods):16} {mechanism.purpose}")
        return
    if args.page_only:
        _write(load(args.results), args.output)
        return
    methods = _matching(args.methods, list(METHODS))
    cases = _matching(args.cases, list(CASES))
    names = _matching(args.mechanisms, [m.name for m in MECHANISMS])
    jobs: list[tuple[str, tuple[Edit, ...], str]] = [(NOTHING, (), method) for method in methods]
    for mechanism in MECHANISMS:
        if mechanism.name in names:
            jobs += [(mechanism.name, mechanism.off, m) for m in mechanism.methods if m in methods]
    started = time.perf_counter()
    with ThreadPoolExecutor(args.jobs) as pool:
        running = {
            pool.submit(_try_variant, edits, [method], cases, args.limit): (name, method)
            for name, edits, method in jobs
        }
        for count, future in enumerate(as_completed(running), 1):
            name, method = running[future]
            results = save(name, method, future.result(), args.results)
            print(
                f"[{count}/{len(jobs)}] {method} without {name}, "
                f"{time.perf_counter() - started:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    _write(results, args.output)


def _write(results: Results, page: Path) -> None:
    """Write the page and, beside the results of the repository, the names of all cases."""
    print(write(results, page))
    if page == PAGE:
        print(write_all_cases(results))


if __name__ == "__main__":
    main()
