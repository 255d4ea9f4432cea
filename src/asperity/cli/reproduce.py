"""``asperity reproduce NAME``."""

from __future__ import annotations

import sys
import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asperity.cli.exits import FAILED, INTERRUPTED, SUCCESS
from asperity.cli.options import Traceback
from asperity.errors import ArgumentError, MissingExtra, SimulationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from studies.experiments import Experiment, Outcome

__all__ = ["reproduce"]


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Experiments, groups such as sap, or patterns such as 'sap-figure-1*'.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Folder for the files.", show_default="the current folder"
        ),
    ] = Path(),
    full: Annotated[
        bool, typer.Option("--full", help="All sizes and repetitions, which take longer.")
    ] = False,
    video: Annotated[
        bool, typer.Option("--video", help="NAME.mp4 too, of experiments that have a video.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Trainings of each policy.", show_default="the experiment's"
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Iterations of a training.", show_default="the experiment's"
        ),
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Engines in which policies are trained, such as 'Bullet*'; may be repeated.",
            show_default="the experiment's",
        ),
    ] = None,
    policies: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder that keeps trained policies; those that it has are not trained again.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the numbers in the checkout, for docs/experiments.md."),
    ] = False,
    show_list: Annotated[
        bool, typer.Option("--list", help="Show the experiments and exit.")
    ] = False,
    show_traceback: Traceback = False,
) -> int:
    """Compute figures of the papers again, and print our results beside theirs.

    Writes NAME.csv and, with the extra 'reproduce', NAME.png. With --video and
    the extra 'viz' it also writes NAME.mp4.
    """
    from asperity.cli.console import print_error, results, transient

    output = results()
    if not show_list and not names:
        raise ArgumentError("name an experiment; 'asperity reproduce --list' shows them.")

    from asperity.media.errors import MediaError

    find_studies()
    from studies.experiments import experiments, select

    if show_list:
        _print_list(output, select(names) if names else experiments())
        return SUCCESS
    chosen = select(names or [])
    given: dict[str, Any] = {"seeds": seeds, "iterations": iterations}
    given |= {"engine": engine or None, "policies": policies}
    settings = {name: value for name, value in given.items() if value is not None}
    for experiment in chosen:
        experiment.require(settings)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"--out {out} cannot be made ({error.strerror or error}).") from None
    failures = []
    for experiment in chosen:
        try:
            outcome, seconds = _run(experiment, out, full, video, settings, transient())
        except KeyboardInterrupt:
            print_error(f"{experiment.name} was interrupted; nothing of it was written.")
            return INTERRUPTED
        except (SimulationError, MediaError, MissingExtra, OSError) as error:
            failures.append(f"{experiment.name} failed: {error}")
            continue
        _print_outcome(output, experiment, outcome, seconds)
        if keep:
            experiment.keep(outcome)
        if outcome.plot_failure and outcome.plot_failure not in failures:
            failures.append(outcome.plot_failure)
    for failure in failures:
        print_error(failure)
    return FAILED if failures else SUCCESS


def find_studies() -> None:
    """Let the experiments be imported, which are not part of the package but of its repository.

    Raises
    ------
    ArgumentError
        If they are neither in the checkout that the package is imported from, nor in the current
        folder when this is Asperity's repository.
    """
    for root in (Path(__file__).resolve().parents[3], Path.cwd()):
        if (root / "studies" / "experiments" / "registry.py").is_file():
            if str(root) not in sys.path:
                sys.path.insert(0, str(root))
            return
    raise ArgumentError(
        "the installed package does not have the experiments; run this command in the root folder "
        "of a checkout of Asperity's repository, which has them in its folder 'studies'."
    )


def _run(
    experiment: Experiment,
    out: Path,
    full: bool,
    video: bool,
    settings: dict[str, Any],
    console: Console,
) -> tuple[Outcome, float]:
    """Do an experiment and show its progress; Ctrl-C ends it at its next report of progress."""
    from asperity.cli.console import preparing
    from asperity.cli.interrupts import deferred_interrupt
    from asperity.cli.progress import shown_progress

    with preparing(console):
        from asperity.integrators import Sap
        from asperity.simulator import Simulator
        from studies.scenes.spring_cylinder import spring_cylinder

        # Compiled here, kernels are not taken for slow work of the first experiment.
        Simulator(spring_cylinder().xml, integrator=Sap()).step()
    started = clock.perf_counter()
    with deferred_interrupt() as interrupt, shown_progress(experiment.name, console) as show:

        def progress(share: float) -> None:
            show(share)
            interrupt.check()

        outcome = experiment.run(out, full=full, video=video, progress=progress, settings=settings)
    return outcome, clock.perf_counter() - started


def _print_list(console: Console, chosen: Sequence[Experiment]) -> None:
    from rich import box
    from rich.table import Table

    from studies.experiments.kept import load

    times = {one.experiment: f"{one.cpu_s} s" for one in load() if one.cpu_s}
    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading in ("name", "source", "what it shows", "CPU time"):
        table.add_column(heading, no_wrap=heading in ("name", "CPU time"))
    for experiment in chosen:
        time = times.get(experiment.name, "–")
        table.add_row(experiment.name, experiment.source, experiment.description, time)
    console.print(table)


def _print_outcome(
    console: Console, experiment: Experiment, outcome: Outcome, seconds: float
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = f"{experiment.source}: {experiment.description}"
    table = Table(box=box.SIMPLE, pad_edge=False, title=Text(title), title_justify="left")
    for heading in ("", "Asperity", "paper", "agrees"):
        table.add_column(heading)
    for finding in outcome.findings:
        row = finding.quantity, finding.ours, finding.paper, finding.verdict
        table.add_row(*map(Text, row))
    console.print(table)
    for path in outcome.files:
        console.print(f"Wrote {path}", markup=False, soft_wrap=True)
    console.print(f"{seconds:.1f} s of wall time", soft_wrap=True)
