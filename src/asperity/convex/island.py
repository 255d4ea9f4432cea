"""One island of a convex problem: its gradient, norms, directions, and steps along them."""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.compiled.calls import call_pp_status
from asperity.convex.kinematics import (
    add_impulses,
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.potentials.contacts import evaluate_contacts
from asperity.convex.potentials.rows import evaluate_rows
from asperity.convex.problem import LINE_SEARCH_EVALUATIONS, PROBLEM

__all__ = [
    "extrapolate_guess",
    "follow_direction",
    "island_gradient",
    "momentum_scale",
    "multiply",
    "newton_direction",
    "scaled_norm",
]

_problem = PROBLEM.get


@compiled
def multiply(problem, first, last, x, out):
    """``out = A x`` for the trees listed at ``first .. last``."""
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    matrix = _problem(problem, "matrix")
    for index in range(first, last):
        tree = listed[index]
        n = tree_size[tree]
        start = tree_start[tree]
        block = block_start[tree]
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
def scaled_norm(problem, first, last, vector):
    """‖D vector‖ over an island."""
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    inverse = _problem(problem, "mass_inverse_diagonal")
    total = 0.0
    for index in range(first, last):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            total += vector[i] * vector[i] * inverse[i]
    return np.sqrt(total)


@compiled
def momentum_scale(problem, first, last):
    """max(‖D p‖, ‖D j‖) with j = p − r − ∇ℓ."""
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    inverse = _problem(problem, "mass_inverse_diagonal")
    product = _problem(problem, "product")
    rhs = _problem(problem, "rhs")
    gradient = _problem(problem, "gradient")
    momentum = 0.0
    impulse = 0.0
    for index in range(first, last):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            j = product[i] - rhs[i] - gradient[i]
            momentum += product[i] * product[i] * inverse[i]
            impulse += j * j * inverse[i]
    return np.sqrt(max(momentum, impulse))


@compiled
def newton_direction(problem, first, last):
    """Solve for the Newton direction; return g·p and ‖D⁻¹ p‖."""
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    mass = _problem(problem, "mass_diagonal")
    gradient = _problem(problem, "gradient")
    direction = _problem(problem, "direction")
    for index in range(first, last):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            direction[i] = -gradient[i]
    call_pp_status(_problem(problem, "solve_factors"), problem, 0)
    slope = 0.0
    norm = 0.0
    for index in range(first, last):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            slope += gradient[i] * direction[i]
            norm += mass[i] * direction[i] * direction[i]
    return slope, np.sqrt(norm)


@compiled
def follow_direction(problem, contacts, rows, cost, slope):
    """Go along ``direction`` to the least cost of the island; returns the step length."""
    island = _problem(problem, "island")
    first = island[0]
    last = island[1]
    search = _problem(problem, "search")
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    velocity = _problem(problem, "velocity")
    rhs = _problem(problem, "rhs")
    product = _problem(problem, "product")
    direction = _problem(problem, "direction")
    direction_product = _problem(problem, "direction_product")
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    dv1 = _problem(problem, "dv1")
    dv2 = _problem(problem, "dv2")
    dvn = _problem(problem, "dvn")
    u = _problem(problem, "row_u")
    du = _problem(problem, "row_du")
    if island[3] > island[2]:
        link_velocities(problem, contacts, direction)
    contact_velocities(problem, contacts, island[2], island[3], direction, dv1, dv2, dvn)
    row_velocities(problem, rows, island[4], island[5], direction, du)
    multiply(problem, first, last, direction, direction_product)
    smooth_slope = 0.0
    smooth_curvature = 0.0
    for index in range(first, last):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            smooth_slope += direction[i] * (product[i] - rhs[i])
            smooth_curvature += direction[i] * direction_product[i]
    search[0] = smooth_slope
    search[1] = smooth_curvature
    search[2] = cost
    search[4] = slope
    evaluations = call_pp_status(_problem(problem, "line_search"), problem, 0)
    alpha = search[3]
    _problem(problem, "statistics")[LINE_SEARCH_EVALUATIONS] += evaluations
    if alpha == 0.0:
        return 0.0
    for index in range(first, last):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            velocity[i] += alpha * direction[i]
            product[i] += alpha * direction_product[i]
    for i in range(island[2], island[3]):
        v1[i] += alpha * dv1[i]
        v2[i] += alpha * dv2[i]
        vn[i] += alpha * dvn[i]
    for i in range(island[4], island[5]):
        u[i] += alpha * du[i]
    return alpha


@compiled
def island_gradient(problem, contacts, rows):
    """Fill the island's impulses, curvatures and gradient; return the cost of its potentials."""
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    product = _problem(problem, "product")
    rhs = _problem(problem, "rhs")
    gradient = _problem(problem, "gradient")
    cost = evaluate_contacts(problem, island[2], island[3])
    cost += evaluate_rows(problem, island[4], island[5])
    for index in range(island[0], island[1]):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            gradient[i] = product[i] - rhs[i]
    add_impulses(
        problem, contacts, rows, (island[2], island[3]), (island[4], island[5]), gradient, -1.0
    )
    return cost


@compiled
def extrapolate_guess(problem, contacts, rows, cost):
    """Improve the guess along ``extrapolation``, as far as the cost falls; True if it does."""
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    gradient = _problem(problem, "gradient")
    direction = _problem(problem, "direction")
    extrapolation = _problem(problem, "extrapolation")
    slope = 0.0
    for index in range(island[0], island[1]):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            direction[i] = extrapolation[i]
            slope += gradient[i] * extrapolation[i]
    return slope < 0.0 and follow_direction(problem, contacts, rows, cost, slope) > 0.0
