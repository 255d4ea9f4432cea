"""``asperity.step(model, data)``, called like ``mujoco.mj_step``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import mujoco

from asperity.errors import SimulationError
from asperity.integrators import Cenic, Integrator
from asperity.simulator.simulator import Simulator
from asperity.systems import ExternalSystem

__all__ = ["step"]

# Simulators of recently stepped data; each holds its data alive, so an address is not reused.
_RECENT: OrderedDict[tuple[int, Integrator, tuple[ExternalSystem, ...]], Simulator] = OrderedDict()
_CAPACITY = 16


def step(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    nstep: int = 1,
    *,
    integrator: Integrator | None = None,
    systems: Sequence[ExternalSystem] = (),
) -> None:
    """Advance ``data`` by ``nstep`` times the model's ``timestep``, as ``mujoco.mj_step`` does.

    Parameters
    ----------
    model, data : mujoco.MjModel, mujoco.MjData
        As for ``mj_step``; state, controls, applied forces and mocap poses are read from ``data``,
        which afterwards holds the new state with all derived quantities, sensors and contact
        forces.
    nstep : int
        Number of time steps.
    integrator : Integrator, optional
        ``Cenic()`` by default: each time step is then error-controlled.
    systems : sequence of ExternalSystem
        As for `Simulator`. The same ones in every call: their states live as long as the calls name
        them.

    Raises
    ------
    SimulationError
        If the step fails; ``data`` then holds the last accepted state.
    """
    integrator = Cenic() if integrator is None else integrator
    key = (data._address, integrator, tuple(systems))
    simulator = _RECENT.get(key)
    if simulator is None or simulator.model is not model or simulator.data is not data:
        simulator = Simulator(model, integrator=integrator, data=data, systems=systems)
        _RECENT[key] = simulator
        while len(_RECENT) > _CAPACITY:
            _RECENT.popitem(last=False)
    _RECENT.move_to_end(key)
    for _ in range(nstep):
        report = simulator.advance_to(simulator.time + model.opt.timestep)
        if not report.success:
            raise SimulationError(report.message)
