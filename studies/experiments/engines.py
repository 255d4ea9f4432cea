"""A task with Midas, MuJoCo and Bullet, as poses of all bodies over time."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.midas.preset import Midas
from asperity.scenes.gripper_tasks import Task
from asperity.simulator import Simulator
from studies.experiments.registry import Progress
from studies.peers.bullet import BulletWorld

__all__ = [
    "MIDAS",
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


class _Recorder:
    def __init__(self) -> None:
        self.time: list[float] = []
        self.position: list[Floats] = []
        self.rotation: list[Floats] = []

    def add(self, now: float, position: Floats, rotation: Floats) -> None:
        self.time.append(now)
        self.position.append(position.copy())
        self.rotation.append(rotation.reshape(-1, 3, 3).copy())

    def run(self, cpu_time: float, failure: str = "") -> Run:
        position, rotation = np.array(self.position), np.array(self.rotation)
        return Run(np.array(self.time), position, rotation, cpu_time, failure)


def _samples(task: Task) -> Floats:
    return np.asarray(SAMPLE * np.arange(1, round(task.duration / SAMPLE) + 1), np.float64)


def run_midas(
    task: Task, activation_distance: float, progress: Progress = lambda share: None
) -> Run:
    """Midas at 10 ms with the closed meshes, checked by ``ipctk`` at every step if it is there."""

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[:] = task.control(data.time + 0.01)

    integrator = Midas(
        time_scheme="implicit-euler",
        activation_distance=activation_distance,
        verify=has_ipctk(),
    )
    simulator = Simulator(
        task.surfaces, integrator=integrator, control=control, control_period=0.01
    )
    recorder, cpu = _Recorder(), 0.0
    recorder.add(0.0, simulator.data.xpos, simulator.data.xmat)
    for mark in _samples(task):
        before = time.process_time()
        report = simulator.advance_to(float(mark), on_failure="return")
        cpu += time.process_time() - before
        if not report.success:
            return recorder.run(cpu, report.message)
        recorder.add(float(mark), simulator.data.xpos, simulator.data.xmat)
        progress(float(mark) / task.duration)
    return recorder.run(cpu)


def peer_model(task: Task) -> mujoco.MjModel:
    """The model in convex pieces, with masses and inertias of the closed meshes."""
    exact = mujoco.MjModel.from_xml_string(task.surfaces)
    model = mujoco.MjModel.from_xml_string(task.pieces)
    for name in ("body_mass", "body_inertia", "body_ipos", "body_iquat"):
        getattr(model, name)[:] = getattr(exact, name)
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def run_mujoco(task: Task, *, stiff: bool = False, progress: Progress = lambda share: None) -> Run:
    """MuJoCo's Newton solver with elliptic cones.

    Parameters
    ----------
    task : Task
    stiff : bool
        Whether contacts are stiff: steps of 0.2 ms instead of 2 ms, a time constant of 1 ms instead
        of 20 ms, and impedances from 0.99 to 0.999.
    progress : callable, optional
    """
    model = peer_model(task)
    model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.timestep = 2e-4 if stiff else 2e-3
    if stiff:
        model.geom_solref[:] = 1e-3, 1.0
        model.geom_solimp[:, :3] = 0.99, 0.999, 1e-3
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    recorder, cpu = _Recorder(), 0.0
    recorder.add(0.0, data.xpos, data.xmat)
    for mark in _samples(task):
        before = time.process_time()
        while data.time < mark - 0.5 * model.opt.timestep:
            data.ctrl[:] = task.control(data.time)
            mujoco.mj_step(model, data)
        cpu += time.process_time() - before
        # Poses in data are those of the step's beginning.
        mujoco.mj_kinematics(model, data)
        recorder.add(float(mark), data.xpos, data.xmat)
        progress(float(mark) / task.duration)
    return recorder.run(cpu)


def has_ipctk() -> bool:
    """Whether there is an independent test of intersection."""
    return importlib.util.find_spec("ipctk") is not None


def has_bullet() -> bool:
    """Whether PyBullet is installed."""
    return importlib.util.find_spec("pybullet") is not None


def run_bullet(
    task: Task,
    *,
    hulls: bool,
    fine: bool = False,
    progress: Progress = lambda share: None,
) -> Run:
    """PyBullet with its defaults, or with steps of 1 ms and 500 solver iterations if ``fine``.

    For ``hulls`` see `BulletWorld`.
    """
    model = peer_model(task)
    recorder, cpu = _Recorder(), 0.0
    step, sweeps = (1e-3, 500) if fine else (1.0 / 240.0, 50)
    with BulletWorld(model, hulls=hulls, time_step=step, solver_iterations=sweeps) as world:
        recorder.add(0.0, *world.poses())
        for mark in _samples(task):
            before = time.process_time()
            while world.time < mark - 0.5 * world.time_step:
                world.step(task.control(world.time))
            cpu += time.process_time() - before
            recorder.add(float(mark), *world.poses())
            progress(float(mark) / task.duration)
    return recorder.run(cpu)


MIDAS = "Midas"
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
