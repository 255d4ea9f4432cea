"""Integrators as users name them. One that is not imported here is unknown to users."""

from asperity.integrators.presets.cenic import Cenic
from asperity.integrators.presets.classical import ImplicitEuler, Rosenbrock2, RungeKutta3, Sdirk2
from asperity.integrators.presets.icf import Icf
from asperity.integrators.presets.sap import Sap
from asperity.integrators.presets.tamsi import Tamsi

__all__ = [
    "Cenic",
    "Icf",
    "ImplicitEuler",
    "Rosenbrock2",
    "RungeKutta3",
    "Sap",
    "Sdirk2",
    "Tamsi",
]
