"""``python -m studies verify``: run methods on cases, write docs/verification.md."""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from studies.benchmarks.measure import SINGLE_THREAD


def _chosen(patterns: str, known: Iterable[str]) -> list[str]:
    """Names that match patterns, in the order of the known ones."""
    names = list(known)
    wanted = [part for part in patterns.split(",") if part]
    for pattern in wanted:
        if not fnmatch.filter(names, pattern):
            raise SystemExit(f"nothing is called {pattern!r}; there are {', '.join(names)}")
    return [name for name in names if any(fnmatch.fnmatch(name, p) for p in wanted)]


def _methods(text: str, known: Sequence[str]) -> list[str]:
    """Methods by name, and columns by pattern; other numbers than the columns' are welcome."""
    from studies.benchmarks.verification.methods import resolve

    found: list[str] = []
    for part in filter(None, text.split(",")):
        matching = fnmatch.filter(known, part)
        found += [name for name in matching or [part] if name not in found]
    for name in found:
        try:
            resolve(name)
        except (ValueError, ImportError) as refusal:
            raise SystemExit(f"{name}: {refusal}") from refusal
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line and run."""
    os.environ.update({k: os.environ.get(k, v) for k, v in SINGLE_THREAD.items()})
    from studies.benchmarks.verification.families import CASES
    from studies.benchmarks.verification.methods import COLUMNS, OWN, QUICK
    from studies.benchmarks.verification.page import ALL_METHODS, table_of, write, write_page
    from studies.benchmarks.verification.results import RESULTS, Result, load, save
    from studies.benchmarks.verification.runner import run
    from studies.documents.marks import write_documents

    parser = argparse.ArgumentParser(prog="python -m studies verify", description=__doc__)
    parser.add_argument("--cases", help="names or patterns, comma-separated: 'gyro*,belt'")
    parser.add_argument(
        "--methods", help="names or patterns: cenic@1e-3,'icf@*','drake:*'; all but Drake's if none"
    )
    parser.add_argument("--quick", action="store_true", help="five methods, no slow cases")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--limit", type=float, help="wall time of a method in a case [s]")
    parser.add_argument("--results", type=Path, default=RESULTS, help="JSON, added to")
    parser.add_argument("--output", type=Path, default=ALL_METHODS, help="the file of all methods")
    parser.add_argument(
        "--no-output",
        action="store_true",
        help="print a table, leave results and page as they are; so does --quick",
    )
    parser.add_argument("--page-only", action="store_true", help="of the results that are there")
    parser.add_argument("--list", action="store_true", help="show cases and methods")
    args = parser.parse_args(argv)
    columns = [name for names in COLUMNS.values() for name in names]
    if args.list:
        for case in CASES.values():
            print(f"{case.name:24} {case.truth:<12.6g} {case.quantity}")
        print("methods:", ", ".join(columns))
        return

    def publish(found: dict[tuple[str, str], Result]) -> None:
        print(write(found, args.output))
        if args.output == ALL_METHODS:
            print(write_page(found))
            write_documents()

    if (args.no_output or args.quick) and (args.results, args.output) != (RESULTS, ALL_METHODS):
        parser.error("--no-output and --quick write neither --results nor --output")
    if args.page_only:
        publish(load(args.results))
        return
    cases = list(CASES) if args.cases is None else _chosen(args.cases, CASES)
    if args.quick and args.cases is None:
        cases = [name for name in cases if not CASES[name].slow]
    default = list(QUICK if args.quick else OWN)
    methods = default if args.methods is None else _methods(args.methods, columns)
    limit = args.limit or (5.0 if args.quick else 10.0)
    started = time.perf_counter()
    results: list[Result] = []
    try:
        for result in run(cases, methods, limit=limit, jobs=args.jobs):
            results.append(result)
    finally:
        if args.no_output or args.quick:
            print(table_of({(r.case, r.method): r for r in results}, methods))
        elif results:
            publish(save(results, args.results))
    print(f"{len(results)} runs in {time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
