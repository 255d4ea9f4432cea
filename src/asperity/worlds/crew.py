"""A crew: threads that share a job, of which the calling one is the first."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from asperity.simulator.advance import next_pace

__all__ = ["Crew"]


class Crew:
    """Threads that run one thing each, over and over, until all have nothing left to do.

    Parameters
    ----------
    threads : int
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._paces = [100] * threads

    def run(
        self, works: Sequence[Callable[[int], bool]], stop: Callable[[], None], waiting: int
    ) -> None:
        """Call every work with a budget until it is done, each in a thread of its own.

        Parameters
        ----------
        works : sequence of callable
            ``done = work(budget)``; at most as many as there are threads. A call that is not done
            should take about 50 ms of wall time with the budgets that it is given.
        stop : callable
            Called, perhaps more than once, when a work has raised or the user has interrupted:
            works are to be done soon.
        waiting : int
            How many there are to do: no more threads than that are used.
        """
        others: list[Future[None]] = []
        if self._pool is not None:
            for number in range(1, min(len(works), waiting)):
                others.append(self._pool.submit(self._repeat, number, works[number], stop))
        try:
            self._repeat(0, works[0], stop)
            for other in others:
                other.result()
        except BaseException:
            stop()
            for other in others:
                with contextlib.suppress(BaseException):
                    other.result()
            # What was interrupted is brought to an end, too.
            with contextlib.suppress(Exception):
                self._repeat(0, works[0], stop)
            raise

    def _repeat(self, number: int, work: Callable[[int], bool], stop: Callable[[], None]) -> None:
        try:
            while True:
                started = time.perf_counter()
                if work(self._paces[number]):
                    return
                elapsed = time.perf_counter() - started
                self._paces[number] = next_pace(self._paces[number], elapsed)
        except BaseException:
            stop()
            raise
