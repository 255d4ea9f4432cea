"""What a solver returns, and the errors of SAP's equations 32 and 33."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from asperity.errors import Status
from studies.experiments.reference.sap_problem import ReferenceProblem

__all__ = ["Errors", "Solution", "errors_of"]

Scaling = Literal["mass", "system"]


class Errors(NamedTuple):
    """Dimensionless errors of a solution.

    Attributes
    ----------
    momentum : float
        e_m, SAP (32).
    complementarity : float
        e_c, SAP (33).
    """

    momentum: float
    complementarity: float


@dataclass(frozen=True)
class Solution:
    """A solver's answer to a `ReferenceProblem`.

    Attributes
    ----------
    solver : str
    velocity : ndarray, shape (nv,)
    impulse : ndarray, shape (n, 3)
        The solver's own impulses (t1, t2, n) on the contacts [N s], in the order of the contact
        set: for cone solvers their σ, not the projection of their velocity.
    row_impulse : ndarray, shape (m,)
    iterations : int
        Of the solver; of the island that took most where islands are solved one by one.
    wall_time, cpu_time : float
        Of the solve [s], without setting it up.
    status : Status
        ``SUCCESS``, ``NOT_CONVERGED`` or ``NON_FINITE``.
    message : str
        The solver's own word for the status.
    """

    solver: str
    velocity: np.ndarray
    impulse: np.ndarray
    row_impulse: np.ndarray
    iterations: int
    wall_time: float
    cpu_time: float
    status: Status
    message: str = ""


def errors_of(problem: ReferenceProblem, solution: Solution, scaling: Scaling = "mass") -> Errors:
    """Errors of momentum and complementarity of a solution.

    With p = A v, the impulses j = Jᵀ γ + Gᵀ γ_rows, g = J v − v̂ + R γ and D = diag(M)^(−½)

        e_m = ‖D (p − r − j)‖/s,   e_c = mean |γ_i · g_i|/(½ s²),   s = max(‖D p‖, ‖D j‖)

    The mean is over contacts and limits. (SAP, equations 32 and 33. The scale of e_c, an energy, is
    our reading of "dimensionless".)

    Parameters
    ----------
    problem : ReferenceProblem
    solution : Solution
    scaling : {"mass", "system"}
        The diagonal in D: of M, as in the paper, or of A.

    Returns
    -------
    Errors
        Zero where nothing moves and nothing pushes; infinite if the solution is not finite.
    """
    if scaling not in ("mass", "system"):
        raise ValueError(f'scaling must be "mass" or "system", not {scaling!r}.')
    velocity, impulse, rows = solution.velocity, solution.impulse, solution.row_impulse
    diagonal = problem.mass_diagonal if scaling == "mass" else problem.matrix.diagonal()
    weight = 1.0 / np.sqrt(diagonal)
    momentum = problem.matrix @ velocity
    generalized = problem.contact_jacobian.T @ impulse.ravel() + problem.row_jacobian.T @ rows
    scale = max(
        float(np.linalg.norm(weight * momentum)), float(np.linalg.norm(weight * generalized))
    )
    residual = float(np.linalg.norm(weight * (momentum - problem.momentum - generalized)))
    slack = (
        problem.contact_velocity(velocity)
        - problem.contact_target
        + problem.contact_regularization * impulse
    )
    products = [np.einsum("ij,ij->i", impulse, slack)]
    one_sided = problem.row_one_sided
    row_slack = (
        problem.row_jacobian @ velocity - problem.row_target + problem.row_regularization * rows
    )
    products.append((rows * row_slack)[one_sided])
    product = np.abs(np.concatenate(products))
    mean = float(np.mean(product)) if len(product) else 0.0
    if not np.isfinite(scale + residual + mean):
        return Errors(np.inf, np.inf)
    if scale == 0.0:
        return Errors(0.0 if residual == 0.0 else np.inf, 0.0 if mean == 0.0 else np.inf)
    return Errors(residual / scale, mean / (0.5 * scale**2))
