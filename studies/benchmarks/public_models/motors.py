"""Random motors, which let a model move as it never does by itself."""

from __future__ import annotations

import mujoco
import numpy as np

__all__ = ["HOLD", "random_motors"]

HOLD = 0.1
"""For how long controls are held [s]."""
_LARGEST_ACCELERATION = 200.0
"""What a motor may do to its joint alone [rad/s² or m/s²]."""
_ACCELERATION = 20.0
"""Of joints without motors: as much torque as gives each this alone [rad/s² or m/s²]."""


def random_motors(model: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator) -> None:
    """Write random controls, or random forces on the joints of a model without motors.

    What a motor's range allows in some models, 20 kN m at a shoulder, is left out.
    """
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    if model.nu:
        low, high = model.actuator_ctrlrange.T
        limited = model.actuator_ctrllimited.astype(bool)
        data.ctrl[:] = rng.uniform(np.where(limited, low, -1.0), np.where(limited, high, 1.0))
        for i in range(model.nactuator):
            plain = model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE
            if plain and model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT:
                dof = int(model.jnt_dofadr[model.actuator_trnid[i, 0]])
                gain = abs(model.actuator_gear[i, 0] * model.actuator_gainprm[i, 0])
                most = _LARGEST_ACCELERATION * inertia[dof, dof] / max(gain, 1e-12)
                control = int(model.actuator_ctrladr[i])
                data.ctrl[control] = np.clip(data.ctrl[control], -most, most)
        return
    for joint in np.flatnonzero(model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)):
        dof = int(model.jnt_dofadr[joint])
        force = _ACCELERATION * inertia[dof, dof] * rng.uniform(-1.0, 1.0)
        if model.jnt_actfrclimited[joint]:
            force = float(np.clip(force, *model.jnt_actfrcrange[joint]))
        data.qfrc_applied[dof] = force
