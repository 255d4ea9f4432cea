"""Options of the command line for controls: numbers, or a function of the user's."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from asperity.cli.options import numeric_option, option
from asperity.errors import ArgumentError

if TYPE_CHECKING:
    import mujoco
    import numpy as np

__all__ = ["OPTIONS", "check_values", "control_function", "control_values"]

_PANEL = "Control"

OPTIONS = [
    option(
        "ctrl",
        "Controls that are held: one number for every actuator, or NAME=NUMBER, with commas.",
        metavar="VALUES",
        shown="the keyframe's, else 0",
        panel=_PANEL,
    ),
    option(
        "control",
        "A function(model, data) that writes data.ctrl, in a module or a .py file.",
        metavar="MODULE:FUNCTION",
        shown=False,
        panel=_PANEL,
    ),
    numeric_option(
        "control_period",
        "Time between two calls of it, in s.",
        shown="the model's time step",
        panel=_PANEL,
    ),
]
"""What sets controls, but for the model's keyframes."""


def control_values(model: mujoco.MjModel, text: str, before: np.ndarray) -> np.ndarray:
    """Controls of ``--ctrl``, shape (nu,); those that it does not name are as ``before``.

    Raises
    ------
    ArgumentError
        If there is no such control, or not one number for each.
    """
    from asperity.plant.model.names import control_names

    values = before.copy()
    parts = [part.strip() for part in text.split(",")]
    if not any("=" in part for part in parts):
        if len(parts) != model.nu:
            raise ArgumentError(
                f"--ctrl has {len(parts)} numbers, and the model has {model.nu} controls; give one "
                "for each, or NAME=NUMBER."
            )
        values[:] = [_number(part) for part in parts]
        return values
    names = control_names(model)
    for part in parts:
        name, sign, number = (piece.strip() for piece in part.partition("="))
        if not sign or name not in names:
            known = ", ".join(name for name in names if name) or "none with a name"
            raise ArgumentError(f"--ctrl: {part!r} names no control; there are: {known}.")
        values[names.index(name)] = _number(number)
    return values


def check_values(model: mujoco.MjModel, text: str) -> None:
    """Raise what `control_values` would raise."""
    import numpy as np

    control_values(model, text, np.zeros(model.nu))


def control_function(text: str | None, period: float | None) -> Any:
    """The function that ``--control`` names, None without it.

    Modules are looked for in the current folder, too.

    Raises
    ------
    ArgumentError
        If there is no such module or function, or a period without a function.
    """
    if text is None:
        if period is not None:
            raise ArgumentError(
                "--control-period needs --control, which is not given; give both, or none."
            )
        return None
    where, _, name = text.rpartition(":")
    if not where or not name:
        raise ArgumentError(f"--control {text!r} is not MODULE:FUNCTION, such as mine.py:control.")
    module = _module(where)
    function = getattr(module, name, None)
    if not callable(function):
        raise ArgumentError(
            f"--control {text!r}: {where} has no function {name!r}; define it there."
        )
    return function


def _module(where: str) -> ModuleType:
    try:
        if not where.endswith(".py"):
            if os.getcwd() not in sys.path:
                sys.path.insert(0, os.getcwd())
            return importlib.import_module(where)
        path = Path(where)
        if not path.is_file():
            raise ArgumentError(
                f"--control: there is no file {where}; correct the path before the colon."
            )
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(path.stem, module)
        spec.loader.exec_module(module)
        return module
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"--control: {where} cannot be imported ({type(error).__name__}: {error}); correct it, "
            "or start in its folder."
        ) from error


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError(f"--ctrl: {text!r} is not a finite number; write one, such as 0.5.")
    return value
