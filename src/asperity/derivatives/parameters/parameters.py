"""Parameters of models and contacts by which motion is differentiated."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from asperity.arguments import as_number
from asperity.derivatives.parameters.same_frames import SAME_FRAMES, tell_frames_apart
from asperity.errors import ArgumentError, ModelError
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.material import COLUMNS
from asperity.plant.model.names import element

__all__ = [
    "Parameter",
    "apply_parameters",
    "are_finite",
    "are_never_copied",
    "body_mass",
    "changed_fields",
    "contact_parameter",
    "contact_with",
    "model_number",
    "refuse_simple_bodies",
    "write_parameters",
]


@dataclass(frozen=True)
class Parameter:
    """One number on which a motion depends.

    `model_number`, `body_mass`, `contact_parameter` and `flex_elasticity` make the usual ones. For
    parameters that change several numbers at once, such as lengths of links, write a function
    ``set_in_model``.

    Attributes
    ----------
    name : str
    value : float
        At which derivatives are taken.
    set_in_model : callable, optional
        ``set_in_model(model, value)`` writes the parameter into an MjModel. It must not depend on
        what other parameters write.
    contact_field : str, optional
        Instead of that, the field of `ContactParameters` that it is, for all contacts without a
        value of their own.
    size : float, optional
        Displacement of differences, to both sides; for lengths take 3e-8. By default it is a
        millionth of the value, not less than 1e-9, and to the larger side alone, because motions
        are nearly linear in masses, coefficients and gains.
    """

    name: str
    value: float
    set_in_model: Callable[[mujoco.MjModel, float], None] | None = None
    contact_field: str | None = None
    size: float | None = None

    def __post_init__(self) -> None:
        value = as_number(f"parameter {self.name!r}", self.value)
        if not math.isfinite(value):
            raise ArgumentError(f"parameter {self.name!r} must be finite, got {value}.")
        if (self.set_in_model is None) == (self.contact_field is None):
            raise ArgumentError(
                f"parameter {self.name!r} needs one of set_in_model and contact_field; body_mass, "
                "contact_parameter and model_number make parameters."
            )
        if self.contact_field is not None and self.contact_field not in COLUMNS:
            raise ArgumentError(
                f"contact_field {self.contact_field!r} is unknown; use one of "
                f"{', '.join(sorted(COLUMNS))}."
            )

    @property
    def displacement(self) -> float:
        """Displacement of differences."""
        return max(1e-6 * abs(self.value), 1e-9) if self.size is None else self.size


def model_number(
    model: mujoco.MjModel, field: str, index: int | tuple[int, ...], *, size: float | None = None
) -> Parameter:
    """A number of an array of MjModel, such as ``("geom_friction", (geom, 0))``.

    Raises
    ------
    ArgumentError
        If there is no such array of real numbers, or no such entry.
    """
    array = getattr(model, field, None)
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise ArgumentError(
            f"MjModel has no array {field!r} of real numbers; name one, such as 'dof_damping'."
        )
    try:
        value = array[index]
    except IndexError as error:
        raise ArgumentError(
            f"MjModel.{field} has no entry {index}; its shape is {array.shape}."
        ) from error
    if np.ndim(value) != 0:
        raise ArgumentError(f"{index} of MjModel.{field} is an array; name one number of it.")

    def write(target: mujoco.MjModel, value: float) -> None:
        getattr(target, field)[index] = value

    label = index if isinstance(index, tuple) else (index,)
    return Parameter(f"{field}{list(label)}", float(value), write, size=size)


def body_mass(model: mujoco.MjModel, body: int | str) -> Parameter:
    """The mass of a body [kg], whose inertia is proportional to it."""
    try:
        number = int(model.body(body).id)
    except (KeyError, IndexError) as error:
        raise ArgumentError(
            f"the model has no body {body!r}; give a name or number that it has."
        ) from error
    mass = float(model.body_mass[number])
    if mass <= 0.0:
        raise ArgumentError(f"body {body!r} has no mass to vary; name a body with a mass.")
    inertia = np.array(model.body_inertia[number]) / mass

    def write(target: mujoco.MjModel, value: float) -> None:
        target.body_mass[number] = value
        target.body_inertia[number] = value * inertia

    return Parameter(f"mass of {model.body(number).name or number}", mass, write)


def contact_parameter(field: str, value: float) -> Parameter:
    """A field of `ContactParameters`, of all contacts without a value of their own."""
    return Parameter(field, value, contact_field=field)


def apply_parameters(
    model: mujoco.MjModel,
    contact: ContactParameters,
    parameters: Sequence[Parameter],
    values: np.ndarray,
) -> tuple[mujoco.MjModel, ContactParameters]:
    """A copy of the model, and contact parameters, with other values of the parameters."""
    model = copy.copy(model)
    write_parameters(model, parameters, values)
    return model, contact_with(contact, parameters, values)


def contact_with(
    contact: ContactParameters, parameters: Sequence[Parameter], values: np.ndarray
) -> ContactParameters:
    """Contact parameters with other values of those that are among the parameters."""
    for parameter, value in zip(parameters, values, strict=True):
        if parameter.contact_field is not None:
            change: dict[str, Any] = {parameter.contact_field: float(value)}
            contact = replace(contact, **change)
    return contact


# Arrays of MjModel that MuJoCo reads anew in every step, and of which Asperity has no copies but
# those of `Plant.read_inertias`.
_NEVER_COPIED = (
    *("body_mass", "body_inertia", "body_ipos", "body_iquat", "body_subtreemass"),
    *("body_invweight0", "dof_invweight0", "dof_M0", "actuator_acc0", "tendon_invweight0"),
    *("dof_length", "bvh_aabb", "geom_friction", "pair_friction"),
    *SAME_FRAMES,
)


def are_finite(model: mujoco.MjModel) -> bool:
    """Whether all numbers are finite that parameters change and that are never copied."""
    return all(bool(np.all(np.isfinite(getattr(model, field)))) for field in _NEVER_COPIED)


def changed_fields(model: mujoco.MjModel, parameter: Parameter) -> frozenset[str]:
    """Names of the arrays of MjModel that a parameter changes; none, of contact parameters."""
    if parameter.set_in_model is None:
        return frozenset()
    before, after = copy.copy(model), copy.copy(model)
    write_parameters(before, [parameter], np.array([parameter.value]))
    moved = np.array([parameter.value + parameter.displacement])
    write_parameters(after, [parameter], moved)
    return frozenset(
        field
        for field in dir(model)
        if not field.startswith("_")
        and isinstance(getattr(model, field), np.ndarray)
        and not np.array_equal(getattr(before, field), getattr(after, field))
    )


def refuse_simple_bodies(model: mujoco.MjModel, parameters: Sequence[Parameter]) -> None:
    """Raise a `ModelError` if a parameter moves the inertial frame of a simple body.

    The mass matrix of a body with ``body_simple`` has no place for another centre of mass or other
    axes than the body's own.
    """
    for parameter in parameters:
        if parameter.set_in_model is None:
            continue
        frames = []
        for value in (parameter.value, parameter.value + parameter.displacement):
            other = copy.copy(model)
            parameter.set_in_model(other, float(value))
            frames.append(np.concatenate([other.body_ipos, other.body_iquat], axis=1))
        moved = np.any(frames[0] != frames[1], axis=1)
        for body in np.flatnonzero(moved & (model.body_simple != 0)):
            raise ModelError(
                f"parameter {parameter.name!r} moves the inertial frame of "
                f"{element(model, mujoco.mjtObj.mjOBJ_BODY, body)}, which MuJoCo has compiled as "
                'simple; give this body simple="false" in its MJCF, or in its MjSpec.'
            )


def are_never_copied(model: mujoco.MjModel, parameters: Sequence[Parameter]) -> bool:
    """Whether parameters change nothing of the model of which a simulation has copies."""
    return all(changed_fields(model, one) <= frozenset(_NEVER_COPIED) for one in parameters)


def write_parameters(
    model: mujoco.MjModel,
    parameters: Sequence[Parameter],
    values: np.ndarray,
    data: mujoco.MjData | None = None,
) -> None:
    """Write those parameters that are the model's into it, with an MjData to work in."""
    for parameter, value in zip(parameters, values, strict=True):
        if parameter.set_in_model is not None:
            parameter.set_in_model(model, float(value))
    if any(parameter.set_in_model is not None for parameter in parameters):
        # Masses of subtrees follow those of bodies.
        mujoco.mj_setConst(model, mujoco.MjData(model) if data is None else data)
        tell_frames_apart(model)
