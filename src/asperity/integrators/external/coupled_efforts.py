"""Rows of the efforts of external systems, whose gains may couple them.

A single effort has a row with its own Jacobian J_k, gain C_kk = max(0, −∂y_k/∂u_k) and exact
limits. The paper's convex potential allows no more (CENIC IV-E, equation 29). That is unstable for
a stiff controller that acts through a coupled mass matrix: with τ = −M K v and δt K → ∞ a step
multiplies v by 1 − diag(M)⁻¹ M, and robot arms have eigenvalues of diag(M)⁻¹ M beyond 2.

Without limits, the convex problem takes any symmetric positive semidefinite C. Coupled efforts get
the positive semidefinite part of the symmetric part of −∂y/∂u, in the norm of the masses S that
they move:

    C = S^½ Σ λ_k w_k w_kᵀ S^½,   row k: Jacobian (S^½ w_k)ᵀ J, gain λ_k, bias w_kᵀ S^-½ d.

No sum of potentials can hold the limits of coupled efforts. If a solution exceeds limits, the
efforts concerned get clamped rows of their own with gains κ C_kk, and the step is solved again,
until no other effort is beyond its limit. κ ≥ 1 is the largest eigenvalue of diag(C)^-½ C
diag(C)^-½ over these efforts, 1 where they are not coupled. The implicit gains are then at least
half of C, which is enough for stability at any stiffness.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.plant.constraints import to_solver_row

__all__ = ["couple_efforts", "find_exceeded", "set_own_row", "set_row"]

_NO_LIMIT = 1e300


@compiled
def set_row(state: Table, effort: int, gain: float, bias: float, velocity: float) -> None:
    """Feedback ``bias − gain u`` of an effort's row, u being ``velocity`` now."""
    row = state.effort_row[effort]
    if row < 0:
        return
    rows = state.rows
    rows.proportional[row] = 0.0
    rows.derivative[row] = gain
    rows.force[row] = bias - gain * velocity


@compiled
def set_own_row(
    state: Table, effort: int, gain: float, present: float, predicted: float, velocity: float
) -> None:
    """Feedback of an effort by itself: its ``predicted`` value at the present velocity."""
    if gain > 0.0:
        set_row(state, effort, gain, predicted + gain * velocity, velocity)
    else:
        set_row(state, effort, 0.0, present, velocity)


@compiled
def _set_jacobian(
    plant: Table,
    state: Table,
    system: Table,
    effort: int,
    weights: np.ndarray,
    members: np.ndarray,
    low: float,
    high: float,
) -> None:
    """Write the Jacobian Σ weights_k J_k of a row that spans the coupled efforts, and limits."""
    rows = state.rows
    row = state.effort_row[effort]
    dense = state.work.dof_row
    for k in range(members.size):
        for i in range(dense.size):
            dense[i] += weights[k] * system.jacobian[members[k], i]
    for part in range(2):
        tree = rows.tree[row, part]
        if tree >= 0 and plant.trees.spatial[tree]:
            to_solver_row(plant, state, tree)
    for e in range(rows.start[row, 0], rows.start[row, 2]):
        rows.jacobian[e] = dense[rows.dof[e]]
    dense[:] = 0.0
    rows.lower[row] = low
    rows.upper[row] = high


@compiled
def _inertia(plant: Table, state: Table, jacobian: np.ndarray) -> float:
    """J diag(M) Jᵀ of an effort."""
    total = 0.0
    for i in range(jacobian.size):
        at = i
        if plant.trees.spatial[plant.dofs.tree[i]]:
            # Solver velocities of a free body have the rotation first.
            at = i + 3 if i - plant.trees.start[plant.dofs.tree[i]] < 3 else i - 3
        total += jacobian[i] * jacobian[i] * state.mass_diagonal[at]
    return total


@compiled
def _scaled_gains(system: Table, members: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Symmetric part of the gains of some efforts, rows and columns divided by ``scale``."""
    n = members.size
    symmetric = np.empty((n, n))
    for a in range(n):
        for b in range(n):
            k, j = members[a], members[b]
            symmetric[a, b] = (
                0.5 * (system.gains[k, j] + system.gains[j, k]) / (scale[a] * scale[b])
            )
    return symmetric


@compiled
def _members(system: Table, limited: int) -> np.ndarray:
    """The coupled efforts that have been limited, or the others."""
    found = np.empty(system.members.size, np.int64)
    n = 0
    for a in range(system.members.size):
        if system.limited[a] == limited:
            found[n] = system.members[a]
            n += 1
    return found[:n]


@compiled
def couple_efforts(plant: Table, state: Table, system: Table) -> None:
    """Write the rows of the coupled efforts, some of which may have been limited."""
    free = _members(system, 0)
    if free.size > 0:
        _couple(plant, state, system, free)
    limited = _members(system, 1)
    if limited.size > 0:
        _separate(plant, state, system, limited)


@compiled
def _couple(plant: Table, state: Table, system: Table, members: np.ndarray) -> None:
    """Rows of efforts together: eigenvectors of the semidefinite part of their gains."""
    first = system.first_effort
    predicted = system.efforts
    n = members.size
    root = np.empty(n)
    for a in range(n):
        # The mass along the effort's direction J⁺.
        inertia = _inertia(plant, state, system.jacobian[members[a]])
        root[a] = np.sqrt(inertia) / system.squared_length[members[a]] if inertia > 0.0 else 1.0
    values, vectors = np.linalg.eigh(_scaled_gains(system, members, root))
    if values[n - 1] <= 0.0:
        # Nothing is implicit: the present efforts are held.
        predicted = system.output_now
    for c in range(n):
        weights = system.row_weight[c]
        system.row_gain[c] = max(values[c], 0.0)
        u = 0.0
        y = 0.0
        for a in range(n):
            weights[a] = vectors[a, c] * root[a]
            u += weights[a] * system.velocity[members[a]]
            y += vectors[a, c] * predicted[members[a]] / root[a]
        system.row_bias[c] = y + system.row_gain[c] * u
        effort = first + members[c]
        _set_jacobian(plant, state, system, effort, weights, members, -_NO_LIMIT, _NO_LIMIT)
        set_row(state, effort, system.row_gain[c], system.row_bias[c], u)


@compiled
def _separate(plant: Table, state: Table, system: Table, members: np.ndarray) -> None:
    """Rows of efforts each by itself and within its limits."""
    first = system.first_effort
    n = members.size
    root = np.empty(n)
    for a in range(n):
        own = system.gains[members[a], members[a]]
        root[a] = np.sqrt(own) if own > 0.0 else np.inf
    factor = max(np.linalg.eigvalsh(_scaled_gains(system, members, root))[n - 1], 1.0)
    alone = np.empty(1, np.int64)
    weight = np.ones(1)
    for a in range(n):
        k = members[a]
        alone[0] = k
        low, high = (
            plant.actuators.effort_range[first + k, 0],
            plant.actuators.effort_range[first + k, 1],
        )
        _set_jacobian(plant, state, system, first + k, weight, alone, low, high)
        set_own_row(
            state,
            first + k,
            factor * system.gains[k, k],
            system.output_now[k],
            system.efforts[k],
            system.velocity[k],
        )


@compiled
def find_exceeded(plant: Table, system: Table, qvel: np.ndarray) -> bool:
    """Mark the coupled efforts that are beyond their limits at velocities that solve the step.

    Returns whether there are any that were not marked before.
    """
    first = system.first_effort
    free = _members(system, 0)
    n = free.size
    velocity = np.zeros(n)
    effort = np.zeros(system.members.size)
    for a in range(n):
        for i in range(qvel.size):
            velocity[a] += system.jacobian[free[a], i] * qvel[i]
    for c in range(n):
        y = system.row_bias[c]
        for a in range(n):
            y -= system.row_gain[c] * system.row_weight[c, a] * velocity[a]
        for a in range(n):
            effort[a] += system.row_weight[c, a] * y
    found = False
    at = 0
    for a in range(system.members.size):
        if system.limited[a]:
            continue
        k = first + system.members[a]
        if (
            not plant.actuators.effort_range[k, 0]
            <= effort[at]
            <= plant.actuators.effort_range[k, 1]
        ):
            system.limited[a] = 1
            found = True
        at += 1
    return found
