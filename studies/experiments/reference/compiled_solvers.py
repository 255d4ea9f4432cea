"""Solvers on the compiled tables: SAP's Newton method and the geodesic interior-point method."""

from __future__ import annotations

import ctypes
import math
import time

import numpy as np

from asperity.compiled import EntryPoint, Table
from asperity.contact.constraint_set import EQUALITY
from asperity.convex.convex_newton import solve_problem
from asperity.convex.problem import CONVERGED, NOT_CONVERGED
from asperity.errors import Status
from studies.experiments.reference.geodesic_kernel import geodesic_kernel
from studies.experiments.reference.geodesic_table import GEODESIC, NO_UPPER_LIMIT
from studies.experiments.reference.sap_problem import ReferenceProblem, Tables
from studies.experiments.reference.solution import Solution

__all__ = ["solve_geodesic", "solve_newton"]

_MESSAGES = {
    Status.SUCCESS: "converged",
    Status.NOT_CONVERGED: "iteration limit reached",
    Status.NON_FINITE: "a number was not finite",
}


def _status(code: int) -> Status:
    if code == CONVERGED:
        return Status.SUCCESS
    return Status.NOT_CONVERGED if code == NOT_CONVERGED else Status.NON_FINITE


def _call(entry: EntryPoint, *arguments: int) -> tuple[int, float, float]:
    """Call a compiled function; returns its code, wall time and CPU time [s]."""
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *([ctypes.c_int64] * len(arguments)))(entry.address)
    cpu = time.process_time()
    wall = time.perf_counter()
    code = int(function(*arguments))
    elapsed = time.perf_counter() - wall
    return code, elapsed, time.process_time() - cpu


def solve_newton(
    problem: ReferenceProblem, tables: Tables, *, tolerance: float | None = None
) -> Solution:
    """Solve with SAP's own method, from the guess.

    Parameters
    ----------
    problem : ReferenceProblem
        What `read_problem` made of the tables.
    tables : Tables
        Still as they were then; afterwards they hold the solution, and the guess again.
    tolerance : float, optional
        ε_r of the stopping criterion (SAP, equation 26), that in the tables by default.

    Returns
    -------
    Solution
        Impulses are the projection of the velocities, as SAP's always are.

    Raises
    ------
    ValueError
        If the tolerance is not positive and finite.
    """
    table = tables.problem
    usual = float(table.options.tolerance)
    wanted = usual if tolerance is None else tolerance
    if not (math.isfinite(wanted) and wanted > 0.0):
        raise ValueError(f"tolerance must be positive and finite, got {tolerance}.")
    nv = problem.nv
    table.iterate.velocity[:nv] = problem.guess
    before = int(table.counts.longest_iterations)
    table.options.tolerance = wanted
    code, wall, cpu = _call(solve_problem, *(one.address for one in tables), 0)
    table.options.tolerance = usual
    velocity = table.iterate.velocity[:nv].copy()
    table.iterate.velocity[:nv] = problem.guess
    status = _status(code)
    return Solution(
        solver="SAP",
        velocity=velocity,
        impulse=problem.project(velocity),
        row_impulse=problem.row_impulses(velocity),
        iterations=int(table.counts.longest_iterations) - before,
        wall_time=wall,
        cpu_time=cpu,
        status=status,
        message=_MESSAGES[status],
    )


def solve_geodesic(
    problem: ReferenceProblem,
    tables: Tables,
    *,
    complementarity: float = 3e-7,
    max_iterations: int = 100,
    warm_start: bool = True,
) -> Solution:
    """Solve with the geodesic interior-point method.

    Permenter, arXiv 2008.08047; see `geodesic_kernel`. Islands are solved one by one, with the
    factorization that SAP uses.

    Parameters
    ----------
    problem : ReferenceProblem
        What `read_problem` made of the tables.
    tables : Tables
        Still as they were then; their guess stays, their impulses and factors do not.
    complementarity : float
        Largest mean of γ · g over the contacts of the central path's point [J].
    max_iterations : int
        Per island; each has one factorization.
    warm_start : bool
        Start at the central path near the guess's impulses if that is near enough.

    Raises
    ------
    ValueError
        If an option is not positive and finite.
    """
    if not (math.isfinite(complementarity) and complementarity > 0.0):
        raise ValueError(f"complementarity must be positive and finite, got {complementarity}.")
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be positive, got {max_iterations}.")
    table, contacts, rows = tables
    count, nrow = contacts.count, rows.count
    table.iterate.velocity[: problem.nv] = problem.guess
    work = Table(
        GEODESIC,
        contacts=count,
        rows=nrow,
        vector=len(table.iterate.velocity),
        complementarity=float(complementarity),
        max_iterations=max_iterations,
        warm=int(warm_start),
    )
    code, wall, cpu = _call(geodesic_kernel, *(one.address for one in tables), work.address)
    impulse = np.empty((count, 3))
    impulse[table.graph.contact[:count]] = work.impulse
    status = _status(code)
    return Solution(
        solver="geodesic",
        velocity=work.velocity[: problem.nv].copy(),
        impulse=impulse,
        row_impulse=_row_impulses(tables, work.row_impulse),
        iterations=work.longest_iterations,
        wall_time=wall,
        cpu_time=cpu,
        status=status,
        message=_MESSAGES[status],
    )


def _row_impulses(tables: Tables, sides: np.ndarray) -> np.ndarray:
    """Impulses of both sides of every row as those of a `ReferenceProblem`'s rows."""
    table = tables.problem
    out = []
    for i, (lower, upper) in enumerate(sides):
        out.append(lower)
        if table.law.row_kind[i] != EQUALITY and table.law.row_upper[i] < NO_UPPER_LIMIT:
            out.append(upper)
    return np.array(out)
