"""Progress bars of advances."""

from __future__ import annotations

import contextlib
import sys
import time as clock
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from asperity.arguments import is_flag
from asperity.errors import ArgumentError

__all__ = ["check_progress", "shown"]


class _Timed(Protocol):
    @property
    def time(self) -> float: ...


_Shown = TypeVar("_Shown", bound=_Timed)


def check_progress(progress: Any) -> None:
    """Refuse what is neither a function nor a truth value."""
    if progress is not None and not is_flag(progress) and not callable(progress):
        raise ArgumentError(
            f"progress must be True or a function of the simulator, got {progress!r}."
        )


@contextlib.contextmanager
def shown(
    progress: bool | Callable[[_Shown], None] | None, end: float
) -> Iterator[Callable[[_Shown], None] | None]:
    """What an advance to a time [s] is to call with the simulator about every 50 ms of wall time.

    For True it draws a bar on the standard error, or in the notebook.
    """
    check_progress(progress)
    if progress is None or is_flag(progress):
        if not progress:
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        console = Console(file=sys.stderr)
        columns = ("Simulating", BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        rate = TextColumn("{task.completed:.2f} of {task.total:.4g} s · {task.fields[rate]}")
        with Bar(*columns, rate, console=console, transient=True) as bar:
            task = bar.add_task("", total=end, rate="")
            begin: list[tuple[float, float]] = []

            def draw(simulator: _Timed) -> None:
                now = clock.perf_counter()
                begin.append((simulator.time, now)) if not begin else None
                passed = (simulator.time - begin[0][0]) / max(now - begin[0][1], 1e-9)
                bar.update(task, completed=simulator.time, rate=f"{passed:.2g} × real time")

            yield draw
    else:
        assert callable(progress)
        yield progress
