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
from asperity.midas.geometry.stencil import candidate_stencil
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
    candidates = engine.candidates
    runs = 0
    pair = -1
    begin = 0
    for i in range(candidates.count):
        if candidates.pair[i] != pair or i - begin == _LONGEST:
            pair = candidates.pair[i]
            begin = i
            engine.runs.begin[runs] = i
            runs += 1
    engine.runs.count = runs
    engine.runs.begin[runs] = candidates.count
    world = engine.links.parent.size
    for run in range(runs):
        first = engine.runs.begin[run]
        shape = engine.pairs.shape[candidates.pair[first]]
        engine.runs.link[run, 0] = engine.shapes.vertex_link[engine.shapes.vertex_start[shape[0]]]
        engine.runs.link[run, 1] = world
        if shape[1] >= 0:
            engine.runs.link[run, 1] = engine.shapes.vertex_link[
                engine.shapes.vertex_start[shape[1]]
            ]
        engine.runs.activation[run] = engine.pairs.activation[candidates.pair[first]]
        engine.runs.anchored[run] = 0
        smallest = math.inf
        for i in range(first, engine.runs.begin[run + 1]):
            smallest = min(smallest, candidates.square[i])
            ratio = math.sqrt(candidates.square[i]) / engine.runs.activation[run]
            candidates.final[i] = min(ratio, 1.0)
        engine.runs.expects[run] = 0
        _set_now(engine.runs, candidates, run, math.sqrt(smallest))
    schedule_runs(engine.runs, engine.schedule)


@compiled
def move_of_run(runs: Table, run: int) -> float:
    """Bound of how far points of a run's two links move against each other to the trial state."""
    return runs.link_move[runs.link[run, 0]] + runs.link_move[runs.link[run, 1]]


@compiled
def _measure(engine: Table, run: int, x: np.ndarray) -> float:
    """Measure a run's candidates at vertex positions ``x``; returns the smallest distance."""
    candidates = engine.candidates
    pair = candidates.pair[engine.runs.begin[run]]
    smallest = math.inf
    for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
        stencil = candidate_stencil(candidates, i)
        candidates.square[i] = separation(
            stencil,
            x,
            engine.shapes,
            sum_of_radii(engine.shapes, engine.pairs, pair, stencil),
            candidates.coefficient[i],
            candidates.arm[i],
        )
        smallest = min(smallest, candidates.square[i])
    return math.sqrt(smallest)


@compiled
def _set_now(runs: Table, candidates: Table, run: int, least: float) -> None:
    """Make the values of a run, which are the iterate's, known."""
    for i in range(runs.begin[run], runs.begin[run + 1]):
        runs.now_square[i] = candidates.square[i]
    runs.state[run] = AT_NOW
    runs.known[run] = 1
    runs.least[run] = least
    runs.trial[run] = least


@compiled
def _put_back(runs: Table, candidates: Table, run: int) -> None:
    """Replace a trial state's squares by older ones, that are beyond reach."""
    for i in range(runs.begin[run], runs.begin[run + 1]):
        candidates.square[i] = runs.now_square[i]
    runs.state[run] = OLD


@compiled
def wake(engine: Table, run: int) -> None:
    """Measure a run at the iterate if its values are others or it is not known."""
    if engine.runs.state[run] != AT_NOW or engine.runs.known[run] == 0:
        _set_now(engine.runs, engine.candidates, run, _measure(engine, run, engine.vertices.now))


@compiled
def _end(runs: Table, part: int) -> int:
    return min((part + 1) * RUNS, runs.count)


@compiled
def run_parts(runs: Table) -> int:
    """How many parts the runs have."""
    return count_parts(runs.count, RUNS)


@entry_point(PART)
def measure_all_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Measure some runs at the iterate."""
    for run in range(part * RUNS, _end(engine.runs, part)):
        _set_now(engine.runs, engine.candidates, run, _measure(engine, run, engine.vertices.now))
    return 0


@compiled
def measure_candidates(engine: Table) -> None:
    """Measure all candidates at an iterate that nothing is known of."""
    do_parts(engine, engine.entries.measure_all_part, run_parts(engine.runs))


@entry_point(PART)
def measure_trial_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Measure what may be within reach at the trial state, of some runs."""
    runs = engine.runs
    for run in range(part * RUNS, _end(runs, part)):
        reach = (1.0 + SLACK) * runs.activation[run]
        bound = runs.least[run] - move_of_run(runs, run)
        if bound >= reach:
            if runs.state[run] == AT_TRIAL:
                _put_back(runs, engine.candidates, run)
            runs.trial[run] = bound
        else:
            runs.trial[run] = _measure(engine, run, engine.vertices.trial)
            runs.state[run] = AT_TRIAL
    return 0


@compiled
def measure_trial(engine: Table) -> None:
    """Measure what may be within reach at the trial state."""
    do_parts(engine, engine.entries.measure_trial_part, run_parts(engine.runs))


@entry_point(PART)
def measure_now_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Go back to the iterate's values from those of a trial state, of some runs."""
    for run in range(part * RUNS, _end(engine.runs, part)):
        if engine.runs.state[run] == AT_TRIAL:
            if engine.runs.least[run] >= (1.0 + SLACK) * engine.runs.activation[run]:
                _put_back(engine.runs, engine.candidates, run)
            else:
                _set_now(
                    engine.runs, engine.candidates, run, _measure(engine, run, engine.vertices.now)
                )
        engine.runs.trial[run] = engine.runs.least[run]
    return 0


@compiled
def measure_now(engine: Table) -> None:
    """Go back to the iterate's values from those of a trial state."""
    do_parts(engine, engine.entries.measure_now_part, run_parts(engine.runs))


@compiled
def accept_runs(runs: Table, candidates: Table) -> None:
    """Make a measured trial state's values those of the iterate."""
    for run in range(runs.count):
        if runs.state[run] == AT_TRIAL:
            _set_now(runs, candidates, run, runs.trial[run])
        else:
            runs.state[run] = OLD
            runs.known[run] = 0
            runs.least[run] = runs.trial[run]


RUN_KERNELS = (measure_all_part, measure_trial_part, measure_now_part)
