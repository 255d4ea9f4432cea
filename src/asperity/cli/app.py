"""The application: its commands, and how errors leave the process."""

from __future__ import annotations

import platform
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from asperity.cli import options
from asperity.cli.console import print_error
from asperity.cli.demo import demo
from asperity.cli.exits import BAD_INPUT, FAILED, INTERRUPTED
from asperity.cli.info import info
from asperity.cli.reproduce import reproduce
from asperity.cli.rollout import rollout
from asperity.cli.setup import with_simulation_options
from asperity.cli.simulate import simulate
from asperity.cli.study import study
from asperity.cli.tetrahedralize import tetrahedralize
from asperity.cli.view import view
from asperity.errors import AsperityError, SimulationError
from asperity.renamed import with_new_spelling

__all__ = ["application", "main"]


# What results depend on, besides Asperity itself.
_VERSIONS = {"MuJoCo": "mujoco-core", "Numba": "numba"}


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from asperity import __version__

        others = (f"{name} {version(package)}" for name, package in _VERSIONS.items())
        print(f"asperity {__version__} ({', '.join(others)}, Python {platform.python_version()})")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the versions and exit."
        ),
    ] = False,
    show_traceback: options.Traceback = False,
) -> None:
    """Options that come before the command."""


def application() -> typer.Typer:
    """All commands, with the options of the integrators that are registered now."""
    app = typer.Typer(
        name="asperity",
        help="Simulate robots and objects in frictional contact, with error control.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    app.command()(with_simulation_options(simulate))
    app.command()(demo)
    app.command()(info)
    app.command()(reproduce)
    app.command()(with_simulation_options(rollout))
    app.command()(study)
    app.command()(tetrahedralize)
    app.command()(with_simulation_options(view))
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process by default.

    Returns
    -------
    int
        Exit code: 0, or 1 if a simulation failed, 2 if the input cannot be used, 130 if it was
        interrupted.
    """
    options.traceback_wanted = False
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        result = application()(given, standalone_mode=False, prog_name="asperity")
        return result if isinstance(result, int) else 0
    except KeyboardInterrupt:
        return _report("interrupted before the simulation began or after it ended.", INTERRUPTED)
    except typer.Abort:
        return INTERRUPTED
    except SimulationError as error:
        return _report(str(error), FAILED)
    except AsperityError as error:
        return _report(str(error), BAD_INPUT)
    except Exception as error:
        # Typer's usage errors; their classes moved between its versions.
        if hasattr(error, "format_message"):
            said = with_new_spelling(error.format_message())
            return _report(said or "no command was given.", BAD_INPUT)
        hint = "" if options.traceback_wanted else " (run again with --traceback for details)"
        return _report(f"unexpected {type(error).__name__}: {error}{hint}", FAILED)


def _report(message: str, code: int) -> int:
    """Print an error in one line, after its traceback if that is wanted."""
    if options.traceback_wanted:
        traceback.print_exc()
    print_error(message)
    return code
