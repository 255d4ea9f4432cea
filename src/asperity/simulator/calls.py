"""The table of a session's calls in compiled code, where there are any."""

from __future__ import annotations

from typing import Literal

from asperity.compiled import Table
from asperity.compiled.compilation import compile_kernels
from asperity.simulator.compiled_call import (
    PUBLISHED,
    SIMULATOR_CALL,
    new_call,
    publish_state,
)
from asperity.simulator.compiled_publication import BY_PYTHON
from asperity.simulator.inputs import SLEEP
from asperity.simulator.publish import PUBLICATION_KERNELS
from asperity.simulator.session import Session

__all__ = ["call_of", "publish_at_once"]


def call_of(session: Session) -> Table | Literal[False]:
    """The table of a session's calls, or False if there is always something for Python to do."""
    if session.call is None:
        session.call = _new_call(session)
    return session.call


def publish_at_once(session: Session) -> bool:
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
    if not session.base.evaluates_plant or session.systems or model.opt.enableflags & SLEEP:
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
