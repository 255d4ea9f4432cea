"""SAP's convex problem as plain matrices, and other solvers of the very same problem.

`prepare_problem` sets up the problem of a simulation's next step. `read_problem` copies it out of
the compiled tables. `solve_clarabel` and `solve_gurobi` solve the copy as a second-order cone
program; `solve_newton` (SAP itself) and `solve_geodesic` run on the tables. All of them return a
`Solution`, whose errors one function computes.
"""

from studies.experiments.reference.clarabel_solver import solve_clarabel
from studies.experiments.reference.compiled_solvers import solve_geodesic, solve_newton
from studies.experiments.reference.gurobi_solver import SizeLimitError, solve_gurobi
from studies.experiments.reference.prepared_problem import prepare_problem
from studies.experiments.reference.sap_problem import (
    ReferenceProblem,
    Tables,
    UnsupportedProblemError,
    read_problem,
)
from studies.experiments.reference.solution import Errors, Solution, errors_of

__all__ = [
    "Errors",
    "ReferenceProblem",
    "SizeLimitError",
    "Solution",
    "Tables",
    "UnsupportedProblemError",
    "errors_of",
    "prepare_problem",
    "read_problem",
    "solve_clarabel",
    "solve_geodesic",
    "solve_gurobi",
    "solve_newton",
]
