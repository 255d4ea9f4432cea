"""Evaluate states, move them by a velocity, and compare them."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import (
    call_pp_status,
    call_ppdpp,
    call_ppndpn_address,
    call_pppd,
    call_pppdpn,
    load_double,
)
from asperity.compiled.team import over_ranges
from asperity.integrators.world_layout import OK, SHARE_SIGNATURE
from asperity.plant.asked_actuators import activation_growth
from asperity.plant.model.actuation import set_asked_servos
from asperity.plant.muscles import activation_after
from asperity.plant.plant_layouts import GLIDING, STATE, VALID
from asperity.plant.trees import move_origins, turn_origins, velocity_of_trees

__all__ = [
    "FEWEST_TREES",
    "advance_activations",
    "ensure_evaluated",
    "evaluate_for",
    "integrate_positions",
    "move_by_solution",
    "move_positions",
    "move_trees",
    "position_difference",
]

FEWEST_TREES = 16
"""Trees that are worth a thread's while, where they take about a tenth of a microsecond each."""

# Over a step size, one that is not the same but for round-off.
_LONGER = 1.0 + 1e-6


@compiled
def ensure_evaluated(world: Table, state: Table) -> int:
    """Evaluate a state unless its snapshot is valid."""
    if state.valid == VALID:
        return OK
    return call_pp_status(world.evaluate, world.plant, state)


@compiled
def evaluate_for(world: Table, state: Table, step: float) -> int:
    """Evaluate the state from which a step of this size begins, unless its snapshot is valid."""
    if state.gliding != 0 and step > _LONGER * state.step:
        gliding = GLIDING.at(state.gliding)
        if gliding.glides == 1 or gliding.looks_ahead == 1:
            # Contacts were looked for no farther than a shorter step leads.
            state.valid = 0
    state.step = step
    code = ensure_evaluated(world, state)
    if code == OK:
        # A valid snapshot may be of another step.
        set_asked_servos(world.plant, state)
    return code


@compiled
def move_positions(plant: Table, qpos: np.ndarray, qvel: np.ndarray, step: float) -> None:
    """``qpos = qpos ⊕ step · qvel``."""
    call_pppd(
        plant.mujoco.integrate_positions,
        plant.model,
        qpos.ctypes.data,
        qvel.ctypes.data,
        step,
    )


@compiled
def integrate_positions(
    plant: Table, source: Table, target: Table, qvel: np.ndarray, step: float
) -> None:
    """Move by a mean velocity; the target's snapshot becomes invalid.

    That velocity and the target's ``qvel`` belong to the source's configuration. Afterwards
    ``qvel`` belongs to the target's (`asperity.plant.trees`).
    """
    copy_numbers(source.qpos, target.qpos)
    move_positions(plant, target.qpos, qvel, step)
    move_origins(plant, 0, plant.ntree, source.qpos, qvel, step, target.qpos)
    turn_origins(plant, 0, plant.ntree, source.qpos, target.qpos, target.qvel)
    target.time = source.time + step
    target.valid = 0


@entry_point(SHARE_SIGNATURE)
def move_trees(world: Table, first: int, last: int, _unused: int) -> int:
    """`move_by_solution` of some trees."""
    plant = world.plant
    trees = plant.trees
    source = STATE.at(world.shared_source)
    target = STATE.at(world.shared_target)
    at_rest = world.problem.guess.at_rest
    while first < last:
        end = first
        while end < last and at_rest[end] == at_rest[first]:
            end += 1
        begin = trees.start[first]
        final = trees.start[end - 1] + trees.size[end - 1] - 1
        if at_rest[first] == 1:
            for i in range(begin, final + 1):
                target.qvel[i] = 0.0
            first = end
            continue
        velocity = world.problem.iterate.velocity
        velocity_of_trees(plant, source.cdof, velocity, first, end, target.qvel)
        # MuJoCo leaves out the first of a list of bodies, the world.
        body = plant.dofs.body[begin] - 1
        call_pppdpn(
            plant.mujoco.integrate_some_positions,
            plant.model,
            target.qpos.ctypes.data,
            target.qvel.ctypes.data,
            world.shared_step,
            plant.bodies.number.ctypes.data + 4 * body,
            plant.dofs.body[final] + 1 - body,
        )
        move_origins(plant, first, end, source.qpos, target.qvel, world.shared_step, target.qpos)
        turn_origins(plant, first, end, source.qpos, target.qpos, target.qvel)
        first = end
    return OK


@compiled
def move_by_solution(world: Table, source: Table, target: Table, step: float) -> None:
    """Give the target the solution's velocities, and the positions to which they lead."""
    copy_numbers(source.qpos, target.qpos)
    world.shared_source = source.address
    world.shared_target = target.address
    world.shared_step = step
    over_ranges(world.team, world.move_trees, world.address, world.plant.ntree, FEWEST_TREES, False)
    target.time = source.time + step
    target.valid = 0


@compiled
def _followed(plant: Table, source: Table, i: int, room: int) -> float:
    """The control that an activation follows now: of a delayed one, what was given before.

    MuJoCo writes to ``room`` what it interpolates, and otherwise says where the number is.
    """
    which = plant.actuators.act_input[i]
    if which[1] < 0:
        return source.mj_ctrl[which[0]]
    read = plant.mujoco.read_control
    found = call_ppndpn_address(
        read, plant.model, source.data, which[1], source.time, room, which[2]
    )
    return load_double(found if found != 0 else room)


@compiled
def _slewed(plant: Table, source: Table, i: int, step: float) -> float:
    """A set-point that moves to its control, and not beyond; it stays where it may not move."""
    if plant.actuators.act_time_constant[i] == 0.0:
        return source.act[i]
    control = source.mj_ctrl[plant.actuators.act_input[i, 0]]
    goal = min(max(control, plant.actuators.act_range[i, 0]), plant.actuators.act_range[i, 1])
    most = step * plant.actuators.act_time_constant[i]
    return source.act[i] + min(max(goal - source.act[i], -most), most)


@compiled
def advance_activations(plant: Table, source: Table, target: Table, step: float) -> None:
    """Advance the actuators' activations from the source's rates.

    Filters and muscles follow a constant control exactly, however long the step. Where MuJoCo is
    asked for slopes, by an exponential step of Euler's (`asperity.plant.asked_actuators`), exact
    for currents, temperatures and, at constant velocity, bristles.
    """
    actuators = plant.actuators
    for i in range(source.act.size):
        if actuators.act_kind[i] == 3:
            target.act[i] = _slewed(plant, source, i, step)
            continue
        if actuators.act_kind[i] == 4:
            before = source.act[i]
            control = _followed(plant, source, i, target.act.ctypes.data + 8 * i)
            value = activation_after(actuators.act_muscle[i], before, control, step)
        elif actuators.act_kind[i] == 2:
            growth = activation_growth(step, source.act_slope[i])
            value = source.act[i] + source.act_dot[i] * growth
        elif actuators.act_kind[i] == 1:
            value = source.act[i] + source.act_dot[i] * actuators.act_time_constant[i] * (
                1.0 - np.exp(-step / actuators.act_time_constant[i])
            )
        else:
            value = source.act[i] + step * source.act_dot[i]
        target.act[i] = min(max(value, actuators.act_range[i, 0]), actuators.act_range[i, 1])


@compiled
def position_difference(plant: Table, first: Table, second: Table, out: np.ndarray) -> None:
    """``out = second.qpos ⊖ first.qpos`` in the tangent space."""
    call_ppdpp(
        plant.mujoco.differentiate_positions,
        plant.model,
        out.ctypes.data,
        1.0,
        first.qpos.ctypes.data,
        second.qpos.ctypes.data,
    )
