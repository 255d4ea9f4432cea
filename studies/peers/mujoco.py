"""MuJoCo: its defaults, and the best of several careful settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from studies.benchmarks.verification.case import Given, NotApplicable, Record, Simulate, World
from studies.peers.engine import Control, Counters, Floats
from studies.peers.limits import Deadline, Stopped

__all__ = [
    "CAREFUL",
    "DEFAULT",
    "SETTINGS",
    "MujocoEngine",
    "MujocoSetting",
    "MujocoSimulate",
    "deepest",
]

_BAD = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)

# Integrators by which MuJoCo steps elasticity explicitly, or not at all. Its documentation tells
# users to take "discrete" instead.
_WITHOUT_ELASTICITY = ("Euler", "implicit", "implicitfast")


@dataclass(frozen=True)
class MujocoSetting:
    """Options of MuJoCo's stepping; the rest stays as MuJoCo has it.

    With a time constant of contacts [s] these are stiff: impedances from 0.99 to 0.999.
    """

    time_step: float = 0.002
    integrator: str = "Euler"
    elliptic: bool = False
    impratio: float = 1.0
    speculative: bool = False
    time_constant: float | None = None

    def apply(self, model: mujoco.MjModel) -> None:
        """Write them into a model."""
        model.opt.timestep = self.time_step
        model.opt.integrator = {
            "Euler": mujoco.mjtIntegrator.mjINT_EULER,
            "RK4": mujoco.mjtIntegrator.mjINT_RK4,
            "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
            "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
            "discrete": mujoco.mjtIntegrator.mjINT_DISCRETE,
        }[self.integrator]
        if self.elliptic:
            model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        model.opt.impratio = self.impratio
        if self.speculative:
            model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_SPECULATIVE
        if self.time_constant is not None:
            model.geom_solref[:] = self.time_constant, 1.0
            model.geom_solimp[:, :3] = 0.99, 0.999, 1e-3


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


def deepest(data: mujoco.MjData) -> float:
    """Deepest overlap among the contacts in ``data`` [m]."""
    return max(0.0, float(-data.contact.dist.min())) if data.ncon else 0.0


def _require_stable(data: mujoco.MjData) -> None:
    """MuJoCo resets an unstable simulation and goes on, which would be taken for a result."""
    if any(data.warning[w].number for w in _BAD):
        raise Stopped("became unstable")


class MujocoEngine:
    """A model with ``mj_step``.

    Parameters
    ----------
    model : mujoco.MjModel
        With its options, see `MujocoSetting.apply`.
    control : callable, optional
        Before every step. Without it steps are taken in one call, to which Python adds nothing.
    """

    def __init__(self, model: mujoco.MjModel, control: Control | None = None) -> None:
        self.model, self.control = model, control
        self.data = mujoco.MjData(model)
        self._steps, self._iterations = 0, 0
        self._singly = True

    def advance(self, time: float) -> None:
        """See `Engine`.

        Raises
        ------
        Stopped
            If MuJoCo became unstable.
        """
        model, data = self.model, self.data
        count = max(round((time - data.time) / model.opt.timestep), 0)
        self._steps += count
        if self.control is None and count > 1:
            self._singly = False
            mujoco.mj_step(model, data, nstep=count)
            count = 0
        for _ in range(count):
            if self.control is not None:
                data.ctrl[:] = self.control(data.time)
            mujoco.mj_step(model, data)
            self._iterations += int(data.solver_niter.sum())
        _require_stable(data)

    def counters(self) -> Counters:
        """Steps, and iterations if they were taken singly: MuJoCo keeps those of the last."""
        return Counters(self._steps, iterations=self._iterations if self._singly else None)

    def state(self) -> tuple[Floats, Floats]:
        """See `Engine`."""
        return self.data.qpos.copy(), self.data.qvel.copy()

    def overlap(self) -> float:
        """See `Engine`; MuJoCo's warm start stays as it is."""
        scratch = mujoco.MjData(self.model)
        scratch.qpos[:] = self.data.qpos
        mujoco.mj_fwdPosition(self.model, scratch)
        return deepest(scratch)

    def poses(self) -> tuple[Floats, Floats]:
        """Origins and rotations of all bodies; those in ``data`` are of the step's beginning."""
        mujoco.mj_kinematics(self.model, self.data)
        return self.data.xpos, self.data.xmat


class MujocoSimulate(Simulate):
    """Simulates worlds with ``mj_step``."""

    def __init__(self, setting: MujocoSetting = DEFAULT, deadline: Deadline | None = None) -> None:
        self.setting = setting
        self.deadline = deadline or Deadline(float("inf"))

    def run(self, world: World, duration: float, given: Given) -> Record:
        if world.contact.dynamic_friction is not None:
            raise NotApplicable("one coefficient of friction")
        model = world.model()
        setting = self.setting
        if world.deformable and setting.integrator in _WITHOUT_ELASTICITY:
            setting = replace(setting, integrator="discrete")
        setting.apply(model)
        if world.contact.solref is not None:
            model.geom_solref[:] = world.contact.solref
            model.flex_solref[:] = world.contact.solref
        data = mujoco.MjData(model)
        if given.qpos is not None:
            data.qpos[:] = given.qpos
        if given.qvel is not None:
            data.qvel[:] = given.qvel
        for name, force in given.forces.items():
            data.body(name).xfrc_applied[:] = force
        step = model.opt.timestep
        count = round(duration / step)
        times = np.empty(count + 1)
        positions = np.empty((count + 1, model.nq))
        velocities = np.empty((count + 1, model.nv))
        times[0], positions[0], velocities[0] = 0.0, data.qpos, data.qvel
        hold = max(round(given.period / step), 1)
        for i in range(count):
            if given.drive is not None and i % hold == 0:
                data.ctrl[:] = given.drive(i * step)
            if given.release is not None and i == round(given.release / step):
                data.eq_active[:] = 0
            mujoco.mj_step(model, data)
            times[i + 1], positions[i + 1], velocities[i + 1] = data.time, data.qpos, data.qvel
            if i % 100 == 0:
                self.deadline.check()
        _require_stable(data)
        return Record(model, times, positions, velocities)
