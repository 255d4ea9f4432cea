"""``asperity study MODEL``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asperity.cli.exits import FAILED, INTERRUPTED, SUCCESS
from asperity.cli.options import FloatingBase, Floor, Keyframe, ModelPath, PackagePaths, Traceback
from asperity.errors import ArgumentError, MissingExtra

if TYPE_CHECKING:
    import mujoco
    from rich.console import Console

    from asperity.study import Study
    from asperity.study.figures import Panel

__all__ = ["study"]

_CSV_FIELDS = (
    "method",
    "parameter",
    "integrator",
    "status",
    "position error",
    "velocity error",
    "wall time per simulated time",
    "steps",
    "rejections",
    "evaluations",
    "iterations",
)


def study(
    model: ModelPath,
    methods: Annotated[
        str, typer.Option(help="Comma-separated, such as cenic,icf,tamsi; all for every one.")
    ] = "cenic,icf",
    accuracies: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated, for methods with error control.",
            show_default="1e-1,1e-2,1e-3,1e-4",
        ),
    ] = None,
    time_steps: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated, for methods with fixed steps, in s.",
            show_default="1e-2,3e-3,1e-3,3e-4",
        ),
    ] = None,
    duration: Annotated[float, typer.Option(help="Simulated time, in s.")] = 2.0,
    keyframe: Keyframe = None,
    target: Annotated[
        float,
        typer.Option(help="Position error per window that is good enough, in m and rad."),
    ] = 1e-3,
    window: Annotated[float, typer.Option(help="Length of the windows, in s.")] = 0.025,
    windows: Annotated[int, typer.Option(help="Most windows to look at in a trial.")] = 40,
    reference_step: Annotated[
        float, typer.Option(help="Time step of the references, in s.")
    ] = 1e-5,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Folder for the files.", show_default="the current folder"
        ),
    ] = Path(),
    package_path: PackagePaths = None,
    floating_base: FloatingBase = None,
    floor: Floor = None,
    show_traceback: Traceback = False,
) -> int:
    """Recommend a method and an accuracy or time step; nothing controls the model.

    The error is the localised error. In every window of time a reference of tiny steps starts from
    the simulation's own state, and both are compared at the end. Prints a table and a
    recommendation; writes study.csv and, with the extra 'reproduce', study.png.
    """
    names = [name.strip() for name in methods.split(",") if name.strip()]
    tried = {
        "accuracies": _numbers("--accuracies", accuracies),
        "time_steps": _numbers("--time-steps", time_steps),
    }

    from asperity.cli.console import preparing, print_error, print_notes, results, transient
    from asperity.cli.models import load
    from asperity.simulator.checks import find_keyframe
    from asperity.study.figures import draw

    passing, output = transient(), results()
    with preparing(passing):
        loaded, notes = load(model, package_path, floating_base, floor)
        if keyframe is not None:
            find_keyframe(loaded, keyframe)
    print_notes(passing, notes)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"--out {out} cannot be made ({error.strerror or error}).") from None
    options: dict[str, Any] = {
        "methods": names,
        "duration": duration,
        "keyframe": keyframe,
        "target": target,
        "window": window,
        "windows": windows,
        "reference_step": reference_step,
        **tried,
    }
    try:
        done = _run(loaded, options, passing)
    except KeyboardInterrupt:
        print_error("the study was interrupted; nothing of it was written.")
        return INTERRUPTED
    _print(output, done)
    files = [out / "study.csv"]
    _write_csv(files[0], done)
    code = SUCCESS
    try:
        draw(out / "study.png", _panels(done), f"Work and precision: {model.name}")
        files.append(out / "study.png")
    except MissingExtra as error:
        print_error(str(error))
        code = FAILED
    for path in files:
        output.print(f"Wrote {path}", markup=False, soft_wrap=True)
    if all(trial.errors is None for trial in done.trials):
        return FAILED
    return code


def _numbers(option: str, text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        values = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ArgumentError(
            f"{option} must be numbers with commas between, got {text!r}."
        ) from None
    if not all(0.0 < value < float("inf") for value in values):
        raise ArgumentError(f"{option} must be positive, finite numbers, got {text!r}.")
    return values


def _run(model: mujoco.MjModel, options: dict[str, Any], console: Console) -> Study:
    """Do the study with a progress bar; Ctrl-C ends it at its next report of progress."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from asperity.cli.interrupts import deferred_interrupt
    from asperity.study import study_methods, work_precision

    bar = Progress(
        TextColumn("Studying"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with deferred_interrupt() as interrupt, bar:
        task = bar.add_task("", total=1.0)

        def progress(share: float) -> None:
            bar.update(task, completed=share)
            interrupt.check()

        if options["methods"] == ["all"]:
            options = {**options, "methods": list(study_methods())}
        return work_precision(model, progress=progress, **options)


def _print(console: Console, done: Study) -> None:
    from rich import box
    from rich.table import Table

    title = f"Root mean square errors within {1e3 * done.window:g} ms, or a step that is longer"
    table = Table(box=box.SIMPLE, pad_edge=False, title=title, title_justify="left")
    table.add_column("method", no_wrap=True)
    for heading in ("", "position", "velocity", "wall time", "steps", "evaluations"):
        table.add_column(heading, justify="right")
    for trial in done.trials:
        if trial.errors is None:
            table.add_row(trial.method, f"{trial.parameter:g}", "failed:", trial.status.name)
            continue
        table.add_row(
            trial.method,
            f"{trial.parameter:g}",
            f"{trial.errors.position:.1e}",
            f"{trial.errors.velocity:.1e}",
            f"{trial.cost:.2g} s/s",
            str(trial.stats.steps),
            str(trial.stats.evaluations),
        )
    console.print(table)
    for errors in {id(e): e for e in done.reference_errors.values()}.values():
        methods = ", ".join(n for n, e in done.reference_errors.items() if e is errors)
        console.print(
            f"Errors of {methods} are known to {errors.position:.0e} and {errors.velocity:.0e}.",
            soft_wrap=True,
        )
    console.print(done.recommendation, soft_wrap=True, markup=False)


def _write_csv(path: Path, done: Study) -> None:
    import csv

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_CSV_FIELDS)
        for trial in done.trials:
            errors = trial.errors
            stats = trial.stats
            writer.writerow(
                [
                    trial.method,
                    trial.parameter,
                    trial.expression,
                    trial.status.name,
                    "" if errors is None else errors.position,
                    "" if errors is None else errors.velocity,
                    trial.cost,
                    stats.steps,
                    stats.rejections,
                    stats.evaluations,
                    stats.iterations,
                ]
            )


def _panels(done: Study) -> list[Panel]:
    import numpy as np

    from asperity.study.figures import Curve, Panel

    measured = [trial for trial in done.trials if trial.errors is not None]
    names = list(dict.fromkeys(trial.method for trial in measured))
    panels = []
    for label, cost in (
        ("wall time per simulated time", lambda trial: trial.cost),
        ("evaluations of the dynamics", lambda trial: trial.stats.evaluations),
    ):
        curves = []
        for name in names:
            points = [trial for trial in measured if trial.method == name]
            x = np.array([float(cost(trial)) for trial in points])
            y = np.array([trial.errors.position for trial in points if trial.errors])
            curves.append(Curve(name, x, np.maximum(y, 1e-16), "o-"))
        panels.append(Panel(label, "position error [m, rad]", curves, log_x=True, log_y=True))
    return panels
