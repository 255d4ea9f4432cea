"""SAP's convex problem of one step as sparse matrices (SAP, equation 19).

min over v, σ, ρ of  ½ vᵀ A v − rᵀ v + ½ σᵀ R σ + ½ Σ_rows ρ²  R_j
with  J v − v̂ + R σ  in the dual of the friction cone, for every contact
      G v − v̂ + R ρ  = 0 (equality)  or ≥ 0 (one-sided), for every row
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from asperity.compiled import Table
from asperity.contact.constraint_set import ACTUATOR, EQUALITY, FRICTION
from asperity.convex.potentials.law_table import has_law
from asperity.convex.potentials.sap import SAP_LAW
from asperity.errors import AsperityError
from studies.experiments.reference.geodesic_table import NO_UPPER_LIMIT

__all__ = ["ReferenceProblem", "Tables", "UnsupportedProblemError", "read_problem"]


class UnsupportedProblemError(AsperityError, ValueError):
    """A convex problem that is not a second-order cone program in SAP's form."""


class Tables(NamedTuple):
    """A prepared convex problem in the compiled tables."""

    problem: Table
    contacts: Table
    rows: Table


@dataclass(frozen=True)
class ReferenceProblem:
    """One step's convex problem, copied from the compiled tables.

    Velocities are solver velocities: generalized ones, except that a free body has its spatial
    velocity in world axes. Contacts are in the order of the contact set, each with the axes
    (tangent 1, tangent 2, normal).

    Attributes
    ----------
    matrix : sparse array, shape (nv, nv)
        A, block diagonal over the kinematic trees.
    mass_diagonal : ndarray, shape (nv,)
        The diagonal that scales SAP's norms: of M, or of A with ``Sap(scaling="system")``.
    momentum : ndarray, shape (nv,)
        r = A v* of the free motion v*, with the constant impulses of violated limits.
    contact_jacobian : sparse array, shape (3 n, nv)
        J of the contacts.
    contact_target : ndarray, shape (n, 3)
        v̂ [m/s], less the velocity of moving surfaces.
    contact_regularization : ndarray, shape (n, 3)
        Diagonal of R [m/s per N s].
    friction : ndarray, shape (n,)
        μ.
    row_jacobian : sparse array, shape (m, nv)
        G of equalities and limits; limits of a joint on both sides are two rows.
    row_target, row_regularization : ndarray, shape (m,)
        v̂ and R.
    row_one_sided : ndarray of bool, shape (m,)
        Whether the row is a limit, which only pushes.
    guess : ndarray, shape (nv,)
        Where SAP starts from.
    """

    matrix: sp.csc_array
    mass_diagonal: np.ndarray
    momentum: np.ndarray
    contact_jacobian: sp.csr_array
    contact_target: np.ndarray
    contact_regularization: np.ndarray
    friction: np.ndarray
    row_jacobian: sp.csr_array
    row_target: np.ndarray
    row_regularization: np.ndarray
    row_one_sided: np.ndarray
    guess: np.ndarray

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.momentum)

    @property
    def ncontact(self) -> int:
        """Number of contacts."""
        return len(self.friction)

    @property
    def nrow(self) -> int:
        """Number of rows."""
        return len(self.row_target)

    @property
    def free_velocity(self) -> np.ndarray:
        """v*, the velocity without contacts and rows, shape (nv,)."""
        return np.asarray(spsolve(self.matrix, self.momentum)).reshape(self.nv)

    def contact_velocity(self, velocity: np.ndarray) -> np.ndarray:
        """J v, shape (n, 3) [m/s]."""
        return np.asarray(self.contact_jacobian @ velocity).reshape(self.ncontact, 3)

    def project(self, velocity: np.ndarray) -> np.ndarray:
        """Impulses of the contacts at a velocity, by SAP's analytic projection, shape (n, 3) [N s].

        SAP V-A: the projection of y = R⁻¹(v̂ − J v) onto the friction cone in the norm of R.
        """
        r = self.contact_regularization
        y = (self.contact_target - self.contact_velocity(velocity)) / r
        radial = np.hypot(y[:, 0], y[:, 1])
        warp = self.friction * r[:, 0] / r[:, 2]
        normal = np.maximum(y[:, 2] + warp * radial, 0.0) / (1.0 + self.friction * warp)
        scale = np.divide(
            self.friction * normal, radial, out=np.zeros_like(radial), where=radial > 0.0
        )
        sliding = np.column_stack([scale * y[:, 0], scale * y[:, 1], normal])
        sticks = (radial <= self.friction * y[:, 2]) & (y[:, 2] > 0.0)
        return np.where(sticks[:, None], y, sliding)

    def row_impulses(self, velocity: np.ndarray) -> np.ndarray:
        """Impulses of the rows at a velocity, shape (m,)."""
        y = (self.row_target - self.row_jacobian @ velocity) / self.row_regularization
        return np.where(self.row_one_sided, np.maximum(y, 0.0), y)

    def cost(self, velocity: np.ndarray) -> float:
        """ℓ(v), SAP's equation 24 up to a constant."""
        impulse = self.project(velocity)
        row = self.row_impulses(velocity)
        smooth = 0.5 * velocity @ (self.matrix @ velocity) - self.momentum @ velocity
        contact = 0.5 * np.sum(self.contact_regularization * impulse**2)
        return float(smooth + contact + 0.5 * np.sum(self.row_regularization * row**2))


def read_problem(tables: Tables) -> ReferenceProblem:
    """Copy a prepared problem from the tables.

    Servos and external systems without limits, whose impulses y − g u are linear in the velocity,
    are soft equalities with the gain g, in the tables as well.

    Parameters
    ----------
    tables : Tables
        With A, r, the graph, the numbers of the potentials and the guess filled, and the guess in
        the problem's ``velocity``.

    Raises
    ------
    UnsupportedProblemError
        If the contact law is not SAP's, or if dry friction of joints or tendons, or an actuator
        with limits within the solve, is among the rows.
    """
    problem, contacts, rows = tables
    if not has_law(problem, SAP_LAW):
        raise UnsupportedProblemError(
            "only the problem of SAP is a second-order cone program; use the integrator Sap()."
        )
    count = rows.count
    _efforts_as_equalities(problem.law, count)
    for kind, what in (
        (FRICTION, "dry friction of a joint or tendon"),
        (ACTUATOR, "an actuator with limits or without damping"),
    ):
        unknown = (rows.kind[problem.graph.row[:count]] == kind) & (
            problem.law.row_kind[:count] != EQUALITY
        )
        found = np.sort(problem.graph.row[:count][unknown])
        if len(found):
            raise UnsupportedProblemError(
                f"constraint {found[0]} is {what}, which the reference solvers do not know; "
                "take it out of the model (frictionloss=0, or a motor instead of a servo)."
            )
    nv = int(problem.graph.nv)
    target, regularization, friction = _contact_numbers(problem, contacts)
    row_jacobian, row_target, row_regularization, one_sided, constant = _rows(tables)
    return ReferenceProblem(
        matrix=_matrix(problem),
        mass_diagonal=problem.smooth.mass_diagonal.copy(),
        momentum=problem.smooth.rhs + constant,
        contact_jacobian=_contact_jacobian(problem.graph, contacts),
        contact_target=target,
        contact_regularization=regularization,
        friction=friction,
        row_jacobian=row_jacobian,
        row_target=row_target,
        row_regularization=row_regularization,
        row_one_sided=one_sided,
        guess=problem.iterate.velocity[:nv].copy(),
    )


def _efforts_as_equalities(law: Table, count: int) -> None:
    gain, target = law.row_gain[:count], law.row_target[:count]
    lower, upper = law.row_lower[:count], law.row_upper[:count]
    free = (lower <= -NO_UPPER_LIMIT) & (upper >= NO_UPPER_LIMIT)
    found = (law.row_kind[:count] == ACTUATOR) & free & (gain > 0.0)
    target[found] /= gain[found]
    law.row_kind[:count][found] = EQUALITY


def _matrix(problem: Table) -> sp.csc_array:
    graph = problem.graph
    blocks = []
    for tree in range(graph.ntree):
        n = graph.tree_size[tree]
        start = graph.block_start[tree]
        blocks.append(problem.smooth.matrix[start : start + n * n].reshape(n, n))
    return sp.csc_array(sp.block_diag(blocks)) if blocks else sp.csc_array((0, 0))


def _contact_numbers(problem: Table, contacts: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """v̂, R and μ in the order of the contact set."""
    law = problem.law
    count = contacts.count
    order = problem.graph.contact[:count]
    target = np.zeros((count, 3))
    target[order, 2] = law.normal_target[:count]
    target[:, :2] = -contacts.surface_velocity[:count]
    target -= contacts.turning_velocity[:count]
    regularization = np.zeros((count, 3))
    regularization[order, 0] = regularization[order, 1] = 1.0 / law.tangential_gain[:count]
    regularization[order, 2] = 1.0 / law.normal_gain[:count]
    friction = np.zeros(count)
    friction[order] = law.friction[:count]
    return target, regularization, friction


def _contact_jacobian(graph: Table, contacts: Table) -> sp.csr_array:
    count = contacts.count
    values: list[np.ndarray] = []
    row_index: list[np.ndarray] = []
    column_index: list[np.ndarray] = []
    six = np.arange(6)
    frame = contacts.frame[:count].reshape(count, 3, 3)
    for side, sign, arm in ((0, -1.0, contacts.arm_a), (1, 1.0, contacts.arm_b)):
        jacobian = np.concatenate([np.cross(arm[:count, None], frame), frame], axis=2)
        for link in np.unique(contacts.link[:count, side]):
            if link < 0:
                continue
            which = np.flatnonzero(contacts.link[:count, side] == link)
            block = sign * jacobian[which].reshape(-1, 6)
            tree = contacts.link_tree[link]
            if graph.tree_spatial[tree]:
                dofs = graph.tree_start[tree] + six
            else:
                start = contacts.link_start[link]
                chain = slice(start, start + contacts.link_size[link])
                dofs = contacts.chain_dof[chain]
                block = block @ contacts.chain_column[chain].T
            at = (3 * which[:, None] + np.arange(3)).ravel()
            values.append(block.ravel())
            row_index.append(np.repeat(at, len(dofs)))
            column_index.append(np.tile(dofs, len(at)))
    shape = (3 * count, int(graph.nv))
    if not values:
        return sp.csr_array(shape)
    entries = np.concatenate(values)
    index = (np.concatenate(row_index), np.concatenate(column_index))
    return sp.csr_array(sp.coo_array((entries, index), shape=shape))


def _rows(
    tables: Tables,
) -> tuple[sp.csr_array, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """G, v̂, R, which are one-sided, and the constant generalized impulse of violated limits."""
    problem, _, rows = tables
    nv = int(problem.graph.nv)
    jacobian: list[np.ndarray] = []
    target: list[float] = []
    regularization: list[float] = []
    one_sided: list[bool] = []
    constant = np.zeros(nv)
    for i in range(rows.count):
        r = int(problem.graph.row[i])
        line = np.zeros(nv)
        entries = slice(rows.start[r, 0], rows.start[r, 2])
        np.add.at(line, rows.dof[entries], rows.jacobian[entries])
        compliance = 1.0 / problem.law.row_gain[i]
        limit = problem.law.row_kind[i] != EQUALITY
        # Between its limits a row has a constant impulse, zero unless it starts beyond one.
        between = problem.law.row_lower[i] if limit else 0.0
        constant += between * line
        jacobian.append(line)
        target.append(problem.law.row_target[i] - between * compliance)
        regularization.append(compliance)
        one_sided.append(limit)
        if limit and problem.law.row_upper[i] < NO_UPPER_LIMIT:
            jacobian.append(-line)
            target.append(between * compliance - problem.law.row_upper[i])
            regularization.append(compliance)
            one_sided.append(True)
    return (
        sp.csr_array(np.array(jacobian).reshape(len(jacobian), nv)),
        np.array(target),
        np.array(regularization),
        np.array(one_sided, dtype=bool),
        constant,
    )
