"""SAP's contact problem once more: in plain NumPy, and as a second-order cone program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from convex_problems import Case

SLIP_REGULARIZATION = 1e-3


@dataclass
class SapContact:
    """Projection onto the friction cone in the norm of R, in terms of y = R⁻¹(v̂ − v_c)."""

    mu: float
    target: float
    rn: float
    rt: float

    @property
    def r(self) -> np.ndarray:
        """Diagonal of R."""
        return np.array([self.rt, self.rt, self.rn])

    def project(self, y: np.ndarray) -> np.ndarray:
        """argmin over γ in the cone of ½ ‖γ − y‖²_R."""
        radial = np.hypot(*y[:2])
        warped = self.mu * self.rt / self.rn
        if y[2] <= -warped * radial:
            return np.zeros(3)
        if radial <= self.mu * y[2]:
            return y.copy()
        normal = (y[2] + warped * radial) / (1.0 + self.mu * warped)
        direction = y[:2] / radial if radial > 0 else np.zeros(2)
        return np.array([*self.mu * normal * direction, normal])

    def impulse(self, v: np.ndarray) -> np.ndarray:
        """γ."""
        return self.project((np.array([0.0, 0.0, self.target]) - v) / self.r)

    def cost(self, v: np.ndarray) -> float:
        """½ γᵀ R γ."""
        g = self.impulse(v)
        return float(0.5 * g @ (self.r * g))


def inverse_mass(case: Case, c: int) -> float:
    """‖J A⁻¹ Jᵀ‖_F/3 of a contact."""
    j = case.dense_contact_jacobian()[c]
    return float(np.linalg.norm(j @ np.linalg.solve(case.dense_matrix(), j.T)) / 3.0)


def sap_contacts(
    case: Case, step: float, beta: float = 1.0, relaxation: float | None = None
) -> list[SapContact]:
    """The contacts of a case, in the order of the contact set."""
    out = []
    t = case.contacts
    for c in range(case.ncontact):
        w = inverse_mass(case, c)
        own = t.relaxation_time[c]
        tau = own if own >= 0 else (step if relaxation is None else relaxation)
        out.append(
            SapContact(
                mu=float(t.dynamic_friction[c]),
                target=float(-t.signed_distance[c] / (step + tau)),
                rn=max(
                    beta**2 * w / (4.0 * np.pi**2), 1.0 / (step * t.stiffness[c] * (step + tau))
                ),
                rt=SLIP_REGULARIZATION * w,
            )
        )
    return out


def contact_bias(case: Case) -> np.ndarray:
    """Velocities of moving surfaces, shape (n, 3)."""
    bias = np.zeros((case.ncontact, 3))
    bias[:, :2] = case.contacts.surface_velocity[: case.ncontact]
    return bias


def solve_socp(case: Case, contacts: list[SapContact]) -> tuple[np.ndarray, np.ndarray]:
    """Solve the primal problem (SAP, equation 19) with Clarabel; returns v and σ.

    min ½ vᵀAv − rᵀv + ½ σᵀRσ   with   J v + b − v̂ + R σ in the dual of the friction cone
    """
    import clarabel
    import scipy.sparse as sp

    matrix = case.dense_matrix()
    jacobian = case.dense_contact_jacobian()
    bias = contact_bias(case)
    n, nv = case.ncontact, case.problem.graph.nv
    # Unknowns σ √R, so that the quadratic form stays well scaled.
    roots = np.array([np.sqrt(one.r) for one in contacts]).reshape(n, 3)
    quadratic = np.zeros((nv + 3 * n, nv + 3 * n))
    quadratic[:nv, :nv] = matrix
    quadratic[nv:, nv:] = np.eye(3 * n)
    rows, offsets, cones = [], [], []
    for i, one in enumerate(contacts):
        block = np.zeros((3, nv + 3 * n))
        block[:, :nv] = jacobian[i]
        block[:, nv + 3 * i : nv + 3 * i + 3] = np.diag(roots[i])
        offset = bias[i] - [0.0, 0.0, one.target]
        if one.mu > 0:
            scale = np.array([one.mu, one.mu, 1.0])
            order = [2, 0, 1]
            rows.append((scale[:, None] * block)[order])
            offsets.append((scale * offset)[order])
            cones.append(clarabel.SecondOrderConeT(3))
        else:
            # The dual of the half line is the half space.
            rows.append(block[2:])
            offsets.append(offset[2:])
            cones.append(clarabel.NonnegativeConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_ktratio"):
        setattr(settings, name, 1e-12)
    settings.max_iter = 500
    linear = np.concatenate([-case.problem.smooth.rhs, np.zeros(3 * n)])
    constraint = -np.concatenate(rows) if rows else np.zeros((0, nv))
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(quadratic)),
        linear,
        sp.csc_matrix(constraint),
        np.concatenate(offsets) if offsets else np.zeros(0),
        cones,
        settings,
    )
    found = np.array(solver.solve().x)
    return found[:nv], found[nv:].reshape(n, 3) / roots
