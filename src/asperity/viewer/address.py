"""Where a live view can be seen, and how to get there from another machine."""

from __future__ import annotations

import getpass
import os
import socket
import webbrowser
from collections.abc import Mapping

from asperity.errors import ArgumentError

__all__ = ["browser_is_near", "check_address", "directions", "open_browser"]

_EVERYWHERE = ("0.0.0.0", "::")


def check_address(host: str, port: int) -> None:
    """Refuse an address on which no server can listen, whatever else runs there.

    Raises
    ------
    ArgumentError
        If there is no such port, or this machine has no such address.
    """
    if not 0 <= port < 2**16:
        raise ArgumentError(f"port must be between 0 and 65535, got {port}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.bind(address)
    except (OSError, UnicodeError) as error:
        raise ArgumentError(
            f"host {host!r} is no address of this machine ({error}); use 127.0.0.1, or 0.0.0.0 to "
            "let everybody connect."
        ) from None


def browser_is_near(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a browser that is started here opens before the user."""
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return False
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def open_browser(address: str) -> bool:
    """Open a page in the user's browser; whether there is one."""
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def directions(host: str, port: int, environment: Mapping[str, str] = os.environ) -> str:
    """What to tell the user: the address, and over ssh how to forward the port.

    Parameters
    ----------
    host, port
        On which the server listens.
    environment : mapping
        Of the process.
    """
    name = "localhost" if host in (*_EVERYWHERE, "127.0.0.1", "::1") else host
    lines = [f"Live view at http://{name}:{port} (Ctrl-C ends it)."]
    connection = environment.get("SSH_CONNECTION", "").split()
    if host in _EVERYWHERE:
        lines.append(
            f"Everybody who can reach port {port} of this machine, {socket.gethostname()}, can see "
            "and control the simulation."
        )
    elif connection:
        # The address under which the user reached this machine is the third.
        machine = connection[2] if len(connection) > 2 else socket.gethostname()
        lines.append(
            f"From your own machine: ssh -L {port}:localhost:{port} {_user()}@{machine}, "
            f"then open http://localhost:{port} there."
        )
    return "\n".join(lines)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "user"  # a container's user may have no name
