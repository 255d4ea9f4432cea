"""Which worlds an integrator needs."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco

from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.simulator.checks import check_arguments, check_contact
from asperity.systems import ExternalSystem
from asperity.worlds.compiled_worlds import CompiledWorlds
from asperity.worlds.crew import Crew
from asperity.worlds.simulated_worlds import SimulatedWorlds

__all__ = ["AnyWorlds", "make_worlds"]

AnyWorlds = CompiledWorlds | SimulatedWorlds


def make_worlds(
    model: mujoco.MjModel,
    integrator: Integrator,
    contact: ContactParameters | None,
    joint_stiction_tolerance: float,
    crew: Crew,
    systems: Sequence[ExternalSystem] = (),
) -> AnyWorlds:
    """Worlds in shared lanes, or one simulator for each.

    Simulators are needed where a method remembers its steps, where there are external systems,
    which have states, parameters and functions of their own, and where MuJoCo's history of delayed
    controls and sensors, a plugin's memory, or the tension of deformable bodies belongs to a world.

    Raises
    ------
    ArgumentError
        If the systems are no list of external systems, or cannot be used with the model.
    """
    check_arguments(model, None, None, systems)
    contact = check_contact(contact)
    alone = len(systems) > 0 or model.nhistory > 0 or model.nplugin > 0 or model.nflex > 0
    if not alone and integrator.make_method().base.evaluates_plant:
        return CompiledWorlds(model, integrator, contact, joint_stiction_tolerance, crew)
    return SimulatedWorlds(model, integrator, contact, joint_stiction_tolerance, crew, systems)
