"""Newton's method: the minimum, from anywhere, and what it says about itself."""

from __future__ import annotations

import numpy as np
import pytest
from convex_problems import MIXED, Case, Scene, random_case
from convex_reference import reference_objective
from mujoco_scenes import MujocoCase, load
from scipy.optimize import minimize

from asperity.compiled import Table
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.convex.problem import (
    CONVERGED,
    NON_FINITE,
    NOT_CONVERGED,
    read_statistics,
    write_statistics,
)

STEP = 1e-2
TIGHT = 1e-12

SMALL = Scene(
    sizes=(6, 3, 6),
    spatial=(True, False, True),
    touching=((-1, 0), (0, 1), (1, 2)),
    rowed=((0, 2), (1, -1), (1, -1), (1, -1)),
)
PILE = Scene(
    sizes=[6] * 10,
    spatial=[True] * 10,
    touching=[(-1, 0), (-1, 1), *[(i, i + 1) for i in range(9)], *[(i, i + 3) for i in range(7)]],
    contacts_per_pair=4,
)


def made(
    scene: Scene, seed: int = 0, *, tolerance: float = TIGHT, max_iterations: int = 100
) -> tuple[Case, np.ndarray]:
    """A prepared problem and the velocity at the beginning of its step."""
    rng = np.random.default_rng(seed)
    case = random_case(rng, scene, max_iterations=max_iterations)
    case.problem.options.tolerance = tolerance
    before = rng.standard_normal(case.problem.graph.nv)
    case.prepare(before, STEP)
    return case, before


def energy_norm(case: Case, v: np.ndarray) -> float:
    return float(np.sqrt(v @ case.dense_matrix() @ v))


def solved(case: Case, guess: np.ndarray) -> np.ndarray:
    assert case.solve(guess) == CONVERGED
    return case.solution.copy()


@pytest.mark.parametrize("scene", [SMALL, MIXED, PILE], ids=["small", "mixed", "pile"])
def test_solution_does_not_depend_on_the_guess(scene: Scene) -> None:
    case, before = made(scene)
    solution = solved(case, before)
    rng = np.random.default_rng(7)
    for size in (0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0, 100.0):
        for _ in range(4):
            other = solved(case, size * rng.standard_normal(case.problem.graph.nv))
            distance = energy_norm(case, other - solution)
            assert distance <= 1e-9 * energy_norm(case, solution)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scene", [SMALL, MIXED, PILE], ids=["small", "mixed", "pile"])
def test_gradient_vanishes_at_the_solution(scene: Scene, seed: int) -> None:
    case, before = made(scene, seed)
    solution = solved(case, before)
    _, gradient, _ = reference_objective(case, before, STEP)
    scale = 1.0 / np.sqrt(case.problem.smooth.mass_diagonal)
    size = max(1.0, np.linalg.norm(scale * case.problem.smooth.rhs))
    assert np.linalg.norm(scale * gradient(solution)) <= 1e-9 * size


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_a_general_optimizer(seed: int) -> None:
    case, before = made(SMALL, seed)
    solution = solved(case, before)
    value, gradient, hessian = reference_objective(case, before, STEP)
    general = minimize(
        value,
        before,
        jac=gradient,
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-9, "maxiter": 2000},
    )
    # The general one cannot see differences of the cost below round-off.
    assert value(solution) <= general.fun + 1e-13 * abs(general.fun)
    distance = energy_norm(case, general.x - solution)
    assert distance <= 1e-6 * energy_norm(case, solution)


@pytest.mark.parametrize("line_search_tolerance", [1e-2, 1e-8])
@pytest.mark.parametrize("scene", [SMALL, MIXED, PILE], ids=["small", "mixed", "pile"])
def test_cost_falls_in_every_iteration(scene: Scene, line_search_tolerance: float) -> None:
    case, before = made(scene, tolerance=1e-9)
    case.problem.options.line_search_tolerance = line_search_tolerance
    value, _, _ = reference_objective(case, before, STEP)
    guess = 3.0 * np.random.default_rng(0).standard_normal(case.problem.graph.nv)
    costs = [value(guess)]
    for limit in range(1, 60):
        case.problem.options.max_iterations = limit
        status = case.solve(guess)
        costs.append(value(case.solution))
        if status == CONVERGED:
            break
        assert status == NOT_CONVERGED
    assert status == CONVERGED
    assert len(costs) >= 4
    drop = -np.diff(costs)
    round_off = 1e-13 * max(abs(costs[0]), abs(costs[-1]))
    assert np.all(drop[:-1] > -round_off)
    assert np.all(drop[:3] > 0.0)


def test_no_iteration_from_the_solution() -> None:
    case, before = made(MIXED, tolerance=1e-8)
    case.problem.options.tolerance = TIGHT
    solution = solved(case, before)
    case.problem.options.tolerance = 1e-8
    write_statistics(case.problem)
    again = solved(case, solution)
    np.testing.assert_array_equal(again, solution)
    assert case.problem.counts.solves == 1
    assert case.problem.counts.iterations == 0
    assert case.problem.counts.factorizations == 0
    assert case.problem.counts.line_search_evaluations == 0


def test_islands_without_contacts_are_solved_directly() -> None:
    scene = Scene(sizes=[6, 3], spatial=[True, False])
    case, _ = made(scene)
    solution = solved(case, np.zeros(9))
    expected = np.linalg.solve(case.dense_matrix(), case.problem.smooth.rhs)
    np.testing.assert_allclose(solution, expected, rtol=1e-12)
    assert case.problem.graph.islands == 2
    assert case.problem.counts.iterations == 0


def joined(first: Scene, second: Scene) -> Scene:
    """Both scenes side by side."""
    n = len(first.sizes)

    def shifted(pairs):
        return [tuple(t + n if t >= 0 else t for t in pair) for pair in pairs]

    return Scene(
        sizes=[*first.sizes, *second.sizes],
        spatial=[*first.spatial, *second.spatial],
        touching=[*first.touching, *shifted(second.touching)],
        rowed=[*first.rowed, *shifted(second.rowed)],
        contacts_per_pair=first.contacts_per_pair,
    )


def copy_into(target: Case, source: Case, tree: int, contact: int, row: int) -> None:
    """Copy a problem's numbers into a larger one that contains its scene."""
    p, q = target.problem, source.problem
    block, dof = int(p.graph.block_start[tree]), int(p.graph.tree_start[tree])
    p.smooth.matrix[block : block + len(q.smooth.matrix)] = q.smooth.matrix
    for name in ("rhs", "mass_diagonal", "mass_inverse_diagonal"):
        getattr(p.smooth, name)[dof : dof + q.graph.nv] = getattr(q.smooth, name)
    c, d = target.contacts, source.contacts
    n = source.ncontact
    for name in (
        "frame",
        "arm_a",
        "arm_b",
        "signed_distance",
        "stiffness",
        "dissipation",
        "static_friction",
        "dynamic_friction",
        "stiction_tolerance",
        "inverse_mass",
        "surface_velocity",
    ):
        getattr(c, name)[contact : contact + n] = getattr(d, name)[:n]
    c.link[contact : contact + n] = np.where(d.link[:n] >= 0, d.link[:n] + 2 * tree, -1)
    for link in range(2 * q.graph.ntree):
        size = d.link_size[link]
        at, start = c.link_start[link + 2 * tree], d.link_start[link]
        c.chain_column[at : at + size] = d.chain_column[start : start + size]
    r, s = target.rows, source.rows
    m = source.nrow
    for name in (
        "kind",
        "position",
        "force",
        "proportional",
        "derivative",
        "lower",
        "upper",
        "inverse_mass",
    ):
        getattr(r, name)[row : row + m] = getattr(s, name)[:m]
    entries = r.entry_count if row else 0
    r.tree[row : row + m] = np.where(s.tree[:m] >= 0, s.tree[:m] + tree, -1)
    r.start[row : row + m] = s.start[:m] + entries
    count = s.entry_count
    r.dof[entries : entries + count] = s.dof[:count] + dof
    r.jacobian[entries : entries + count] = s.jacobian[:count]
    r.count, r.entry_count = row + m, entries + count


def test_scenes_far_apart_are_solved_as_if_alone() -> None:
    first, before_first = made(SMALL, 1, tolerance=1e-8)
    second, before_second = made(SMALL, 2, tolerance=1e-8)
    both = random_case(np.random.default_rng(0), joined(SMALL, SMALL))
    both.rows = Table(
        CONSTRAINT_SET,
        **{
            name: np.concatenate([value, value]) if isinstance(value, np.ndarray) else value
            for name in CONSTRAINT_SET.fields
            for value in [getattr(both.rows, name)]
        },
    )
    copy_into(both, first, 0, 0, 0)
    copy_into(both, second, len(SMALL.sizes), first.ncontact, first.nrow)
    before = np.concatenate([before_first, before_second])
    both.prepare(before, STEP)
    assert both.problem.graph.islands == first.problem.graph.islands + second.problem.graph.islands
    together = solved(both, before)
    apart = np.concatenate([solved(first, before_first), solved(second, before_second)])
    np.testing.assert_array_equal(together, apart)
    one, other, total = (read_statistics(c.problem) for c in (first, second, both))
    for name in ("iterations", "factorizations", "line_search_evaluations", "reuses"):
        assert total[name] == one[name] + other[name]
    assert both.problem.counts.solves == 1
    counts = [case.problem.counts.iterations for case in (first, second)]
    assert first.problem.graph.islands == second.problem.graph.islands == 1
    assert both.problem.counts.longest_iterations == max(counts)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["rhs", "matrix", "guess"])
def test_not_finite(bad: float, where: str) -> None:
    case, before = made(MIXED)
    guess = before.copy()
    if where == "guess":
        guess[4] = bad
    else:
        getattr(case.problem.smooth, where)[4] = bad
    assert case.solve(guess) == NON_FINITE


def test_bad_island_does_not_spoil_the_others() -> None:
    case, before = made(MIXED)
    good = solved(case, before)
    alone = case.dofs(6)  # the body without contact
    case.problem.smooth.rhs[alone] = np.nan
    assert case.solve(before) == NON_FINITE
    rest = np.setdiff1d(np.arange(case.problem.graph.nv), np.arange(case.problem.graph.nv)[alone])
    np.testing.assert_array_equal(case.solution[rest], good[rest])


def test_iteration_limit() -> None:
    case, _ = made(PILE, tolerance=1e-10, max_iterations=2)
    guess = 5.0 * np.ones(case.problem.graph.nv)
    assert case.problem.counts.worst_residual == 0.0
    assert case.solve(guess) == NOT_CONVERGED
    assert case.problem.counts.iterations == 2
    case.evaluate(case.solution.copy())
    gradient = case.dense_gradient(case.solution)
    scale = 1.0 / np.sqrt(case.problem.smooth.mass_diagonal)
    impulses = case.dense_matrix() @ case.solution - case.problem.smooth.rhs - gradient
    residual = np.linalg.norm(scale * gradient) / max(1.0, np.linalg.norm(scale * impulses))
    assert case.problem.counts.worst_residual == pytest.approx(residual, rel=1e-9)
    assert residual > 1e-10
    # The worst is kept.
    case.problem.options.max_iterations = 3
    assert case.solve(case.solution.copy()) in (CONVERGED, NOT_CONVERGED)
    assert case.problem.counts.worst_residual >= residual * (1 - 1e-9)


def test_statistics_add_up() -> None:
    case, before = made(PILE)
    for count in range(1, 4):
        previous = read_statistics(case.problem)
        solved(case, before)
        change = {
            name: number - previous[name] for name, number in read_statistics(case.problem).items()
        }
        assert case.problem.counts.solves == count
        assert change["iterations"] > 1
        # Every iteration has a direction from new factors or from old ones, and a line search.
        directions = change["factorizations"] + change["reuses"]
        assert change["iterations"] <= directions <= change["iterations"] + 1
        # A search that takes the whole step has looked at its end alone.
        assert change["line_search_evaluations"] >= change["iterations"]
        assert change["reuses"] == 0


@pytest.mark.parametrize("scene", [SMALL, MIXED, PILE], ids=["small", "mixed", "pile"])
def test_reused_hessians_lead_to_the_same_solution(scene: Scene) -> None:
    case, before = made(scene)
    solution = solved(case, before)
    case.problem.options.max_iterations, case.problem.options.reused_iterations = 1000, 10
    write_statistics(case.problem)
    reused = solved(case, before)
    distance = energy_norm(case, reused - solution)
    assert distance <= 1e-8 * energy_norm(case, solution)
    assert case.problem.counts.reuses > 0
    assert case.problem.counts.factorizations < case.problem.counts.iterations


def test_box_pushed_along_the_floor() -> None:
    # Choose the slip of a box that does not turn; the push that gives it then follows from friction
    # with the lagged normal force, and its rise from the springs.
    mass, depth, step, stiffness = 2.0, 2e-4, 1e-3, 1e5
    case: MujocoCase = load(
        f"""<mujoco><worldbody><geom type='plane' size='1 1 1'/>
        <body pos='0 0 {0.1 - depth}'><freejoint/>
        <geom type='box' size='0.1 0.1 0.1' mass='{mass}'/></body></worldbody></mujoco>""",
        seed=None,
        friction=0.5,
        stiffness=stiffness,
        dissipation=0.0,
        stiction_tolerance=1e-4,
    )
    p = case.problem
    p.options.tolerance = TIGHT
    weight, elastic, slip = mass * 9.81, 4 * stiffness * depth, 3e-5
    resisted = 0.5 * elastic * slip / np.hypot(slip, 1e-4)
    push = resisted + mass * slip / step
    arm = 0.1 - 0.5 * depth
    p.smooth.rhs[:] = [0.0, -arm * resisted * step, 0.0, push * step, 0.0, -weight * step]
    case.prepare(np.zeros(6), step)
    assert case.ncontact == 4
    v = solved(case, np.zeros(6))
    rise = step * (elastic - weight) / (mass + 4 * stiffness * step**2)
    np.testing.assert_allclose(v, [0.0, 0.0, 0.0, slip, 0.0, rise], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("speed", [0.3, 3.0, 30.0])
def test_impact_takes_few_iterations(speed: float) -> None:
    # The damper makes the impulse grow with the square of the speed: Newton's method alone would
    # halve the error in every iteration, and need more of them the faster the ball.
    mass, depth, step, stiffness, dissipation = 2.0, 1e-4, 1e-2, 1e5, 10.0
    case: MujocoCase = load(
        f"""<mujoco><worldbody><geom type='plane' size='1 1 1'/>
        <body pos='0 0 {0.1 - depth}'><freejoint/><geom size='0.1' mass='{mass}'/></body>
        </worldbody></mujoco>""",
        seed=None,
        friction=0.0,
        stiffness=stiffness,
        dissipation=dissipation,
    )
    case.problem.options.tolerance = TIGHT
    before = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -speed])
    case.problem.smooth.rhs[:] = case.dense_matrix() @ before
    case.prepare(before, step)
    v = solved(case, before)[5]
    # m (v − v_0) = δt (f_e0 − δt k v) (1 − d v), both factors positive.
    spring = step * np.array([-step * stiffness, stiffness * depth])
    roots = np.roots(np.polysub(np.polymul(spring, [-dissipation, 1.0]), [mass, mass * speed]))
    assert v == pytest.approx(min(roots), rel=1e-9)
    assert -speed < v < depth / step
    assert case.problem.counts.iterations <= 5
