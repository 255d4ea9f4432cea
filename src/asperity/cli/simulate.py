"""``asperity simulate MODEL``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from asperity.cli import contact_options, control_options
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

__all__ = ["as_camera", "exit_code", "simulate"]

_OUTPUT = "Output"


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
    ctrl: control_options.Ctrl = None,
    control: control_options.ControlFunction = None,
    control_period: control_options.ControlPeriod = None,
    contact: contact_options.Contact = None,
    hydroelastic_modulus: contact_options.HydroelasticModulus = None,
    resolution: contact_options.Resolution = None,
    stiffness: contact_options.Stiffness = None,
    dissipation: contact_options.Dissipation = None,
    friction: contact_options.Friction = None,
    stiction_tolerance: contact_options.StictionTolerance = None,
    relaxation_time: contact_options.RelaxationTime = None,
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
    """Simulate an MJCF or URDF model, and tell how well it went.

    Ctrl-C or SIGTERM ends the simulation early; what was computed is saved all the same.
    """
    of_contact = {
        "surface": surface_of(contact),
        "hydroelastic_modulus": hydroelastic_modulus,
        "resolution": resolution,
        "stiffness": stiffness,
        "dissipation": dissipation,
        "friction": friction,
        "stiction_tolerance": stiction_tolerance,
        "relaxation_time": relaxation_time,
    }
    stepping, contact_values = make_integrator(integrator, {**options, **of_contact})
    if not 0.0 < duration < float("inf"):
        raise ModelError(f"--duration must be a positive, finite number, got {duration}.")
    function = control_options.control_function(control, control_period)

    import numpy as np

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
    outputs = Outputs(video, html, save, as_camera(camera), fps, parameters)
    outputs.check(loaded)
    if ctrl is not None:
        control_options.control_values(loaded, ctrl, np.zeros(loaded.nu))
    print_notes(passing, notes)
    with preparing(passing):
        simulator = Recorder(
            loaded,
            integrator=stepping,
            contact=parameters,
            control=function,
            control_period=control_period,
        )
        if keyframe is not None:
            simulator.reset(keyframe)
        if ctrl is not None:
            held = control_options.control_values(loaded, ctrl, simulator.data.ctrl)
            simulator.data.ctrl[:] = held
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


def as_camera(given: str | None) -> str | int | None:
    """A camera by name or number."""
    return int(given) if given is not None and given.isdigit() else given
