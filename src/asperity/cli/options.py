"""Options that commands share."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Camera",
    "FloatingBase",
    "Floor",
    "IntegratorName",
    "Keyframe",
    "ModelPath",
    "PackagePaths",
    "Traceback",
    "as_camera",
    "keyword",
    "numeric_option",
    "option",
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
IntegratorName = Annotated[
    str, typer.Option(metavar="NAME", help="'asperity info --integrators' lists them.")
]
Keyframe = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|N", help="Start from this keyframe of the model.", show_default=False
    ),
]


Camera = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|N",
        help="Camera of the model.",
        show_default="one that frames what moves",
        rich_help_panel="Output",
    ),
]


def as_camera(given: str | None) -> str | int | None:
    """A camera by name or number."""
    return int(given) if given is not None and given.isdigit() else given


def keyword(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    """An option that several commands get besides those in their own signatures."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def option(
    name: str, text: str, *, panel: str, shown: str | bool, metavar: str | None = None
) -> inspect.Parameter:
    """An option with a text, None where it is not given."""
    info = typer.Option(metavar=metavar, help=text, show_default=shown, rich_help_panel=panel)
    return keyword(name, Annotated[str | None, info])


def numeric_option(name: str, text: str, *, panel: str, shown: str | bool) -> inspect.Parameter:
    """An option with a number, None where it is not given."""
    info = typer.Option(help=text, show_default=shown, rich_help_panel=panel)
    return keyword(name, Annotated[float | None, info])
