"""MuJoCo's sleeping trees, which are woken: here every body is simulated at every step."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import mujoco

from asperity.plant import native

__all__ = ["wake"]

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
