"""Which worlds an integrator needs."""

from __future__ import annotations

from asperity.integrators import Integrator
from asperity.worlds.compiled_worlds import CompiledWorlds
from asperity.worlds.simulated_worlds import SimulatedWorlds

__all__ = ["worlds_of"]


def worlds_of(integrator: Integrator) -> type[CompiledWorlds] | type[SimulatedWorlds]:
    """Worlds in shared lanes, or, where a method remembers its steps, one simulator for each."""
    return CompiledWorlds if integrator.make_method().base.evaluates_plant else SimulatedWorlds
