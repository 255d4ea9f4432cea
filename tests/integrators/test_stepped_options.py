"""Options of fixed steps and of error control exclude each other, by name."""

from __future__ import annotations

from collections.abc import Callable
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


IDLE = (
    (lambda: asp.Sap(accuracy=1e-3, resolve_impacts=True), "resolve_impacts=True is for fixed"),
    (lambda: asp.Sap(theta_scheme="midpoint", resolve_impacts=True), "resolve_impacts=True is for"),
    (lambda: asp.Cenic(friction_bound="lagged", friction_passes=3), "friction_passes has no"),
    (lambda: asp.Cenic(friction_bound="lagged", friction_tolerance=1e-3), "friction_tolerance has"),
    (lambda: asp.Icf(friction_bound="lagged", friction_passes=3), "friction_passes has no effect"),
    (lambda: asp.Icf(friction_bound="similar", friction_tolerance=0.1), "friction_tolerance has"),
    (lambda: asp.Sap(gliding=True, friction_passes=3), "friction_passes has no effect"),
    (lambda: asp.Sap(gliding=True, friction_tolerance=0.1), "friction_tolerance has no effect"),
    (lambda: asp.Tamsi(accuracy=1e-3, substeps=False), "substeps belongs to fixed steps"),
    (lambda: asp.Midas(convex_meshes=True, mesh_repair="close"), "mesh_repair has no effect"),
)


@pytest.mark.parametrize(("make", "said"), IDLE)
def test_options_without_effect_are_refused(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(asp.ArgumentError, match=f"{said}.*omit"):
        make()


def test_rebounds_of_sap_are_on_where_they_can_be() -> None:
    assert asp.Sap().stepping.resolve_impacts
    assert asp.Sap(resolve_impacts=True).stepping.resolve_impacts
    for other in (
        asp.Sap(resolve_impacts=False),
        asp.Sap(theta_scheme="midpoint"),
        asp.Sap(accuracy=1e-3),
        asp.Sap(accuracy=1e-3, resolve_impacts=False),
    ):
        assert not other.stepping.resolve_impacts
    with pytest.raises(asp.ArgumentError, match="resolve_impacts must be True, False or None"):
        asp.Sap(resolve_impacts="no")  # type: ignore[arg-type]
