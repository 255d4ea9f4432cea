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

if TYPE_CHECKING:
    from asperity.plant.plant import Plant

__all__ = ["may_rest", "sleep_hindrance", "wake"]

# What MuJoCo gives a tree that is to stay awake for as long as any does (mjMINAWAKE is 10).
_AWAKE = -11


@functools.cache
def _update() -> Callable[[int, int], None]:
    """``mj_updateSleep``, which Python's bindings do not have."""
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    return kind(native.function_address("mj_updateSleep"))


def wake(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Wake all trees, because MuJoCo looks for no contacts of those that sleep.

    They sleep in new data if a body has ``sleep="init"``, and after steps of MuJoCo's own.
    """
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP and (data.tree_asleep >= 0).any():
        data.tree_asleep[:] = _AWAKE
        _update()(model._address, data._address)


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
