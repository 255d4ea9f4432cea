"""Which numbers of a model may differ from world to world, and why others may not.

Arrays of ``MjModel`` go by their names, options by ``"opt."`` and theirs.
"""

from __future__ import annotations

import difflib

import mujoco
import numpy as np

from asperity.errors import ArgumentError
from asperity.plant.model.model_watch import is_watched

__all__ = ["OPTION", "field_values", "template_of", "write_field"]

OPTION = "opt."
"""What names of options begin with."""

_OPTIONS = frozenset(
    {"gravity", "wind", "magnetic", "density", "viscosity", "o_margin", "o_friction"}
    | {"ccd_tolerance"}
)

# Of the other options, what they are; all others are of MuJoCo's solver.
_FLAGS = (
    "it decides about what the memory of all worlds is made for, which they share; make a Batch "
    "for each"
)
_IN_STEP = "all worlds take the same steps; make a Batch for each time step"
_MUJOCO_SOLVER = "it is an option of MuJoCo's solver or integrator, which Asperity does not run"
_SOFT = (
    "contacts and limits have the stiffness of ContactParameters, not MuJoCo's reference; vary "
    "'contact.stiffness' instead"
)
_REASONS = {
    "timestep": _IN_STEP,
    "disableflags": _FLAGS,
    "enableflags": _FLAGS,
    "disableactuator": _FLAGS,
    "cone": "it decides how forces are published, for all worlds alike",
    "jacobian": _FLAGS,
    "o_solref": _SOFT,
    "o_solimp": _SOFT,
    "sleep_tolerance": "nothing sleeps in a batch",
    "ccd_iterations": "it is a whole number of MuJoCo's collision detection, the same for all",
    "sdf_initpoints": "signed distance fields are not simulated",
    "sdf_iterations": "signed distance fields are not simulated",
}


_SOFT_FIELDS = (
    *("geom_solref", "geom_solimp", "geom_solmix", "eq_solref", "eq_solimp"),
    *("pair_solref", "pair_solreffriction", "pair_solimp"),
    *("jnt_solref", "jnt_solimp", "dof_solref", "dof_solimp"),
    *("tendon_solref_lim", "tendon_solimp_lim", "tendon_solref_fri", "tendon_solimp_fri"),
)
_DERIVED = (
    *("body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0", "dof_length"),
    *("tendon_invweight0", "actuator_acc0"),
)
_UNREAD = {
    **dict.fromkeys(
        _SOFT_FIELDS,
        "contacts, limits and equalities do not have MuJoCo's reference and impedance; vary "
        "'contact.stiffness' or 'contact.dissipation' instead",
    ),
    **dict.fromkeys(_DERIVED, "MuJoCo derives it from other fields; vary those, as 'body_mass'"),
    **dict.fromkeys(("geom_gap", "pair_gap"), "contacts within a gap exert no force"),
    **dict.fromkeys(("geom_rbound", "geom_aabb"), "it follows from sizes; vary 'geom_size'"),
}
"""Arrays that do not decide about the motion, and why."""


def field_values(model: mujoco.MjModel, name: str) -> np.ndarray:
    """A field's values in a model: the array itself, or of a number one without axes."""
    if name.startswith(OPTION):
        return np.asarray(getattr(model.opt, name.removeprefix(OPTION)))
    return np.asarray(getattr(model, name))


def write_field(model: mujoco.MjModel, name: str, values: np.ndarray) -> None:
    """Write a field's values into a model."""
    if not name.startswith(OPTION):
        getattr(model, name)[:] = values
    elif values.ndim == 0:
        setattr(model.opt, name.removeprefix(OPTION), float(values))
    else:
        getattr(model.opt, name.removeprefix(OPTION))[:] = values


def template_of(model: mujoco.MjModel, name: str, *, meshes: bool) -> np.ndarray:
    """The shared model's values of a field that may vary.

    Parameters
    ----------
    model : mujoco.MjModel
    name : str
    meshes : bool
        Whether vertices of meshes may.

    Raises
    ------
    ArgumentError
        If there is no such field, or it cannot vary.
    """
    if isinstance(name, str) and name.startswith(OPTION):
        _check_option(model, name)
        return field_values(model, name)
    if name == "mesh_vert":
        if not meshes:
            raise ArgumentError(
                "MjModel.mesh_vert can vary from world to world with Midas alone; others use what "
                "MuJoCo's compiler derives from meshes, which all worlds share."
            )
        return np.asarray(model.mesh_vert)
    fields = {
        field
        for field in dir(model)
        if not field.startswith("_")
        and is_watched(field)
        and getattr(getattr(model, field), "dtype", None) == np.float64
    }
    if name in _UNREAD:
        raise ArgumentError(f"MjModel.{name} cannot vary from world to world: {_UNREAD[name]}.")
    if name in fields:
        return np.asarray(getattr(model, name))
    if name == "opt":
        raise ArgumentError(
            f"options vary one by one, such as 'opt.gravity'; there are {_known()}."
        )
    if not isinstance(name, str) or not hasattr(model, name):
        near = difflib.get_close_matches(str(name), sorted(fields), 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ArgumentError(f"MjModel has no field {name!r}{hint}")
    raise ArgumentError(
        f"MjModel.{name} cannot vary from world to world: it is not an array of real numbers that "
        "enter the motion."
    )


def _check_option(model: mujoco.MjModel, name: str) -> None:
    option = name.removeprefix(OPTION)
    if option in _OPTIONS:
        return
    if not option or option.startswith("_") or not hasattr(model.opt, option):
        near = difflib.get_close_matches(option, sorted(_OPTIONS), 1)
        hint = f"; did you mean {OPTION + near[0]!r}?" if near else f"; there are {_known()}."
        raise ArgumentError(f"MjModel.opt has no option {option!r}{hint}")
    reason = _REASONS.get(option, _MUJOCO_SOLVER)
    raise ArgumentError(f"MjModel.{name} cannot vary from world to world: {reason}.")


def _known() -> str:
    return ", ".join(repr(OPTION + option) for option in sorted(_OPTIONS))
