"""A task with Midas, MuJoCo and Bullet, as poses of all bodies over time."""

from __future__ import annotations

import importlib.util
import time as clock
from collections.abc import Callable
from typing import NamedTuple, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import SimulationError
from asperity.midas.preset import Midas
from asperity.scenes.gripper_tasks import Task
from studies.experiments.runs import Progress
from studies.peers.asperity import AsperityEngine
from studies.peers.bullet import BulletWorld
from studies.peers.limits import Stopped
from studies.peers.mujoco import MujocoEngine, MujocoSetting

__all__ = [
    "BULLET",
    "BULLETS",
    "MIDAS",
    "MUJOCO",
    "RANDOMIZED",
    "Make",
    "Run",
    "has_bullet",
    "has_ipctk",
    "peers",
    "run_bullet",
    "run_midas",
    "run_mujoco",
]

Floats = NDArray[np.float64]

SAMPLE = 0.02  # [s]

Make = Callable[[float], Task]
"""Makes a task for the distance at which an engine's surfaces meet [m]."""


class Run(NamedTuple):
    """What happened."""

    time: Floats
    """[s], shape (n,)."""
    position: Floats
    """Of every body [m], shape (n, nbody, 3)."""
    rotation: Floats
    """Of every body, shape (n, nbody, 3, 3)."""
    cpu_time: float
    """Spent in the engine [s]."""
    failure: str = ""
    """Why it ended early, if so."""

    def path(self, model: mujoco.MjModel, body: str) -> Floats:
        """Positions of one body [m], shape (n, 3)."""
        return np.asarray(self.position[:, model.body(body).id])


class Posed(Protocol):
    """An engine that tells the poses of all bodies."""

    def advance(self, time: float) -> None:
        """Simulate up to a time [s]."""

    def poses(self) -> tuple[Floats, Floats]:
        """Origins and rotations, shapes (nbody, 3) and (nbody, 3, 3) or (nbody, 9)."""


def run(engine: Posed, duration: float, progress: Progress = lambda share: None) -> Run:
    """Advance an engine, and note poses every 20 ms."""
    time, cpu, failure = [0.0], 0.0, ""
    poses = [tuple(map(np.copy, engine.poses()))]
    for mark in map(float, SAMPLE * np.arange(1, round(duration / SAMPLE) + 1)):
        before = clock.process_time()
        try:
            engine.advance(mark)
        except (SimulationError, Stopped) as error:
            failure = str(error)
        cpu += clock.process_time() - before
        if failure:
            break
        time.append(mark)
        poses.append(tuple(map(np.copy, engine.poses())))
        progress(min(mark / duration, 1.0))
    position, rotation = map(np.array, zip(*poses, strict=True))
    return Run(np.array(time), position, rotation.reshape(*position.shape, 3), cpu, failure)


def run_midas(
    task: Task, activation_distance: float, progress: Progress = lambda share: None
) -> Run:
    """Midas at 10 ms with the closed meshes, checked by ``ipctk`` at every step if it is there."""

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[:] = task.control(data.time + 0.01)

    integrator = Midas(
        time_scheme="implicit-euler", activation_distance=activation_distance, verify=has_ipctk()
    )
    engine = AsperityEngine(task.surfaces, integrator, control=control, control_period=0.01)
    return run(engine, task.duration, progress)


def peer_model(task: Task) -> mujoco.MjModel:
    """The model in convex pieces, with masses and inertias of the closed meshes."""
    exact = mujoco.MjModel.from_xml_string(task.surfaces)
    model = mujoco.MjModel.from_xml_string(task.pieces)
    for name in ("body_mass", "body_inertia", "body_ipos", "body_iquat"):
        getattr(model, name)[:] = getattr(exact, name)
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


# Newton's solver with elliptic cones, with contacts as they come and with stiff ones.
_USUAL = MujocoSetting(2e-3, "implicitfast", elliptic=True)
_STIFF = MujocoSetting(2e-4, "implicitfast", elliptic=True, time_constant=1e-3)


def run_mujoco(task: Task, *, stiff: bool = False, progress: Progress = lambda share: None) -> Run:
    """MuJoCo with steps of 2 ms, or of 0.2 ms if contacts are stiff (time constant 1 ms)."""
    model = peer_model(task)
    (_STIFF if stiff else _USUAL).apply(model)
    engine = MujocoEngine(model, task.control)
    mujoco.mj_forward(model, engine.data)
    return run(engine, task.duration, progress)


def has_ipctk() -> bool:
    """Whether there is an independent test of intersection."""
    return importlib.util.find_spec("ipctk") is not None


def has_bullet() -> bool:
    """Whether PyBullet is installed."""
    return importlib.util.find_spec("pybullet") is not None


def run_bullet(
    task: Task, *, hulls: bool, fine: bool = False, progress: Progress = lambda share: None
) -> Run:
    """PyBullet with its defaults, or with steps of 1 ms and 500 solver iterations if ``fine``.

    For ``hulls`` see `BulletWorld`.
    """
    step, sweeps = (1e-3, 500) if fine else (1.0 / 240.0, 50)
    with BulletWorld(
        peer_model(task),
        hulls=hulls,
        time_step=step,
        solver_iterations=sweeps,
        control=task.control,
    ) as world:
        return run(world, task.duration, progress)


MIDAS = "Midas"
RANDOMIZED = "Midas, randomised"
"""Midas with pegs that differ between episodes."""
BULLET = "Bullet, triangle mesh"
"""Bullet as it comes, with the peg's container loaded as a mesh."""
BULLETS = ("Bullet, convex pieces", "Bullet, triangle mesh, 1 ms", "Bullet, best settings")
"""Other settings; the last is as precise as it was found to become."""
MUJOCO = "MuJoCo, 0.5 ms"
"""Engines of the peg's task."""
MARGIN = 2e-3
"""Distance at which two convex meshes meet in Bullet [m]."""

_BULLET: dict[str, Callable[[Make], Run]] = {
    "Bullet, convex meshes": lambda make: run_bullet(make(MARGIN), hulls=True),
    "Bullet, boxes": lambda make: run_bullet(make(0.0), hulls=False),
    "Bullet, boxes, 1 ms": lambda make: run_bullet(make(0.0), hulls=False, fine=True),
}
_MUJOCO: dict[str, Callable[[Make], Run]] = {
    "MuJoCo, boxes": lambda make: run_mujoco(make(0.0)),
    "MuJoCo, boxes, 0.2 ms": lambda make: run_mujoco(make(0.0), stiff=True),
}


def peers() -> dict[str, Callable[[Make], Run]]:
    """Other engines by name, those of Bullet if PyBullet is installed."""
    return {**(_BULLET if has_bullet() else {}), **_MUJOCO}
