"""Advancing many worlds in compiled code: one call per lane, without Python in between.

Every world goes through what a simulator's call does (`asperity.simulator.compiled_call`). Which
lane does it makes no difference to any bit.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import (
    atomic_add,
    call_pp,
    load_double,
    store_address,
    store_double,
)
from asperity.contact.delivered import DELIVERED
from asperity.errors import Status
from asperity.integrators.results import copy_results
from asperity.integrators.steppings.accepted import BUDGET_USED
from asperity.integrators.world_layout import FAILED, OK
from asperity.plant.plant_layouts import GLIDING, OTHER_FORCES, STATE, VALID
from asperity.simulator.compiled_call import (
    STATUSES,
    forget_history,
    publish_call,
    take_over,
    take_steps,
)
from asperity.simulator.compiled_publication import publish_compiled
from asperity.simulator.state_vector import (
    FORCE_BITS,
    LARGEST,
    NEW_PLACES,
    NEW_STATE,
    NEW_TIME,
    REFUSED,
    changes,
    hand_over_inputs,
    read_state,
)
from asperity.worlds.world_tables import JOB, LANE, NO_WORLD, ROWS

__all__ = ["DELIVERED_FULL", "WORLD_KERNELS", "advance_worlds", "copy_delivered"]

DELIVERED_FULL = 33
"""Returned where a world has less room for what is delivered than the lane has for contacts."""

# Enumeration members are no numbers to compiled code.
_SUCCESS = int(Status.SUCCESS)
_INVALID = int(Status.INVALID_INPUT)
_INTERRUPTED = int(Status.INTERRUPTED)
_CAPACITY = int(Status.CAPACITY)

_BYTES = 8  # of a number

# Phases of an advance.
_TO_BEGIN, _STEPPING, _DONE = range(3)


@compiled
def _delivered(lane: Table, rows: Table, w: int) -> int:
    """Address of where a world's steps deliver to."""
    return rows.delivered[w] if rows.delivered[w] != 0 else lane.delivered


@compiled
def _load(lane: Table, rows: Table, w: int) -> bool:
    """Let the lane be at a world; False if what was written into its row is not acceptable."""
    call = lane.call
    world, exchange = call.world, call.exchange
    values = rows.values[w]
    found = changes(exchange, values, rows.known[w])
    if found & REFUSED != 0:
        return False
    gliding = max(rows.gliding[w], 0) if rows.gliding[w] != 0 else lane.gliding
    for i in range(exchange.states.size):
        STATE.at(exchange.states[i]).gliding = gliding
        STATE.at(exchange.states[i]).glides = GLIDING.at(gliding).glides if gliding != 0 else 0
    if found & (NEW_STATE | NEW_TIME) == 0:
        world.next_step = rows.next_step[w]
        world.last_step = rows.last_step[w]
    # Of the world before the lane knows nothing any more.
    take_over(call, DELIVERED.at(_delivered(lane, rows, w)), values, found | NEW_PLACES)
    return True


@compiled
def _store(lane: Table, rows: Table, w: int) -> None:
    """Write the lane's state into the world's row."""
    world = lane.call.world
    read_state(STATE.at(lane.call.exchange.states[0]), rows.values[w])
    copy_numbers(rows.values[w], rows.known[w])
    rows.next_step[w] = world.next_step
    rows.last_step[w] = world.last_step


@compiled
def _take_inputs(lane: Table, job: Table) -> bool:
    """Hand over the inputs of a rollout's next step; False if one of them is not acceptable."""
    at = lane.place if job.inputs.shape[0] > 1 else 0
    values = job.inputs[at, lane.substep if job.inputs.shape[1] > 1 else 0]
    if values.size == 0:
        return True
    exchange = lane.call.exchange
    for i in range(values.size):
        # Not np.isfinite, which reassociation can turn into a constant.
        if not abs(values[i]) <= (exchange.largest_control if i < job.controls else LARGEST):
            return False
    current_is_valid = STATE.at(exchange.states[0]).valid == VALID
    only_forces = current_is_valid and job.input_bits & ~FORCE_BITS == 0
    hand_over_inputs(exchange, values, job.input_bits, OTHER_FORCES if only_forces else 0)
    return True


@compiled
def _status_of(code: int) -> int:
    """The status that a code means, or −1 if Python is to do something about it."""
    for known, status in STATUSES:
        if code == known:
            return status
    return -1


@compiled
def _publish(lane: Table, rows: Table, w: int) -> int:
    """Read sensors and bound fields of the current state into the world's row."""
    if lane.published == 0:
        code = publish_call(lane.call)
        if _status_of(code) == -1:
            return code
        lane.published = 1
        for i in range(lane.finders.size):
            call_pp(lane.finders[i], lane.call.world.plant.model, lane.call.exchange.data)
        # Sensors of a state that could not be evaluated are those of the one before.
        if code == FAILED:
            lane.status = _CAPACITY
            return OK
    copy_numbers(lane.sensordata, rows.sensordata[w])
    for i in range(rows.bound.size):
        target = rows.bound[i] + _BYTES * w * rows.bound_sizes[i]
        for k in range(rows.bound_sizes[i]):
            store_double(target + _BYTES * k, load_double(lane.bound[i] + _BYTES * k))
    return OK


@compiled
def _record(lane: Table, rows: Table, job: Table, w: int) -> None:
    """Keep state and sensors of a rollout after the substep that has been done."""
    read_state(STATE.at(lane.call.exchange.states[0]), job.state[lane.place, lane.substep])
    copy_numbers(rows.sensordata[w], job.sensordata[lane.place, lane.substep])


@compiled
def _begin(lane: Table, job: Table) -> None:
    """Begin an advance, unless an earlier one has failed or its inputs are not acceptable."""
    if lane.status == _SUCCESS and job.records == 1 and not _take_inputs(lane, job):
        lane.status = _INVALID
    if lane.status != _SUCCESS:
        lane.phase = _DONE
        return
    forget_history(lane.call)
    lane.end = STATE.at(lane.call.exchange.states[0]).time + job.step
    lane.phase = _STEPPING


@compiled
def _go_on(lane: Table, rows: Table, job: Table, w: int, last: int) -> int:
    """Do what is left to do for a world; returns `OK`, or what is missing."""
    world = lane.call.world
    while lane.substep < job.substeps:
        if lane.phase == _TO_BEGIN:
            _begin(lane, job)
        if lane.phase == _STEPPING:
            budget = max(last - world.steps - world.rejections, 1)
            lane.published = 0
            code = take_steps(lane.call, lane.end, budget)
            if _status_of(code) == -1:
                return code
            lane.status = _status_of(code)
            lane.phase = _DONE
        if job.records == 1:
            # The end of a rollout that has failed is its last state, over and over.
            if job.publishes == 1:
                code = _publish(lane, rows, w)
                if code != OK:
                    return code
            _record(lane, rows, job, w)
        elif lane.status != _SUCCESS:
            break
        lane.substep += 1
        lane.phase = _TO_BEGIN
    if job.publishes == 1 and job.records == 0:
        return _publish(lane, rows, w)
    return OK


@compiled_loop(types.int64(types.int64, types.int64, types.int64, types.int64))
def advance_worlds(lane_address: int, rows_address: int, job_address: int, budget: int) -> int:
    """Take worlds from a job, one after another, and advance them.

    Parameters
    ----------
    lane_address, rows_address, job_address : int
        Of the tables.
    budget : int
        Attempted steps after which to return.

    Returns
    -------
    int
        `OK` where no worlds are left, `BUDGET_USED`, or what Python is to make room for. The lane
        then is at a world, and goes on with it in the next call.
    """
    lane = LANE.at(lane_address)
    rows = ROWS.at(rows_address)
    job = JOB.at(job_address)
    world = lane.call.world
    last = world.steps + world.rejections + budget
    while True:
        if lane.place == NO_WORLD:
            if job.stop == 1:
                return OK
            if world.steps + world.rejections >= last:
                return BUDGET_USED
            place = atomic_add(job.following, 1)
            if place >= job.worlds.size:
                return OK
            w = job.worlds[place]
            if not _load(lane, rows, w):
                rows.status[w] = _INVALID
                continue
            lane.place = place
            lane.substep = 0
            lane.phase = _TO_BEGIN
            lane.published = 0
            lane.status = _SUCCESS
        w = job.worlds[lane.place]
        if rows.delivered[w] != 0 and (
            rows.contact_room[w] < lane.contact_room or rows.row_room[w] < lane.row_room
        ):
            return DELIVERED_FULL
        store_address(lane.plant_slot, rows.plant[w])
        store_address(lane.delivered_slot, _delivered(lane, rows, w))
        if job.stop == 1:
            lane.status = _INTERRUPTED
            lane.substep = job.substeps
        code = _go_on(lane, rows, job, w, last)
        if code != OK:
            return code
        _store(lane, rows, w)
        rows.status[w] = lane.status
        lane.place = NO_WORLD


@compiled_loop(types.void(types.int64, types.int64))
def copy_delivered(source_address: int, target_address: int) -> None:
    """Copy what a step has delivered into another table, which has room for it."""
    source = DELIVERED.at(source_address)
    target = DELIVERED.at(target_address)
    copy_results(target, source, 0)
    target.origin = source.origin
    target.step = source.step
    copy_numbers(source.acceleration, target.acceleration)


WORLD_KERNELS = (advance_worlds, publish_compiled, copy_delivered)
"""What many worlds need compiled, besides their method and stepping."""
