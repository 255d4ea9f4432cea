"""``asperity view MODEL``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from asperity.cli.exits import SUCCESS
from asperity.cli.options import Camera, ModelPath, as_camera
from asperity.cli.setup import Setup

__all__ = ["view"]

_OUTPUT = "Output"


def view(
    model: ModelPath,
    speed: Annotated[float, typer.Option(help="Simulated time over wall time.")] = 1.0,
    camera: Camera = None,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; 0.0.0.0 lets everybody connect, without a password.",
            rich_help_panel=_OUTPUT,
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port, or the next free one.", rich_help_panel=_OUTPUT)
    ] = 8080,
    browser: Annotated[
        bool | None,
        typer.Option(
            "--browser/--no-browser",
            help="Open a browser.",
            show_default="if there is a display, and no ssh",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    **options: Any,
) -> int:
    """Show a simulation of an MJCF or URDF model live in the web browser.

    Play, pause and step; pull bodies with the mouse; set controls and accuracy;
    see contacts, forces and step sizes. Works over ssh. Ctrl-C ends it.
    """
    from asperity.viewer.address import check_address

    check_address(host, port)
    setup = Setup.read(model, options)

    from asperity.cli.console import transient
    from asperity.cli.interrupts import deferred_interrupt
    from asperity.simulator import Simulator
    from asperity.viewer.address import browser_is_near, open_browser
    from asperity.viewer.live_view import View

    simulator = setup.simulator(Simulator, transient())
    shown = View(simulator, speed=speed, camera=as_camera(camera), host=host, port=port)
    with deferred_interrupt() as interrupt:
        print(shown.directions(), flush=True)
        if browser_is_near() if browser is None else browser:
            open_browser(shown.address)
        shown.run(until=lambda: interrupt.requested)
    return SUCCESS
