"""Find numbers in a model that no motion follows from, before they become a NaN in the state."""

from __future__ import annotations

from collections.abc import Callable, Collection

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.plant.model.model_view import remembered
from asperity.plant.model.names import element

__all__ = ["check_finite", "check_signs"]

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
_NOT_NEGATIVE: dict[mujoco.mjtObj, str] = {
    _OBJ.mjOBJ_BODY: "mass inertia",
    _OBJ.mjOBJ_DOF: "armature frictionloss",
    _OBJ.mjOBJ_GEOM: "size friction",
    _OBJ.mjOBJ_PAIR: "friction",
    _OBJ.mjOBJ_TENDON: "armature frictionloss",
    _OBJ.mjOBJ_ACTUATOR: "armature",
}
# How many numbers of their size shapes are made of.
_SIZES = {"SPHERE": 1, "CAPSULE": 2, "CYLINDER": 2, "ELLIPSOID": 3, "BOX": 3}
_OPTIONS = ("gravity", "wind", "density", "viscosity")


def check_finite(model: mujoco.MjModel) -> None:
    """Refuse numbers that no motion follows from.

    These are NaN and infinities, negative masses, inertias, sizes and coefficients of friction,
    shapes without size, and bodies that move and have no mass.

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
    check_signs(model)
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


def check_signs(model: mujoco.MjModel, fields: Collection[str] | None = None) -> None:
    """Refuse negative and missing masses and the like, in all arrays or in those of some names.

    Raises
    ------
    ModelError
        Naming the element and the attribute.
    """
    for kind, names in _NOT_NEGATIVE.items():
        for name in names.split():
            if fields is None or _array(kind, name) in fields:
                _check(model, kind, name, _not_negative, "is negative; set it to zero or more")
    if fields is None or "geom_size" in fields:
        _check_sizes(model)
    if fields is None or not {"body_mass", "body_inertia", "dof_armature"}.isdisjoint(fields):
        _check_masses(model)


def _array(kind: mujoco.mjtObj, name: str) -> str:
    """The array of a model that has an attribute of all elements of a kind."""
    return f"{_PREFIXES.get(kind) or kind.name.removeprefix('mjOBJ_').lower()}_{name}"


@remembered
def _check_sizes(model: mujoco.MjModel) -> None:
    """Refuse shapes without size."""
    for shape, count in _SIZES.items():
        of_shape = model.geom_type == int(getattr(mujoco.mjtGeom, f"mjGEOM_{shape}"))
        flat = of_shape & np.any(model.geom_size[:, :count] <= 0.0, axis=1)
        for geom in np.flatnonzero(flat):
            raise ModelError(
                f"{element(model, _OBJ.mjOBJ_GEOM, geom)} is a {shape.lower()} with a size of "
                f"zero: {model.geom_size[geom, :count].tolist()}; set all of it to positive "
                "numbers."
            )


@remembered
def _check_masses(model: mujoco.MjModel) -> None:
    """Refuse joints with nothing to move: no mass on the bodies beyond them, and no armature."""
    mass = np.array(model.body_mass)
    inertia = np.sum(model.body_inertia, axis=1)
    for body in range(model.nbody - 1, 0, -1):
        parent = model.body_parentid[body]
        mass[parent] += mass[body]
        inertia[parent] += inertia[body]
    of_dof, body = model.jnt_type[model.dof_jntid], model.dof_bodyid
    kinds = mujoco.mjtJoint
    hinge, ball, free = (
        of_dof == int(kind) for kind in (kinds.mjJNT_HINGE, kinds.mjJNT_BALL, kinds.mjJNT_FREE)
    )
    weightless, turnless = mass[body] == 0.0, inertia[body] == 0.0
    # A hinge beside a point mass turns it, all other rotations need an inertia.
    massless = np.where(hinge, weightless & turnless, np.where(ball, turnless, weightless))
    massless |= free & turnless
    for dof in np.flatnonzero(massless & (model.dof_armature == 0.0)):
        what = "mass" if mass[body[dof]] == 0.0 else "inertia"
        raise ModelError(
            f"{element(model, _OBJ.mjOBJ_BODY, body[dof])} moves and has no {what}; set "
            f"body_{what} to a positive number."
        )


def _not_nan(values: np.ndarray) -> np.ndarray:
    return ~np.isnan(values)


def _not_negative(values: np.ndarray) -> np.ndarray:
    return values >= 0.0


@remembered
def _check(
    model: mujoco.MjModel,
    kind: mujoco.mjtObj,
    name: str,
    valid: _Test,
    complaint: str = "is not finite; set it to a finite number",
) -> None:
    values = np.asarray(getattr(model, _array(kind, name)))
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
    raise ModelError(f"{element(model, owner, row)} has a value in '{name}' that {complaint}.")
