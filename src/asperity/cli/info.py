"""``asperity info MODEL``."""

from __future__ import annotations

from typing import Annotated

import typer

from asperity.cli.options import FloatingBase, Floor, ModelPath, PackagePaths, Traceback

__all__ = ["info"]


def _show_integrators(wanted: bool) -> None:
    if wanted:
        from rich import box
        from rich.markup import escape
        from rich.table import Table

        from asperity.cli.console import results
        from asperity.cli.integrator_options import first_sentence
        from asperity.integrators.registry import options_of, registered

        output = results()
        table = Table(box=box.SIMPLE, pad_edge=False)
        for heading in ("name", "in Python", "what it is"):
            table.add_column(heading, no_wrap=heading != "what it is")
        for name, entry in registered().items():
            preset = entry.preset
            table.add_row(name, preset.__name__, first_sentence(preset.__doc__ or ""))
        output.print(table)
        for name, entry in registered().items():
            table = Table(
                box=box.SIMPLE, pad_edge=False, title=f"Options of {name}", title_justify="left"
            )
            table.add_column("option", no_wrap=True)
            table.add_column("default")
            table.add_column("what it is", overflow="fold")
            for option in options_of(entry.preset):
                others = [one for one in option.choices if one != option.default]
                table.add_row(
                    f"--{option.name.replace('_', '-')}",
                    "–" if option.default is None else str(option.default),
                    escape(first_sentence(option.help))
                    + (f" Or: {', '.join(others)}." if others else ""),
                )
            output.print(table)
        raise typer.Exit


def info(
    model: ModelPath,
    integrators: Annotated[
        bool,
        typer.Option(
            "--integrators",
            callback=_show_integrators,
            is_eager=True,
            help="Show the integrators that there are, with their options, and exit.",
        ),
    ] = False,
    contact: Annotated[
        str | None,
        typer.Option(
            metavar="point|hydroelastic",
            help="Show the fields of pressure that all geoms would get.",
            show_default="the model's, else point",
        ),
    ] = None,
    package_path: PackagePaths = None,
    floating_base: FloatingBase = None,
    floor: Floor = None,
    show_traceback: Traceback = False,
) -> int:
    """Show the contents of a model and how it will be simulated.

    Lists kinematic trees, actuators, constraints, collision, contact parameters,
    and notes on dropped, ignored or suspicious elements.
    """
    from asperity.cli.console import preparing, print_notes, results, transient
    from asperity.cli.contact_options import surface_of
    from asperity.cli.inventory import inventory
    from asperity.cli.models import load
    from asperity.plant.model.contact_parameters import ContactParameters
    from asperity.plant.model.hull_meshes import hull_notes
    from asperity.plant.plant import Plant

    passing, output = transient(), results()
    loaded, notes = load(model, package_path, floating_base, floor)
    with preparing(passing):
        plant = Plant(loaded, ContactParameters(surface=surface_of(contact)), evaluated=False)
    notes = (*notes, *plant.surfaces.notes, *hull_notes(loaded))
    for table in inventory(plant):
        output.print(table)
    print_notes(output, notes)
    return 0
