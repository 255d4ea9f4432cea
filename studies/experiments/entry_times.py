"""Where the time of a simulation goes, by compiled entry point and function of MuJoCo.

Asperity's compiled code calls what is costly through addresses in tables. Each address is replaced
by that of a function that reads the processor's time stamps before and after; the time of an entry
is its own, without that of other entries that it calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import carray, extending, types

from asperity.compiled.calls import (
    call_method,
    call_ppp_double,
    call_pppd_double,
    call_ppppn_status,
)
from asperity.simulator import Simulator

__all__ = ["EntryTimes"]

# Called from compiled code without their first parameter, which type checkers cannot know.
intrinsic: Callable[[Any], Any] = extending.intrinsic

_PLANT = {
    "kinematics": "MuJoCo, position",
    "com_pos": "MuJoCo, position",
    "tendon": "MuJoCo, position",
    "make_mass": "MuJoCo, position",
    "transmission": "MuJoCo, position",
    "list_pairs": "near pairs",
    "collision": "MuJoCo, collision",
    "make_constraint": "MuJoCo, constraints",
    "forward_velocity": "MuJoCo, velocity",
    "forward_actuation": "MuJoCo, velocity",
    "evaluate_motion": "snapshot",
    "read_contacts": "Jacobians",
    "read_constraints": "Jacobians",
}
_WORLD = {
    "evaluate": "snapshot",
    "build_graph": "graph",
    "solve_problem": "Newton's rest",
    "deliver": "results",
}
_SYSTEMS = {
    "prepare_systems": "external systems",
    "limit_systems": "external systems",
    "advance_systems": "external systems",
}
_PROBLEM = {
    "assemble": "assembly",
    "factorize": "factorization",
    "solve_factors": "solves",
    "solve_in_contact_space": "contact space",
}
_LAW = {
    "prepare_contacts": "Newton's rest",
    "begin_estimates": "contact law",
    "measure_contacts": "contact law",
    "settle_contacts": "contact law",
}
_LAW_COSTS = ("evaluate_contacts",)
_LAW_COSTS_ALONG = ("along_contacts", "contact_cost_along", "update_estimates")
_SLOTS = 64


@intrinsic
def _ticks(_context: Any) -> Any:
    def codegen(_target: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        function = builder.module.globals.get("llvm.readcyclecounter")
        if function is None:
            function = ir.Function(builder.module, kind, name="llvm.readcyclecounter")
        return builder.call(function, [])

    return types.int64(), codegen


def _wrapper(slot: int, memory: int, kind: str) -> Any:
    """Stand in for an entry; ``memory`` has addresses, times, counts and the time of callees."""

    @numba.njit
    def begin() -> tuple[int, int]:
        table = carray(_pointer(memory), (4, _SLOTS), np.int64)
        outer = table[3, 0]
        table[3, 0] = 0
        return outer, _ticks()

    @numba.njit
    def end(outer: int, start: int) -> None:
        table = carray(_pointer(memory), (4, _SLOTS), np.int64)
        spent = _ticks() - start
        table[1, slot] += spent - table[3, 0]
        table[2, slot] += 1
        table[3, 0] = outer + spent

    if kind == "real":

        @numba.cfunc("int64(int64, int64, int64, float64)")
        def entry(a: int, b: int, c: int, d: float) -> int:
            outer, start = begin()
            result = call_method(carray(_pointer(memory), _SLOTS, np.int64)[slot], a, b, c, d)
            end(outer, start)
            return result
    elif kind == "cost":

        @numba.cfunc("float64(int64, int64, int64)")
        def entry(a: int, b: int, c: int) -> float:
            outer, start = begin()
            result = call_ppp_double(carray(_pointer(memory), _SLOTS, np.int64)[slot], a, b, c)
            end(outer, start)
            return result
    elif kind == "cost along":

        @numba.cfunc("float64(int64, int64, int64, float64)")
        def entry(a: int, b: int, c: int, d: float) -> float:
            outer, start = begin()
            address = carray(_pointer(memory), _SLOTS, np.int64)[slot]
            result = call_pppd_double(address, a, b, c, d)
            end(outer, start)
            return result
    else:

        @numba.cfunc("int64(int64, int64, int64, int64, int64)")
        def entry(a: int, b: int, c: int, d: int, e: int) -> int:
            outer, start = begin()
            address = carray(_pointer(memory), _SLOTS, np.int64)[slot]
            result = call_ppppn_status(address, a, b, c, d, e)
            end(outer, start)
            return result

    return entry


@intrinsic
def _pointer(_context: Any, address: Any) -> Any:
    def codegen(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())

    return types.CPointer(types.int64)(types.int64), codegen


class EntryTimes:
    """Times the entries of one simulator, which must not outlive it.

    Parameters
    ----------
    simulator : Simulator
    """

    def __init__(self, simulator: Simulator) -> None:
        self._memory = np.zeros((4, _SLOTS), np.int64)
        self._names: list[str] = []
        self._entries: dict[str, Any] = {}
        self._replaced: dict[str, tuple[Any, str, int]] = {}
        self._simulator = simulator
        self.install()

    def install(self) -> None:
        """Put the entries that are timed into their tables, from which a reset removes them."""
        simulator = self._simulator
        plant, world = simulator.session.plant.table, simulator.session.world
        law = world.problem.law
        for field, name in _PLANT.items():
            owner = plant.mujoco if field in plant.mujoco.layout.fields else plant
            self._wrap(owner, field, name, "whole")
        for field, name in _WORLD.items():
            self._wrap(world.table, field, name, "whole")
        for field, name in _PROBLEM.items():
            self._wrap(world.problem.entries, field, name, "whole")
        self._wrap(world.problem.entries, "line_search", "line search", "cost along")
        for field, name in _LAW.items():
            self._wrap(law, field, name, "whole")
        for field in _LAW_COSTS:
            self._wrap(law, field, "contact law", "cost")
        for field in _LAW_COSTS_ALONG:
            self._wrap(law, field, "contact law", "cost along")
        self._wrap(plant.mujoco, "integrate_positions", "MuJoCo, position", "real")
        self._wrap(world.table, "solve_step", "method", "real")
        for field, name in _SYSTEMS.items():
            self._wrap(world.table, field, name, "real")
        if simulator.session.at_once:
            self._wrap(simulator.session.call.call, "publish", "publication", "whole")
        self.clear()

    def remove(self) -> None:
        """Put the entries themselves back; what `read` tells of the past stays."""
        for table, field, address in self._replaced.values():
            setattr(table, field, address)

    def _wrap(self, table: Any, field: str, name: str, kind: str) -> None:
        address = getattr(table, field)
        if address == 0:
            return
        if field not in self._entries:
            slot = len(self._names) + 1
            self._names.append(name)
            self._memory[0, slot] = address
            self._entries[field] = _wrapper(slot, int(self._memory.ctypes.data), kind)
            self._replaced[field] = table, field, address
        setattr(table, field, self._entries[field].address)

    def clear(self) -> None:
        """Begin anew."""
        self._memory[1:] = 0
        self._start = time.perf_counter(), _now()

    def read(self) -> dict[str, float]:
        """Seconds by name since `clear`; what no entry has taken is ``"rest"``."""
        elapsed = time.perf_counter() - self._start[0]
        tick = elapsed / (_now() - self._start[1])
        times: dict[str, float] = {}
        for slot, name in enumerate(self._names, 1):
            times[name] = times.get(name, 0.0) + tick * float(self._memory[1, slot])
        times["rest"] = elapsed - sum(times.values())
        return times


@numba.njit
def _now() -> int:
    return _ticks()
