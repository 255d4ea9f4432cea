"""Where the time of a simulation goes: compiled entry points, timed where they are called.

Tables hold the addresses of what a step is made of. While stopwatches run, compiled functions
stand in their places that look at the clock before and after. Each look costs about 30 ns.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numba import cfunc, types

from asperity.compiled import Table
from asperity.compiled.calls import (
    call_method,
    call_pp_status,
    call_ppp_status,
    load_address,
    load_double,
    store_double,
)
from asperity.simulator import Simulator

__all__ = ["Shares", "Stopwatches", "stopwatches"]

_MONOTONIC = 1  # Linux's number of that clock


class Shares(NamedTuple):
    """Time of a run by what it was spent on [s]."""

    geometry: float
    """Collision detection and contact surfaces."""
    hessian: float
    """Assembly of Hessians, factorization, back-substitution."""
    line_search: float
    external: float
    """Sampling and linearising external systems."""
    dynamics: float
    """Kinematics, masses, forces and rows of constraints."""
    other: float
    """Gradients, error control, integration of positions, publication, Python."""

    @property
    def total(self) -> float:
        """[s]"""
        return sum(self)


def _two(original: int, clock: int, now: int, spent: int) -> Any:
    """What calls an entry point of two addresses, and adds the time that it takes."""

    @cfunc(types.int64(types.int64, types.int64))
    def forward(a: int, b: int) -> int:
        call_pp_status(clock, _MONOTONIC, now)
        begin = 1e9 * load_address(now) + load_address(now + 8)
        code = call_pp_status(original, a, b)
        call_pp_status(clock, _MONOTONIC, now)
        end = 1e9 * load_address(now) + load_address(now + 8)
        store_double(spent, load_double(spent) + 1e-9 * (end - begin))
        return code

    return forward


def _three(original: int, clock: int, now: int, spent: int) -> Any:
    """As `_two`, for three addresses."""

    @cfunc(types.int64(types.int64, types.int64, types.int64))
    def forward(a: int, b: int, c: int) -> int:
        call_pp_status(clock, _MONOTONIC, now)
        begin = 1e9 * load_address(now) + load_address(now + 8)
        code = call_ppp_status(original, a, b, c)
        call_pp_status(clock, _MONOTONIC, now)
        end = 1e9 * load_address(now) + load_address(now + 8)
        store_double(spent, load_double(spent) + 1e-9 * (end - begin))
        return code

    return forward


def _method(original: int, clock: int, now: int, spent: int) -> Any:
    """As `_two`, for three addresses and a step."""

    @cfunc(types.int64(types.int64, types.int64, types.int64, types.float64))
    def forward(a: int, b: int, c: int, step: float) -> int:
        call_pp_status(clock, _MONOTONIC, now)
        begin = 1e9 * load_address(now) + load_address(now + 8)
        code = call_method(original, a, b, c, step)
        call_pp_status(clock, _MONOTONIC, now)
        end = 1e9 * load_address(now) + load_address(now + 8)
        store_double(spent, load_double(spent) + 1e-9 * (end - begin))
        return code

    return forward


class _Watch:
    """One entry point's time: a compiled function in its place."""

    def __init__(self, table: Table, field: str, make: Callable[[int, int, int, int], Any]) -> None:
        self._table, self._field = table, field
        self._original = int(getattr(table, field))
        self._spent, self._now = np.zeros(1), np.zeros(2, np.int64)
        if self._original == 0:
            return
        clock = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value or 0
        # The function must stay while its address is in the table.
        self._forward = make(
            self._original, clock, int(self._now.ctypes.data), int(self._spent.ctypes.data)
        )
        setattr(table, field, self._forward.address)

    @property
    def spent(self) -> float:
        """[s]"""
        return float(self._spent[0])

    def stop(self) -> None:
        """Put the entry point back."""
        setattr(self._table, self._field, self._original)


class Stopwatches:
    """Stopwatches on the entry points of a simulator with a convex method."""

    def __init__(self, simulator: Simulator) -> None:
        world = simulator.world
        plant, problem = world.plant.table, world.problem
        self._collision = _Watch(plant, "collision", _two)
        self._contacts = _Watch(plant, "read_contacts", _two)
        self._evaluate = _Watch(world.table, "evaluate", _two)
        self._hessian = [
            _Watch(problem, "assemble", _three),
            _Watch(problem, "factorize", _two),
            _Watch(problem, "solve_factors", _two),
        ]
        self._line_search = _Watch(problem, "line_search", _two)
        self._external = [
            _Watch(world.table, field, _method)
            for field in ("prepare_systems", "limit_systems", "advance_systems")
        ]

    def stop(self) -> None:
        """Put all entry points back."""
        for watch in (
            self._collision,
            self._contacts,
            self._evaluate,
            *self._hessian,
            self._line_search,
            *self._external,
        ):
            watch.stop()

    def shares(self, total: float) -> Shares:
        """What a run of this time was spent on."""
        geometry = self._collision.spent + self._contacts.spent
        hessian = sum(watch.spent for watch in self._hessian)
        external = sum(watch.spent for watch in self._external)
        dynamics = self._evaluate.spent - geometry
        known = geometry + hessian + self._line_search.spent + external + dynamics
        return Shares(geometry, hessian, self._line_search.spent, external, dynamics, total - known)


@contextmanager
def stopwatches(simulator: Simulator) -> Iterator[Stopwatches]:
    """Time the entry points of a simulator while it advances.

    Parameters
    ----------
    simulator : Simulator
        With CENIC, ICF or SAP; it has advanced once, so that nothing is left to compile.
    """
    running = Stopwatches(simulator)
    try:
        yield running
    finally:
        running.stop()
