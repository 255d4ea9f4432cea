"""Outputs of external systems, and their derivatives by forward differences (CENIC V-C).

Positions and velocities are displaced along the directions in which the system's efforts act, one
after the other. Dependence on anything else is explicit.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_p_status
from asperity.integrators.external.system_table import (
    CALL_SUCCEEDED,
    HELD,
)
from asperity.integrators.methods.motion import move_positions
from asperity.integrators.world_layout import NON_FINITE, OK, SYSTEM_FAILED
from asperity.plant.efforts import effort_jacobian

__all__ = ["first_bad", "linearise_system", "sample_system"]

_LARGEST = 1.7976931348623157e308

_RELATIVE_STEP = 2.0**-26
"""Of forward differences: the square root of the machine precision."""


@compiled
def _load(system: Table, state: Table) -> None:
    """Fill the arrays that a system sees."""
    system.time = state.time
    first = system.first_state
    for i in range(system.z.size):
        system.z[i] = state.system_state[first + i]
    source = state.qpos
    copy_numbers(source, system.qpos)
    source = state.qvel
    copy_numbers(source, system.qvel)


@compiled
def first_bad(values: np.ndarray) -> int:
    for i in range(values.size):
        if not abs(values[i]) <= _LARGEST:
            return i
    return -1


@compiled
def _call(system: Table) -> int:
    if call_p_status(system.call, system) != CALL_SUCCEEDED:
        return SYSTEM_FAILED
    system.bad_output = first_bad(system.output)
    system.bad_rate = first_bad(system.rate)
    if system.bad_output >= 0 or system.bad_rate >= 0:
        return NON_FINITE
    return OK


@compiled
def sample_system(plant: Table, system: Table, state: Table) -> int:
    """Outputs and rates at a state, and the efforts' Jacobians there."""
    if system.sampled_state == state.address and system.sampled_evaluation == state.evaluations:
        return OK
    system.sampled_state = 0
    first = system.first_effort
    for k in range(system.velocity.size):
        row = system.jacobian[k]
        for i in range(state.qvel.size):
            row[i] = 0.0
        effort_jacobian(plant, state, first + k, row)
        system.velocity[k] = 0.0
        system.squared_length[k] = 0.0
        for i in range(state.qvel.size):
            system.velocity[k] += row[i] * state.qvel[i]
            system.squared_length[k] += row[i] * row[i]
    if system.treatment != HELD:
        _load(system, state)
        code = _call(system)
        if code != OK:
            return code
        copy_numbers(system.output, system.output_now)
        copy_numbers(system.rate, system.rate_now)
    system.sampled_state = state.address
    system.sampled_evaluation = state.evaluations
    return OK


@compiled
def _difference(
    system: Table, outputs: np.ndarray, rates: np.ndarray, column: int, step: float
) -> None:
    """A column of forward differences from the present outputs and rates."""
    now = system.output_now
    for k in range(system.output.size):
        outputs[k, column] = (system.output[k] - now[k]) / step
    now = system.rate_now
    for k in range(system.rate.size):
        rates[k, column] = (system.rate[k] - now[k]) / step


@compiled
def _step_for(system: Table, value: float) -> float:
    step = system.difference
    return step if step > 0.0 else _RELATIVE_STEP * max(1.0, abs(value))


@compiled
def linearise_system(plant: Table, system: Table, state: Table) -> int:
    """Derivatives of outputs and rates at a state of which there are outputs."""
    if (
        system.linearised_state == state.address
        and system.linearised_evaluation == state.evaluations
    ):
        return OK
    system.linearised_state = 0
    qvel = system.qvel
    z = system.z
    _load(system, state)
    for b in range(system.velocity.size):
        if system.squared_length[b] == 0.0:
            for k in range(system.velocity.size):
                system.output_q[k, b] = 0.0
                system.output_v[k, b] = 0.0
            for k in range(z.size):
                system.rate_q[k, b] = 0.0
                system.rate_v[k, b] = 0.0
            continue
        step = _step_for(system, system.velocity[b])
        for i in range(qvel.size):
            qvel[i] += step * system.jacobian[b, i] / system.squared_length[b]
        code = _call(system)
        if code != OK:
            return code
        _difference(system, system.output_v, system.rate_v, b, step)
        # The velocity's array holds the direction for a moment.
        step = _step_for(system, 0.0)
        for i in range(qvel.size):
            qvel[i] = system.jacobian[b, i] / system.squared_length[b]
        move_positions(plant, system.qpos, qvel, step)
        copy_numbers(state.qvel, qvel)
        code = _call(system)
        if code != OK:
            return code
        _difference(system, system.output_q, system.rate_q, b, step)
        _load(system, state)
    for j in range(z.size):
        before = z[j]
        step = _step_for(system, before)
        z[j] = before + step
        code = _call(system)
        z[j] = before
        if code != OK:
            return code
        _difference(system, system.output_z, system.rate_z, j, step)
    system.linearised_state = state.address
    system.linearised_evaluation = state.evaluations
    return OK
