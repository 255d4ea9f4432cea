"""Comparing and handing over what a user may change in MjData, by compiled code."""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Layout, Table, compiled, compiled_loop
from asperity.compiled.calls import load_double, store_double
from asperity.plant.plant_layouts import STATE

__all__ = [
    "INPUTS",
    "INPUT_KERNELS",
    "NEW_FORCES",
    "NEW_PLACES",
    "NEW_STATE",
    "NEW_TIME",
    "REFUSED",
    "TARGETS",
    "changes",
    "hand_over",
    "hand_over_inputs",
    "look",
    "remember",
    "remember_inputs",
    "write_inputs",
    "write_state",
]

INPUTS = Layout(
    "inputs",
    time="i8",  # address in the MjData
    qpos="f8[:]",
    qvel="f8[:]",
    act="f8[:]",
    ctrl="f8[:]",
    qfrc_applied="f8[:]",
    xfrc_applied="f8[:]",
    mocap_pos="f8[:]",
    mocap_quat="f8[:]",
    eq_active="u1[:]",
    known="f8[:]",  # all of these in this order, and the time
    largest_control="f8",
)

TARGETS = Layout(
    "where inputs are handed to",
    states="i8[:]",  # addresses of states whose snapshots are void then
    inputs="i8[:]",  # of tables of the data in which they are evaluated
)

# What `look` returns, added up.
NEW_STATE = 1
NEW_FORCES = 2
NEW_PLACES = 4
NEW_TIME = 8
REFUSED = 16

_LARGEST = 1.7976931348623157e308


@compiled
def _compare(values: np.ndarray, known: np.ndarray, start: int, limit: float, kind: int) -> int:
    """``kind`` if some number is another one than was known, with `REFUSED` if one is too large.

    Not a number is none that was known.
    """
    found = 0
    for i in range(values.size):
        value = float(values[i])
        if value != known[start + i]:
            found = kind
            # Not np.isfinite, which reassociation can turn into a constant.
            if not abs(value) <= limit:
                return kind | REFUSED
    return found


@compiled
def _keep(values: np.ndarray, known: np.ndarray, start: int) -> int:
    for i in range(values.size):
        known[start + i] = float(values[i])
    return start + values.size


@compiled
def changes(inputs: Table) -> int:
    """What has changed since it was remembered."""
    known = inputs.known
    at = 0
    found = _compare(inputs.qpos, known, at, _LARGEST, NEW_STATE)
    at += inputs.qpos.size
    found |= _compare(inputs.qvel, known, at, _LARGEST, NEW_STATE)
    at += inputs.qvel.size
    found |= _compare(inputs.act, known, at, _LARGEST, NEW_STATE)
    at += inputs.act.size
    found |= _compare(inputs.ctrl, known, at, inputs.largest_control, NEW_FORCES)
    at += inputs.ctrl.size
    found |= _compare(inputs.qfrc_applied, known, at, _LARGEST, NEW_FORCES)
    at += inputs.qfrc_applied.size
    found |= _compare(inputs.xfrc_applied, known, at, _LARGEST, NEW_FORCES)
    at += inputs.xfrc_applied.size
    found |= _compare(inputs.mocap_pos, known, at, _LARGEST, NEW_PLACES)
    at += inputs.mocap_pos.size
    found |= _compare(inputs.mocap_quat, known, at, _LARGEST, NEW_PLACES)
    at += inputs.mocap_quat.size
    found |= _compare(inputs.eq_active, known, at, _LARGEST, NEW_PLACES)
    at += inputs.eq_active.size
    time = load_double(inputs.time)
    if time != known[at]:
        found |= NEW_TIME
        if not abs(time) <= _LARGEST:
            found |= REFUSED
    return found


@compiled_loop(types.int64(types.int64))
def look(inputs_address: int) -> int:
    """The same; if nothing is refused, it is remembered."""
    inputs = INPUTS.at(inputs_address)
    found = changes(inputs)
    if found & REFUSED == 0 and found != 0:
        remember_inputs(inputs)
    return found


@compiled
def remember_inputs(inputs: Table) -> None:
    """Take what the MjData holds for known."""
    known = inputs.known
    at = _keep(inputs.qpos, known, 0)
    at = _keep(inputs.qvel, known, at)
    at = _keep(inputs.act, known, at)
    at = _keep(inputs.ctrl, known, at)
    at = _keep(inputs.qfrc_applied, known, at)
    at = _keep(inputs.xfrc_applied, known, at)
    at = _keep(inputs.mocap_pos, known, at)
    at = _keep(inputs.mocap_quat, known, at)
    at = _keep(inputs.eq_active, known, at)
    known[at] = load_double(inputs.time)


@compiled
def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for i in range(source.size):
        target[i] = source[i]


@compiled_loop(types.void(types.int64))
def remember(inputs_address: int) -> None:
    """See `remember_inputs`."""
    remember_inputs(INPUTS.at(inputs_address))


@compiled
def write_inputs(inputs: Table, state: Table) -> None:
    """Write a state into the MjData."""
    _copy(state.qpos, inputs.qpos)
    _copy(state.qvel, inputs.qvel)
    _copy(state.act, inputs.act)
    store_double(inputs.time, state.time)


@compiled_loop(types.void(types.int64, types.int64))
def write_state(inputs_address: int, state_address: int) -> None:
    """See `write_inputs`."""
    write_inputs(INPUTS.at(inputs_address), STATE.at(state_address))


@compiled
def hand_over_inputs(inputs: Table, state: Table, targets: Table, valid: int) -> None:
    """Write what is in the MjData into a state, of whose snapshot so much is valid.

    Further states are void, and the data in which they are evaluated get what is not the state.
    """
    _copy(inputs.qpos, state.qpos)
    _copy(inputs.qvel, state.qvel)
    _copy(inputs.act, state.act)
    state.time = load_double(inputs.time)
    state.valid = valid
    for i in range(targets.states.size):
        STATE.at(targets.states[i]).valid = 0
    for i in range(targets.inputs.size):
        target = INPUTS.at(targets.inputs[i])
        _copy(inputs.ctrl, target.ctrl)
        _copy(inputs.qfrc_applied, target.qfrc_applied)
        _copy(inputs.xfrc_applied, target.xfrc_applied)
        _copy(inputs.mocap_pos, target.mocap_pos)
        _copy(inputs.mocap_quat, target.mocap_quat)
        _copy(inputs.eq_active, target.eq_active)


@compiled_loop(types.void(types.int64, types.int64, types.int64, types.int64))
def hand_over(inputs_address: int, state_address: int, targets_address: int, valid: int) -> None:
    """See `hand_over_inputs`."""
    hand_over_inputs(
        INPUTS.at(inputs_address), STATE.at(state_address), TARGETS.at(targets_address), valid
    )


INPUT_KERNELS = (look, remember, write_state, hand_over)
"""What `Inputs` needs compiled."""
