"""Divided islands: parts of the elimination tree, and the same mathematics as whole ones."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest
from convex_problems import Case, Scene, call, curvature, random_case

from asperity.convex.block_cholesky import factorize
from asperity.convex.convex_newton import solve_problem
from asperity.convex.divided_phases import FEWEST_TREES, install_divided
from asperity.convex.island import (
    begin_island,
    factorize_island,
    gradient_norm,
    guess_velocities,
    island_gradient,
)
from asperity.convex.island_steps import direction_size, newton_direction, prepare_direction
from asperity.convex.line_search import line_search
from asperity.convex.problem import CONVERGED, NON_FINITE

STEP = 1e-2


def heap(trees: int, kinds: str, seed: int = 0) -> Scene:
    """Trees that touch their neighbours in a plane: free bodies, or every fourth one an arm.

    Of the kind ``rows`` some are joined by rows, too.
    """
    rng = np.random.default_rng(seed)
    place = rng.uniform(0.0, 1.0, (trees, 2))
    distance = np.linalg.norm(place[:, None] - place[None], axis=2)
    touching = {(i, int(np.argsort(distance[i])[k])) for i in range(trees) for k in (1, 2, 3)}
    touching = {(min(pair), max(pair)) for pair in touching}
    # A chain through all of them, so that there is one island.
    ordered = np.argsort(place[:, 0]).tolist()
    touching |= {(min(pair), max(pair)) for pair in itertools.pairwise(ordered)}
    sides = [(-1, i) for i in range(0, trees, 3)] + [(i, -1) for i in range(1, trees, 5)]
    arms = [kinds != "free bodies" and i % 4 == 0 for i in range(trees)]
    return Scene(
        sizes=[(3, 9, 1)[i // 4 % 3] if arm else 6 for i, arm in enumerate(arms)],
        spatial=[not arm for arm in arms],
        touching=[*sorted(touching), *sides],
        rowed=[(i, i + 1) for i in range(0, trees - 1, 7)] if kinds == "rows" else [],
    )


KINDS = ("free bodies", "arms", "rows")


def made(scene: Scene, divided: bool = True, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    case = random_case(rng, scene)
    install_divided(case.problem)
    case.problem.graph.divided.fewest_trees = 20 if divided else case.problem.graph.ntree + 1
    case.prepare(rng.standard_normal(case.problem.graph.nv), STEP)
    case.evaluate(0.1 * rng.standard_normal(case.problem.graph.nv))
    return case


def begin(case: Case, velocity: np.ndarray) -> float:
    """Choose the only island, and fill its gradient at a velocity; returns the cost."""
    p = case.problem
    p.iterate.velocity[: p.graph.nv] = velocity
    list(case.islands())
    guess_velocities(p.graph, p.iterate, case.contacts)
    begin_island(p, case.rows)
    return island_gradient(*case.tables)


@pytest.mark.parametrize("trees", [40, 130])
def test_parts_are_subtrees_that_do_not_need_each_other(trees: int) -> None:
    case = made(heap(trees, "rows"))
    p = case.problem
    whole = made(heap(trees, "rows"), divided=False).problem
    assert p.graph.islands == 1
    # Another order of the same elimination: no other fill.
    assert p.graph.entries == whole.graph.entries
    assert p.graph.coupling_size == whole.graph.coupling_size
    parts = int(p.graph.divided.island_part_start[1])
    assert parts >= 3
    assert p.graph.divided.part_first[0] == 0
    np.testing.assert_array_equal(
        p.graph.divided.part_first[1:parts], p.graph.divided.part_last[: parts - 1]
    )
    assert p.graph.divided.part_last[parts - 1] < trees
    of_place = np.full(trees, -1)
    for part in range(parts):
        of_place[p.graph.divided.part_first[part] : p.graph.divided.part_last[part]] = part
    for place, tree in enumerate(p.graph.order):
        entries = range(
            p.graph.column_start[tree], p.graph.column_start[tree] + p.graph.column_size[tree]
        )
        later = p.graph.position[p.graph.entry_tree[list(entries)]]
        assert set(of_place[later]) <= {of_place[place], -1}
        # The same couplings by the later tree.
        start = p.graph.divided.source_start[tree]
        for source, entry in zip(
            p.graph.divided.source_tree[start : start + p.graph.divided.source_size[tree]],
            p.graph.divided.source_entry[start : start + p.graph.divided.source_size[tree]],
            strict=True,
        ):
            assert p.graph.entry_tree[entry] == tree
            assert (
                p.graph.column_start[source]
                <= entry
                < p.graph.column_start[source] + p.graph.column_size[source]
            )
    assert np.sum(p.graph.divided.source_size) == p.graph.entries


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kinds", KINDS)
def test_hessian_and_its_solution_are_those_of_dense_algebra(kinds: str, seed: int) -> None:
    case = made(heap(40, kinds, seed), seed=seed)
    assert case.problem.graph.divided.island_part_start[1] > 0
    dense = case.dense_hessian()
    np.testing.assert_allclose(case.assemble(), dense, atol=1e-13 * np.abs(dense).max())
    b = np.random.default_rng(seed).standard_normal(case.problem.graph.nv)
    x = case.factorize_and_solve(b)
    assert np.linalg.norm(dense @ x - b) <= 1e-14 * np.linalg.norm(dense) * np.linalg.norm(x)


@pytest.mark.parametrize("kinds", KINDS)
def test_gradient_and_direction_are_those_of_dense_algebra(kinds: str) -> None:
    case = made(heap(45, kinds))
    p = case.problem
    velocity = 0.1 * np.random.default_rng(3).standard_normal(p.graph.nv)
    begin(case, velocity)
    gradient = case.dense_gradient(velocity)
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(p.iterate.gradient[: p.graph.nv], gradient, atol=1e-13 * scale)
    norm = np.linalg.norm(gradient * np.sqrt(p.smooth.mass_inverse_diagonal))
    assert gradient_norm(p) == pytest.approx(norm, rel=1e-13)
    hessian = case.dense_hessian()
    assert factorize_island(*case.tables)
    newton_direction(p)
    prepare_direction(*case.tables)
    direction = p.iterate.direction[: p.graph.nv].copy()
    residual = np.linalg.norm(hessian @ direction + gradient)
    assert residual <= 1e-13 * np.linalg.norm(hessian) * np.linalg.norm(direction)
    slope, length = direction_size(p)
    assert slope == pytest.approx(gradient @ direction, rel=1e-10)
    assert length == pytest.approx(
        np.linalg.norm(direction * np.sqrt(p.smooth.mass_diagonal)), rel=1e-12
    )
    np.testing.assert_allclose(
        p.iterate.direction_product,
        case.dense_matrix() @ direction,
        atol=1e-13 * np.abs(direction).max(),
    )
    changes = np.stack([p.iterate.dv1, p.iterate.dv2, p.iterate.dvn], axis=1)[: case.ncontact]
    jacobian = case.dense_contact_jacobian()[p.graph.contact[: case.ncontact]]
    np.testing.assert_allclose(changes, jacobian @ direction, atol=1e-12 * np.abs(changes).max())


@pytest.mark.parametrize("kinds", KINDS)
def test_solution_and_iterations_are_those_of_whole_islands(kinds: str) -> None:
    ends = []
    for divided in (True, False):
        case = made(heap(60, kinds), divided)
        guess = 0.3 * np.random.default_rng(1).standard_normal(case.problem.graph.nv)
        assert case.solve(guess) == CONVERGED
        p = case.problem
        counts = (p.counts.iterations, p.counts.factorizations, p.counts.line_search_evaluations)
        ends.append((counts, case.solution.copy()))
    (counts, solution), (expected_counts, expected) = ends
    assert counts == expected_counts
    assert counts[0] > 3
    np.testing.assert_allclose(solution, expected, atol=1e-8 * np.abs(expected).max())


def test_line_search_looks_at_the_same_cost() -> None:
    steps = []
    for divided in (True, False):
        case = made(heap(45, "rows"), divided)
        p = case.problem
        cost = begin(case, 0.3 * np.random.default_rng(4).standard_normal(p.graph.nv))
        assert factorize_island(*case.tables)
        newton_direction(p)
        prepare_direction(*case.tables)
        p.newton.search_cost = cost
        p.newton.search_slope, _ = direction_size(p)
        p.newton.smooth_slope = p.iterate.direction[: p.graph.nv] @ (
            p.iterate.product - p.smooth.rhs
        )
        p.newton.smooth_curvature = p.iterate.direction[: p.graph.nv] @ p.iterate.direction_product
        before = p.counts.line_search_evaluations
        search = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_int64] * 3, ctypes.c_double)
        alpha = search(line_search.address)(
            p.address, p.at_hand.first_row, p.at_hand.last_row, p.options.line_search_tolerance
        )
        steps.append((p.counts.line_search_evaluations - before, alpha))
    assert 0.0 < steps[0][1] < 1.0
    assert steps[0][0] == steps[1][0] > 1
    assert steps[0][1] == pytest.approx(steps[1][1], rel=1e-8)


@pytest.mark.parametrize("place", [0, -1], ids=["in a part", "in what parts hang on"])
@pytest.mark.parametrize("entry", [-1e12, np.nan])
def test_matrix_that_is_not_positive_definite_is_refused(place: int, entry: float) -> None:
    case = made(heap(40, "free bodies"))
    p = case.problem
    p.smooth.matrix[p.graph.block_start[p.graph.order[place]]] = entry
    case.assemble()
    assert [call(factorize, p, 0) for _ in case.islands()] == [0]
    assert call(solve_problem, *case.tables, 0) == NON_FINITE


def test_islands_of_few_trees_are_whole() -> None:
    few = random_case(np.random.default_rng(0), heap(FEWEST_TREES - 1, "free bodies"))
    few.build()
    assert few.problem.graph.islands == 1
    assert few.problem.graph.divided.island_part_start[1] == 0
    many = random_case(np.random.default_rng(0), heap(FEWEST_TREES, "free bodies"))
    many.build()
    assert many.problem.graph.divided.island_part_start[1] > 0


def test_contacts_without_curvature_add_nothing() -> None:
    case = made(heap(40, "free bodies"))
    p = case.problem
    for name in ("h11", "h12", "h22", "hnn"):
        getattr(p.iterate, name)[: case.ncontact // 2] = 0.0
    assert not curvature(p, 0).any()
    dense = case.dense_hessian()
    np.testing.assert_allclose(case.assemble(), dense, atol=1e-13 * np.abs(dense).max())
