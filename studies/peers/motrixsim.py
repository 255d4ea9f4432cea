"""MotrixSim, which reads MJCF itself, in single precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import motrixsim
import mujoco
import numpy as np

from studies.benchmarks.verification.case import Array, NotApplicable, World
from studies.peers.fixed_steps import FixedSteps, refusal_of

__all__ = ["MotrixSimulate"]

_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)


class MotrixSimulate(FixedSteps):
    """Simulates worlds with MotrixSim."""

    def scene(self, world: World, model: mujoco.MjModel) -> _Scene:
        """See `FixedSteps`."""
        try:
            scene = motrixsim.load_mjcf_str(_xml(world))
        except Exception as error:  # it has no class of its own for them
            raise refusal_of(error) from error
        scene.options.timestep = self.time_step
        return _Scene(model, scene)


def _xml(world: World) -> str:
    """The world's model, with a contact of its own where it asks MuJoCo for one."""
    solref = world.contact.solref
    if solref is None or world.document:
        return world.xml
    numbers = f"{solref[0]:.17g} {solref[1]:.17g}"
    return world.xml.replace("<default><geom ", f"<default><geom solref='{numbers}' ", 1)


class _Scene:
    """A `Scene`. MotrixSim's coordinates have a quaternion's real part last."""

    def __init__(self, model: mujoco.MjModel, scene: Any) -> None:
        free, others = iter(scene.floating_bases), iter(scene.joints)
        positions: list[int] = []
        velocities: list[int] = []
        for kind in model.jnt_type:
            own: Any = next(free if kind == _FREE else others, None)
            if own is None:
                raise NotApplicable("it leaves joints out")
            if kind == _FREE:
                first, speed = int(own.dof_pos_start), int(own.dof_vel_start)
                positions += [first, first + 1, first + 2, *_quaternion(first + 3)]
                velocities += range(speed, speed + 6)
            elif kind == _BALL:
                positions += _quaternion(int(own.dof_pos_index))
                velocities += range(int(own.dof_vel_index), int(own.dof_vel_index) + 3)
            else:
                positions.append(int(own.dof_pos_index))
                velocities.append(int(own.dof_vel_index))
        if len(positions) != scene.num_dof_pos or len(velocities) != scene.num_dof_vel:
            raise NotApplicable("it makes other joints")
        self._scene, self._data = scene, motrixsim.SceneData(scene)
        self._positions, self._velocities = np.array(positions), np.array(velocities)

    def begin(self, qpos: Array, qvel: Array) -> tuple[Array, Array]:
        """See `Scene`; in single precision."""
        positions, velocities = np.zeros(len(qpos)), np.zeros(len(qvel))
        positions[self._positions], velocities[self._velocities] = qpos, qvel
        self._data.set_dof_pos(positions.astype(np.float32), self._scene)
        self._data.set_dof_vel(velocities.astype(np.float32))
        return self.read()

    def control(self, values: Sequence[float] | Array) -> None:
        """See `Scene`."""
        self._data.actuator_ctrls = np.asarray(values, dtype=np.float32)

    def push(self, name: str, force: Sequence[float]) -> None:
        """See `Scene`."""
        push, twist = np.asarray(force, dtype=np.float32).reshape(2, 3)
        link = self._scene.get_link(name)
        link.add_external_force(self._data, push, local=False)
        link.add_external_torque(self._data, twist, local=False)

    def step(self) -> None:
        """See `Scene`."""
        self._scene.step(self._data)

    def read(self) -> tuple[Array, Array]:
        """See `Scene`."""
        qpos = np.array(self._data.dof_pos, dtype=np.float64)[self._positions]
        return qpos, np.array(self._data.dof_vel, dtype=np.float64)[self._velocities]


def _quaternion(first: int) -> list[int]:
    return [first + 3, first, first + 1, first + 2]
