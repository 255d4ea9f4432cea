"""Forty bodies of convex parts, as V-HACD makes them, that are dropped into a bin and come to rest.

Every shape is an OBJ file with an object per part, as decompositions are distributed. The benchmark
of threads and tests of `asperity.Midas` drop them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

import asperity as asp
from asperity.midas.verification import IntersectionTest

__all__ = ["Moment", "bin_model", "settle", "write_shapes"]

BODIES = 40
MASS = 0.1
SIZE = 0.03
"""Half the extent of a body [m]."""

# Boxes that shapes are made of: centres and half-extents, in units of `SIZE`.
_PARTS = {
    "angle": (((0, 0, -0.7), (1, 0.4, 0.3)), ((-0.7, 0, 0.3), (0.3, 0.4, 0.7))),
    "channel": (
        ((0, 0, -0.7), (1, 0.4, 0.3)),
        ((-0.75, 0, 0.3), (0.25, 0.4, 0.7)),
        ((0.75, 0, 0.3), (0.25, 0.4, 0.7)),
    ),
    "cross": (((0, 0, 0), (1, 0.3, 0.3)), ((0, 0, 0), (0.3, 1, 0.3)), ((0, 0, 0), (0.3, 0.3, 1))),
    "tee": (((0, 0, -0.6), (0.3, 0.3, 0.7)), ((0, 0, 0.4), (1, 0.4, 0.3))),
}


def write_shapes(folder: Path, seed: int = 0) -> list[Path]:
    """Write one OBJ file per shape, with rounded, uneven parts; returns their paths."""
    rng = np.random.default_rng(seed)
    paths = []
    for name, parts in _PARTS.items():
        lines, first = [], 1
        for number, (centre, half) in enumerate(parts):
            corners = rng.uniform(-1.0, 1.0, (60, 3))
            corners *= np.array(half) / np.max(np.abs(corners), axis=1, keepdims=True)
            hull = ConvexHull(SIZE * (np.array(centre) + corners))
            own = np.unique(hull.simplices)
            lines.append(f"o part{number}")
            lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in hull.points[own]]
            place = {int(vertex): first + i for i, vertex in enumerate(own)}
            for triangle, plane in zip(hull.simplices, hull.equations, strict=True):
                a, b, c = hull.points[triangle]
                turned = np.dot(np.cross(b - a, c - a), plane[:3]) < 0.0
                order = triangle[::-1] if turned else triangle
                lines.append("f " + " ".join(str(place[int(vertex)]) for vertex in order))
            first += len(own)
        path = folder / f"{name}.obj"
        path.write_text("\n".join(lines) + "\n")
        paths.append(path)
    return paths


def bin_model(shapes: list[Path], bodies: int = BODIES, seed: int = 1) -> str:
    """Bodies in layers above a bin, each with a random orientation."""
    rng = np.random.default_rng(seed)
    names = [path.stem for path in shapes]
    meshes = "".join(
        f'<mesh name="{name}" file="{path}" inertia="convex"/>'
        for name, path in zip(names, shapes, strict=True)
    )
    pitch = 4.0 * SIZE
    found = []
    for i in range(bodies):
        layer, cell = divmod(i, 4)
        x, y = pitch * (cell % 2 - 0.5), pitch * (cell // 2 - 0.5)
        turn = rng.normal(size=4)
        found.append(
            f'<body pos="{x} {y} {pitch * (0.6 + layer)}" quat="{" ".join(map(str, turn))}">'
            f'<freejoint/><geom type="mesh" mesh="{names[i % len(names)]}" mass="{MASS}"/></body>'
        )
    width, height = pitch, 0.3
    walls = "".join(
        f'<geom type="box" pos="{x} {y} {height}" size="{sx} {sy} {height}"/>'
        for x, y, sx, sy in (
            (width + 0.01, 0, 0.01, width + 0.02),
            (-width - 0.01, 0, 0.01, width + 0.02),
            (0, width + 0.01, width, 0.01),
            (0, -width - 0.01, width, 0.01),
        )
    )
    return (
        f'<mujoco><compiler autolimits="true"/><asset>{meshes}</asset><worldbody>'
        f'<geom type="plane" size="1 1 1"/>{walls}{"".join(found)}</worldbody></mujoco>'
    )


class Moment(NamedTuple):
    """Motion at a time."""

    time: float
    """[s]"""
    speeds: np.ndarray
    """Of the bodies' centres of mass [m/s]."""
    spins: np.ndarray
    """[rad/s]"""
    energy: float
    """Kinetic [J]."""
    height: float
    """Mean of the bodies, by mass [m]."""
    intersects: bool


def settle(sim: asp.Simulator, duration: float, every: float = 0.5) -> Iterator[Moment]:
    """Advance a simulation, and say how things move.

    Raises
    ------
    SimulationError
        If a step does not converge.
    """
    test = IntersectionTest(sim.session.method.engine)
    model, data = sim.model, sim.data
    for moment in np.arange(every, duration + 1e-9, every):
        sim.advance_to(float(moment))
        velocity = np.zeros((model.nbody - 1, 6))
        for body in range(1, model.nbody):
            kind = int(mujoco.mjtObj.mjOBJ_BODY)
            mujoco.mj_objectVelocity(model, data, kind, body, velocity[body - 1], 0)
        speeds = np.linalg.norm(velocity[:, 3:], axis=1)
        momentum = np.zeros(model.nv)
        mujoco.mj_mulM(model, data, momentum, data.qvel)
        yield Moment(
            float(moment),
            speeds,
            np.linalg.norm(velocity[:, :3], axis=1),
            0.5 * float(data.qvel @ momentum),
            float(model.body_mass[1:] @ data.xipos[1:, 2] / model.body_mass[1:].sum()),
            bool(test()),
        )
