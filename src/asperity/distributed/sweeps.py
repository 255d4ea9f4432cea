"""Parameter sweeps over the machines of a Ray cluster."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from asperity.distributed.shares import Progress, do_shares
from asperity.errors import ArgumentError

__all__ = ["grid", "sweep"]


def grid(**values: Iterable[Any]) -> list[dict[str, Any]]:
    """All combinations of values of parameters, the last one changing first.

    ``grid(accuracy=[1e-2, 1e-3], friction=[0.5, 1.0])`` are four cases.
    """
    return [
        dict(zip(values, combination, strict=True))
        for combination in itertools.product(*values.values())
    ]


def sweep(
    function: Callable[..., Any],
    cases: Sequence[Mapping[str, Any]],
    *,
    threads: int = 1,
    progress: Progress = True,
) -> list[Any]:
    """Call ``function(**case)`` for every case, on all machines of a Ray cluster.

    Parameters
    ----------
    function : callable
        What simulates a case and returns what is to be known of it: numbers and arrays, not a
        `Simulator`. Random numbers must have seeds among the parameters, so that a case that is
        done again has the same result.
    cases : sequence of mapping
        Arguments by name, as of `grid`.
    threads : int
        Processors that a case takes.
    progress : bool or callable
        As for `asperity.distributed.rollout`.

    Returns
    -------
    list
        Results in the order of the cases. A case that is lost with its worker is done again.

    Raises
    ------
    ArgumentError, MissingExtra
        If an argument is none, or Ray is not installed.
    SimulationError
        If a case was lost with six workers, one after the other.
    Exception
        What the function has raised.
    """
    if not callable(function):
        raise ArgumentError(f"function must be a function, got {function!r}.")
    for number, case in enumerate(cases):
        if not isinstance(case, Mapping):
            raise ArgumentError(f"cases[{number}] must be arguments by name, got {case!r}.")
    results: list[Any] = [None] * len(cases)
    shares = [(function, dict(case)) for case in cases]
    for number, result in do_shares(_call, shares, cpus=threads, progress=progress, what="Cases"):
        results[number] = result
    return results


def _call(function: Callable[..., Any], case: Mapping[str, Any]) -> Any:
    return function(**case)
