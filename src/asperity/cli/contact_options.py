"""Options of the command line for contact parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from asperity.cli.options import numeric_option, option
from asperity.errors import ArgumentError

__all__ = ["OPTIONS", "fields_of", "surface_of"]

_PANEL = "Contact"

OPTIONS = [
    option(
        "contact",
        "Contact in points, or with a field of pressure in every geom.",
        metavar="point|hydroelastic",
        shown="the model's, else point",
        panel=_PANEL,
    ),
    *(
        numeric_option(name, text, shown=shown, panel=_PANEL)
        for name, text, shown in (
            (
                "hydroelastic_modulus",
                "Largest pressure of the fields, in Pa.",
                "the model's, else 1e7",
            ),
            (
                "resolution",
                "Edge length of the fields of round geoms, in m.",
                "the model's, else 1/8 of a radius",
            ),
            (
                "stiffness",
                "Stiffness of pairs of geoms without values of their own, in N/m.",
                "the model's, else 1e5",
            ),
            ("dissipation", "Hunt-Crossley dissipation, in s/m.", "the model's, else 10"),
            ("friction", "Coefficient of friction.", "the model's"),
            (
                "stiction_tolerance",
                "Slip speed below which contacts stick, in m/s.",
                "the model's, else 3e-6; midas and classical: 1e-4",
            ),
            (
                "relaxation_time",
                "Linear dissipation, in s.",
                "the model's, else the time step",
            ),
        )
    ),
]
"""One for every parameter that a single value can be given to."""


def fields_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of `ContactParameters` among the options of a command; None for what is not given."""
    fields = {one.name: options[one.name] for one in OPTIONS if one.name != "contact"}
    return {"surface": surface_of(options["contact"]), **fields}


def surface_of(contact: str | None) -> Literal["point", "compliant"] | None:
    """The surface of every geom that ``--contact`` asks for.

    Raises
    ------
    ArgumentError
        If there is no such kind of contact.
    """
    kinds: dict[str | None, Literal["point", "compliant"] | None] = {
        None: None,
        "point": "point",
        "hydroelastic": "compliant",
    }
    if contact not in kinds:
        raise ArgumentError(f"--contact {contact!r} is unknown; use point or hydroelastic.")
    return kinds[contact]
