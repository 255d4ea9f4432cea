"""MuJoCo: its defaults, and the best of several careful settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from studies.benchmarks.verification.case import Drive, NotApplicable, Record, World
from studies.peers.limits import Deadline, Stopped

__all__ = ["CAREFUL", "DEFAULT", "SETTINGS", "MujocoSetting", "MujocoSimulate"]

_BAD = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)


@dataclass(frozen=True)
class MujocoSetting:
    """Options of MuJoCo's stepping; the rest stays as MuJoCo has it."""

    time_step: float = 0.002
    integrator: str = "Euler"
    elliptic: bool = False
    impratio: float = 1.0
    speculative: bool = False

    def apply(self, model: mujoco.MjModel) -> None:
        """Write them into a model."""
        model.opt.timestep = self.time_step
        model.opt.integrator = {
            "Euler": mujoco.mjtIntegrator.mjINT_EULER,
            "RK4": mujoco.mjtIntegrator.mjINT_RK4,
            "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
            "discrete": mujoco.mjtIntegrator.mjINT_DISCRETE,
        }[self.integrator]
        if self.elliptic:
            model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        model.opt.impratio = self.impratio
        if self.speculative:
            model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_SPECULATIVE


DEFAULT = MujocoSetting()
# Elliptic cones and a large impratio are what MuJoCo's documentation recommends against slip;
# "implicit" has the derivatives of gyroscopic forces, RK4 is of fourth order in smooth motion.
CAREFUL = (
    MujocoSetting(5e-4, "RK4", elliptic=True, impratio=100.0),
    MujocoSetting(5e-4, "implicit", elliptic=True, impratio=100.0),
)
SETTINGS = {
    "mujoco": (DEFAULT,),
    "mujoco:careful": CAREFUL,
    # Both are new in MuJoCo 4: contacts that are expected within the step, and a discrete step map.
    "mujoco:speculative": (
        MujocoSetting(speculative=True),
        MujocoSetting(5e-4, "implicit", elliptic=True, impratio=100.0, speculative=True),
    ),
    "mujoco:discrete": (
        MujocoSetting(2e-3, "discrete"),
        MujocoSetting(5e-4, "discrete", elliptic=True, impratio=100.0),
    ),
}
"""By the names of verification."""


class MujocoSimulate:
    """Simulates worlds with ``mj_step``."""

    def __init__(self, setting: MujocoSetting = DEFAULT, deadline: Deadline | None = None) -> None:
        self.setting = setting
        self.deadline = deadline or Deadline(float("inf"))

    def __call__(
        self,
        world: World,
        duration: float,
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        drive: Drive | None = None,
        period: float = 0.02,
        forces: Mapping[str, Sequence[float]] | None = None,
    ) -> Record:
        if world.contact.dynamic_friction is not None:
            raise NotApplicable("one coefficient of friction")
        model = world.model()
        self.setting.apply(model)
        if world.contact.solref is not None:
            model.geom_solref[:] = world.contact.solref
        data = mujoco.MjData(model)
        if qpos is not None:
            data.qpos[:] = qpos
        if qvel is not None:
            data.qvel[:] = qvel
        for name, force in (forces or {}).items():
            data.body(name).xfrc_applied[:] = force
        step = model.opt.timestep
        count = round(duration / step)
        times = np.empty(count + 1)
        positions = np.empty((count + 1, model.nq))
        velocities = np.empty((count + 1, model.nv))
        times[0], positions[0], velocities[0] = 0.0, data.qpos, data.qvel
        hold = max(round(period / step), 1)
        for i in range(count):
            if drive is not None and i % hold == 0:
                data.ctrl[:] = drive(i * step)
            mujoco.mj_step(model, data)
            times[i + 1], positions[i + 1], velocities[i + 1] = data.time, data.qpos, data.qvel
            if i % 100 == 0:
                self.deadline.check()
        if any(data.warning[w].number for w in _BAD):
            raise Stopped("became unstable")
        return Record(model, times, positions, velocities)
