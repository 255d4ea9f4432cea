"""Methods that a study can compare: the variants of all registered integrators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asperity.integrators import Icf, Integrator
from asperity.integrators.registry import Registration, Variant, registered

__all__ = ["Method", "study_methods"]


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
        An integrator of a tiny time step [s] that solves the same differential equations, with as
        little regularisation of its own as possible.
    """

    make: Callable[[float], Integrator]
    expression: str
    error_controlled: bool
    reference: Callable[[float], Integrator]


def study_methods() -> dict[str, Method]:
    """Methods by name, in the order in which their integrators are registered."""
    return {
        "-".join(filter(None, (entry.name, variant.suffix))): _method(entry, variant)
        for entry in registered().values()
        for variant in entry.variants
    }


def _method(entry: Registration, variant: Variant) -> Method:
    parameter, options = variant.parameter, variant.options
    others = "".join(
        f', {name}="{value}"' if isinstance(value, str) else f", {name}={value!r}"
        for name, value in options.items()
    )
    return Method(
        make=lambda value: entry.preset(**{parameter: value}, **options),
        expression=f"{entry.preset.__name__}({parameter}={{:g}}{others})",
        error_controlled=parameter == "accuracy",
        reference=entry.reference or _hunt_crossley,
    )


def _hunt_crossley(step: float) -> Integrator:
    # What a step resolves takes its time, which instant rebounds do not.
    return Icf(time_step=step, tolerance=1e-10, resolve_impacts=False)
