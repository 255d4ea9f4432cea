"""External systems: controllers and force elements that are integrated with the simulation."""

from asperity.systems.base import ExternalSystem, FunctionSystem, SystemInput
from asperity.systems.coupling import Coupling
from asperity.systems.joint_control import (
    InverseDynamicsController,
    PdController,
    PidController,
)
from asperity.systems.suction import Suction

__all__ = [
    "Coupling",
    "ExternalSystem",
    "FunctionSystem",
    "InverseDynamicsController",
    "PdController",
    "PidController",
    "Suction",
    "SystemInput",
]
