"""A call of a simulator in compiled code, where there is nothing that Python has to do.

`Simulator.advance_to` compares model and inputs with what is known, hands over what is new, forgets
history, advances, and publishes. Piece by piece from Python that takes as long as a step of a
robot. Here it is one function. It leaves to Python what needs it: another model or a state that a
user has written, before anything is done; more memory, after the steps.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import EntryPoint, Layout, Table, compiled, compiled_loop
from asperity.compiled.calls import call_pp_status, call_stepping, store_address
from asperity.contact.delivered import OUTDATED, SOLVED
from asperity.integrators.world import World
from asperity.integrators.world_layout import OK, WORLD
from asperity.plant.model_watch import WATCH, ModelWatch, differs
from asperity.plant.plant_layouts import OTHER_FORCES, VALID
from asperity.simulator.compiled_publication import (
    BY_PYTHON,
    PUBLICATION,
    new_publication,
    publish_compiled,
)
from asperity.simulator.counters import COUNTERS, Counters, count_work
from asperity.simulator.input_kernels import (
    INPUTS,
    NEW_FORCES,
    NEW_PLACES,
    TARGETS,
    changes,
    hand_over_inputs,
    remember_inputs,
    write_inputs,
)
from asperity.simulator.inputs import Inputs
from asperity.simulator.publish import NOT_EVALUATED

__all__ = [
    "CALL",
    "CALL_KERNELS",
    "PUBLISHED",
    "UNUSUAL",
    "forget_history",
    "new_call",
    "publish_state",
    "run_call",
]

PUBLISHED = 40
"""Returned where the end is reached, and published."""

UNUSUAL = 41
"""Returned where Python is to begin the call, of which nothing has been done."""

CALL = Layout(
    "call",
    world=WORLD,
    inputs=INPUTS,
    targets=TARGETS,
    watch=WATCH,
    counters=COUNTERS,
    publication=PUBLICATION,
    history="i8[:]",  # addresses of numbers that are zero where nothing is known of earlier steps
    stepping="i8",  # compiled entry points
    method="i8",
    publish="i8",
    time_step="f8",  # [s]
    lazy="i8",  # whether publication is left to the first who reads
)


@compiled
def forget_history(world: Table, history: np.ndarray) -> None:
    """Let what follows depend on the current state alone, as `World.forget_history`."""
    graph = world.problem.graph
    world.has_history = 0
    world.tried = 0.0
    world.factors_valid = 0
    world.graph_state = 0
    world.guess_kind = 0
    # A tree alone has one order.
    if graph.ntree > 1:
        graph.components = -1
    current = world.current
    if current.gliding != 0:
        current.valid = 0
    for i in range(history.size):
        store_address(history[i], 0)


@compiled
def _publish(call: Table, lazy: int) -> int:
    """Publish the current state, or only write it; `PUBLISHED`, or what is missing."""
    world = call.world
    write_inputs(call.inputs, world.current)
    code = OK
    if lazy == 0:
        code = call_pp_status(call.publish, world, call.publication)
    remember_inputs(call.inputs)
    return code if code in NOT_EVALUATED or code == BY_PYTHON else PUBLISHED


@compiled_loop(types.int64(types.int64, types.float64, types.int64))
def run_call(call_address: int, end: float, budget: int) -> int:
    """Advance to time ``end`` [s] in at most so many attempts.

    Returns `UNUSUAL`, a code of the stepping, which Python is to go on from, or `PUBLISHED`.
    ``counters.work`` is then what was done.
    """
    call = CALL.at(call_address)
    inputs = call.inputs
    world = call.world
    counters = call.counters
    if differs(call.watch) != 0:
        return UNUSUAL
    found = changes(inputs)
    if found & ~(NEW_FORCES | NEW_PLACES) != 0:
        return UNUSUAL
    count_work(counters)
    for i in range(counters.work.size):
        counters.work[i] = -counters.counts[i]
    world.problem.worst_residual = 0.0
    forget_history(world, call.history)
    if found != 0:
        remember_inputs(inputs)
        if world.delivered.origin == SOLVED:
            world.delivered.origin = OUTDATED
        only_forces = found == NEW_FORCES and world.current.valid == VALID
        hand_over_inputs(inputs, world.current, call.targets, OTHER_FORCES if only_forces else 0)
    code = call_stepping(call.stepping, world, call.method, call.time_step, end, budget)
    if code != OK or _publish(call, call.lazy) != PUBLISHED:
        return code
    count_work(counters)
    for i in range(counters.work.size):
        counters.work[i] += counters.counts[i]
    return PUBLISHED


@compiled_loop(types.int64(types.int64))
def publish_state(call_address: int) -> int:
    """Publish the current state; `PUBLISHED`, or what is missing."""
    return _publish(CALL.at(call_address), 0)


def new_call(
    model: mujoco.MjModel,
    world: World,
    inputs: Inputs,
    watch: ModelWatch,
    counters: Counters,
    kernels: tuple[EntryPoint, EntryPoint],
    time_step: float | None,
    *,
    lazy: bool,
) -> Table:
    """Make the table of a simulator's calls.

    Parameters
    ----------
    model : mujoco.MjModel
    world : World
        Of a method with a convex problem, without external systems.
    inputs : Inputs
        Of the data that is published.
    watch : ModelWatch
    counters : Counters
    kernels : (EntryPoint, EntryPoint)
        Stepping and method.
    time_step : float or None
        Of the stepping [s].
    lazy : bool
        Whether calls only write the state, and leave the rest of publication to others.
    """
    given, targets = inputs.tables(world)
    return Table(
        CALL,
        world=world.table,
        inputs=given,
        targets=targets,
        watch=watch.table,
        counters=counters.table,
        publication=new_publication(model, world.current.data),
        history=np.array(
            [address for memory in world.memories for address in memory.history], np.int64
        ),
        stepping=kernels[0].address,
        method=kernels[1].address,
        publish=publish_compiled.address,
        time_step=0.0 if time_step is None else time_step,
        lazy=int(lazy),
    )


CALL_KERNELS = (publish_compiled, run_call, publish_state)
"""What calls in compiled code need compiled."""
