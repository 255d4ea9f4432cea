"""``asperity.view``: a simulation in the browser, while it runs."""

from __future__ import annotations

import math
import os
import threading
import time as clock
from collections.abc import Callable
from typing import Any

import mujoco

from asperity.arguments import as_number
from asperity.errors import ArgumentError
from asperity.media.web_scene import import_viser, silent
from asperity.simulator import Simulator
from asperity.viewer.address import browser_is_near, check_address, directions, open_browser
from asperity.viewer.panel import Panel
from asperity.viewer.picture import Picture
from asperity.viewer.session import Session

__all__ = ["View", "view"]

# Wall time of a turn [s]; every second turn is drawn.
_TURN = 1.0 / 60.0
_DRAW_EVERY = 2


class View:
    """A live view, made by `asperity.view`.

    Parameters
    ----------
    simulator : Simulator
    speed, camera, host, port
        As for `asperity.view`.
    """

    def __init__(
        self,
        simulator: Simulator,
        *,
        speed: float = 1.0,
        camera: str | int | mujoco.MjvCamera | None = None,
        host: str = "127.0.0.1",
        port: int = 8080,
    ) -> None:
        speed = as_number("speed", speed)
        if not (math.isfinite(speed) and speed > 0.0):
            raise ArgumentError(f"speed must be positive and finite, got {speed}.")
        viser = import_viser("A live view", "view")
        check_address(host, port)
        self.session = Session(simulator, speed=speed)
        with silent():
            self.server = viser.ViserServer(host=host, port=port, verbose=False)
        try:
            self.server.gui.configure_theme(show_logo=False, show_share_button=False)
            self.server.gui.set_panel_label("Asperity")
            self.picture = Picture(self.server, simulator, camera)
            self.panel = Panel(self.server, self.session, self.picture)
        except BaseException:
            self._stop_server()
            raise
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    @property
    def simulator(self) -> Simulator:
        """What is shown; it runs in the view's thread until the view is closed."""
        return self.session.simulator

    @property
    def port(self) -> int:
        """Port on which the server listens: the one that was asked for, or the next free one."""
        return int(self.server.get_port())

    @property
    def address(self) -> str:
        """Address of the page on this machine."""
        return f"http://localhost:{self.port}"

    def directions(self) -> str:
        """Where the page is, and over ssh how to get there."""
        return directions(self.server.get_host(), self.port)

    def run(self, until: Callable[[], bool] | None = None) -> None:
        """Show the simulation until the view is closed, or until a function says so.

        Time runs once somebody looks. Ctrl-C ends it, without an exception.
        """
        session = self.session
        seen = False
        turns = 0
        next_turn = clock.perf_counter()
        try:
            while not self._closing.is_set() and not (until is not None and until()):
                if not seen and self.server.get_clients():
                    seen = True
                    session.play()
                session.turn(_TURN)
                now = clock.perf_counter()
                if turns % _DRAW_EVERY == 0:
                    self.picture.update(session, now)
                    self.panel.update(now)
                turns += 1
                next_turn = max(next_turn + _TURN, now - _TURN)
                if next_turn > now:
                    self._closing.wait(next_turn - now)
        except KeyboardInterrupt:
            pass
        finally:
            self._closing.set()
            self._stop_server()

    def start(self) -> None:
        """Run in a thread of its own, until `close`."""

        def run() -> None:
            try:
                self.run()
            except BaseException as error:
                self._failure = error

        self._thread = threading.Thread(target=run, name="asperity view", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the view; the simulator is free again.

        Raises
        ------
        Exception
            What ended a view that runs in a thread of its own, if that was not this call.
        """
        self._closing.set()
        if self._thread is None:
            self._stop_server()
            return
        self._thread.join()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stop_server(self) -> None:
        with silent():
            self.server.stop()


def view(
    model: Simulator | str | os.PathLike[str] | mujoco.MjSpec | mujoco.MjModel,
    *,
    speed: float = 1.0,
    camera: str | int | mujoco.MjvCamera | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    browser: bool | None = None,
    block: bool = True,
    **options: Any,
) -> View:
    """Show a simulation live in the web browser.

    Bodies can be pulled with the mouse, controls set with sliders; accuracy or time step, contacts,
    forces and patches of pressure are in the panel. It works without a display, over ssh: the
    address is printed, and how to forward the port.

    Parameters
    ----------
    model : Simulator, or what `Simulator` takes
        The simulator is left where the view has brought it.
    speed : float
        Simulated time over wall time.
    camera : str, int or mujoco.MjvCamera, optional
        First view; by default one that frames everything that moves.
    host : str
        Address to listen on. By default only this machine can connect; ``"0.0.0.0"`` lets everybody
        in who can reach it, without a password.
    port : int
        Port of the server, or the next free one.
    browser : bool, optional
        Whether to open a browser; by default if there is a display and no ssh.
    block : bool
        Whether to return only when the view has ended, by Ctrl-C. Otherwise the simulator runs in
        another thread, where nobody else may use it, until the view's ``close()``.
    **options
        Of `Simulator`, unless one was given.

    Returns
    -------
    View
        With the ``simulator``, and ``close()``.

    Raises
    ------
    ArgumentError, ModelError
        If the model or an option cannot be used.
    MediaError
        If the package viser is missing (extra ``view``).
    """
    if isinstance(model, Simulator):
        if options:
            raise ArgumentError(
                f"view does not take {', '.join(options)} with a Simulator, which has its own; "
                "give them to the Simulator."
            )
        simulator = model
    else:
        simulator = Simulator(model, **options)
    shown = View(simulator, speed=speed, camera=camera, host=host, port=port)
    print(shown.directions(), flush=True)
    if browser_is_near() if browser is None else browser:
        open_browser(shown.address)
    if block:
        shown.run()
    else:
        shown.start()
    return shown
