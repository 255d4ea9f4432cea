"""Options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "FloatingBase",
    "Floor",
    "ModelPath",
    "PackagePaths",
    "Traceback",
]

traceback_wanted = False
"""Whether ``--traceback`` was given, before or after the command."""


def _want_traceback(wanted: bool) -> None:
    global traceback_wanted
    traceback_wanted = traceback_wanted or wanted


Traceback = Annotated[
    bool,
    typer.Option(
        "--traceback",
        callback=_want_traceback,
        is_eager=True,
        help="Show where in the program an error arose.",
    ),
]
ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="MJCF or URDF file.", show_default=False)
]
PackagePaths = Annotated[
    list[Path] | None,
    typer.Option(
        "--package-path",
        metavar="DIR",
        help="URDF: folder that holds the packages of package:// names; may be repeated.",
        show_default=False,
    ),
]
FloatingBase = Annotated[
    bool | None,
    typer.Option(
        "--floating-base/--fixed-base",
        help="URDF: give the base a free joint, or fix it to the world.",
        show_default="as the file says",
    ),
]
Floor = Annotated[
    float | None,
    typer.Option(
        metavar="HEIGHT",
        help="Add a horizontal plane at this height, in m.",
        show_default="none",
    ),
]
