"""The similar contact potential: derivatives, convexity, and its relation to the lagged one."""

from __future__ import annotations

import numpy as np
import pytest
from convex_problems import Scene, random_case
from hypothesis import given, settings
from hypothesis import strategies as st
from one_contact import STEP, OneContact, slope

from asperity.convex.potentials.contact_driver import (
    evaluate_contacts,
    prepare_contacts,
)
from asperity.convex.potentials.lagged import LAGGED_LAW
from asperity.convex.potentials.law_table import install_law
from asperity.convex.potentials.similar import SIMILAR_LAW
from asperity.convex.problem import CONVERGED

SHARED = OneContact(SIMILAR_LAW)
BEFORE = np.array([0.02, -0.01, -0.1])

# Cutoff of the defaults: min(f_e0/(δt k), 1/d) = min(0.1, 0.5) m/s.
REGIONS = {
    "deep stiction": ({}, [1e-5, -2e-5, 0.01]),
    "at rest": ({}, [0.0, 0.0, 0.0]),
    "slip": ({}, [0.3, -0.2, 0.03]),
    "slip keeps a separating contact": ({}, [0.3, -0.2, 0.2]),
    "fast approach": ({}, [0.01, 0.5, -3.0]),
    "separating": ({}, [0.01, 0.02, 0.25]),
    "separating, the damper lets go": ({"dissipation": 20.0}, [1e-3, 2e-3, 0.07]),
    "speculative, closes": ({"signed_distance": 1e-3}, [0.1, 0.0, -0.3]),
    "without dissipation": ({"dissipation": 0.0}, [1e-3, 2e-3, 0.05]),
    "without friction": ({"static_friction": 0.0, "dynamic_friction": 0.0}, [0.1, 0.2, 0.01]),
    "static and dynamic friction": ({"dynamic_friction": 0.4}, [5e-3, 2e-3, 0.01]),
}


@pytest.mark.parametrize("name", REGIONS)
def test_derivatives(name: str) -> None:
    material, v = REGIONS[name]
    v = np.array(v)
    contact = SHARED.prepare(BEFORE, **material)
    p = contact.case.problem
    epsilon = np.sqrt(p.law.soft_slip_square[0])
    z = v[2] - p.law.friction[0] * (np.hypot(epsilon, np.hypot(*v[:2])) - epsilon)
    margin = abs(z - p.law.cutoff[0])
    assert margin > 1e-4
    h = min(1e-2 * np.hypot(epsilon, np.hypot(*v[:2])), 0.1 * margin)
    impulse, hessian = contact.impulse(v), contact.hessian(v)
    scale = np.abs(impulse).max() + 1e-12
    for j in range(3):
        axis = np.eye(3)[j]
        gradient = slope(lambda x, a=axis: contact.cost(v + x * a), h)
        np.testing.assert_allclose(-gradient, impulse[j], atol=3e-8 * scale + 1e-14)
        column = -slope(lambda x, a=axis: contact.impulse(v + x * a), h)
        np.testing.assert_allclose(column, hessian[j], atol=3e-8 * scale / h + 1e-13)


@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_along_a_direction(name: str, alpha: float) -> None:
    material, v = REGIONS[name]
    v = np.array(v)
    contact = SHARED.prepare(BEFORE, **material)
    dv = np.array([0.07, -0.011, -0.05])
    at = v + alpha * dv
    cost, first, second = contact.along(v, dv, alpha)
    assert cost == pytest.approx(contact.cost(at), rel=1e-12, abs=1e-18)
    impulse, hessian = contact.impulse(at), contact.hessian(at)
    assert first == pytest.approx(-impulse @ dv, rel=1e-11, abs=1e-13 * abs(impulse) @ abs(dv))
    assert second == pytest.approx(dv @ hessian @ dv, rel=1e-11, abs=1e-18)


def exponents(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda x: 10.0**x)


velocities = st.tuples(*[st.floats(-2.0, 2.0)] * 3).map(np.array)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    distance=st.floats(-1e-2, 1e-3),
    stiffness=exponents(1, 8),
    dissipation=st.one_of(st.just(0.0), exponents(-3, 3)),
    friction=st.floats(0.0, 2.0),
    tolerance=exponents(-6, -1),
    before=velocities,
    a=velocities,
    b=velocities,
)
def test_convex(distance, stiffness, dissipation, friction, tolerance, before, a, b) -> None:
    contact = SHARED.prepare(
        before,
        signed_distance=distance,
        stiffness=stiffness,
        dissipation=dissipation,
        static_friction=friction,
        dynamic_friction=friction,
        stiction_tolerance=tolerance,
    )
    for v in (a, b):
        hessian = contact.hessian(v)
        eigenvalues = np.linalg.eigvalsh(hessian)
        assert np.all(np.isfinite(eigenvalues))
        assert eigenvalues[0] >= -1e-14 * eigenvalues[-1]
        impulse = contact.impulse(v)
        # Coulomb's law holds at the step's end, whatever the step's beginning.
        assert np.hypot(*impulse[:2]) <= friction * impulse[2] * (1 + 1e-14)
    difference = contact.impulse(a) - contact.impulse(b)
    size = np.abs(contact.impulse(a)) + np.abs(contact.impulse(b))
    assert difference @ (a - b) <= 1e-13 * size @ np.abs(a - b)


def test_is_the_lagged_law_without_slip_and_change() -> None:
    # At the step's own beginning, with no slip to speak of, both normal impulses are the same.
    for v in ([0.0, 0.0, -0.05], [0.0, 0.0, 0.02]):
        v = np.array(v)
        contact = SHARED.prepare(v, dissipation=0.0)
        similar = contact.impulse(v)
        case = contact.case
        install_law(case.problem, LAGGED_LAW)
        prepare_contacts(*case.tables[:2], STEP, 1)
        evaluate_contacts(case.problem, 0, 1)
        assert similar[2] == pytest.approx(case.problem.iterate.gn[0], rel=1e-14)
        install_law(case.problem, SIMILAR_LAW)


@pytest.mark.parametrize("seed", range(5))
def test_solutions_are_optimal(seed: int) -> None:
    scene = Scene(
        sizes=(6, 6, 3, 9),
        spatial=(True, True, False, False),
        touching=((-1, 0), (0, 1), (1, 2), (2, 3), (3, 3)),
        rowed=((0, 2), (2, -1), (3, -1)),
    )
    rng = np.random.default_rng(seed)
    case = random_case(rng, scene)
    install_law(case.problem, SIMILAR_LAW)
    case.problem.options.tolerance = 1e-11
    before = rng.standard_normal(case.problem.graph.nv)
    case.prepare(before, STEP)
    solutions = []
    for size in (0.0, 1.0, 100.0):
        assert case.solve(size * rng.standard_normal(case.problem.graph.nv)) == CONVERGED
        solutions.append(case.solution.copy())
        case.evaluate(solutions[-1])
        gradient = case.dense_gradient(solutions[-1])
        scale = np.sqrt(case.problem.smooth.mass_diagonal)
        rhs = np.linalg.norm(case.problem.smooth.rhs / scale)
        assert np.linalg.norm(gradient / scale) <= 1e-9 * max(1.0, rhs)
        np.testing.assert_allclose(case.assemble(), case.dense_hessian(), rtol=1e-9, atol=1e-9)
    for other in solutions[1:]:
        np.testing.assert_allclose(other, solutions[0], rtol=1e-7, atol=1e-9)
