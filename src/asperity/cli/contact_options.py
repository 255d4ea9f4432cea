"""Options of the command line for contact parameters."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "Contact",
    "Dissipation",
    "Friction",
    "HydroelasticModulus",
    "RelaxationTime",
    "Resolution",
    "StictionTolerance",
    "Stiffness",
]

_PANEL = "Contact"

Contact = Annotated[
    str | None,
    typer.Option(
        metavar="point|hydroelastic",
        help="Contact in points, or with a field of pressure in every geom.",
        show_default="the model's, else point",
        rich_help_panel=_PANEL,
    ),
]
HydroelasticModulus = Annotated[
    float | None,
    typer.Option(
        help="Largest pressure of the fields, in Pa.",
        show_default="the model's, else 1e7",
        rich_help_panel=_PANEL,
    ),
]
Resolution = Annotated[
    float | None,
    typer.Option(
        help="Length of edges of the fields on round geoms, in m.",
        show_default="the model's, else 1/8 of a radius",
        rich_help_panel=_PANEL,
    ),
]
Stiffness = Annotated[
    float | None,
    typer.Option(
        help="Of every pair of geoms without values of its own, in N/m.",
        show_default="the model's, else 1e5",
        rich_help_panel=_PANEL,
    ),
]
Dissipation = Annotated[
    float | None,
    typer.Option(
        help="Hunt-Crossley dissipation, in s/m.",
        show_default="the model's, else 10",
        rich_help_panel=_PANEL,
    ),
]
Friction = Annotated[
    float | None,
    typer.Option(
        help="Coefficient of friction.",
        show_default="the model's",
        rich_help_panel=_PANEL,
    ),
]
StictionTolerance = Annotated[
    float | None,
    typer.Option(
        help="Slip speed below which contacts stick, in m/s.",
        show_default="the model's, else 1e-4",
        rich_help_panel=_PANEL,
    ),
]
RelaxationTime = Annotated[
    float | None,
    typer.Option(
        help="Linear dissipation, in s.",
        show_default="the model's, else the time step",
        rich_help_panel=_PANEL,
    ),
]
