"""TAMSI's impulses, Jacobian, factorization and solver against dense linear algebra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from convex_problems import MIXED, Case, Scene, call, random_case

from asperity.compiled import Table
from asperity.convex.potentials.law_table import ContactLaw, install_law
from asperity.convex.problem import CONVERGED, NOT_CONVERGED
from asperity.integrators.methods.tamsi.block_lu import factorize_jacobian, solve_jacobian
from asperity.integrators.methods.tamsi.jacobian_assembly import assemble_jacobian
from asperity.integrators.methods.tamsi.tamsi_law import ONE_WAY, TWO_WAY
from asperity.integrators.methods.tamsi.tamsi_layout import new_tamsi_table
from asperity.integrators.methods.tamsi.tamsi_newton import solve_tamsi

STEP = 1e-2

SCENES = {
    "one body on the ground": Scene(sizes=[6], spatial=[True], touching=[(-1, 0)]),
    "two bodies": Scene(sizes=[6, 6], spatial=[True, True], touching=[(0, 1), (1, -1)]),
    "an arm that touches itself": Scene(sizes=[7], spatial=[False], touching=[(0, 0), (0, -1)]),
    "a hand and what it holds": Scene(
        sizes=[9, 6, 6, 1, 3, 6],
        spatial=[False, True, True, False, False, False],
        touching=[(i, 0) for i in range(1, 6)] + [(1, 2), (-1, 5)],
        rowed=[(0, -1), (0, 3), (4, 5), (3, 4)],
    ),
    "a full graph": Scene(
        sizes=[6, 1, 9, 3, 6],
        spatial=[True, False, False, False, False],
        touching=[(i, j) for i in range(5) for j in range(i)],
    ),
    "mixed": MIXED,
}


def tamsi_case(
    rng: np.random.Generator,
    scene: Scene,
    law: ContactLaw = TWO_WAY,
    *,
    parabolic: bool = False,
    max_iterations: int = 100,
) -> tuple[Case, Table, np.ndarray]:
    """A random step of TAMSI with its table and the velocity of its beginning."""
    case = random_case(rng, scene, max_iterations=max_iterations)
    case.build()
    table = new_tamsi_table(case.problem)
    table.resize(coupling_room=case.problem.hessian.coupling.size)
    table.parabolic = int(parabolic)
    install_law(case.problem, law)
    case.problem.entries.assemble = assemble_jacobian.address
    case.problem.entries.factorize = factorize_jacobian.address
    case.problem.entries.solve_factors = solve_jacobian.address
    velocity = 0.02 * rng.standard_normal(case.problem.graph.nv)
    case.problem.smooth.rhs[:] = case.dense_matrix() @ velocity
    case.prepare(velocity, STEP)
    return case, table, velocity


def derivative(problem: Table, i: int) -> np.ndarray:
    """−∂γ/∂v of one contact, which is not symmetric."""
    p = problem
    return np.array(
        [
            [p.iterate.h11[i], p.iterate.h12[i], p.iterate.h1n[i]],
            [p.iterate.h12[i], p.iterate.h22[i], p.iterate.h2n[i]],
            [0.0, 0.0, p.iterate.hnn[i]],
        ]
    )


def dense_jacobian(case: Case) -> np.ndarray:
    """A + Jᵀ H J from the tables' geometry."""
    p = case.problem
    out = case.dense_matrix()
    jacobian = case.dense_contact_jacobian()
    for i, c in enumerate(p.graph.contact[: case.ncontact]):
        out += jacobian[c].T @ derivative(p, i) @ jacobian[c]
    rows = case.dense_row_jacobian()
    for i, r in enumerate(p.graph.row[: case.nrow]):
        out += p.iterate.row_curvature[i] * np.outer(rows[r], rows[r])
    return out


def block_jacobian(case: Case, table: Table) -> np.ndarray:
    """The assembled Jacobian, read from its blocks."""
    p = case.problem
    for _ in case.islands():
        call(assemble_jacobian, *case.tables)
    out = np.zeros((p.graph.nv, p.graph.nv))
    for tree in range(p.graph.ntree):
        rows = case.dofs(tree)
        n = p.graph.tree_size[tree]
        block = slice(p.graph.block_start[tree], p.graph.block_start[tree] + n * n)
        out[rows, rows] = p.hessian.factor[block].reshape(n, n)
        start = p.graph.column_start[tree]
        for entry in range(start, start + p.graph.column_size[tree]):
            other = p.graph.entry_tree[entry]
            m = p.graph.tree_size[other]
            at = slice(p.graph.entry_block[entry], p.graph.entry_block[entry] + n * m)
            out[rows, case.dofs(other)] = p.hessian.coupling[at].reshape(n, m)
            out[case.dofs(other), rows] = table.lower[at].reshape(m, n)
    return out


def residual(case: Case, velocity: np.ndarray) -> np.ndarray:
    """A v − p* − Jᵀ γ(v) − Gᵀ λ(v)."""
    case.evaluate(velocity)
    return case.dense_gradient(velocity)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("seed", range(3))
def test_blocks_are_those_of_the_dense_jacobian(name: str, seed: int) -> None:
    case, table, velocity = tamsi_case(np.random.default_rng(seed), SCENES[name])
    case.evaluate(velocity)
    dense = dense_jacobian(case)
    blocks = block_jacobian(case, table)
    np.testing.assert_allclose(blocks, dense, rtol=1e-10, atol=1e-12 * np.abs(dense).max())
    assert np.abs(dense - dense.T).max() > 0.0


@pytest.mark.parametrize("name", SCENES)
def test_factors_solve(name: str) -> None:
    rng = np.random.default_rng(5)
    case, table, velocity = tamsi_case(rng, SCENES[name])
    case.evaluate(velocity)
    dense = dense_jacobian(case)
    block_jacobian(case, table)
    b = rng.standard_normal(case.problem.graph.nv)
    case.problem.iterate.direction[: case.problem.graph.nv] = b
    for _ in case.islands():
        assert call(factorize_jacobian, case.problem, 0) == 1
        assert call(solve_jacobian, case.problem, 0) == 1
    x = case.problem.iterate.direction[: case.problem.graph.nv]
    exact = np.linalg.solve(dense, b)
    np.testing.assert_allclose(x, exact, rtol=1e-8, atol=1e-10 * np.abs(exact).max())


def test_rows_are_exchanged_within_a_block() -> None:
    case, table, _ = tamsi_case(np.random.default_rng(0), SCENES["one body on the ground"])
    matrix = np.roll(np.eye(6), 1, axis=0) + 1e-3 * np.arange(36.0).reshape(6, 6)
    case.problem.hessian.factor[:36] = matrix.ravel()
    case.problem.iterate.direction[:6] = np.arange(6.0)
    for _ in case.islands():
        assert call(factorize_jacobian, case.problem, 0) == 1
        call(solve_jacobian, case.problem, 0)
    np.testing.assert_allclose(
        case.problem.iterate.direction[:6], np.linalg.solve(matrix, np.arange(6.0)), rtol=1e-12
    )
    case.problem.hessian.factor[:36] = np.outer(np.arange(6.0), np.arange(6.0)).ravel()
    assert call(factorize_jacobian, case.problem, 0) == 0
    assert len(table.pivot) == 6


@pytest.mark.parametrize("law", [TWO_WAY, ONE_WAY], ids=["two-way", "one-way"])
@pytest.mark.parametrize("parabolic", [False, True])
@pytest.mark.parametrize("speed", [1e-4, 1e-2, 1.0])
def test_jacobian_is_the_derivative_of_the_residual(
    law: ContactLaw, parabolic: bool, speed: float
) -> None:
    """In stiction, across its border, and sliding; contacts press and part."""
    rng = np.random.default_rng(int(1e4 * speed) + parabolic)
    scene = replace(SCENES["a hand and what it holds"], rowed=[])
    case, _, velocity = tamsi_case(rng, scene, law, parabolic=parabolic)
    velocity = velocity * speed / 0.02
    case.evaluate(velocity)
    jacobian = dense_jacobian(case)
    pressing = case.problem.iterate.gn[: case.ncontact] > 0
    assert np.count_nonzero(pressing) > 0
    for _ in range(4):
        direction = rng.standard_normal(case.problem.graph.nv)
        size = 1e-9 * max(speed, 1e-3)
        ahead = residual(case, velocity + size * direction)
        behind = residual(case, velocity - size * direction)
        numerical = (ahead - behind) / (2 * size)
        exact = jacobian @ direction
        np.testing.assert_allclose(numerical, exact, rtol=0, atol=2e-5 * np.abs(exact).max())


@pytest.mark.parametrize("law", [TWO_WAY, ONE_WAY], ids=["two-way", "one-way"])
@pytest.mark.parametrize("parabolic", [False, True])
@pytest.mark.parametrize("name", SCENES)
def test_solution_balances_momentum(name: str, law: ContactLaw, parabolic: bool) -> None:
    """Convergence is not guaranteed; random problems are harder than a robot's."""
    failures = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        case, _, velocity = tamsi_case(rng, SCENES[name], law, parabolic=parabolic)
        case.problem.iterate.velocity[: case.problem.graph.nv] = velocity
        if call(solve_tamsi, *case.tables, 0) == NOT_CONVERGED:
            failures += 1
            continue
        p = case.problem
        error = residual(case, case.solution.copy()) * np.sqrt(p.smooth.mass_inverse_diagonal)
        scale = max(1.0, np.linalg.norm(p.smooth.rhs * np.sqrt(p.smooth.mass_inverse_diagonal)))
        # The last update was below a hundredth of the stiction tolerance: 10⁻⁵ m/s here.
        assert np.linalg.norm(error) < 1e-5 * scale
        assert p.counts.factorizations == p.counts.iterations
    assert failures <= 1


def test_friction_is_limited_and_opposes_slip() -> None:
    rng = np.random.default_rng(3)
    case, _, velocity = tamsi_case(rng, SCENES["a hand and what it holds"])
    case.problem.iterate.velocity[: case.problem.graph.nv] = velocity
    assert call(solve_tamsi, *case.tables, 0) == CONVERGED
    p, n = case.problem, case.ncontact
    friction = np.hypot(p.iterate.g1[:n], p.iterate.g2[:n])
    slip = np.hypot(p.iterate.v1[:n], p.iterate.v2[:n])
    order = p.graph.contact[:n]
    tolerance = case.contacts.stiction_tolerance[order]
    bound = case.contacts.dynamic_friction[order] * p.iterate.gn[:n]
    np.testing.assert_allclose(friction, bound * np.minimum(slip / tolerance, 1.0), atol=1e-15)
    assert np.all(p.iterate.g1[:n] * p.iterate.v1[:n] + p.iterate.g2[:n] * p.iterate.v2[:n] <= 0.0)


def test_a_solve_that_does_not_converge_says_so() -> None:
    rng = np.random.default_rng(1)
    case, _, velocity = tamsi_case(rng, SCENES["mixed"], max_iterations=1)
    velocity = 10.0 * velocity
    case.problem.smooth.rhs[:] = case.dense_matrix() @ velocity
    case.problem.iterate.velocity[: case.problem.graph.nv] = velocity
    assert call(solve_tamsi, *case.tables, 0) == NOT_CONVERGED
    assert case.problem.counts.worst_residual > 1e-8
