"""How far a long computation is, and how long it will go on."""

from __future__ import annotations

import contextlib
import threading
import time as clock
from collections.abc import Callable, Iterator

from rich.console import Console

__all__ = ["progress_lines", "shown_progress", "shown_waiting"]

_FIRST, _PAUSE = 20.0, 60.0  # [s], between lines where there is no terminal
_LINES = 10  # of which the speed is taken


@contextlib.contextmanager
def shown_progress(title: str, console: Console) -> Iterator[Callable[[float], None]]:
    """Show progress: a bar in a terminal, and elsewhere a line a minute.

    Yields
    ------
    show : callable
        Takes the share that is done, in [0, 1].
    """
    if not console.is_terminal:
        yield progress_lines(title, console)
        return
    with _bar(title, console) as show:
        yield show


def progress_lines(title: str, console: Console) -> Callable[[float], None]:
    """What prints a line a minute, the first after 20 s, of the share that is done, in [0, 1]."""
    begin = clock.monotonic()
    due = begin + _FIRST
    # Times and shares of lines. What went quickly at the beginning, since it was there already,
    # tells nothing of the rest.
    points = [(begin, 0.0)]

    def show_line(share: float) -> None:
        nonlocal due
        now = clock.monotonic()
        if now < due or not points[-1][1] < share < 1.0:
            return
        due = now + _PAUSE
        time, before = points[0]
        rest = (now - time) * (1.0 - share) / (share - before)
        text = f"{title}: {100.0 * share:.0f} % after {_duration(now - begin)}"
        console.print(f"{text}, about {_duration(rest)} more.", markup=False, soft_wrap=True)
        points.append((now, share))
        if time == begin or len(points) > _LINES:
            points.pop(0)

    return show_line


@contextlib.contextmanager
def shown_waiting(title: str, console: Console) -> Iterator[None]:
    """Show that something is waited for which does not tell how far it is, and for how long."""
    begin, over = clock.monotonic(), threading.Event()

    def print_lines() -> None:
        pause = _FIRST
        while not over.wait(pause):
            elapsed = _duration(clock.monotonic() - begin)
            console.print(f"{title}: {elapsed} so far.", markup=False, soft_wrap=True)
            pause = _PAUSE

    if not console.is_terminal:
        teller = threading.Thread(target=print_lines, daemon=True)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()
        return

    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn(title), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        bar.add_task("", total=None)
        yield


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100.0 else f"{seconds / 60.0:.0f} min"


@contextlib.contextmanager
def _bar(title: str, console: Console) -> Iterator[Callable[[float], None]]:
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn(title),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("so far, about"),
        # By what the last minutes have brought.
        TimeRemainingColumn(),
        TextColumn("more"),
        console=console,
        transient=True,
        speed_estimate_period=600.0,
    )
    with bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share)
