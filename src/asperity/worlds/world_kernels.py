"""Advancing many worlds in compiled code: one call per lane, without Python in between.

Every world goes through what a `Simulator` does in `advance_to`: inputs are checked and handed
over, history is forgotten, the stepping advances, results are published. Which lane does it makes
no difference to any bit.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.calls import (
    atomic_add,
    call_pp_status,
    call_stepping,
    store_address,
    store_double,
)
from asperity.contact.delivered import DELIVERED, NOTHING, OUTDATED, SOLVED
from asperity.errors import Status
from asperity.integrators.results import copy_results
from asperity.integrators.steppings.accepted import BUDGET_USED, STEP_TOO_SMALL
from asperity.integrators.world_layout import (
    FAILED,
    NON_FINITE,
    NOT_CONVERGED,
    OK,
)
from asperity.plant.plant_layouts import OTHER_FORCES, STATE, VALID
from asperity.simulator.compiled_call import forget_history
from asperity.simulator.compiled_publication import publish_compiled
from asperity.simulator.input_kernels import INPUTS
from asperity.worlds.world_tables import JOB, LANE, NO_WORLD, ROWS

__all__ = ["DELIVERED_FULL", "WORLD_KERNELS", "advance_worlds", "copy_delivered"]

DELIVERED_FULL = 33
"""Returned where a world has less room for what is delivered than the lane has for contacts."""

_LARGEST = 1.7976931348623157e308

# Enumeration members are no numbers to compiled code.
_SUCCESS = int(Status.SUCCESS)
_INVALID = int(Status.INVALID_INPUT)
_INTERRUPTED = int(Status.INTERRUPTED)
_NOT_CONVERGED = int(Status.NOT_CONVERGED)
_TOO_SMALL = int(Status.STEP_TOO_SMALL)
_NON_FINITE = int(Status.NON_FINITE)
_CAPACITY = int(Status.CAPACITY)

# Phases of an advance.
_TO_BEGIN, _STEPPING, _DONE = range(3)

# Places of `JOB.input_start`, as `INPUT_NAMES`.
_CTRL, _QFRC, _XFRC, _MOCAP_POS, _MOCAP_QUAT, _EQ_ACTIVE = range(6)


@compiled
def _is_within(values: np.ndarray, limit: float) -> bool:
    # Not np.isfinite, which reassociation can turn into a constant.
    for value in values:  # noqa: SIM110
        if not abs(value) <= limit:
            return False
    return True


@compiled
def _is_acceptable(rows: Table, w: int) -> bool:
    """Whether all numbers that a user may have written are finite, and controls not too large."""
    return (
        abs(rows.time[w]) <= _LARGEST
        and _is_within(rows.qpos[w], _LARGEST)
        and _is_within(rows.qvel[w], _LARGEST)
        and _is_within(rows.act[w], _LARGEST)
        and _is_within(rows.ctrl[w], rows.largest_control)
        and _is_within(rows.qfrc_applied[w], _LARGEST)
        and _is_within(rows.xfrc_applied[w], _LARGEST)
        and _is_within(rows.mocap_pos[w], _LARGEST)
        and _is_within(rows.mocap_quat[w], _LARGEST)
    )


@compiled
def _same(first: np.ndarray, second: np.ndarray) -> bool:
    for i in range(first.size):  # noqa: SIM110
        if first[i] != second[i]:
            return False
    return True


@compiled
def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for i in range(source.size):
        target[i] = source[i]


@compiled
def _copy_flags(source: np.ndarray, target: np.ndarray) -> None:
    for i in range(source.size):
        target[i] = 1 if source[i] != 0 else 0


@compiled
def _is_as_known(rows: Table, w: int) -> bool:
    return (
        rows.time[w] == rows.known_time[w]
        and _same(rows.qpos[w], rows.known_qpos[w])
        and _same(rows.qvel[w], rows.known_qvel[w])
        and _same(rows.act[w], rows.known_act[w])
    )


@compiled
def _delivered(lane: Table, rows: Table, w: int) -> int:
    """Address of where a world's steps deliver to."""
    return rows.delivered[w] if rows.delivered[w] != 0 else lane.delivered


@compiled
def _load(lane: Table, rows: Table, w: int) -> None:
    """Let the lane be at a world: hand over state, inputs and what goes with them."""
    gliding = max(rows.gliding[w], 0) if rows.gliding[w] != 0 else lane.gliding
    for i in range(lane.states.size):
        state = STATE.at(lane.states[i])
        state.valid = 0
        state.gliding = gliding
    for i in range(lane.inputs.size):
        target = INPUTS.at(lane.inputs[i])
        _copy(rows.ctrl[w], target.ctrl)
        _copy(rows.qfrc_applied[w], target.qfrc_applied)
        _copy(rows.xfrc_applied[w], target.xfrc_applied)
        _copy(rows.mocap_pos[w], target.mocap_pos)
        _copy(rows.mocap_quat[w], target.mocap_quat)
        _copy_flags(rows.eq_active[w], target.eq_active)
    current = STATE.at(lane.states[0])
    _copy(rows.qpos[w], current.qpos)
    _copy(rows.qvel[w], current.qvel)
    _copy(rows.act[w], current.act)
    current.time = rows.time[w]
    delivered = DELIVERED.at(_delivered(lane, rows, w))
    world = lane.world
    if _is_as_known(rows, w):
        world.next_step = rows.next_step[w]
        world.last_step = rows.last_step[w]
        if delivered.origin == SOLVED:
            delivered.origin = OUTDATED
    else:
        # Steps that led elsewhere say nothing about those to come.
        world.next_step = lane.first_step
        world.last_step = lane.first_last_step
        delivered.origin = NOTHING


@compiled
def _store(lane: Table, rows: Table, w: int) -> None:
    """Write the lane's state into the world's row."""
    current = STATE.at(lane.states[0])
    _copy(current.qpos, rows.qpos[w])
    _copy(current.qvel, rows.qvel[w])
    _copy(current.act, rows.act[w])
    rows.time[w] = current.time
    _copy(current.qpos, rows.known_qpos[w])
    _copy(current.qvel, rows.known_qvel[w])
    _copy(current.act, rows.known_act[w])
    rows.known_time[w] = current.time
    rows.next_step[w] = lane.world.next_step
    rows.last_step[w] = lane.world.last_step


@compiled
def _take(values: np.ndarray, start: int, target: np.ndarray) -> None:
    if start >= 0:
        for i in range(target.size):
            target[i] = values[start + i]


@compiled
def _take_inputs(lane: Table, rows: Table, job: Table) -> bool:
    """Hand over the inputs of a rollout's next step; False if one of them is not acceptable."""
    at = lane.place if job.inputs.shape[0] > 1 else 0
    values = job.inputs[at, lane.substep if job.inputs.shape[1] > 1 else 0]
    if values.size == 0:
        return True
    start = job.input_start
    controls = INPUTS.at(lane.inputs[0]).ctrl.size if start[_CTRL] >= 0 else 0
    if not _is_within(values, _LARGEST):
        return False
    for i in range(controls):
        if abs(values[start[_CTRL] + i]) > rows.largest_control:
            return False
    current = STATE.at(lane.states[0])
    places = max(start[_MOCAP_POS], start[_MOCAP_QUAT], start[_EQ_ACTIVE])
    current.valid = OTHER_FORCES if places < 0 and current.valid == VALID else 0
    for i in range(1, lane.states.size):
        STATE.at(lane.states[i]).valid = 0
    for i in range(lane.inputs.size):
        target = INPUTS.at(lane.inputs[i])
        _take(values, start[_CTRL], target.ctrl)
        _take(values, start[_QFRC], target.qfrc_applied)
        _take(values, start[_XFRC], target.xfrc_applied)
        _take(values, start[_MOCAP_POS], target.mocap_pos)
        _take(values, start[_MOCAP_QUAT], target.mocap_quat)
        if start[_EQ_ACTIVE] >= 0:
            for k in range(target.eq_active.size):
                target.eq_active[k] = 1 if values[start[_EQ_ACTIVE] + k] != 0.0 else 0
    return True


@compiled
def _status_of(code: int) -> int:
    """The status that a code means, or −1 if Python is to do something about it."""
    if code == OK:
        return _SUCCESS
    if code == NOT_CONVERGED:
        return _NOT_CONVERGED
    if code == STEP_TOO_SMALL:
        return _TOO_SMALL
    if code == NON_FINITE:
        return _NON_FINITE
    return _CAPACITY if code == FAILED else -1


@compiled
def _publish(lane: Table, rows: Table, w: int) -> int:
    """Read the sensors of the current state into the world's row."""
    if lane.published == 0:
        current = STATE.at(lane.states[0])
        data = INPUTS.at(lane.inputs[0])
        _copy(current.qpos, data.qpos)
        _copy(current.qvel, data.qvel)
        _copy(current.act, data.act)
        store_double(data.time, current.time)
        # Through its address: what the world's slots hold is another table for every world.
        code = call_pp_status(lane.publish, lane.world, lane.publication)
        if _status_of(code) == -1:
            return code
        lane.published = 1
        # Sensors of a state that could not be evaluated are those of the one before.
        if code == FAILED:
            lane.status = _CAPACITY
            return OK
    _copy(lane.sensordata, rows.sensordata[w])
    return OK


@compiled
def _record(lane: Table, rows: Table, job: Table, w: int) -> None:
    """Keep state and sensors of a rollout after the substep that has been done."""
    current = STATE.at(lane.states[0])
    out = job.state[lane.place, lane.substep]
    out[0] = current.time
    at = 1
    for i in range(current.qpos.size):
        out[at + i] = current.qpos[i]
    at += current.qpos.size
    for i in range(current.qvel.size):
        out[at + i] = current.qvel[i]
    at += current.qvel.size
    for i in range(current.act.size):
        out[at + i] = current.act[i]
    _copy(rows.sensordata[w], job.sensordata[lane.place, lane.substep])


@compiled
def _begin(lane: Table, rows: Table, job: Table) -> None:
    """Begin an advance, unless an earlier one has failed or its inputs are not acceptable."""
    if lane.status == _SUCCESS and job.records == 1 and not _take_inputs(lane, rows, job):
        lane.status = _INVALID
    if lane.status != _SUCCESS:
        lane.phase = _DONE
        return
    forget_history(lane.world, lane.history)
    lane.end = STATE.at(lane.states[0]).time + job.step
    lane.phase = _STEPPING


@compiled
def _go_on(lane: Table, rows: Table, job: Table, w: int, last: int) -> int:
    """Do what is left to do for a world; returns `OK`, or what is missing."""
    world = lane.world
    while lane.substep < job.substeps:
        if lane.phase == _TO_BEGIN:
            _begin(lane, rows, job)
        if lane.phase == _STEPPING:
            budget = max(last - world.steps - world.rejections, 1)
            lane.published = 0
            code = call_stepping(
                lane.stepping, world, lane.method, lane.time_step, lane.end, budget
            )
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
    world = lane.world
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
            if not _is_acceptable(rows, w):
                rows.status[w] = _INVALID
                continue
            lane.place = place
            lane.substep = 0
            lane.phase = _TO_BEGIN
            lane.published = 0
            lane.status = _SUCCESS
            _load(lane, rows, w)
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
    copy_results(target, source)
    target.origin = source.origin
    target.step = source.step
    _copy(source.acceleration, target.acceleration)


WORLD_KERNELS = (advance_worlds, publish_compiled, copy_delivered)
"""What many worlds need compiled, besides their method and stepping."""
