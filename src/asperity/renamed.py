"""Spellings from before version 1.0, refused with those of today.

These tables serve one release; `docs/changes.md` has all changes with their reasons.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from asperity.errors import ArgumentError

__all__ = [
    "COMMAND_OPTIONS",
    "MOVED",
    "attribute_error",
    "refuse_old_arguments",
    "refuse_old_options",
    "with_new_spelling",
]

_Kind = TypeVar("_Kind", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPTIONS = {
    "Cenic": {"scheme": "error_estimate=", "friction": "friction_bound="},
    "Icf": {
        "friction": "friction_bound=",
        "accuracy": "Cenic(accuracy=...), which is Icf under error control,",
        "max_step": "Cenic(max_step=...), which is Icf under error control,",
        "min_step": "Cenic(min_step=...), which is Icf under error control,",
        "error_norm": "Cenic(error_norm=...), which is Icf under error control,",
        "velocity_weight": "Cenic(velocity_weight=...), which is Icf under error control,",
    },
    "Sap": {"scheme": "theta_scheme="},
    "Midas": {"scheme": "time_scheme="},
}
"""Of classes by name: options and what to write instead."""

_NO_SYSTEMS = "derivatives are those of the model alone, without external systems"
_REMOVED = {"linearize": {"systems": _NO_SYSTEMS}, "Transition": {"systems": _NO_SYSTEMS}}
"""Of classes and functions by name: options that are gone, and why."""

MOVED = {
    "ExternalSystem": "systems",
    "FunctionSystem": "systems",
    "InverseDynamicsController": "systems",
    "Linearization": "derivatives",
    "PdController": "systems",
    "PidController": "systems",
    "Suction": "systems",
    "SystemInput": "systems",
    "linearize": "derivatives",
}
"""Of the package's own names: the module that has them now."""

COMMAND_OPTIONS = {
    "--scheme": "--error-estimate (cenic), --theta-scheme (sap) or --time-scheme (midas)",
    "--integrator-friction": "--friction-bound",
}
"""Of the command line."""


_ATTRIBUTES = {
    "Simulator": dict.fromkeys(("coupling", "method", "plant", "world"), "session.{} (internal)"),
}
"""Of objects by class: attributes and what to read instead."""


def attribute_error(owner: object, name: str) -> str:
    """What is said of an attribute that an object does not have."""
    said = f"{type(owner).__name__!r} object has no attribute {name!r}"
    for kind in type(owner).__mro__:
        new = _ATTRIBUTES.get(kind.__name__, {}).get(name)
        if new is not None:
            return f"{said}; it is {new.format(name)} now"
    return said


def _refuse(name: str, given: Iterable[str]) -> None:
    for option in given:
        new = _OPTIONS.get(name, {}).get(option)
        if new is not None:
            raise ArgumentError(f"{name} no longer takes {option}=...; write {new} instead.")
        why = _REMOVED.get(name, {}).get(option)
        if why is not None:
            raise ArgumentError(f"{name} no longer takes {option}=...: {why}.")


def refuse_old_arguments(function: _Function) -> _Function:
    """Decorate a function that has lost arguments: old ones are refused with the reason."""

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        _refuse(function.__name__, options)
        return function(*args, **options)

    return cast(_Function, checked)


def refuse_old_options(kind: _Kind) -> _Kind:
    """Decorate a class whose options were renamed: old ones are refused with the new name."""
    if kind.__name__ not in _OPTIONS | _REMOVED:
        return kind
    class_: Any = kind
    initialize = class_.__init__

    @functools.wraps(initialize)
    def checked(self: Any, *args: Any, **options: Any) -> None:
        _refuse(kind.__name__, options)
        initialize(self, *args, **options)

    class_.__init__ = checked
    return kind


def with_new_spelling(message: str) -> str:
    """A complaint of the command line, with the new name of an option that it does not know."""
    for old, new in COMMAND_OPTIONS.items():
        if f"No such option: {old}" in message:
            return f"{old} is no longer an option; write {new}."
    return message
