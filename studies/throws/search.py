"""The search for contact parameters, the same for every engine, and the errors that remain."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing.pool import Pool

import numpy as np
from scipy.stats import qmc

from studies.benchmarks.verification.case import Array, Record, Simulate
from studies.peers.limits import OutOfTime, Stopped
from studies.throws.capture import Start, load, noise, starts_near
from studies.throws.engines import ENGINES, errors, foretell, poses

__all__ = ["LOST", "crew", "errors_of", "floor_of", "loss", "search", "split"]

POINTS, ROUNDS, ROUND, BEST = 128, 3, 24, 6
"""Points of a Sobol sequence, then rounds of so many points around the best that are known."""
SPREAD = 0.08
"""Standard deviation of those around the best, as a share of the ranges; halved in every round."""
LOST = np.array([5.0, np.pi])
"""Errors of a throw that an engine cannot simulate to its end [widths, rad]."""

Tell = Callable[[str], None]


def split(training: int) -> tuple[list[int], list[int]]:
    """Numbers of the throws to search with, and of those that the search never sees."""
    order = np.random.default_rng(0).permutation(len(load())).tolist()
    return order[:training], sorted(order[training:])


def loss(found: Array) -> float:
    """Mean error of position [widths] plus mean error of rotation [rad]."""
    return float(np.mean(np.sum(found, axis=1)))


def crew(jobs: int) -> Pool:
    """Processes that simulate throws."""
    # Clean ones: compiled code and threads of this one stay here, which hears Ctrl+C for all.
    context = multiprocessing.get_context("spawn")
    return context.Pool(jobs, signal.signal, (signal.SIGINT, signal.SIG_IGN))


def errors_of(
    pool: Pool, engine: str, values: Sequence[float] | None, indices: Sequence[int]
) -> Array:
    """Errors of throws [widths, rad], shape (throws, 2)."""
    return np.array(pool.map(partial(_error, engine, values), indices, chunksize=8))


def floor_of(
    pool: Pool, engine: str, values: Sequence[float] | None, indices: Sequence[int], draws: int
) -> Array:
    """Errors that an engine would make if it were right, of starts that the noise allows.

    The throw is what the engine makes of the fitted start; what it makes of ``draws`` other starts
    is compared with that. No engine that knows the start no better can be expected to do better.
    """
    return np.array(pool.map(partial(_floor, engine, values, draws), indices, chunksize=2))


def search(
    pool: Pool, engine: str, indices: Sequence[int], tell: Tell
) -> tuple[list[float], float]:
    """The parameters of an engine with the least loss on some throws, and that loss."""
    chosen = ENGINES[engine]
    points = qmc.Sobol(len(chosen.names), seed=1).random(POINTS)
    random = np.random.default_rng(2)
    tried = np.empty((0, points.shape[1]))
    losses = np.empty(0)
    for round_ in range(ROUNDS + 1):
        if round_:
            best = tried[np.argsort(losses)[: BEST // round_]]
            around = np.repeat(best, ROUND // len(best), axis=0)
            points = around + 2 * SPREAD / 2**round_ * random.standard_normal(around.shape)
        for point in np.clip(points, 0.0, 1.0):
            values = chosen.parameters(point).tolist()
            tried = np.vstack([tried, point])
            losses = np.append(losses, loss(errors_of(pool, engine, values, indices)))
            total = POINTS + ROUNDS * ROUND
            tell(f"{engine}: {len(tried)} of {total} searched, loss {losses.min():.4f}")
    least = int(np.argmin(losses))
    return chosen.parameters(tried[least]).tolist(), float(losses[least])


# -- in the processes ------------------------------------------------------------------------------

_simulators: dict[str, Simulate] = {}


def _run(engine: str, values: Sequence[float] | None, start: Start, duration: float) -> Record:
    if engine not in _simulators:
        _simulators[engine] = ENGINES[engine].simulate()
    return foretell(_simulators[engine], ENGINES[engine].world(values), start, duration)


def _error(engine: str, values: Sequence[float] | None, index: int) -> Array:
    throw = load()[index]
    try:
        return errors(_run(engine, values, throw.start, throw.duration), throw)
    except (OutOfTime, Stopped):
        return LOST


def _floor(engine: str, values: Sequence[float] | None, draws: int, index: int) -> Array:
    throw = load()[index]
    ideal = _run(engine, values, throw.start, throw.duration)
    position, rotation = poses(ideal, len(throw.position))
    throw = replace(throw, position=position, rotation=rotation.as_matrix())
    starts = starts_near(throw, noise(load()), draws, seed=index)
    runs = [_run(engine, values, start, throw.duration) for start in starts]
    return np.asarray(np.mean([errors(run, throw) for run in runs], axis=0))
