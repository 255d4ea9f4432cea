"""Cables that the tests share: their texts, and how they are bent."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

import asperity as asp
from asperity.loading.cables import hinge_angles

__all__ = ["Array", "bend_into_ring", "cable", "rotation", "tip_force", "tip_position"]

Array = NDArray[np.float64]


def cable(
    edges: int,
    *,
    length: float = 1.0,
    bend: float = 1e7,
    twist: float = 1e7,
    geom: str = "type='capsule' size='0.005'",
    mass: float = 0.1,
    joint: str = "<joint kind='main' damping='0'/>",
    attributes: str = "",
    rest: str = "",
    initial: str = "none",
    more: str = "",
) -> mujoco.MjModel:
    """A cable along x of a round section with EI = π r⁴/4 · 1e7 = 0.0049 N m², its first edge held.

    What bends is as long as said, and begins in the middle of the first edge.
    """
    size = length * edges / (edges - 0.5) if initial == "none" else length
    attributes = attributes or f"curve='s' count='{edges + 1} 1 1' size='{size:.17g} 0 0'"
    model, _ = asp.load_model(
        f"<mujoco><option gravity='0 0 0'/><worldbody><composite type='cable'"
        f" initial='{initial}' {attributes}>"
        "<plugin plugin='mujoco.elasticity.cable'>"
        f"<config key='twist' value='{twist}'/><config key='bend' value='{bend}'/>{rest}</plugin>"
        f"{joint}<geom {geom} mass='{mass / edges}' contype='0' conaffinity='0'/></composite>"
        f"</worldbody>{more}</mujoco>"
    )
    return model


def tip_position(sim: asp.Simulator) -> Array:
    """Where the last edge ends."""
    return np.array(sim.data.site("S_last").xpos)


def tip_force(sim: asp.Simulator, force: Array) -> None:
    """Let a force act at the end of the last edge [N]."""
    body = sim.model.body("B_last").id
    arm = tip_position(sim) - sim.data.xipos[body]
    sim.data.xfrc_applied[body] = np.concatenate([force, np.cross(arm, force)])


def rotation(axis: int, angle: float) -> Array:
    """About a coordinate axis, shape (3, 3)."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    out = np.eye(3)
    out[[i, j], [i, j]] = np.cos(angle)
    out[i, j], out[j, i] = -np.sin(angle), np.sin(angle)
    return out


def bend_into_ring(model: mujoco.MjModel, data: mujoco.MjData, twist: float) -> None:
    """Bend all joints into a ring in the plane of x and y, and twist its end by an angle [rad]."""
    joints = model.njnt // 3
    turn = rotation(2, 2.0 * np.pi / joints)
    for edge in range(1, joints + 1):
        before, after = twist * (edge - 1) / joints, twist * edge / joints
        angles = hinge_angles(rotation(0, -before) @ turn @ rotation(0, after), edge)
        data.qpos[3 * edge - 3 : 3 * edge] = angles if edge % 2 == 0 else angles[::-1]
