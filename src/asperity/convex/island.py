"""One island of a convex problem: its gradient, norms, directions, and steps along them."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp_status
from asperity.convex.kinematics import (
    add_impulses,
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.potentials.contacts import evaluate_contacts
from asperity.convex.potentials.rows import evaluate_rows

__all__ = [
    "choose_island",
    "extrapolate_guess",
    "follow_direction",
    "island_gradient",
    "island_impulses",
    "momentum_scale",
    "multiply",
    "newton_direction",
    "scaled_norm",
]


@compiled
def choose_island(problem: Table, k: int) -> None:
    """Make island ``k`` of the graph the one at hand."""
    problem.first_tree = problem.island_start[k]
    problem.last_tree = problem.island_start[k + 1]
    problem.first_contact = problem.island_contact_start[k]
    problem.last_contact = problem.island_contact_start[k + 1]
    problem.first_row = problem.island_row_start[k]
    problem.last_row = problem.island_row_start[k + 1]


@compiled
def multiply(problem: Table, first: int, last: int, x: np.ndarray, out: np.ndarray) -> None:
    """``out = A x`` for the trees listed at ``first .. last``."""
    matrix = problem.matrix
    for index in range(first, last):
        tree = problem.island_tree[index]
        n = problem.tree_size[tree]
        start = problem.tree_start[tree]
        block = problem.block_start[tree]
        if n == 6:
            a = x[start]
            b = x[start + 1]
            c = x[start + 2]
            d = x[start + 3]
            e = x[start + 4]
            f = x[start + 5]
            for i in range(6):
                k = block + 6 * i
                out[start + i] = (
                    (matrix[k] * a + matrix[k + 1] * b)
                    + (matrix[k + 2] * c + matrix[k + 3] * d)
                    + (matrix[k + 4] * e + matrix[k + 5] * f)
                )
            continue
        for i in range(n):
            value = 0.0
            row = block + i * n
            for j in range(n):
                value += matrix[row + j] * x[start + j]
            out[start + i] = value


@compiled
def scaled_norm(problem: Table, first: int, last: int, vector: np.ndarray) -> float:
    """‖D vector‖ over an island."""
    total = 0.0
    for index in range(first, last):
        start = problem.tree_start[problem.island_tree[index]]
        for i in range(start, start + problem.tree_size[problem.island_tree[index]]):
            total += vector[i] * vector[i] * problem.mass_inverse_diagonal[i]
    return np.sqrt(total)


@compiled
def momentum_scale(problem: Table, first: int, last: int) -> float:
    """max(‖D p‖, ‖D j‖) with j = p − r − ∇ℓ."""
    momentum = 0.0
    impulse = 0.0
    for index in range(first, last):
        start = problem.tree_start[problem.island_tree[index]]
        for i in range(start, start + problem.tree_size[problem.island_tree[index]]):
            j = problem.product[i] - problem.rhs[i] - problem.gradient[i]
            momentum += problem.product[i] * problem.product[i] * problem.mass_inverse_diagonal[i]
            impulse += j * j * problem.mass_inverse_diagonal[i]
    return np.sqrt(max(momentum, impulse))


@compiled
def newton_direction(problem: Table, first: int, last: int) -> tuple[float, float]:
    """Solve for the Newton direction; return g·p and ‖D⁻¹ p‖."""
    listed = problem.island_tree
    direction = problem.direction
    for index in range(first, last):
        start = problem.tree_start[listed[index]]
        for i in range(start, start + problem.tree_size[listed[index]]):
            direction[i] = -problem.gradient[i]
    call_pp_status(problem.solve_factors, problem, 0)
    slope = 0.0
    norm = 0.0
    for index in range(first, last):
        start = problem.tree_start[listed[index]]
        for i in range(start, start + problem.tree_size[listed[index]]):
            slope += problem.gradient[i] * direction[i]
            norm += problem.mass_diagonal[i] * direction[i] * direction[i]
    return slope, np.sqrt(norm)


@compiled
def follow_direction(
    problem: Table, contacts: Table, rows: Table, cost: float, slope: float
) -> float:
    """Go along ``direction`` to the least cost of the island; returns the step length."""
    first = problem.first_tree
    last = problem.last_tree
    listed = problem.island_tree
    direction = problem.direction
    if problem.last_contact > problem.first_contact:
        link_velocities(problem, contacts, direction)
    contact_velocities(
        problem,
        contacts,
        problem.first_contact,
        problem.last_contact,
        direction,
        problem.dv1,
        problem.dv2,
        problem.dvn,
    )
    row_velocities(problem, rows, problem.first_row, problem.last_row, direction, problem.row_du)
    multiply(problem, first, last, direction, problem.direction_product)
    smooth_slope = 0.0
    smooth_curvature = 0.0
    for index in range(first, last):
        start = problem.tree_start[listed[index]]
        for i in range(start, start + problem.tree_size[listed[index]]):
            smooth_slope += direction[i] * (problem.product[i] - problem.rhs[i])
            smooth_curvature += direction[i] * problem.direction_product[i]
    problem.smooth_slope = smooth_slope
    problem.smooth_curvature = smooth_curvature
    problem.search_cost = cost
    problem.search_slope = slope
    evaluations = call_pp_status(problem.line_search, problem, 0)
    alpha = problem.search_step
    problem.line_search_evaluations += evaluations
    if alpha == 0.0:
        return 0.0
    for index in range(first, last):
        start = problem.tree_start[listed[index]]
        for i in range(start, start + problem.tree_size[listed[index]]):
            problem.velocity[i] += alpha * direction[i]
            problem.product[i] += alpha * problem.direction_product[i]
    for i in range(problem.first_contact, problem.last_contact):
        problem.v1[i] += alpha * problem.dv1[i]
        problem.v2[i] += alpha * problem.dv2[i]
        problem.vn[i] += alpha * problem.dvn[i]
    for i in range(problem.first_row, problem.last_row):
        problem.row_u[i] += alpha * problem.row_du[i]
    return alpha


@compiled
def island_impulses(problem: Table) -> float:
    """Fill the island's impulses and curvatures; return the cost of its potentials."""
    cost = evaluate_contacts(problem, problem.first_contact, problem.last_contact)
    return cost + evaluate_rows(problem, problem.first_row, problem.last_row)


@compiled
def island_gradient(problem: Table, contacts: Table, rows: Table) -> float:
    """Fill the island's impulses, curvatures and gradient; return the cost of its potentials."""
    cost = island_impulses(problem)
    for index in range(problem.first_tree, problem.last_tree):
        start = problem.tree_start[problem.island_tree[index]]
        for i in range(start, start + problem.tree_size[problem.island_tree[index]]):
            problem.gradient[i] = problem.product[i] - problem.rhs[i]
    add_impulses(
        problem,
        contacts,
        rows,
        (problem.first_contact, problem.last_contact),
        (problem.first_row, problem.last_row),
        problem.gradient,
        -1.0,
    )
    return cost


@compiled
def extrapolate_guess(problem: Table, contacts: Table, rows: Table, cost: float) -> bool:
    """Improve the guess along ``extrapolation``, as far as the cost falls; True if it does."""
    slope = 0.0
    for index in range(problem.first_tree, problem.last_tree):
        start = problem.tree_start[problem.island_tree[index]]
        for i in range(start, start + problem.tree_size[problem.island_tree[index]]):
            problem.direction[i] = problem.extrapolation[i]
            slope += problem.gradient[i] * problem.extrapolation[i]
    return slope < 0.0 and follow_direction(problem, contacts, rows, cost, slope) > 0.0
