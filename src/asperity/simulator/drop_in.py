"""``asperity.step(model, data)``, called like ``mujoco.mj_step``.

The simulator of an MjData is kept as long as the MjData lives. It is found by the identity of the
data, to which it refers weakly. How many there are makes no difference to any of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import mujoco

from asperity.arguments import is_count
from asperity.errors import ArgumentError, OnFailure, Status, check_on_failure
from asperity.integrators import Cenic, Integrator
from asperity.plant.model.contact_parameters import ContactParameters, contact_key
from asperity.simulator.claim import Claim
from asperity.simulator.exchange import be_lazy, up_to_date
from asperity.simulator.simulator import Simulator
from asperity.systems import ExternalSystem

__all__ = ["contact_key", "step"]

_DEFAULT = Cenic()


class _Stepped:
    """What is kept with one MjData.

    Parameters
    ----------
    data : mujoco.MjData
    forget : callable
        Called when the data is gone.
    """

    def __init__(self, data: mujoco.MjData, forget: Callable[[Any], None]) -> None:
        self.reference = weakref.ref(data, forget)
        self.claim = Claim(
            "this MjData is being stepped, in another thread or in a call of which this one is a "
            "part; give every thread an MjData of its own."
        )
        self.simulator: Simulator | None = None
        self.options: tuple[object, ...] = ()

    def simulator_for(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        integrator: Integrator,
        contact: ContactParameters | None,
        systems: tuple[ExternalSystem, ...],
    ) -> Simulator:
        """The simulator with these options; of others there is none any more."""
        options = (integrator, contact_key(contact), systems)
        simulator = self.simulator
        if simulator is None or simulator.session.model is not model or self.options != options:
            simulator = Simulator(
                model, integrator=integrator, contact=contact, data=data, systems=systems
            )
            simulator.session.reference.release()
            self.simulator, self.options = simulator, options
        elif systems and data.time < simulator.session.world.current.table.time:
            # Reset: there is no other way to the states of external systems.
            simulator.session.coupling.reset()
        return simulator


_STEPPED: dict[int, _Stepped] = {}


def _stepped(data: mujoco.MjData) -> _Stepped:
    key = id(data)
    found = _STEPPED.get(key)
    if found is None:

        def forget(_: object) -> None:
            _STEPPED.pop(key, None)

        # As one operation, whichever of two threads is first.
        found = _STEPPED.setdefault(key, _Stepped(data, forget))
    return found


def step(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    nstep: int = 1,
    *,
    integrator: Integrator | None = None,
    contact: ContactParameters | None = None,
    systems: Sequence[ExternalSystem] = (),
    on_failure: OnFailure = "raise",
) -> Status:
    """Advance ``data`` by ``nstep`` times the model's ``timestep``, as ``mujoco.mj_step`` does.

    Parameters
    ----------
    model, data : mujoco.MjModel, mujoco.MjData
        As for ``mj_step``. State, controls, applied forces and mocap poses are read from ``data``.
        Afterwards it holds the new state with all derived quantities, sensors and contact forces.
        What was changed in the model since the last call is taken over.
    nstep : int
        Number of time steps.
    integrator : Integrator, optional
        ``Cenic()`` by default: each time step is then error-controlled.
    contact : ContactParameters, optional
        As for `Simulator`.
    systems : sequence of ExternalSystem
        As for `Simulator`. Give the same ones in every call: their states are kept while the calls
        name them, and begin anew when ``data.time`` has gone back.
    on_failure : str
        ``"return"`` returns the status of a step that fails.

    Returns
    -------
    Status

    Raises
    ------
    ArgumentError, ModelError
        If model, state or controls cannot be simulated; nothing has then changed.
    SimulationError
        If a step fails, with ``on_failure="raise"``; ``data`` then holds the last accepted state.
        Or if another thread is stepping the same ``data``.

    Notes
    -----
    The step size of error control and other memory belong to ``data`` and to one set of options. A
    call with other options begins anew. So does a call after a state was written into ``data``, as
    by ``mj_resetData``: the same state then leads to the same bits.
    """
    if not isinstance(model, mujoco.MjModel):
        raise ArgumentError(
            f"model must be a mujoco.MjModel, got {type(model).__name__}; asperity.load_model "
            "makes one of a file."
        )
    if data is None:
        raise ArgumentError("data must be a mujoco.MjData, got None.")
    if not is_count(nstep) or nstep < 0:
        raise ArgumentError(f"nstep must be a whole number of steps, got {nstep!r}.")
    # To ask for abstract classes takes longer.
    if type(systems) is not tuple and (
        isinstance(systems, ExternalSystem | str) or not isinstance(systems, Sequence)
    ):
        raise ArgumentError(f"systems must be a list of external systems, got {systems!r}.")
    check_on_failure(on_failure)
    stepped = _stepped(data)
    if not stepped.claim.lock.acquire(False):
        stepped.claim.refuse()
    try:
        simulator = stepped.simulator_for(
            model, data, _DEFAULT if integrator is None else integrator, contact, tuple(systems)
        )
        session = simulator.session
        try:
            left = int(nstep)
            while left > 0:
                # Nobody can read what would be published in between: one call takes all but the
                # last step, unless somebody looks at the motion.
                be_lazy(session, left > 1)
                session.more = max(left - 2, 0) if session.fast_motion is None else 0
                end = data.time + session.option.timestep
                report = simulator.advance_to(end, on_failure=on_failure)
                if report.status:
                    return report.status
                left -= 1 + (session.call.number if session.more else 0)
            return Status.SUCCESS
        finally:
            session.more = 0
            if session.lazy:
                # The last step was not come to.
                be_lazy(session, False)
                up_to_date(session)
    finally:
        stepped.claim.lock.release()
