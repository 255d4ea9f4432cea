"""What examples find, for the documents: what they print, and two tables.

``python -m studies benchmark examples --save`` from the root of the repository, some two minutes.
Numbers are counts and errors, not times.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from studies.benchmarks.saved import Table

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_PRINTED = {
    "pick_and_place": (
        r"(\S+) mm beside its middle, slipped (\S+) µm\s+(\d+) steps for (\S+) s",
        "{} mm beside its middle, slipped {} µm, {} steps for {} s",
    ),
    "soft_grasp": (
        r"squeezed to (\S+) mm of (\d+), slipped (\S+) µm\s+(\d+) steps for (\S+) s",
        "squeezed to {} mm of {}, slipped {} µm, {} steps for {} s",
    ),
    "soft_cantilever": (
        r"1 +0\.3 +(\S+) +(\S+)",
        "{} of Timoshenko's deflection with one cell through the thickness; MuJoCo {}",
    ),
    "assembly": (
        r"The beam is in: .*?(\S+) µm",
        "in; the smallest distance of any two surfaces was {} µm",
    ),
    "grasp_over_accuracy": (
        r"1e-03 +(\S+) .*1e-04 +(\S+) .*1e-05 +(\S+) .*1e-06 +(\S+) ",
        "slip {} mm at 1e-3, {} at 1e-4, {} at 1e-5, {} at 1e-6",
    ),
    "drop_in": (
        r"(\S+) mm  mujoco\.mj_step with.*?(\S+) mm  asperity",
        "how far a gripped box sinks: MuJoCo drops it; {} mm with careful settings; {} mm here",
    ),
    "randomised_grasp": (
        r"(\d+) of (\d+) boxes are held; Coulomb says (\d+).*?(2 μ F = \S+ m g)",
        "{} of {} boxes are held, Coulomb says {}; the weakest with {}",
    ),
    "impedance_control": (
        r"presses with (\S+) N, asked are (\d+).*?(\S+) mm behind, and μ F/K is (\S+)\.\n",
        "{} N of {}, {} mm behind, where friction/stiffness is {}",
    ),
    "two_arms": (
        r"within (\S+) and (\S+) N, asked are (\d+)\..*slipped (\S+) mm.*ends (\S+) mm",
        "internal force {} to {} N of {}, slipped {} mm, {} mm from its goal",
    ),
    "predictive_control": (
        r"runs at (\S+) m/s, asked are (\S+)\.\n.* of (\S+) N s backwards it makes (\S+) m\.",
        "{} m/s of {}; after a push of {} N s {} m in a second",
    ),
    "system_identification": (
        r"friction +(\S+ ± \S+), is (\S+)\s+dissipation +(\S+ ± \S+) s/m, is (\S+)",
        "{} of {}, {} of {} s/m",
    ),
    "identify_from_throws": (
        r"friction +(\S+ ± \S+),.*?\] +(\S+ ± \S+),.*?\)²\] +(\S+ ± \S+),"
        r".*before: .*?, (\S+)°.*after: .*?, (\S+)°",
        "{}, {} s/m, {} m (w/2)²; on other throws {}° off before, {}° after",
    ),
    "train_gymnasium": (
        r"learned +v = ([^\n]+)\s+Coulomb +v = ([^\n]+)",
        "v = {}, where Coulomb has {}",
    ),
}
"""Numbers in what examples print, and how the documents tell them."""


def _example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(name).name, _EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _printing(save: bool) -> None:
    """What programs print."""
    table = Table("program", "prints")
    for name, (pattern, told) in _PRINTED.items():
        said = subprocess.run(
            [sys.executable, f"{name}.py"],
            cwd=_EXAMPLES,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found = re.search(pattern, said, re.DOTALL)
        if found is None:
            raise SystemExit(f"{name}.py prints nothing like {pattern}:\n{said}")
        prints = told.format(*(re.sub(r"^-(?=\d)", "−", number) for number in found.groups()))
        table.add(name, prints)
    if save:
        table.save("examples", "What examples print", "")


def _bending(save: bool) -> None:
    """Deflection of cantilevers over Timoshenko's."""
    table = Table("cells", "Poisson's ratio", "Asperity", "MuJoCo")
    for cells, poisson, ours, theirs in _example("soft_cantilever").rows():
        table.add(cells, poisson, f"{ours:.3f}", f"{theirs:.3f}")
    if save:
        note = "Deflection of the tip over Timoshenko's."
        table.save("cantilever", "Soft cantilevers", note)


def _pushing(save: bool) -> None:
    """By how much a pushed box misses its goal with smoothed contact, and without."""
    example = _example("derivatives/push_box")
    _, misses = example.main()
    table = Table(
        *("stiction tolerance", "stiffness", "distance with", "heading with"),
        *("distance without", "heading without"),
    )
    for smoothing, ends in zip(example.SMOOTHINGS, misses, strict=True):
        cells = [
            "–" if value is None else f"{value:g}"
            for value in (smoothing.stiction_tolerance, smoothing.stiffness)
        ]
        for miss in ends:
            cells += [f"{1e3 * np.hypot(*miss[:2]):.2f}", f"{abs(np.degrees(miss[2])):.3f}"]
        table.add(*cells)
    if save:
        note = (
            "Errors at the goal [mm, degrees] with smoothed contact, and the same forces without."
        )
        table.save("push_box", "A box pushed to a goal", note)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    options = parser.parse_args(arguments)
    _printing(options.save)
    _bending(options.save)
    _pushing(options.save)


if __name__ == "__main__":
    main()
