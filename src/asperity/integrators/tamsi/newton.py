"""Newton's method with TALS for TAMSI's velocities, island by island (TAMSI V-C).

The residual is r(v) = A v − p* − Jᵀ γ(v) − Gᵀ λ(v): A and p* as in ICF (joint springs and dampers
implicit, everything else at the beginning of the step), the contact impulses γ of TAMSI, and the
impulses λ of limits, equalities, dry friction and servos of ICF. An island ends when the last
update, before it was cut, changes no contact velocity by more than ε v_s and ‖D⁻¹ Δv‖ by no more
than 10⁻⁴ ε s, or when ‖D r‖ ≤ 10⁻⁸ s; s = max(1, ‖D p*‖), D = diag(M)^(−1/2).

Two things are not in the paper. Dry friction of joints and the effort limits of servos have steep
regions of their own, which an update must not jump either. And from the 15th iteration on every
other update is halved, which ends cycles among the kinks of several contacts and rows.

The solver stands where the convex one stands: the same signature, tables and codes.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import compiled, entry_point
from asperity.compiled.calls import call_pp_status, call_ppp_status
from asperity.contact.constraint_set import ACTUATOR, FRICTION
from asperity.convex.island import island_gradient, multiply, newton_direction, scaled_norm
from asperity.convex.kinematics import (
    add_surface_velocities,
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.problem import (
    CONVERGED,
    EXTRAPOLATED,
    FACTORIZATIONS,
    ITERATIONS,
    LONGEST_ITERATIONS,
    MAX_ITERATIONS,
    NON_FINITE,
    NOT_CONVERGED,
    PROBLEM,
    SOLVES,
    WORST_RESIDUAL,
)
from asperity.integrators.tamsi.layout import LIMITED, TAMSI
from asperity.integrators.tamsi.transition import transition_step

__all__ = ["solve_tamsi"]

_RESIDUAL = 1e-8
_SCALED_UPDATE = 1e-4
# Iterations after which every other update is halved: that ends cycles among several kinks.
_PATIENCE = 15

_LARGEST = 1.7976931348623157e308

_problem = PROBLEM.get
_tamsi = TAMSI.get


@compiled
def _update_velocities(problem, contacts, rows):
    """Fill the changes of contact and row velocities along ``direction``."""
    island = _problem(problem, "island")
    direction = _problem(problem, "direction")
    if island[3] > island[2]:
        link_velocities(problem, contacts, direction)
    contact_velocities(
        problem,
        contacts,
        island[2],
        island[3],
        direction,
        _problem(problem, "dv1"),
        _problem(problem, "dv2"),
        _problem(problem, "dvn"),
    )
    row_velocities(problem, rows, island[4], island[5], direction, _problem(problem, "row_du"))
    multiply(problem, island[0], island[1], direction, _problem(problem, "direction_product"))


@compiled
def _contact_update(problem):
    """Largest change of a contact velocity, in stiction tolerances, and the share to take."""
    tamsi = _problem(problem, "extension")
    relative = _tamsi(tamsi, "relative")
    aware = _tamsi(tamsi, "transition_aware") == 1
    island = _problem(problem, "island")
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    gn = _problem(problem, "gn")
    dv1 = _problem(problem, "dv1")
    dv2 = _problem(problem, "dv2")
    dvn = _problem(problem, "dvn")
    friction = _problem(problem, "friction")
    tolerance = _problem(problem, "softness")
    largest = 0.0
    alpha = 1.0
    for i in range(island[2], island[3]):
        change = np.sqrt(dv1[i] * dv1[i] + dv2[i] * dv2[i])
        largest = max(largest, max(change, abs(dvn[i])) / tolerance[i])
        # Without friction there is no transition.
        if aware and friction[i] * gn[i] > 0.0:
            share = transition_step(v1[i], v2[i], dv1[i], dv2[i], tolerance[i], relative)
            alpha = min(alpha, share)
    return largest, alpha


@compiled
def _row_share(problem):
    """Share of the update that no row's steep region is jumped by.

    Dry friction of a joint is steep in its stiction region as that of a contact is, a servo between
    its effort limits.
    """
    relative = _tamsi(_problem(problem, "extension"), "relative")
    island = _problem(problem, "island")
    kind = _problem(problem, "row_kind")
    u = _problem(problem, "row_u")
    du = _problem(problem, "row_du")
    target = _problem(problem, "row_target")
    gain = _problem(problem, "row_gain")
    lower = _problem(problem, "row_lower")
    upper = _problem(problem, "row_upper")
    alpha = 1.0
    for i in range(island[4], island[5]):
        if kind[i] == FRICTION:
            share = transition_step(u[i], 0.0, du[i], 0.0, np.sqrt(target[i]), relative)
            alpha = min(alpha, share)
        elif kind[i] == ACTUATOR and gain[i] > 0.0:
            before = target[i] - gain[i] * u[i]
            after = before - gain[i] * du[i]
            if (before > upper[i] and after < lower[i]) or (before < lower[i] and after > upper[i]):
                middle = 0.5 * (lower[i] + upper[i])
                alpha = min(alpha, (middle - before) / (after - before))
    return alpha


@compiled
def _go(problem, alpha):
    """Take a share of the update."""
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    velocity = _problem(problem, "velocity")
    product = _problem(problem, "product")
    direction = _problem(problem, "direction")
    direction_product = _problem(problem, "direction_product")
    for index in range(island[0], island[1]):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            velocity[i] += alpha * direction[i]
            product[i] += alpha * direction_product[i]
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    dv1 = _problem(problem, "dv1")
    dv2 = _problem(problem, "dv2")
    dvn = _problem(problem, "dvn")
    for i in range(island[2], island[3]):
        v1[i] += alpha * dv1[i]
        v2[i] += alpha * dv2[i]
        vn[i] += alpha * dvn[i]
    u = _problem(problem, "row_u")
    du = _problem(problem, "row_du")
    for i in range(island[4], island[5]):
        u[i] += alpha * du[i]


@compiled
def _solve_island(problem, contacts, rows):
    """Find the island's velocities, from the guess in ``velocity``."""
    tamsi = _problem(problem, "extension")
    relative = _tamsi(tamsi, "relative")
    aware = _tamsi(tamsi, "transition_aware") == 1
    island = _problem(problem, "island")
    first = island[0]
    last = island[1]
    velocity = _problem(problem, "velocity")
    statistics = _problem(problem, "statistics")
    residuals = _problem(problem, "residuals")
    factor_island = _problem(problem, "factor_island")
    listed = _problem(problem, "island_tree")
    for index in range(first, last):
        # The factors there will not be those of a convex Hessian.
        factor_island[listed[index]] = 0
    multiply(problem, first, last, velocity, _problem(problem, "product"))
    row_velocities(problem, rows, island[4], island[5], velocity, _problem(problem, "row_u"))
    scale = max(1.0, scaled_norm(problem, first, last, _problem(problem, "rhs")))
    most = _problem(problem, "limits")[MAX_ITERATIONS]
    for iteration in range(most + 1):
        island_gradient(problem, contacts, rows)
        norm = scaled_norm(problem, first, last, _problem(problem, "gradient"))
        if not norm <= _LARGEST:
            return NON_FINITE
        if norm <= _RESIDUAL * scale:
            return CONVERGED
        if iteration == most:
            residuals[WORST_RESIDUAL] = max(residuals[WORST_RESIDUAL], norm / scale)
            return NOT_CONVERGED
        call_ppp_status(_problem(problem, "assemble"), problem, contacts, rows)
        if call_pp_status(_problem(problem, "factorize"), problem, 0) == 0:
            residuals[WORST_RESIDUAL] = max(residuals[WORST_RESIDUAL], norm / scale)
            return NOT_CONVERGED
        statistics[FACTORIZATIONS] += 1
        _, length = newton_direction(problem, first, last)
        if not length <= _LARGEST:
            return NON_FINITE
        _update_velocities(problem, contacts, rows)
        change, alpha = _contact_update(problem)
        if aware:
            alpha = min(alpha, _row_share(problem))
        if alpha < 1.0:
            _tamsi(tamsi, "statistics")[LIMITED] += 1
        small = change < relative and length <= _SCALED_UPDATE * relative * scale
        if aware and not small and iteration >= _PATIENCE and iteration % 2 == 1:
            alpha *= 0.5
        _go(problem, alpha)
        statistics[ITERATIONS] += 1
        if small and alpha == 1.0:
            return CONVERGED
    return NOT_CONVERGED


@entry_point(types.int64(types.int64, types.int64, types.int64, types.int64))
def solve_tamsi(problem, contacts, rows, _have_factors):
    """Solve every island; the solution replaces the guess in ``velocity``.

    Returns ``CONVERGED``, ``NOT_CONVERGED`` (the worst residual is recorded) or ``NON_FINITE``.
    """
    counts = _problem(problem, "counts")
    island_start = _problem(problem, "island_start")
    contact_start = _problem(problem, "island_contact_start")
    row_start = _problem(problem, "island_row_start")
    statistics = _problem(problem, "statistics")
    velocity = _problem(problem, "velocity")
    # The guess is the velocity of the step's beginning: at a long step's end contacts have changed.
    _problem(problem, "limits")[EXTRAPOLATED] = 0
    statistics[SOLVES] += 1
    ncontact = contact_start[counts[0]]
    link_velocities(problem, contacts, velocity)
    contact_velocities(
        problem,
        contacts,
        0,
        ncontact,
        velocity,
        _problem(problem, "v1"),
        _problem(problem, "v2"),
        _problem(problem, "vn"),
    )
    add_surface_velocities(problem, contacts, 0, ncontact)
    island = _problem(problem, "island")
    worst = CONVERGED
    longest = 0
    for k in range(counts[0]):
        island[0] = island_start[k]
        island[1] = island_start[k + 1]
        island[2] = contact_start[k]
        island[3] = contact_start[k + 1]
        island[4] = row_start[k]
        island[5] = row_start[k + 1]
        before = statistics[ITERATIONS]
        worst = max(worst, _solve_island(problem, contacts, rows))
        longest = max(longest, statistics[ITERATIONS] - before)
    statistics[LONGEST_ITERATIONS] += longest
    return worst
