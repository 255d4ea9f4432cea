"""What the engine does not know and would simulate wrongly."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.midas.model.motors import DYNAMICS
from asperity.plant.model.dependent_slides import check_slides
from asperity.plant.model.names import element, kinds, refuse_first
from asperity.plant.model.support import EQUALITIES, refuse_adhesion

__all__ = ["check_equalities", "check_supported"]

_OBJ = mujoco.mjtObj
_TRANSMISSIONS = kinds(
    mujoco.mjtTrn, "JOINT", "JOINTINPARENT", "TENDON", "SITE", "SLIDERCRANK", "BODY", "SO3"
)
_GAINS = kinds(mujoco.mjtGain, "FIXED", "AFFINE", "MUSCLE", "PID", "DCMOTOR", "SO3")
_TURNING = (int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL))
_BIASES = kinds(mujoco.mjtBias, "NONE", "AFFINE", "MUSCLE", "DCMOTOR", "SO3")


def check_supported(model: mujoco.MjModel) -> None:
    """Refuse a model with an element that the engine does not know.

    Raises
    ------
    ModelError
        Naming the element and what to do.
    """
    for check in (_equalities, _joints, _slides, _actuators):
        check(model)
    if not model.flg_adhesion:
        refuse_adhesion(model)


def check_equalities(model: mujoco.MjModel, active: np.ndarray) -> None:
    """Refuse active equalities of kinds that the engine does not know.

    Raises
    ------
    ModelError
        Naming the first of them.
    """
    for i in np.flatnonzero(active):
        if int(model.eq_type[i]) not in EQUALITIES:
            kind = mujoco.mjtEq(model.eq_type[i]).name.removeprefix("mjEQ_").lower()
            raise ModelError(
                f"{element(model, _OBJ.mjOBJ_EQUALITY, i)} is an equality of type '{kind}', and "
                "the Midas integrator supports connect, weld, joint, tendon and flex only; remove "
                "it, or use another integrator."
            )


def _equalities(model: mujoco.MjModel) -> None:
    check_equalities(model, model.eq_active0)


def _joints(model: mujoco.MjModel) -> None:
    curved = np.any(model.jnt_stiffnesspoly, axis=1)
    curved[model.dof_jntid[np.any(model.dof_dampingpoly, axis=1)]] = True
    curved &= np.isin(model.jnt_type, _TURNING)
    refuse_first(
        model,
        _OBJ.mjOBJ_JOINT,
        curved,
        "has a spring or damper that is not linear, which the Midas integrator supports of hinges, "
        "slides and tendons only; give it one coefficient.",
    )


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
                raise ModelError(
                    f"{element(model, _OBJ.mjOBJ_ACTUATOR, i)} has {what} of type "
                    f"'{kind.name.split('_')[1].lower()}', which the Midas integrator does not "
                    "know; use a motor, a servo or a muscle."
                )
