"""A session on its way to a time: compiled loops, and what Python does between them."""

from __future__ import annotations

import logging
import math
import time as clock
from collections.abc import Callable

import numpy as np

from asperity.errors import ArgumentError, SimulationError, Status
from asperity.integrators import world_layout as codes
from asperity.integrators.steppings.accepted import BUDGET_USED, RECORD_FULL
from asperity.simulator.compiled_call import PUBLISHED, STATUSES, UNUSUAL, run_call
from asperity.simulator.counters import as_statistics
from asperity.simulator.delays import next_arrival, note_samples
from asperity.simulator.exchange import (
    call_control,
    catch_up,
    follow_time_step,
    publish_session,
    take_over,
)
from asperity.simulator.report import Report, reached
from asperity.simulator.session import Session

__all__ = ["COUPLED_TREES", "advance", "next_pace"]

_LOGGER = logging.getLogger("asperity")

# Wall time between two returns to Python [s]: progress bars and interrupts live at these returns.
_TICK = 0.05

_STATUS = {code: Status(status) for code, status in STATUSES}

COUPLED_TREES = (
    "a constraint of the model couples more than two kinematic trees, which is not supported; "
    "remove it or split it."
)
"""What is said where a stepping returns `asperity.integrators.world_layout.TREES`."""

_Progress = Callable[[], None] | None


def advance(session: Session, time: float, progress: _Progress) -> Report:
    """Advance a session, which is claimed, to a time [s], and publish.

    Parameters
    ----------
    session : Session
    time : float
    progress : callable or None
        Called about every 50 ms of wall time, with the data published.

    Raises
    ------
    ArgumentError, ModelError
        If the time, the state, a control or the model cannot be simulated; nothing has changed.
    """
    if session.team is not None:
        session.team.start()
    watched = session.watcher is not None or session.history is not None
    if watched or progress is not None or session.control is not None or not session.at_once:
        return _advance_by_parts(session, time, progress)
    if session.wakes and session.data.time < time < math.inf:
        # New data, as mj_resetData makes it, may be asleep to MuJoCo.
        session.inputs.wake()
    started = clock.perf_counter()
    code = run_call.call(session.call.address, time, session.pace, session.more)
    if code == UNUSUAL:
        return _advance_by_parts(session, time, progress)
    if session.more:
        time = session.call.end
    elapsed = clock.perf_counter() - started
    wall_time = session.wall_time
    session.wall_time += elapsed
    work = session.call.counters.work
    if code == PUBLISHED:
        if session.fast_motion is not None:
            _look_at_motion(session)
        session.stale = session.lazy
        counts = work.tolist()
        # Not ``elapsed``: differences of `Simulator.stats` are the same to the last bit.
        counts.append(session.wall_time - wall_time)
        report = reached(time, counts)
        if _LOGGER.isEnabledFor(logging.DEBUG):
            _LOGGER.debug("advanced to %g s: %s", time, report.stats)
        return report
    if code == BUDGET_USED:
        session.pace = next_pace(session.pace, elapsed)
    return _go_on(session, time, progress, code, -work, wall_time)


def _advance_by_parts(session: Session, time: float, progress: _Progress) -> Report:
    """See `advance`, where Python has something to do before the first step."""
    now = session.data.time
    if not math.isfinite(time) or time < now:
        raise ArgumentError(
            f"time {time} must be finite and not before {now}, the time of the simulator."
        )
    if session.stale and session.control is not None:
        catch_up(session)
    follow_time_step(session)
    before, wall_time = session.counters.read(), session.wall_time
    session.base.clear_residual(session.world)
    # What follows depends on the state alone, so that a restored one continues identically.
    take_over(session, forgetting=True)
    if session.has_systems:
        session.coupling.check()
        session.coupling.invalidate()
    return _go_on(session, time, progress, None, before, wall_time)


def _go_on(
    session: Session,
    time: float,
    progress: _Progress,
    code: int | None,
    before: np.ndarray,
    wall_time: float,
) -> Report:
    """Advance to a time, from where an earlier stretch of steps has returned with a code."""
    base = session.base
    try:
        status = _run(session, time, progress, code)
        complaint = session.coupling.complaint() if session.has_systems else ""
    except BaseException:
        # What went wrong is told; that a system fails again in the publication is not.
        publish_session(session, quietly=True)
        raise
    publish_session(session, lazily=True)
    residual, detail = 0.0, ""
    if status == Status.NON_FINITE:
        detail = complaint
    elif status == Status.NOT_CONVERGED:
        residual = base.worst_residual(session.world)
        detail = base.hindrance(session.world)
    stats = as_statistics(session.counters.read() - before, session.wall_time - wall_time)
    report = Report(status, float(session.data.time), stats, residual, detail)
    _look_at_motion(session)
    if status != Status.SUCCESS:
        _LOGGER.info("stopped at %g s: %s", report.time, report.message)
    elif _LOGGER.isEnabledFor(logging.DEBUG):
        _LOGGER.debug("advanced to %g s: %s", report.time, report.stats)
    return report


def _look_at_motion(session: Session) -> None:
    """Warn if fixed steps are too long for what moves, once."""
    fast, data = session.fast_motion, session.data
    if fast is not None and not fast.look(data.time, data.qvel):
        session.fast_motion = None


def _run(session: Session, end: float, progress: _Progress, code: int | None) -> Status:
    """Advance the world to a time [s], with controls and systems at their own times.

    ``code`` is that of a stretch of steps that has been taken already.
    """
    if code is not None:
        status = _heed(session, code, progress)
        if status is not None:
            return status
    data, coupling = session.data, session.coupling
    while (time := data.time) < end:
        stop = end
        if session.control is not None:
            if session.clock.due(time):
                call_control(session)
            stop = min(end, max(session.clock.next, time))
        if session.has_systems:
            coupling.sample()
            stop = min(stop, max(coupling.next_sample(), time))
        status = _run_to(session, stop, progress)
        if status is not None:
            return status
        if session.control is not None and stop < end:
            publish_session(session)
            _tick(session, progress)
    return Status.SUCCESS


def _run_to(session: Session, stop: float, progress: _Progress) -> Status | None:
    """Run compiled loops to a time; None if it was reached."""
    delayed = session.model.nhistory > 0
    goal = stop
    while True:
        started = clock.perf_counter()
        if delayed:
            note_samples(session)
            goal = stop if session.integrator.time_step else min(stop, next_arrival(session))
        code = session.take_steps(goal, 1 if delayed else session.pace)
        elapsed = clock.perf_counter() - started
        session.wall_time += elapsed
        if code == BUDGET_USED and not delayed:
            session.pace = next_pace(session.pace, elapsed)
        status = _heed(session, code, progress)
        if status is not None or (code == codes.OK and goal == stop):
            return status


def next_pace(pace: int, elapsed: float) -> int:
    """Attempted steps that take as long as there should be between two returns to Python.

    Parameters
    ----------
    pace : int
        How many were attempted last.
    elapsed : float
        Wall time that they took [s].
    """
    factor = min(max(_TICK / max(elapsed, 1e-9), 0.2), 5.0)
    return max(1, min(int(pace * factor), 1 << 40))


def _heed(session: Session, code: int, progress: _Progress) -> Status | None:
    """Do what compiled loops have returned for; the status of a failure, or None."""
    world = session.world
    session.data.time = world.current.table.time
    if code == codes.OK:
        return None
    if code == BUDGET_USED:
        _tick(session, progress)
    elif code == RECORD_FULL:
        if session.watcher is not None:
            session.watcher.keep_record()
        world.table.records = 0
        _tick(session, progress)
    elif not world.grow(code):
        if code == codes.TREES:
            raise SimulationError(COUPLED_TREES)
        if code == codes.SYSTEM_FAILED:
            session.coupling.raise_failure()
        return _STATUS[code]
    return None


def _tick(session: Session, progress: _Progress) -> None:
    """Call the progress callback if its time has come, whatever the loops returned for."""
    if progress is not None and clock.perf_counter() - session.last_tick >= 0.5 * _TICK:
        publish_session(session)
        progress()
        session.last_tick = clock.perf_counter()
