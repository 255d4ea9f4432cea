"""Shares of a work, done by Ray's workers; what is lost with a worker is done again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from asperity.arguments import is_count
from asperity.errors import ArgumentError, AsperityError, MissingExtra, SimulationError

__all__ = ["Progress", "cluster_cpus", "do_shares", "keep"]

Progress = bool | Callable[[int, int], None]
"""Whether there is a progress bar, or a function of how many shares are done, and of all."""

# Workers that a share may lose: more than any cluster does by chance, so that one that ends the
# process whoever does it is not done for ever.
_MOST_LOSSES = 5


def _connected() -> Any:
    """Ray, connected: to the cluster that the program, or ``RAY_ADDRESS``, names, or one here."""
    try:
        import ray
    except ImportError:
        raise MissingExtra(
            "asperity.distributed needs Ray; install it with 'pip install \"asperity[ray]\"'."
        ) from None
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    return ray


def cluster_cpus() -> int:
    """How many processors the cluster has."""
    return max(int(_connected().cluster_resources().get("CPU", 1)), 1)


def keep(thing: Any) -> Any:
    """Send something that every share needs to the cluster once; returns a reference to it."""
    return _connected().put(thing)


def do_shares(
    work: Callable[..., Any],
    shares: Sequence[tuple[Any, ...]],
    *,
    cpus: int,
    progress: Progress,
    what: str,
) -> Iterator[tuple[int, Any]]:
    """Let workers call ``work(*share)`` for every share, as many at a time as there are processors.

    Parameters
    ----------
    work : callable
        A function of a module that workers can import.
    shares : sequence of tuple
        References that `keep` has returned come as what they refer to.
    cpus : int
        Processors that a share needs.
    progress : bool or callable
    what : str
        What the progress bar says.

    Yields
    ------
    number, result
        Of the shares, as they are done.

    Raises
    ------
    ArgumentError
        If a share needs more processors than any machine of the cluster has.
    SimulationError
        If a share could not be done, however often it was tried.
    Exception
        What ``work`` has raised.
    """
    if not (is_count(cpus) and cpus >= 1):
        raise ArgumentError(f"threads must be a positive whole number, got {cpus!r}.")
    ray = _connected()
    largest = max(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"])
    if cpus > largest:
        raise ArgumentError(
            f"threads={cpus} is more than the processors of any machine of the cluster; take "
            f"{largest:g} at most."
        )
    remote = ray.remote(num_cpus=int(cpus), max_retries=_MOST_LOSSES)(work)
    waiting = {remote.remote(*share): number for number, share in enumerate(shares)}
    total, done = len(waiting), 0
    with _shown(progress, total, what) as show:
        try:
            while waiting:
                ready, _ = ray.wait(list(waiting), num_returns=1)
                for reference in ready:
                    number = waiting.pop(reference)
                    yield number, _result(ray, reference)
                    done += 1
                    show(done, total)
        finally:
            # After an error, or where nobody asks for more.
            for reference in waiting:
                ray.cancel(reference, force=True)


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(getattr(error, "cause", None), Exception) else error
        if isinstance(cause, AsperityError):
            raise cause from None
        raise
    except ray.exceptions.RayError as error:
        raise SimulationError(
            f"a share of the work was lost {_MOST_LOSSES + 1} times with the worker that did it: "
            f"{error}"
        ) from error


@contextlib.contextmanager
def _shown(progress: Progress, total: int, what: str) -> Iterator[Callable[[int, int], None]]:
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda done, total: None
    else:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done, _: bar.update(task, completed=done)
