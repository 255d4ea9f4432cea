"""A scene as a MuJoCo model, which all engines read, and the states of its bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from studies.benchmarks.scene import GREY, Box, Capsule, HalfSpace, Scene, Sphere


def _numbers(values: float | Sequence[float]) -> str:
    return " ".join(f"{v:.17g}" for v in np.ravel(values))


def _geom(shape: Sphere | Box | Capsule | HalfSpace) -> str:
    if isinstance(shape, Sphere):
        return f'type="sphere" size="{_numbers(shape.radius)}"'
    if isinstance(shape, Box):
        return f'type="box" size="{_numbers(shape.half_extents)}"'
    if isinstance(shape, Capsule):
        return f'type="capsule" size="{_numbers((shape.radius, shape.half_length))}"'
    return 'type="plane" size="2 2 0.1"'


def contact_texts(scene: Scene) -> dict[str, str]:
    """Asperity's contact parameters as the ``<custom><text>`` entries of a model.

    The entry ``asperity`` holds the values of pairs. Stiffness depends on who meets whom, so the
    objects get one of their own, which combines in series with another geom's own value and
    stands alone against a geom without one. Rigid walls have none: object–object pairs get k/2
    and object–wall pairs k, exactly as in the description.
    """
    contact = scene.contact
    pair = {
        "stiffness": contact.object_object_stiffness,
        "dissipation": contact.dissipation,
        "stiction_tolerance": contact.stiction_tolerance,
    }
    texts = {
        "asperity": " ".join(f"{key}={value:.17g}" for key, value in pair.items()),
        "asperity:geom:object_*": f"stiffness={contact.object_stiffness:.17g}",
    }
    if contact.wall_stiffness is not None:
        texts["asperity:geom:wall_*"] = f"stiffness={contact.wall_stiffness:.17g}"
    return texts


def build_mjcf(
    scene: Scene, time_step: float = 2e-3, jacobian: str = "auto", solver: str = "Newton"
) -> str:
    """The scene as MJCF.

    Bodies and their geoms are called ``object_0``, ``object_1``…, walls ``wall_0``….

    Parameters
    ----------
    scene
        The description.
    time_step
        Of MuJoCo's own stepping [s]; error-controlled integrators ignore it.
    jacobian
        ``"dense"``, ``"sparse"`` or ``"auto"``.
    solver
        ``"Newton"`` or ``"CG"``, of MuJoCo's own stepping.
    """
    friction = f'friction="{_numbers(scene.contact.friction)} 0 0" condim="3"'
    lines = [
        f'<mujoco model="{scene.name}">',
        f'<option timestep="{_numbers(time_step)}" gravity="0 0 {_numbers(-scene.gravity)}"'
        f' cone="elliptic" solver="{solver}" jacobian="{jacobian}"/>',
        "<custom>",
        *(f'<text name="{name}" data="{text}"/>' for name, text in contact_texts(scene).items()),
        "</custom>",
        "<worldbody>",
        '<light directional="true" pos="0 0 3" dir="0.3 0.3 -1"/>',
    ]
    for i, wall in enumerate(scene.walls):
        lines.append(
            f'<geom name="wall_{i}" pos="{_numbers(wall.position)}" {_geom(wall.shape)}'
            f' rgba="{_numbers(GREY)}" {friction}/>'
        )
    for i, body in enumerate(scene.bodies):
        lines.append(
            f'<body name="object_{i}" pos="{_numbers(body.position)}"'
            f' quat="{_numbers(body.quaternion)}"><freejoint name="object_{i}"/>'
            f'<geom name="object_{i}" {_geom(body.shape)} density="{_numbers(body.density)}"'
            f' rgba="{_numbers(body.colour)}" {friction}/></body>'
        )
    lines += ["</worldbody>", "</mujoco>"]
    return "\n".join(lines)


@dataclass(frozen=True)
class BodyStates:
    """State of the free bodies in the order of the description, in world axes.

    ``position`` [m], (n, 3); ``quaternion`` (w, x, y, z), (n, 4); ``linear_velocity`` of the
    centres [m/s], (n, 3); ``angular_velocity`` [rad/s], (n, 3).
    """

    position: np.ndarray
    quaternion: np.ndarray
    linear_velocity: np.ndarray
    angular_velocity: np.ndarray


def body_states(qpos: np.ndarray, qvel: np.ndarray) -> BodyStates:
    """Free bodies' states from the coordinates of a model made here."""
    qpos, qvel = qpos.reshape(-1, 7), qvel.reshape(-1, 6)
    angular = np.empty((len(qpos), 3))
    for i in range(len(qpos)):
        # A free joint's angular velocity is expressed in the body's own axes.
        mujoco.mju_rotVecQuat(angular[i], qvel[i, 3:], qpos[i, 3:])
    return BodyStates(qpos[:, :3].copy(), qpos[:, 3:].copy(), qvel[:, :3].copy(), angular)
