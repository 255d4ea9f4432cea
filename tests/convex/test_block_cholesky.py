"""Graph, elimination order and block factorization against dense linear algebra."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from convex_problems import MIXED, Case, Scene, call, random_case

from asperity.convex.block_cholesky import factorize
from asperity.convex.couplings import block_of
from asperity.convex.graph import COUPLING_TOO_SMALL, OK, PATTERN_CHANGED, build_graph

STEP = 1e-2


def free(n: int, touching: list[tuple[int, int]]) -> Scene:
    return Scene(sizes=[6] * n, spatial=[True] * n, touching=touching)


def articulated(sizes: list[int], touching: list[tuple[int, int]]) -> Scene:
    return Scene(sizes=sizes, spatial=[False] * len(sizes), touching=touching)


def chain(n: int) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(n - 1)]


GRAPHS = {
    "one tree": free(1, [(-1, 0)]),
    "one joint": articulated([1], [(-1, 0)]),
    "no contact": free(3, []),
    "chain of free bodies": free(9, chain(9)),
    "chain of all sizes": articulated([1, 3, 6, 9, 2, 7, 3], chain(7)),
    "star around a free body": free(8, [(0, i) for i in range(1, 8)]),
    "star around a hand": Scene(
        sizes=[9, 6, 6, 1, 3, 6],
        spatial=[False, True, True, False, False, False],
        touching=[(i, 0) for i in range(1, 6)],
    ),
    "full graph": free(6, list(itertools.combinations(range(6), 2))),
    "full graph of all sizes": articulated(
        [6, 1, 9, 3, 6], list(itertools.combinations(range(5), 2))
    ),
    "cycle": free(8, [*chain(8), (7, 0)]),
    "grid": free(
        12,
        [(i, i + 1) for i in range(12) if i % 4 != 3] + [(i, i + 4) for i in range(8)],
    ),
    "islands": Scene(
        sizes=[6, 3, 6, 9, 1, 6, 6, 3],
        spatial=[True, False, True, False, False, True, True, False],
        touching=[(0, 3), (3, 5), (1, 4), (4, 1), (2, 6), (6, -1), (-1, 2)],
    ),
    "mixed": MIXED,
}


def made(name: str, seed: int = 0, spread: float = 1.0) -> Case:
    scene = GRAPHS[name]
    # Frictionless contacts leave an ill-conditioned mass matrix ill-conditioned.
    parameters = {"static_friction": 0.0, "dynamic_friction": 0.0} if spread > 5.0 else {}
    scene = replace(scene, mass_spread=spread, parameters=parameters)
    rng = np.random.default_rng(seed)
    case = random_case(rng, scene)
    case.prepare(rng.standard_normal(case.problem.graph.nv), STEP)
    case.evaluate(0.1 * rng.standard_normal(case.problem.graph.nv))
    return case


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", GRAPHS)
def test_solution_is_that_of_dense_algebra(name: str, seed: int) -> None:
    case = made(name, seed)
    dense = case.dense_hessian()
    np.testing.assert_allclose(case.assemble(), dense, atol=1e-13 * np.abs(dense).max())
    b = np.random.default_rng(seed).standard_normal(case.problem.graph.nv)
    x = case.factorize_and_solve(b)
    expected = np.linalg.solve(dense, b)
    condition = np.linalg.cond(dense)
    assert np.linalg.norm(x - expected) <= 1e-15 * condition * np.linalg.norm(expected) + 1e-13
    assert np.linalg.norm(dense @ x - b) <= 1e-14 * np.linalg.norm(dense) * np.linalg.norm(x)


@pytest.mark.parametrize("name", ["chain of all sizes", "grid", "islands"])
def test_ill_conditioned_systems_are_solved_backward_stably(name: str) -> None:
    case = made(name, spread=10.0)
    dense = case.dense_hessian()
    assert np.linalg.cond(dense) > 1e8
    case.assemble()
    b = np.random.default_rng(1).standard_normal(case.problem.graph.nv)
    x = case.factorize_and_solve(b)
    assert np.linalg.norm(dense @ x - b) <= 1e-14 * np.linalg.norm(dense) * np.linalg.norm(x)


def test_same_problem_gives_the_same_bits() -> None:
    results = []
    for _ in range(2):
        case = made("mixed")
        case.assemble()
        results.append(case.factorize_and_solve(np.ones(case.problem.graph.nv)))
    np.testing.assert_array_equal(*results)


def test_indefinite_matrix_is_refused() -> None:
    for entry in (-1.0, np.nan):
        case = made("chain of free bodies")
        case.problem.smooth.matrix[0] = entry * 1e12
        case.assemble()
        assert [call(factorize, case.problem, 0) for _ in case.islands()] == [0]


def dense_pattern(case: Case) -> np.ndarray:
    """Which trees couple, from contacts and rows."""
    n = case.problem.graph.ntree
    out = np.zeros((n, n), bool)
    c, r = case.contacts, case.rows
    pairs = [
        [-1 if link < 0 else c.link_tree[link] for link in pair] for pair in c.link[: case.ncontact]
    ]
    pairs += list(r.tree[: case.nrow])
    for a, b in pairs:
        if a >= 0 and b >= 0 and a != b:
            out[a, b] = out[b, a] = True
    return out


@pytest.mark.parametrize("name", GRAPHS)
def test_symbolic_factorization(name: str) -> None:
    case = made(name)
    p = case.problem
    n = p.graph.ntree
    np.testing.assert_array_equal(np.sort(p.graph.order), np.arange(n))
    np.testing.assert_array_equal(p.graph.order[p.graph.position], np.arange(n))
    # Eliminate in that order: every coupling and every fill needs its block, and nothing else.
    pattern = dense_pattern(case)
    for step, tree in enumerate(p.graph.order):
        later = [t for t in p.graph.order[step + 1 :] if pattern[tree, t]]
        for a, b in itertools.combinations(later, 2):
            pattern[a, b] = pattern[b, a] = True
    listed = np.zeros_like(pattern)
    taken = np.zeros(p.graph.coupling_size, int)
    for tree in range(n):
        entries = range(
            p.graph.column_start[tree], p.graph.column_start[tree] + p.graph.column_size[tree]
        )
        others = p.graph.entry_tree[list(entries)]
        assert np.all(p.graph.position[others] > p.graph.position[tree])
        assert np.all(np.diff(p.graph.position[others]) > 0)
        for entry, other in zip(entries, others, strict=True):
            assert (
                block_of(p.graph, tree, other)
                == block_of(p.graph, other, tree)
                == p.graph.entry_block[entry]
            )
            listed[tree, other] = listed[other, tree] = True
            start = p.graph.entry_block[entry]
            taken[start : start + p.graph.tree_size[tree] * p.graph.tree_size[other]] += 1
    np.testing.assert_array_equal(taken, 1)
    np.testing.assert_array_equal(listed, pattern)


def test_chains_and_stars_have_no_fill() -> None:
    for name, edges in (
        ("chain of free bodies", 8),
        ("star around a free body", 7),
    ):
        case = made(name)
        assert case.problem.graph.entries == edges


@pytest.mark.parametrize("name", GRAPHS)
def test_islands_are_the_components(name: str) -> None:
    case = made(name)
    p = case.problem
    reach = np.linalg.matrix_power(
        dense_pattern(case).astype(int) + np.eye(p.graph.ntree, dtype=int), 12
    )
    expected = {frozenset(np.flatnonzero(row > 0).tolist()) for row in reach}
    found = []
    c, r = case.contacts, case.rows
    contacts, rows = [], []
    for _ in case.islands():
        trees = p.graph.island_tree[p.at_hand.first_tree : p.at_hand.last_tree]
        assert np.all(np.diff(p.graph.position[trees]) > 0)
        found.append(frozenset(trees.tolist()))
        for contact in p.graph.contact[p.at_hand.first_contact : p.at_hand.last_contact]:
            assert {c.link_tree[link] for link in c.link[contact] if link >= 0} <= found[-1]
            contacts.append(int(contact))
        for row in p.graph.row[p.at_hand.first_row : p.at_hand.last_row]:
            assert {t for t in r.tree[row] if t >= 0} <= found[-1]
            rows.append(int(row))
    assert set(found) == expected
    assert len(found) == len(expected) == p.graph.islands
    assert sorted(contacts) == list(range(case.ncontact))
    assert sorted(rows) == list(range(case.nrow))


def test_pattern_is_kept_while_it_serves() -> None:
    case = made("grid")
    assert call(build_graph, *case.tables) == OK
    # Fewer contacts with the same islands: the blocks of the others stay, as zeros.
    n = case.ncontact
    reduced = n - 2
    case.contacts.count = reduced
    entries = case.problem.graph.entries
    assert call(build_graph, *case.tables) == OK
    assert case.problem.graph.entries == entries
    case.evaluate(np.zeros(case.problem.graph.nv))
    dense = case.dense_hessian()
    case.assemble()
    b = np.ones(case.problem.graph.nv)
    np.testing.assert_allclose(case.factorize_and_solve(b), np.linalg.solve(dense, b), rtol=1e-9)
    # An island falls apart: a new structure.
    case.contacts.count = 2
    assert call(build_graph, *case.tables) == PATTERN_CHANGED
    assert case.problem.graph.entries == 1
    # A coupling without a block: a new structure too.
    case.contacts.count = n
    assert call(build_graph, *case.tables) == PATTERN_CHANGED
    assert case.problem.graph.entries == entries


def test_too_little_memory_for_couplings_is_reported_and_mended() -> None:
    scene = GRAPHS["full graph"]
    case = random_case(np.random.default_rng(0), scene)
    p = case.problem
    p.resize(coupling_room=36)
    assert call(build_graph, *case.tables) == COUPLING_TOO_SMALL
    assert p.graph.coupling_size == 15 * 36
    # Asking again without growing must not pass for success.
    assert call(build_graph, *case.tables) == COUPLING_TOO_SMALL
    p.resize(coupling_room=p.graph.coupling_size)
    assert call(build_graph, *case.tables) == PATTERN_CHANGED
    assert call(build_graph, *case.tables) == OK
    case.prepare(np.zeros(p.graph.nv), STEP)
    case.evaluate(np.full(p.graph.nv, 0.1))
    dense = case.dense_hessian()
    np.testing.assert_allclose(case.assemble(), dense, atol=1e-13 * np.abs(dense).max())
    b = np.ones(p.graph.nv)
    np.testing.assert_allclose(case.factorize_and_solve(b), np.linalg.solve(dense, b), rtol=1e-9)
