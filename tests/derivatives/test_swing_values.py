"""What derivatives take for the correction of swings is what the step has added."""

from __future__ import annotations

from typing import Any

import derivative_models as models
import numpy as np
import pytest

import asperity as asp
from asperity.derivatives import doubled_step
from asperity.integrators.methods.extrapolation import Extrapolation, Swings


def test_corrections_of_swings_have_the_values_of_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where springs that a step hardly resolves are opposed by dampers."""
    kernel: list[tuple[np.ndarray, np.ndarray]] = []
    compared: list[bool] = []
    find, add = Extrapolation.swings, doubled_step.added_to_swings

    def swings(self: Extrapolation, world: Any, step: float) -> Swings | None:
        assert self._table is not None
        kernel.append((self._table.faster.copy(), self._table.moved.copy()))
        return find(self, world, step)

    def added(points: Any, full: Any, found: Swings, masses: Any) -> Any:
        result = add(points, full, found, masses)
        for (value, _), expected in zip(result, kernel[-1], strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-12)
        compared.append(bool(np.any(found.springs > 0.0) and np.any(kernel[-1][1])))
        return result

    monkeypatch.setattr(Extrapolation, "swings", swings)
    monkeypatch.setattr(doubled_step, "added_to_swings", added)
    model = models.load("opposed springs")
    for data in models.states(model, 3, seed=11):
        asp.derivatives.linearize(model, data, integrator=asp.Cenic(), step=0.05)
    assert sum(compared) >= 2
