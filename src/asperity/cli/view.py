"""``asperity view MODEL``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from asperity.cli import contact_options, control_options
from asperity.cli.exits import SUCCESS
from asperity.cli.integrator_options import make_integrator, naming_flags, surface_of
from asperity.cli.options import FloatingBase, Floor, ModelPath, PackagePaths, Traceback

__all__ = ["view"]

_PAGE = "Page"


def view(
    model: ModelPath,
    integrator: Annotated[
        str,
        typer.Option(metavar="NAME", help="'asperity info --integrators' shows them."),
    ] = "cenic",
    keyframe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|N", help="Start from this keyframe of the model.", show_default=False
        ),
    ] = None,
    speed: Annotated[float, typer.Option(help="Simulated time over wall time.")] = 1.0,
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
    camera: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|N",
            help="Camera of the model.",
            show_default="one that frames what moves",
            rich_help_panel=_PAGE,
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; 0.0.0.0 lets everybody in, without a password.",
            rich_help_panel=_PAGE,
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Or the next one that is free.", rich_help_panel=_PAGE)
    ] = 8080,
    browser: Annotated[
        bool | None,
        typer.Option(
            "--browser/--no-browser",
            help="Open a browser.",
            show_default="if there is a display, and no ssh",
            rich_help_panel=_PAGE,
        ),
    ] = None,
    package_path: PackagePaths = None,
    floating_base: FloatingBase = None,
    floor: Floor = None,
    show_traceback: Traceback = False,
    **options: Any,
) -> int:
    """Show a simulation of an MJCF or URDF model live in the web browser.

    Play, pause and step; pull bodies with the mouse, set controls, change the accuracy; see
    contacts, their forces and the step size. Works over ssh. Ctrl-C ends it.
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
    function = control_options.control_function(control, control_period)

    from asperity.cli.console import preparing, print_notes, transient
    from asperity.cli.interrupts import deferred_interrupt
    from asperity.cli.models import load
    from asperity.cli.simulate import as_camera
    from asperity.plant.contact_parameters import ContactParameters
    from asperity.simulator import Simulator
    from asperity.simulator.checks import find_keyframe
    from asperity.viewer.address import browser_is_near, open_browser
    from asperity.viewer.live_view import View

    passing = transient()
    with naming_flags(contact_values):
        parameters = ContactParameters(**contact_values)
    loaded, notes = load(model, package_path, floating_base, floor)
    if keyframe is not None:
        find_keyframe(loaded, keyframe)
    print_notes(passing, notes)
    with preparing(passing):
        simulator = Simulator(
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
    shown = View(simulator, speed=speed, camera=as_camera(camera), host=host, port=port)
    with deferred_interrupt() as interrupt:
        print(shown.directions(), flush=True)
        if browser_is_near() if browser is None else browser:
            open_browser(shown.address)
        shown.run(until=lambda: interrupt.requested)
    return SUCCESS
