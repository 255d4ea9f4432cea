"""What a simulator is given, checked before anything is made of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco

from asperity.arguments import as_number, is_count, is_flag
from asperity.compiled.team import available_threads
from asperity.errors import ArgumentError
from asperity.integrators import Cenic, Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.contact_texts import parameters_of_model
from asperity.plant.model.material import COLUMNS
from asperity.plant.model.names import listed
from asperity.plant.model.support import check_supported
from asperity.systems import ExternalSystem

__all__ = [
    "check_arguments",
    "check_contact",
    "check_count",
    "check_history",
    "check_integrator",
    "check_model",
    "check_stiction_tolerance",
    "check_threads",
    "contact_notes",
    "find_keyframe",
    "reads_contact",
    "reset_data",
]

_DISSIPATION = frozenset(("dissipation", "relaxation_time"))
# Arrays of MjData with a row for every element of a kind: they tell whether it belongs to a model.
_SIZES = {
    "qpos": "nq",
    "qvel": "nv",
    "act": "na",
    "ctrl": "nu",
    "mocap_pos": "nmocap",
    "eq_active": "neq",
    "xpos": "nbody",
    "geom_xpos": "ngeom",
    "site_xpos": "nsite",
    "cam_xpos": "ncam",
    "light_xpos": "nlight",
    "ten_length": "ntendon",
    "sensordata": "nsensordata",
    "userdata": "nuserdata",
    "plugin_state": "npluginstate",
}


def check_arguments(model: mujoco.MjModel, data: Any, control: Any, systems: Any) -> None:
    """Refuse data of another model, a control that is no function and systems that are no list.

    Raises
    ------
    ArgumentError
        Which names the argument.
    """
    if control is not None and not callable(control):
        raise ArgumentError(
            f"control must be a function of (model, data), got {control!r}; constant controls are "
            "written to data.ctrl, or passed to simulate as ctrl."
        )
    if isinstance(systems, ExternalSystem | str) or not isinstance(systems, Sequence):
        raise ArgumentError(f"systems must be a list of external systems, got {systems!r}.")
    if data is None:
        return
    if not isinstance(data, mujoco.MjData):
        raise ArgumentError(f"data must be a mujoco.MjData, got {type(data).__name__}.")
    for name, size in _SIZES.items():
        rows, wanted = len(getattr(data, name)), int(getattr(model, size))
        if rows != wanted:
            raise ArgumentError(
                f"data belongs to another model: data.{name} has {rows} rows and the model needs "
                f"{wanted}; make it with mujoco.MjData(model)."
            )


def check_contact(contact: Any) -> ContactParameters:
    """Contact parameters as users give them; those of the model for None."""
    contact = ContactParameters() if contact is None else contact
    if not isinstance(contact, ContactParameters):
        hint = "ContactParameters(stiffness=1e5)"
        if isinstance(contact, dict) and all(isinstance(name, str) for name in contact):
            hint = f"ContactParameters({', '.join(f'{n}={v!r}' for n, v in contact.items())})"
        raise ArgumentError(
            f"contact must be ContactParameters, got {type(contact).__name__}; write {hint}."
        )
    return contact


def reads_contact(integrator: Integrator, name: str) -> bool:
    """Whether a contact parameter plays a part, perhaps in the place of an integrator's option."""
    return name in integrator.contact_parameters or name in vars(integrator)


def contact_notes(
    contact: ContactParameters, integrator: Integrator, model: mujoco.MjModel
) -> tuple[str, ...]:
    """A sentence on what is given of contact, also in the model, and plays no part, if anything."""
    materials = [
        material
        for source in (contact, parameters_of_model(model))
        for material in (
            source,
            *source.geoms.values(),
            *source.bodies.values(),
            *source.pairs.values(),
        )
    ]
    given = {name for name in COLUMNS for one in materials if getattr(one, name) is not None}
    given -= integrator.judged_contact_parameters
    unread = sorted(name for name in given if not reads_contact(integrator, name))
    # Dissipation may be given in both of its forms, of which a method reads one.
    if given >= _DISSIPATION and len(_DISSIPATION.intersection(unread)) == 1:
        unread = [name for name in unread if name not in _DISSIPATION]
    if not unread:
        return ()
    kind, known = type(integrator).__name__, sorted(integrator.contact_parameters & set(COLUMNS))
    return (
        f"{kind} does not read {listed(unread)}; of contact parameters it reads {listed(known)}.",
    )


def check_history(history: Any) -> int | bool:
    """How many attempted steps to remember; True for as many as usual."""
    if is_flag(history):
        return bool(history)
    return check_count("history", history)


def check_integrator(integrator: Any, *, many: bool = False) -> Integrator:
    """An integrator as users give it; ``Cenic()`` for None, and anything else is refused.

    So is one that lets bodies sleep, of ``many`` worlds.
    """
    integrator = Cenic() if integrator is None else integrator
    if not isinstance(integrator, Integrator):
        raise ArgumentError(
            f"integrator must be an asperity integrator such as Cenic(), got {integrator!r}."
        )
    if many and getattr(integrator, "sleep", None):
        raise ArgumentError(
            "sleep=True is for one simulator; nothing sleeps in many worlds. Omit it."
        )
    return integrator


def check_model(
    model: mujoco.MjModel, integrator: Integrator, *, many: bool = False
) -> tuple[str, ...]:
    """Refuse a model that an integrator cannot simulate, or not as one of many worlds.

    Returns
    -------
    tuple of str
        Sentences about what is ignored or treated differently than MuJoCo would.

    Raises
    ------
    ModelError
        Which names what is not supported.
    """
    sleeps = integrator.takes_sleep and getattr(integrator, "sleep", None) is not False
    starts_asleep = sleeps or integrator.starts_asleep
    return check_supported(
        model,
        integrator=type(integrator).__name__,
        every_actuator=integrator.takes_every_actuator,
        every_friction=integrator.takes_every_friction,
        asks_mujoco=integrator.make_method().base.evaluates_plant,
        no_flexes=integrator.no_flexes,
        sleep=sleeps and not many,
        starts_asleep=starts_asleep and not many,
    )


def check_stiction_tolerance(tolerance: Any, integrator: Integrator) -> float:
    """A ``joint_stiction_tolerance``, refused unless it is positive; the integrator's for None."""
    if tolerance is None:
        return integrator.default_joint_stiction_tolerance
    value = as_number("joint_stiction_tolerance", tolerance)
    if not (math.isfinite(value) and value > 0):
        raise ArgumentError(f"joint_stiction_tolerance must be positive, got {value}.")
    return value


def check_count(name: str, value: Any) -> int:
    """A positive whole number, by the name of the argument."""
    if not (is_count(value) and value >= 1):
        raise ArgumentError(f"{name} must be a positive whole number, got {value!r}.")
    return int(value)


def check_threads(threads: int | None, kind: str, *, shared: bool) -> int:
    """How many threads the steps of an integrator of some kind get.

    Parameters
    ----------
    threads : int or None
        What was asked for; None for as many as this process may run at once.
    kind : str
        Name of the integrator.
    shared : bool
        Whether it has work for more than one.

    Raises
    ------
    ArgumentError
        If it is no positive whole number, or more than one where there is no work for others.
    """
    if threads is None:
        return available_threads() if shared else 1
    if not (is_count(threads) and threads > 0):
        raise ArgumentError(f"threads must be a positive whole number or None, got {threads!r}.")
    if threads > 1 and not shared:
        raise ArgumentError(f"{kind} runs on one thread; omit threads={threads}.")
    return int(threads)


def reset_data(model: mujoco.MjModel, data: mujoco.MjData, key: int | None) -> None:
    """Put an MjData into the initial state of the model, or into that of a keyframe."""
    if key is None:
        mujoco.mj_resetData(model, data)
    else:
        mujoco.mj_resetDataKeyframe(model, data, key)


def find_keyframe(model: mujoco.MjModel, keyframe: int | str) -> int:
    """Index of a keyframe given by name or number.

    Raises
    ------
    ArgumentError
        If it does not exist.
    """
    if isinstance(keyframe, str) and not (keyframe.isascii() and keyframe.isdigit()):
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, keyframe)
        if index < 0:
            raise ArgumentError(f"keyframe {keyframe!r} does not exist; {_keyframes(model)}.")
        return index
    if not isinstance(keyframe, str) and not is_count(keyframe):
        raise ArgumentError(f"keyframe must be a name or a number, got {keyframe!r}.")
    index = int(keyframe)
    if not 0 <= index < model.nkey:
        raise ArgumentError(f"keyframe {index} does not exist; {_keyframes(model)}.")
    return index


def _keyframes(model: mujoco.MjModel) -> str:
    """The keyframes that there are, by number and name."""
    if model.nkey == 0:
        return "the model has none"
    named = [(i, model.key(i).name) for i in range(model.nkey)]
    names = ", ".join(f"{i} ({name!r})" if name else str(i) for i, name in named)
    if model.nkey > 2 and not any(name for _, name in named):
        names = f"0 to {model.nkey - 1}"
    return f"the model has {model.nkey} keyframe{'s' if model.nkey > 1 else ''}, {names}"
