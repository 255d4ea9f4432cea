"""Model and data of a session, kept in agreement with its world: taken over, and published."""

from __future__ import annotations

from typing import Literal

import mujoco

from asperity.compiled import Table
from asperity.compiled.compilation import compile_kernels
from asperity.contact.delivered import NOTHING, TAKEN
from asperity.errors import ArgumentError
from asperity.integrators import world_layout as codes
from asperity.simulator.compiled_call import (
    PUBLISHED,
    SIMULATOR_CALL,
    new_call,
    publish_state,
)
from asperity.simulator.compiled_publication import BY_PYTHON
from asperity.simulator.model_changes import take_over_model
from asperity.simulator.publish import PUBLICATION_KERNELS, publish
from asperity.simulator.sampling import SamplingClock
from asperity.simulator.session import Session

__all__ = [
    "be_lazy",
    "call_control",
    "call_of",
    "catch_up",
    "find_forces",
    "follow_time_step",
    "publish_session",
    "take_over",
    "up_to_date",
]


def take_over(session: Session) -> None:
    """Take over what the user changed in model and data; refuse what cannot be simulated.

    Raises
    ------
    ArgumentError
        Which names what is refused; nothing has then changed.
    """
    other_world = session.watch.changed() and take_over_model(session)
    # The world may be another one now, and has inputs of its own.
    inputs, world = session.inputs, session.world
    if not inputs.changed():
        if other_world:
            inputs.hand_over()
        return
    inputs.hand_over()
    if inputs.new_state:
        # Steps that led elsewhere say nothing about those to come: the same state, given again,
        # leads to the same bits.
        world.delivered.origin = NOTHING
        session.stepping.prepare(world)
        world.forget_solutions()
    if inputs.new_time:
        session.base.restart(world)
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
            f"the control callback returned {returned!r:.80}, which nobody reads; let it write "
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


def call_of(session: Session) -> Table | Literal[False]:
    """The table of a session's calls, or False if there is always something for Python to do."""
    if session.call is None:
        session.call = _new_call(session)
    return session.call


def publish_session(session: Session, *, quietly: bool = False, lazily: bool = False) -> None:
    """Bring the data up to date with the current state.

    Parameters
    ----------
    session : Session
    quietly : bool
        Whether failures of external systems are left to others to tell.
    lazily : bool
        Whether what follows from the state is left to those who read it, if the session is lazy.
    """
    inputs = session.inputs
    if lazily and session.lazy:
        inputs.write_state()
        inputs.remember()
        session.stale = True
        return
    session.stale = False
    if _publish_at_once(session):
        return
    inputs.write_state()
    session.results = session.base.own_results(session.world) or session.results
    code = publish(session.plant.table, session.results, session.data)
    inputs.remember()
    if code == codes.SYSTEM_FAILED and not quietly:
        session.coupling.raise_failure()


def catch_up(session: Session) -> None:
    """Publish what was left to those who read it; what a user has written since then stays."""
    inputs = session.inputs
    written = inputs.present()
    inputs.write(inputs.known())
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
        if session.call:
            session.call.lazy = int(lazy)


def find_forces(session: Session) -> None:
    """Find forces at a state to which no step has led."""
    if session.stale and session.results.delivered.origin != TAKEN:
        up_to_date(session)


def _publish_at_once(session: Session) -> bool:
    """Publish the current state; False if Python is to do it."""
    call = call_of(session)
    if not call:
        return False
    code = publish_state.call(call.address)
    while code not in (PUBLISHED, BY_PYTHON) and session.world.grow(code):
        code = publish_state.call(call.address)
    if code == BY_PYTHON:
        compile_kernels(PUBLICATION_KERNELS, "MuJoCo's contacts")
    return bool(code != BY_PYTHON)


def _new_call(session: Session) -> Table | Literal[False]:
    model = session.model
    if not session.base.evaluates_plant or session.has_systems:
        return False
    if model.nhistory > 0:
        return False
    call = new_call(
        model,
        session.world,
        session.method,
        session.stepping,
        session.inputs.table,
        session.first_steps,
    )
    return Table(
        SIMULATOR_CALL,
        call=call,
        watch=session.watch.table,
        counters=session.counters.table,
        lazy=int(session.lazy),
    )
