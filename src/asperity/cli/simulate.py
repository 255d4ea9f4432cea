"""``asperity simulate MODEL``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from asperity.cli.exits import FAILED, INTERRUPTED, SUCCESS
from asperity.cli.integrator_options import make_integrator, naming_flags, surface_of
from asperity.cli.options import (
    FloatingBase,
    Floor,
    ModelPath,
    PackagePaths,
    Traceback,
)
from asperity.errors import ModelError, Status

__all__ = ["exit_code", "simulate"]

_OUTPUT = "Output"
_CONTACT = "Contact"


def simulate(
    model: ModelPath,
    integrator: Annotated[
        str,
        typer.Option(metavar="NAME", help="'asperity info --integrators' shows them."),
    ] = "cenic",
    duration: Annotated[float, typer.Option(help="Simulated time, in s.")] = 5.0,
    keyframe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|N", help="Start from this keyframe of the model.", show_default=False
        ),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(
            metavar="point|hydroelastic",
            help="Contact in points, or with a field of pressure in every geom.",
            show_default="the model's, else point",
            rich_help_panel=_CONTACT,
        ),
    ] = None,
    hydroelastic_modulus: Annotated[
        float | None,
        typer.Option(
            help="Largest pressure of the fields, in Pa.",
            show_default="the model's, else 1e7",
            rich_help_panel=_CONTACT,
        ),
    ] = None,
    resolution: Annotated[
        float | None,
        typer.Option(
            help="Length of edges of the fields on round geoms, in m.",
            show_default="the model's, else 1/8 of a radius",
            rich_help_panel=_CONTACT,
        ),
    ] = None,
    stiffness: Annotated[
        float | None,
        typer.Option(
            help="Of every pair of geoms without values of its own, in N/m.",
            show_default="the model's, else 1e5",
            rich_help_panel=_CONTACT,
        ),
    ] = None,
    dissipation: Annotated[
        float | None,
        typer.Option(
            help="Hunt-Crossley dissipation, in s/m.",
            show_default="the model's, else 10",
            rich_help_panel=_CONTACT,
        ),
    ] = None,
    friction: Annotated[
        float | None,
        typer.Option(
            help="Coefficient of friction.",
            show_default="the model's",
            rich_help_panel=_CONTACT,
        ),
    ] = None,
    stiction_tolerance: Annotated[
        float | None,
        typer.Option(
            help="Slip speed below which contacts stick, in m/s.",
            show_default="the model's, else 1e-4",
            rich_help_panel=_CONTACT,
        ),
    ] = None,
    relaxation_time: Annotated[
        float | None,
        typer.Option(
            help="Linear dissipation, in s.",
            show_default="the model's, else the time step",
            rich_help_panel=_CONTACT,
        ),
    ] = None,
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
            help="Times, states and controls of every accepted step, and the model.",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    camera: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|N",
            help="Camera of the model.",
            show_default="one that frames what moves",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    fps: Annotated[
        float,
        typer.Option(help="Frames per second of simulated time.", rich_help_panel=_OUTPUT),
    ] = 30.0,
    package_path: PackagePaths = None,
    floating_base: FloatingBase = None,
    floor: Floor = None,
    show_traceback: Traceback = False,
    **options: Any,
) -> int:
    """Simulate an MJCF or URDF model without control inputs, and tell how well it went.

    Ctrl-C or SIGTERM ends the simulation early; what was computed is saved all the same.
    """
    contact_options = {
        "surface": surface_of(contact),
        "hydroelastic_modulus": hydroelastic_modulus,
        "resolution": resolution,
        "stiffness": stiffness,
        "dissipation": dissipation,
        "friction": friction,
        "stiction_tolerance": stiction_tolerance,
        "relaxation_time": relaxation_time,
    }
    stepping, contact_values = make_integrator(integrator, {**options, **contact_options})
    if not 0.0 < duration < float("inf"):
        raise ModelError(f"--duration must be a positive, finite number, got {duration}.")

    from asperity.cli.console import preparing, print_error, print_notes, results, transient
    from asperity.cli.models import load
    from asperity.cli.outputs import Outputs
    from asperity.cli.runner import run
    from asperity.cli.summary import print_summary
    from asperity.plant.contact_parameters import ContactParameters
    from asperity.simulator import Recorder
    from asperity.simulator.checks import find_keyframe

    passing, output = transient(), results()
    with naming_flags(contact_values):
        parameters = ContactParameters(**contact_values)
    loaded, notes = load(model, package_path, floating_base, floor)
    if keyframe is not None:
        find_keyframe(loaded, keyframe)
    outputs = Outputs(video, html, save, _camera(camera), fps, parameters)
    outputs.check(loaded)
    print_notes(passing, notes)
    with preparing(passing):
        simulator = Recorder(loaded, integrator=stepping, contact=parameters)
        if keyframe is not None:
            simulator.reset(keyframe)
        simulator.warm_up()
    finished = run(simulator, duration, passing)
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


def _camera(given: str | None) -> str | int | None:
    return int(given) if given is not None and given.isdigit() else given
