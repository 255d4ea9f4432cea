"""A `ReferenceProblem` as a second-order cone program in standard form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from studies.experiments.reference.sap_problem import ReferenceProblem

__all__ = ["ConeProgram", "cone_program"]


@dataclass(frozen=True)
class ConeProgram:
    """min ½ xᵀ P x + cᵀ x  with  B x + b  in Lorentz cones of three and then half lines.

    x is the velocity, then √R σ of the contacts and √R ρ of the one-sided rows, which keeps the
    quadratic form well scaled. Equalities are part of it.

    Attributes
    ----------
    quadratic, linear, constraint, offset
        P, c, B and b.
    cones : int
        Number of Lorentz cones, the first element of each the largest; the contacts with friction.
    """

    quadratic: sp.csc_array
    linear: np.ndarray
    constraint: sp.csc_array
    offset: np.ndarray
    cones: int
    _problem: ReferenceProblem

    @property
    def variables(self) -> int:
        """Number of unknowns."""
        return len(self.linear)

    def unpack(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Velocities, impulses of contacts and impulses of rows of a solution."""
        problem = self._problem
        nv, n = problem.nv, problem.ncontact
        velocity = x[:nv].copy()
        impulse = x[nv : nv + 3 * n].reshape(n, 3) / np.sqrt(problem.contact_regularization)
        one_sided = problem.row_one_sided
        rows = (problem.row_target - problem.row_jacobian @ velocity) / problem.row_regularization
        rows[one_sided] = x[nv + 3 * n :] / np.sqrt(problem.row_regularization[one_sided])
        return velocity, impulse, rows


def cone_program(problem: ReferenceProblem) -> ConeProgram:
    """Write the problem in standard form (SAP, equation 19)."""
    n = problem.ncontact
    one_sided = problem.row_one_sided
    limits = int(np.count_nonzero(one_sided))
    equal = problem.row_jacobian[~one_sided]
    weighted = equal.T @ sp.diags_array(1.0 / problem.row_regularization[~one_sided])
    quadratic = sp.block_diag([problem.matrix + weighted @ equal, sp.eye_array(3 * n + limits)])
    linear = np.concatenate(
        [-problem.momentum - weighted @ problem.row_target[~one_sided], np.zeros(3 * n + limits)]
    )
    jacobian = sp.block_array(
        [
            [problem.contact_jacobian, _roots(problem.contact_regularization.ravel()), None],
            [problem.row_jacobian[one_sided], None, _roots(problem.row_regularization[one_sided])],
        ]
    ).tocsr()
    offset = -np.concatenate([problem.contact_target.ravel(), problem.row_target[one_sided]])
    # Normals first; the dual of the friction cone is μ ‖g_t‖ ≤ g_n.
    rough = np.flatnonzero(problem.friction > 0.0)
    smooth = np.flatnonzero(problem.friction <= 0.0)
    cone_rows = (3 * rough[:, None] + [2, 0, 1]).ravel()
    mu = problem.friction[rough]
    scale = np.column_stack([np.ones_like(mu), mu, mu]).ravel()
    order = np.concatenate([cone_rows, 3 * smooth + 2, 3 * n + np.arange(limits)]).astype(int)
    scale = np.concatenate([scale, np.ones(len(smooth) + limits)])
    return ConeProgram(
        quadratic=sp.csc_array(quadratic),
        linear=linear,
        constraint=sp.csc_array(sp.diags_array(scale) @ jacobian[order]),
        offset=scale * offset[order],
        cones=len(rough),
        _problem=problem,
    )


def _roots(values: np.ndarray) -> sp.dia_array:
    return sp.diags_array(np.sqrt(values))
