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

from asperity.compiled import Table, compiled, entry_point
from asperity.contact.constraint_set import ACTUATOR, CONSTRAINT_SET, FRICTION
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.ellipsoids import scaled_slip
from asperity.convex.island import (
    IMPULSES,
    begin_island,
    factorize_island,
    follow_forces,
    give_up,
    impulse_norm,
    island_gradient,
    island_impulses,
    scaled_norm,
    solve_islands,
)
from asperity.convex.island_steps import (
    direction_size,
    newton_direction,
    prepare_direction,
    take_step,
)
from asperity.convex.problem import (
    CONVERGED,
    NON_FINITE,
    NOT_CONVERGED,
    PROBLEM,
)
from asperity.integrators.methods.tamsi.tamsi_layout import TAMSI
from asperity.integrators.methods.tamsi.transition import transition_step

__all__ = ["solve_tamsi"]

_RESIDUAL = 1e-8
_ROUND_OFF = 1e-14
_SCALED_UPDATE = 1e-4
# Iterations after which every other update is halved: that ends cycles among several kinks.
_PATIENCE = 15

_LARGEST = 1.7976931348623157e308


@compiled
def _contact_update(problem: Table) -> tuple[float, float]:
    """Largest change of a contact velocity, in stiction tolerances, and the share to take.

    Scaled slips of ellipsoidal contacts are looked at in the plane of the slip and its update.
    """
    graph, law = problem.graph, problem.law
    iterate, at_hand = problem.iterate, problem.at_hand
    tamsi = TAMSI.at(law.extension)
    relative = tamsi.relative
    aware = tamsi.transition_aware == 1
    largest = 0.0
    alpha = 1.0
    for i in range(at_hand.first_contact, at_hand.last_contact):
        x = iterate.v1[i]
        y = iterate.v2[i]
        dx = iterate.dv1[i]
        dy = iterate.dv2[i]
        if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
            x, dx, dy = scaled_slip(iterate, i, 0.0)
            y = 0.0
        change = np.sqrt(dx * dx + dy * dy)
        largest = max(largest, max(change, abs(iterate.dvn[i])) / law.stiction_tolerance[i])
        # Without friction there is no transition.
        if aware and law.friction[i] * iterate.gn[i] > 0.0:
            share = transition_step(x, y, dx, dy, law.stiction_tolerance[i], relative)
            alpha = min(alpha, share)
    return largest, alpha


@compiled
def _row_share(law: Table, iterate: Table, at_hand: Table) -> float:
    """Share of the update that no row's steep region is jumped by.

    Dry friction of a joint is steep in its stiction region as that of a contact is, a servo between
    its effort limits.
    """
    relative = TAMSI.at(law.extension).relative
    alpha = 1.0
    for i in range(at_hand.first_row, at_hand.last_row):
        if law.row_kind[i] == FRICTION:
            share = transition_step(
                iterate.row_u[i],
                0.0,
                iterate.row_du[i],
                0.0,
                np.sqrt(law.row_target[i]),
                relative,
            )
            alpha = min(alpha, share)
        elif law.row_kind[i] == ACTUATOR and law.row_gain[i] > 0.0:
            before = law.row_target[i] - law.row_gain[i] * iterate.row_u[i]
            after = before - law.row_gain[i] * iterate.row_du[i]
            if (before > law.row_upper[i] and after < law.row_lower[i]) or (
                before < law.row_lower[i] and after > law.row_upper[i]
            ):
                middle = 0.5 * (law.row_lower[i] + law.row_upper[i])
                alpha = min(alpha, (middle - before) / (after - before))
    return alpha


@compiled
def _solve_island(problem: Table, contacts: Table, rows: Table) -> int:
    """Find the island's velocities, from the guess in ``velocity``."""
    graph, smooth, law = problem.graph, problem.smooth, problem.law
    iterate, at_hand = problem.iterate, problem.at_hand
    tamsi = TAMSI.at(law.extension)
    relative = tamsi.relative
    aware = tamsi.transition_aware == 1
    first = at_hand.first_tree
    last = at_hand.last_tree
    for index in range(first, last):
        # The factors there will not be those of a convex Hessian.
        problem.hessian.factor_island[graph.island_tree[index]] = 0
    begin_island(problem, rows)
    momentum = max(1.0, scaled_norm(graph, smooth, first, last, smooth.rhs))
    force = scaled_norm(graph, smooth, first, last, smooth.impulse)
    most = problem.options.max_iterations
    for iteration in range(most + 1):
        follow_forces(problem)
        island_gradient(problem, contacts, rows)
        norm = scaled_norm(graph, smooth, first, last, iterate.gradient)
        if not norm <= _LARGEST:
            return NON_FINITE
        impulse = max(force, impulse_norm(graph, smooth, iterate, first, last))
        scale = min(momentum, IMPULSES * impulse)
        if norm <= max(_RESIDUAL * scale, _ROUND_OFF * momentum):
            return CONVERGED
        if iteration == most or not factorize_island(problem, contacts, rows):
            return give_up(problem.counts, norm / max(scale, _ROUND_OFF))
        newton_direction(problem)
        prepare_direction(problem, contacts, rows)
        _, length = direction_size(problem)
        if not length <= _LARGEST:
            return NON_FINITE
        change, alpha = _contact_update(problem)
        if aware:
            alpha = min(alpha, _row_share(law, iterate, at_hand))
        if alpha < 1.0:
            tamsi.limited += 1
        small = change < relative and length <= _SCALED_UPDATE * relative * momentum
        if aware and not small and iteration >= _PATIENCE and iteration % 2 == 1:
            alpha *= 0.5
        take_step(problem, alpha)
        problem.counts.iterations += 1
        if small and alpha == 1.0:
            island_impulses(problem)
            return CONVERGED
    return NOT_CONVERGED


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type, types.int64))
def solve_tamsi(problem: Table, contacts: Table, rows: Table, _have_factors: int) -> int:
    """Solve every island; the solution replaces the guess in ``velocity``, with its impulses.

    Returns ``CONVERGED``, ``NOT_CONVERGED`` (the worst residual is recorded) or ``NON_FINITE``.
    """
    # The guess is the velocity of the step's beginning: at a long step's end contacts have changed.
    problem.guess.extrapolated = 0
    return solve_islands(_solve_island, problem, contacts, rows)
