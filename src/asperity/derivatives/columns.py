"""Derivatives of the momentum balance by state and inputs, at a prescribed velocity.

Central differences of the evaluation alone: a displaced state is evaluated, its contacts are
matched with those of the state itself, the method prepares its problem there, and g is taken at the
same velocity. No problem is solved. Where contacts appear or vanish on one side of the state, the
difference is one-sided.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.calls import call_pp, call_pp_status, call_pppd, store_double
from asperity.derivatives.layout import (
    ACTIVATION,
    APPLIED,
    CONTROL,
    DERIVATIVE,
    DIRECTION,
    POSITION,
    VELOCITY,
)
from asperity.derivatives.matching import match_contacts, same_rows
from asperity.derivatives.residual import activations_after, prepare, residual
from asperity.integrators.world_layout import OK, WORLD
from asperity.plant.plant_layouts import OTHER_FORCES

__all__ = ["differences", "evaluate_motion", "restore", "write_input"]

_NEARER = 1e-2


@compiled
def write_input(array: np.ndarray, others: np.ndarray, index: int, value: float) -> None:
    """Write an input, also where a method evaluates intermediate states."""
    array[index] = value
    for address in others:
        store_double(address + 8 * index, value)


@compiled
def restore(work: Table, state: Table) -> None:
    """Put the state back; its snapshot is whatever it was."""
    for i in range(work.qpos.size):
        state.qpos[i] = work.qpos[i]
    for i in range(work.qvel.size):
        state.qvel[i] = work.qvel[i]
        write_input(state.mj_qfrc_applied, work.other_applied, i, work.applied[i])
    for i in range(work.act.size):
        state.act[i] = work.act[i]
    for i in range(work.ctrl.size):
        write_input(state.mj_ctrl, work.other_ctrl, i, work.ctrl[i])


@compiled
def evaluate_motion(world: Table, state: Table) -> int:
    """Evaluate a state of which only velocities or activations are other ones."""
    plant = world.plant
    for i in range(state.qvel.size):
        state.mj_qvel[i] = state.qvel[i]
    for i in range(state.act.size):
        state.mj_act[i] = state.act[i]
    if not plant.only_free_bodies:
        call_pp(plant.forward_velocity, plant.model, state.data)
        for i in range(state.work.passive_force.size):
            state.work.passive_force[i] = state.mj_qfrc_passive[i] - state.mj_qfrc_bias[i]
    state.valid = OTHER_FORCES
    return call_pp_status(world.evaluate, plant, state)


@compiled
def _displace(world: Table, work: Table, kind: int, index: int, size: float) -> int:
    """Displace one coordinate of the current state, and evaluate it there."""
    plant = world.plant
    state = world.current
    restore(work, state)
    if kind in (POSITION, DIRECTION):
        nv = work.displacement.size
        for i in range(nv):
            work.displacement[i] = 0.0
            if kind == DIRECTION:
                work.displacement[i] = size * work.directions[index, i]
                state.qvel[i] += size * work.directions[index, nv + i]
        if kind == POSITION:
            work.displacement[index] = size
        else:
            for i in range(state.act.size):
                state.act[i] += size * work.directions[index, 2 * nv + i]
        call_pppd(
            plant.integrate_positions,
            plant.model,
            state.qpos.ctypes.data,
            work.displacement.ctypes.data,
            1.0,
        )
        state.valid = 0
        return call_pp_status(world.evaluate, plant, state)
    if kind == VELOCITY:
        state.qvel[index] += size
    elif kind == ACTIVATION:
        state.act[index] += size
    elif kind == CONTROL:
        write_input(state.mj_ctrl, work.other_ctrl, index, work.ctrl[index] + size)
    elif kind == APPLIED:
        write_input(state.mj_qfrc_applied, work.other_applied, index, work.applied[index] + size)
    if kind in (CONTROL, APPLIED):
        state.valid = OTHER_FORCES
        return call_pp_status(world.evaluate, plant, state)
    return evaluate_motion(world, state)


@compiled
def _side(
    world: Table, work: Table, kind: int, index: int, size: float, step: float, side: int
) -> int:
    """Fill one side of a difference; −1 if there contacts or rows are others."""
    code = _displace(world, work, kind, index, size)
    if code != OK:
        return code
    state = world.current
    same = same_rows(work, state)
    if kind in (POSITION, DIRECTION) and same:
        same = match_contacts(work, state)
    if not same:
        return -1
    code = prepare(world, state, step)
    if code != OK:
        return code
    out = work.sides[side]
    residual(world, work, state, step, out)
    activations_after(world, work, state, step, out)
    return OK


_I = types.int64
_F = types.float64


@compiled_loop(_I(_I, _I, _F, _I, _I, _I, _F))
def differences(
    world_address: int,
    work_address: int,
    step: float,
    kind: int,
    count: int,
    row: int,
    size: float,
) -> int:
    """Fill rows of ``columns``, from ``row``, by all coordinates of a kind.

    ``sides[0]`` has what belongs to the state itself. Afterwards the current state is that again,
    and its evaluation that of a displaced one.
    """
    world = WORLD.at(world_address)
    work = DERIVATIVE.at(work_address)
    state = world.current
    width = work.sides.shape[1]
    result = OK
    for index in range(count):
        reach = size
        ahead = _side(world, work, kind, index, reach, step, 1)
        behind = _side(world, work, kind, index, -reach, step, 2)
        if ahead < OK and behind < OK:
            # Nearer to the state the sets may be the same.
            reach = _NEARER * size
            ahead = _side(world, work, kind, index, reach, step, 1)
            behind = _side(world, work, kind, index, -reach, step, 2)
        if ahead > OK or behind > OK:
            result = max(ahead, behind)
            break
        first = work.sides[1]
        last = work.sides[2]
        scale = 0.5 / reach
        if ahead < OK and behind < OK:
            work.unmatched += 1
            scale = 0.0
        elif ahead < OK:
            work.one_sided += 1
            first = work.sides[0]
            scale = 1.0 / reach
        elif behind < OK:
            work.one_sided += 1
            last = work.sides[0]
            scale = 1.0 / reach
        for i in range(width):
            work.columns[row + index, i] = scale * (first[i] - last[i])
    restore(work, state)
    # Of positions the snapshot is to be made anew; else what does not depend on them stays.
    state.valid = 0
    if kind != POSITION and result == OK:
        result = evaluate_motion(world, state)
    world.graph_state = 0
    return result
