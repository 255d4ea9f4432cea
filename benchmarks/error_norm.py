"""What an accuracy buys under different error norms: ``python -m benchmarks.error_norm``.

Every scene of `benchmarks.accuracy_scenes` runs with every norm of `benchmarks.candidate_norms` at
several accuracies; the error of the number that a user would look at is compared with the work.
Steps are doubled without extrapolation but for the norms that say so. What the library's own choice
makes of the scenes: `benchmarks.accuracy`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import mujoco
import numpy as np

import asperity as asp
from benchmarks.accuracy import LEFT_OUT, converged
from benchmarks.accuracy_scenes import SCENES, Scene
from benchmarks.candidate_norms import NORMS, Outcome, run
from benchmarks.report import RESULTS, machine

# One run says little: where steps happen to fall decides. Each figure is that of runs with slightly
# different accuracies.
FACTORS = tuple(np.geomspace(1 / 1.4, 1.4, 5))
REFERENCE_ACCURACY = 1e-6
MAX_ATTEMPTS = 4_000
# Too slow, or too chaotic, for a norm whose work grows with 1/accuracy.
LARGE = ("walk", "clutter-hard", "clutter-soft")
SHOWN = (
    "position",
    "velocity 0.3",
    "velocity 1",
    "velocity 3",
    "slip 1",
    "extrapolated",
    "unit step 0.1 s",
)
TRAPEZOID = {"trapezoid": 0.0, "trapezoid, velocity 1": 1.0}


@dataclass(frozen=True)
class Row:
    """One scene, norm and accuracy: median and largest error, mean work."""

    scene: str
    norm: str
    accuracy: float
    median_error: float
    largest_error: float
    attempts: float
    rejections: float
    iterations: float
    status: str


def simulate(scene: Scene, norm: str, accuracy: float, attempts: int = MAX_ATTEMPTS) -> Outcome:
    """One run of a scene."""
    model = mujoco.MjModel.from_xml_string(scene.xml)
    if norm in TRAPEZOID:
        setting = asp.Cenic(accuracy=accuracy, scheme="trapezoid", velocity_weight=TRAPEZOID[norm])
        path = asp.simulate(model, (0.0, scene.duration), integrator=setting)
        work = path.stats
        return Outcome(
            model, path.time, path.qpos, path.qvel, work.steps, work.rejections, work.iterations
        )
    return run(
        model,
        scene.duration,
        accuracy,
        NORMS[norm],
        max_step=scene.max_step,
        qvel=None if scene.qvel is None else scene.qvel(model),
        drive=scene.drive,
        switches=scene.switches,
        max_attempts=attempts,
    )


def reference(scene: Scene) -> float:
    """The number that a scene's runs are compared with; NaN for a chaotic scene."""
    if scene.name == LEFT_OUT:
        return scene.measure(simulate(scene, "position", REFERENCE_ACCURACY, 10**6))
    return converged(scene)


def measure(scene: Scene, norm: str, accuracy: float, truth: float) -> Row:
    """Run a scene several times with one norm and about one accuracy."""
    outcomes = [simulate(scene, norm, factor * accuracy) for factor in FACTORS]
    failed = [outcome.status for outcome in outcomes if outcome.status != "ok"]
    errors = np.array([np.nan if failed else abs(scene.measure(o) - truth) for o in outcomes])
    return Row(
        scene.name,
        norm,
        accuracy,
        float(np.median(errors)),
        float(np.max(errors)),
        float(np.mean([o.steps + o.rejections for o in outcomes])),
        float(np.mean([o.rejections for o in outcomes])),
        float(np.mean([o.iterations for o in outcomes])),
        failed[0] if failed else "ok",
    )


def norms_of(scene: Scene, norms: Sequence[str]) -> list[str]:
    """Those of the norms that make sense for a scene."""
    chosen = [n for n in norms if not (scene.name in LARGE and n.startswith("unit step"))]
    return chosen + (list(TRAPEZOID) if scene.name == "bounce" else [])


def table(rows: Sequence[Row]) -> str:
    """One scene as Markdown: median / largest error (attempts, iterations)."""
    scene = SCENES[rows[0].scene]
    accuracies = list(dict.fromkeys(row.accuracy for row in rows))
    lines = [
        f"## {scene.name}: {scene.what} [{scene.unit_name}]",
        "",
        "| norm | " + " | ".join(f"{a:g}" for a in accuracies) + " |",
        "|---" * (len(accuracies) + 1) + "|",
    ]
    for norm in dict.fromkeys(row.norm for row in rows):
        cells = []
        for row in (r for r in rows if r.norm == norm):
            error = f"{scene.unit * row.median_error:.3g} / {scene.unit * row.largest_error:.3g} "
            if scene.chaotic or row.status != "ok":
                error = "" if row.status == "ok" else f"{row.status} "
            cells.append(f"{error}({row.attempts:.0f}, {row.iterations:.0f})")
        lines.append(f"| {norm} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.error_norm", description=__doc__)
    parser.add_argument("--scenes", default=";".join(SCENES))
    parser.add_argument("--norms", default=";".join(SHOWN))
    parser.add_argument("--accuracies", default="1e-1;1e-2;1e-3;1e-4")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args(argv)
    rows: list[Row] = []
    for name in args.scenes.split(";"):
        scene = SCENES[name]
        truth = reference(scene)
        for norm in norms_of(scene, args.norms.split(";")):
            for accuracy in map(float, args.accuracies.split(";")):
                rows.append(measure(scene, norm, accuracy, truth))
        print(table([row for row in rows if row.scene == name]), file=sys.stderr, flush=True)
    with (args.results / "error_norm.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    head = (
        "# Error norms\n\nMedian / largest error of the number named in each heading over "
        f"{len(FACTORS)} runs with accuracies around the one in the column, and in brackets the "
        "mean number of attempted steps and of Newton iterations. Chaotic scenes show work only. "
        "Friction is bounded by the delivered normal force, steps are doubled. "
        f"`docs/accuracy.md` says what follows.\n\n{machine()}\n\n"
    )
    tables = [
        table([r for r in rows if r.scene == n]) for n in dict.fromkeys(r.scene for r in rows)
    ]
    (args.results / "error_norm.md").write_text(head + "\n".join(tables))


if __name__ == "__main__":
    main()
