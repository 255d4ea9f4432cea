"""Options of fixed steps and of error control exclude each other, by name."""

from __future__ import annotations

from typing import Any

import pytest

import asperity as asp

PRESETS = (
    asp.Sap,
    asp.Tamsi,
    asp.ImplicitEuler,
    asp.RungeKutta3,
    asp.Sdirk2,
    asp.Rosenbrock2,
)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", ["max_step", "min_step", "error_norm"])
def test_fixed_steps_refuse_what_belongs_to_error_control(preset: Any, name: str) -> None:
    # What is not the default.
    norm = "position" if preset is asp.RungeKutta3 else "state"
    option: dict[str, Any] = {
        name: {"max_step": 0.05, "min_step": 1e-6, "error_norm": norm}[name],
    }
    with pytest.raises(asp.ArgumentError, match=f"{name} belongs to error control"):
        preset(time_step=1e-3, **option)
    assert getattr(preset(accuracy=1e-3, **option), name) == option[name]


@pytest.mark.parametrize("preset", PRESETS)
def test_one_of_time_step_and_accuracy(preset: Any) -> None:
    with pytest.raises(asp.ArgumentError, match="give one of them"):
        preset(time_step=1e-3, accuracy=1e-3)
    made = preset()
    assert (made.time_step is None) != (made.accuracy is None)
