"""The command line: ``asperity simulate``, ``asperity study`` and others.

Modules here import Typer and Rich only. Commands import slow and compiled modules when they run, so
that help and mistakes in options are answered at once.
"""

from asperity.cli.app import main

__all__ = ["main"]
