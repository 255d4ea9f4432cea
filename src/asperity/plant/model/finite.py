"""Find numbers in a model that are not finite, before they become a NaN in the state."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.plant.model.names import element

__all__ = ["check_finite"]

_OBJ = mujoco.mjtObj
_Test = Callable[[np.ndarray], np.ndarray]

# Everything that enters the motion. Ranges are apart: there an infinity means "no limit".
_VALUES: dict[mujoco.mjtObj, str] = {
    _OBJ.mjOBJ_BODY: "mass inertia pos quat ipos iquat gravcomp",
    _OBJ.mjOBJ_JOINT: "pos axis stiffness stiffnesspoly margin",
    _OBJ.mjOBJ_DOF: "damping dampingpoly armature frictionloss",
    _OBJ.mjOBJ_GEOM: "pos quat size friction margin gap fluid",
    _OBJ.mjOBJ_SITE: "pos quat",
    _OBJ.mjOBJ_PAIR: "friction margin gap",
    _OBJ.mjOBJ_TENDON: "stiffness stiffnesspoly damping dampingpoly armature frictionloss "
    "lengthspring margin",
    _OBJ.mjOBJ_ACTUATOR: "gear gainprm biasprm dynprm damping dampingpoly armature cranklength",
    _OBJ.mjOBJ_EQUALITY: "data",
    _OBJ.mjOBJ_KEY: "qpos qvel act",
}
_RANGES: dict[mujoco.mjtObj, str] = {
    _OBJ.mjOBJ_JOINT: "range actfrcrange",
    _OBJ.mjOBJ_TENDON: "range actfrcrange",
    _OBJ.mjOBJ_ACTUATOR: "forcerange actrange ctrlrange",
}
_PREFIXES = {_OBJ.mjOBJ_JOINT: "jnt", _OBJ.mjOBJ_EQUALITY: "eq"}
_OPTIONS = ("gravity", "wind", "density", "viscosity")


def check_finite(model: mujoco.MjModel) -> None:
    """Refuse NaN and infinities in the numbers that enter the motion.

    Raises
    ------
    ModelError
        Naming the element and the attribute.
    """
    if not (np.isfinite(model.opt.timestep) and model.opt.timestep > 0):
        raise ModelError(
            f"Option timestep is {model.opt.timestep}; set it to a positive number of seconds."
        )
    for name in _OPTIONS:
        if not np.all(np.isfinite(getattr(model.opt, name))):
            raise ModelError(f"Option {name} is not finite; set it to finite numbers.")
    for kind, names in _VALUES.items():
        for name in names.split():
            _check(model, kind, name, np.isfinite)
    for kind, names in _RANGES.items():
        for name in names.split():
            _check(model, kind, name, _not_nan)
    for name in ("qpos0", "qpos_spring"):
        for row in np.flatnonzero(~np.isfinite(getattr(model, name))):
            joint = int(np.searchsorted(model.jnt_qposadr, row, side="right")) - 1
            raise ModelError(
                f"{element(model, _OBJ.mjOBJ_JOINT, joint)} has a value in {name} that is not "
                "finite; set it to a finite number."
            )


def _not_nan(values: np.ndarray) -> np.ndarray:
    return ~np.isnan(values)


def _check(model: mujoco.MjModel, kind: mujoco.mjtObj, name: str, valid: _Test) -> None:
    prefix = _PREFIXES.get(kind) or kind.name.removeprefix("mjOBJ_").lower()
    values = np.asarray(getattr(model, f"{prefix}_{name}"))
    good = valid(values)
    if np.all(good):
        return
    row = int(np.argwhere(~good)[0, 0])
    owner = kind
    if kind == _OBJ.mjOBJ_DOF:
        owner, row = _OBJ.mjOBJ_JOINT, int(model.dof_jntid[row])
    elif name == "gear":
        row = int(np.searchsorted(model.actuator_outadr, row, side="right")) - 1
    elif name == "ctrlrange":
        row = int(np.searchsorted(model.actuator_ctrladr, row, side="right")) - 1
    raise ModelError(
        f"{element(model, owner, row)} has a value in '{name}' that is not finite; set it to a "
        "finite number."
    )
