"""Which trees may sleep, and MuJoCo's own sleeping trees, which are woken.

What is at rest is known to the world (`asperity.plant.resting`). MuJoCo looks for no contacts of
trees that sleep in its data, and refuses those that it is given.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from asperity.plant import native
from asperity.plant.model.kinematic_trees import tendon_trees
from asperity.plant.model.names import element, listed

if TYPE_CHECKING:
    from asperity.plant.plant import Plant

__all__ = [
    "SLEEP",
    "awake_data",
    "awake_notes",
    "may_rest",
    "sleep_hindrance",
    "starts_asleep",
    "trees_to_start_asleep",
    "wake",
]

SLEEP = int(mujoco.mjtEnableBit.mjENBL_SLEEP)
"""The model's flag."""

# What MuJoCo gives a tree that is to stay awake for as long as any does (mjMINAWAKE is 10).
_AWAKE = -11


@functools.cache
def _update() -> Callable[[int, int], None]:
    """``mj_updateSleep``, which Python's bindings do not have."""
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    return kind(native.function_address("mj_updateSleep"))


def wake(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray | None:
    """Wake all trees, because MuJoCo looks for no contacts of those that sleep.

    They sleep in new data if a body has ``sleep="init"``, and after steps of MuJoCo's own.

    Returns
    -------
    ndarray or None
        `starts_asleep` before, if anything was asleep.
    """
    if not (model.opt.enableflags & SLEEP and (data.tree_asleep >= 0).any()):
        return None
    found = starts_asleep(model, data)
    data.tree_asleep[:] = _AWAKE
    _update()(model._address, data._address)
    return found


def awake_data(model: mujoco.MjModel) -> mujoco.MjData:
    """New data of a model, with nothing asleep."""
    data = mujoco.MjData(model)
    wake(model, data)
    return data


def trees_to_start_asleep(model: mujoco.MjModel) -> np.ndarray:
    """Trees that a model wants to start asleep (``sleep="init"``), increasing."""
    asked = bool(model.opt.enableflags & SLEEP)
    policy = int(mujoco.mjtSleepPolicy.mjSLEEP_INIT)
    return np.flatnonzero((model.tree_sleep_policy == policy) & asked)


def awake_notes(model: mujoco.MjModel) -> tuple[str, ...]:
    """What is said of bodies that start awake though they should not."""
    bodies = model.tree_bodyadr[trees_to_start_asleep(model)]
    names = [element(model, mujoco.mjtObj.mjOBJ_BODY, int(i)) for i in bodies]
    said = f'Bodies that would start asleep (sleep="init") start awake: {listed(names)}.'
    return (said,) if names else ()


def starts_asleep(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Islands of trees that are as a reset has put them to sleep: int64, shape (ntree,).

    An island goes by its first tree; -1 stands for trees that are awake. As in MuJoCo, another
    position, a velocity or an applied force wakes an island.
    """
    sleeps = np.zeros(model.ntree, bool)
    sleeps[trees_to_start_asleep(model)] = True
    sleeps &= data.tree_asleep >= 0
    sizes = np.diff(np.append(model.jnt_qposadr, model.nq))
    of_position = np.repeat(model.body_treeid[model.jnt_bodyid], sizes)
    busy = (
        of_position[data.qpos != model.qpos0],
        model.dof_treeid[(data.qvel != 0.0) | (data.qfrc_applied != 0.0)],
        model.body_treeid[data.xfrc_applied.any(axis=1)],
    )
    for trees in busy:
        sleeps[trees[trees >= 0]] = False
    islands = np.full(model.ntree, -1, np.int64)
    for tree in range(model.ntree):
        island = [tree]
        # Trees that sleep together are a ring.
        while sleeps[island[-1]] and (other := int(data.tree_asleep[island[-1]])) != tree:
            island.append(other)
        if sleeps[island].all():
            islands[tree] = min(island)
    return islands


def may_rest(model: mujoco.MjModel) -> np.ndarray:
    """Which kinematic trees may ever be at rest: bool, shape (ntree,).

    Not those whose policy forbids it, nor any that an actuator acts on, or a tendon that joins it
    with others: such forces change with time, or wake nobody.
    """
    policy = mujoco.mjtSleepPolicy
    allowed = [int(policy.mjSLEEP_AUTO_ALLOWED)]
    if model.nactuator == 0:
        allowed += [int(policy.mjSLEEP_ALLOWED), int(policy.mjSLEEP_INIT)]
    found = np.isin(model.tree_sleep_policy, allowed)
    for tendon in range(model.ntendon):
        trees = list(tendon_trees(model, tendon))
        if len(trees) > 1:
            found[trees] = False
    return found


def sleep_hindrance(plant: Plant) -> str | None:
    """What there is in a model that keeps everything awake, or None."""
    model = plant.model
    if plant.fields.any:
        return "pressure fields"
    if model.nflex > 0:
        return "deformable bodies"
    if model.nplugin > 0:
        return "plugins"
    if len(plant.table.trees.size) != model.ntree:
        return "tendons that join several bodies"
    return "adhesion" if plant.table.has_adhesion else None
