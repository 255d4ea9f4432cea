"""Ropes and rods that the tests share."""

from __future__ import annotations

import mujoco
import numpy as np
from soft_models import Array

import asperity as asp

__all__ = [
    "EQUALITY",
    "arc",
    "capstan",
    "lengths",
    "line",
    "motion",
    "rod",
    "rope",
    "sliding_ratio",
]

EQUALITY = "<edge equality='true'/>"
_UNTOUCHED = "<contact contype='0' conaffinity='0' selfcollide='none'/>"


def line(count: int, length: float) -> Array:
    """Points along x from 0 on, shape (count, 3)."""
    return np.linspace([0.0, 0.0, 0.0], [length, 0.0, 0.0], count)


def arc(count: int, span: float, length: float) -> Array:
    """A chain of equal edges that hangs as an arc of a circle, from x = 0 to the span."""
    edges = count - 1
    turns = np.arange(edges) - 0.5 * (edges - 1)
    low, high = 0.0, 2.0 * np.pi / edges
    for _ in range(60):
        turn = 0.5 * (low + high)
        reach = length / edges * np.cos(turn * turns).sum()
        low, high = (turn, high) if reach > span else (low, turn)
    steps = length / edges * np.stack([np.cos(low * turns), 0.0 * turns, np.sin(low * turns)], 1)
    return np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])


def rope(
    points: Array,
    inner: str,
    *,
    mass: float = 0.1,
    radius: float = 0.005,
    gravity: float = 9.81,
    contact: str = _UNTOUCHED,
    world: str = "",
    sections: str = "",
) -> mujoco.MjModel:
    """A rope through points; springs along edges need another integrator than elasticity."""
    integrator = "Euler" if "stiffness" in inner else "discrete"
    elements = " ".join(f"{i} {i + 1}" for i in range(len(points) - 1))
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option integrator='{integrator}' gravity='0 0 {-gravity}'/><worldbody>"
        f"<flexcomp name='rope' type='direct' dim='1' mass='{mass}' radius='{radius}'"
        f" point='{' '.join(f'{x:.17g}' for x in points.ravel())}' element='{elements}'>"
        f"{inner}{contact}</flexcomp>{world}</worldbody>{sections}</mujoco>"
    )


def rod(edges: int, inner: str = "", *, young: float = 1e6, mass: float = 0.1) -> mujoco.MjModel:
    """A rod of 1 m, clamped at x = 0 by one more edge, without gravity.

    The last vertex has half of the others' mass, so that the rod is an even one.
    """
    points = line(edges + 2, (edges + 1) / edges) - [1.0 / edges, 0.0, 0.0]
    model = rope(
        points,
        f"<elasticity young='{young}' poisson='0.3'/><pin id='0 1'/>{inner}",
        mass=mass * (edges + 2) / edges,
        gravity=0.0,
    )
    tip = model.flex_vertbodyid[-1]
    model.body_mass[tip] *= 0.5
    model.body_inertia[tip] *= 0.5
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def capstan(ratio: float, friction: float, *, gap: float = 0.0) -> mujoco.MjModel:
    """A light rope over half of a cylinder, with masses of 0.5 kg and a multiple of it.

    The last two dofs are the masses' heights. Vertices begin at a gap above the cylinder.
    """
    count, radius, tail = 81, 0.102 + gap, 0.3
    along = np.linspace(0.0, np.pi * radius + 2.0 * tail, count)
    angle = np.clip((along - tail) / radius, 0.0, np.pi)
    down = np.maximum(np.maximum(tail - along, along - tail - np.pi * radius), 0.0)
    points = np.stack([-radius * np.cos(angle), 0.0 * angle, radius * np.sin(angle) - down], axis=1)
    weight = (
        "<body name='{0}' pos='{1} 0 {2}'><joint type='slide' axis='0 0 1'/>"
        "<geom size='0.02' mass='{3}' contype='0' conaffinity='0'/></body>"
    )
    tie = "<connect body1='{}' body2='rope_{}' anchor='0 0 0'/>"
    return rope(
        points,
        EQUALITY,
        mass=0.002,
        radius=0.002,
        contact=f"<contact selfcollide='none' friction='{friction}'/>",
        world=f"<geom type='cylinder' size='0.1 0.1' euler='90 0 0' friction='{friction}'/>"
        + weight.format("light", -radius, -tail, 0.5)
        + weight.format("heavy", radius, -tail, 0.5 * ratio),
        sections=f"<equality>{tie.format('light', 0)}{tie.format('heavy', count - 1)}</equality>",
    )


def sliding_ratio(friction: float, integrator: asp.Integrator, *, gap: float = 0.0) -> float:
    """Tension of the heavy end of a `capstan` that slides over that of the light one."""
    sim = asp.Simulator(capstan(3.0, friction, gap=gap), integrator=integrator)
    sim.advance_to(0.1)
    before = sim.data.qvel[-2:].copy()
    sim.advance_to(0.3)
    rise, fall = (sim.data.qvel[-2:] - before) / 0.2
    return float(3.0 * (9.81 + fall) / (9.81 + rise))


def motion(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, Array]:
    """Masses and velocities of the vertices, which are zero where they are fixed."""
    body = model.flex_vertbodyid
    dof = np.where(model.body_dofnum[body] == 3, model.body_dofadr[body], -1)
    velocity = np.where(dof[:, None] >= 0, data.qvel[dof[:, None] + np.arange(3)], 0.0)
    return np.where(dof >= 0, model.body_mass[body], 0.0), velocity


def lengths(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Of the edges, over those at rest."""
    ends = data.flexvert_xpos[model.flex_edge]
    return np.asarray(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) / model.flexedge_length0)
