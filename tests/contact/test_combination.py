"""Combination of two geoms' contact parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asperity.contact.combination import (
    DISSIPATION,
    DYNAMIC_FRICTION,
    PARAMETERS,
    RELAXATION_TIME,
    STATIC_FRICTION,
    STICTION_TOLERANCE,
    STIFFNESS,
    UNSET,
    combine,
    find_pair,
)

DEFAULT = np.array([1e5, 10.0, UNSET, UNSET, 1e-4, UNSET])
MODEL_FRICTION = 0.6
NO_KEYS = np.zeros(0, np.int64)
NO_PAIRS = np.zeros((0, PARAMETERS))
NAMES = {
    "stiffness": STIFFNESS,
    "dissipation": DISSIPATION,
    "static": STATIC_FRICTION,
    "dynamic": DYNAMIC_FRICTION,
    "tolerance": STICTION_TOLERANCE,
    "relaxation": RELAXATION_TIME,
}


def row(**values: float) -> np.ndarray:
    out = np.full(PARAMETERS, UNSET)
    for name, value in values.items():
        out[NAMES[name]] = value
    return out


def combined(
    a: np.ndarray,
    b: np.ndarray,
    default: np.ndarray = DEFAULT,
    pair: np.ndarray | None = None,
    order: tuple[int, int] = (0, 1),
) -> tuple[np.ndarray, float]:
    own = np.array([a, b])
    pairs = NO_PAIRS if pair is None else pair[None]
    keys = NO_KEYS if pair is None else np.array([1], np.int64)
    out = np.full(PARAMETERS, np.nan)
    share = combine(own, pairs, keys, default, *order, MODEL_FRICTION, out)
    return out, share


def test_default_stands_as_it_is() -> None:
    found, share = combined(row(), row())
    np.testing.assert_array_equal(found, [1e5, 10.0, MODEL_FRICTION, MODEL_FRICTION, 1e-4, UNSET])
    assert share == 0.5


def test_given_default_friction_replaces_that_of_the_model() -> None:
    default = row(
        stiffness=1.0, dissipation=0.0, static=0.9, dynamic=0.4, tolerance=1e-3, relaxation=0.02
    )
    found, _ = combined(row(), row(), default)
    np.testing.assert_array_equal(found, default)


def test_one_own_value_stands_alone() -> None:
    own = row(
        stiffness=2e4, dissipation=3.0, static=0.8, dynamic=0.5, tolerance=1e-3, relaxation=0.0
    )
    for order in ((0, 1), (1, 0)):
        found, share = combined(own, row(), order=order)
        np.testing.assert_array_equal(found, own)
        # The other side is rigid: the compliance is all in the one with a stiffness.
        assert share == (1.0 if order[0] == 0 else 0.0)


def test_stiffness_in_series() -> None:
    found, share = combined(row(stiffness=2e4), row(stiffness=3e4))
    assert found[STIFFNESS] == pytest.approx(1.2e4, rel=1e-15)
    # The deformation x_A = f/k_A is that share of x = f/k.
    assert share == pytest.approx(1.2e4 / 2e4, rel=1e-15)


def test_the_softer_side_dominates_dissipation() -> None:
    a = row(stiffness=1e3, dissipation=4.0)
    b = row(stiffness=9e3, dissipation=14.0)
    found, _ = combined(a, b)
    assert found[DISSIPATION] == pytest.approx(0.9 * 4.0 + 0.1 * 14.0, rel=1e-15)
    # With one stiffness only, that side deforms and dissipates.
    assert combined(a, row(dissipation=14.0))[0][DISSIPATION] == 4.0
    assert combined(row(dissipation=14.0), a)[0][DISSIPATION] == 4.0
    # Without any, both sides count alike.
    assert combined(row(dissipation=4.0), row(dissipation=14.0))[0][DISSIPATION] == 9.0


def test_friction_is_the_harmonic_mean() -> None:
    found, _ = combined(row(static=0.4, dynamic=0.3), row(static=1.2, dynamic=0.6))
    assert found[STATIC_FRICTION] == pytest.approx(0.6, rel=1e-15)
    assert found[DYNAMIC_FRICTION] == pytest.approx(0.4, rel=1e-15)
    assert combined(row(static=0.0), row(static=1.2))[0][STATIC_FRICTION] == 0.0
    assert combined(row(static=0.0), row(static=0.0))[0][STATIC_FRICTION] == 0.0


def test_dynamic_friction_never_exceeds_static_friction() -> None:
    found, _ = combined(row(dynamic=0.9), row())
    assert found[STATIC_FRICTION] == found[DYNAMIC_FRICTION] == MODEL_FRICTION
    found, _ = combined(row(static=0.2), row(dynamic=0.9))
    assert found[STATIC_FRICTION] == found[DYNAMIC_FRICTION] == 0.2


def test_the_larger_stiction_tolerance() -> None:
    found, _ = combined(row(tolerance=1e-3), row(tolerance=1e-5))
    assert found[STICTION_TOLERANCE] == 1e-3
    # Own values win over the default even where they are smaller.
    assert combined(row(tolerance=1e-6), row())[0][STICTION_TOLERANCE] == 1e-6


def test_relaxation_times_add_up() -> None:
    found, _ = combined(row(relaxation=0.02), row(relaxation=0.003))
    assert found[RELAXATION_TIME] == pytest.approx(0.023, rel=1e-15)
    assert combined(row(relaxation=0.0), row())[0][RELAXATION_TIME] == 0.0


def test_a_pair_wins_over_everything() -> None:
    a = row(stiffness=2e4, dissipation=3.0, static=0.8, dynamic=0.5, tolerance=1e-3)
    pair = row(
        stiffness=7.0, dissipation=0.0, static=0.3, dynamic=0.1, tolerance=1e-6, relaxation=0.0
    )
    for order in ((0, 1), (1, 0)):
        np.testing.assert_array_equal(combined(a, a, pair=pair, order=order)[0], pair)


@pytest.mark.parametrize("name", NAMES)
def test_a_pair_leaves_open_what_it_does_not_say(name: str) -> None:
    a = row(stiffness=2e4, dissipation=3.0, static=0.8, dynamic=0.5, tolerance=1e-3)
    without, _ = combined(a, a)
    found, _ = combined(a, a, pair=row(**{name: 0.2}))
    expected = without.copy()
    expected[NAMES[name]] = 0.2
    if name == "static":
        # A pair's static friction without a dynamic one is both.
        expected[DYNAMIC_FRICTION] = 0.2
    np.testing.assert_array_equal(found, expected)


def test_other_pairs_do_not_matter() -> None:
    own = np.array([row()] * 4)
    keys = np.array([0 * 4 + 1, 1 * 4 + 3, 2 * 4 + 3], np.int64)
    pairs = np.array([row(static=0.1), row(static=0.2), row(static=0.3)])
    expected = {(0, 1): 0.1, (1, 3): 0.2, (2, 3): 0.3, (0, 2): 0.6, (1, 2): 0.6, (0, 3): 0.6}
    for (a, b), friction in expected.items():
        for order in ((a, b), (b, a)):
            out = np.zeros(PARAMETERS)
            combine(own, pairs, keys, DEFAULT, *order, MODEL_FRICTION, out)
            assert out[STATIC_FRICTION] == friction


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8])
def test_find_pair(size: int) -> None:
    keys = 3 * np.arange(size, dtype=np.int64) + 1
    for key in range(-1, 3 * size + 3):
        found = find_pair(keys, key)
        assert found == (list(keys).index(key) if key in keys else -1)


maybe = st.one_of(st.just(UNSET), st.floats(-3, 3).map(lambda x: 10.0**x))
rows = st.builds(
    row,
    stiffness=maybe,
    dissipation=maybe,
    static=maybe,
    dynamic=maybe,
    tolerance=maybe,
    relaxation=maybe,
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(a=rows, b=rows, pair=st.one_of(st.none(), rows))
def test_rules(a: np.ndarray, b: np.ndarray, pair: np.ndarray | None) -> None:
    found, share = combined(a, b, pair=pair)
    swapped, other_share = combined(a, b, pair=pair, order=(1, 0))
    np.testing.assert_allclose(found, swapped, rtol=1e-9)
    assert share + other_share == pytest.approx(1.0)
    assert 0.0 <= share <= 1.0
    # Only a relaxation time may stay open.
    assert np.all(np.delete(found, RELAXATION_TIME) >= 0.0)
    assert found[DYNAMIC_FRICTION] <= found[STATIC_FRICTION]
    if pair is not None:
        return
    for column in range(PARAMETERS):
        given = [x[column] for x in (a, b) if x[column] != UNSET]
        if not given or column == DYNAMIC_FRICTION:
            continue
        if column == RELAXATION_TIME:
            assert found[column] == pytest.approx(sum(given))
            continue
        if column == STIFFNESS and len(given) == 2:
            assert 0.5 * min(given) <= found[column] * (1 + 1e-9)
            assert found[column] < min(given)
        else:
            assert min(given) <= found[column] * (1 + 1e-9)
            assert found[column] <= max(given) * (1 + 1e-9)
        if math.isclose(min(given), max(given)) and column != STIFFNESS:
            assert found[column] == pytest.approx(given[0])
