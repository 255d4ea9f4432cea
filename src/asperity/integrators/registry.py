"""The integrators that there are, by name: for the command line, studies and the package itself.

A preset registers itself where it is defined::

    @register("my-method")
    @dataclass(frozen=True, kw_only=True)
    class MyMethod(SteppedIntegrator):
        ...

and is then known to ``asperity simulate --integrator my-method``, with its fields as options, to
``asperity info --integrators`` and to ``asperity study --methods my-method``.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from asperity.integrators.integrator import Integrator
from asperity.renamed import refuse_old_options

__all__ = ["Option", "Registration", "Variant", "options_of", "register", "registered"]

# What defines presets of this package: importing these modules registers them.
_ROOMS = ("asperity.integrators.presets", "asperity.midas")

P = TypeVar("P", bound=type[Integrator])


class Variant:
    """A use of a preset that studies compare, with one parameter that buys precision.

    Parameters
    ----------
    parameter : {"accuracy", "time_step"}
        Which option that is.
    suffix : str
        Of the preset's name, after a hyphen.
    **options
        Other options.
    """

    def __init__(self, parameter: str, suffix: str = "", **options: Any) -> None:
        self.parameter = parameter
        self.suffix = suffix
        self.options: Mapping[str, Any] = options


class Registration(NamedTuple):
    """A preset and what is to know about it."""

    name: str
    """Its name on the command line."""
    preset: type[Integrator]
    variants: tuple[Variant, ...]
    """For studies."""
    reference: Callable[[float], Integrator] | None
    """An integrator of a tiny time step [s] that solves the same differential equations, for
    studies; None for that of Hunt–Crossley contact with smooth friction."""


_REGISTERED: dict[str, Registration] = {}


def register(
    name: str,
    *,
    variants: tuple[Variant, ...] | None = None,
    reference: Callable[[float], Integrator] | None = None,
) -> Callable[[P], P]:
    """Decorate a preset: a dataclass whose fields are options.

    Parameters
    ----------
    name : str
        For the command line and studies.
    variants : tuple of Variant, optional
        What studies compare; by default its ``time_step``, or else its ``accuracy``.
    reference : callable, optional
        See `Registration`.

    Raises
    ------
    ValueError
        If another preset has this name.
    """

    def keep(preset: P) -> P:
        known = _REGISTERED.get(name)
        if known is not None and known.preset.__qualname__ != preset.__qualname__:
            raise ValueError(f"an integrator {name!r} is registered already: {known.preset!r}.")
        fields = {field.name for field in dataclasses.fields(preset)}  # type: ignore[arg-type]
        if _required(preset):
            raise ValueError(
                f"options of an integrator need defaults: {', '.join(_required(preset))}."
            )
        usual = Variant("time_step" if "time_step" in fields else "accuracy")
        _REGISTERED[name] = Registration(
            name, preset, (usual,) if variants is None else variants, reference
        )
        return refuse_old_options(preset)

    return keep


def registered() -> Mapping[str, Registration]:
    """All integrators by name, those of the package first."""
    for room in _ROOMS:
        importlib.import_module(room)
    return dict(_REGISTERED)


class Option(NamedTuple):
    """An option of a preset."""

    name: str
    """Of the dataclass field."""
    kind: type
    """``float``, ``int``, ``bool`` or ``str``."""
    default: Any
    """What the preset has if nothing is given."""
    choices: tuple[str, ...]
    """The words of a ``Literal``; the preset itself checks."""
    help: str
    """What the preset's docstring says about it."""


@functools.cache
def options_of(preset: type[Any]) -> tuple[Option, ...]:
    """The options of a preset, from its fields and the parameters of its docstring.

    A parameter that the docstring of a class only mentions together with others is described by
    that class that gives it an entry of its own, if there is one among those it derives from.
    """
    hints = get_type_hints(preset)
    usual = preset if inspect.isabstract(preset) else preset()
    options = []
    for field in dataclasses.fields(preset):
        hint = hints[field.name]
        choices = get_args(hint) if get_origin(hint) is Literal else ()
        kinds = [kind for kind in (float, int, bool, str) if _allows(hint, kind)]
        if choices or kinds:
            kind = str if choices else kinds[0]
            default = getattr(usual, field.name)
            text = _documented(preset, field.name)
            options.append(Option(field.name, kind, default, choices, text))
    return tuple(options)


def _required(preset: type[Integrator]) -> list[str]:
    """Fields without a default."""
    missing = dataclasses.MISSING
    return [
        field.name
        for field in dataclasses.fields(preset)  # type: ignore[arg-type]
        if field.default is missing and field.default_factory is missing
    ]


def _allows(hint: Any, kind: type) -> bool:
    return hint is kind or kind in getattr(hint, "__args__", ())


# A line of names and perhaps a type, and indented text.
_ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?: : [^\n]*)?\n((?:    [^\n]*\n|\n)+)", re.MULTILINE)


def _documented(preset: type, name: str) -> str:
    """What docstrings of a class and its bases say about a parameter."""
    entries = [entry for owner in preset.__mro__ for entry in _entries(owner) if name in entry[0]]
    entries.sort(key=lambda entry: len(entry[0]) > 1)
    return entries[0][1] if entries else ""


@functools.cache
def _entries(owner: type) -> list[tuple[list[str], str]]:
    """Parameters in a class's own docstring: names and text."""
    return [
        (entry[1].split(", "), " ".join(entry[2].split()))
        for entry in _ENTRY.finditer(inspect.cleandoc(owner.__doc__ or "") + "\n")
    ]
