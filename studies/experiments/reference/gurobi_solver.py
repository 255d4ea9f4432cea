"""The convex problem of SAP solved with Gurobi's barrier method."""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

from asperity.errors import AsperityError, Status
from studies.experiments.reference.cone_program import cone_program
from studies.experiments.reference.sap_problem import ReferenceProblem
from studies.experiments.reference.solution import Solution

__all__ = ["SizeLimitError", "solve_gurobi"]


class SizeLimitError(AsperityError, RuntimeError):
    """A problem larger than the licence of a solver allows."""


def solve_gurobi(
    problem: ReferenceProblem, *, tolerance: float = 1e-6, max_iterations: int = 200
) -> Solution:
    """Solve with Gurobi (optional extra ``gurobi``), in one thread.

    Parameters
    ----------
    problem : ReferenceProblem
    tolerance : float
        ``BarQCPConvTol``, the relative gap at which the barrier method ends.
    max_iterations : int

    Returns
    -------
    Solution
        With impulses σ. Wall time is Gurobi's ``Runtime``, without setting up the model.

    Raises
    ------
    ImportError
        If ``gurobipy`` is not installed.
    SizeLimitError
        If the problem is larger than the licence allows. The one that comes with the package from
        PyPI stops at 200 unknowns with cones, a dozen bodies or so.
    """
    try:
        import gurobipy as gp
    except ImportError as error:
        raise ImportError(
            "the reference solver Gurobi is not installed; "
            "install it with: pip install 'asperity[gurobi]'"
        ) from error

    program = cone_program(problem)
    with gp.Env(params={"OutputFlag": 0}) as environment, gp.Model(env=environment) as model:
        model.Params.Threads = 1
        model.Params.BarQCPConvTol = tolerance
        model.Params.BarConvTol = min(tolerance, 1e-8)
        model.Params.BarIterLimit = max_iterations
        x = model.addMVar(program.variables, lb=-np.inf)
        # Gurobi's quadratic objective has no factor ½ of its own.
        half = sp.csc_matrix(0.5 * program.quadratic)
        model.setObjective(x @ half @ x + program.linear @ x)
        size = len(program.offset)
        if size:
            low = np.full(size, -np.inf)
            low[0 : 3 * program.cones : 3] = 0.0
            low[3 * program.cones :] = 0.0
            s = model.addMVar(size, lb=low)
            model.addConstr(sp.csc_matrix(program.constraint) @ x - s == -program.offset)
            for i in range(program.cones):
                normal, first, second = (s[3 * i + axis] for axis in range(3))
                model.addConstr(first * first + second * second <= normal * normal)
        cpu = time.process_time()
        try:
            model.optimize()
        except gp.GurobiError as error:
            if error.errno == gp.GRB.Error.SIZE_LIMIT_EXCEEDED:
                raise SizeLimitError(
                    f"Gurobi's licence does not allow a problem of {program.variables + size} "
                    f"unknowns and {program.cones} cones ({problem.ncontact} contacts); "
                    "use Clarabel, or a full licence."
                ) from error
            raise
        cpu = time.process_time() - cpu
        found = model.SolCount > 0
        values = np.asarray(x.X) if found else np.full(program.variables, np.nan)
        velocity, impulse, rows = program.unpack(values)
        iterations = int(model.BarIterCount)
        wall = float(model.Runtime)
        code = int(model.Status)
    if not found or not np.all(np.isfinite(values)):
        status = Status.NON_FINITE
    else:
        status = Status.SUCCESS if code == gp.GRB.OPTIMAL else Status.NOT_CONVERGED
    return Solution(
        solver="Gurobi",
        velocity=velocity,
        impulse=impulse,
        row_impulse=rows,
        iterations=iterations,
        wall_time=wall,
        cpu_time=cpu,
        status=status,
        message=f"Gurobi status {code}",
    )
