"""Asperity: simulation of robots and objects in frictional contact.

Any MJCF or URDF model, advanced with error-controlled convex integration::

    import asperity as asp

    sim = asp.Simulator("scene.xml", integrator=asp.Cenic(accuracy=1e-3))
    report = sim.advance_to(2.0)
"""

from asperity.errors import (
    AsperityError,
    AsperityWarning,
    ModelError,
    SimulationError,
    Status,
)
from asperity.integrators import Cenic, Icf
from asperity.plant.loading import load_model
from asperity.plant.materials import ContactParameters, Material
from asperity.simulator import (
    Contacts,
    Report,
    Simulator,
    Statistics,
    Trajectory,
    simulate,
    step,
)

__version__ = "0.1.0"

__all__ = [
    "AsperityError",
    "AsperityWarning",
    "Cenic",
    "ContactParameters",
    "Contacts",
    "Icf",
    "Material",
    "ModelError",
    "Report",
    "SimulationError",
    "Simulator",
    "Statistics",
    "Status",
    "Trajectory",
    "load_model",
    "simulate",
    "step",
]
