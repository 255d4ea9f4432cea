"""SAP: the projection and its potential, and the solution of whole problems."""

from __future__ import annotations

from typing import Self

import numpy as np
import pytest
from convex_problems import MIXED, Case, Scene, curvature, random_case
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mujoco_scenes import load
from one_contact import STEP, OneContact
from sap_reference import (
    SLIP_REGULARIZATION,
    SapContact,
    contact_bias,
    inverse_mass,
    sap_contacts,
    solve_socp,
)

from asperity.convex.potentials.contact_driver import (
    evaluate_exactly,
    prepare_contacts,
)
from asperity.convex.potentials.law_table import install_law
from asperity.convex.potentials.sap import SAP_LAW
from asperity.convex.problem import (
    ARMIJO,
    CONVERGED,
    MOMENTUM,
)

PILE = Scene(
    sizes=[6] * 6,
    spatial=[True] * 6,
    touching=[(-1, 0), (0, 1), (1, 2), (2, 0), (-1, 3), (3, 2), (4, 3)],
)


class SapLawContact(OneContact):
    """One contact of which the law's own numbers are set."""

    def use(self, contact: SapContact) -> Self:
        p = self.case.problem
        p.law.friction[0], p.law.normal_target[0] = contact.mu, contact.target
        p.law.normal_gain[0], p.law.tangential_gain[0] = 1.0 / contact.rn, 1.0 / contact.rt
        return self

    def hessian(self, v: np.ndarray) -> np.ndarray:
        """Of the law itself, whatever the estimates are."""
        self.set_velocity(v)
        evaluate_exactly(self.case.problem, 0, 1)
        return curvature(self.case.problem, 0)


ONE = SapLawContact(SAP_LAW)


def exponents(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda x: 10.0**x)


# Squares of less than 10⁻¹⁵⁴ m/s are zero.
speeds = st.floats(-2, 2).map(lambda x: x if abs(x) > 1e-100 else 0.0)
velocities = st.tuples(speeds, speeds, speeds).map(np.array)
contacts = st.builds(
    SapContact,
    mu=st.one_of(st.just(0.0), st.floats(0.01, 3.0)),
    target=st.floats(-1.0, 1.0),
    rn=exponents(-8, 0),
    rt=exponents(-8, -2),
)
REGIONS = ("stiction", "sliding", "apart")
shares = st.one_of(st.floats(0.02, 0.98), st.sampled_from([0.02, 0.98]))


def velocity_in(region: str, c: SapContact, share: float, size: float, angle: float) -> np.ndarray:
    """A velocity in a region; shares near 0 and 1 are near its borders."""
    # In the plane of (√R_t ‖y_t‖, √R_n y_n) the projection is orthogonal; the cone's angle is there
    cone = np.arctan(c.mu * np.sqrt(c.rt / c.rn))
    start, end = {
        "stiction": (0.0, cone),
        "sliding": (cone, cone + 0.5 * np.pi),
        "apart": (cone + 0.5 * np.pi, np.pi),
    }[region]
    theta = start + share * (end - start)
    y_t = size * np.sin(theta) / np.sqrt(c.rt)
    y_n = size * np.cos(theta) / np.sqrt(c.rn)
    v_t = -c.rt * y_t * np.array([np.cos(angle), np.sin(angle)])
    return np.array([*v_t, c.target - c.rn * y_n])


@settings(max_examples=400, derandomize=True, deadline=None)
@given(
    c=contacts,
    region=st.sampled_from(REGIONS),
    share=shares,
    size=exponents(-3, 0),
    angle=st.floats(0, 6.3),
)
def test_derivatives_in_every_region(c, region, share, size, angle) -> None:
    cone = np.arctan(c.mu * np.sqrt(c.rt / c.rn))
    width = {"stiction": cone, "sliding": 0.5 * np.pi, "apart": 0.5 * np.pi - cone}[region]
    assume(width > 1e-3)  # else differences are lost in round-off
    v = velocity_in(region, c, share, size, angle)
    one = ONE.use(c)
    # In the norm of R everything is of the order of one; h is well inside the region.
    scale = size * np.sqrt(c.r)
    h = 1e-3 * min(share, 1.0 - share) * width
    gradient = np.zeros(3)
    hessian = np.zeros((3, 3))
    for j in range(3):
        axis = h * scale[j] * np.eye(3)[j]
        gradient[j] = (one.cost(v + axis) - one.cost(v - axis)) / (2 * h)
        hessian[j] = -(one.impulse(v + axis) - one.impulse(v - axis)) / (2 * h) * scale
    impulse = one.impulse(v) * scale
    target_noise = 1e-16 * abs(c.target) / scale[2] / h
    np.testing.assert_allclose(
        -gradient, impulse, atol=size**2 * (3e-6 + 1e-15 / h + 10 * target_noise)
    )
    found = one.hessian(v) * np.outer(scale, scale)
    np.testing.assert_allclose(
        hessian, found, atol=size**2 * (3e-5 + 1e-14 / h + 10 * target_noise)
    )


@settings(max_examples=400, derandomize=True, deadline=None)
@given(
    c=contacts,
    a=velocities,
    b=velocities,
)
def test_formulas_convexity_and_smoothness(c, a, b) -> None:
    one = ONE.use(c)
    for v in (a, b, np.array([0.0, 0.0, a[2]])):
        scale = np.sqrt(c.r)
        expected = c.impulse(v) * scale
        size = np.linalg.norm((v - [0, 0, c.target]) / scale) + 1e-300
        np.testing.assert_allclose(one.impulse(v) * scale, expected, atol=1e-13 * size)
        assert one.cost(v) == pytest.approx(c.cost(v), rel=1e-11, abs=1e-13 * size**2)
        hessian = one.hessian(v) * np.outer(scale, scale)
        # The projection does not expand distances in the norm of R.
        eigenvalues = np.linalg.eigvalsh(hessian)
        assert np.all(eigenvalues >= -1e-12)
        assert np.all(eigenvalues <= 1.0 + 1e-12)
    difference = (one.impulse(a) - one.impulse(b)) * np.sqrt(c.r)
    distance = (a - b) / np.sqrt(c.r)
    slack = 1e-12 * (1.0 + np.linalg.norm((a - [0, 0, c.target]) / np.sqrt(c.r))) ** 2
    assert difference @ distance <= slack
    assert np.linalg.norm(difference) <= np.linalg.norm(distance) * (1 + 1e-12) + slack


@settings(max_examples=400, derandomize=True, deadline=None)
@given(c=contacts, v=velocities)
def test_projection_by_its_definition(c, v) -> None:
    # γ is in the cone, g = v_c − v̂ + R γ in its dual, and they are orthogonal: the conditions of
    # optimality of the projection, which hold to round-off.
    g = ONE.use(c).impulse(v)
    slack = v - [0.0, 0.0, c.target] + c.r * g
    scale = np.linalg.norm((v - [0.0, 0.0, c.target]) / np.sqrt(c.r))
    # The squares of slower slips underflow, so that they have no direction.
    slowest = 1e-150
    assert np.hypot(*g[:2]) <= c.mu * g[2] * (1 + 1e-14) + slowest / c.rt
    size = np.linalg.norm(v) + abs(c.target)
    assert c.mu * np.hypot(*slack[:2]) <= slack[2] + 1e-14 * (1 + c.mu) * size + c.mu * slowest
    assert abs(g @ slack) <= 1e-14 * max(scale**2, 1e-300)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    c=contacts,
    v=velocities,
    dv=velocities,
    alpha=st.floats(0.0, 1.5),
)
def test_along_a_direction(c, v, dv, alpha) -> None:
    one = ONE.use(c)
    at = v + alpha * dv
    cost, first, second = one.along(v, dv, alpha)
    scale = np.sqrt(c.r)
    size = np.linalg.norm((at - [0, 0, c.target]) / scale)
    speed = np.linalg.norm(dv / scale)
    noise = np.linalg.norm((np.abs(v) + np.abs(dv)) / scale) + size
    assert cost == pytest.approx(one.cost(at), rel=1e-10, abs=1e-14 * noise**2)
    impulse, hessian = one.impulse(at), one.hessian(at)
    assert first == pytest.approx(-impulse @ dv, rel=1e-10, abs=1e-13 * noise * (speed + noise))
    if np.min(np.abs(np.array(region_margins(c, at)))) > 1e-9 * (noise + 1):
        assert second == pytest.approx(dv @ hessian @ dv, rel=1e-7, abs=1e-12 * speed**2)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    c=contacts,
    v=velocities,
    size=st.floats(0.0, 1.0),
    angle=st.floats(0, 6.3),
)
def test_directions_are_of_descent_whatever_the_estimates(c, v, size, angle) -> None:
    one = ONE.use(c)
    law = one.case.problem.law
    law.dual1[0], law.dual2[0] = size * np.cos(angle), size * np.sin(angle)
    scale = np.sqrt(c.r)
    found = OneContact.hessian(one, v) * np.outer(scale, scale)
    assert np.linalg.eigvalsh(found)[0] >= -1e-12


def region_margins(c: SapContact, v: np.ndarray) -> tuple[float, float]:
    """Distances to the borders of the regions."""
    s = np.hypot(*v[:2])
    approach = c.target - v[2]
    return (approach + c.mu * s) / np.sqrt(c.rn), (s / c.rt - c.mu * approach / c.rn) * np.sqrt(
        c.rt
    )


@pytest.mark.parametrize("slip", [0.0, 1e-170, 1e-9, 0.3])
def test_without_friction(slip: float) -> None:
    c = SapContact(mu=0.0, target=0.1, rn=1e-3, rt=1e-6)
    one = ONE.use(c)
    v = np.array([slip, 0.0, 0.05])
    np.testing.assert_allclose(one.impulse(v), [0.0, 0.0, 50.0], rtol=1e-13)
    np.testing.assert_allclose(one.hessian(v), np.diag([0.0, 0.0, 1e3]), rtol=1e-13)
    v[2] = 0.2
    np.testing.assert_array_equal(one.impulse(v), 0.0)
    np.testing.assert_array_equal(one.hessian(v), 0.0)


def sap_case(
    seed: int,
    scene: Scene,
    *,
    tolerance: float = 1e-12,
    beta: float = 1.0,
    relaxation: float | None = None,
) -> tuple[Case, np.ndarray]:
    rng = np.random.default_rng(seed)
    case = random_case(rng, scene)
    p = case.problem
    install_law(p, SAP_LAW)
    p.options.criterion = MOMENTUM
    p.options.max_iterations = 500
    p.options.tolerance = tolerance
    p.options.line_search_tolerance = 1e-8
    p.options.largest_search_step = 1.5
    p.options.near_rigid = beta
    p.options.slip_regularization = SLIP_REGULARIZATION
    p.options.relaxation_time = -1.0 if relaxation is None else relaxation
    before = rng.standard_normal(p.graph.nv)
    case.prepare(before, STEP)
    return case, before


@pytest.mark.parametrize("relaxation", [None, 0.0, 0.03])
def test_parameters(relaxation: float | None) -> None:
    scene = Scene(
        sizes=MIXED.sizes,
        spatial=MIXED.spatial,
        touching=MIXED.touching,
        parameters={"stiffness": 3e4},
    )
    case, before = sap_case(3, scene, beta=2.0, relaxation=relaxation)
    case.contacts.relaxation_time[: case.ncontact : 3] = 0.05
    case.prepare(before, STEP)
    expected = sap_contacts(case, STEP, beta=2.0, relaxation=relaxation)
    p = case.problem
    stiff = 0
    for i, c in enumerate(p.graph.contact[: case.ncontact]):
        one = expected[c]
        stiff += one.rn * STEP * 3e4 * STEP > 1.0
        assert p.law.friction[i] == one.mu
        assert p.law.normal_target[i] == pytest.approx(one.target, rel=1e-13)
        assert p.law.normal_gain[i] == pytest.approx(1.0 / one.rn, rel=1e-9)
        assert p.law.tangential_gain[i] == pytest.approx(1.0 / one.rt, rel=1e-9)
    assert 0 < stiff <= case.ncontact


def test_inverse_masses_of_a_real_scene() -> None:
    # Free bodies with decoupled blocks of inertia, arms, links of one tree that touch.
    case = load()
    install_law(case.problem, SAP_LAW)
    case.problem.options.slip_regularization = SLIP_REGULARIZATION
    case.build()
    prepare_contacts(*case.tables[:2], 1e-3, case.ncontact)
    same_tree = 0
    for i, c in enumerate(case.problem.graph.contact[: case.ncontact]):
        a, b = case.contacts.link[c]
        same_tree += a >= 0 and b >= 0 and case.contacts.link_tree[a] == case.contacts.link_tree[b]
        sigma_w = 1.0 / case.problem.law.tangential_gain[i]
        assert sigma_w == pytest.approx(1e-3 * inverse_mass(case, c), rel=1e-9)
    assert same_tree > 0


KINDS = {
    "free bodies": PILE,
    "arms and free bodies": Scene(
        sizes=MIXED.sizes, spatial=MIXED.spatial, touching=MIXED.touching
    ),
    "ill-conditioned": Scene(
        sizes=PILE.sizes,
        spatial=PILE.spatial,
        touching=PILE.touching,
        mass_spread=6.0,
        parameters={"stiffness": 1e12},
    ),
    "without friction": Scene(
        sizes=PILE.sizes,
        spatial=PILE.spatial,
        touching=PILE.touching,
        parameters={"dynamic_friction": 0.0},
    ),
    "many contacts": Scene(
        sizes=[6, 6],
        spatial=[True, True],
        touching=[(-1, 0), (0, 1)],
        contacts_per_pair=12,
    ),
}


def energy_norm(case: Case, v: np.ndarray) -> float:
    return float(np.sqrt(v @ case.dense_matrix() @ v))


def duplicate_contacts(case: Case) -> None:
    """Make every second contact a copy of its neighbour (they have the same bodies)."""
    t = case.contacts
    for name in (
        "frame",
        "arm_a",
        "arm_b",
        "signed_distance",
        "stiffness",
        "dynamic_friction",
        "surface_velocity",
        "link",
    ):
        values = getattr(t, name)
        values[1 : case.ncontact : 2] = values[0 : case.ncontact - 1 : 2]


def optimality_error(case: Case, contacts: list[SapContact], v: np.ndarray) -> float:
    """‖∇ℓ‖ in the norm of A⁻¹, which bounds the distance to the optimum in the norm of A."""
    matrix = case.dense_matrix()
    jacobian, bias = case.dense_contact_jacobian(), contact_bias(case)
    gradient = matrix @ v - case.problem.smooth.rhs
    for i, one in enumerate(contacts):
        gradient -= jacobian[i].T @ one.impulse(jacobian[i] @ v + bias[i])
    return float(np.sqrt(gradient @ np.linalg.solve(matrix, gradient)))


def largest_error(case: Case, v: np.ndarray) -> float:
    """What `optimality_error` may be where a solve ends: of the criterion's norm, in that of A⁻¹.

    ‖g‖ in the norm of A⁻¹ is at most ‖D g‖ over the root of the least eigenvalue of D A D.
    """
    matrix, smooth = case.dense_matrix(), case.problem.smooth
    scale = np.sqrt(smooth.mass_inverse_diagonal)
    momentum = matrix @ v
    impulse = momentum - smooth.rhs
    largest = max(np.linalg.norm(scale * momentum), np.linalg.norm(scale * impulse))
    least = np.linalg.eigvalsh(scale[:, None] * matrix * scale)[0]
    return float(1.01 * case.problem.options.tolerance * largest / np.sqrt(least))


@pytest.mark.parametrize("kind", [*KINDS, "redundant"])
def test_agrees_with_a_cone_program(kind: str) -> None:
    pytest.importorskip("clarabel")
    # In one problem of forty or so the interior-point solver stops short of its tolerance. Its own
    # violation of optimality, which bounds its distance to the optimum, says so there.
    distances = []
    differences = []
    for seed in range(40):
        case, before = sap_case(seed, KINDS.get(kind, PILE))
        if kind == "redundant":
            duplicate_contacts(case)
            case.prepare(before, STEP)
        assert case.solve(before) == CONVERGED
        v = case.solution.copy()
        contacts = sap_contacts(case, STEP)
        expected, sigma = solve_socp(case, contacts)
        size = energy_norm(case, expected)
        own = optimality_error(case, contacts, v)
        assert own <= largest_error(case, v)
        distances.append(energy_norm(case, v - expected) / size)
        assert distances[-1] <= (optimality_error(case, contacts, expected) + own) / size
        # Its σ are our impulses.
        jacobian, bias = case.dense_contact_jacobian(), contact_bias(case)
        impulse = np.array(
            [one.impulse(jacobian[i] @ v + bias[i]) for i, one in enumerate(contacts)]
        )
        scale = np.array([np.sqrt(one.r) for one in contacts])
        difference = np.linalg.norm((impulse - sigma) * scale)
        differences.append(difference / max(np.linalg.norm(impulse * scale), 1e-300))
    assert np.quantile(distances, 0.9) <= 1e-6
    assert np.quantile(differences, 0.9) <= 1e-5


def test_without_contact_nothing_changes() -> None:
    case, before = sap_case(0, Scene(sizes=[6, 3], spatial=[True, False]))
    assert case.solve(before) == CONVERGED
    expected = np.linalg.solve(case.dense_matrix(), case.problem.smooth.rhs)
    np.testing.assert_allclose(case.solution, expected, rtol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_optimality(kind: str) -> None:
    for seed in range(5):
        case, before = sap_case(seed, KINDS[kind])
        assert case.solve(before) == CONVERGED
        v = case.solution.copy()
        case.evaluate(v)
        p = case.problem
        jacobian = case.dense_contact_jacobian()
        scale = np.sqrt(p.smooth.mass_diagonal)
        impulses = np.zeros(p.graph.nv)
        for i, c in enumerate(p.graph.contact[: case.ncontact]):
            g = np.array([p.iterate.g1[i], p.iterate.g2[i], p.iterate.gn[i]])
            impulses += jacobian[c].T @ g
            vc = np.array([p.iterate.v1[i], p.iterate.v2[i], p.iterate.vn[i]])
            r = 1.0 / np.array([p.law.tangential_gain[i]] * 2 + [p.law.normal_gain[i]])
            target = np.array([0.0, 0.0, p.law.normal_target[i]])
            slack = vc - target + r * g
            # Complementarity, to the round-off of its own terms.
            size = np.abs(g) @ (np.abs(vc) + np.abs(target) + r * np.abs(g))
            assert abs(g @ slack) <= 1e-14 * size
            assert np.hypot(*g[:2]) <= p.law.friction[i] * g[2] * (1 + 1e-14)
            room = np.linalg.norm(vc) + abs(p.law.normal_target[i])
            assert p.law.friction[i] * np.hypot(*slack[:2]) <= slack[2] + 1e-14 * room
        momentum = case.dense_matrix() @ v
        residual = np.linalg.norm((momentum - p.smooth.rhs - impulses) / scale)
        largest = max(np.linalg.norm(momentum / scale), np.linalg.norm(impulses / scale))
        assert residual <= 1e-10 * largest


@pytest.mark.parametrize("search", ["exact", "armijo"])
@pytest.mark.parametrize("kind", KINDS)
def test_converges_from_anywhere_and_always_downhill(kind: str, search: str) -> None:
    case, before = sap_case(1, KINDS[kind], tolerance=1e-10)
    p = case.problem
    if search == "armijo":
        p.options.line_search_method = ARMIJO
        p.options.largest_search_step = 1.25
    assert case.solve(before) == CONVERGED
    solution = case.solution.copy()
    best = case.evaluate(solution)
    rng = np.random.default_rng(0)
    for _ in range(100):
        guess = 10.0 ** rng.uniform(-3, 3) * rng.standard_normal(p.graph.nv)
        assert case.solve(guess) == CONVERGED
        assert energy_norm(case, case.solution - solution) <= 1e-6 * energy_norm(case, solution)
    guess = 3.0 * rng.standard_normal(p.graph.nv)
    costs = [case.evaluate(guess)]
    for limit in range(1, 200):
        p.options.max_iterations = limit
        status = case.solve(guess)
        costs.append(case.evaluate(case.solution.copy()))
        if status == CONVERGED:
            break
    assert status == CONVERGED
    drop = -np.diff(costs)
    assert np.all(drop > -1e-12 * (abs(costs[0]) + abs(best)))
    assert np.all(drop[:2] > 0.0)


def test_momentum_criterion() -> None:
    case, before = sap_case(2, PILE, tolerance=1e-4)
    assert case.solve(before) == CONVERGED
    case.evaluate(case.solution.copy())
    p = case.problem
    scale = 1.0 / np.sqrt(p.smooth.mass_diagonal)
    gradient = case.dense_gradient(case.solution)
    momentum = case.dense_matrix() @ case.solution
    impulse = momentum - p.smooth.rhs - gradient
    for k in range(p.graph.islands):
        dofs = np.concatenate(
            [
                np.arange(p.graph.nv)[case.dofs(t)]
                for t in p.graph.island_tree[p.graph.island_start[k] : p.graph.island_start[k + 1]]
            ]
        )
        largest = max(
            np.linalg.norm((scale * momentum)[dofs]), np.linalg.norm((scale * impulse)[dofs])
        )
        assert np.linalg.norm((scale * gradient)[dofs]) <= 1e-4 * largest
    # One iteration less does not meet it.
    iterations = p.counts.iterations
    p.options.max_iterations = iterations - 1
    assert p.graph.islands > 1 or case.solve(before) != CONVERGED
