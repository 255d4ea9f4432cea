"""SAP's convex problem as plain matrices, and other solvers of the very same problem.

`read_problem` copies a prepared problem out of the compiled tables. `solve_clarabel` and
`solve_gurobi` solve the copy as a second-order cone program; `solve_newton` (SAP itself) and
`solve_geodesic` run on the tables. All of them return a `Solution`, whose errors one function
computes.
"""

from asperity.convex.reference.clarabel_solver import solve_clarabel
from asperity.convex.reference.compiled_solvers import solve_geodesic, solve_newton
from asperity.convex.reference.gurobi_solver import SizeLimitError, solve_gurobi
from asperity.convex.reference.sap_problem import (
    ReferenceProblem,
    Tables,
    UnsupportedProblemError,
    read_problem,
)
from asperity.convex.reference.solution import Errors, Solution, errors_of

__all__ = [
    "Errors",
    "ReferenceProblem",
    "SizeLimitError",
    "Solution",
    "Tables",
    "UnsupportedProblemError",
    "errors_of",
    "read_problem",
    "solve_clarabel",
    "solve_geodesic",
    "solve_gurobi",
    "solve_newton",
]
