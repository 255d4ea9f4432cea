"""A model's ``<custom>`` texts for Asperity, and velocity limits in them, which MuJoCo lacks.

::

    <text name="asperity:joint:elbow" data="velocity_limit=3"/>

`asperity.load_model` writes what a URDF says of joints and geoms into texts that are named
``asperity:loaded:joint:elbow`` and the like. Users may delete elements of what they have loaded:
then these texts say nothing, while their own would be in error. MuJoCo puts the prefix of an
attached model before the whole name, and before the names of elements.
"""

from __future__ import annotations

import glob
import math
from collections.abc import Iterator
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError

__all__ = ["OwnText", "own_texts", "velocity_limits"]

_OPTION = "velocity_limit"
_LOADED = "loaded:"
_ELEMENTS = {"joint": mujoco.mjtObj.mjOBJ_JOINT, "geom": mujoco.mjtObj.mjOBJ_GEOM}


class OwnText(NamedTuple):
    """A text named ``PREFIXasperity:KIND:ELEMENT``, or ``asperity`` alone.

    The element is a name or, of contact parameters, a glob.
    """

    name: str
    prefix: str
    kind: str
    element: str
    data: str


def own_texts(model: mujoco.MjModel) -> Iterator[OwnText]:
    """Texts that are for Asperity.

    Raises
    ------
    ModelError
        If one is not UTF-8.
    """
    for index in range(model.ntext):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_TEXT, index) or ""
        prefix, found, rest = name.partition("asperity:")
        if not found and name != "asperity":
            continue
        loaded = rest.startswith(_LOADED)
        kind, _, element = rest.removeprefix(_LOADED).partition(":")
        start = model.text_adr[index]
        data = bytes(model.text_data[start : start + model.text_size[index]]).split(b"\0")[0]
        prefix = prefix if found else ""
        if loaded and kind in _ELEMENTS:
            if mujoco.mj_name2id(model, _ELEMENTS[kind], prefix + element) < 0:
                continue
            if kind == "geom":  # a name, which is no glob
                prefix, element = "", glob.escape(prefix + element)
        try:
            yield OwnText(name, prefix, kind, element, data.decode())
        except UnicodeDecodeError:
            raise ModelError(
                f"<text name={name!r}>: {data!r} is not UTF-8; save the model's file as UTF-8."
            ) from None


def velocity_limits(model: mujoco.MjModel) -> NDArray[np.float64]:
    """Largest speed of every joint [rad/s or m/s], infinite without a limit, shape (njnt,).

    Raises
    ------
    ModelError
        If a text is about no hinge or slide, or says something else, naming it.
    """
    limits = np.full(model.njnt, np.inf)
    for text in own_texts(model):
        if text.kind != "joint":
            continue
        name = text.prefix + text.element
        joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        if joint < 0 or model.jnt_type[joint] < int(mujoco.mjtJoint.mjJNT_SLIDE):
            raise ModelError(f"<text name={text.name!r}>: no hinge or slide is named {name!r}.")
        key, _, value = text.data.partition("=")
        try:
            limits[joint] = float(value) if key.strip() == _OPTION else math.nan
        except ValueError:
            limits[joint] = math.nan
        if not limits[joint] > 0.0:
            raise ModelError(
                f"<text name={text.name!r}>: {text.data!r} is not {_OPTION} = a positive number "
                "[rad/s or m/s]."
            )
    return limits
