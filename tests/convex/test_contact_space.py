"""Newton directions in contact space are those of the Hessian itself."""

from __future__ import annotations

import numpy as np
import pytest
from convex_problems import Case, call
from test_chains import branched_case

from asperity.convex.contact_space import fits_contact_space, solve_in_contact_space
from asperity.convex.island import choose_island
from asperity.convex.problem import CONVERGED

STEP = 1e-2


def one_tree(seed: int, straight: float = 0.6, contacts: int = 4) -> Case:
    """A tree of which links touch one another and the world, with constraints."""
    case = branched_case(seed, straight, smallest=20, count=1, touching=contacts)
    case.problem.base_tree = 0
    velocity = 0.1 * np.random.default_rng(seed).standard_normal(case.problem.nv)
    case.prepare(velocity, STEP)
    case.evaluate(velocity)
    choose_island(case.problem, 0)
    assert fits_contact_space(case.problem)
    return case


def residual(case: Case, b: np.ndarray) -> float:
    """How far H x is from b for the x that was found, relative to their sizes."""
    p = case.problem
    p.direction[: p.nv] = b
    assert call(solve_in_contact_space, *case.tables) == 1
    hessian = case.dense_hessian()
    x = p.direction[: p.nv]
    size = np.abs(hessian).max() * max(np.abs(x).max(), np.abs(b).max() / np.abs(hessian).max())
    return float(np.abs(hessian @ x - b).max() / size)


@pytest.mark.parametrize("straight", [0.0, 0.6, 1.0])
def test_directions_solve_with_the_hessian(straight: float) -> None:
    for seed in range(30):
        case = one_tree(seed, straight)
        b = np.random.default_rng(seed).standard_normal(case.problem.nv)
        assert residual(case, b) <= 1e-11


def test_later_curvatures_need_no_other_factors() -> None:
    """Contacts with any curvature or none, and constraints that gain or lose theirs."""
    for seed in range(30):
        case = one_tree(seed)
        p = case.problem
        rng = np.random.default_rng(seed)
        p.row_curvature[: case.nrow] *= rng.integers(0, 2, case.nrow)
        assert residual(case, rng.standard_normal(p.nv)) <= 1e-11
        p.coupled = 1
        for _ in range(6):
            for i in range(case.ncontact):
                rank = rng.integers(0, 4)
                root = 10.0 ** rng.uniform(-1, 2) * rng.standard_normal((3, rank))
                h = root @ root.T
                p.h11[i], p.h12[i], p.h22[i] = h[0, 0], h[0, 1], h[1, 1]
                p.h1n[i], p.h2n[i], p.hnn[i] = h[0, 2], h[1, 2], h[2, 2]
            p.row_curvature[: case.nrow] = rng.integers(0, 2, case.nrow) * 10.0 ** rng.uniform(0, 4)
            assert residual(case, rng.standard_normal(p.nv)) <= 1e-10
        assert p.factorizations == 1


def test_solutions_are_those_of_the_hessian_factorized() -> None:
    for seed in range(20):
        solutions, counts = [], []
        for address in (0, solve_in_contact_space.address):
            case = one_tree(seed)
            p = case.problem
            p.tolerance = 1e-12
            p.solve_in_contact_space = address
            p.iterations = p.factorizations = 0
            assert case.solve(np.zeros(p.nv)) == CONVERGED
            solutions.append(case.solution.copy())
            counts.append((p.iterations, p.factorizations))
        assert np.allclose(solutions[0], solutions[1], rtol=0.0, atol=1e-9)
        assert abs(counts[0][0] - counts[1][0]) <= 1
        assert counts[1][1] == 1 <= counts[0][1]


def test_trees_with_many_contacts_or_much_dry_friction_do_not_fit() -> None:
    case = branched_case(0, 0.6, smallest=20, count=1, touching=9)
    case.prepare(np.zeros(case.problem.nv), STEP)
    choose_island(case.problem, 0)
    assert not fits_contact_space(case.problem)
