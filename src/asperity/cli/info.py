"""``asperity info MODEL``."""

from __future__ import annotations

from asperity.cli.options import FloatingBase, Floor, ModelPath, PackagePaths, Traceback

__all__ = ["info"]


def info(
    model: ModelPath,
    package_path: PackagePaths = None,
    floating_base: FloatingBase = None,
    floor: Floor = None,
    show_traceback: Traceback = False,
) -> int:
    """Show what a model holds and how it will be simulated.

    Kinematic trees, actuators, constraints, collision and contact parameters, and remarks about
    what was dropped, ignored or looks wrong.
    """
    from asperity.cli.console import preparing, print_notes, results, transient
    from asperity.cli.inventory import inventory
    from asperity.cli.models import load
    from asperity.plant.contact_parameters import ContactParameters
    from asperity.plant.plant import Plant

    passing, output = transient(), results()
    loaded, notes = load(model, package_path, floating_base, floor)
    with preparing(passing):
        plant = Plant(loaded, ContactParameters())
    for table in inventory(plant):
        output.print(table)
    print_notes(output, notes)
    return 0
