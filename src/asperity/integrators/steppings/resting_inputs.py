"""What a user changes between two calls, and what of it wakes trees at rest or puts them there.

A change of the state, of a mocap body or of an equality wakes everything, other applied forces the
island on which they act. Trees that a reset has put to sleep (``sleep="init"``) rest where they
are, in the air or in a floor, until something wakes them, as in MuJoCo.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop, entry_point
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_p_status
from asperity.integrators.world_layout import OK, WORLD
from asperity.plant.resting import forget_positions, wake_all, wake_group
from asperity.plant.resting_layout import RESTING

__all__ = ["heed_changes", "put_to_rest", "remember", "wake_changed"]


@compiled
def put_to_rest(world: Table, source: Table, target: Table, tree: int) -> None:
    """Let a tree rest in a target state where it is in a source."""
    plant, current = world.plant, world.current
    resting = RESTING.at(world.resting)
    trees = plant.trees
    resting.at_rest[tree] = 1
    resting.count += 1
    resting.listed = 0
    for i in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
        target.qvel[i] = 0.0
        world.result.acceleration[i] = 0.0
        resting.applied[i] = current.mj_qfrc_applied[i]
    start = resting.qpos_start[tree]
    for i in range(start, start + resting.qpos_size[tree]):
        target.qpos[i] = source.qpos[i]
    for body in range(trees.body[tree], trees.body[tree] + trees.bodies[tree]):
        for a in range(6):
            resting.body_applied[body, a] = current.mj_xfrc_applied[body, a]


@compiled
def _differ(a: np.ndarray, b: np.ndarray) -> bool:
    for i in range(a.size):  # noqa: SIM110
        if a[i] != b[i]:
            return True
    return False


@compiled
def _poses_differ(resting: Table) -> bool:
    """Whether mocap bodies or equalities are other ones."""
    known = resting.poses
    k = 0
    for i in range(resting.mocap_pos.shape[0]):
        for a in range(3):
            if known[k] != resting.mocap_pos[i, a]:
                return True
            k += 1
        for a in range(4):
            if known[k] != resting.mocap_quat[i, a]:
                return True
            k += 1
    return _differ(resting.active, resting.eq_active)


@entry_point(types.int64(WORLD.type))
def remember(world: Table) -> int:
    """Remember what a user may change before the next call."""
    _remember(world, RESTING.at(world.resting))
    return OK


@compiled
def _remember(world: Table, resting: Table) -> None:
    state = world.current
    resting.time = state.time
    copy_numbers(state.qpos, resting.qpos)
    copy_numbers(state.qvel, resting.qvel)
    k = 0
    for i in range(resting.mocap_pos.shape[0]):
        for a in range(3):
            resting.poses[k] = resting.mocap_pos[i, a]
            k += 1
        for a in range(4):
            resting.poses[k] = resting.mocap_quat[i, a]
            k += 1
    copy_numbers(resting.eq_active, resting.active)


@compiled
def _force_differs(plant: Table, state: Table, resting: Table, tree: int) -> bool:
    """Whether a user applies other forces to a tree at rest than when it came to rest."""
    trees = plant.trees
    for i in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
        if state.mj_qfrc_applied[i] != resting.applied[i]:
            return True
    for body in range(trees.body[tree], trees.body[tree] + trees.bodies[tree]):
        for a in range(6):
            if state.mj_xfrc_applied[body, a] != resting.body_applied[body, a]:
                return True
    return False


@entry_point(types.int64(WORLD.type))
def wake_changed(world: Table) -> int:
    """Wake what a user has changed since `remember`: all where the state or a pose is another one.

    Positions in MjData may be other ones, too.
    """
    resting = RESTING.at(world.resting)
    forget_positions(resting)
    if resting.count > 0:
        _wake_changed(world, resting)
    if resting.starts == 1:
        _start_asleep(world, resting)
    return OK


@compiled_loop(types.int64(WORLD.type))
def heed_changes(world: Table) -> int:
    """See `wake_changed`."""
    return call_p_status(RESTING.at(world.resting).wake_changed, world)


@compiled
def _wake_changed(world: Table, resting: Table) -> None:
    state = world.current
    if (
        state.time != resting.time
        or _differ(state.qpos, resting.qpos)
        or _differ(state.qvel, resting.qvel)
        or _poses_differ(resting)
    ):
        wake_all(resting)
        state.valid = 0
        return
    for tree in range(resting.at_rest.size):
        if resting.at_rest[tree] == 1 and _force_differs(world.plant, state, resting, tree):
            resting.horizon[tree] = 0.0
            wake_group(resting, tree)
            state.valid = 0


@compiled
def _start_asleep(world: Table, resting: Table) -> None:
    """Let rest, until something wakes it, what is to start asleep."""
    for tree in range(resting.at_rest.size):
        if resting.starts_in[tree] >= 0:
            put_to_rest(world, world.current, world.current, tree)
            resting.group[tree] = resting.starts_in[tree]
            resting.until[tree] = np.inf
            resting.horizon[tree] = 0.0
    resting.starts = 0
    world.current.valid = 0
    _remember(world, resting)
