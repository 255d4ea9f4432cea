"""A call in compiled code: what `Simulator.advance_to`, `Batch` and `rollout` do with a world.

State and inputs are compared with what is known, and handed over where they are new; history is
forgotten; the stepping advances; the state is published. Piece by piece from Python that takes as
long as a step of a robot. A simulator's call is one function. It returns to Python for a changed
model, refused inputs, another time and an end that is past, before anything is done, and for more
memory, after the steps. Where Python has something to do between the pieces, it calls them one by
one (`begin_call`, `publish_state`). A batch has a call for each of its threads
(`asperity.worlds.world_kernels`).
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import Layout, Table, compiled, compiled_loop
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_pp_status, call_stepping, load_double, store_address
from asperity.contact.delivered import NOTHING, OUTDATED, SOLVED
from asperity.errors import Status
from asperity.integrators.methods.method import Method
from asperity.integrators.steppings.accepted import STEP_TOO_SMALL
from asperity.integrators.steppings.stepping import Stepping
from asperity.integrators.world import World
from asperity.integrators.world_layout import FAILED, NON_FINITE, NOT_CONVERGED, OK, WORLD
from asperity.plant.model.model_watch import WATCH, differs
from asperity.plant.plant_layouts import OTHER_FORCES, VALID
from asperity.simulator.compiled_publication import (
    NOT_EVALUATED,
    PUBLICATION,
    new_publication,
    publish_compiled,
)
from asperity.simulator.counters import COUNTERS, count_work
from asperity.simulator.state_vector import (
    EXCHANGE,
    LARGEST,
    NEW_FORCES,
    NEW_STATE,
    NEW_TIME,
    REFUSED,
    changes,
    gather,
    hand_over,
    write_state,
)

__all__ = [
    "ANYWAY",
    "BEGINNING",
    "CALL",
    "CALL_KERNELS",
    "FORGETTING",
    "PUBLISHED",
    "SIMULATOR_CALL",
    "STATUSES",
    "UNUSUAL",
    "begin_call",
    "forget_history",
    "new_call",
    "publish_call",
    "publish_state",
    "run_call",
    "take_over",
    "take_steps",
]

PUBLISHED = 40
"""Returned where the end is reached, and published."""

UNUSUAL = 41
"""Returned where Python is to begin the call, of which nothing has been done."""

# What `begin_call` is told, added up.
FORGETTING = 1  # history is forgotten, whatever is new
ANYWAY = 2  # state and inputs are handed over even if nothing is new: to another world

STATUSES = (
    (OK, int(Status.SUCCESS)),
    (NOT_CONVERGED, int(Status.NOT_CONVERGED)),
    (STEP_TOO_SMALL, int(Status.STEP_TOO_SMALL)),
    (NON_FINITE, int(Status.NON_FINITE)),
    (FAILED, int(Status.CAPACITY)),
)
"""Codes of steppings and the `asperity.errors.Status` that each means.

With any other one Python is to do something.
"""

CALL = Layout(
    "call",
    world=WORLD,
    exchange=EXCHANGE,
    publication=PUBLICATION,
    convex="i8",  # whether the world has a convex problem
    history="i8[:]",  # addresses of numbers that are zero where nothing is known of earlier steps
    stepping="i8",  # compiled entry points
    method="i8",
    publish="i8",
    time_step="f8",  # [s]
    first_step="f8",  # step sizes of a new beginning [s]
    first_last_step="f8",
)

SIMULATOR_CALL = Layout(
    "call of a simulator",
    call=CALL,
    watch=WATCH,
    counters=COUNTERS,
    lazy="i8",  # whether publication is left to the first who reads
    time_step="i8",  # address of the model's
    number="i8",  # of the advance that was last, from 0 on
    end="f8",  # time to which it leads [s]
)


@compiled
def take_over(call: Table, delivered: Table, values: np.ndarray, found: int) -> None:
    """Let the world go on from a vector of state and inputs, of which so much is new."""
    world = call.world
    if found & (NEW_STATE | NEW_TIME) != 0:
        # Steps that led elsewhere say nothing about those to come: the same state, given again,
        # leads to the same bits.
        world.next_step = call.first_step
        world.last_step = call.first_last_step
        delivered.origin = NOTHING
    elif delivered.origin == SOLVED:
        delivered.origin = OUTDATED
    # What couples is known by the state's evaluation, and may be other rows now.
    world.graph_state = 0
    only_forces = found == NEW_FORCES and world.current.valid == VALID
    hand_over(call.exchange, values, OTHER_FORCES if only_forces else 0)


@compiled
def forget_history(call: Table) -> None:
    """Let what follows depend on the current state alone, as `World.forget_history`."""
    world = call.world
    world.has_history = 0
    world.tried = 0.0
    world.factors_valid = 0
    world.graph_state = 0
    world.guess_kind = 0
    # A tree alone has one order.
    if call.convex and world.problem.graph.ntree > 1:
        world.problem.graph.components = -1
    current = world.current
    if current.glides != 0:
        current.valid = 0
    for i in range(call.history.size):
        store_address(call.history[i], 0)


@compiled
def _begin(call: Table, found: int) -> None:
    """Let the world go on from the exchange's ``values``, of which so much is new."""
    exchange = call.exchange
    copy_numbers(exchange.values, exchange.known)
    if found & NEW_STATE != 0:
        # That of deformable bodies was found in the step that led to another state.
        call.world.current.tension[:] = np.nan
    take_over(call, call.world.delivered, exchange.values, found)


@compiled
def take_steps(call: Table, end: float, budget: int) -> int:
    """Advance to time ``end`` [s] in at most so many attempts; returns the stepping's code."""
    return call_stepping(call.stepping, call.world, call.method, call.time_step, end, budget)


@compiled
def publish_call(call: Table) -> int:
    """Publish the current state; returns a method's code."""
    write_state(call.exchange)
    # Through its address: worlds of a batch come with results of their own.
    return call_pp_status(call.publish, call.world, call.publication)


@compiled
def _publish(call: Table, lazy: int) -> int:
    """Publish the current state, or only write it; `PUBLISHED`, or what is missing.

    The exchange's ``values`` have the inputs as they are in the MjData.
    """
    exchange = call.exchange
    code = OK
    if lazy == 0:
        code = publish_call(call)
    else:
        write_state(exchange)
    copy_numbers(exchange.values, exchange.known)
    return code if code in NOT_EVALUATED else PUBLISHED


@compiled_loop(types.int64(types.int64, types.float64, types.int64, types.int64))
def run_call(address: int, end: float, budget: int, more: int) -> int:
    """Advance a simulator to time ``end`` [s] in at most so many attempts.

    As many advances as there are ``more`` follow, of the model's time step each, while attempts are
    left. Nothing is published in between.

    Returns `UNUSUAL`, a code of the stepping, which Python is to go on from, or `PUBLISHED`.
    ``counters.work`` is then what was done, and ``number`` and ``end`` tell which advance was last.
    """
    own = SIMULATOR_CALL.at(address)
    call = own.call
    exchange = call.exchange
    counters = own.counters
    world = call.world
    own.number = 0
    own.end = end
    if differs(own.watch) != 0:
        return UNUSUAL
    gather(exchange)
    found = changes(exchange, exchange.values, exchange.known)
    # Not np.isfinite, which reassociation can turn into a constant.
    if found & (NEW_TIME | REFUSED) != 0 or not exchange.values[0] < end <= LARGEST:
        return UNUSUAL
    count_work(counters)
    for i in range(counters.work.size):
        counters.work[i] = -counters.counts[i]
    world.problem.counts.worst_residual = 0.0
    forget_history(call)
    if found != 0:
        _begin(call, found)
    last = world.steps + world.rejections + budget
    code = take_steps(call, end, budget)
    while code == OK and own.number < more and world.steps + world.rejections < last:
        own.number += 1
        own.end = world.current.time + load_double(own.time_step)
        world.problem.counts.worst_residual = 0.0
        forget_history(call)
        code = take_steps(call, own.end, budget)
    if code != OK or _publish(call, own.lazy) != PUBLISHED:
        return code
    count_work(counters)
    for i in range(counters.work.size):
        counters.work[i] += counters.counts[i]
    return PUBLISHED


@compiled_loop(types.int64(types.int64, types.int64))
def begin_call(address: int, how: int) -> int:
    """Compare state and inputs, hand over what is new, unless it is refused; returns `changes`."""
    call = CALL.at(address)
    exchange = call.exchange
    gather(exchange)
    found = changes(exchange, exchange.values, exchange.known)
    if found & REFUSED == 0:
        if how & FORGETTING != 0 or found & (NEW_STATE | NEW_TIME) != 0:
            forget_history(call)
        if how & ANYWAY != 0 or found != 0:
            _begin(call, found)
    return found


@compiled_loop(types.int64(types.int64, types.int64))
def publish_state(address: int, lazy: int) -> int:
    """See `_publish`, of what else the MjData holds."""
    call = CALL.at(address)
    gather(call.exchange)
    return _publish(call, lazy)


def new_call(
    model: mujoco.MjModel,
    world: World,
    method: Method,
    stepping: Stepping,
    exchange: Table,
    first_steps: tuple[float, float],
) -> Table:
    """Make the table of calls that advance a world.

    Parameters
    ----------
    model : mujoco.MjModel
    world : World
    method : Method
    stepping : Stepping
    exchange : Table
        Of the data that is published.
    first_steps : (float, float)
        The world's next and last step size where it begins anew [s].
    """
    history = [address for memory in world.memories for address in memory.history]
    step = stepping.time_step
    return Table(
        CALL,
        world=world.table,
        exchange=exchange,
        publication=new_publication(model, world.current.data),
        convex=int(method.base.evaluates_plant),
        history=np.array(history, np.int64),
        stepping=stepping.entry.address,
        method=method.kernel.address,
        publish=publish_compiled.address,
        time_step=0.0 if step is None else step,
        first_step=first_steps[0],
        first_last_step=first_steps[1],
    )


BEGINNING = (begin_call, publish_state)
"""What calls need compiled that Python goes through piece by piece."""

CALL_KERNELS = (publish_compiled, run_call, *BEGINNING)
"""What calls of simulators need compiled."""
