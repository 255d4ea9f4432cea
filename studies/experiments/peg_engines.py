"""The task of the peg with PyBullet (extra ``peers``) and with MuJoCo.

Sizes, masses, motors and friction are those of Midas' task. Shapes are what each engine takes: the
peg a true cylinder, the container its surface or its convex pieces, which are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.envs.peg_in_hole import CLOSING, NO_NUMBERS, PegEnv
from asperity.envs.peg_task import PegTask
from studies.peers.bullet import BulletWorld
from studies.peers.mujoco import MujocoSetting

__all__ = [
    "BULLET_BEST",
    "BULLET_FINE",
    "BULLET_MESH",
    "BULLET_PIECES",
    "BulletPegEnv",
    "BulletSettings",
    "MujocoPegEnv",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BulletSettings:
    """How Bullet is asked.

    Parameters
    ----------
    time_step : float
        [s].
    solver_iterations : int
        Sweeps per step.
    concave : bool
        Whether the container is a mesh of triangles, as it is loaded from a file, or convex pieces.
    margin : float, optional
        Collision margin of all shapes [m]; PyBullet's own, of 1 mm around meshes, by default.
    erp, slop : float, optional
        Share of an overlap that is corrected per step, and overlap that is let be [m]; PyBullet's
        own by default.
    breaking_distance : float
        At which a contact point is given up [m]; PyBullet's own by default.
    """

    time_step: float = 1.0 / 240.0
    solver_iterations: int = 50
    concave: bool = False
    margin: float | None = None
    erp: float | None = None
    slop: float | None = None
    breaking_distance: float = 0.02


BULLET_PIECES = BulletSettings()
"""PyBullet's defaults, 1/240 s and 50 sweeps, the container in convex pieces."""
BULLET_MESH = BulletSettings(concave=True)
"""The same with the container as a mesh of triangles."""
BULLET_FINE = BulletSettings(1e-3, 500, concave=True)
"""This mesh with smaller steps and more sweeps: 1 ms, 500."""
BULLET_BEST = BulletSettings(
    2e-3, 500, concave=True, margin=0.0, erp=0.8, slop=0.0, breaking_distance=1e-4
)
"""What does best of all that was tried.

With 1 ms and 500 sweeps alone, pegs still end some hundredths of a millimetre beyond the margin.
Without margins and slop, with four fifths of an overlap corrected per step, and with contact points
that do not outlive their contact, few do. Smaller steps (1 and 0.25 ms), friction cones, more
exact sweeps and continuous collision detection (of 0.1 m/s) make nothing better than this; fewer
sweeps do not bring a peg into a hole that is wider by 0.1 mm.
"""


class BulletPegEnv(PegEnv):
    """The task with PyBullet; options as those of `PegInHoleEnv`."""

    def __init__(self, settings: BulletSettings = BULLET_PIECES, **options: Any) -> None:
        super().__init__(PegTask(**options))
        scene = self.task.scene
        self.model = scene.model(pieces=not settings.concave, cylinder=True)
        self.world = BulletWorld(
            self.model,
            time_step=settings.time_step,
            solver_iterations=settings.solver_iterations,
            concave=settings.concave,
        )
        # Of which Bullet takes products.
        self.world.set_friction({"peg": 1.0, "container": scene.friction})
        self.world.set_friction(dict.fromkeys(("left", "right"), scene.grip_friction))
        if settings.margin is not None:
            self.world.set_margin(settings.margin)
        self._settings = settings
        self._set_contacts()
        self._body = self.model.body("peg").id
        self._run(2.0 * CLOSING, scene.grip())
        self._gripped = self.world.positions()

    def _run(self, duration: float, control: Floats) -> None:
        self.world.control = lambda time: control
        self.world.advance(self.world.time + duration)

    def _set_contacts(self) -> None:
        asked = self._settings
        self.world.set_contacts(
            erp=asked.erp, slop=asked.slop, breaking_distance=asked.breaking_distance
        )

    def place(self, offset: Floats, numbers: Mapping[str, float] = NO_NUMBERS) -> None:
        # Another world of this process may have set its own.
        self._set_contacts()
        self.world.place(self.task.moved(self.model, self._gripped, offset))

    def advance(self, control: Floats) -> str:
        # Steps of 1/240 s do not divide the period: their sum follows the agent's.
        period = self.task.control_period
        self._run((self._steps + 1) * period - self.world.time, control)
        return ""

    def position(self) -> Floats:
        return self.world.position_of(self._body)

    def positions(self) -> Floats:
        return self.world.positions()

    def close(self) -> None:
        """Disconnect."""
        self.world.__exit__(None, None, None)


class MujocoPegEnv(PegEnv):
    """The task with MuJoCo, contacts stiff: steps of 0.5 ms, time constant 1 ms, elliptic cones."""

    def __init__(self, time_step: float = 5e-4, **options: Any) -> None:
        super().__init__(PegTask(**options))
        model = self.task.scene.model(pieces=True, cylinder=True)
        stiff = MujocoSetting(
            time_step, "implicitfast", elliptic=True, time_constant=2.0 * time_step
        )
        stiff.apply(model)
        self.model, self.data = model, mujoco.MjData(model)
        self._peg, _ = self.task.addresses(model)
        self.data.ctrl[:] = self.task.scene.grip()
        mujoco.mj_step(model, self.data, nstep=round(2.0 * CLOSING / time_step))
        self._gripped = self.data.qpos.copy()

    def place(self, offset: Floats, numbers: Mapping[str, float] = NO_NUMBERS) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = self.task.moved(self.model, self._gripped, offset)

    def advance(self, control: Floats) -> str:
        self.data.ctrl[:] = control
        count = round(self.task.control_period / self.model.opt.timestep)
        mujoco.mj_step(self.model, self.data, nstep=count)
        return ""

    def position(self) -> Floats:
        return np.array(self.data.qpos[self._peg : self._peg + 3])

    def positions(self) -> Floats:
        return np.array(self.data.qpos)
