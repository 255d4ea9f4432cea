"""Compilation of everything a simulation needs, ahead of its first step.

Kernels are compiled once and then loaded from Numba's disk cache. The compiling is done by worker
processes, because Numba compiles one function at a time in a process, and because every process
then runs the very same machine code: results are the same bits in the first run and all later ones.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from numba import types

from asperity.compiled import EntryPoint, load_loop

__all__ = ["compile_kernels", "kernels_are_cached"]

_I = types.int64
_F = types.float64
_V = types.Array(types.float64, 1, "C")

# Module, name, argument types (None for entry points), and rough cost of compiling [s].
_KERNELS: tuple[tuple[str, str, tuple[Any, ...] | None, float], ...] = (
    ("asperity.convex.newton", "solve_problem", None, 11.0),
    ("asperity.integrators.theta", "theta_solution", None, 11.0),
    ("asperity.simulator.publish", "solve_forces", (_I, _F, _V, _V), 4.0),
    ("asperity.simulator.constraint_forces", "write_constraint_forces", (_I, _F), 3.0),
    ("asperity.integrators.trapezoid", "trapezoid_method", None, 14.0),
    ("asperity.convex.assembly", "assemble", None, 10.0),
    ("asperity.plant.evaluate", "read_constraints", None, 9.0),
    ("asperity.integrators.icf", "icf_solution", None, 9.0),
    ("asperity.plant.evaluate", "evaluate", None, 6.0),
    ("asperity.plant.evaluate", "evaluate_smooth", None, 6.0),
    ("asperity.convex.graph", "build_graph", None, 5.0),
    ("asperity.plant.contacts", "read_contacts", None, 5.0),
    ("asperity.convex.block_cholesky", "factorize", None, 4.0),
    ("asperity.convex.line_search", "line_search", None, 4.0),
    ("asperity.convex.block_cholesky", "solve_factors", None, 2.0),
    ("asperity.integrators.icf", "icf_method", None, 2.0),
    ("asperity.integrators.theta", "theta_method", None, 2.0),
    ("asperity.integrators.stepping", "advance_fixed", (_I, _I, _F, _F, _I), 2.0),
    (
        "asperity.integrators.stepping",
        "advance_error_controlled",
        (_I, _I, _I, _F, _I),
        4.0,
    ),
    ("asperity.integrators.step_doubling", "step_doubling_method", None, 1.0),
)

_LOCK = threading.Lock()


def _kernel(index: int) -> tuple[Any, tuple[Any, ...] | None]:
    module, name, arguments, _ = _KERNELS[index]
    return getattr(importlib.import_module(module), name), arguments


def _load(index: int) -> bool:
    kernel, arguments = _kernel(index)
    if isinstance(kernel, EntryPoint):
        return kernel.load()
    return load_loop(kernel, arguments or ())


def _compile(index: int) -> None:
    kernel, arguments = _kernel(index)
    if isinstance(kernel, EntryPoint):
        _ = kernel.address
    else:
        kernel.compile(arguments)


def kernels_are_cached() -> bool:
    """Load all kernels from the disk cache; False if some must be compiled first."""
    return not _missing()


def _missing() -> list[int]:
    return [index for index in range(len(_KERNELS)) if not _load(index)]


def compile_kernels() -> None:
    """Make all kernels ready: load them, or compile them on up to two cores and load them."""
    with _LOCK:
        missing = _missing()
        if not missing:
            return
        _compile_in_workers(missing)
        # Whatever a worker could not do (no cache folder, no processes) is compiled here.
        for index in missing:
            if not _load(index):
                _compile(index)


def _compile_in_workers(missing: Sequence[int]) -> None:
    if not sys.executable:
        return
    count = min(2, len(missing), os.cpu_count() or 1)
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [0.0] * count
    for index in sorted(missing, key=lambda i: -_KERNELS[i][3]):
        k = loads.index(min(loads))
        shares[k].append(index)
        loads[k] += _KERNELS[index][3]
    command = [sys.executable, "-m", "asperity.simulator.compilation"]
    # The workers must find the same package, however this process found it.
    folders = [folder for folder in sys.path if folder]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    try:
        workers = [
            subprocess.Popen(
                [*command, *map(str, share)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for share in shares
        ]
    except OSError:
        return
    try:
        for worker in workers:
            worker.wait()
    except BaseException:
        for worker in workers:
            worker.kill()
        raise


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        _compile(int(argument))
