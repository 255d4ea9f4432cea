"""Where output goes: results to the standard output, everything that passes to standard error."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.status import Status

from asperity.errors import AsperityWarning

__all__ = ["preparing", "print_error", "print_notes", "results", "transient"]


def results() -> Console:
    """Console for what the user asked for; made anew, because tests replace the streams."""
    return Console(highlight=False)


def transient() -> Console:
    """Console for progress and remarks."""
    return Console(stderr=True, highlight=False)


class _Announcements(logging.Handler):
    """Shows what the library has to say while something is being prepared."""

    def __init__(self, console: Console, status: Status) -> None:
        super().__init__()
        self._console = console
        self._status = status

    def emit(self, record: logging.LogRecord) -> None:
        if self._console.is_terminal:
            self._status.update(record.getMessage())
        else:
            self._console.print(record.getMessage(), markup=False, soft_wrap=True)


@contextlib.contextmanager
def preparing(console: Console) -> Iterator[None]:
    """Show that something is being prepared and, if so, that kernels are compiled.

    Warnings about the model are kept back: they are among the notes that commands print.
    """
    logger = logging.getLogger("asperity")
    with warnings.catch_warnings(), console.status("Preparing …") as status:
        warnings.simplefilter("ignore", AsperityWarning)
        # What concerns the installation is no note of a model.
        warnings.filterwarnings("default", "There is no folder", AsperityWarning)
        handler = _Announcements(console, status)
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)


def print_notes(console: Console, notes: Iterable[str]) -> None:
    """Print remarks about a model, one per line."""
    for note in notes:
        console.print(f"note: {note}", markup=False, style="yellow", soft_wrap=True)


def print_error(message: str) -> None:
    """Print an error in one line, in the form that scripts look for."""
    print(f"asperity: error: {' '.join(message.split())}", file=sys.stderr)
