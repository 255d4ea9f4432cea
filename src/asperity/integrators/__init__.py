"""Methods (maps from state to state), steppings (who chooses the step), and their presets."""

from asperity.integrators.presets import Cenic, Icf, Integrator, Sap

__all__ = ["Cenic", "Icf", "Integrator", "Sap"]
