"""Options of one's own on a user's model, without a change to it that others could see."""

from __future__ import annotations

import ctypes

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.plant import native

__all__ = ["OwnOptions"]


class OwnOptions:
    """Lends a user's model with options that may be changed.

    Switching ``model.opt.disableflags`` for a moment would be seen by whoever else steps the same
    model meanwhile. A copy of the model would hold all its meshes, and be outdated as soon as the
    user changes a field. What is lent here is a second C struct that points to the same arrays::

        with own_options as lent:
            lent.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
            mujoco.mj_forward(lent, data)

    MuJoCo's functions take it for the model, with the options that are set on its ``opt``. Its
    other attributes in Python must not be used: they are those of an empty model, which it is
    again after the block.

    Parameters
    ----------
    model : mujoco.MjModel or int
        Or the address of a struct that its owner keeps alive.
    """

    def __init__(self, model: mujoco.MjModel | int) -> None:
        self._model = model
        self._lent = mujoco.MjModel.from_xml_string("<mujoco/>")
        self._size = native.struct_size("mjModel")
        # Back in place after every block, so that destroying it frees what it owns itself.
        self._own = ctypes.string_at(self._lent._address, self._size)

    def replace(self, field: str, values: NDArray[np.generic]) -> None:
        """Within a block, let an array of what is lent be another one of the same type and shape.

        The caller keeps ``values`` alive until the block's end.
        """
        at = self._lent._address + native.offset("mjModel", field)
        ctypes.c_void_p.from_address(at).value = values.ctypes.data

    def __enter__(self) -> mujoco.MjModel:
        model = self._model
        address = model if isinstance(model, int) else model._address
        ctypes.memmove(self._lent._address, address, self._size)
        return self._lent

    def __exit__(self, *_: object) -> None:
        ctypes.memmove(self._lent._address, self._own, self._size)
