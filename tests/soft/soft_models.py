"""Deformable bodies that the tests share."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Array",
    "arch",
    "ball",
    "beam",
    "compile_soft",
    "cube",
    "gripper",
    "positions",
    "vertex_dofs",
]

Array = NDArray[np.float64]


def compile_soft(body: str, *, gravity: float = 9.81, sections: str = "") -> mujoco.MjModel:
    """Compile a world of flexes; elasticity needs MuJoCo's discrete integrator."""
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option integrator='discrete' gravity='0 0 {-gravity}'/>"
        f"<worldbody>{body}</worldbody>{sections}</mujoco>"
    )


def cube(
    side: float = 0.05,
    *,
    count: int = 3,
    young: float = 1e5,
    poisson: float = 0.3,
    damping: float = 0.002,
    height: float = 0.1,
    mass: float = 0.0625,
    friction: float = 0.8,
    name: str = "cube",
) -> str:
    """A cube of count³ vertices, whose centre is at some height."""
    spacing = side / (count - 1)
    return (
        f"<flexcomp name='{name}' type='grid' dim='3' count='{count} {count} {count}'"
        f" spacing='{spacing} {spacing} {spacing}' pos='0 0 {height}' radius='0.0005'"
        f" mass='{mass}'><elasticity young='{young}' poisson='{poisson}' damping='{damping}'/>"
        f"<contact selfcollide='none' friction='{friction}'/></flexcomp>"
    )


def arch(rows: int, *, angle: float = 0.5 * np.pi, held: bool = True) -> str:
    """A strip along an arc of 0.1 m about y, 20 mm wide, of 10 MPa and 1 mm thickness.

    It begins at x = 0.1 m, where its first two rows of four vertices are ``held``.
    """
    turn, across = np.meshgrid(np.linspace(0.0, angle, rows), [-0.01, -0.003, 0.003, 0.01])
    points = np.stack([0.1 * np.cos(turn), across, 0.1 * np.sin(turn)], axis=2)
    faces: list[int] = []
    for i, j in itertools.product(range(rows - 1), range(3)):
        a, c = 4 * i + j, 4 * i + j + 4
        one = [a, c, a + 1, a + 1, c, c + 1]
        faces += one if (i + j) % 2 else [a, c, c + 1, a, c + 1, a + 1]
    numbers = " ".join(f"{number:.12g}" for number in np.swapaxes(points, 0, 1).ravel())
    pins = "<pin id='0 1 2 3 4 5 6 7'/>" if held else ""
    return (
        "<flexcomp name='arch' type='direct' dim='2' mass='0.01' radius='5e-4'"
        f" point='{numbers}' element='{' '.join(map(str, faces))}'>{pins}"
        "<elasticity young='1e7' poisson='0' thickness='1e-3' elastic2d='both'/>"
        "<contact selfcollide='none' contype='0' conaffinity='0'/></flexcomp>"
    )


def beam(cells: int, *, young: float, poisson: float, mass: float = 1.0) -> mujoco.MjModel:
    """A beam along x from 0 to 1 m, with a side of 0.1 m, clamped at x = 0, without gravity."""
    spacing = 0.1 / cells
    count = f"{10 * cells + 1} {cells + 1} {cells + 1}"
    return compile_soft(
        "<body name='wall'>"
        f"<flexcomp name='beam' type='grid' dim='3' count='{count}' pos='0.5 0 0' radius='0.001'"
        f" spacing='{spacing} {spacing} {spacing}' mass='{mass}'>"
        f"<pin gridrange='0 0 0 0 {cells} {cells}'/>"
        f"<elasticity young='{young}' poisson='{poisson}'/>"
        "<contact contype='0' conaffinity='0' selfcollide='none'/></flexcomp></body>",
        gravity=0.0,
    )


def ball(count: int, *, radius: float, young: float, poisson: float) -> str:
    """A ball of count³ vertices on the plane z = 0: a cube whose shells are made round."""
    ticks = np.linspace(-1.0, 1.0, count)
    points = np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 3)
    length = np.linalg.norm(points, axis=1)
    points *= radius * (np.abs(points).max(axis=1) / np.where(length > 0.0, length, 1.0))[:, None]
    corner = np.arange(count**3).reshape(count, count, count)[:-1, :-1, :-1].ravel()
    steps = np.array([count * count, count, 1])
    paths = [np.cumsum([0, *steps[list(order)]]) for order in itertools.permutations(range(3))]
    tetrahedra = np.concatenate([corner[:, None] + path for path in paths])
    edges = points[tetrahedra[:, 1:]] - points[tetrahedra[:, :1]]
    turned = np.linalg.det(edges) < 0.0
    tetrahedra[turned, 2:] = tetrahedra[turned, :1:-1]
    return (
        f"<flexcomp name='ball' type='direct' dim='3' mass='0.1' radius='1e-5' pos='0 0 {radius}'"
        f" point='{' '.join(map(str, points.ravel()))}'"
        f" element='{' '.join(map(str, tetrahedra.ravel()))}'>"
        f"<elasticity young='{young}' poisson='{poisson}' damping='0.02'/>"
        "<contact selfcollide='none'/></flexcomp>"
    )


def gripper(young: float, *, count: int = 4) -> mujoco.MjModel:
    """Two fingers on a lift, with servos, and a cube of 50 mm between them on the floor."""
    finger = (
        "<body name='{0}' gravcomp='1' pos='{1} 0 0'><joint name='{0}' type='slide' axis='1 0 0'/>"
        "<geom type='box' size='0.01 0.04 0.02' mass='0.2' friction='0.8'/></body>"
    )
    servo = "<position joint='{}' kp='2000' kv='60'/>"
    return compile_soft(
        "<geom type='plane' size='1 1 0.1'/>"
        "<body name='lift' gravcomp='1' pos='0 0 0.025'>"
        "<inertial mass='1' pos='0 0 0' diaginertia='0.01 0.01 0.01'/>"
        "<joint name='lift' type='slide' axis='0 0 1'/>"
        f"{finger.format('left', -0.037)}{finger.format('right', 0.037)}</body>"
        + cube(count=count, young=young, height=0.0255),
        sections=f"<actuator>{''.join(servo.format(n) for n in ('left', 'right', 'lift'))}"
        "</actuator>",
    )


def positions(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Of all vertices [m], shape (n, 3), at the state of an MjData."""
    other = mujoco.MjData(model)
    other.qpos[:] = data.qpos
    mujoco.mj_kinematics(model, other)
    mujoco.mj_comPos(model, other)
    mujoco.mj_flex(model, other)
    return np.array(other.flexvert_xpos)


def vertex_dofs(model: mujoco.MjModel) -> NDArray[np.int64]:
    """First dof of every vertex, −1 of those that are fixed."""
    body = model.flex_vertbodyid
    return np.where(model.body_dofnum[body] == 3, model.body_dofadr[body], -1).astype(np.int64)
