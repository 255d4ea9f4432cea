"""Tables of examples that the documents quote: bending of soft beams, and a box pushed to a goal.

``python -m studies benchmark examples --save`` from the root of the repository. They are counts and
errors, not times.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from studies.benchmarks.saved import save_table

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def _example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(name).name, _EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _bending(save: bool) -> None:
    """Deflection of cantilevers over Timoshenko's."""
    lines = ["| cells | Poisson's ratio | Asperity | MuJoCo |", "|---|---|---|---|"]
    for cells, poisson, ours, theirs in _example("soft_cantilever").rows():
        lines.append(f"| {cells} | {poisson} | {ours:.3f} | {theirs:.3f} |")
    print("\n".join(lines), flush=True)
    if save:
        note = "Deflection of the tip over Timoshenko's."
        save_table("cantilever", "Soft cantilevers", "examples --save", note, lines)


def _pushing(save: bool) -> None:
    """By how much a pushed box misses its goal with smoothed contact, and without."""
    example = _example("derivatives/push_box")
    _, misses = example.main()
    lines = [
        "| stiction tolerance | stiffness | distance with | heading with | distance without "
        "| heading without |",
        "|---" * 6 + "|",
    ]
    for smoothing, ends in zip(example.SMOOTHINGS, misses, strict=True):
        cells = [
            "–" if value is None else f"{value:g}"
            for value in (smoothing.stiction_tolerance, smoothing.stiffness)
        ]
        for miss in ends:
            cells += [f"{1e3 * np.hypot(*miss[:2]):.2f}", f"{abs(np.degrees(miss[2])):.3f}"]
        lines.append(f"| {' | '.join(cells)} |")
    print("\n".join(lines), flush=True)
    if save:
        note = (
            "Errors at the goal [mm, degrees] with smoothed contact, and the same forces without."
        )
        save_table("push_box", "A box pushed to a goal", "examples --save", note, lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    options = parser.parse_args(arguments)
    _bending(options.save)
    _pushing(options.save)


if __name__ == "__main__":
    main()
