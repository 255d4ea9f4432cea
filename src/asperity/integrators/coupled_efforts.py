"""Rows of the efforts of external systems, whose gains may couple them.

An effort by itself has a row with its own Jacobian J_k, gain C_kk = max(0, −∂y_k/∂u_k) and exact
limits, which is all that the paper's convex potential allows (CENIC IV-E, equation 29). That is not
enough for a stiff controller that acts through a coupled mass matrix: with τ = −M K v and δt K → ∞
a step multiplies v by 1 − diag(M)⁻¹ M, and robot arms have eigenvalues of diag(M)⁻¹ M beyond 2.

Without limits, the convex problem takes any symmetric positive semidefinite C. Coupled efforts get
that part of the symmetric part of −∂y/∂u, in the metric of the masses S that they move:

    C = S^½ Σ λ_k w_k w_kᵀ S^½,   row k: Jacobian (S^½ w_k)ᵀ J, gain λ_k, bias w_kᵀ S^-½ d.

If a solution exceeds limits, which no sum of potentials could prevent, the efforts concerned get
rows of their own, clamped, with gains κ C_kk, and the step is solved again, until no other effort
is beyond its limit. κ ≥ 1 is the largest eigenvalue of diag(C)^-½ C diag(C)^-½ over these efforts,
1 where they are not coupled: so the gains that are implicit are half of C at least, which is what
stability takes at any stiffness.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.integrators.system_table import SYSTEM
from asperity.plant.constraints import to_solver_row
from asperity.plant.layouts import PLANT, STATE

__all__ = ["couple_efforts", "find_exceeded", "set_own_row", "set_row"]

_NO_LIMIT = 1e300

_plant = PLANT.get
_state = STATE.get
_rows = CONSTRAINT_SET.get
_system = SYSTEM.get


@compiled
def set_row(state, effort, gain, bias, velocity):
    """Feedback ``bias − gain u`` of an effort's row, u being ``velocity`` now."""
    row = _state(state, "effort_row")[effort]
    if row < 0:
        return
    rows = _state(state, "rows")
    _rows(rows, "proportional")[row] = 0.0
    _rows(rows, "derivative")[row] = gain
    _rows(rows, "force")[row] = bias - gain * velocity


@compiled
def set_own_row(state, effort, gain, present, predicted, velocity):
    """Feedback of an effort by itself: its ``predicted`` value at the present velocity."""
    if gain > 0.0:
        set_row(state, effort, gain, predicted + gain * velocity, velocity)
    else:
        set_row(state, effort, 0.0, present, velocity)


@compiled
def _set_jacobian(plant, state, system, effort, weights, members, low, high):
    """Write the Jacobian Σ weights_k J_k of a row that spans the coupled efforts, and limits."""
    rows = _state(state, "rows")
    row = _state(state, "effort_row")[effort]
    dense = _plant(plant, "dof_row")
    jacobian = _system(system, "jacobian")
    tree_spatial = _plant(plant, "tree_spatial")
    for k in range(members.size):
        for i in range(dense.size):
            dense[i] += weights[k] * jacobian[members[k], i]
    for part in range(2):
        tree = _rows(rows, "tree")[row, part]
        if tree >= 0 and tree_spatial[tree]:
            to_solver_row(plant, state, tree)
    start = _rows(rows, "start")
    dof = _rows(rows, "dof")
    values = _rows(rows, "jacobian")
    for e in range(start[row, 0], start[row, 2]):
        values[e] = dense[dof[e]]
    for i in range(dense.size):
        dense[i] = 0.0
    _rows(rows, "lower")[row] = low
    _rows(rows, "upper")[row] = high


@compiled
def _inertia(plant, state, jacobian):
    """J diag(M) Jᵀ of an effort."""
    mass = _state(state, "mass_diagonal")
    dof_tree = _plant(plant, "dof_tree")
    tree_start = _plant(plant, "tree_start")
    tree_spatial = _plant(plant, "tree_spatial")
    total = 0.0
    for i in range(jacobian.size):
        at = i
        if tree_spatial[dof_tree[i]]:
            # Solver velocities of a free body have the rotation first.
            at = i + 3 if i - tree_start[dof_tree[i]] < 3 else i - 3
        total += jacobian[i] * jacobian[i] * mass[at]
    return total


@compiled
def _scaled_gains(system, members, scale):
    """Symmetric part of the gains of some efforts, rows and columns divided by ``scale``."""
    gains = _system(system, "gains")
    n = members.size
    symmetric = np.empty((n, n))
    for a in range(n):
        for b in range(n):
            k, j = members[a], members[b]
            symmetric[a, b] = 0.5 * (gains[k, j] + gains[j, k]) / (scale[a] * scale[b])
    return symmetric


@compiled
def _members(system, limited):
    """The coupled efforts that have been limited, or the others."""
    members = _system(system, "members")
    flags = _system(system, "limited")
    found = np.empty(members.size, np.int64)
    n = 0
    for a in range(members.size):
        if flags[a] == limited:
            found[n] = members[a]
            n += 1
    return found[:n]


@compiled
def couple_efforts(plant, state, system):
    """Write the rows of the coupled efforts, some of which may have been limited."""
    free = _members(system, 0)
    if free.size > 0:
        _couple(plant, state, system, free)
    limited = _members(system, 1)
    if limited.size > 0:
        _separate(plant, state, system, limited)


@compiled
def _couple(plant, state, system, members):
    """Rows of efforts together: eigenvectors of the semidefinite part of their gains."""
    first = _system(system, "first_effort")
    velocity = _system(system, "velocity")
    squared = _system(system, "squared_length")
    jacobian = _system(system, "jacobian")
    predicted = _system(system, "efforts")
    row_weight = _system(system, "row_weight")
    row_gain = _system(system, "row_gain")
    row_bias = _system(system, "row_bias")
    n = members.size
    root = np.empty(n)
    for a in range(n):
        # The mass along the effort's direction J⁺.
        inertia = _inertia(plant, state, jacobian[members[a]])
        root[a] = np.sqrt(inertia) / squared[members[a]] if inertia > 0.0 else 1.0
    values, vectors = np.linalg.eigh(_scaled_gains(system, members, root))
    if values[n - 1] <= 0.0:
        # Nothing is implicit: the present efforts are held.
        predicted = _system(system, "output_now")
    for c in range(n):
        weights = row_weight[c]
        row_gain[c] = max(values[c], 0.0)
        u = 0.0
        y = 0.0
        for a in range(n):
            weights[a] = vectors[a, c] * root[a]
            u += weights[a] * velocity[members[a]]
            y += vectors[a, c] * predicted[members[a]] / root[a]
        row_bias[c] = y + row_gain[c] * u
        effort = first + members[c]
        _set_jacobian(plant, state, system, effort, weights, members, -_NO_LIMIT, _NO_LIMIT)
        set_row(state, effort, row_gain[c], row_bias[c], u)


@compiled
def _separate(plant, state, system, members):
    """Rows of efforts each by itself and within its limits."""
    first = _system(system, "first_effort")
    gains = _system(system, "gains")
    limits = _plant(plant, "effort_range")
    n = members.size
    root = np.empty(n)
    for a in range(n):
        own = gains[members[a], members[a]]
        root[a] = np.sqrt(own) if own > 0.0 else np.inf
    factor = max(np.linalg.eigvalsh(_scaled_gains(system, members, root))[n - 1], 1.0)
    alone = np.empty(1, np.int64)
    weight = np.ones(1)
    for a in range(n):
        k = members[a]
        alone[0] = k
        low, high = limits[first + k, 0], limits[first + k, 1]
        _set_jacobian(plant, state, system, first + k, weight, alone, low, high)
        set_own_row(
            state,
            first + k,
            factor * gains[k, k],
            _system(system, "output_now")[k],
            _system(system, "efforts")[k],
            _system(system, "velocity")[k],
        )


@compiled
def find_exceeded(plant, system, qvel):
    """Mark the coupled efforts that are beyond their limits at velocities that solve the step.

    Returns whether there are any that were not marked before.
    """
    members = _system(system, "members")
    flags = _system(system, "limited")
    first = _system(system, "first_effort")
    jacobian = _system(system, "jacobian")
    row_weight = _system(system, "row_weight")
    row_gain = _system(system, "row_gain")
    row_bias = _system(system, "row_bias")
    limits = _plant(plant, "effort_range")
    free = _members(system, 0)
    n = free.size
    velocity = np.zeros(n)
    effort = np.zeros(members.size)
    for a in range(n):
        for i in range(qvel.size):
            velocity[a] += jacobian[free[a], i] * qvel[i]
    for c in range(n):
        y = row_bias[c]
        for a in range(n):
            y -= row_gain[c] * row_weight[c, a] * velocity[a]
        for a in range(n):
            effort[a] += row_weight[c, a] * y
    found = False
    at = 0
    for a in range(members.size):
        if flags[a]:
            continue
        k = first + members[a]
        if not limits[k, 0] <= effort[at] <= limits[k, 1]:
            flags[a] = 1
            found = True
        at += 1
    return found
