"""Parameters of the elasticity of deformable bodies."""

from __future__ import annotations

import threading

import mujoco
import numpy as np

from asperity.derivatives.parameters.parameters import Parameter
from asperity.errors import ArgumentError, ModelError

__all__ = ["flex_elasticity"]

# What MuJoCo makes of them.
_ARRAYS = (
    *("flex_stiffness", "flex_bending", "flex_damping", "flex_edgestiffness", "flex_edgedamping"),
)
# Displacements, that of Poisson's ratio absolute. Moduli are fitted to forces
# (`elastic_constants`), whose round-off must be small beside what a displacement changes. The
# balance is linear in all numbers but Poisson's ratio.
_RELATIVE, _POISSON = 1e-3, 1e-4
_NAMES = ("young", "poisson", "damping", "edgestiffness", "edgedamping")


def flex_elasticity(spec: mujoco.MjSpec, flex: str, *names: str) -> list[Parameter]:
    """Numbers of a flex's elasticity, which MjModel only has in what follows from them.

    Parameters
    ----------
    spec : mujoco.MjSpec
        Of which the model has been compiled. It is copied.
    flex : str
        Name of the flex.
    *names : str
        ``"young"`` [Pa], ``"poisson"``, ``"damping"`` [s], ``"edgestiffness"`` [N/m] or
        ``"edgedamping"`` [N s/m], as in `mujoco.MjsFlex`.

    Returns
    -------
    list of Parameter
        In the order of the names. All of them belong into the same `Transition`. Limits of yield
        are `model_number`'s, ``("flex_yield", (flex, 0))``.

    Raises
    ------
    ArgumentError
        If there is no such flex or number.
    ModelError
        When a parameter is written into a model that was not compiled of the spec.
    """
    found = [one for one in spec.flexes if one.name == flex]
    if not found:
        raise ArgumentError(f"the spec has no flex {flex!r}; give a name that it has.")
    for name in names:
        if name not in _NAMES:
            raise ArgumentError(f"{name!r} is no number of a flex; use {', '.join(_NAMES)}.")
    elasticity = _Elasticity(spec, flex)
    return [elasticity.parameter(name, float(getattr(found[0], name))) for name in names]


class _Elasticity:
    """What is compiled anew when one of the numbers is another one.

    Every thread has a spec of its own, as each writes all numbers of a model one after the other.
    """

    def __init__(self, spec: mujoco.MjSpec, flex: str) -> None:
        self._spec = spec.copy()
        self._flex = flex
        self._own = threading.local()

    def parameter(self, name: str, value: float) -> Parameter:
        size = _POISSON if name == "poisson" else _RELATIVE * value or None

        def write(target: mujoco.MjModel, value: float) -> None:
            self._write(target, name, value)

        return Parameter(f"{name} of {self._flex}", value, write, size=size)

    def _write(self, target: mujoco.MjModel, name: str, value: float) -> None:
        own = self._own
        if not hasattr(own, "spec"):
            own.spec = self._spec.copy()
        (flex,) = [one for one in own.spec.flexes if one.name == self._flex]
        setattr(flex, name, value)
        compiled = own.spec.compile()
        number = mujoco.mj_name2id(compiled, mujoco.mjtObj.mjOBJ_FLEX, self._flex)
        for array in _ARRAYS:
            new, old = getattr(compiled, array), getattr(target, array)
            if new.shape != old.shape:
                raise ModelError(
                    f"the model's {array} has {old.size} numbers, and that of the spec with flex "
                    f"{self._flex!r} has {new.size}; compile the model of this spec."
                )
            part = _part(compiled, array, number)
            old[part] = new[part]


def _part(model: mujoco.MjModel, array: str, flex: int) -> slice:
    """Where an array has the numbers of a flex."""
    if array not in ("flex_stiffness", "flex_bending"):
        return slice(flex, flex + 1)
    starts = np.array(getattr(model, f"{array}adr"))
    first = int(starts[flex])
    if first < 0:
        return slice(0, 0)
    after = starts[starts > first]
    return slice(first, int(after.min()) if len(after) else None)
