"""Asperity: simulation of robots and objects in frictional contact.

Any MJCF or URDF model, advanced with error-controlled convex integration::

    import asperity as asp

    sim = asp.Simulator("scene.xml", integrator=asp.Cenic(accuracy=1e-3))
    report = sim.advance_to(2.0)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from asperity.integrators.presets import __all__ as _presets
from asperity.shown import Shown as _Shown

if TYPE_CHECKING:
    from asperity.derivatives import Linearization, linearize
    from asperity.errors import (
        ArgumentError,
        AsperityError,
        AsperityWarning,
        MissingExtra,
        ModelError,
        SimulationError,
        Status,
    )
    from asperity.integrators.presets import *  # noqa: F403
    from asperity.loading import load_model, load_spec
    from asperity.midas import Midas
    from asperity.plant.model.contact_parameters import ContactParameters
    from asperity.plant.model.material import Material
    from asperity.simulator import (
        Contacts,
        Report,
        Simulator,
        Statistics,
        Trajectory,
        simulate,
        step,
    )
    from asperity.systems import (
        ExternalSystem,
        FunctionSystem,
        InverseDynamicsController,
        PdController,
        PidController,
        Suction,
        SystemInput,
    )
    from asperity.viewer import View, view
    from asperity.worlds import Batch, rollout

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "AsperityError",
    "AsperityWarning",
    "Batch",
    "ContactParameters",
    "Contacts",
    "ExternalSystem",
    "FunctionSystem",
    "InverseDynamicsController",
    "Linearization",
    "Material",
    "Midas",
    "MissingExtra",
    "ModelError",
    "PdController",
    "PidController",
    "Report",
    "SimulationError",
    "Simulator",
    "Statistics",
    "Status",
    "Suction",
    "SystemInput",
    "Trajectory",
    "View",
    "linearize",
    "load_model",
    "load_spec",
    "rollout",
    "simulate",
    "step",
    "view",
]
__all__ += _presets

# Imported on first use: Numba takes a second that the help of the command line need not wait for.
_ROOMS = {
    "asperity.derivatives": ("Linearization", "linearize"),
    "asperity.errors": (
        "ArgumentError",
        "AsperityError",
        "AsperityWarning",
        "MissingExtra",
        "ModelError",
        "SimulationError",
        "Status",
    ),
    # Presets import no compiled code.
    "asperity.integrators.presets": tuple(_presets),
    "asperity.midas": ("Midas",),
    "asperity.loading": ("load_model", "load_spec"),
    "asperity.plant.model.contact_parameters": ("ContactParameters",),
    "asperity.plant.model.material": ("Material",),
    "asperity.simulator": (
        "Contacts",
        "Report",
        "Simulator",
        "Statistics",
        "Trajectory",
        "simulate",
        "step",
    ),
    "asperity.systems": (
        "ExternalSystem",
        "FunctionSystem",
        "InverseDynamicsController",
        "PdController",
        "PidController",
        "Suction",
        "SystemInput",
    ),
    "asperity.worlds": ("Batch", "rollout"),
    "asperity.viewer": ("View", "view"),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'asperity' has no attribute {name!r}")
    room = importlib.import_module(_HOMES[name])
    value = getattr(room, name)
    globals()[name] = value
    return value


def _as_html(shown: object) -> str:
    html: str = importlib.import_module("asperity.media.notebook").as_html(shown)
    return html


_Shown.as_html = _as_html


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
