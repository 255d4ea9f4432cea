"""The lagged contact potential: derivatives, convexity, and its limit for small steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np
import pytest
from convex_reference import LaggedContact
from hypothesis import given, settings
from hypothesis import strategies as st
from one_contact import DEFAULTS, STEP, OneContact, slope

from asperity.contact.laws import STRIBECK_WIDTH, friction_coefficient
from asperity.convex.potentials.contact_driver import begin_estimates, update_estimates
from asperity.convex.potentials.lagged import LAGGED_LAW, prepare_lagged


class Contact(OneContact):
    """One contact with the formulas of its law beside it."""

    def prepare(
        self, before: np.ndarray, step: float = STEP, shift: float = 0.0, **given: float
    ) -> Self:
        self.give(before, given)
        p = self.case.problem
        prepare_lagged(p.graph, p.law, p.iterate, self.case.contacts, step, 1, shift)
        self.reference = LaggedContact(self.case, 0, np.asarray(before, float), step)
        return self

    def curvature(
        self, v: np.ndarray, direction: np.ndarray | None = None, final_speed: float | None = None
    ) -> np.ndarray:
        """The Hessian, or what the estimates make of it."""
        if direction is None:
            direction = self.direction(v, np.zeros(3))
        p = self.case.problem
        p.law.dual1[0], p.law.dual2[0] = direction
        p.law.dual_n[0] = max(p.law.cutoff[0] - v[2], 0.0) if final_speed is None else final_speed
        self.cost(v)
        return np.array(
            [
                [p.iterate.h11[0], p.iterate.h12[0], 0.0],
                [p.iterate.h12[0], p.iterate.h22[0], 0.0],
                [0.0, 0.0, p.iterate.hnn[0]],
            ]
        )

    def direction(self, v: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The direction of friction after a step to v."""
        p = self.case.problem
        self.set_velocity(v)
        self.set_velocity(step, "dv")
        update_estimates(p, 0, 1, 1.0)
        return np.array([p.law.dual1[0], p.law.dual2[0]])


@pytest.fixture(scope="module")
def contact() -> Iterator[Contact]:
    return Contact(LAGGED_LAW)


# Cutoff of the defaults: min(f_e0/(δt k), 1/d) = min(0.1, 0.5) m/s.
REGIONS = {
    "deep stiction": ({}, [1e-5, -2e-5, 0.01]),
    "stiction": ({}, [6e-4, 3e-4, -0.02]),
    "at rest": ({}, [0.0, 0.0, 0.0]),
    "slip": ({}, [0.3, -0.2, 0.03]),
    "fast approach": ({}, [0.01, 0.5, -3.0]),
    "separating, the spring runs out": ({}, [0.1, 0.2, 0.15]),
    "separating, the damper lets go": ({"dissipation": 20.0}, [0.1, 0.2, 0.07]),
    "below the damper's cutoff": ({"dissipation": 20.0}, [0.1, 0.2, 0.03]),
    "speculative, stays apart": ({"signed_distance": 1e-3}, [0.1, 0.0, -0.05]),
    "speculative, closes": ({"signed_distance": 1e-3}, [0.1, 0.0, -0.3]),
    "without dissipation": ({"dissipation": 0.0}, [1e-3, 2e-3, 0.05]),
    "without dissipation, apart": ({"dissipation": 0.0}, [1e-3, 2e-3, 0.2]),
    "without friction": ({"static_friction": 0.0, "dynamic_friction": 0.0}, [0.1, 0.2, 0.01]),
    "static and dynamic friction": ({"dynamic_friction": 0.4}, [5e-3, 2e-3, 0.01]),
    "touching": ({"signed_distance": 0.0}, [1e-3, 0.0, -0.1]),
    "without stiffness": ({"stiffness": 0.0}, [1e-3, 0.0, -0.1]),
}


@pytest.mark.parametrize("name", REGIONS)
def test_derivatives(contact: Contact, name: str) -> None:
    given, v = REGIONS[name]
    v = np.array(v)
    contact.prepare(np.array([0.02, -0.01, -0.1]), **given)
    epsilon = contact.reference.epsilon
    tangential = 1e-2 * np.hypot(epsilon, np.hypot(*v[:2]))
    # Stay on one side of the kink, where the normal law is a polynomial.
    normal = 0.2 * abs(v[2] - contact.reference.cutoff)
    assert normal > 0
    impulse = contact.impulse(v)
    curvature = contact.curvature(v)
    # The impulse's scale, and the curvature's from it.
    scale = np.array([*2 * [contact.reference.friction], abs(impulse[2]) + 1e-12])
    for j, h in enumerate((tangential, tangential, normal)):
        axis = np.eye(3)[j]
        gradient = slope(lambda x, a=axis: contact.cost(v + x * a), h)
        np.testing.assert_allclose(-gradient, impulse[j], atol=2e-8 * scale[j] + 1e-14)
        column = -slope(lambda x, a=axis: contact.impulse(v + x * a), h)
        np.testing.assert_allclose(column, curvature[j], atol=2e-8 * np.max(scale) / h + 1e-13)


@pytest.mark.parametrize("name", REGIONS)
def test_formulas(contact: Contact, name: str) -> None:
    given, v = REGIONS[name]
    v = np.array(v)
    contact.prepare(np.array([0.02, -0.01, -0.1]), **given)
    reference = contact.reference
    scale = np.abs(reference.impulse(v)).max()
    assert contact.cost(v) == pytest.approx(reference.cost(v), rel=1e-12, abs=1e-16)
    np.testing.assert_allclose(
        contact.impulse(v), reference.impulse(v), rtol=1e-13, atol=1e-14 * scale
    )
    np.testing.assert_allclose(contact.curvature(v), reference.curvature(v), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_along_a_direction(contact: Contact, name: str, alpha: float) -> None:
    given, v = REGIONS[name]
    v = np.array(v)
    contact.prepare(np.array([0.02, -0.01, -0.1]), **given)
    size = np.hypot(contact.reference.epsilon, np.hypot(*v[:2]))
    dv = np.array([0.7 * size, -1.1 * size, 0.5 * (contact.reference.cutoff - v[2])])
    at = v + alpha * dv
    cost, first, second = contact.along(v, dv, alpha)
    assert cost == pytest.approx(contact.cost(at), rel=1e-13, abs=1e-18)
    impulse, curvature = contact.impulse(at), contact.curvature(at)
    assert first == pytest.approx(-impulse @ dv, rel=1e-12, abs=1e-13 * abs(impulse) @ abs(dv))
    assert second == pytest.approx(dv @ curvature @ dv, rel=1e-12, abs=1e-18)
    difference = slope(lambda x: contact.along(v, dv, alpha + x)[0], 3e-3)
    assert first == pytest.approx(difference, rel=1e-8, abs=1e-9 * abs(impulse) @ abs(dv) + 1e-15)


def exponents(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda x: 10.0**x)


def speeds(largest: float = 2.0) -> st.SearchStrategy[float]:
    """Speeds of both signs over many decades."""
    return st.one_of(
        st.just(0.0),
        st.tuples(exponents(-9, np.log10(largest)), st.sampled_from([-1.0, 1.0])).map(np.prod),
    ).map(float)


velocities = st.tuples(speeds(), speeds(), speeds()).map(np.array)
materials = st.fixed_dictionaries(
    {
        "signed_distance": st.one_of(
            exponents(-7, -2).map(lambda x: -x), exponents(-7, -2), st.just(0.0)
        ),
        "stiffness": exponents(1, 8),
        "dissipation": st.one_of(st.just(0.0), exponents(-3, 3)),
        "static_friction": st.one_of(st.just(0.0), st.floats(0.01, 2.0)),
        "stiction_tolerance": exponents(-6, -1),
        "inverse_mass": exponents(-3, 3),
    }
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    material=materials,
    share=st.floats(0.0, 1.0),
    step=exponents(-6, -1),
    before=velocities,
    a=velocities,
    b=velocities,
)
def test_convex(material, share, step, before, a, b) -> None:
    contact = SHARED.prepare(
        before,
        step,
        **material,
        dynamic_friction=share * material["static_friction"],
    )
    for v in (a, b):
        curvature = contact.curvature(v)
        assert np.all(np.isfinite(curvature))
        assert curvature[2, 2] >= 0.0
        smallest, largest = np.linalg.eigvalsh(curvature[:2, :2])
        assert smallest >= -1e-15 * largest
        assert contact.impulse(v)[2] >= 0.0
    ends = contact.cost(a), contact.cost(b)
    middle = contact.cost(0.5 * (a + b))
    assert np.isfinite(ends).all()
    assert middle <= 0.5 * sum(ends) + 1e-13 * max(np.abs(ends))
    # The impulse is monotone, which says the same without cancellation.
    difference = contact.impulse(a) - contact.impulse(b)
    size = np.abs(contact.impulse(a)) + np.abs(contact.impulse(b))
    assert difference @ (a - b) <= 1e-14 * size @ np.abs(a - b)


SHARED = Contact(LAGGED_LAW)


@pytest.mark.parametrize("dynamic", [0.8, 0.3])
def test_no_cost_and_no_impulse_without_contact(contact: Contact, dynamic: float) -> None:
    contact.prepare(np.zeros(3), signed_distance=1e-3, dynamic_friction=dynamic)
    v = np.array([0.3, 0.1, 0.05])
    assert contact.cost(v) == 0.0
    np.testing.assert_array_equal(contact.impulse(v), 0.0)
    np.testing.assert_array_equal(contact.curvature(v), 0.0)


@pytest.mark.parametrize("dissipation", [0.0, 2.0, 20.0])
def test_cost_and_impulse_are_continuous_at_the_cutoff(
    contact: Contact, dissipation: float
) -> None:
    contact.prepare(np.array([0.0, 0.0, -0.1]), dissipation=dissipation)
    cutoff = contact.reference.cutoff
    for h in (1e-3, 1e-5, 1e-7):
        inside = np.array([0.0, 0.0, cutoff - h])
        outside = np.array([0.0, 0.0, cutoff + h])
        stiffest = 1.0 + 1e5 * STEP * (STEP + 20.0)
        assert 0.0 <= contact.impulse(inside)[2] <= stiffest * h
        assert 0.0 <= contact.cost(inside) <= stiffest * h * h
        assert contact.impulse(outside)[2] == 0.0
        assert contact.cost(outside) == 0.0


def test_friction_is_isotropic_and_opposes_slip(contact: Contact) -> None:
    contact.prepare(np.array([0.02, -0.01, -0.1]), dynamic_friction=0.5)
    sizes = []
    for angle in np.linspace(0.0, 2 * np.pi, 13):
        v = np.array([0.02 * np.cos(angle), 0.02 * np.sin(angle), 0.0])
        impulse = contact.impulse(v)[:2]
        sizes.append(np.hypot(*impulse))
        np.testing.assert_allclose(impulse / sizes[-1], -v[:2] / 0.02, atol=1e-14)
    np.testing.assert_allclose(sizes, sizes[0], rtol=1e-14)


def continuous_law(v: np.ndarray, **given: float) -> np.ndarray:
    """Force on B: Hunt–Crossley times regularised friction (CENIC, equations 5–8)."""
    m = {**DEFAULTS, **given}
    elastic = m["stiffness"] * max(-m["signed_distance"], 0.0)
    normal = elastic * max(1.0 - m["dissipation"] * v[2], 0.0)
    s = np.hypot(*v[:2]) / m["stiction_tolerance"]

    def f(x: float) -> float:
        return x / np.sqrt(x * x + 1.0)

    sigma = 0.5 * (1.0 - f(s - 10.0) / f(10.0))
    mu = (m["static_friction"] - m["dynamic_friction"]) * sigma + m["dynamic_friction"]
    tangential = (
        -mu * normal * v[:2] / np.sqrt(v[0] ** 2 + v[1] ** 2 + m["stiction_tolerance"] ** 2)
    )
    return np.array([*tangential, normal])


@pytest.mark.parametrize("dynamic", [0.8, 0.3])
@pytest.mark.parametrize(
    "v", [[3e-4, 2e-4, -0.1], [5e-3, -8e-3, 0.2], [0.3, 0.1, 0.4], [0.3, 0.1, 0.7]]
)
def test_small_steps_give_the_continuous_law(contact: Contact, dynamic: float, v: list) -> None:
    before = np.array(v)
    acceleration = np.array([3.0, -2.0, 5.0])
    force = continuous_law(before, dynamic_friction=dynamic)
    errors = []
    for step in (4e-7, 2e-7, 1e-7):
        contact.prepare(before, step, dynamic_friction=dynamic)
        impulse = contact.impulse(before + step * acceleration)
        errors.append(np.abs(impulse / step - force))
    if force[2] == 0.0:  # separating faster than 1/d
        np.testing.assert_array_equal(errors, 0.0)
        return
    errors = np.array(errors)
    assert np.all(errors[-1] < 1e-2 * np.abs(force))
    np.testing.assert_allclose(errors[:-1] / errors[1:], 2.0, rtol=0.02)


def test_small_steps_give_the_continuous_law_exactly_at_the_same_slip(contact: Contact) -> None:
    before = np.array([5e-3, -8e-3, 0.2])
    force = continuous_law(before, dynamic_friction=0.3)
    contact.prepare(before, 1e-6, dynamic_friction=0.3)
    np.testing.assert_allclose(contact.impulse(before)[:2] / 1e-6, force[:2], rtol=1e-13)


def test_elastic_shift_turns_the_distance_at_the_end_into_that_at_the_beginning(
    contact: Contact,
) -> None:
    # If φ belongs to the end of the step, φ − δt v_n is that of its beginning.
    v = np.array([0.01, 0.02, -0.05])
    contact.prepare(v, shift=STEP, signed_distance=-1e-3)
    normal = contact.impulse(v)[2]
    assert normal == pytest.approx(STEP * 1e5 * 1e-3 * (1.0 + 2.0 * 0.05), rel=1e-13)
    assert contact.case.problem.law.friction_limit[0] == pytest.approx(0.8 * normal, rel=1e-13)


def test_friction_coefficient_at_its_marks() -> None:
    static, dynamic, tolerance = 0.9, 0.3, 1e-4
    at_rest = friction_coefficient(static, dynamic, 0.0, tolerance)
    assert at_rest == pytest.approx(static, rel=1e-14)
    half = friction_coefficient(static, dynamic, STRIBECK_WIDTH * tolerance, tolerance)
    assert half == pytest.approx(0.5 * (static + dynamic), rel=1e-14)
    sliding = friction_coefficient(static, dynamic, 1e3, tolerance)
    width = STRIBECK_WIDTH
    below = 0.5 * (np.sqrt(1.0 + 1.0 / width**2) - 1.0)
    assert sliding == pytest.approx(dynamic - below * (static - dynamic), rel=1e-12)
    assert abs(sliding - dynamic) <= 0.0025 * (static - dynamic)


def test_friction_coefficient_is_never_negative() -> None:
    # The sliding coefficient ends a little below μ_d; without dynamic friction that is nothing.
    for slip in (0.0, 1e-4, 1e-3, 2e-3, 1.0, 1e3):
        assert friction_coefficient(0.8, 0.0, slip, 1e-4) >= 0.0
        assert friction_coefficient(0.8, 1e-3, slip, 1e-4) >= 0.0


def test_friction_coefficient_falls_with_slip() -> None:
    slips = np.concatenate([[0.0], np.logspace(-7, 1, 200)])
    values = np.array([friction_coefficient(1.0, 0.4, s, 1e-4) for s in slips])
    assert np.all(np.diff(values) <= 1e-15)
    assert friction_coefficient(0.7, 0.7, 0.123, 1e-4) == 0.7


velocities = st.tuples(*(3 * [st.floats(-1.0, 1.0)])).map(np.array)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(v=velocities, angle=st.floats(0.0, 6.3), size=st.floats(0.0, 1.0))
def test_any_direction_of_friction_gives_descent(
    contact: Contact, v: np.ndarray, angle: float, size: float
) -> None:
    contact.prepare(np.zeros(3))
    direction = size * np.array([np.cos(angle), np.sin(angle)])
    block = contact.curvature(v, direction)[:2, :2]
    f = contact.reference.friction / np.hypot(contact.reference.epsilon, np.hypot(*v[:2]))
    eigenvalues = np.linalg.eigvalsh(block)
    # f (1 − ½ (w tᵀ + t wᵀ)) with ‖t‖ < 1 and ‖w‖ ≤ 1.
    cosine = np.hypot(*v[:2]) / np.hypot(contact.reference.epsilon, np.hypot(*v[:2]))
    assert eigenvalues[0] >= f * (1.0 - size * cosine) - 1e-12 * f
    assert eigenvalues[1] <= f * (1.0 + size * cosine) + 1e-12 * f


@settings(max_examples=200, derandomize=True, deadline=None)
@given(v=velocities, step=velocities)
def test_direction_of_friction_follows_a_step(
    contact: Contact, v: np.ndarray, step: np.ndarray
) -> None:
    contact.prepare(np.zeros(3))
    p = contact.case.problem
    epsilon = contact.reference.epsilon
    before = v[:2] - step[:2]
    eta = np.hypot(epsilon, np.hypot(*before))
    p.law.dual1[0], p.law.dual2[0] = w = np.array([0.3, -0.5])
    after = contact.direction(v, step)
    # w η = v linearised at the beginning of the step, and shortened to the unit disc.
    linear = (v[:2] - w * (before @ step[:2]) / eta) / eta
    np.testing.assert_allclose(after, linear / max(np.hypot(*linear), 1.0), rtol=1e-9, atol=1e-12)
    # Without a step it is the direction of friction itself.
    at_rest = contact.direction(v, np.zeros(3))
    np.testing.assert_allclose(
        at_rest, v[:2] / np.hypot(epsilon, np.hypot(*v[:2])), rtol=1e-12, atol=1e-300
    )


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    v=velocities, final=st.floats(0.0, 2.0), dissipation=st.one_of(st.just(0.0), exponents(-2, 2))
)
def test_curvature_along_the_normal_is_a_secant(
    contact: Contact, v: np.ndarray, final: float, dissipation: float
) -> None:
    contact.prepare(np.zeros(3), dissipation=dissipation)
    cutoff = contact.case.problem.law.cutoff[0]
    here = contact.impulse(v)[2]
    there = contact.impulse(np.array([v[0], v[1], cutoff - final]))[2]
    curvature = contact.curvature(v, final_speed=final)[2, 2]
    if v[2] < cutoff:
        change = cutoff - v[2] - final
        scale = 1e-12 * (here + there)
        assert curvature * change == pytest.approx(here - there, rel=1e-9, abs=scale)
        assert curvature > 0.0
    else:
        assert here == curvature == 0.0


@settings(max_examples=200, derandomize=True, deadline=None)
@given(v=velocities, change=st.floats(-1.0, 1.0), estimate=st.floats(0.0, 2.0))
def test_estimate_of_the_normal_follows_a_step(
    contact: Contact, v: np.ndarray, change: float, estimate: float
) -> None:
    contact.prepare(np.zeros(3))
    p = contact.case.problem
    curvature = contact.curvature(v, final_speed=estimate)[2, 2]
    asked = max(p.iterate.gn[0] - curvature * change, 0.0)
    # Half of the step is taken; the momentum balance that was asked for is that of the whole.
    contact.direction(v + np.array([0.0, 0.0, 0.5 * change]), np.array([0.0, 0.0, change]))
    found = contact.impulse(np.array([0.0, 0.0, p.law.cutoff[0] - p.law.dual_n[0]]))[2]
    assert p.law.dual_n[0] >= 0.0
    assert found == pytest.approx(asked, rel=1e-9, abs=1e-12)


def test_slip_that_friction_can_stop_is_taken_to_stop(contact: Contact) -> None:
    # μ n_0 w with n_0 = δt k |φ_0|, for a contact at rest along its normal.
    limit = DEFAULTS["static_friction"] * STEP * 1e5 * 1e-3 * DEFAULTS["inverse_mass"]
    for slip, stops in ((0.99 * limit, True), (1.01 * limit, False)):
        contact.prepare(np.zeros(3))
        contact.impulse(np.array([slip, 0.0, 0.0]))
        begin_estimates(contact.case.problem, 0, 1)
        assert (contact.case.problem.law.dual1[0] == 0.0) == stops
