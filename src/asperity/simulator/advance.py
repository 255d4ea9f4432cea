"""A simulator on its way to a time: compiled loops, and what Python does between them."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import TYPE_CHECKING

from asperity.errors import SimulationError, Status
from asperity.integrators import world_layout as codes
from asperity.integrators.steppings.accepted import BUDGET_USED, RECORD_FULL, STEP_TOO_SMALL

if TYPE_CHECKING:
    from asperity.simulator.simulator import Simulator

__all__ = ["advance", "keep_pace"]

# Wall time between two returns to Python [s]: progress bars and interrupts live at these returns.
_TICK = 0.05

_STATUS = {
    codes.NOT_CONVERGED: Status.NOT_CONVERGED,
    codes.NON_FINITE: Status.NON_FINITE,
    codes.FAILED: Status.CAPACITY,
    STEP_TOO_SMALL: Status.STEP_TOO_SMALL,
}


def advance(
    simulator: Simulator,
    end: float,
    progress: Callable[[Simulator], None] | None,
    code: int | None = None,
) -> Status:
    """Advance a simulator's world to a time [s], with controls and systems at their own times.

    Inputs have been taken over, and nothing is published at the end. ``code`` is that of a stretch
    of steps that has been taken already.
    """
    if code is not None:
        status = _heed(simulator, code, progress)
        if status is not None:
            return status
    data, coupling = simulator._reference(), simulator.coupling
    while (time := data.time) < end:
        stop = end
        if simulator.control is not None:
            if simulator._sampling.due(time):
                simulator._call_control()
            stop = min(end, max(simulator._sampling.next, time))
        if coupling.systems:
            coupling.sample()
            stop = min(stop, max(coupling.next_sample(), time))
        status = _run_to(simulator, stop, progress)
        if status is not None:
            return status
        if simulator.control is not None and stop < end:
            simulator._publish()
            _tick(simulator, progress)
    return Status.SUCCESS


def _run_to(
    simulator: Simulator, stop: float, progress: Callable[[Simulator], None] | None
) -> Status | None:
    """Run compiled loops to a time; None if it was reached."""
    while True:
        started = clock.perf_counter()
        code = simulator._take_steps(stop, simulator._pace)
        elapsed = clock.perf_counter() - started
        simulator._wall_time += elapsed
        if code == BUDGET_USED:
            keep_pace(simulator, elapsed)
        status = _heed(simulator, code, progress)
        if code == codes.OK or status is not None:
            return status


def keep_pace(simulator: Simulator, elapsed: float) -> None:
    """Let the next stretch of steps take as long as there should be between two returns.

    The last one has used its whole budget in ``elapsed`` [s].
    """
    factor = min(max(_TICK / max(elapsed, 1e-9), 0.2), 5.0)
    simulator._pace = max(1, min(int(simulator._pace * factor), 1 << 40))


def _heed(
    simulator: Simulator, code: int, progress: Callable[[Simulator], None] | None
) -> Status | None:
    """Do what compiled loops have returned for; the status of a failure, or None."""
    world = simulator.world
    simulator._reference().time = world.current.table.time
    if code == codes.OK:
        return None
    if code == BUDGET_USED:
        _tick(simulator, progress)
    elif code == RECORD_FULL:
        simulator._flush()
        _tick(simulator, progress)
    elif not world.grow(code):
        if code == codes.TREES:
            raise SimulationError(
                "a constraint of the model couples more than two kinematic trees, which is "
                "not supported; remove it or split it."
            )
        if code == codes.SYSTEM_FAILED:
            simulator.coupling.raise_failure()
        return _STATUS[code]
    return None


def _tick(simulator: Simulator, progress: Callable[[Simulator], None] | None) -> None:
    """Call the progress callback if its time has come, whatever the loops returned for."""
    if progress is not None and clock.perf_counter() - simulator._last_tick >= 0.5 * _TICK:
        simulator._publish()
        progress(simulator)
        simulator._last_tick = clock.perf_counter()
