"""Where output goes: results to the standard output, everything that passes to standard error."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator

from rich.console import Console

from asperity.errors import AsperityWarning

__all__ = ["preparing", "print_error", "print_notes", "results", "transient"]

# With kernels from the disk cache, preparation takes a second or two.
_SLOW = 5.0


def results() -> Console:
    """Console for what the user asked for; made anew, because tests replace the streams."""
    return Console(highlight=False)


def transient() -> Console:
    """Console for progress and remarks."""
    return Console(stderr=True, highlight=False)


@contextlib.contextmanager
def preparing(console: Console) -> Iterator[None]:
    """Show that something is being prepared and, if it takes long, that kernels are compiled.

    Warnings about the model are kept back: they are among the notes that commands print.
    """
    message = "Compiling kernels: about a minute, only once."
    with warnings.catch_warnings(), console.status("Preparing …") as status:
        warnings.simplefilter("ignore", AsperityWarning)

        def explain() -> None:
            if console.is_terminal:
                status.update(message)
            else:
                console.print(message)

        timer = threading.Timer(_SLOW, explain)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def print_notes(console: Console, notes: Iterable[str]) -> None:
    """Print remarks about a model, one per line."""
    for note in notes:
        console.print(f"note: {note}", markup=False, style="yellow", soft_wrap=True)


def print_error(message: str) -> None:
    """Print an error in one line, in the form that scripts look for."""
    print(f"asperity: error: {' '.join(message.split())}", file=sys.stderr)
