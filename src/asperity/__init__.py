"""Asperity: simulation of robots and objects in frictional contact.

Any MJCF or URDF model, advanced with error-controlled convex integration::

    import asperity as asp

    sim = asp.Simulator("scene.xml", integrator=asp.Cenic(accuracy=1e-3))
    report = sim.advance_to(2.0)
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from asperity.integrators.presets import __all__ as _presets
from asperity.renamed import MOVED as _MOVED
from asperity.shown import Shown as _Shown

if TYPE_CHECKING:
    from asperity import derivatives as derivatives
    from asperity import systems as systems
    from asperity.errors import (
        ArgumentError,
        AsperityError,
        AsperityWarning,
        MissingExtra,
        ModelError,
        SimulationError,
        Status,
    )
    from asperity.integrators.integrator import Integrator
    from asperity.integrators.presets import *  # noqa: F403
    from asperity.loading import LoadReport, load_model, load_spec
    from asperity.midas import Midas
    from asperity.plant.model.contact_parameters import ContactParameters
    from asperity.plant.model.material import Material
    from asperity.simulator import (
        Contacts,
        History,
        Report,
        Simulator,
        Statistics,
        Trajectory,
        simulate,
        step,
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
    "History",
    "Integrator",
    "LoadReport",
    "Material",
    "Midas",
    "MissingExtra",
    "ModelError",
    "Report",
    "SimulationError",
    "Simulator",
    "Statistics",
    "Status",
    "Trajectory",
    "View",
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
    "asperity.integrators.integrator": ("Integrator",),
    "asperity.loading": ("LoadReport", "load_model", "load_spec"),
    "asperity.plant.model.contact_parameters": ("ContactParameters",),
    "asperity.plant.model.material": ("Material",),
    "asperity.simulator": (
        "Contacts",
        "History",
        "Report",
        "Simulator",
        "Statistics",
        "Trajectory",
        "simulate",
        "step",
    ),
    "asperity.worlds": ("Batch", "rollout"),
    "asperity.viewer": ("View", "view"),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}


# Rooms with a surface of their own that need no extra, as attributes.
_MODULES = ("derivatives", "systems")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"asperity.{name}")
    if name not in _HOMES:
        hint = f"; it is asperity.{_MOVED[name]}.{name} now" if name in _MOVED else ""
        if importlib.util.find_spec(f"{__name__}.{name}") is not None:
            hint = f"; import {__name__}.{name} first"
        raise AttributeError(f"module 'asperity' has no attribute {name!r}{hint}")
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
