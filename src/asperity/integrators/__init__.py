"""Methods (maps from state to state), steppings (who chooses the step), and their presets."""

from asperity.integrators.integrator import Integrator
from asperity.integrators.methods.classical.presets import (
    ImplicitEuler,
    Rosenbrock2,
    RungeKutta3,
    Sdirk2,
)
from asperity.integrators.presets import Cenic, Icf, Sap
from asperity.integrators.methods.tamsi.preset import Tamsi

__all__ = [
    "Cenic",
    "Icf",
    "ImplicitEuler",
    "Integrator",
    "Rosenbrock2",
    "RungeKutta3",
    "Sap",
    "Sdirk2",
    "Tamsi",
]
