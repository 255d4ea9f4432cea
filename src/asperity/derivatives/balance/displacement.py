"""Displaced states: one coordinate, or a direction, of the current state, its inputs included."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_pp, call_pp_status, store_double
from asperity.derivatives.layout import (
    ACTIVATION,
    CONTROL,
    DIRECTION,
    POSITION,
    VELOCITY,
)
from asperity.integrators.methods.motion import move_positions
from asperity.plant.plant_layouts import OTHER_FORCES

__all__ = [
    "begin_anew",
    "displace",
    "evaluate_inputs",
    "evaluate_motion",
    "largest_change",
    "moves",
    "restore",
    "size_of",
]


@compiled
def _write_input(array: np.ndarray, others: np.ndarray, index: int, value: float) -> None:
    """Write an input, also where a method evaluates intermediate states."""
    array[index] = value
    for address in others:
        store_double(address + 8 * index, value)


@compiled
def restore(start: Table, inputs: Table, state: Table) -> None:
    """Put the state back; its snapshot is whatever it was."""
    copy_numbers(start.qpos, state.qpos)
    for i in range(start.qvel.size):
        state.qvel[i] = start.qvel[i]
        _write_input(state.mj_qfrc_applied, inputs.other_applied, i, start.applied[i])
    copy_numbers(start.act, state.act)
    copy_numbers(start.plastic, state.plastic)
    for i in range(start.ctrl.size):
        _write_input(state.mj_ctrl, inputs.other_ctrl, i, start.ctrl[i])


@compiled
def begin_anew(world: Table, work: Table) -> None:
    """Let a step begin in the state that is kept, whatever was solved before."""
    restore(work.start, work.inputs, world.current)
    world.current.valid = 0
    # As `World.forget_history`: implicit steps remember nothing else.
    world.has_history = 0
    world.tried = 0.0
    world.current.tension[:] = np.nan
    world.factors_valid = 0
    world.graph_state = 0
    world.problem.graph.components = -1


@compiled
def moves(kind: int) -> bool:
    """Whether a displacement of this kind is one of positions."""
    return kind in (POSITION, DIRECTION)


@compiled
def largest_change(work: Table, index: int) -> float:
    """The largest change of a coordinate along a direction, or 1 if there is none."""
    largest = 0.0
    for i in range(work.directions.shape[1]):
        largest = max(largest, abs(work.directions[index, i]))
    return largest if largest > 0.0 else 1.0


@compiled
def size_of(work: Table, kind: int, index: int, sizes: tuple[float, float, float]) -> float:
    """The displacement of a coordinate: of positions, velocities or inputs.

    That of positions is also the largest one of a direction.
    """
    if kind == DIRECTION:
        return sizes[0] / largest_change(work, index)
    if kind == POSITION:
        return sizes[0]
    if kind == VELOCITY:
        return sizes[1]
    return sizes[2]


@compiled
def displace(world: Table, work: Table, kind: int, index: int, size: float) -> None:
    """Displace one coordinate of the current state, which is not evaluated.

    ``displacement`` has the change of positions, if it is one.
    """
    inputs = work.inputs
    start = work.start
    plant = world.plant
    state = world.current
    restore(start, inputs, state)
    if moves(kind):
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
            for i in range(state.plastic.size):
                state.plastic[i] += size * work.directions[index, 2 * nv + state.act.size + i]
        move_positions(plant, state.qpos, work.displacement, 1.0)
    elif kind == VELOCITY:
        state.qvel[index] += size
    elif kind == ACTIVATION:
        state.act[index] += size
    elif kind == CONTROL:
        _write_input(state.mj_ctrl, inputs.other_ctrl, index, start.ctrl[index] + size)


@compiled
def evaluate_inputs(world: Table, kind: int) -> int:
    """Evaluate a state of which all but positions is displaced."""
    state = world.current
    if kind == CONTROL:
        state.valid = OTHER_FORCES
        return call_pp_status(world.evaluate, world.plant, state)
    return evaluate_motion(world, state)


@compiled
def evaluate_motion(world: Table, state: Table) -> int:
    """Evaluate a state of which only velocities or activations are other ones."""
    plant = world.plant
    copy_numbers(state.qvel, state.mj_qvel)
    copy_numbers(state.act, state.mj_act)
    if not plant.only_free_bodies:
        call_pp(plant.mujoco.forward_velocity, plant.smooth_model, state.data)
        for i in range(state.work.passive_force.size):
            state.work.passive_force[i] = state.mj_qfrc_passive[i] - state.mj_qfrc_bias[i]
    state.valid = OTHER_FORCES
    return call_pp_status(world.evaluate, plant, state)
