"""Counters of work, gathered from where compiled code counts."""

from __future__ import annotations

import dataclasses

import numpy as np
from numba import types

from asperity.compiled import HoldsAddresses, Layout, Table, compiled, compiled_loop
from asperity.convex.problem import PROBLEM
from asperity.integrators.methods.method import Method
from asperity.integrators.world import World
from asperity.integrators.world_layout import WORLD
from asperity.plant.plant_layouts import STATE
from asperity.simulator.report import Statistics

__all__ = ["COUNTERS", "COUNTER_KERNELS", "ITERATIONS", "Counters", "as_statistics", "count_work"]

COUNTERS = Layout(
    "counters",
    world="i8",  # addresses
    problem="i8",
    states="i8[:]",
    counts="i8[:]",
    work="i8[:]",  # what has come to them in a call
)

_COUNTS = 14

ITERATIONS = 3
"""Where Newton iterations are among counts."""

_FIELDS = tuple(field.name for field in dataclasses.fields(Statistics))


@compiled
def count_work(counters: Table) -> None:
    """Fill ``counts`` in the order of `Statistics`."""
    counts = counters.counts
    world = WORLD.at(counters.world)
    problem = PROBLEM.at(counters.problem)
    counts[0] = world.steps
    counts[1] = world.rejections
    counts[2] = problem.counts.solves
    counts[3] = problem.counts.iterations
    counts[4] = problem.counts.longest_iterations
    counts[5] = problem.counts.factorizations
    counts[6] = problem.counts.line_search_evaluations
    counts[7] = 0
    for i in range(counters.states.size):
        counts[7] += STATE.at(counters.states[i]).evaluations
    counts[8] = world.substeps
    counts[9] = problem.counts.unsettled
    counts[10] = 0
    counts[11] = 0
    counts[12] = world.impact_rejections
    counts[13] = world.rebounds


@compiled_loop(types.void(types.int64))
def _count(counters_address: int) -> None:
    count_work(COUNTERS.at(counters_address))


COUNTER_KERNELS = (_count,)
"""What `Counters` needs compiled, of methods with a convex problem."""


class Counters(HoldsAddresses):
    """Counts what a method does in a world.

    Parameters
    ----------
    world : World
        Prepared by the method.
    method : Method
        The innermost one, which keeps the counters.
    """

    def __init__(self, world: World, method: Method) -> None:
        self._world, self._method = world, method
        self._table: Table | None = None
        if method.evaluates_plant:
            states = np.array([state.table.address for state in world.evaluated_states], np.int64)
            self._table = Table(
                COUNTERS,
                world=world.table.address,
                problem=world.problem.address,
                states=states,
                counts=np.zeros(_COUNTS, np.int64),
                work=np.zeros(_COUNTS, np.int64),
            )

    @property
    def table(self) -> Table:
        """The counters, for compiled code, of methods with a convex problem."""
        assert self._table is not None
        return self._table

    def read(self) -> np.ndarray:
        """All counts, in the order of `Statistics`."""
        if self._table is not None:
            _count.call(self._table.address)
            return self._table.counts.copy()
        world, method = self._world, self._method
        counts = method.statistics(world)
        return np.array(
            [
                world.table.steps,
                world.table.rejections,
                counts["solves"],
                counts["iterations"],
                counts["longest_iterations"],
                counts["factorizations"],
                counts["line_search_evaluations"],
                sum(state.table.evaluations for state in world.evaluated_states),
                world.table.substeps,
                *method.fallbacks(world),
                world.table.impact_rejections,
                world.table.rebounds,
            ],
            np.int64,
        )


def as_statistics(counts: np.ndarray, wall_time: float) -> Statistics:
    """Counts from `Counters.read`, or differences of them, by name."""
    # A frozen dataclass sets its fields one by one, which takes longer than to count them.
    statistics = object.__new__(Statistics)
    numbers = counts.tolist()
    numbers.append(wall_time)
    vars(statistics).update(zip(_FIELDS, numbers, strict=True))
    return statistics
