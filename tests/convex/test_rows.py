"""The potentials of scalar constraints: derivatives, kinks, effort limits and physics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from convex_problems import Case, empty_case
from convex_reference import Row
from hypothesis import given, settings
from hypothesis import strategies as st

from asperity.contact.constraint_laws import (
    DRIFT_SPEED,
    EQUALITY_RECOVERY,
    LIMIT_RECOVERY,
    NEAR_RIGID_PERIOD,
)
from asperity.contact.constraint_set import ACTUATOR, EQUALITY, FRICTION, LIMIT, NO_LIMIT
from asperity.convex.potentials.rows import (
    along_rows,
    evaluate_rows,
    prepare_rows,
    row_cost_along,
)

STEP = 0.01
UNLIMITED = 1e300


class OneRow:
    """One row whose velocity is set directly."""

    def __init__(self) -> None:
        self.case: Case = empty_case([1], [False], contacts=1, links=1, chain=1, rows=1, entries=1)
        self.case.rows.count = self.case.rows.entry_count = 1
        self.case.rows.tree[0] = 0, -1
        self.case.rows.start[0] = 0, 1, 1
        assert self.case.build() >= 0

    def prepare(self, kind: int, before: float = 0.0, step: float = STEP, **given: float):
        values = {
            "position": 0.0,
            "force": 0.0,
            "proportional": 0.0,
            "derivative": 0.0,
            "lower": math.inf if kind == LIMIT else -UNLIMITED,
            "upper": NO_LIMIT if kind == LIMIT else UNLIMITED,
            "inverse_mass": 1.0,
        }
        for name, value in {**values, **given}.items():
            getattr(self.case.rows, name)[0] = value
        self.case.rows.kind[0] = kind
        self.case.problem.iterate.row_u[0] = before
        prepare_rows(self.case.problem, self.case.rows, step, step, step, DRIFT_SPEED, 1, False)
        self.reference = Row(self.case, 0, before, step)
        return self

    def cost(self, u: float) -> float:
        self.case.problem.iterate.row_u[0] = u
        return float(evaluate_rows(self.case.problem.law, self.case.problem.iterate, 0, 1))

    def impulse(self, u: float) -> float:
        self.cost(u)
        return float(self.case.problem.iterate.row_impulse[0])

    def curvature(self, u: float) -> float:
        self.cost(u)
        return float(self.case.problem.iterate.row_curvature[0])


ROW = OneRow()

# Per row: kind, values, and velocities on all sides of its kinks. Kinks of the actuator with
# c = 0.01·300 + 7 = 10 and limits ∓5 start from force 20 and velocity 1: b = 27, kinks at 2.2, 3.2.
ACTUATOR_VALUES = {"force": 20.0, "proportional": 300.0, "derivative": 7.0}
LAWS = {
    "equality": (EQUALITY, {"position": 2e-3, "inverse_mass": 3.0}, [-1.0, -0.2, 0.0, 4.0]),
    "limit": (LIMIT, {"position": 2e-3, "inverse_mass": 3.0}, [-1.0, -0.25, -0.1, 4.0]),
    # Restored at 2e-2 and 2.0; the pull is at its bound from 2e-2 + 1e-9 and 2.0 + 1e-7.
    "violated limit": (LIMIT, {"position": -2e-3}, [-1.0, -0.05, 0.07, 0.3]),
    "limit violated by much": (LIMIT, {"position": -0.2}, [-1.0, 1.9, 2.1, 30.0]),
    "two limits": (LIMIT, {"position": 2e-3, "upper": 4e-3}, [-1.0, -0.25, 0.0, 0.3, 0.45, 4.0]),
    "violated upper limit": (LIMIT, {"position": 0.5, "upper": -0.2}, [-60.0, -20.0, -1.9, 3.0]),
    # Its own upper limit is nearer than the limit of velocity, its lower one is not.
    "limit of velocity": (
        LIMIT,
        {"position": 0.5, "upper": 2e-3, "lower": 0.4},
        [-3.0, -0.6, -0.2, 0.0, 0.1, 0.3, 2.0],
    ),
    "limit of velocity alone": (
        LIMIT,
        {"position": NO_LIMIT, "upper": NO_LIMIT, "lower": 0.4},
        [-3.0, -0.6, 0.0, 0.6],
    ),
    "equality violated by much": (EQUALITY, {"position": 0.3}, [-40.0, -15.0, 0.0, 4.0]),
    "equality violated by a little more": (EQUALITY, {"position": -1.5e-3}, [-1.0, 0.1, 0.2]),
    "friction": (FRICTION, {"lower": 1e-3, "upper": 6.0}, [-2.0, -1e-3, 0.0, 2e-4, 0.5]),
    "actuator": (ACTUATOR, {**ACTUATOR_VALUES}, [-3.0, 0.0, 2.0]),
    "limited actuator": (
        ACTUATOR,
        {**ACTUATOR_VALUES, "lower": -5.0, "upper": 5.0},
        [-3.0, 2.1, 2.3, 2.7, 3.1, 3.4, 9.0],
    ),
    "actuator limited above": (ACTUATOR, {**ACTUATOR_VALUES, "upper": 5.0}, [1.0, 2.3, 90.0]),
    "actuator limited below": (
        ACTUATOR,
        {**ACTUATOR_VALUES, "lower": -5.0, "upper": math.inf},
        [-9.0, 3.1, 3.4, 90.0],
    ),
    "actuator with infinite limits": (
        ACTUATOR,
        {**ACTUATOR_VALUES, "lower": -math.inf, "upper": math.inf},
        [-9.0, 3.1, 90.0],
    ),
    "pushing actuator": (
        ACTUATOR,
        {**ACTUATOR_VALUES, "lower": 1.0, "upper": 5.0},
        [0.0, 2.4, 2.7],
    ),
    "constant force": (ACTUATOR, {"force": 3.0, "lower": -5.0, "upper": 5.0}, [-1.0, 0.0, 2.0]),
    "constant force beyond its limit": (
        ACTUATOR,
        {"force": 30.0, "lower": -5.0, "upper": 5.0},
        [-1.0, 0.0, 2.0],
    ),
    "negative gain": (
        ACTUATOR,
        {"force": 3.0, "proportional": -10.0, "derivative": -1.0, "upper": 5.0},
        [-1.0, 0.0, 2.0],
    ),
}
POINTS = [(name, u) for name, (_, _, velocities) in LAWS.items() for u in velocities]


def slope(f, h: float) -> float:
    """f'(0) by central differences of fourth order."""
    return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h)


@pytest.mark.parametrize(("name", "u"), POINTS)
def test_derivatives(name: str, u: float) -> None:
    kind, values, _ = LAWS[name]
    row = ROW.prepare(kind, before=1.0, **values)
    h = 2e-3 * math.hypot(u, 1e-3) if kind == FRICTION else 2e-2
    impulse = row.impulse(u)
    cost = abs(row.cost(u))
    derivative = slope(lambda x: row.cost(u + x), h)
    assert -derivative == pytest.approx(impulse, rel=2e-9, abs=1e-14 * cost / h + 1e-12)
    derivative = slope(lambda x: row.impulse(u + x), h)
    assert -derivative == pytest.approx(row.curvature(u), rel=2e-8, abs=1e-13 * abs(impulse) / h)


@pytest.mark.parametrize(("name", "u"), POINTS)
def test_formulas(name: str, u: float) -> None:
    kind, values, velocities = LAWS[name]
    row = ROW.prepare(kind, before=1.0, **values)
    reference = row.reference
    assert row.impulse(u) == pytest.approx(reference.impulse(u), rel=1e-13)
    assert row.curvature(u) == pytest.approx(reference.curvature(u), rel=1e-13)
    # Costs are defined up to a constant.
    other = velocities[0]
    difference = row.cost(u) - row.cost(other)
    scale = abs(row.cost(u)) + abs(row.cost(other))
    expected = reference.cost(u) - reference.cost(other)
    assert difference == pytest.approx(expected, rel=1e-13, abs=1e-14 * scale)


@pytest.mark.parametrize(("name", "u"), POINTS)
@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_along_a_direction(name: str, u: float, alpha: float) -> None:
    kind, values, _ = LAWS[name]
    row = ROW.prepare(kind, before=1.0, **values)
    at = u - alpha * 1.7
    cost, impulse, curvature = row.cost(at), row.impulse(at), row.curvature(at)
    problem = row.case.problem
    problem.iterate.row_u[0], problem.iterate.row_du[0] = u, -1.7
    assert row_cost_along(problem.law, problem.iterate, 0, 1, alpha) == pytest.approx(
        cost, rel=1e-14
    )
    first, second = along_rows(problem.law, problem.iterate, 0, 1, alpha)
    assert first == pytest.approx(1.7 * impulse, rel=1e-14)
    assert second == pytest.approx(1.7**2 * curvature, rel=1e-14)


@pytest.mark.parametrize("lower", [-5.0, -UNLIMITED, 1.0])
@pytest.mark.parametrize("upper", [5.0, math.inf])
def test_cost_is_smooth_across_effort_limits(lower: float, upper: float) -> None:
    row = ROW.prepare(ACTUATOR, before=1.0, **ACTUATOR_VALUES, lower=lower, upper=upper)
    for bound in (lower, upper):
        if abs(bound) >= UNLIMITED:
            continue
        kink = (27.0 - bound) / 10.0
        assert row.impulse(kink) == pytest.approx(STEP * bound, rel=1e-12)
        for h in (1e-3, 1e-6):
            jump = row.cost(kink + h) - row.cost(kink - h)
            # The kink is in the second derivative: the jump is that of a smooth function.
            assert jump == pytest.approx(-2 * h * STEP * bound, abs=0.5 * 10 * STEP * h**2 + 1e-14)


def test_limit_is_smooth_where_it_begins_to_act() -> None:
    row = ROW.prepare(LIMIT, position=2e-3)
    start = -2e-3 / (STEP + NEAR_RIGID_PERIOD * STEP / np.pi)
    assert row.impulse(start + 1e-12) == 0.0
    assert row.cost(start + 1e-12) == 0.0
    stiffness = row.curvature(start - 1e-3)
    for h in (1e-3, 1e-6):
        assert row.impulse(start - h) == pytest.approx(stiffness * h, rel=1e-8)
        assert row.cost(start - h) == pytest.approx(0.5 * stiffness * h**2, rel=1e-7)


finite = st.floats(-100.0, 100.0)
gains = st.one_of(st.just(0.0), st.floats(-6, 5).map(lambda x: 10.0**x))


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    force=finite,
    proportional=gains,
    derivative=gains,
    middle=finite,
    half=st.floats(0.0, 100.0),
    before=finite,
    a=finite,
    b=finite,
    step=st.floats(-6, -1).map(lambda x: 10.0**x),
)
def test_actuator_keeps_its_limits_and_is_convex(
    force, proportional, derivative, middle, half, before, a, b, step
) -> None:
    lower, upper = middle - half, middle + half
    row = ROW.prepare(
        ACTUATOR,
        before,
        step,
        force=force,
        proportional=proportional,
        derivative=derivative,
        lower=lower,
        upper=upper,
    )
    impulses = row.impulse(a), row.impulse(b)
    for impulse in impulses:
        assert step * lower <= impulse <= step * upper
    assert (impulses[0] - impulses[1]) * (a - b) <= 0.0
    assert row.curvature(a) >= 0.0
    ends = row.cost(a), row.cost(b)
    assert row.cost(0.5 * (a + b)) <= 0.5 * sum(ends) + 1e-13 * max(np.abs(ends))


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    kind=st.sampled_from([EQUALITY, LIMIT, FRICTION]),
    position=st.floats(-0.1, 0.1),
    # No friction, or one whose costs keep all their digits: subnormal numbers do not.
    loss=st.just(0.0) | st.floats(1e-200, 100.0),
    tolerance=st.floats(-6, -1).map(lambda x: 10.0**x),
    inverse_mass=st.floats(-3, 3).map(lambda x: 10.0**x),
    a=finite,
    b=finite,
    step=st.floats(-7, -1).map(lambda x: 10.0**x),
)
def test_other_rows_are_convex(kind, position, loss, tolerance, inverse_mass, a, b, step) -> None:
    given = {"position": position, "inverse_mass": inverse_mass}
    if kind == FRICTION:
        given = {"lower": tolerance, "upper": loss}
    row = ROW.prepare(kind, 0.0, step, **given)
    assert row.curvature(a) >= 0.0
    size = abs(row.impulse(a)) + abs(row.impulse(b))
    assert (row.impulse(a) - row.impulse(b)) * (a - b) <= 1e-15 * size * abs(a - b)
    ends = row.cost(a), row.cost(b)
    assert row.cost(0.5 * (a + b)) <= 0.5 * sum(ends) + 1e-13 * max(np.abs(ends))
    if kind == LIMIT and position >= 0.0:
        assert row.impulse(a) >= 0.0
    elif kind == LIMIT:
        # The pull never takes more than twice what it can have given.
        assert row.impulse(a) * inverse_mass >= 2 * position / LIMIT_RECOVERY * (1 + 1e-14)
    if kind == FRICTION:
        assert abs(row.impulse(a)) <= step * loss * (1 + 1e-15)  # a few roundings
        assert row.impulse(a) * a <= 0.0


def test_actuator_is_implicit_feedback() -> None:
    # f at the end of the step: force − k_p (c⁺ − c) − k_d (u⁺ − u), with c⁺ − c = δt u⁺.
    row = ROW.prepare(ACTUATOR, before=0.7, force=3.0, proportional=50.0, derivative=2.0)
    u = 1.3
    expected = 3.0 - 50.0 * STEP * u - 2.0 * (u - 0.7)
    assert row.impulse(u) == pytest.approx(STEP * expected, rel=1e-14)


def test_actuator_without_gain_is_the_limit_of_small_gains() -> None:
    given = {"force": 3.0, "lower": -5.0, "upper": 5.0}
    constant = ROW.prepare(ACTUATOR, **given).impulse(2.0)
    assert constant == pytest.approx(3.0 * STEP)
    row = ROW.prepare(ACTUATOR, **given, derivative=1e-9)
    assert row.impulse(2.0) == pytest.approx(constant, rel=1e-8)


@pytest.mark.parametrize("step", [1e-6, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("kind", [EQUALITY, LIMIT])
def test_near_rigid_rows_recover_from_a_violation(kind: int, step: float) -> None:
    # A unit mass without other forces: A = 1/w, v* = 0. One step takes the violation away at the
    # rate of the recovery, up to the compliance: nearly the whole of an equality's, which is within
    # what a step leaves behind.
    violation = 0.5 * DRIFT_SPEED * step
    row = ROW.prepare(kind, 0.0, step, position=-violation, inverse_mass=0.5)
    stiffness = row.curvature(0.0)
    u = row.impulse(0.0) / (2.0 + stiffness)
    stiff = max(step, 1e-4)
    tau = NEAR_RIGID_PERIOD * stiff / np.pi
    ratio = 4 * np.pi**2 * step * (step + tau) / (NEAR_RIGID_PERIOD * stiff) ** 2
    reach = LIMIT_RECOVERY if kind == LIMIT else step + tau
    assert u * reach == pytest.approx(violation * ratio / (1.0 + ratio), rel=1e-12)
    if step >= 1e-4:
        assert ratio == pytest.approx(4 * np.pi**2 / 0.01 * (1 + 0.1 / np.pi), rel=1e-12)


@pytest.mark.parametrize("step", [1e-3, 1e-2, 4e-2])
def test_a_violated_limit_brakes_what_it_has_pushed(step: float) -> None:
    # A mass of 2 kg, 0.3 m beyond its limit: it comes back like exp(−t/T) and does not overshoot.
    position, velocity, peak = -0.3, 0.0, 0.0
    for _ in range(round(1.0 / step)):
        row = ROW.prepare(LIMIT, velocity, step, position=position, inverse_mass=0.5)
        u = velocity
        for _ in range(6):  # Newton's method, on a piecewise quadratic function
            u -= (2.0 * (u - velocity) - row.impulse(u)) / (2.0 + row.curvature(u))
        velocity = u
        position += step * velocity
        peak = max(peak, velocity)
    assert peak == pytest.approx(0.3 / LIMIT_RECOVERY, rel=3e-2)
    assert position == pytest.approx(-0.3 * math.exp(-1.0 / LIMIT_RECOVERY), abs=5e-4)
    assert abs(velocity) < 5e-3


@pytest.mark.parametrize("step", [1e-6, 1e-3, 1e-2, 0.1])
def test_speeds_at_which_equalities_are_restored(step: float) -> None:
    def speed(violation: float) -> float:
        ROW.prepare(EQUALITY, 0.0, step, position=violation)
        return float(ROW.case.problem.law.row_target[0])

    violations = np.geomspace(1e-9, 10.0, 200)
    speeds = np.array([speed(-c) for c in violations])
    np.testing.assert_array_equal(speeds, [-speed(c) for c in violations])
    at_once = violations / (step + NEAR_RIGID_PERIOD * max(step, 1e-4) / np.pi)
    small = at_once < DRIFT_SPEED
    np.testing.assert_allclose(speeds[small], at_once[small], rtol=1e-13)
    assert np.all(speeds <= np.maximum(DRIFT_SPEED, violations / EQUALITY_RECOVERY) * (1 + 1e-14))
    assert np.all(np.diff(speeds) >= 0.0)


def test_a_load_on_a_limit_does_not_make_it_stick() -> None:
    # Rests under 50 N (100 m/s² on the mass that the row sees), which then turns to 0.05 N outward.
    for step in (1e-3, 1e-2, 4e-2):
        position, velocity = 0.0, 0.0
        for load, duration in ((-50.0, 1.0), (0.05, 5 * step)):
            for _ in range(round(duration / step)):
                row = ROW.prepare(LIMIT, velocity, step, position=position, inverse_mass=0.5)
                u = velocity
                for _ in range(6):
                    momentum = 2.0 * (u - velocity) - step * load - row.impulse(u)
                    u -= momentum / (2.0 + row.curvature(u))
                velocity = u
                position += step * velocity
        assert velocity > 0.0, step


def test_dry_friction_saturates() -> None:
    row = ROW.prepare(FRICTION, lower=1e-3, upper=6.0)
    assert row.impulse(1.0) == pytest.approx(-STEP * 6.0, rel=1e-6)
    assert row.impulse(1e-3) == pytest.approx(-STEP * 6.0 / np.sqrt(2.0), rel=1e-14)
    assert row.impulse(0.0) == 0.0


def prepare_backward(row: OneRow, at_end: float, before: float) -> None:
    """Prepare from an estimate of the end of the step, where the row moves at ``at_end``."""
    problem = row.case.problem
    problem.iterate.row_u[0], problem.iterate.row_du[0] = at_end, before
    prepare_rows(problem, row.case.rows, STEP, STEP, STEP, DRIFT_SPEED, 1, True)


@pytest.mark.parametrize("kind", [EQUALITY, LIMIT])
def test_backward_constraints_start_from_where_the_estimate_came_from(kind: int) -> None:
    at_end, start = -0.3, 1e-3
    forward = ROW.prepare(kind, position=start)
    expected = [forward.impulse(u) for u in (-1.0, -0.2, 0.1)]
    backward = ROW.prepare(kind, position=start + STEP * at_end)
    prepare_backward(backward, at_end, before=0.1)
    found = [backward.impulse(u) for u in (-1.0, -0.2, 0.1)]
    assert found == pytest.approx(expected, rel=1e-12)


def test_backward_actuator_is_feedback_on_the_position_of_the_trapezoid_rule() -> None:
    proportional, derivative = 50.0, 2.0
    start, before, at_end = 0.4, 0.7, 0.9

    def force(position: float, velocity: float) -> float:
        return 3.0 - proportional * position - derivative * velocity

    row = ROW.prepare(
        ACTUATOR,
        force=force(start + STEP * at_end, at_end),
        proportional=proportional,
        derivative=derivative,
    )
    prepare_backward(row, at_end, before)
    for u in (-2.0, 0.0, 1.3):
        expected = force(start + 0.5 * STEP * (u + before), u)
        assert row.impulse(u) == pytest.approx(STEP * expected, rel=1e-12)


def test_equalities_rest_at_one_violation_in_all_steps() -> None:
    """The force of a violation at rest does not depend on the step, of one near-rigid spring."""
    forces = []
    for step in (0.1, 0.05, 0.03, 0.01, 4e-3):
        row = ROW.prepare(EQUALITY, position=1e-4)
        prepare_rows(row.case.problem, row.case.rows, step, step, 2e-3, 0.0, 1, False)
        forces.append(row.impulse(0.0) / step)
    assert forces[0] < 0.0
    np.testing.assert_allclose(forces, forces[0], rtol=1e-12)
