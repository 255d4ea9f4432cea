"""Runs of the dish rack, watched for artefacts."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.material import Material
from asperity.simulator import Simulator, simulate
from studies.experiments.artefacts import Penetration, ThinParts, energy_gain
from studies.experiments.registry import Progress
from studies.experiments.runs import require
from studies.scenes.dish_rack import KEYFRAME, OBJECTS, RIGID, DishRack, success
from studies.scenes.tableware import FIELD_MESHES

__all__ = ["Artefacts", "Run", "fields", "points", "watch"]

Floats = NDArray[np.float64]

SAMPLE = 0.01
"""Least time between two looks, which are at ends of steps [s]."""
CONTROL_PERIOD = 0.04
"""Of the servos' targets [s]: no run has to take steps that are smaller than it wants."""
SETTLING = 1.0
"""After the path's end, and at the beginning before rest is expected [s]."""

MODULUS = 1e8
"""The paper's [Pa]."""
RESOLUTION = 2e-3
"""Of the wires, which are polygons of seven sides [m]."""

_GRIP = "grip"
# Limits from which artefacts count. Plate and spoon swing in the grip by 10 and 13 mm in converged
# runs; a pad is 20 mm long. [m, m, J]
SLIPPED = 0.03
DRIFTED = 1e-3
GAINED = 0.01

# Motion below which poses count as the same as when overlap was last measured [m].
_SAME = 2e-4
# The mug's handle is the thickest of all [m].
_THICKEST = 5e-3


def fields() -> ContactParameters:
    """Pressure fields of all that moves; rack, bin and table are rigid."""
    geoms = {name: Material(surface="rigid") for name in RIGID}
    geoms |= {name: Material(field_mesh=FIELD_MESHES[name]) for name in OBJECTS}
    return ContactParameters(
        surface="compliant", hydroelastic_modulus=MODULUS, resolution=RESOLUTION, geoms=geoms
    )


def points() -> ContactParameters:
    """Contact in points, in which mug and plate are their convex hulls."""
    return ContactParameters(stiffness=1e5)


class Artefacts(NamedTuple):
    """What went wrong in a run."""

    crossed: tuple[str, ...]
    """Objects in which the middle of a wire or wall was, with the part's name."""
    depth: float
    """Deepest that a wire or wall was in an object [m]."""
    slip: float
    """Largest motion of a carried object in the grip [m]."""
    dropped: tuple[str, ...]
    """Objects that were not held, or are not in the bin at the end."""
    drift: float
    """Largest motion of an object that nobody had touched [m]."""
    gain: float
    """Largest energy that an object gained while nothing worked on it [J]."""

    @property
    def names(self) -> tuple[str, ...]:
        """Words for what is there."""
        found = []
        if self.crossed:
            found.append(f"passthrough ({'; '.join(self.crossed)})")
        if self.dropped:
            found.append(f"drop ({', '.join(self.dropped)})")
        if self.drift > DRIFTED:
            found.append("drift at rest")
        if self.gain > GAINED:
            found.append("energy from nowhere")
        return tuple(found)


@dataclass
class Run:
    """One run, sampled."""

    model: mujoco.MjModel
    artefacts: Artefacts
    time: Floats
    qpos: Floats
    cpu: float
    """CPU time of all [s]."""
    steps: int
    step_end: Floats
    """Ends of all steps [s]."""
    clock: Floats
    """Pairs of simulated time and CPU time [s], shape (m, 2)."""

    @property
    def rate(self) -> float:
        """Simulated time over CPU time."""
        return float(self.time[-1] / self.cpu)


class _Watch:
    """Looks at a simulator after every sample."""

    def __init__(self, model: mujoco.MjModel, task: DishRack) -> None:
        self._model = model
        self.data = mujoco.MjData(model)
        self._thin = ThinParts(model, OBJECTS, thickest=_THICKEST)
        self._body = {name: model.body(name).id for name in OBJECTS}
        self._geom = {name: model.geom(name).id for name in OBJECTS}
        self._spans = task.spans
        self._fixed = model.body_weldid[model.geom_bodyid] == 0
        self._last: dict[str, Floats] = {}
        self._rest: dict[str, Floats] = {}
        self._held: dict[str, Floats] = {}
        self.penetration: dict[str, Penetration] = {}
        self.crossed: dict[str, str] = {}
        self.depth = 0.0
        self.drift = 0.0
        self.slips = dict.fromkeys(OBJECTS, 0.0)
        self.energy: dict[str, list[float]] = {name: [] for name in OBJECTS}
        self.free: dict[str, list[bool]] = {name: [] for name in OBJECTS}
        self.alone: dict[str, list[bool]] = {name: [] for name in OBJECTS}

    def look(self, time: float, qpos: Floats, qvel: Floats) -> None:
        model, data = self._model, self.data
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_collision(model, data)
        # Of convex hulls, so that a thing in the mug touches it: nothing that touches is missed.
        pairs = data.contact.geom[data.contact.dist < 0.0]
        for name, geom in self._geom.items():
            self._penetration(name, geom)
            self._motion(name, time)
            others = np.unique(pairs[np.any(pairs == geom, axis=1)])
            others = others[others != geom]
            self.free[name].append(len(others) == 0)
            self.alone[name].append(bool(self._fixed[others].all()))
            self.energy[name].append(self._energy(self._body[name]))

    def _energy(self, body: int) -> float:
        model, data = self._model, self.data
        mass = model.body_mass[body]
        velocity = np.zeros(6)
        # Of the centre of mass, in the axes of the principal moments: angular, linear.
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, body, velocity, 1)
        kinetic = 0.5 * mass * (velocity[3:] @ velocity[3:])
        kinetic += 0.5 * float(model.body_inertia[body] @ velocity[:3] ** 2)
        return float(kinetic - mass * (model.opt.gravity @ data.xipos[body]))

    def _penetration(self, name: str, geom: int) -> None:
        pose = np.concatenate([self.data.geom_xpos[geom], 0.1 * self.data.geom_xmat[geom]])
        if name in self._last and np.abs(pose - self._last[name]).max() < _SAME:
            return
        self._last[name] = pose
        found = self._thin.measure(self.data, name)
        self.depth = max(self.depth, found.depth)
        if found.crossed and name not in self.crossed:
            self.crossed[name] = self._model.geom(found.geom).name

    def _motion(self, name: str, time: float) -> None:
        data, (touched, lifted, released) = self.data, self._spans[name]
        place = data.xpos[self._body[name]]
        if 0.5 * SETTLING <= time <= touched:
            rest = self._rest.setdefault(name, place.copy())
            self.drift = max(self.drift, float(np.linalg.norm(place - rest)))
        if lifted <= time <= released:
            site = self._model.site(_GRIP).id
            local = data.site_xmat[site].reshape(3, 3).T @ (place - data.site_xpos[site])
            held = self._held.setdefault(name, local)
            self.slips[name] = max(self.slips[name], float(np.linalg.norm(local - held)))


def watch(
    model: mujoco.MjModel,
    task: DishRack,
    integrator: Integrator,
    contact: ContactParameters,
    progress: Progress = lambda share: None,
) -> Run:
    """Simulate the whole path and a second more.

    Raises
    ------
    SimulationError
        If the simulation ends earlier.
    """
    end = task.duration + SETTLING
    marks = [(0.0, 0.0)]

    started: list[float] = []

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        # What comes before the first call is preparation.
        if not started:
            started.append(clock.process_time())
        task(model, data)

    def note(simulator: Simulator) -> None:
        marks.append((simulator.time, clock.process_time() - started[0]))
        progress(0.7 * simulator.time / end)

    trajectory = require(
        simulate(
            model,
            (0.0, end),
            integrator=integrator,
            contact=contact,
            control=control,
            control_period=CONTROL_PERIOD,
            keyframe=KEYFRAME,
            progress=note,
        )
    )
    marks.append((end, clock.process_time() - started[0]))
    seen = _Watch(model, task)
    looks = [0]
    for i, time in enumerate(trajectory.time):
        if time >= trajectory.time[looks[-1]] + SAMPLE - 1e-9:
            looks.append(i)
    for i in looks:
        seen.look(float(trajectory.time[i]), trajectory.qpos[i], trajectory.qvel[i])
        progress(0.7 + 0.3 * trajectory.time[i] / end)
    _, where = success(model, seen.data)
    dropped = [name for name in OBJECTS if seen.slips[name] > SLIPPED or f"the {name} " in where]
    gain = max(
        energy_gain(
            np.array(seen.energy[name]), np.array(seen.free[name]), np.array(seen.alone[name])
        )
        for name in OBJECTS
    )
    found = Artefacts(
        crossed=tuple(f"{name}, {part}" for name, part in seen.crossed.items()),
        depth=seen.depth,
        slip=max(seen.slips.values()),
        dropped=tuple(dropped),
        drift=seen.drift,
        gain=gain,
    )
    return Run(
        model=model,
        artefacts=found,
        time=trajectory.time[looks],
        qpos=trajectory.qpos[looks],
        cpu=marks[-1][1],
        steps=trajectory.stats.steps,
        step_end=trajectory.time,
        clock=np.array(marks),
    )
