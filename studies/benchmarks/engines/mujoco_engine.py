"""MuJoCo: the model (which Asperity loads too) and the stepping.

Methods: ``"newton"`` (MuJoCo chooses dense or sparse algebra), ``"newton-dense"``,
``"newton-sparse"``, ``"cg"``; all with elliptic friction cones and the Euler integrator.

MuJoCo's contacts keep MuJoCo's default ``solref`` and ``solimp``: its soft constraints have no
parameter that equals a stiffness in N/m, because their compliance scales with the apparent inertia
of each contact. Times are therefore not those of the same physics; read them next to the
penetration.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from studies.benchmarks.engines.base import BodyStates, Counters, Setting
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


def states_from(model: mujoco.MjModel, data: mujoco.MjData) -> BodyStates:
    """Free bodies' states from the generalized coordinates of a model made here."""
    qpos = data.qpos.reshape(model.njnt, 7)
    qvel = data.qvel.reshape(model.njnt, 6)
    angular = np.empty((model.njnt, 3))
    for i in range(model.njnt):
        # A free joint's angular velocity is expressed in the body's own axes.
        mujoco.mju_rotVecQuat(angular[i], qvel[i, 3:], qpos[i, 3:])
    return BodyStates(qpos[:, :3].copy(), qpos[:, 3:].copy(), qvel[:, :3].copy(), angular)


def deepest(data: mujoco.MjData) -> float:
    """Deepest overlap among the contacts in ``data`` [m]."""
    return max(0.0, float(-data.contact.dist.min())) if data.ncon else 0.0


class MujocoRun:
    """MuJoCo's own time stepping."""

    def __init__(self, scene: Scene, setting: Setting) -> None:
        name, _, jacobian = setting.method.partition("-")
        solvers = {"newton": "Newton", "cg": "CG"}
        if name not in solvers or jacobian not in ("", "dense", "sparse"):
            raise ValueError(f"MuJoCo has no method {setting.method!r} here")
        xml = build_mjcf(scene, setting.fixed(), jacobian or "auto", solvers[name])
        self.model = mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)
        self._steps = 0

    def advance(self, time: float) -> None:
        """Step up to ``time`` [s] in one call, so that Python adds nothing to each step."""
        count = round((time - self.data.time) / self.model.opt.timestep)
        if count > 0:
            mujoco.mj_step(self.model, self.data, nstep=count)
        self._steps += max(count, 0)
        warnings = self.data.warning.number
        bad = [mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL]
        if any(warnings[w] for w in [*bad, mujoco.mjtWarning.mjWARN_BADQACC]):
            # MuJoCo resets the simulation in this case and goes on; the time means nothing then.
            raise RuntimeError("MuJoCo became unstable and reset the simulation")

    def counters(self) -> Counters:
        """Steps; MuJoCo keeps the iterations of the last step only."""
        return Counters(steps=self._steps)

    def states(self) -> BodyStates:
        """Where the bodies are now."""
        return states_from(self.model, self.data)

    def own_penetration(self) -> float:
        """Deepest overlap at the end [m]."""
        mujoco.mj_forward(self.model, self.data)
        return deepest(self.data)


def prepare(scene: Scene, setting: Setting) -> MujocoRun:
    """A MuJoCo simulation at rest at time zero."""
    run = MujocoRun(scene, setting)
    mujoco.mj_forward(run.model, run.data)
    return run
