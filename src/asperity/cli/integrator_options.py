"""Options of a command that are those of all registered integrators.

An option that several integrators have is one option of the command; which of them it applies to is
in its help, and checked when the integrator is made.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.markup import escape

from asperity.errors import ArgumentError
from asperity.integrators.integrator import Integrator, SteppedIntegrator
from asperity.integrators.registry import Option, options_of, registered

__all__ = ["first_sentence", "flag", "make_integrator", "naming_flags", "with_integrator_options"]

_STEPS = "Steps"


def flag(name: str) -> str:
    """The option of the command line for a parameter."""
    return "--contact" if name == "surface" else f"--{name.replace('_', '-')}"


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, for a terminal."""
    found = re.match(r".*?\.(?=\s|$)", text, re.DOTALL)
    return " ".join((text if found is None else found[0]).replace("`", "").split())


def with_integrator_options(
    command: Callable[..., int],
    before: Iterable[inspect.Parameter] = (),
    after: Iterable[inspect.Parameter] = (),
) -> Callable[..., int]:
    """Give a command with ``**options`` the options of all integrators, in place of these.

    It also gets those that it shares with other commands, shown before and after its own. Those
    that it has itself are left to it. If there are contact parameters, their help gets the names of
    the integrators that they apply to.

    What steppings have means the same for all integrators, and comes first. The rest is in a panel
    for each set of integrators that share it, those of many before those of one.
    """
    signature = inspect.signature(command, eval_str=True)
    own = {n: p for n, p in signature.parameters.items() if p.kind is not p.VAR_KEYWORD}
    ahead = {p.name: p for p in before if p.name not in own}
    own = ahead | own | {p.name: p for p in after if p.name not in own}
    contact = frozenset().union(*(e.preset.contact_parameters for e in registered().values()))
    for name in contact & own.keys():
        own[name] = _with_owners(own[name])
    found = {name: owners for name, owners in _owners().items() if name not in own}
    steps = [
        _parameter(option.name, found[option.name], _STEPS, _summary(option, found[option.name]))
        for option in options_of(SteppedIntegrator)
        if option.name in found
    ]
    known = {parameter.name for parameter in steps}
    others = [
        _parameter(name, owners, f"Options of {_listed(owners, 'and')}", _comparison(owners))
        for name, owners in sorted(found.items(), key=lambda item: -len(item[1]))
        if name not in known
    ]
    # Panels are shown in the order of their first option.
    plain = [parameter for parameter in own.values() if _panel(parameter) is None]
    panels = [parameter for parameter in own.values() if _panel(parameter) is not None]
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in (*plain, *steps, *panels, *others)
    ]

    @functools.wraps(command)
    def wrapped(**given: Any) -> int:
        return command(**given)

    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped


def make_integrator(name: str, given: Mapping[str, Any]) -> tuple[Integrator, dict[str, Any]]:
    """Make a registered integrator of the options that were given.

    Parameters
    ----------
    name : str
    given : mapping
        Options and contact parameters by name; None for what was not given.

    Returns
    -------
    integrator : Integrator
    contact : dict
        Contact parameters among the options.

    Raises
    ------
    ArgumentError
        If there is no such integrator, an option does not apply to it, or it refuses a value.
    """
    known = registered()
    if name not in known:
        raise ArgumentError(f"--integrator {name!r} is unknown; use one of {', '.join(known)}.")
    preset = known[name].preset
    fields = {_key(preset, option.name): option.name for option in options_of(preset)}
    options, contact = {}, {}
    for option, value in given.items():
        if value is None:
            continue
        if option in preset.contact_parameters:
            contact[option] = value
        elif option in fields:
            options[fields[option]] = value
        else:
            raise ArgumentError(
                f"{flag(option)} does not apply to the integrator {name}; omit it, or choose "
                f"--integrator {_listed(_applies_to(option), 'or')}."
            )
    with naming_flags(options, fields.values()):
        return preset(**options), contact


@contextlib.contextmanager
def naming_flags(given: Iterable[str], fields: Iterable[str] = ()) -> Iterator[None]:
    """Let errors of a dataclass name options of the command line instead of its fields.

    Parameters
    ----------
    given : iterable of str
        Fields whose values came from the command line.
    fields : iterable of str
        Others that messages may name.
    """
    # A field of one word that nobody has given is a word of the message.
    names = {*given, *(name for name in fields if "_" in name)}
    try:
        yield
    except ArgumentError as error:
        text = str(error).removeprefix("ContactParameters: ")
        for name in names:
            text = re.sub(rf"(?<![\w-]){name}(?![\w-])", flag(name), text)
        raise ArgumentError(text) from None


def _owners() -> dict[str, dict[str, Option]]:
    """By the name of an option, what it is for each integrator that has it."""
    found: dict[str, dict[str, Option]] = {}
    for name, entry in registered().items():
        for option in options_of(entry.preset):
            found.setdefault(_key(entry.preset, option.name), {})[name] = option
    return found


def _key(preset: type[Integrator], option: str) -> str:
    """The command's name for an option: another than the contact parameter of the same name."""
    return f"integrator_{option}" if option in preset.contact_parameters else option


def _applies_to(option: str) -> list[str]:
    """Integrators that have an option, or for which it is a parameter of contact."""
    owners = _owners().get(option, {})
    return [
        name
        for name, entry in registered().items()
        if name in owners or option in entry.preset.contact_parameters
    ]


def _parameter(name: str, owners: Mapping[str, Option], panel: str, text: str) -> inspect.Parameter:
    kind: Any = next(iter(owners.values())).kind
    info = typer.Option(
        flag(name),
        help=escape(text),
        rich_help_panel=panel,
        show_default=False,
        metavar="NAME" if kind is str else None,
    )
    # What is on by default for somebody, or by the model, must take a value; a second option to
    # switch it off would leave no room for the help.
    if kind is bool and any(option.default is not False for option in owners.values()):
        info.parser, info.metavar = _on_or_off, "on|off"
        kind = str  # Typer would make a switch of a bool
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, info]
    )


def _on_or_off(given: str) -> bool:
    if given not in ("on", "off"):
        raise typer.BadParameter(f"{given!r} is neither on nor off.")
    return given == "on"


def _panel(parameter: inspect.Parameter) -> str | None:
    panel: str | None = parameter.annotation.__metadata__[0].rich_help_panel
    return panel


def _with_owners(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter of contact whose help says to which integrators it applies.

    For some it may be an option of their own.
    """
    info = copy.copy(parameter.annotation.__metadata__[0])
    info.help = _restricted(info.help, _applies_to(parameter.name))
    for name, option in _owners().get(parameter.name, {}).items():
        own = parameter.name not in registered()[name].preset.contact_parameters
        # Without a value of its own it takes the model's as well.
        if own and option.default is not None:
            info.show_default = f"{info.show_default}; {name}: {_shown(option.default)}"
    kind = parameter.annotation.__origin__
    return parameter.replace(annotation=Annotated[kind, info])


def _summary(common: Option, owners: Mapping[str, Option]) -> str:
    """Help of an option that means the same for all that have it."""
    text = _restricted(first_sentence(common.help), owners)
    by_default: dict[str, list[str]] = {}
    for name, option in owners.items():
        if option.default is not None:
            by_default.setdefault(_usual(option), []).append(name)
    everyone = len(by_default) == 1 and list(owners) in by_default.values()
    parts = [
        value if everyone else f"{', '.join(names)}: {value}" for value, names in by_default.items()
    ]
    return f"{text} [default: {'; '.join(parts)}]"


def _comparison(owners: Mapping[str, Option]) -> str:
    """Help of an option with what it means for every integrator."""
    texts: dict[str, list[str]] = {}
    for name, option in owners.items():
        plain = option.default is None or option.default is False
        usual = "" if plain else f" [default: {_usual(option)}]"
        texts.setdefault(first_sentence(option.help) + usual, []).append(name)
    if len(texts) == 1:
        return next(iter(texts))
    # An empty line begins a new one.
    return "\n\n".join(f"{', '.join(names)}: {text}" for text, names in texts.items())


def _usual(option: Option) -> str:
    """The default, and what else there is."""
    others = [choice for choice in option.choices if choice != option.default]
    return _shown(option.default) + (f", or {', '.join(others)}" if others else "")


def _restricted(text: str, owners: Iterable[str]) -> str:
    """A sentence, and to whom it applies or does not, whichever is shorter to say."""
    having = list(owners)
    lacking = [name for name in registered() if name not in having]
    if not lacking:
        return text
    few = f"not {_listed(lacking, 'or')}" if len(lacking) < len(having) else _listed(having, "and")
    return f"{text.removesuffix('.')} ({few})."


def _listed(names: Iterable[str], word: str) -> str:
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return re.sub(r"e([+-])0*", lambda sign: "e" + sign[1].strip("+"), f"{value:g}")
    return str(value)
