"""Runs of candidates that are measured only where they may have come near.

A list has every pair of primitives that may touch somewhere on its links' paths, most of which are
far apart at any time. Runs are pieces of the list, each of a single pair of links. What is known of
a run is the least distance in it; while the two links move by less than takes it within reach, it
is not looked at. Nothing depends on that but time: beyond reach, candidates have neither energy nor
forces, and do not bound a step.

A run's values (squares, coefficients, arms of its candidates) are those of the iterate (`AT_NOW`),
of the trial state (`AT_TRIAL`), or older ones (`OLD`), whose squares are beyond reach as the true
ones are. The iterate's squares are in ``now_square`` if ``run_known`` says so; else they are older
ones as well.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.energy.contact_schedule import schedule_runs
from asperity.midas.geometry.distances import separation
from asperity.midas.lists.stencils import sum_of_radii
from asperity.midas.parts import PART, RUNS, count_parts, do_parts

__all__ = [
    "RUN_KERNELS",
    "SLACK",
    "accept_runs",
    "divide_into_runs",
    "measure_candidates",
    "measure_now",
    "measure_trial",
    "move_of_run",
    "run_parts",
    "wake",
]

SLACK = 0.5
"""How far boxes reach beyond the expected path, in activation distances, and what is measured."""

AT_NOW, AT_TRIAL, OLD = range(3)

_LONGEST = 32


@compiled
def divide_into_runs(engine: Table) -> None:
    """Divide a new list, whose candidates are measured at the iterate."""
    runs = 0
    pair = -1
    begin = 0
    for i in range(engine.candidates.count):
        if engine.candidates.pair[i] != pair or i - begin == _LONGEST:
            pair = engine.candidates.pair[i]
            begin = i
            engine.runs.begin[runs] = i
            runs += 1
    engine.runs.count = runs
    engine.runs.begin[runs] = engine.candidates.count
    world = engine.links.parent.size
    for run in range(runs):
        first = engine.runs.begin[run]
        shape = engine.pairs.shape[engine.candidates.pair[first]]
        engine.runs.link[run, 0] = engine.shapes.vertex_link[engine.shapes.vertex_start[shape[0]]]
        engine.runs.link[run, 1] = world
        if shape[1] >= 0:
            engine.runs.link[run, 1] = engine.shapes.vertex_link[
                engine.shapes.vertex_start[shape[1]]
            ]
        engine.runs.activation[run] = engine.pairs.activation[engine.candidates.pair[first]]
        engine.runs.anchored[run] = 0
        smallest = math.inf
        for i in range(first, engine.runs.begin[run + 1]):
            smallest = min(smallest, engine.candidates.square[i])
        _set_now(engine, run, math.sqrt(smallest))
    schedule_runs(engine)


@compiled
def move_of_run(engine: Table, run: int) -> float:
    """Bound of how far points of a run's two links move against each other to the trial state."""
    return (
        engine.runs.link_move[engine.runs.link[run, 0]]
        + engine.runs.link_move[engine.runs.link[run, 1]]
    )


@compiled
def _measure(engine: Table, run: int, x: np.ndarray) -> float:
    """Measure a run's candidates at vertex positions ``x``; returns the smallest distance."""
    vertex = engine.candidates.vertex
    pair = engine.candidates.pair[engine.runs.begin[run]]
    smallest = math.inf
    for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
        engine.candidates.square[i] = separation(
            engine.candidates.kind[i],
            vertex[i, 0],
            vertex[i, 1],
            vertex[i, 2],
            vertex[i, 3],
            x,
            engine.shapes.plane,
            engine.shapes.plane_corner,
            sum_of_radii(engine, pair, engine.candidates.kind[i], vertex[i, 0], vertex[i, 3]),
            engine.candidates.coefficient[i],
            engine.candidates.arm[i],
        )
        smallest = min(smallest, engine.candidates.square[i])
    return math.sqrt(smallest)


@compiled
def _set_now(engine: Table, run: int, least: float) -> None:
    """Make the values of a run, which are the iterate's, known."""
    for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
        engine.runs.now_square[i] = engine.candidates.square[i]
    engine.runs.state[run] = AT_NOW
    engine.runs.known[run] = 1
    engine.runs.least[run] = least
    engine.runs.trial[run] = least


@compiled
def _put_back(engine: Table, run: int) -> None:
    """Replace a trial state's squares by older ones, that are beyond reach."""
    for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
        engine.candidates.square[i] = engine.runs.now_square[i]
    engine.runs.state[run] = OLD


@compiled
def wake(engine: Table, run: int) -> None:
    """Measure a run at the iterate if its values are others or it is not known."""
    if engine.runs.state[run] != AT_NOW or engine.runs.known[run] == 0:
        _set_now(engine, run, _measure(engine, run, engine.vertices.now))


@compiled
def _end(engine: Table, part: int) -> int:
    return min((part + 1) * RUNS, engine.runs.count)


@compiled
def run_parts(engine: Table) -> int:
    """How many parts the runs have."""
    return count_parts(engine.runs.count, RUNS)


@entry_point(PART)
def measure_all_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Measure some runs at the iterate."""
    for run in range(part * RUNS, _end(engine, part)):
        _set_now(engine, run, _measure(engine, run, engine.vertices.now))
    return 0


@compiled
def measure_candidates(engine: Table) -> None:
    """Measure all candidates at an iterate that nothing is known of."""
    do_parts(engine, engine.entries.measure_all_part, run_parts(engine))


@entry_point(PART)
def measure_trial_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Measure what may be within reach at the trial state, of some runs."""
    for run in range(part * RUNS, _end(engine, part)):
        reach = (1.0 + SLACK) * engine.runs.activation[run]
        bound = engine.runs.least[run] - move_of_run(engine, run)
        if bound >= reach:
            if engine.runs.state[run] == AT_TRIAL:
                _put_back(engine, run)
            engine.runs.trial[run] = bound
        else:
            engine.runs.trial[run] = _measure(engine, run, engine.vertices.trial)
            engine.runs.state[run] = AT_TRIAL
    return 0


@compiled
def measure_trial(engine: Table) -> None:
    """Measure what may be within reach at the trial state."""
    do_parts(engine, engine.entries.measure_trial_part, run_parts(engine))


@entry_point(PART)
def measure_now_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Go back to the iterate's values from those of a trial state, of some runs."""
    for run in range(part * RUNS, _end(engine, part)):
        if engine.runs.state[run] == AT_TRIAL:
            if engine.runs.least[run] >= (1.0 + SLACK) * engine.runs.activation[run]:
                _put_back(engine, run)
            else:
                _set_now(engine, run, _measure(engine, run, engine.vertices.now))
        engine.runs.trial[run] = engine.runs.least[run]
    return 0


@compiled
def measure_now(engine: Table) -> None:
    """Go back to the iterate's values from those of a trial state."""
    do_parts(engine, engine.entries.measure_now_part, run_parts(engine))


@compiled
def accept_runs(engine: Table) -> None:
    """Make a measured trial state's values those of the iterate."""
    for run in range(engine.runs.count):
        if engine.runs.state[run] == AT_TRIAL:
            _set_now(engine, run, engine.runs.trial[run])
        else:
            engine.runs.state[run] = OLD
            engine.runs.known[run] = 0
            engine.runs.least[run] = engine.runs.trial[run]


RUN_KERNELS = (measure_all_part, measure_trial_part, measure_now_part)
