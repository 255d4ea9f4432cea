"""Kernel of the geodesic interior-point method, on the block algebra of Newton's method.

Permenter, "A geodesic interior-point method for linear optimization over symmetric cones"
(arXiv 2008.08047), for the primal problem of SAP (equation 19). Contacts are scaled to Lorentz
cones, with the normal first: λ = (μ γ_n, γ_t), s = (g_n/μ, g_t), and R and v̂ accordingly. Points of
the central path of parameter m are λ = √m Q e^d, s = √m Q⁻¹ e^(−d) with Q = Q(w^½), the quadratic
representation. Linearised about d = 0, with κ = 1/√m, u = κ v and T = (I + Q R Q)⁻¹, S = Q T Q:

    (A + Jᵀ S J) u = κ A v* + Jᵀ (2 Q T e + κ S v̂),   d = 2 T e − e − T Q (J u − κ v̂)

Both are affine in κ, so one factorization with two right-hand sides gives them for every κ. An
iteration takes the largest κ, up to that of the wished m, for which ‖d‖_∞ ≤ 1 (spectral norm, over
all cones), and moves along the geodesic, w ← Q exp(α d) with α = min(1, 2/‖d‖²_∞). It ends with the
wished κ: then λ = Q(e + d)/κ and s = Q⁻¹(e − d)/κ are in their cones, and the momentum balance is
met by u.

Everything is done in the eigenvectors of Q: (1, t)/√2, (1, −t)/√2 and (0, t⊥), where t is the
direction of w's tangential part; the eigenvalues are λ_1, λ_2 and √(λ_1 λ_2), those of w. Next to
the cone's boundary λ_2 is lost in the round-off of w itself. So w is kept as its tangential part
and its determinant λ_1 λ_2, which grows by exactly e^(2 α d_0) in an iteration.

Contacts without friction and limits are half lines, for which all of this is scalar.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import compiled, entry_point
from asperity.compiled.calls import call_pp_status, call_ppp_status
from asperity.contact.constraint_set import EQUALITY
from asperity.convex.kinematics import (
    add_impulses,
    add_surface_velocities,
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.problem import CONVERGED, NON_FINITE, NOT_CONVERGED, PROBLEM
from asperity.convex.reference.geodesic_distance import (
    choose_kappa,
    fill_distance,
    fill_first_impulses,
    fill_second_impulses,
)
from asperity.convex.reference.geodesic_points import (
    fill_frames,
    fill_row_curvatures,
    fill_solution,
    move_points,
    start_points,
)
from asperity.convex.reference.geodesic_table import GEODESIC, LARGEST

__all__ = ["geodesic_kernel"]

# A warm start is given up when its first ‖d‖_∞ is above the first number for every κ, or when it
# allows less than this part of the wished κ: then it is no nearer to the end than a cold one is.
_WARM_DISTANCE = 1.05
_WARM_SHARE = 0.1

_problem = PROBLEM.get
_g = GEODESIC.get


@compiled
def _solve(problem, contacts, rows, contact_range, row_range, share, out):
    """out = (A + Jᵀ S J)⁻¹ (share r + Jᵀ γ) with the impulses at hand; fills velocities."""
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    rhs = _problem(problem, "rhs")
    direction = _problem(problem, "direction")
    for index in range(island[0], island[1]):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            direction[i] = share * rhs[i]
    add_impulses(problem, contacts, rows, contact_range, row_range, direction, 1.0)
    call_pp_status(_problem(problem, "solve_factors"), problem, 0)
    if contact_range[1] > contact_range[0]:
        link_velocities(problem, contacts, direction)
    contact_velocities(
        problem,
        contacts,
        contact_range[0],
        contact_range[1],
        direction,
        _problem(problem, "v1"),
        _problem(problem, "v2"),
        _problem(problem, "vn"),
    )
    row_velocities(problem, rows, row_range[0], row_range[1], direction, _problem(problem, "row_u"))
    total = 0.0
    for index in range(island[0], island[1]):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            out[i] = direction[i]
            total += abs(direction[i])
    return total


@compiled
def _write_velocity(problem, rows, work, row_range, kappa):
    """v = u/κ; also fills the velocities of rows."""
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    first = _g(work, "first")
    second = _g(work, "second")
    velocity = _g(work, "velocity")
    for index in range(island[0], island[1]):
        start = tree_start[listed[index]]
        for i in range(start, start + tree_size[listed[index]]):
            velocity[i] = first[i] / kappa + second[i]
    row_velocities(problem, rows, row_range[0], row_range[1], velocity, _problem(problem, "row_u"))


@compiled
def _count_cones(problem, contact_range, row_range):
    kind = _problem(problem, "row_kind")
    count = contact_range[1] - contact_range[0]
    for i in range(row_range[0], row_range[1]):
        if kind[i] != EQUALITY:
            count += 1
    return count


@compiled
def _solve_island(problem, contacts, rows, work, contact_range, row_range, warm):
    """Solve the island at hand, whose contact and row velocities are those of the guess."""
    wished = 1.0 / np.sqrt(_g(work, "complementarity"))
    first = _g(work, "first")
    second = _g(work, "second")
    most = _g(work, "max_iterations")
    cones = _count_cones(problem, contact_range, row_range)
    start_points(problem, work, contact_range, row_range, warm)
    for iteration in range(1, most + 1):
        fill_frames(problem, work, contact_range)
        fill_row_curvatures(problem, work, row_range)
        call_ppp_status(_problem(problem, "assemble"), problem, contacts, rows)
        if call_pp_status(_problem(problem, "factorize"), problem, 0) == 0:
            return NON_FINITE, iteration
        fill_first_impulses(problem, work, contact_range, row_range)
        size = _solve(problem, contacts, rows, contact_range, row_range, 0.0, first)
        fill_distance(
            problem,
            contacts,
            work,
            contact_range,
            row_range,
            False,
            _g(work, "offset"),
            _g(work, "row_offset"),
        )
        fill_second_impulses(problem, contacts, work, contact_range, row_range)
        size += _solve(problem, contacts, rows, contact_range, row_range, 1.0, second)
        fill_distance(
            problem,
            contacts,
            work,
            contact_range,
            row_range,
            True,
            _g(work, "slope"),
            _g(work, "row_slope"),
        )
        if not size <= LARGEST:
            return NON_FINITE, iteration
        if cones == 0:
            _write_velocity(problem, rows, work, row_range, 1.0)
            fill_solution(problem, work, contact_range, row_range, 1.0)
            return CONVERGED, iteration
        kappa, norm = choose_kappa(problem, work, contact_range, row_range, wished)
        if not norm <= LARGEST:
            return NON_FINITE, iteration
        if (kappa == wished and norm <= 1.0) or iteration == most:
            kappa = kappa if kappa > 0.0 else wished
            _write_velocity(problem, rows, work, row_range, kappa)
            fill_solution(problem, work, contact_range, row_range, kappa)
            return (CONVERGED if kappa == wished and norm <= 1.0 else NOT_CONVERGED), iteration
        far = norm > _WARM_DISTANCE or kappa < _WARM_SHARE * wished
        if warm and iteration == 1 and far:
            start_points(problem, work, contact_range, row_range, False)
            continue
        move_points(problem, work, contact_range, row_range, kappa, min(1.0, 2.0 / (norm * norm)))
    return NOT_CONVERGED, most


@entry_point(types.int64(types.int64, types.int64, types.int64, types.int64))
def geodesic_kernel(problem, contacts, rows, work):
    """Solve every island; the guess in the problem's ``velocity`` stays.

    Uses the problem's factors, curvatures, impulses and velocities of contacts and rows. Returns
    a code of `asperity.convex.newton`.
    """
    counts = _problem(problem, "counts")
    island_start = _problem(problem, "island_start")
    contact_start = _problem(problem, "island_contact_start")
    row_start = _problem(problem, "island_row_start")
    velocity = _problem(problem, "velocity")
    factor_island = _problem(problem, "factor_island")
    island = _problem(problem, "island")
    iterations = _g(work, "iterations")
    warm = _g(work, "warm") == 1
    iterations[0] = 0
    iterations[1] = 0
    for tree in range(factor_island.size):
        factor_island[tree] = 0
    worst = CONVERGED
    for k in range(counts[0]):
        island[0] = island_start[k]
        island[1] = island_start[k + 1]
        island[2] = contact_start[k]
        island[3] = contact_start[k + 1]
        island[4] = row_start[k]
        island[5] = row_start[k + 1]
        contact_range = (island[2], island[3])
        row_range = (island[4], island[5])
        if island[3] > island[2]:
            link_velocities(problem, contacts, velocity)
        contact_velocities(
            problem,
            contacts,
            island[2],
            island[3],
            velocity,
            _problem(problem, "v1"),
            _problem(problem, "v2"),
            _problem(problem, "vn"),
        )
        add_surface_velocities(problem, contacts, island[2], island[3])
        row_velocities(problem, rows, island[4], island[5], velocity, _problem(problem, "row_u"))
        code, used = _solve_island(problem, contacts, rows, work, contact_range, row_range, warm)
        if island[2] < island[3] or island[4] < island[5]:
            iterations[0] += used
            iterations[1] = max(iterations[1], used)
        worst = max(worst, code)
    return worst
