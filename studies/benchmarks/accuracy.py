"""What an accuracy buys: ``python -m studies benchmark accuracy``.

Every scene of `studies.benchmarks.accuracy_scenes` runs with `Cenic` as it comes and with the
scheme of its paper (friction bounded by the lagged normal force, step doubling without
extrapolation) at several accuracies; the error of the number that a user would look at stands
beside the work.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path

import mujoco
import numpy as np

import asperity as asp
from asperity.integrators.methods.extrapolation import Extrapolation
from asperity.simulator import Recorder
from studies.benchmarks.accuracy_scenes import SCENES, Outcome, Scene
from studies.benchmarks.saved import RESULTS, machine, save_rows
from studies.experiments.paper import paper_cenic

METHODS: dict[str, Callable[..., asp.Cenic]] = {
    "default": asp.Cenic,
    "paper": paper_cenic,
    "positions": partial(asp.Cenic, velocity_weight=0.0),
}
# What sticks, or breaks loose, in steps of limited length.
HELD = ("incline", "lift", "conveyor")
LONGEST = (0.1, 0.01, 0.003, 0.001)
ACCURACIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
REFERENCE_ACCURACY = 1e-8
# One run says little: where steps happen to fall decides. Each figure is that of runs with slightly
# different accuracies, and of variants of the scene where it has some, since what limits its steps
# may be others than the accuracy.
FACTORS = tuple(np.geomspace(1 / 1.4, 1.4, 9))
# Of the rows of `table`, so that a reader sees what became worse.
WORSE = 4 / 3
NEGLIGIBLE = 1e-6  # of a result [m, or share of the energy]
ROUND_OFF = 1e-7  # of a result, below which solver tolerances decide
# Forces at a drive's own rate, not at that of a controller: `Simulator` has no such drive.
LEFT_OUT = "mug, sampled drive"


@dataclass(frozen=True)
class Row:
    """One scene, method and accuracy: median and largest error, mean work."""

    scene: str
    method: str
    accuracy: float
    median_error: float
    largest_error: float
    attempts: float
    iterations: float
    extrapolated: float
    """Share of the steps of bodies and robots."""
    status: str


class _Counting(Recorder):
    """Counts which trees every step has extrapolated."""

    extrapolated = 0.0
    steps = 0

    def before_steps(self, budget: int) -> int:
        super().before_steps(budget)
        self.steps = self.stats.steps
        return 1

    def after_steps(self) -> None:
        assert isinstance(self.session.method, Extrapolation)
        if self.stats.steps > self.steps:
            memory = self.session.method._table
            assert memory is not None
            self.extrapolated += float(np.mean(memory.rough[memory.island] == 0))


def simulate(scene: Scene, integrator: asp.Cenic, *, count: bool = False) -> tuple[Outcome, float]:
    """One run of a scene, and the share of extrapolated steps if they are to be counted."""
    model = mujoco.MjModel.from_xml_string(scene.xml)
    sim = (_Counting if count else Recorder)(model, integrator=integrator)
    if scene.qvel is not None:
        sim.data.qvel[:] = scene.qvel(model)
    sim.start_record()
    status = "ok"
    stops = (0.0, *(s for s in scene.switches if 0.0 < s < scene.duration), scene.duration)
    for begin, end in pairwise(stops):
        if scene.drive is not None:
            sim.data.ctrl[:] = scene.drive(begin)
        report = sim.advance_to(end, on_failure="return")
        if not report.success:
            status = report.status.name.lower()
            break
    work = sim.stats
    outcome = Outcome(model, *sim.record(), work.steps, work.rejections, work.iterations)
    outcome.status = status
    share = sim.extrapolated / max(work.steps, 1) if isinstance(sim, _Counting) else 0.0
    return outcome, share


def _number(scene: Scene, outcome: Outcome) -> np.ndarray:
    """What is looked at: one number, or its course."""
    return np.asarray((scene.course or scene.measure)(outcome))


def converged(scene: Scene) -> float:
    """The true number of a scene, or that of a precise run; NaN for a chaotic scene."""
    if scene.exact is not None:
        return scene.exact
    if scene.chaotic:
        return float("nan")
    return scene.measure(simulate(scene, asp.Cenic(accuracy=REFERENCE_ACCURACY))[0])


def reference(scene: Scene) -> list[np.ndarray]:
    """What a scene's runs are compared with, of all its variants."""
    if scene.exact is not None or scene.chaotic:
        return [np.asarray(converged(scene))]
    precise = asp.Cenic(accuracy=REFERENCE_ACCURACY)
    return [_number(one, simulate(one, precise)[0]) for one in scene.variants or (scene,)]


def measure(scene: Scene, method: str, accuracy: float, truths: Sequence[np.ndarray]) -> Row:
    """Run a scene several times with one method and about one accuracy."""
    make = METHODS[method]
    scenes = [one for one, _ in zip(cycle(scene.variants or (scene,)), FACTORS, strict=False)]
    outcomes = [
        simulate(one, make(accuracy=factor * accuracy))[0]
        for one, factor in zip(scenes, FACTORS, strict=True)
    ]
    share = simulate(scene, make(accuracy=accuracy), count=True)[1] if method == "default" else 0.0
    failed = [outcome.status for outcome in outcomes if outcome.status != "ok"]
    differences = [
        _number(one, o) - truth
        for one, o, truth in zip(scenes, outcomes, cycle(truths), strict=False)
    ]
    errors = np.array([np.nan if failed else np.sqrt(np.mean(d**2)) for d in differences])
    return Row(
        scene.name,
        method,
        accuracy,
        float(np.median(errors)),
        float(np.max(errors)),
        float(np.mean([o.steps + o.rejections for o in outcomes])),
        float(np.mean([o.iterations for o in outcomes])),
        share,
        failed[0] if failed else "ok",
    )


def orders(rows: Sequence[Row]) -> float:
    """Exponent p of error ∝ accuracy^p, by least squares over the rows from 1e-2 on."""
    used = [(r.accuracy, r.median_error) for r in rows if r.accuracy <= 1.01e-2]
    used = [(a, e) for a, e in used if e > ROUND_OFF]
    if len(used) < 3:
        return float("nan")
    return float(np.polyfit(*np.log(np.array(used)).T, 1)[0])


def worse(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Rows of the default whose error exceeds that of the paper's scheme by more than a third."""
    paper = {(r.scene, r.accuracy): r for r in rows if r.method == "paper"}
    pairs = [(r, paper[r.scene, r.accuracy]) for r in rows if r.method == "default"]
    return [
        (new, old)
        for new, old in pairs
        if new.median_error > max(WORSE * old.median_error, NEGLIGIBLE)
    ]


def table(rows: Sequence[Row]) -> str:
    """One scene as Markdown: median / largest error (attempts, iterations)."""
    scene = SCENES[rows[0].scene]
    accuracies = list(dict.fromkeys(row.accuracy for row in rows))
    lines = [
        f"## {scene.name}: {scene.what} [{scene.unit_name}]",
        "",
        "| method | " + " | ".join(f"{a:g}" for a in accuracies) + " | order |",
        "|---" * (len(accuracies) + 2) + "|",
    ]
    for method in dict.fromkeys(row.method for row in rows):
        mine = [r for r in rows if r.method == method]
        cells = []
        for row in mine:
            error = f"{scene.unit * row.median_error:.3g} / {scene.unit * row.largest_error:.3g} "
            if scene.chaotic or row.status != "ok":
                error = "" if row.status == "ok" else f"{row.status} "
            cells.append(f"{error}({row.attempts:.0f}, {row.iterations:.0f})")
        order = orders(mine)
        cells.append("" if np.isnan(order) else f"{order:.2f}")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    shares = [f"{row.extrapolated:.0%}" for row in rows if row.method == "default"]
    if shares:
        lines.append("| extrapolated | " + " | ".join(shares) + " | |")
    return "\n".join(lines) + "\n"


def comparison(rows: Sequence[Row]) -> str:
    """What became worse, as Markdown."""
    lines = ["## Worse than the paper's scheme by more than a third", ""]
    for new, old in worse(rows):
        scene = SCENES[new.scene]
        unit = scene.unit_name
        lines.append(
            f"- {new.scene}, {new.accuracy:g}: {scene.unit * new.median_error:.3g} {unit} "
            f"instead of {scene.unit * old.median_error:.3g} {unit}"
        )
    return "\n".join(lines if len(lines) > 2 else [*lines, "Nothing."]) + "\n"


def longest_steps() -> str:
    """Results at accuracy 1e-3 over the longest step, as Markdown."""
    lines = [
        "## Results at 1e-3 over `max_step` [s]",
        "",
        "| scene | " + " | ".join(f"{h:g}" for h in LONGEST) + " |",
        "|---" * (len(LONGEST) + 1) + "|",
    ]
    for name in HELD:
        scene = SCENES[name]
        cells = []
        for longest in LONGEST:
            setting = asp.Cenic(accuracy=1e-3, max_step=longest)
            cells.append(f"{scene.unit * scene.measure(simulate(scene, setting)[0]):.4g}")
        title = f"{name}: {scene.what} [{scene.unit_name}]"
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def plot(rows: Sequence[Row], path: Path) -> None:
    """Error over accuracy, one colour per scene, the paper's scheme dashed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(10, 5))
    names = [
        name
        for name in dict.fromkeys(row.scene for row in rows)
        if not SCENES[name].chaotic and SCENES[name].unit_name == "mm"
    ]
    for number, name in enumerate(names):
        for method, style in (("paper", "--"), ("default", "o-")):
            mine = [r for r in rows if r.scene == name and r.method == method]
            axes.loglog(
                [r.accuracy for r in mine],
                [1e3 * r.median_error for r in mine],
                style,
                color=f"C{number}",
                alpha=1.0 if method == "default" else 0.6,
                label=f"{name}: {SCENES[name].what}" if method == "default" else None,
            )
    axes.plot([], [], "k--", alpha=0.6, label="dashed: the paper's scheme")
    axes.invert_xaxis()
    axes.set_xlabel("accuracy [m or rad per step]")
    axes.set_ylabel("error of the result [mm]")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def write(rows: Sequence[Row], results: Path) -> None:
    """Keep the rows as ``accuracy.csv`` and show them in ``accuracy.md``."""
    save_rows(results / "accuracy.csv", map(asdict, rows))
    head = (
        "# What an accuracy buys\n\nEvery heading names an error. A cell has its median and its "
        f"largest value over {len(FACTORS)} runs with accuracies around the one in the column; "
        "the walk has nine gaits instead, and the mugs the root mean square of their slip over "
        "time. In brackets are the mean numbers of attempted steps and of Newton iterations. "
        "`order` is the exponent of accuracy with which the median falls from 1e-2 on. "
        "`extrapolated` is the share of steps of bodies and robots. `paper` is "
        '`Cenic(friction_bound="lagged", error_estimate="step-doubling", resolve_impacts=False, '
        "velocity_weight=0)`, `positions` is `Cenic(velocity_weight=0)`. Chaotic scenes show work "
        "only. "
        f"`docs/accuracy.md` explains the results.\n\n{machine()}\n\n"
    )
    tables = [
        table([r for r in rows if r.scene == n]) for n in dict.fromkeys(r.scene for r in rows)
    ]
    text = head + "\n".join([*tables, longest_steps(), comparison(rows)])
    (results / "accuracy.md").write_text(text, encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(
        prog="python -m studies benchmark accuracy", description=__doc__
    )
    parser.add_argument("--scenes", default=";".join(n for n in SCENES if n != LEFT_OUT))
    parser.add_argument("--accuracies", default=";".join(f"{a:g}" for a in ACCURACIES))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--plot", type=Path, help="picture to write (needs matplotlib)")
    args = parser.parse_args(argv)
    rows: list[Row] = []
    for name in args.scenes.split(";"):
        truths = reference(SCENES[name])
        for method in METHODS:
            for accuracy in map(float, args.accuracies.split(";")):
                rows.append(measure(SCENES[name], method, accuracy, truths))
        print(table([row for row in rows if row.scene == name]), file=sys.stderr, flush=True)
    write(rows, args.results)
    if args.plot is not None:
        plot(rows, args.plot)


if __name__ == "__main__":
    main()
