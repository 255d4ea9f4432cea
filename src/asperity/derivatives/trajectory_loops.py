"""Steps and trajectories with their derivatives in compiled code: one implicit step after another.

A step that cannot be taken ends the loop with its code, and its number tells where to go on.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_p_status
from asperity.contact.delivered import SOLVED
from asperity.derivatives.balance.displacement import begin_anew
from asperity.derivatives.balance.flow import plastic_after
from asperity.derivatives.layout import DERIVATIVE
from asperity.derivatives.stages import call_stage, differentiate, fill_columns
from asperity.integrators.methods.motion import move_positions
from asperity.integrators.results import keep_results
from asperity.integrators.world_layout import OK, WORLD
from asperity.plant.trees import move_origins, turn_by_themselves, turn_origins
from asperity.soft.twists import turn_edges

__all__ = [
    "TRAJECTORY_LOOPS",
    "deliver_step",
    "follow_trajectory",
    "linear_step",
    "pull_back_trajectory",
]


@compiled
def _open(world: Table, work: Table) -> None:
    """Take over the world's solver and applied forces, before the first step."""
    start = work.start
    root = work.root
    root.solver = world.solve_problem
    work.one_sided = 0
    work.unmatched = 0
    copy_numbers(world.current.mj_qfrc_applied, start.applied)


@compiled
def _begin(world: Table, work: Table, row: np.ndarray, control: np.ndarray) -> None:
    """Let a step begin in a state (qpos, qvel, act, plastic), whatever was solved before."""
    start = work.start
    nq = start.qpos.size
    nv = start.qvel.size
    for i in range(nq):
        start.qpos[i] = row[i]
    for i in range(nv):
        start.qvel[i] = row[nq + i]
    na = start.act.size
    for i in range(na):
        start.act[i] = row[nq + nv + i]
    for i in range(start.plastic.size):
        start.plastic[i] = row[nq + nv + na + i]
    copy_numbers(control, start.ctrl)
    begin_anew(world, work)


@compiled
def _end(world: Table, work: Table, step: float, row: np.ndarray) -> None:
    """Write the end of the step that has been solved."""
    start = work.start
    plant = world.plant
    nq = start.qpos.size
    nv = start.qvel.size
    for i in range(nq):
        row[i] = start.qpos[i]
    for i in range(nv):
        velocity = work.velocity[i]
        row[nq + i] = work.ends.velocity[i] if work.ends.acts == 1 else velocity
        work.mean[i] = step * (work.share * velocity + (1.0 - work.share) * start.qvel[i])
    move_positions(plant, row, work.mean, 1.0)
    move_origins(plant, 0, plant.ntree, start.qpos, work.mean, 1.0, row)
    turn_origins(plant, 0, plant.ntree, start.qpos, row, row[nq:])
    turn_edges(plant.elastic, world.current, row)
    for i in range(nq):
        work.end[i] = row[i]
    plastic_after(world, work, 0, work.sides[0])
    for i in range(start.act.size + start.plastic.size):
        row[nq + nv + i] = work.sides[0, nv + i]


@compiled
def _close(world: Table, work: Table) -> None:
    """Leave the world as it was for whoever solves in it."""
    world.solve_problem = work.root.solver
    world.factors_valid = 0
    world.graph_state = 0


@compiled
def _take_step(world: Table, work: Table, step: float, number: int, end: np.ndarray) -> int:
    """Solve a step from a state that `_begin` has written, and fill its end and ``result``.

    ``number`` is as of `differentiate`; with 0 there are no derivatives.
    """
    code = call_stage(work.find_root, world, work, step, 0)
    if code == OK:
        _end(world, work, step, end)
        if number != 0:
            code = differentiate(world, work, step, number, True)
    if code == OK and number != 0 and work.kinks > 0 and (number < 0 or work.ahead == 1):
        code = call_stage(work.follow_one_side, world, work, step, number)
    _close(world, work)
    return int(code)


_I = types.int64
_F = types.float64
_F2 = types.Array(_F, 2, "C")
_F3 = types.Array(_F, 3, "C")


@compiled_loop(_I(_I, _I, _F, _I, _F2, _F2, _F3))
def follow_trajectory(
    world_address: int,
    work_address: int,
    step: float,
    first: int,
    controls: np.ndarray,
    states: np.ndarray,
    changes: np.ndarray,
) -> int:
    """Fill ``states`` from number ``first`` on, and ``changes``, (n+1, tangent_size, directions).

    Returns how many steps were taken in all; ``code`` says why there are no more.
    """
    world = WORLD.at(world_address)
    work = DERIVATIVE.at(work_address)
    count = changes.shape[2]
    _open(world, work)
    for k in range(first, controls.shape[0]):
        for j in range(count):
            for i in range(changes.shape[1]):
                work.directions[j, i] = changes[k, i, j]
        _begin(world, work, states[k], controls[k])
        work.code = _take_step(world, work, step, -count, states[k + 1])
        if work.code != OK:
            return k
        for i in range(changes.shape[1]):
            for j in range(count):
                changes[k + 1, i, j] = work.result[i, j]
    return int(controls.shape[0])


_F1 = types.Array(_F, 1, "C")


@compiled_loop(_I(_I, _I, _F, _I, _F1, _F1))
def linear_step(
    world_address: int,
    work_address: int,
    step: float,
    parameters: int,
    row: np.ndarray,
    end: np.ndarray,
) -> int:
    """Take one step from a state with the inputs that there are, and fill ``result``.

    Its ``end`` and ``result`` are filled if the code that is returned is `OK`.
    """
    world = WORLD.at(world_address)
    work = DERIVATIVE.at(work_address)
    count = work.result.shape[0] + work.start.ctrl.size + parameters
    _open(world, work)
    _begin(world, work, row, world.current.mj_ctrl)
    return int(_take_step(world, work, step, count, end))


@compiled_loop(_I(_I, _I, _F, _F1))
def deliver_step(world_address: int, work_address: int, step: float, row: np.ndarray) -> int:
    """Solve a step from a state with the inputs that there are, and deliver its results."""
    world = WORLD.at(world_address)
    work = DERIVATIVE.at(work_address)
    state = world.current
    _open(world, work)
    _begin(world, work, row, state.mj_ctrl)
    code = call_stage(work.find_root, world, work, step, 0)
    if code == OK:
        # The law has been evaluated at the root last.
        velocity = work.velocity.copy()
        turn_by_themselves(world.plant, state.qpos, step, velocity)
        keep_results(world, state, state.qvel, velocity, step)
        code = call_p_status(world.deliver, world)
        world.delivered.origin = SOLVED
    _close(world, work)
    return int(code)


@compiled_loop(_I(_I, _I, _F, _I, _F2, _F2, _F2, _F1, _F2, _F1))
def pull_back_trajectory(
    world_address: int,
    work_address: int,
    step: float,
    last: int,
    controls: np.ndarray,
    states: np.ndarray,
    by_states: np.ndarray,
    adjoint: np.ndarray,
    by_control: np.ndarray,
    by_parameter: np.ndarray,
) -> int:
    """Let the adjoint go backward through the steps before state ``last``.

    Returns how many steps are left; ``code`` says why they are.
    """
    world = WORLD.at(world_address)
    work = DERIVATIVE.at(work_address)
    _open(world, work)
    size = adjoint.size
    nu = work.start.ctrl.size
    parameters = by_parameter.size
    count = size + nu + parameters
    end = np.zeros(states.shape[1])
    for k in range(last - 1, -1, -1):
        _begin(world, work, states[k], controls[k])
        work.code = call_stage(work.find_root, world, work, step, 0)
        if work.code == OK:
            _end(world, work, step, end)
            work.code = fill_columns(world, work, step, count, True)
        if work.code == OK:
            copy_numbers(adjoint, work.adjoint)
            work.code = call_stage(work.pull_back, world, work, step, count)
        _close(world, work)
        if work.code != OK:
            return k + 1
        for i in range(size):
            adjoint[i] = by_states[k, i] + work.pulled[i]
        for i in range(nu):
            by_control[k, i] += work.pulled[size + i]
        for i in range(parameters):
            by_parameter[i] += work.pulled[size + nu + i]
    return 0


TRAJECTORY_LOOPS = (deliver_step, follow_trajectory, linear_step, pull_back_trajectory)
