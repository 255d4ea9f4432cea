"""Methods that a study can compare. A new one needs an entry in `METHODS` and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asperity.integrators import (
    Cenic,
    Icf,
    ImplicitEuler,
    Integrator,
    Rosenbrock2,
    RungeKutta3,
    Sap,
    Sdirk2,
    Tamsi,
)

__all__ = ["METHODS", "Method"]


@dataclass(frozen=True)
class Method:
    """An integrator with one parameter that buys precision.

    Parameters
    ----------
    make : callable
        The integrator of a parameter: an accuracy if ``error_controlled``, a time step [s] if not.
    expression : str
        How a user writes that integrator, with ``{}`` for the parameter.
    error_controlled : bool
    reference : callable
        An integrator of a tiny time step [s] that solves the same differential equations: the same
        laws of contact, with as little regularisation of its own as there can be.
    """

    make: Callable[[float], Integrator]
    expression: str
    error_controlled: bool
    reference: Callable[[float], Integrator]


def _hunt_crossley(step: float) -> Integrator:
    return Icf(time_step=step, slip_regularization=0.0, tolerance=1e-10)


def _linear(step: float) -> Integrator:
    # Materials without a relaxation time have that of the step: then there is no common limit.
    return Sap(time_step=step, slip_regularization=1e-3, tolerance=1e-8, relaxation_time=0.01)


def _ramp(step: float) -> Integrator:
    # TAMSI's friction has another form below the stiction tolerance, and one coefficient.
    return Tamsi(time_step=step, tolerance=1e-4)


METHODS: dict[str, Method] = {
    "cenic": Method(
        lambda accuracy: Cenic(accuracy=accuracy),
        "Cenic(accuracy={:g})",
        True,
        _hunt_crossley,
    ),
    "cenic-trapezoid": Method(
        lambda accuracy: Cenic(accuracy=accuracy, scheme="trapezoid"),
        'Cenic(accuracy={:g}, scheme="trapezoid")',
        True,
        _hunt_crossley,
    ),
    "icf": Method(
        lambda step: Icf(time_step=step),
        "Icf(time_step={:g})",
        False,
        _hunt_crossley,
    ),
    "sap": Method(
        lambda step: Sap(time_step=step, relaxation_time=0.01),
        "Sap(time_step={:g}, relaxation_time=0.01)",
        False,
        _linear,
    ),
    "sap-midpoint": Method(
        lambda step: Sap(time_step=step, scheme="midpoint", relaxation_time=0.01),
        'Sap(time_step={:g}, scheme="midpoint", relaxation_time=0.01)',
        False,
        _linear,
    ),
    "tamsi": Method(
        lambda step: Tamsi(time_step=step),
        "Tamsi(time_step={:g})",
        False,
        _ramp,
    ),
    "tamsi-controlled": Method(
        lambda accuracy: Tamsi(accuracy=accuracy),
        "Tamsi(accuracy={:g})",
        True,
        _ramp,
    ),
    "runge-kutta-3": Method(
        lambda accuracy: RungeKutta3(accuracy=accuracy),
        "RungeKutta3(accuracy={:g})",
        True,
        _hunt_crossley,
    ),
    "implicit-euler": Method(
        lambda accuracy: ImplicitEuler(accuracy=accuracy),
        "ImplicitEuler(accuracy={:g})",
        True,
        _hunt_crossley,
    ),
    "sdirk2": Method(
        lambda accuracy: Sdirk2(accuracy=accuracy),
        "Sdirk2(accuracy={:g})",
        True,
        _hunt_crossley,
    ),
    "rosenbrock2": Method(
        lambda accuracy: Rosenbrock2(accuracy=accuracy),
        "Rosenbrock2(accuracy={:g})",
        True,
        _hunt_crossley,
    ),
}
"""Methods by name. The relaxation time of SAP's stands in where the model's materials have none."""
