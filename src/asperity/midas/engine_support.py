"""What the engine does not know and would simulate wrongly."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.midas.activations import DYNAMICS
from asperity.midas.tendons import fixed_tendons
from asperity.plant.names import element

__all__ = ["check_equalities", "check_supported"]

_OBJ = mujoco.mjtObj
_JOINT = mujoco.mjtJoint
_EQUALITIES = (
    mujoco.mjtEq.mjEQ_CONNECT,
    mujoco.mjtEq.mjEQ_WELD,
    mujoco.mjtEq.mjEQ_JOINT,
    mujoco.mjtEq.mjEQ_TENDON,
)


def check_supported(model: mujoco.MjModel) -> None:
    """Refuse a model with an element that the engine does not know.

    Raises
    ------
    ModelError
        Naming the element and what to do.
    """
    for check in (_equalities, _tendons, _joints, _actuators):
        check(model)


def _refuse(model: mujoco.MjModel, kind: mujoco.mjtObj, index: int, what: str) -> None:
    raise ModelError(f"{element(model, kind, index)} {what}")


def check_equalities(model: mujoco.MjModel, active: np.ndarray) -> None:
    """Refuse active equalities of kinds that the engine does not know.

    Raises
    ------
    ModelError
        Naming the first of them.
    """
    for i in np.flatnonzero(active):
        kind = mujoco.mjtEq(model.eq_type[i])
        if kind not in _EQUALITIES:
            _refuse(
                model,
                _OBJ.mjOBJ_EQUALITY,
                int(i),
                f"is an equality of type '{kind.name.removeprefix('mjEQ_').lower()}', and the "
                "Midas integrator supports connect, weld, joint and tendon only; remove it, or "
                "use another integrator.",
            )
        tendons = [int(i) for i in (model.eq_obj1id[i], model.eq_obj2id[i]) if i >= 0]
        if kind == mujoco.mjtEq.mjEQ_TENDON and set(tendons) - set(fixed_tendons(model)):
            _refuse(
                model,
                _OBJ.mjOBJ_EQUALITY,
                int(i),
                "holds a tendon that runs through space, and the Midas integrator supports fixed "
                "tendons only; remove it, or use another integrator.",
            )


def _equalities(model: mujoco.MjModel) -> None:
    check_equalities(model, model.eq_active0)


def _tendons(model: mujoco.MjModel) -> None:
    fixed = fixed_tendons(model)
    for i in range(model.ntendon):
        if np.any(model.tendon_stiffnesspoly[i]) or np.any(model.tendon_dampingpoly[i]):
            _refuse(
                model,
                _OBJ.mjOBJ_TENDON,
                i,
                "has a spring or damper that is not linear, which the Midas integrator does not "
                "support; give it one coefficient.",
            )
        if i not in fixed and (
            model.tendon_limited[i]
            or np.any(model.tendon_stiffness[i])
            or np.any(model.tendon_damping[i])
            or model.tendon_frictionloss[i]
            or model.tendon_armature[i]
        ):
            _refuse(
                model,
                _OBJ.mjOBJ_TENDON,
                i,
                "runs through space and exerts forces, which the Midas integrator supports for "
                "fixed tendons only; remove its limits, spring, damping, friction and armature.",
            )


def _joints(model: mujoco.MjModel) -> None:
    for joint in range(model.njnt):
        kind = int(model.jnt_type[joint])
        dof = int(model.jnt_dofadr[joint])
        dofs = slice(dof, dof + {int(_JOINT.mjJNT_FREE): 6, int(_JOINT.mjJNT_BALL): 3}.get(kind, 1))
        if np.any(model.jnt_stiffnesspoly[joint]) or np.any(model.dof_dampingpoly[dofs]):
            _refuse(
                model,
                _OBJ.mjOBJ_JOINT,
                joint,
                "has a spring or damper that is not linear, which the Midas integrator does not "
                "support; give it one coefficient.",
            )
        if kind in (int(_JOINT.mjJNT_HINGE), int(_JOINT.mjJNT_SLIDE)):
            continue
        for what, present in (
            ("armature", bool(np.any(model.dof_armature[dofs]))),
            ("dry friction", bool(np.any(model.dof_frictionloss[dofs]))),
        ):
            if present:
                _refuse(
                    model,
                    _OBJ.mjOBJ_JOINT,
                    joint,
                    f"is a {_JOINT(kind).name.removeprefix('mjJNT_').lower()} joint with {what}, "
                    "which the Midas integrator supports for hinges and slides only; remove it.",
                )


def _actuators(model: mujoco.MjModel) -> None:
    transmissions = (
        int(mujoco.mjtTrn.mjTRN_JOINT),
        int(mujoco.mjtTrn.mjTRN_JOINTINPARENT),
        int(mujoco.mjtTrn.mjTRN_TENDON),
    )
    fixed = fixed_tendons(model)
    for i in range(model.nu):
        if int(model.actuator_trntype[i]) not in transmissions:
            _refuse(
                model,
                _OBJ.mjOBJ_ACTUATOR,
                i,
                "does not act on a joint or a tendon, and the Midas integrator supports no other "
                "transmission; use one that does.",
            )
        if int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_TENDON):
            if int(model.actuator_trnid[i, 0]) not in fixed:
                _refuse(
                    model,
                    _OBJ.mjOBJ_ACTUATOR,
                    i,
                    "pulls a tendon that runs through space, and the Midas integrator supports "
                    "fixed tendons only; let it act on joints.",
                )
            _dynamics(model, i)
            continue
        kind = int(model.jnt_type[model.actuator_trnid[i, 0]])
        if kind not in (int(_JOINT.mjJNT_HINGE), int(_JOINT.mjJNT_SLIDE)):
            _refuse(
                model,
                _OBJ.mjOBJ_ACTUATOR,
                i,
                "acts on a free or ball joint, and the Midas integrator drives hinges and slides "
                "only; apply forces by data.xfrc_applied.",
            )
        _dynamics(model, i)


def _dynamics(model: mujoco.MjModel, i: int) -> None:
    """Refuse an actuator whose state is not known, or a muscle."""
    if int(model.actuator_dyntype[i]) not in DYNAMICS:
        _refuse(
            model,
            _OBJ.mjOBJ_ACTUATOR,
            i,
            "has activation dynamics that the Midas integrator does not know; use an integrator or "
            "a filter.",
        )
    if int(model.actuator_biastype[i]) not in (
        int(mujoco.mjtBias.mjBIAS_NONE),
        int(mujoco.mjtBias.mjBIAS_AFFINE),
    ) or int(model.actuator_gaintype[i]) not in (
        int(mujoco.mjtGain.mjGAIN_FIXED),
        int(mujoco.mjtGain.mjGAIN_AFFINE),
    ):
        _refuse(
            model,
            _OBJ.mjOBJ_ACTUATOR,
            i,
            "is a muscle, which the Midas integrator does not support; use a motor or a servo.",
        )
