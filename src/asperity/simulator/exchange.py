"""Model and data of a session, kept in agreement with its world: taken over, and published."""

from __future__ import annotations

import mujoco

from asperity.contact.delivered import TAKEN
from asperity.errors import ArgumentError
from asperity.integrators import world_layout as codes
from asperity.simulator.compiled_call import (
    ANYWAY,
    FORGETTING,
    PUBLISHED,
    begin_call,
    publish_state,
)
from asperity.simulator.model_changes import take_over_model
from asperity.simulator.publish import publish
from asperity.simulator.sampling import SamplingClock
from asperity.simulator.session import Session
from asperity.simulator.state_vector import NEW_TIME, REFUSED

__all__ = [
    "be_lazy",
    "call_control",
    "catch_up",
    "find_forces",
    "follow_time_step",
    "publish_session",
    "take_over",
    "up_to_date",
]


def take_over(session: Session, *, forgetting: bool = False, anyway: bool = False) -> None:
    """Take over what the user changed in model and data; refuse what cannot be simulated.

    Parameters
    ----------
    session : Session
    forgetting : bool
        Whether what follows is to depend on the state alone.
    anyway : bool
        Whether the world is another one, to which all is to be handed.

    Raises
    ------
    ArgumentError
        Which names what is refused; nothing has then changed.
    """
    # The world may be another one after this, and has inputs of its own.
    changed = session.watch.changed()
    anyway |= changed and take_over_model(session)
    how = (FORGETTING if forgetting else 0) | (ANYWAY if anyway else 0)
    found = begin_call.call(session.call.call.address, how)
    if found & REFUSED:
        session.inputs.refuse()
    if found or anyway or changed:
        session.inputs.wake()
    if found & NEW_TIME:
        session.base.restart(session.world)
        session.start_clocks(float(session.data.time))


def follow_time_step(session: Session) -> None:
    """Let control without a period of its own follow a change of the model's time step."""
    if session.control is None or session.control_period is not None:
        return
    step = float(session.model.opt.timestep)
    if session.clock.period != step:
        session.clock = SamplingClock(step)
        session.clock.start(session.data.time)


def call_control(session: Session) -> None:
    """Call the control callback, and take over what it has written.

    Raises
    ------
    ArgumentError
        If it returns something, or sets the time back: neither could be what a simulation goes on
        from.
    """
    assert session.control is not None
    data = session.data
    before = data.time
    returned = session.control(session.model, data)
    if returned is not None:
        raise ArgumentError(
            f"the control callback returned {returned!r:.80}, which has no effect; let it write "
            "data.ctrl[:] = ... and return None."
        )
    if data.time < before:
        raise ArgumentError(
            f"the control callback has set the time back from {before} to {data.time} s, as "
            "mj_resetData does; reset between calls of the simulator, with sim.reset()."
        )
    take_over(session)
    session.coupling.invalidate()
    session.clock.sampled(data.time)
    if not session.clock.next > data.time:
        raise ArgumentError(
            f"control_period={session.clock.period} is too short to advance the time at "
            f"{data.time} s; make it longer."
        )


def publish_session(
    session: Session,
    *,
    quietly: bool = False,
    lazily: bool = False,
    sensed: mujoco.MjModel | None = None,
) -> None:
    """Bring the data up to date with the current state.

    Parameters
    ----------
    session : Session
    quietly : bool
        Whether failures of external systems are left to others to tell.
    lazily : bool
        Whether what follows from the state is left to those who read it, if the session is lazy.
    sensed : mujoco.MjModel, optional
        Whose sensors are read, if not the session's model's.
    """
    session.stale = lazily and session.lazy
    call = session.call.call
    by_python = not session.at_once
    code = publish_state.call(call.address, int(session.stale or by_python))
    while code != PUBLISHED and session.world.grow(code):
        code = publish_state.call(call.address, 0)
    if session.stale or not by_python:
        return
    session.results = session.base.own_results(session.world) or session.results
    plant = session.plant.table
    code = publish(call.publication, plant, session.results, session.data, sensed)
    session.inputs.remember()
    if code == codes.SYSTEM_FAILED and not quietly:
        session.coupling.raise_failure()


def catch_up(session: Session) -> None:
    """Publish what was left to those who read it; what a user has written since then stays."""
    inputs = session.inputs
    written = inputs.present()
    inputs.write(inputs.state())
    publish_session(session)
    inputs.write(written)


def up_to_date(session: Session) -> mujoco.MjData:
    """The data, with all that follows from the state unless the session runs."""
    lock = session.claim.lock
    if session.stale and lock.acquire(blocking=False):
        try:
            catch_up(session)
        finally:
            lock.release()
    return session.data


def be_lazy(session: Session, lazy: bool) -> None:
    """Publish lazily, or eagerly, from the next call on."""
    if lazy != session.lazy:
        session.lazy = lazy
        session.call.lazy = int(lazy)


def find_forces(session: Session) -> None:
    """Find forces at a state to which no step has led."""
    if session.stale and session.results.delivered.origin != TAKEN:
        up_to_date(session)
