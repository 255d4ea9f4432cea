"""Which models' smooth forces are those of rigid bodies alone, and how their joints are ordered."""

from __future__ import annotations

import mujoco
import numpy as np

__all__ = ["joint_order", "moves_rigidly"]

_JOINT = int(mujoco.mjtTrn.mjTRN_JOINT)
# Whose activations change by themselves and by the control alone.
_DYNAMICS = tuple(
    int(getattr(mujoco.mjtDyn, f"mjDYN_{name}"))
    for name in ("NONE", "INTEGRATOR", "FILTER", "FILTEREXACT")
)
_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)


def joint_order(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every degree of freedom those that turn with it, and those that it moves.

    The first and last ones of its joint, and one behind the last degree of freedom of what it
    moves: MuJoCo numbers depth first. The rotations of a free joint are a joint of their own, after
    its three translations, each of which is one, too.
    """
    first = np.arange(model.nv)
    last = np.arange(model.nv)
    for joint in range(model.njnt):
        kind = int(model.jnt_type[joint])
        if kind in (_FREE, _BALL):
            start = int(model.jnt_dofadr[joint]) + (3 if kind == _FREE else 0)
            first[start : start + 3] = start
            last[start : start + 3] = start + 2
    end = np.arange(1, model.nv + 1)
    for dof in range(model.nv - 1, -1, -1):
        parent = int(model.dof_parentid[dof])
        if parent >= 0:
            end[parent] = max(end[parent], end[dof])
    return first, last, end


def moves_rigidly(model: mujoco.MjModel, explicit: np.ndarray) -> bool:
    """Whether smooth forces are inertia, gravity, linear joint springs and constant efforts.

    And scalar constraints are those of hinges and slides. Then all that depends on positions and
    velocities is known in closed form (`asperity.derivatives.balance.rigid_terms`). Springs of ball
    and free joints, tendons, fluids, equalities, moving surfaces, adhesion, plugins and actuators
    with a changing moment are not of this kind.

    Parameters
    ----------
    model : mujoco.MjModel
    explicit : numpy.ndarray
        Whether an actuator's output is a force, and no servo's row.
    """
    rotating = np.isin(model.jnt_type, (_FREE, _BALL))
    return not (
        model.ntendon > 0
        or model.neq > 0
        or model.opt.density > 0.0
        or model.opt.viscosity > 0.0
        or np.any(model.body_gravcomp)
        or np.any(model.geom_surfacevel)
        or np.any(model.geom_adhesion)
        or np.any(model.pair_adhesion)
        or np.any(model.body_plugin >= 0)
        or np.any(model.actuator_plugin >= 0)
        or np.any((model.jnt_stiffness != 0.0) & rotating)
        or np.any(model.jnt_stiffnesspoly)
        or np.any(model.dof_dampingpoly)
        or np.any(rotating & (model.jnt_limited != 0))
        or np.any(model.dof_frictionloss[rotating[model.dof_jntid]])
        or np.any(model.actuator_damping)
        or np.any(model.actuator_dampingpoly)
        or np.any(model.actuator_armature)
        or not all(
            _has_constant_moment(model, i, explicit) for i in range(len(model.actuator_gaintype))
        )
    )


def _has_constant_moment(model: mujoco.MjModel, i: int, explicit: np.ndarray) -> bool:
    """Whether an actuator's moment never changes, and neither does its force unless it is a row."""
    output = int(model.actuator_outadr[i])
    if int(model.actuator_outnum[i]) != 1 or int(model.actuator_trntype[i]) != _JOINT:
        return False
    if int(model.actuator_dyntype[i]) not in _DYNAMICS:
        return False
    kind = int(model.jnt_type[int(model.actuator_trnid[i, 0])])
    plain = int(model.actuator_gaintype[i]) == int(mujoco.mjtGain.mjGAIN_FIXED)
    plain = plain and int(model.actuator_biastype[i]) == int(mujoco.mjtBias.mjBIAS_NONE)
    if kind == _FREE:
        return bool(explicit[output]) and plain and not np.any(model.actuator_gear[output, 3:])
    return kind != _BALL and (plain or not explicit[output])
