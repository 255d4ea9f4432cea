"""Trees with branches: what their factors leave out is zero, whatever couples the branches."""

from __future__ import annotations

import numpy as np
import pytest
from convex_problems import Case, empty_case

from asperity.contact.constraint_set import EQUALITY
from asperity.convex.chain_cholesky import multiply_chains
from asperity.convex.contact_velocities import link_velocities

STEP = 1e-2
TREES = 3
CONTACTS = 9
ROWS = 5


def _parents(rng: np.random.Generator, n: int, straight: float) -> np.ndarray:
    """A random tree whose dofs are numbered from the root outwards, branch after branch."""
    parent = np.full(n, -1)
    path = [0]
    for dof in range(1, n):
        if rng.random() > straight:
            path = path[: rng.integers(1, len(path) + 1)]
        parent[dof] = path[-1]
        path.append(dof)
    return parent


def _ancestors(parent: np.ndarray, dof: int) -> list[int]:
    """A dof and all before it."""
    out = []
    while dof >= 0:
        out.append(dof)
        dof = int(parent[dof])
    return out


def _mass(rng: np.random.Generator, parent: np.ndarray) -> np.ndarray:
    """A positive definite matrix that couples dofs with their ancestors only."""
    n = len(parent)
    factor = np.diag(rng.uniform(1.0, 2.0, n))
    for dof in range(n):
        for other in _ancestors(parent, dof)[1:]:
            factor[dof, other] = 0.3 * rng.standard_normal()
    # Lᵀ L, as leaves are eliminated first.
    return factor.T @ factor


def branched_case(
    seed: int, straight: float, *, smallest: int = 1, count: int = TREES, touching: int = CONTACTS
) -> Case:
    """Random trees with links at random dofs, contacts and rows between any of them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(smallest, 24, count)
    start = np.concatenate([[0], np.cumsum(sizes)])
    trees = [_parents(rng, n, straight) for n in sizes]
    parent = np.concatenate(
        [np.where(t < 0, -1, t + s) for t, s in zip(trees, start, strict=False)]
    )
    nv = int(start[-1])
    case = empty_case(
        list(sizes),
        [False] * count,
        contacts=touching,
        links=nv,
        chain=nv * nv,
        rows=ROWS,
        entries=ROWS * nv,
        dof_parent=parent,
    )
    p, c, r = case.tables
    for tree, own in enumerate(trees):
        block = _mass(rng, own)
        p.smooth.matrix[p.graph.block_start[tree] : p.graph.block_start[tree + 1]] = block.ravel()
        p.smooth.mass_diagonal[case.dofs(tree)] = np.diag(block)
        p.smooth.mass_inverse_diagonal[case.dofs(tree)] = 1.0 / np.diag(block)
    p.smooth.rhs[:] = rng.standard_normal(nv)
    column = rng.standard_normal((nv, 6))
    at = 0
    # A link at every dof.
    for link in range(nv):
        dofs = _ancestors(parent, link)
        c.link_tree[link] = p.graph.dof_tree[link]
        c.link_start[link], c.link_size[link] = at, len(dofs)
        c.chain_dof[at : at + len(dofs)] = dofs
        c.chain_column[at : at + len(dofs)] = column[dofs]
        at += len(dofs)
    c.count, c.link_count = touching, nv
    reference = rng.standard_normal((count, 3))
    for i in range(touching):
        first, second = rng.choice(nv, 2, replace=False) if nv > 1 else (0, 0)
        c.link[i] = (-1 if i % 4 == 0 or first == second else first), second
        c.frame[i] = np.linalg.qr(rng.standard_normal((3, 3)))[0].ravel()
        point = 0.3 * rng.standard_normal(3)
        c.arm_a[i] = point - reference[c.link_tree[max(c.link[i, 0], 0)]]
        c.arm_b[i] = point - reference[c.link_tree[c.link[i, 1]]]
        c.signed_distance[i] = -1e-3
        c.stiffness[i] = 10.0 ** rng.uniform(3, 5)
        c.static_friction[i] = c.dynamic_friction[i] = 0.5
        c.stiction_tolerance[i] = 1e-3
        c.inverse_mass[i] = 1.0
    entry = 0
    for i in range(ROWS):
        involved = sorted(set(rng.integers(0, count, 2).tolist()))
        r.tree[i] = [*involved, -1][:2]
        r.start[i] = entry
        for part, tree in enumerate(involved):
            dofs = np.arange(nv)[case.dofs(tree)]
            chosen = np.sort(rng.choice(dofs, min(len(dofs), 1 + i), replace=False))
            r.dof[entry : entry + len(chosen)] = chosen
            r.jacobian[entry : entry + len(chosen)] = rng.standard_normal(len(chosen))
            entry += len(chosen)
            r.start[i, part + 1 :] = entry
        r.kind[i] = EQUALITY
        r.inverse_mass[i] = 1.0
    r.count, r.entry_count = ROWS, entry
    return case


@pytest.mark.parametrize("straight", [0.0, 0.6, 0.9, 1.0])
def test_hessian_and_solution_are_those_of_dense_matrices(straight: float) -> None:
    for seed in range(40):
        case = branched_case(seed, straight)
        p = case.problem
        rng = np.random.default_rng(seed)
        velocity = 0.1 * rng.standard_normal(p.graph.nv)
        case.prepare(velocity, STEP)
        case.evaluate(velocity)
        expected = case.dense_hessian()
        size = np.abs(expected).max()
        # Places that the factor leaves out are those of zeros.
        assert np.allclose(case.assemble(), expected, rtol=0.0, atol=1e-12 * size)
        b = expected @ rng.standard_normal(p.graph.nv)
        found = case.factorize_and_solve(b)
        residual = np.abs(expected @ found - b).max()
        assert residual <= 1e-11 * size * max(1.0, np.abs(found).max())


def test_contacts_of_one_branch_add_no_fill() -> None:
    """M and contacts with the world: every chain couples with its ancestors alone."""
    case = branched_case(3, 0.6)
    case.contacts.count = case.rows.count = 0
    case.build()
    p = case.problem
    assert len(p.graph.chains.size) > p.graph.ntree
    branching = np.diff(p.graph.chains.start) > 1
    for tree in np.flatnonzero(branching):
        chains = slice(p.graph.chains.start[tree], p.graph.chains.start[tree + 1])
        assert np.array_equal(p.graph.chains.neighbours[chains], p.graph.chains.ancestors[chains])
        assert np.array_equal(p.graph.chains.fill_spans[chains], p.graph.chains.mass_spans[chains])


def test_products_leave_nothing_out() -> None:
    for seed in range(20):
        case = branched_case(seed, 0.6)
        p = case.problem
        x = case.padded(np.random.default_rng(seed).standard_normal(p.graph.nv))
        out = np.zeros(p.graph.nv)
        for tree in range(p.graph.ntree):
            multiply_chains(p.graph, p.smooth.matrix, tree, x, out)
        assert np.allclose(out, case.dense_matrix() @ x[: p.graph.nv], rtol=0.0, atol=1e-12)


def test_velocities_add_up_from_joint_to_joint() -> None:
    for seed in range(20):
        case = branched_case(seed, 0.6)
        case.build()
        p = case.problem
        velocity = case.padded(np.random.default_rng(seed).standard_normal(p.graph.nv))
        link_velocities(p.graph, p.iterate, case.contacts, velocity)
        for link in range(case.contacts.link_count):
            found = velocity[p.graph.nv + 6 * link : p.graph.nv + 6 * link + 6]
            expected = case.link_columns(link) @ velocity[: p.graph.nv]
            assert np.allclose(found, expected, rtol=0.0, atol=1e-12)


def test_impulses_are_the_transpose_of_velocities() -> None:
    for seed in range(20):
        case = branched_case(seed, 0.6)
        p = case.problem
        velocity = 0.1 * np.random.default_rng(seed).standard_normal(p.graph.nv)
        case.prepare(velocity, STEP)
        case.evaluate(velocity)
        out = case.dense_matrix() @ velocity - p.smooth.rhs
        case.add_impulses(out, -1.0, case.ncontact, case.nrow)
        size = max(np.abs(out).max(), 1.0)
        assert np.allclose(out, case.dense_gradient(velocity), rtol=0.0, atol=1e-12 * size)


def test_many_branches_are_one_chain_after_another() -> None:
    """A tree with more branches than a mask has bits is taken for dense, and right."""
    n = 150
    case = empty_case(
        [n],
        [False],
        contacts=1,
        links=1,
        chain=1,
        rows=1,
        entries=1,
        dof_parent=np.concatenate([[-1], np.zeros(n - 1, np.int64)]),
    )
    p = case.problem
    rng = np.random.default_rng(0)
    matrix = np.diag(rng.uniform(2.0, 3.0, n))
    matrix[0, 1:] = matrix[1:, 0] = 0.1 * rng.standard_normal(n - 1)
    p.smooth.matrix[:] = matrix.ravel()
    case.contacts.count = case.rows.count = 0
    case.build()
    assert len(p.graph.chains.size) <= 62
    case.assemble()
    b = rng.standard_normal(n)
    assert np.allclose(case.factorize_and_solve(b), np.linalg.solve(matrix, b), rtol=1e-12)
