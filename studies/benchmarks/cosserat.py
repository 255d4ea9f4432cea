"""Rods by the rules of cosseratbench: ``python -m studies benchmark cosserat``.

The package (``pip install --no-deps cosseratbench``) states experiments and scores what an engine
makes of them. Here a rod is a 1-D flex of MuJoCo 4 under `Icf`, or `Cenic` where the motion counts.
Names of experiments are arguments. A clamped end is one more edge, whose vertices are tied to a
place, and whose angle a servo holds. The bend with it is twice as stiff, as the rod ends there.
``--results`` is a folder that ``cosseratbench run`` has filled, whose scores become columns.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import asperity as asp
from studies.benchmarks.saved import Table

__all__ = ["Asperity"]

Array = np.ndarray[Any, np.dtype[np.float64]]

_STEP = 0.01  # of `Icf` at most [s]
_ACCURACY = 1e-6
# Of ties, an acceleration over a distance and over a speed.
_TIE = "solref='-1e8 -2e4' solimp='0.999 0.9999 0.001'"
_EXPERIMENTS = ("catenary", "cantilever", "pendulum", "crossing", "capstan", "twist")


def _text(values: Array) -> str:
    return " ".join(f"{x:.17g}" for x in np.ravel(values))


class _Rod:
    """One rod of a scenario, as a flex that lies along x at rest."""

    def __init__(self, number: int, rod: Any, edges: int, self_contact: bool) -> None:
        if rod.material.shear_modulus * 2.0 > rod.material.youngs_modulus:
            raise NotImplementedError("a negative Poisson's ratio")
        self.rod, self.edges, self.name = rod, edges, f"r{number}"
        self.ends = (rod.start.value, rod.end.value)
        self.clamped = [end == "clamped" for end in self.ends]
        self.first = int(self.clamped[0])  # vertex where the rod begins
        length = rod.length / edges
        lengths = np.full(edges, length)
        nodes = rod.nodes(edges)
        along = np.diff(nodes, axis=0)
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        if self.clamped[0]:
            lengths = np.append(length, lengths)
            nodes = np.vstack([nodes[0] - length * along[0], nodes])
        if self.clamped[1]:
            lengths = np.append(lengths, length)
            nodes = np.vstack([nodes, nodes[-1] + length * along[-1]])
        self.nodes = nodes
        self.rest = np.zeros_like(nodes)
        self.rest[1:, 0] = np.cumsum(lengths)
        self.rest[:, 1] = float(number)
        material = rod.material
        poisson = min(0.5 * material.youngs_modulus / material.shear_modulus - 1.0, 0.4999)
        count = len(nodes)
        elements = " ".join(f"{i} {i + 1}" for i in range(count - 1))
        contact = "auto" if self_contact else "none"
        self.body = (
            f"<flexcomp name='{self.name}' type='direct' dim='1' radius='{rod.radius}' mass='1'"
            f" point='{_text(self.rest)}' element='{elements}'>"
            f"<elasticity young='{material.youngs_modulus}' poisson='{poisson}'/>"
            f"<contact selfcollide='{contact}' friction='{rod.friction}'/></flexcomp>"
        )
        self.ties: list[tuple[int, str, Array]] = []  # vertex, body, where in it
        self.servo: list[tuple[str, int]] = []  # joint, end
        self.extra = ""
        for end in range(2):
            self._hold(end)

    def _hold(self, end: int) -> None:
        if self.ends[end] == "free":
            return
        motion = self.rod.start_motion if end == 0 else self.rod.end_motion
        point = np.asarray(self.rod.centerline[0 if end == 0 else -1], float)
        name = f"{self.name}_end{end}"
        joint = ""
        if motion is not None and motion.slides_along is not None:
            joint = f"<joint type='slide' axis='{_text(motion.axis)}'/>"
        self.extra += (
            f"<body name='{name}' mocap='true' pos='{_text(point)}'><body name='{name}_c'>{joint}"
            "<inertial pos='0 0 0' mass='1e-3' diaginertia='1e-6 1e-6 1e-6'/></body></body>"
        )
        count = len(self.nodes)
        vertices = [0] if end == 0 else [count - 1]
        if self.clamped[end]:
            vertices.append(1 if end == 0 else count - 2)
            edge = 0 if end == 0 else count - 2
            self.servo.append((f"{self.name}_twist" + (f"_{edge}" if end == 0 else ""), end))
        for vertex in vertices:
            self.ties.append((vertex, f"{name}_c", self.nodes[vertex] - point))

    def masses(self) -> Array:
        """Of the vertices, with halves at the ends."""
        mass = self.rod.material.density * self.rod.area * self.rod.length / self.edges
        out = np.full(len(self.nodes), mass)
        out[[self.first, self.first + self.edges]] = 0.5 * mass
        return out


def _led(a: Array, b: Array, u: Array) -> Array:
    """Directions u that the smallest rotations a → b lead along, shape (n, 3)."""
    axis = np.cross(a, b)
    cosine = (a * b).sum(axis=1, keepdims=True)
    twice = np.cross(axis, np.cross(axis, u))
    return np.asarray(u + np.cross(axis, u) + twice / (1.0 + cosine))


def _frames(nodes: Array) -> tuple[Array, Array]:
    """Directions at angle zero of edges, and those a quarter of a turn ahead."""
    along = np.diff(nodes, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    ones = np.ones((len(along), 1))
    first = _led(ones * [1.0, 0.0, 0.0], along, ones * [0.0, 1.0, 0.0])
    return first, np.cross(along, first)


class Asperity:
    """An adapter in the sense of cosseratbench."""

    name = "asperity"
    backend_version = asp.__version__

    def __init__(self, time_step_scale: float = 1.0) -> None:
        solver = importlib.import_module("cosseratbench.solver")
        self.capabilities = frozenset(solver.Capability) - {solver.Capability.SHEAR}
        self._scale = time_step_scale

    def run(self, scenario: Any, *, n_elements: int, n_frames: int) -> Any:
        """See cosseratbench's ``Solver``."""
        rods = [
            _Rod(i, rod, n_elements, scenario.self_contact) for i, rod in enumerate(scenario.rods)
        ]
        frame = scenario.duration / (n_frames - 1)
        model, driven = self._model(scenario, rods)
        integrator: asp.Integrator = asp.Cenic(accuracy=_ACCURACY * self._scale)
        if scenario.quasi_static:
            integrator = asp.Icf(time_step=frame / np.ceil(frame / (_STEP * self._scale)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", asp.AsperityWarning)
            sim = asp.Simulator(model, integrator=integrator)
        slides, turns = [], []
        for rod in rods:
            bodies = [model.body(f"{rod.name}_{v}").id for v in range(len(rod.nodes))]
            first = model.jnt_qposadr[model.body_jntadr[bodies]]
            slides.append(first[:, None] + np.arange(3))
            joints = [f"{rod.name}_twist_{e}" for e in range(len(rod.nodes) - 2)]
            joints.append(f"{rod.name}_twist")
            turns.append(np.array([model.jnt_qposadr[model.joint(j).id] for j in joints]))
            sim.data.qpos[slides[-1]] = rod.nodes - rod.rest
            a, b = _frames(rod.nodes[rod.first : rod.first + n_elements + 1])
            given = rod.rod.directors(n_elements)
            angle = np.unwrap(np.arctan2((given * b).sum(axis=1), (given * a).sum(axis=1)))
            whole = np.pad(angle, (rod.first, int(rod.clamped[1])), mode="edge")
            sim.data.qpos[turns[-1]] = whole
            for load in rod.rod.loads:
                vertex = rod.first + (n_elements if load.at.value == "end" else 0)
                sim.data.qfrc_applied[model.body_dofadr[bodies[vertex]] + np.arange(3)] += (
                    load.force
                )
            for joint, end in rod.servo:
                sim.data.ctrl[model.actuator(joint).id] = whole[-1 if end else 0]
        start = np.array(sim.data.ctrl)
        frames: list[list[Array]] = [[] for _ in rods]
        directors: list[list[Array]] = [[] for _ in rods]
        pieces = 10 if driven else 1
        for k in range(n_frames):
            for piece in range(pieces if k else 0):
                until = (k - 1 + (piece + 1) / pieces) * frame
                for mocap, actuator, point, motion in driven:
                    moved, _ = motion.pose(until)
                    sim.data.mocap_pos[mocap] = point + moved
                    about_x = np.array(motion.rotation)[:, 0]
                    turned = np.interp(until, motion.times, about_x)
                    sim.data.ctrl[actuator] = start[actuator] + turned
                sim.advance_to(until)
            for i, rod in enumerate(rods):
                nodes = rod.rest + sim.data.qpos[slides[i]]
                nodes = nodes[rod.first : rod.first + n_elements + 1]
                a, b = _frames(nodes)
                angle = sim.data.qpos[turns[i]][rod.first : rod.first + n_elements, None]
                frames[i].append(nodes)
                directors[i].append(np.cos(angle) * a + np.sin(angle) * b)
        trajectory = importlib.import_module("cosseratbench.trajectory")
        times = np.linspace(0.0, scenario.duration, n_frames)
        return trajectory.Trajectory(
            times, tuple(map(np.array, frames)), tuple(map(np.array, directors))
        )

    def _model(self, scenario: Any, rods: list[_Rod]) -> tuple[mujoco.MjModel, list[Any]]:
        world = ""
        for one in scenario.obstacles:
            if one.kind == "plane":
                world += (
                    f"<geom type='plane' size='9 9 1' pos='{_text(one.point)}'"
                    f" zaxis='{_text(one.unit_normal)}' friction='{one.friction}'/>"
                )
            else:
                half = 0.5 * one.length * one.unit_axis
                ends = _text(np.concatenate([one.center - half, one.center + half]))
                world += (
                    f"<geom type='cylinder' size='{one.radius}' fromto='{ends}'"
                    f" friction='{one.friction}'/>"
                )
        ties = [(rod, *tie) for rod in rods for tie in rod.ties]
        equality = "".join(
            f"<connect body1='{rod.name}_{vertex}' body2='{body}' anchor='0 0 0' {_TIE}/>"
            for rod, vertex, body, _ in ties
        )
        servos = ""
        for rod in rods:
            torsion = 2.0 * rod.rod.material.shear_modulus * rod.rod.second_moment_of_area
            gain = 1e3 * torsion * rod.edges / rod.rod.length
            servos += "".join(
                f"<position name='{joint}' joint='{joint}' kp='{gain}'/>" for joint, _ in rod.servo
            )
        model = mujoco.MjModel.from_xml_string(
            f"<mujoco><option integrator='discrete' gravity='{_text(np.array(scenario.gravity))}'/>"
            f"<worldbody>{world}{''.join(rod.body + rod.extra for rod in rods)}</worldbody>"
            f"<equality>{equality}</equality><actuator>{servos}</actuator></mujoco>"
        )
        damping = 2.0 * scenario.slowest_frequency() if scenario.quasi_static else 0.0
        for rod in rods:
            for vertex, mass in enumerate(rod.masses()):
                body = model.body(f"{rod.name}_{vertex}").id
                model.body_mass[body] = mass
                dofs = model.body_dofadr[body] + np.arange(3)
                model.dof_damping[dofs] = damping * mass
        mujoco.mj_setConst(model, mujoco.MjData(model))
        for row, (_, _, _, where) in enumerate(ties):
            model.eq_data[row, 3:6] = where
        driven = []
        for flex, rod in enumerate(rods):
            first = int(model.flex_bendingadr[flex])
            count = int(model.flex_bending[first])
            for end, bend in ((0, 0), (1, count - 1)):
                if rod.clamped[end]:
                    record = model.flex_bending[first + 1 + 10 * bend :][:10]
                    record[[4, 8]] *= 2.0
            for end, motion in enumerate((rod.rod.start_motion, rod.rod.end_motion)):
                if motion is not None:
                    joint = next(joint for joint, which in rod.servo if which == end)
                    mocap = int(model.body(f"{rod.name}_end{end}").mocapid[0])
                    point = np.array(model.body(f"{rod.name}_end{end}").pos)
                    driven.append((mocap, model.actuator(joint).id, point, motion))
        return model, driven


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiments", nargs="*", default=_EXPERIMENTS)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    registry = importlib.import_module("cosseratbench.registry")
    experiment = importlib.import_module("cosseratbench.experiment")
    others = sorted({path.name for path in options.results.glob("*/default/*/")})
    table = Table("experiment", "score", "Asperity", *others, "CPU s")
    for name in options.experiments:
        begin = time.process_time()
        result = experiment.run(registry.load_experiment(name), Asperity())
        taken = time.process_time() - begin
        if result.outcome != "completed":
            table.add(name, result.failure or result.missing, "–", f"{taken:.2g}")
        for metric, value in result.metrics.items():
            scores = [f"{value:.2g}"]
            for other in others:
                path = options.results / name / "default" / other / "result.json"
                found = json.loads(path.read_text())["metrics"] if path.exists() else {}
                scores.append(f"{found[metric]:.2g}" if metric in found else "–")
            table.add(name, metric, *scores, f"{taken:.2g}")
    if options.save:
        note = "Errors are relative, or over a rod's length. Others: see `cosseratbench run`."
        table.save("cosserat", "Rods by cosseratbench", note)


if __name__ == "__main__":
    main()
