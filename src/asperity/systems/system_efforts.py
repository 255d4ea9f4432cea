"""Which efforts external systems exert: dofs and actuators, limits, and what may be coupled."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from asperity.errors import ArgumentError
from asperity.plant.efforts import Efforts
from asperity.plant.model.servos import force_limits, joint_of
from asperity.systems.base import ExternalSystem

__all__ = ["resolve_efforts"]

_NO_LIMIT = 1e300


def resolve_efforts(
    model: mujoco.MjModel, systems: Sequence[ExternalSystem], *, coupled: bool = True
) -> tuple[Efforts, list[int]]:
    """Efforts of all systems in their order, and where each system's begin (one more than systems).

    Without ``coupled`` every effort stays by itself, whatever its system says.

    Raises
    ------
    ArgumentError
        If a joint or actuator does not exist or cannot be commanded, or a limit is unusable.
    """
    dofs: list[int] = []
    actuators: list[int] = []
    limits: list[tuple[float, float]] = []
    groups: list[int] = []
    start = [0]
    commanded: dict[int, str] = {}
    for number, system in enumerate(systems):
        own_dofs = system.dofs(model)
        own_actuators = system.actuator_ids(model)
        for i in own_actuators:
            _check_actuator(model, system, i)
            if i in commanded:
                name = model.actuator(i).name
                raise ArgumentError(
                    f"{system.label}: actuator {name!r} is already commanded by {commanded[i]}; "
                    "an actuator takes one command."
                )
            commanded[i] = system.label
        own_limits = [_joint_limits(model, dof) for dof in own_dofs]
        own_limits += [force_limits(model, i) for i in own_actuators]
        own_limits = _narrowed(system, own_limits)
        members = _coupled(model, system, own_dofs, own_actuators) if coupled else set()
        count = len(own_limits)
        dofs += own_dofs + [-1] * len(own_actuators)
        actuators += [-1] * len(own_dofs) + own_actuators
        limits += own_limits
        groups += [number if k in members else -1 for k in range(count)]
        start.append(start[-1] + count)
    return Efforts(tuple(dofs), tuple(actuators), tuple(limits), tuple(groups)), start


def _joint_limits(model: mujoco.MjModel, dof: int) -> tuple[float, float]:
    joint = int(model.dof_jntid[dof])
    one_dof = int(model.jnt_type[joint]) >= int(mujoco.mjtJoint.mjJNT_SLIDE)
    if one_dof and model.jnt_actfrclimited[joint]:
        low, high = model.jnt_actfrcrange[joint]
        return float(low), float(high)
    return -_NO_LIMIT, _NO_LIMIT


def _check_actuator(model: mujoco.MjModel, system: ExternalSystem, i: int) -> None:
    name = model.actuator(i).name
    if model.actuator_outnum[i] != 1:
        raise ArgumentError(
            f"{system.label}: actuator {name!r} has several outputs; command joints."
        )
    joint = joint_of(model, i)
    if joint >= 0 and model.jnt_actfrclimited[joint]:
        others = [j for j in range(len(model.actuator_gaintype)) if joint_of(model, j) == joint]
        if len(others) > 1:
            raise ArgumentError(
                f"{system.label}: joint {model.joint(joint).name!r} limits the sum of several "
                f"actuators, one of which is {name!r}; remove actuatorfrcrange or the others."
            )


def _narrowed(
    system: ExternalSystem, limits: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """The model's limits within which the system's own hold as well."""
    if system.effort_limit is None:
        return limits
    try:
        own = np.asarray(system.effort_limit, dtype=np.float64)
        if own.ndim < 2:
            size = np.broadcast_to(own, len(limits))
            own = np.stack([-size, size], axis=1)
        own = np.broadcast_to(own, (len(limits), 2))
    except ValueError:
        raise ArgumentError(
            f"{system.label}: effort_limit must be a number, {len(limits)} numbers or as many "
            f"pairs, got {system.effort_limit!r}."
        ) from None
    if np.any(np.isnan(own)) or np.any(own[:, 0] > own[:, 1]):
        raise ArgumentError(
            f"{system.label}: effort_limit {system.effort_limit!r} must be non-negative numbers or "
            "pairs (least, largest)."
        )
    both = [
        (max(low, float(least)), min(high, float(largest)))
        for (low, high), (least, largest) in zip(limits, own, strict=True)
    ]
    for k, (low, high) in enumerate(both):
        if low > high:
            raise ArgumentError(
                f"{system.label}: effort_limit of output {k} and the model's limit exclude each "
                f"other; {low:g} exceeds {high:g}."
            )
    return both


def _coupled(
    model: mujoco.MjModel,
    system: ExternalSystem,
    dofs: Sequence[int],
    actuators: Sequence[int],
) -> set[int]:
    """Which of a system's efforts may be coupled by their gains."""
    if not (system.coupled and system.implicit and system.sample_time is None):
        return set()
    members = {k: int(model.dof_treeid[dof]) for k, dof in enumerate(dofs)}
    for k, actuator in enumerate(actuators, start=len(dofs)):
        joint = joint_of(model, actuator)
        if joint >= 0:
            members[k] = int(model.dof_treeid[model.jnt_dofadr[joint]])
    if len(members) < 2 or len(set(members.values())) > 2:
        return set()
    return set(members)
