"""The command line: ``asperity simulate``, ``asperity study`` and others.

Modules here import Typer and Rich only; what takes long to import, and everything compiled, is
imported inside the commands, so that help and mistakes in options are answered at once.
"""

from asperity.cli.app import main

__all__ = ["main"]
