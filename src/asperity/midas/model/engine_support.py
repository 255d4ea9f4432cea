"""What the engine does not know and would simulate wrongly."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.midas.model.motors import DYNAMICS
from asperity.plant.model.dependent_slides import check_slides
from asperity.plant.model.names import element
from asperity.plant.model.support import refuse_adhesion

__all__ = ["check_equalities", "check_supported"]

_OBJ = mujoco.mjtObj
_EQUALITIES = (
    mujoco.mjtEq.mjEQ_CONNECT,
    mujoco.mjtEq.mjEQ_WELD,
    mujoco.mjtEq.mjEQ_JOINT,
    mujoco.mjtEq.mjEQ_TENDON,
    mujoco.mjtEq.mjEQ_FLEX,
    mujoco.mjtEq.mjEQ_FLEXSTRAIN,
)

_TRN, _GAIN, _BIAS = mujoco.mjtTrn, mujoco.mjtGain, mujoco.mjtBias
_TRANSMISSIONS = [
    int(kind)
    for kind in (
        _TRN.mjTRN_JOINT,
        _TRN.mjTRN_JOINTINPARENT,
        _TRN.mjTRN_TENDON,
        _TRN.mjTRN_SITE,
        _TRN.mjTRN_SLIDERCRANK,
        _TRN.mjTRN_BODY,
        _TRN.mjTRN_SO3,
    )
]
_GAINS = [
    int(kind)
    for kind in (
        _GAIN.mjGAIN_FIXED,
        _GAIN.mjGAIN_AFFINE,
        _GAIN.mjGAIN_MUSCLE,
        _GAIN.mjGAIN_PID,
        _GAIN.mjGAIN_DCMOTOR,
        _GAIN.mjGAIN_SO3,
    )
]
_BIASES = [
    int(kind)
    for kind in (
        _BIAS.mjBIAS_NONE,
        _BIAS.mjBIAS_AFFINE,
        _BIAS.mjBIAS_MUSCLE,
        _BIAS.mjBIAS_DCMOTOR,
        _BIAS.mjBIAS_SO3,
    )
]


def check_supported(model: mujoco.MjModel) -> None:
    """Refuse a model with an element that the engine does not know.

    Raises
    ------
    ModelError
        Naming the element and what to do.
    """
    for check in (_equalities, _tendons, _joints, _slides, _actuators):
        check(model)
    if not model.flg_adhesion:
        refuse_adhesion(model)


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
                "Midas integrator supports connect, weld, joint, tendon and flex only; remove it, "
                "or use another integrator.",
            )


def _equalities(model: mujoco.MjModel) -> None:
    check_equalities(model, model.eq_active0)


def _refuse_curves(model: mujoco.MjModel, kind: mujoco.mjtObj, index: int, what: str) -> None:
    _refuse(
        model,
        kind,
        index,
        f"has {what} that is not linear, which the Midas integrator does not support; give it one "
        "coefficient.",
    )


def _tendons(model: mujoco.MjModel) -> None:
    for i in range(model.ntendon):
        if np.any(model.tendon_stiffnesspoly[i]) or np.any(model.tendon_dampingpoly[i]):
            _refuse_curves(model, _OBJ.mjOBJ_TENDON, i, "a spring or damper")


def _joints(model: mujoco.MjModel) -> None:
    for joint in range(model.njnt):
        dofs = model.dof_jntid == joint
        if np.any(model.jnt_stiffnesspoly[joint]) or np.any(model.dof_dampingpoly[dofs]):
            _refuse_curves(model, _OBJ.mjOBJ_JOINT, joint, "a spring or damper")


def _slides(model: mujoco.MjModel) -> None:
    # Limits are barriers, which resist everywhere.
    limited = np.zeros(model.nv, bool)
    limited[model.jnt_dofadr] = model.jnt_limited
    check_slides(model, limited)


def _actuators(model: mujoco.MjModel) -> None:
    for i in range(model.nactuator):
        for what, kind, known in (
            ("transmission", mujoco.mjtTrn(model.actuator_trntype[i]), _TRANSMISSIONS),
            ("activation dynamics", mujoco.mjtDyn(model.actuator_dyntype[i]), DYNAMICS),
            ("gain", mujoco.mjtGain(model.actuator_gaintype[i]), _GAINS),
            ("bias", mujoco.mjtBias(model.actuator_biastype[i]), _BIASES),
        ):
            if int(kind) not in known:
                _refuse(
                    model,
                    _OBJ.mjOBJ_ACTUATOR,
                    i,
                    f"has {what} of type '{kind.name.split('_')[1].lower()}', which the Midas "
                    "integrator does not know; use a motor, a servo or a muscle.",
                )
        if np.any(model.actuator_dampingpoly[i]):
            _refuse_curves(model, _OBJ.mjOBJ_ACTUATOR, i, "damping")
