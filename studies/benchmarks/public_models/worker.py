"""A process that runs models, one after the other, and is replaced when one does not end."""

from __future__ import annotations

import math
import multiprocessing
import resource
import signal
import time
import warnings
from multiprocessing.connection import Connection
from typing import Any

import asperity as asp
from studies.benchmarks.public_models.rates import rates
from studies.benchmarks.public_models.trial import (
    INTEGRATORS,
    MOVING_LIMIT,
    QUIET_LIMIT,
    STEP,
    notes,
    parts,
)

__all__ = ["Worker"]

PATIENCE = 20.0
"""Wall time over CPU time of a process that waits for something else than the processor."""
_QUESTIONS = {"rates": rates, "notes": notes, "parts": parts}


def _allow(seconds: float) -> None:
    """Let this process end itself after so much more CPU time."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), most))


def work(connection: Connection, method: str) -> None:
    """Run models as they are named, and tell how they ended."""
    warnings.simplefilter("ignore")
    # What happens once in a process shall not count for the first model.
    ball = "<body pos='0 0 1'><freejoint/><geom size='.1'/></body>"
    asp.Simulator(
        f"<mujoco><worldbody><geom type='plane' size='1 1 1'/>{ball}</worldbody></mujoco>",
        integrator=INTEGRATORS[method](STEP),
    ).advance_to(0.02)
    connection.send({})
    while True:
        path, what = connection.recv()
        timed = what == "rates"
        _allow(QUIET_LIMIT)
        for part in _QUESTIONS[what](path, method):
            connection.send(part)
            if "dofs" in part:
                _allow(QUIET_LIMIT + MOVING_LIMIT if timed else QUIET_LIMIT)
            elif "quiet" in part:
                _allow(MOVING_LIMIT)


class Worker:
    """A process that runs one model after the other."""

    def __init__(self, method: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=work, args=(other, method), daemon=True)
        self._process.start()
        other.close()
        self._connection.recv()

    def run(self, path: str, what: str) -> tuple[dict[str, Any], bool]:
        """Ask for the ``rates``, ``notes`` or ``parts`` of one model.

        Returns what is known, and whether the process is still of use.
        """
        known: dict[str, Any] = {}
        self._connection.send((path, what))
        while "class" not in known:
            part = "random motors" if "quiet" in known else "the first 0.3 s"
            limit = MOVING_LIMIT if "quiet" in known else QUIET_LIMIT
            try:
                if not self._connection.poll(PATIENCE * limit):
                    return known | {"class": "slow", "message": f"{part} do not end"}, False
                known |= self._connection.recv()
            except EOFError:
                self._process.join()
                if self._process.exitcode == -signal.SIGXCPU:
                    return known | {"class": "slow", "message": f"in {part}"}, False
                return known | {"class": "exception", "message": "the process ended"}, False
        return known, True

    def end(self) -> None:
        self._process.kill()
        self._process.join()
