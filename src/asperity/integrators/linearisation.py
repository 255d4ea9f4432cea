"""Outputs of external systems, and their derivatives by forward differences (CENIC V-C).

Positions and velocities change along the directions in which the system's efforts act, one after
the other, and nowhere else; what else the system depends on is explicit.
"""

from __future__ import annotations

from asperity.compiled import compiled
from asperity.compiled.calls import call_p_status, call_pppd
from asperity.integrators.layout import NON_FINITE, OK, SYSTEM_FAILED
from asperity.integrators.system_table import (
    BAD_OUTPUT,
    BAD_RATE,
    CALL_SUCCEEDED,
    HELD,
    LINEARISED,
    SAMPLED,
    SYSTEM,
)
from asperity.plant.efforts import effort_jacobian
from asperity.plant.layouts import PLANT, STATE, TIME

__all__ = ["first_bad", "linearise_system", "sample_system"]

_LARGEST = 1.7976931348623157e308

_RELATIVE_STEP = 2.0**-26
"""Of forward differences: the square root of the machine precision."""

_plant = PLANT.get
_state = STATE.get
_system = SYSTEM.get


@compiled
def _load(system, state):
    """Fill the arrays that a system sees."""
    _system(system, "time")[0] = _state(state, "reals")[TIME]
    z = _system(system, "z")
    first = _system(system, "first_state")
    states = _state(state, "system_state")
    for i in range(z.size):
        z[i] = states[first + i]
    qpos = _system(system, "qpos")
    source = _state(state, "qpos")
    for i in range(qpos.size):
        qpos[i] = source[i]
    qvel = _system(system, "qvel")
    source = _state(state, "qvel")
    for i in range(qvel.size):
        qvel[i] = source[i]


@compiled
def first_bad(values):
    for i in range(values.size):
        if not abs(values[i]) <= _LARGEST:
            return i
    return -1


@compiled
def _call(system):
    if call_p_status(_system(system, "call"), system) != CALL_SUCCEEDED:
        return SYSTEM_FAILED
    ints = _system(system, "ints")
    ints[BAD_OUTPUT] = first_bad(_system(system, "output"))
    ints[BAD_RATE] = first_bad(_system(system, "rate"))
    if ints[BAD_OUTPUT] >= 0 or ints[BAD_RATE] >= 0:
        return NON_FINITE
    return OK


@compiled
def _is_stamped(ints, which, state):
    return ints[which] == state and ints[which + 1] == _state(state, "ints")[1]


@compiled
def _stamp(ints, which, state):
    ints[which] = state
    ints[which + 1] = _state(state, "ints")[1]


@compiled
def sample_system(plant, system, state):
    """Outputs and rates at a state, and the efforts' Jacobians there."""
    ints = _system(system, "ints")
    if _is_stamped(ints, SAMPLED, state):
        return OK
    ints[SAMPLED] = 0
    jacobian = _system(system, "jacobian")
    squared = _system(system, "squared_length")
    velocity = _system(system, "velocity")
    qvel = _state(state, "qvel")
    first = _system(system, "first_effort")
    for k in range(velocity.size):
        row = jacobian[k]
        for i in range(qvel.size):
            row[i] = 0.0
        effort_jacobian(plant, state, first + k, row)
        velocity[k] = 0.0
        squared[k] = 0.0
        for i in range(qvel.size):
            velocity[k] += row[i] * qvel[i]
            squared[k] += row[i] * row[i]
    output = _system(system, "output_now")
    if _system(system, "treatment") != HELD:
        _load(system, state)
        code = _call(system)
        if code != OK:
            return code
        rate = _system(system, "rate_now")
        for k in range(output.size):
            output[k] = _system(system, "output")[k]
        for k in range(rate.size):
            rate[k] = _system(system, "rate")[k]
    _stamp(ints, SAMPLED, state)
    return OK


@compiled
def _difference(system, outputs, rates, column, step):
    """A column of forward differences from the present outputs and rates."""
    output = _system(system, "output")
    now = _system(system, "output_now")
    for k in range(output.size):
        outputs[k, column] = (output[k] - now[k]) / step
    rate = _system(system, "rate")
    now = _system(system, "rate_now")
    for k in range(rate.size):
        rates[k, column] = (rate[k] - now[k]) / step


@compiled
def _step_for(system, value):
    step = _system(system, "difference")
    return step if step > 0.0 else _RELATIVE_STEP * max(1.0, abs(value))


@compiled
def linearise_system(plant, system, state):
    """Derivatives of outputs and rates at a state of which there are outputs."""
    ints = _system(system, "ints")
    if _is_stamped(ints, LINEARISED, state):
        return OK
    ints[LINEARISED] = 0
    output_q = _system(system, "output_q")
    output_v = _system(system, "output_v")
    rate_q = _system(system, "rate_q")
    rate_v = _system(system, "rate_v")
    jacobian = _system(system, "jacobian")
    squared = _system(system, "squared_length")
    velocity = _system(system, "velocity")
    qpos = _system(system, "qpos")
    qvel = _system(system, "qvel")
    z = _system(system, "z")
    _load(system, state)
    for b in range(velocity.size):
        if squared[b] == 0.0:
            for k in range(velocity.size):
                output_q[k, b] = 0.0
                output_v[k, b] = 0.0
            for k in range(z.size):
                rate_q[k, b] = 0.0
                rate_v[k, b] = 0.0
            continue
        step = _step_for(system, velocity[b])
        for i in range(qvel.size):
            qvel[i] += step * jacobian[b, i] / squared[b]
        code = _call(system)
        if code != OK:
            return code
        _difference(system, output_v, rate_v, b, step)
        # The velocity's array holds the direction for a moment.
        step = _step_for(system, 0.0)
        for i in range(qvel.size):
            qvel[i] = jacobian[b, i] / squared[b]
        call_pppd(
            _plant(plant, "integrate_positions"),
            _plant(plant, "model"),
            qpos.ctypes.data,
            qvel.ctypes.data,
            step,
        )
        source = _state(state, "qvel")
        for i in range(qvel.size):
            qvel[i] = source[i]
        code = _call(system)
        if code != OK:
            return code
        _difference(system, output_q, rate_q, b, step)
        _load(system, state)
    for j in range(z.size):
        before = z[j]
        step = _step_for(system, before)
        z[j] = before + step
        code = _call(system)
        z[j] = before
        if code != OK:
            return code
        _difference(system, _system(system, "output_z"), _system(system, "rate_z"), j, step)
    _stamp(ints, LINEARISED, state)
    return OK
