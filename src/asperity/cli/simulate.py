"""``asperity simulate MODEL``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from asperity.cli.exits import FAILED, INTERRUPTED, SUCCESS
from asperity.cli.options import Camera, ModelPath, as_camera
from asperity.cli.setup import Setup
from asperity.errors import ArgumentError, Status

__all__ = ["exit_code", "simulate"]

_OUTPUT = "Output"

MOST_BYTES = 1 << 24
"""Memory that steps may take [bytes] before they are saved as a part, or forgotten."""


def simulate(
    model: ModelPath,
    duration: Annotated[float, typer.Option(help="Simulated time, in s.")] = 5.0,
    video: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.mp4", help="Video.", show_default=False, rich_help_panel=_OUTPUT
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="3D playback for a web browser.",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Times, states and controls of every accepted step, and the model; in parts, "
            "FILE.0001.npz and so on, where they take more than 16 MB of memory.",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    save_every: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Save parts of so much simulated time, FILE.0001.npz and so on.",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png",
            help="Steps, errors, iterations, contacts and energy over time (.png, .pdf or .svg).",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    camera: Camera = None,
    fps: Annotated[
        float | None,
        typer.Option(
            help="Frames per second of simulated time.",
            show_default="30",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    **options: Any,
) -> int:
    """Simulate an MJCF or URDF model, and print a summary.

    Ctrl-C or SIGTERM ends the simulation early and saves the part that was computed.
    """
    if not 0.0 < duration < float("inf"):
        raise ArgumentError(f"--duration must be a positive, finite number, got {duration}.")
    if save_every is not None and not (save_every > 0.0 and save is not None):
        raise ArgumentError(
            "--save-every must be a positive number of seconds, and needs --save FILE.npz."
        )
    if save_every is not None and (video is not None or html is not None):
        raise ArgumentError(
            "--video and --html need the whole run, which --save-every does not keep in memory; "
            "omit them, and make them later of what asperity.Trajectory.load reads."
        )
    if video is None and html is None:
        for name, value in (("--camera", camera), ("--fps", fps)):
            if value is not None:
                raise ArgumentError(f"{name} is for pictures; give --video or --html, or omit it.")
    setup = Setup.read(model, options)

    from asperity.cli.console import print_error, results, transient
    from asperity.cli.outputs import Outputs
    from asperity.cli.runner import run
    from asperity.cli.summary import print_summary
    from asperity.simulator import Recorder

    passing, output = transient(), results()
    rate = 30.0 if fps is None else fps
    outputs = Outputs(
        video, html, save, as_camera(camera), rate, setup.contact, plot, save_every is not None
    )
    outputs.check(setup.model)
    simulator = setup.simulator(Recorder, passing, history=plot is not None)
    finished = run(
        simulator,
        duration,
        passing,
        every=save_every,
        save=outputs.save_part if save is not None else None,
        most_bytes=MOST_BYTES if video is None and html is None else math.inf,
    )
    print_summary(output, finished)
    failures = outputs.write(finished.trajectory, output)
    for failure in failures:
        print_error(failure)
    code = exit_code(finished.trajectory.status)
    if code == FAILED:
        print_error(finished.trajectory.message)
    return FAILED if failures else code


def exit_code(status: Status) -> int:
    """The exit code of a simulation that ended in this way."""
    return {Status.SUCCESS: SUCCESS, Status.INTERRUPTED: INTERRUPTED}.get(status, FAILED)
