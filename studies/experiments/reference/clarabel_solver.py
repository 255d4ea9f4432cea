"""The convex problem of SAP solved with Clarabel, an interior-point method."""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

from asperity.errors import Status
from studies.experiments.reference.cone_program import cone_program
from studies.experiments.reference.sap_problem import ReferenceProblem
from studies.experiments.reference.solution import Solution

__all__ = ["solve_clarabel"]


def solve_clarabel(
    problem: ReferenceProblem, *, tolerance: float = 1e-8, max_iterations: int = 200
) -> Solution:
    """Solve with Clarabel (optional extra ``reference``).

    Parameters
    ----------
    problem : ReferenceProblem
    tolerance : float
        Of Clarabel's feasibility and duality gap, absolute and relative.
    max_iterations : int

    Returns
    -------
    Solution
        With impulses σ. Times are those of Clarabel's ``solve``, without its setup.

    Raises
    ------
    ImportError
        If Clarabel is not installed.
    """
    try:
        import clarabel
    except ImportError as error:
        raise ImportError(
            "the reference solver Clarabel is not installed; "
            "install it with: pip install 'asperity[reference]'"
        ) from error

    program = cone_program(problem)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iterations
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, tolerance)
    settings.tol_ktratio = min(settings.tol_ktratio, tolerance)
    half_lines = len(program.offset) - 3 * program.cones
    cones = [clarabel.SecondOrderConeT(3)] * program.cones
    if half_lines:
        cones.append(clarabel.NonnegativeConeT(half_lines))
    solver = clarabel.DefaultSolver(
        # Clarabel takes scipy's matrices, not its sparse arrays.
        sp.csc_matrix(sp.triu(program.quadratic)),
        program.linear,
        sp.csc_matrix(-program.constraint),
        program.offset,
        cones,
        settings,
    )
    cpu = time.process_time()
    wall = time.perf_counter()
    found = solver.solve()
    wall = time.perf_counter() - wall
    cpu = time.process_time() - cpu
    velocity, impulse, rows = program.unpack(np.array(found.x))
    message = str(found.status)
    finite = bool(np.all(np.isfinite(velocity)) and np.all(np.isfinite(impulse)))
    status = Status.SUCCESS if message == "Solved" else Status.NOT_CONVERGED
    return Solution(
        solver="Clarabel",
        velocity=velocity,
        impulse=impulse,
        row_impulse=rows,
        iterations=int(found.iterations),
        wall_time=wall,
        cpu_time=cpu,
        status=status if finite else Status.NON_FINITE,
        message=message,
    )
