"""Other solvers of SAP's problem: that they solve the same one, and the errors of solutions."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from convex_problems import MIXED, Case, Scene
from mujoco_scenes import load
from test_sap import KINDS, PILE, STEP, duplicate_contacts, sap_case

from asperity.contact.constraint_set import ACTUATOR, EQUALITY, FRICTION, LIMIT, NO_LIMIT
from asperity.convex.potentials.lagged import LAGGED_LAW
from asperity.convex.potentials.law_table import install_law
from asperity.convex.potentials.sap import SAP_LAW
from asperity.errors import Status
from studies.experiments.reference import (
    Errors,
    ReferenceProblem,
    SizeLimitError,
    Solution,
    Tables,
    UnsupportedProblemError,
    errors_of,
    read_problem,
    solve_clarabel,
    solve_geodesic,
    solve_gurobi,
    solve_newton,
)

LIMITED = Scene(
    sizes=MIXED.sizes, spatial=MIXED.spatial, touching=MIXED.touching, rowed=MIXED.rowed
)


def reference_case(seed: int, kind: str) -> tuple[Case, Tables, ReferenceProblem]:
    """A random problem of a kind of `KINDS`, or of two more."""
    scene = LIMITED if kind == "limits" else KINDS.get(kind, PILE)
    case, before = sap_case(seed, scene)
    if kind == "redundant":
        duplicate_contacts(case)
    if kind == "limits":
        count = case.nrow
        case.rows.kind[:count] = [EQUALITY, LIMIT] * (count // 2)
        rng = np.random.default_rng(seed)
        case.rows.position[:count] = 1e-2 * rng.standard_normal(count)
        case.rows.upper[:count] = 1e-2 * rng.standard_normal(count)
        case.rows.upper[1] = NO_LIMIT
    case.prepare(before, STEP)
    case.problem.iterate.velocity[: case.problem.graph.nv] = before
    tables = Tables(case.problem, case.contacts, case.rows)
    return case, tables, read_problem(tables)


def distance(problem: ReferenceProblem, one: Solution, other: Solution) -> float:
    """Of velocities in the norm of A and impulses in that of R, together."""
    dv = one.velocity - other.velocity
    dg = one.impulse - other.impulse
    dr = one.row_impulse - other.row_impulse
    square = dv @ (problem.matrix @ dv)
    square += np.sum(problem.contact_regularization * dg**2)
    square += np.sum(problem.row_regularization * dr**2)
    return float(np.sqrt(square))


def size_of(problem: ReferenceProblem, solution: Solution) -> float:
    return float(np.sqrt(solution.velocity @ (problem.matrix @ solution.velocity)))


def dense_errors(problem: ReferenceProblem, solution: Solution) -> Errors:
    """Equations 32 and 33 once more, contact by contact."""
    matrix, weight = problem.matrix.toarray(), problem.mass_diagonal**-0.5
    impulses = np.zeros(problem.nv)
    products = []
    jacobian = problem.contact_jacobian.toarray().reshape(-1, 3, problem.nv)
    for j, target, r, g in zip(
        jacobian,
        problem.contact_target,
        problem.contact_regularization,
        solution.impulse,
        strict=True,
    ):
        impulses += j.T @ g
        products.append(abs(g @ (j @ solution.velocity - target + np.diag(r) @ g)))
    p = matrix @ solution.velocity
    scale = max(np.linalg.norm(weight * p), np.linalg.norm(weight * impulses))
    residual = np.linalg.norm(weight * (p - problem.momentum - impulses))
    return Errors(residual / scale, np.mean(products) / (0.5 * scale**2))


ALL_KINDS = (*KINDS, "redundant", "limits")


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_copy_of_a_problem(kind: str) -> None:
    case, _, problem = reference_case(3, kind)
    np.testing.assert_array_equal(problem.matrix.toarray(), case.dense_matrix())
    jacobian = case.dense_contact_jacobian()
    np.testing.assert_allclose(
        problem.contact_jacobian.toarray().reshape(jacobian.shape), jacobian, atol=1e-13
    )
    # Same cost and gradient as the kernels, up to the constant that limits leave out.
    rng = np.random.default_rng(0)
    v, w = rng.standard_normal((2, problem.nv))
    change = case.evaluate(v) - case.evaluate(w)
    assert problem.cost(v) - problem.cost(w) == pytest.approx(change, rel=1e-9)
    case.evaluate(v)
    impulses = np.zeros((case.ncontact, 3))
    p = case.problem
    order = p.graph.contact[: case.ncontact]
    impulses[order] = np.column_stack([p.iterate.g1, p.iterate.g2, p.iterate.gn])[: case.ncontact]
    scale = np.max(np.abs(impulses))
    np.testing.assert_allclose(problem.project(v), impulses, atol=1e-12 * scale)
    np.testing.assert_allclose(
        problem.matrix @ problem.free_velocity, problem.momentum, atol=1e-12 * (1 + scale)
    )


def test_copy_of_a_problem_with_arms() -> None:
    case = load()
    install_law(case.problem, SAP_LAW)
    case.rows.count = case.rows.entry_count = 0
    case.build()
    case.prepare(case.start_velocity, 1e-3)
    problem = read_problem(Tables(case.problem, case.contacts, case.rows))
    jacobian = case.dense_contact_jacobian()
    assert np.any(~case.problem.graph.tree_spatial.astype(bool))
    np.testing.assert_allclose(
        problem.contact_jacobian.toarray().reshape(jacobian.shape), jacobian, atol=1e-12
    )


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_geodesic_method_agrees_with_newton(kind: str, warm: bool) -> None:
    for seed in range(20):
        _, tables, problem = reference_case(seed, kind)
        expected = solve_newton(problem, tables)
        assert expected.status == Status.SUCCESS
        size = size_of(problem, expected)
        cones = problem.ncontact + np.count_nonzero(problem.row_one_sided)
        for m in (1e-4, 1e-8, 1e-12):
            found = solve_geodesic(problem, tables, complementarity=m, warm_start=warm)
            assert found.status == Status.SUCCESS
            # The cost is strongly convex, and λ·s ≤ m bounds the duality gap by m per cone.
            assert distance(problem, found, expected) <= np.sqrt(2.0 * m * cones) + 1e-9 * size
            # Impulses of stiff rows are differences of velocities, divided by a small R.
            assert errors_of(problem, found).momentum <= (1e-10 if kind == "limits" else 1e-12)
            slack = (
                problem.contact_velocity(found.velocity)
                - problem.contact_target
                + problem.contact_regularization * found.impulse
            )
            products = np.einsum("ij,ij->i", found.impulse, slack)
            assert np.all(products <= m * (1 + 1e-6) + 1e-13 * size**2)
        # Within the cones, and far nearer than the bound.
        assert distance(problem, found, expected) <= 1e-8 * size
        tangential = np.hypot(found.impulse[:, 0], found.impulse[:, 1])
        assert np.all(tangential <= problem.friction * found.impulse[:, 2] * (1 + 1e-12))


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_clarabel_agrees_with_newton(kind: str) -> None:
    pytest.importorskip("clarabel")
    for seed in range(10):
        _, tables, problem = reference_case(seed, kind)
        expected = solve_newton(problem, tables)
        # With stiff rows it does not always get further.
        found = solve_clarabel(problem, tolerance=1e-9 if kind == "limits" else 1e-11)
        if kind == "limits":
            assert found.status == Status.SUCCESS
        # Its own violation of optimality is what stands between the two.
        hard = kind in ("ill-conditioned", "redundant", "limits")
        bound = (1e-4 if hard else 1e-5) * size_of(problem, expected)
        assert distance(problem, found, expected) <= bound
        # A cone program can have no lower cost than the unconstrained problem's optimum.
        optimum = problem.cost(expected.velocity)
        scale = abs(optimum) + size_of(problem, expected) ** 2
        assert -1e-12 * scale <= problem.cost(found.velocity) - optimum <= 1e-8 * scale


SMALL = Scene(sizes=[6, 6], spatial=[True, True], touching=[(-1, 0), (0, 1)])


@pytest.mark.parametrize("friction", [0.0, 0.7])
def test_gurobi_agrees_with_newton(friction: float) -> None:
    pytest.importorskip("gurobipy")
    scene = replace(SMALL, parameters={"dynamic_friction": friction})
    for seed in range(5):
        case, before = sap_case(seed, scene)
        case.problem.iterate.velocity[: case.problem.graph.nv] = before
        tables = Tables(case.problem, case.contacts, case.rows)
        problem = read_problem(tables)
        expected = solve_newton(problem, tables)
        found = solve_gurobi(problem, tolerance=1e-10)
        assert found.status == Status.SUCCESS
        assert found.iterations > 0
        assert distance(problem, found, expected) <= 1e-3 * size_of(problem, expected)


def test_beyond_the_licence() -> None:
    gurobi = pytest.importorskip("gurobipy")
    scene = Scene(
        sizes=[6] * 12,
        spatial=[True] * 12,
        touching=[(i - 1, i) for i in range(12)],
        contacts_per_pair=8,
    )
    case, _ = sap_case(0, scene)
    problem = read_problem(Tables(case.problem, case.contacts, case.rows))
    with gurobi.Env(params={"OutputFlag": 0}) as environment, gurobi.Model(env=environment) as m:
        m.addMVar(2001)
        try:
            m.optimize()
        except gurobi.GurobiError:
            pass
        else:
            pytest.skip("a licence without limit is installed")
    with pytest.raises(SizeLimitError, match="96 contacts"):
        solve_gurobi(problem)


@pytest.mark.parametrize("solver", ["newton", "geodesic", "clarabel", "gurobi"])
def test_without_contact(solver: str) -> None:
    if solver in ("clarabel", "gurobi"):
        pytest.importorskip("clarabel" if solver == "clarabel" else "gurobipy")
    case, _ = sap_case(0, Scene(sizes=[6, 3], spatial=[True, False]))
    tables = Tables(case.problem, case.contacts, case.rows)
    problem = read_problem(tables)
    found = {
        "newton": lambda: solve_newton(problem, tables),
        "geodesic": lambda: solve_geodesic(problem, tables),
        "clarabel": lambda: solve_clarabel(problem, tolerance=1e-12),
        "gurobi": lambda: solve_gurobi(problem),
    }[solver]()
    assert found.status == Status.SUCCESS
    expected = np.linalg.solve(case.dense_matrix(), case.problem.smooth.rhs)
    np.testing.assert_allclose(found.velocity, expected, rtol=1e-7)
    assert found.impulse.shape == (0, 3)
    assert errors_of(problem, found).complementarity == 0.0
    if solver in ("newton", "geodesic"):
        assert found.iterations == 0
        assert errors_of(problem, found).momentum <= 1e-14


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_complementarity_of_newton_is_exact(kind: str) -> None:
    for seed in range(10):
        _, tables, problem = reference_case(seed, kind)
        found = solve_newton(problem, tables)
        errors = errors_of(problem, found)
        assert errors.complementarity <= 1e-15
        assert errors.momentum <= 1e-10


def test_errors_by_their_definition() -> None:
    case, tables, problem = reference_case(2, "arms and free bodies")
    case.problem.options.max_iterations = 2
    early = solve_newton(problem, tables)
    assert early.status == Status.NOT_CONVERGED
    coarse = solve_geodesic(problem, tables, complementarity=1e-2)
    for one in (early, coarse):
        found, expected = errors_of(problem, one), dense_errors(problem, one)
        assert found.momentum == pytest.approx(expected.momentum, rel=1e-9, abs=1e-12)
        assert found.complementarity == pytest.approx(expected.complementarity, rel=1e-6, abs=1e-15)
    assert errors_of(problem, early).momentum > 1e-3
    assert errors_of(problem, coarse).complementarity > 1e-4
    # The diagonal of A weighs otherwise.
    other = replace(problem, mass_diagonal=problem.matrix.diagonal())
    assert errors_of(problem, early, "system") == errors_of(other, early, "mass")
    weighed = replace(problem, mass_diagonal=problem.mass_diagonal * [4.0] * problem.nv)
    assert errors_of(weighed, early).momentum == pytest.approx(errors_of(problem, early).momentum)
    assert errors_of(weighed, early).complementarity == pytest.approx(
        4.0 * errors_of(problem, early).complementarity
    )


def test_errors_of_a_body_at_rest() -> None:
    # A body of 2 kg on one contact below its centre, which must give 0.2 N s per step.
    _, _, problem = reference_case(0, "free bodies")
    one = replace(
        problem,
        matrix=2.0 * problem.matrix[:0, :0].__class__(np.eye(3)),
        mass_diagonal=np.full(3, 2.0),
        momentum=np.array([0.0, 0.0, -0.2]),
        contact_jacobian=problem.contact_jacobian.__class__(np.eye(3)),
        contact_target=np.array([[0.0, 0.0, 0.01]]),
        contact_regularization=np.array([[0.001, 0.001, 0.05]]),
        friction=np.array([0.5]),
        row_jacobian=problem.row_jacobian.__class__((0, 3)),
        row_target=np.zeros(0),
        row_regularization=np.zeros(0),
        row_one_sided=np.zeros(0, bool),
        guess=np.zeros(3),
    )
    exact = Solution("", np.zeros(3), np.array([[0.0, 0.0, 0.2]]), np.zeros(0), 0, 0, 0, Status(0))
    np.testing.assert_allclose(errors_of(one, exact), 0.0, atol=1e-14)
    np.testing.assert_allclose(one.project(np.zeros(3)), exact.impulse)
    # 0.1 N s are missing of 0.1: e_m = 1. The slack −v̂ + R γ is −0.005 m/s.
    half = replace(exact, impulse=0.5 * exact.impulse)
    errors = errors_of(one, half)
    assert errors.momentum == pytest.approx(1.0)
    assert errors.complementarity == pytest.approx(0.1 * 0.005 / (0.5 * 0.1**2 / 2.0))
    nothing = replace(exact, impulse=0.0 * exact.impulse)
    assert errors_of(one, nothing) == (np.inf, 0.0)
    broken = replace(exact, velocity=np.full(3, np.nan))
    assert errors_of(one, broken) == (np.inf, np.inf)
    with pytest.raises(ValueError, match="scaling"):
        errors_of(one, exact, "other")


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_warm_start(kind: str) -> None:
    for seed in range(5):
        case, tables, problem = reference_case(seed, kind)
        guess = problem.guess
        best = solve_geodesic(problem, tables, complementarity=1e-7, warm_start=False)
        near = replace(problem, guess=solve_newton(problem, tables).velocity)
        cold = solve_geodesic(near, tables, complementarity=1e-7, warm_start=False)
        warm = solve_geodesic(near, tables, complementarity=1e-7)
        assert cold.iterations == best.iterations  # cold starts know nothing of the guess
        assert warm.iterations <= 4 < cold.iterations
        # Far from the solution the guess costs no more than trying it.
        far = solve_geodesic(problem, tables, complementarity=1e-7)
        assert far.iterations <= cold.iterations + 1
        np.testing.assert_array_equal(problem.guess, guess)
        np.testing.assert_array_equal(case.solution, guess)
        assert distance(problem, warm, best) <= np.sqrt(8e-7 * (problem.ncontact + problem.nrow))


def test_failures_are_named() -> None:
    case, tables, problem = reference_case(0, "free bodies")
    few = solve_geodesic(problem, tables, complementarity=1e-9, max_iterations=3)
    assert few.status == Status.NOT_CONVERGED
    assert few.iterations == 3
    assert np.all(np.isfinite(few.velocity))
    case.problem.options.max_iterations = 1
    assert solve_newton(problem, tables).status == Status.NOT_CONVERGED
    rhs = case.problem.smooth.rhs.copy()
    for bad in (np.nan, np.inf):
        case.problem.smooth.rhs[2] = bad
        assert solve_geodesic(problem, tables).status == Status.NON_FINITE
        assert solve_newton(problem, tables).status == Status.NON_FINITE
    case.problem.smooth.rhs[:] = rhs
    assert solve_geodesic(problem, tables).status == Status.SUCCESS
    with pytest.raises(ValueError, match="complementarity"):
        solve_geodesic(problem, tables, complementarity=0.0)
    with pytest.raises(ValueError, match="max_iterations"):
        solve_geodesic(problem, tables, max_iterations=0)


def test_clarabel_says_when_it_fails() -> None:
    pytest.importorskip("clarabel")
    _, _, problem = reference_case(0, "free bodies")
    found = solve_clarabel(problem, tolerance=1e-11, max_iterations=2)
    assert found.status == Status.NOT_CONVERGED
    assert found.iterations == 2


@pytest.mark.parametrize(
    ("package", "solve", "extra"),
    [("clarabel", solve_clarabel, "reference"), ("gurobipy", solve_gurobi, "gurobi")],
)
def test_missing_packages_are_named(package, solve, extra, monkeypatch) -> None:
    _, _, problem = reference_case(0, "free bodies")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"asperity\[{extra}\]"):
        solve(problem)


@pytest.mark.parametrize(("kind", "what"), [(FRICTION, "dry friction"), (ACTUATOR, "actuator")])
def test_what_is_no_cone_program_is_refused(kind: int, what: str) -> None:
    case, tables, _ = reference_case(0, "limits")
    case.rows.kind[1] = kind
    with pytest.raises(UnsupportedProblemError, match=f"constraint 1 is .*{what}"):
        read_problem(tables)
    install_law(case.problem, LAGGED_LAW)
    with pytest.raises(UnsupportedProblemError, match=r"Sap\(\)"):
        read_problem(tables)
