"""The examples of derivatives run, and do what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

_FOLDER = Path(__file__).parents[2] / "examples" / "derivatives"


def _example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, _FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_regulators_balance() -> None:
    example = _example("balance_with_lqr")
    assert example.balance_ball() < 1e-3
    without, regulated = example.stand()
    assert regulated < 0.5 * without


@pytest.mark.slow
def test_friction_and_mass_are_identified_to_one_percent() -> None:
    example = _example("identify_box")
    values, deviation, _ = example.main(("derivatives",))["derivatives"]
    np.testing.assert_allclose(values, example.TRUTH, rtol=0.01)
    # The confidence intervals mean something: they are narrow, and hold the truth (at 99.7 %).
    assert np.all(deviation < 0.005 * example.TRUTH)
    assert np.all(np.abs(values - example.TRUTH) < 3.0 * deviation)


@pytest.mark.slow
def test_a_box_is_pushed_to_its_goal() -> None:
    error, misses = _example("push_box").main()
    # Smoothing has a bias, which the last optimisation does without.
    smoothed, plain = misses[0]
    assert np.linalg.norm(smoothed[:2]) < np.linalg.norm(plain[:2])
    assert np.linalg.norm(error[:2]) < 2e-3
    assert abs(error[2]) < 0.02
