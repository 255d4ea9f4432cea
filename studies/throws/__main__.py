"""``python -m studies throws``: foretell real throws, write docs/real-throws.md's numbers.

Contact parameters of every engine are found by one search on some throws; errors are those on all
other throws.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from studies.benchmarks.measure import SINGLE_THREAD

if TYPE_CHECKING:
    from studies.throws.results import Outcome


def _write_page(results: Mapping[str, Outcome]) -> None:
    from studies.documents.marks import write_documents
    from studies.throws.quoted import draw_picture

    draw_picture(results)
    write_documents()


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line and run."""
    os.environ.update({k: os.environ.get(k, v) for k, v in SINGLE_THREAD.items()})
    from studies.throws.capture import DATA, load
    from studies.throws.engines import ENGINES
    from studies.throws.results import RESULTS, Outcome, read, versions, write
    from studies.throws.search import crew, errors_of, floor_of, search, split

    parser = argparse.ArgumentParser(prog="python -m studies throws", description=__doc__)
    parser.add_argument(
        "--engines", default=",".join(ENGINES), help="comma-separated; those not installed are told"
    )
    parser.add_argument("--training", type=int, default=60, help="throws that the search sees")
    parser.add_argument("--draws", type=int, default=8, help="starts per throw for the floor")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--results", type=Path, default=RESULTS, help="JSON, added to")
    parser.add_argument("--no-output", action="store_true", help="print only")
    parser.add_argument("--page-only", action="store_true", help="of the results that are there")
    args = parser.parse_args(argv)
    if args.page_only:
        _write_page(read(args.results))
        return
    names = [name for name in args.engines.split(",") if name]
    unknown = [name for name in names if name not in ENGINES]
    if unknown:
        raise SystemExit(f"no engine is called {unknown[0]!r}; there are {', '.join(ENGINES)}")
    try:
        count = len(load())
    except FileNotFoundError as missing:
        raise SystemExit(str(missing)) from None
    if not 1 <= args.training < count:
        raise SystemExit(
            f"--training must be at least 1 and less than {count}, the throws there are"
        )
    print(f"{count} throws of {DATA.name}", file=sys.stderr)
    training, unseen = split(args.training)
    line = sys.stderr.isatty()

    def tell(text: str) -> None:
        print(f"\r{text} " if line else text, end="" if line else "\n", file=sys.stderr, flush=True)

    for name in names:
        try:
            ENGINES[name].simulate()
        except ImportError as missing:
            print(f"{name}: left out, {missing}", file=sys.stderr)
            continue
        started = time.perf_counter()
        with crew(args.jobs) as pool:
            values, least = search(pool, name, training, tell)
            untuned = errors_of(pool, name, None, unseen)
            tuned = errors_of(pool, name, values, unseen)
            floor = floor_of(pool, name, values, unseen, args.draws)
        seconds = time.perf_counter() - started
        outcome = Outcome(name, values, least, untuned, tuned, floor, seconds, versions(name))
        tell(f"{outcome.summary()}, {seconds:.0f} s" + ("\n" if line else ""))
        if not args.no_output:
            kept = write([outcome], args.results)
            if args.results == RESULTS:
                _write_page(kept)


if __name__ == "__main__":
    main()
