"""Integrators: methods (maps from state to state), steppings (who chooses the step), presets."""

from asperity.integrators.integrator import Integrator
from asperity.integrators.presets import *  # noqa: F403
from asperity.integrators.presets import __all__ as _presets

__all__ = ["Integrator"]
__all__ += _presets
