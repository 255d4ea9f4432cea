"""Calls of a simulator that compiled code does alone, and what Python does around them."""

from __future__ import annotations

import logging
import math
import time as clock
from typing import TYPE_CHECKING, Literal

from asperity.compiled import Table
from asperity.compiled.compilation import compile_kernels
from asperity.integrators.steppings.accepted import BUDGET_USED
from asperity.simulator.advance import keep_pace
from asperity.simulator.compiled_call import (
    PUBLISHED,
    UNUSUAL,
    new_call,
    publish_state,
    run_call,
)
from asperity.simulator.compiled_publication import BY_PYTHON
from asperity.simulator.inputs import SLEEP
from asperity.simulator.publish import PUBLICATION_KERNELS
from asperity.simulator.report import Report

if TYPE_CHECKING:
    from asperity.simulator.machinery import Machinery
    from asperity.simulator.simulator import Simulator

__all__ = ["call_at_once", "call_of", "publish_at_once"]

_LOGGER = logging.getLogger("asperity")


def call_at_once(simulator: Simulator, time: float) -> Report | None:
    """Advance to a time [s] and publish; None if Python is to do it, and nothing has been done."""
    call = call_of(simulator)
    if not call or not simulator._reference().time < time < math.inf:
        return None
    started = clock.perf_counter()
    code = run_call.call(call.address, time, simulator._pace)
    if code == UNUSUAL:
        return None
    elapsed = clock.perf_counter() - started
    wall_time = simulator._wall_time
    simulator._wall_time += elapsed
    work = simulator._counters.table.work
    if code == PUBLISHED:
        simulator._stale = simulator._lazy
        counts = work.tolist()
        # Not ``elapsed``: differences of `Simulator.stats` are the same to the last bit.
        counts.append(simulator._wall_time - wall_time)
        report = Report.of_counts(time, counts)
        if _LOGGER.isEnabledFor(logging.DEBUG):
            _LOGGER.debug("advanced to %g s: %s", time, report.stats)
        return report
    if code == BUDGET_USED:
        keep_pace(simulator, elapsed)
    return simulator._go_on(time, None, code, -work, wall_time)


def publish_at_once(simulator: Machinery) -> bool:
    """Publish the current state; False if Python is to do it."""
    call = call_of(simulator)
    if not call:
        return False
    code = publish_state.call(call.address)
    while code not in (PUBLISHED, BY_PYTHON) and simulator.world.grow(code):
        code = publish_state.call(call.address)
    if code == BY_PYTHON:
        compile_kernels(PUBLICATION_KERNELS, "MuJoCo's contacts")
    return bool(code != BY_PYTHON)


def call_of(simulator: Machinery) -> Table | Literal[False]:
    """The table of a simulator's calls, or False if there is always something for Python to do."""
    if simulator._call is None:
        simulator._call = _new_call(simulator)
    return simulator._call


def _new_call(simulator: Machinery) -> Table | Literal[False]:
    model, stepping = simulator.model, simulator._stepping
    if (
        not simulator._base.evaluates_plant
        or simulator.coupling.systems
        or model.opt.enableflags & SLEEP
    ):
        return False
    return new_call(
        model,
        simulator.world,
        simulator._inputs,
        simulator._watch,
        simulator._counters,
        (stepping.entry, simulator.method.kernel),
        stepping.time_step,
        lazy=simulator._lazy,
    )
