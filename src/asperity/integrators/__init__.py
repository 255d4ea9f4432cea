"""Methods (maps from state to state), steppings (who chooses the step), and their presets."""

from asperity.integrators.base import Integrator
from asperity.integrators.classical.presets import RungeKutta3
from asperity.integrators.presets import Cenic, Icf, Sap
from asperity.integrators.tamsi.preset import Tamsi

__all__ = ["Cenic", "Icf", "Integrator", "RungeKutta3", "Sap", "Tamsi"]
