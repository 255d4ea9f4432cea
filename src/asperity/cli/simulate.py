"""``asperity simulate MODEL``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asperity.cli.exits import FAILED, INTERRUPTED, SUCCESS
from asperity.cli.options import (
    FloatingBase,
    Floor,
    IntegratorName,
    ModelPath,
    PackagePaths,
    SchemeName,
    Traceback,
)
from asperity.errors import ModelError, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from asperity.integrators import Integrator

__all__ = ["exit_code", "simulate"]

_ERROR_CONTROL = "Error control (cenic, classical)"
_FIXED = "Fixed steps (icf, sap, tamsi, midas, classical)"
_SCHEME = "Scheme (cenic, sap, midas)"
_OUTPUT = "Output"
_CONTACT = "Contact"
_URDF = "URDF"

_LAGGED = {"--stiffness", "--dissipation", "--stiction-tolerance"}
_CLASSICAL_NAMES = (
    IntegratorName.RUNGE_KUTTA_3,
    IntegratorName.IMPLICIT_EULER,
    IntegratorName.SDIRK2,
    IntegratorName.ROSENBROCK2,
)
_CLASSICAL = {"--accuracy", "--max-step", "--time-step"} | _LAGGED
_CONTACT_OPTIONS = _LAGGED | {"--relaxation-time"}

# Which options belong to which integrator, of those that do not belong to all.
_OPTIONS = {
    IntegratorName.CENIC: {"--accuracy", "--max-step", "--scheme"} | _LAGGED,
    IntegratorName.ICF: {"--time-step"} | _LAGGED,
    IntegratorName.SAP: {"--time-step", "--scheme", "--stiffness", "--relaxation-time"},
    IntegratorName.TAMSI: _CLASSICAL,
    **dict.fromkeys(_CLASSICAL_NAMES, _CLASSICAL),
    IntegratorName.MIDAS: {"--time-step", "--scheme", "--separate"},
}
_SCHEMES = {
    IntegratorName.CENIC: ("step-doubling", "trapezoid"),
    IntegratorName.ICF: (),
    IntegratorName.SAP: ("symplectic-euler", "midpoint", "implicit-euler", "explicit-euler"),
    IntegratorName.TAMSI: (),
    **dict.fromkeys(_CLASSICAL_NAMES, ()),
    IntegratorName.MIDAS: ("implicit-euler", "bdf2"),
}


def simulate(
    model: ModelPath,
    integrator: Annotated[
        IntegratorName,
        # The list of names in this place would leave no room for the help of all options.
        typer.Option(
            metavar="NAME",
            help="Error control: cenic. Fixed steps: icf, sap, midas. Either: tamsi and "
            "classical: runge-kutta-3, implicit-euler, sdirk2, rosenbrock2.",
        ),
    ] = IntegratorName.CENIC,
    duration: Annotated[float, typer.Option(help="Simulated time, in s.")] = 5.0,
    keyframe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|N", help="Start from this keyframe of the model.", show_default=False
        ),
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(
            help="Largest estimated position error of a step, in m and rad.",
            show_default="1e-3",
            rich_help_panel=_ERROR_CONTROL,
        ),
    ] = None,
    max_step: Annotated[
        float | None,
        typer.Option(
            help="Largest step, in s.", show_default="0.1", rich_help_panel=_ERROR_CONTROL
        ),
    ] = None,
    scheme: Annotated[
        SchemeName | None,
        typer.Option(
            help="The first two belong to cenic, the next four to sap, implicit-euler and bdf2 to "
            "midas.",
            show_default="step-doubling; symplectic-euler; implicit-euler",
            rich_help_panel=_SCHEME,
        ),
    ] = None,
    time_step: Annotated[
        float | None,
        typer.Option(
            help="Step size, in s.",
            show_default="icf, tamsi: 1e-3; sap, midas: 1e-2",
            rich_help_panel=_FIXED,
        ),
    ] = None,
    separate: Annotated[
        bool,
        typer.Option(
            "--separate",
            help="Move free bodies apart that touch or overlap at the start (midas).",
            rich_help_panel=_FIXED,
        ),
    ] = False,
    stiffness: Annotated[
        float | None,
        typer.Option(
            help="Of every pair of geoms without values of its own, in N/m (not midas).",
            show_default="the model's, else 1e5",
            rich_help_panel=_CONTACT,
        ),
    ] = None,
    dissipation: Annotated[
        float | None,
        typer.Option(
            help="Hunt-Crossley dissipation, not of sap, in s/m.",
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
            help="Slip speed below which contacts stick, not of sap, in m/s.",
            show_default="the model's, else 1e-4",
            rich_help_panel=_CONTACT,
        ),
    ] = None,
    relaxation_time: Annotated[
        float | None,
        typer.Option(
            help="Linear dissipation of sap, in s.",
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
            help="Times and states of every accepted step.",
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
) -> int:
    """Simulate an MJCF or URDF model without control inputs, and tell how well it went.

    Ctrl-C ends the simulation early; what was computed is saved all the same.
    """
    stepping = _integrator(
        integrator,
        {
            "--accuracy": accuracy,
            "--max-step": max_step,
            "--scheme": None if scheme is None else scheme.value,
            "--time-step": time_step,
            "--separate": separate or None,
            "--stiffness": stiffness,
            "--dissipation": dissipation,
            "--stiction-tolerance": stiction_tolerance,
            "--relaxation-time": relaxation_time,
        },
    )
    _require_positive("--duration", duration)

    from asperity.cli.console import preparing, print_error, print_notes, results, transient
    from asperity.cli.models import load
    from asperity.cli.outputs import Outputs
    from asperity.cli.runner import run
    from asperity.cli.summary import print_summary
    from asperity.plant.contact_parameters import ContactParameters
    from asperity.simulator import Recorder
    from asperity.simulator.simulator import find_keyframe

    passing, output = transient(), results()
    contact = ContactParameters(
        stiffness=stiffness,
        dissipation=dissipation,
        friction=friction,
        stiction_tolerance=stiction_tolerance,
        relaxation_time=relaxation_time,
    )
    loaded, notes = load(model, package_path, floating_base, floor)
    if keyframe is not None:
        find_keyframe(loaded, keyframe)
    outputs = Outputs(video, html, save, _camera(camera), fps)
    outputs.check(loaded)
    print_notes(passing, notes)
    with preparing(passing):
        simulator = Recorder(loaded, integrator=stepping, contact=contact)
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


def _integrator(name: IntegratorName, given: dict[str, float | str | bool | None]) -> Integrator:
    """Make the integrator from the options that belong to it; the others must be absent."""
    for option, value in given.items():
        if value is not None and option not in _OPTIONS[name]:
            others = " or ".join(
                f"--integrator {other.value}"
                for other in IntegratorName
                if option in _OPTIONS[other]
            )
            raise ModelError(
                f"{option} does not apply to the integrator {name.value}; omit it, or choose "
                f"{others}."
            )
    scheme = given["--scheme"]
    if scheme is not None and scheme not in _SCHEMES[name]:
        known = ", ".join(_SCHEMES[name])
        raise ModelError(f"--scheme {scheme} is not one of {name.value}; use one of {known}.")
    for option, value in given.items():
        if value is None or isinstance(value, str | bool) or option in _CONTACT_OPTIONS:
            continue
        _require_positive(option, value)

    from asperity.integrators import (
        Cenic,
        Icf,
        ImplicitEuler,
        Rosenbrock2,
        RungeKutta3,
        Sap,
        Sdirk2,
        Tamsi,
    )
    from asperity.midas import Midas

    values = {
        option.removeprefix("--").replace("-", "_"): value
        for option, value in given.items()
        if value is not None and option not in _CONTACT_OPTIONS
    }
    kinds: dict[IntegratorName, Callable[..., Integrator]] = {
        IntegratorName.CENIC: Cenic,
        IntegratorName.ICF: Icf,
        IntegratorName.SAP: Sap,
        IntegratorName.TAMSI: Tamsi,
        IntegratorName.RUNGE_KUTTA_3: RungeKutta3,
        IntegratorName.IMPLICIT_EULER: ImplicitEuler,
        IntegratorName.SDIRK2: Sdirk2,
        IntegratorName.ROSENBROCK2: Rosenbrock2,
        IntegratorName.MIDAS: Midas,
    }
    return kinds[name](**values)


def _require_positive(option: str, value: float) -> None:
    if not 0.0 < value < float("inf"):
        raise ModelError(f"{option} must be a positive, finite number, got {value}.")


def _camera(given: str | None) -> str | int | None:
    return int(given) if given is not None and given.isdigit() else given
