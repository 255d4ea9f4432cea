"""MotrixSim, which reads MJCF itself, in single precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import motrixsim
import mujoco
import numpy as np
from numpy.typing import ArrayLike

from studies.benchmarks.verification.case import Array, Drive, NotApplicable, Record, World
from studies.peers.limits import Deadline, Stopped

__all__ = ["MotrixSimulate"]

_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)


class MotrixSimulate:
    """Simulates worlds with MotrixSim in steps of a fixed size [s]."""

    def __init__(self, time_step: float, deadline: Deadline | None = None) -> None:
        self.time_step = time_step
        self.deadline = deadline or Deadline(float("inf"))

    def __call__(
        self,
        world: World,
        duration: float,
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        drive: Drive | None = None,
        period: float = 0.02,
        forces: Mapping[str, Sequence[float]] | None = None,
    ) -> Record:
        if world.contact.dynamic_friction is not None:
            raise NotApplicable("one coefficient of friction")
        model = world.model()
        if model.ntendon:
            raise NotApplicable("no tendons")
        try:
            scene = motrixsim.load_mjcf_str(_xml(world))
        except Exception as refusal:  # it has no class of its own for them
            raise NotApplicable(str(refusal).splitlines()[0][:80]) from refusal
        scene.options.timestep = self.time_step
        data = motrixsim.SceneData(scene)
        layout = _Layout(model, scene)
        layout.write(
            data,
            model.qpos0 if qpos is None else np.asarray(qpos, float),
            np.zeros(model.nv) if qvel is None else np.asarray(qvel, float),
        )
        links = {name: scene.get_link(name) for name in forces or {}}
        count = round(duration / self.time_step)
        hold = max(round(period / self.time_step), 1)
        rows = [(0.0, *layout.read(data))]
        for i in range(count):
            if drive is not None and model.nu and i % hold == 0:
                data.actuator_ctrls = np.asarray(drive(i * self.time_step), dtype=np.float32)
            for name, force in (forces or {}).items():
                push, twist = np.asarray(force, dtype=np.float32).reshape(2, 3)
                links[name].add_external_force(data, push, local=False)
                links[name].add_external_torque(data, twist, local=False)
            scene.step(data)
            rows.append(((i + 1) * self.time_step, *layout.read(data)))
            if i % 100 == 0:
                self.deadline.check()
        times, positions, velocities = (np.array(part) for part in zip(*rows, strict=True))
        if not (np.isfinite(positions).all() and np.isfinite(velocities).all()):
            raise Stopped("became unstable")
        return Record(model, times, positions, velocities)


def _xml(world: World) -> str:
    """The world's model, with a contact of its own where it asks MuJoCo for one."""
    solref = world.contact.solref
    if solref is None or world.document:
        return world.xml
    numbers = f"{solref[0]:.17g} {solref[1]:.17g}"
    return world.xml.replace("<default><geom ", f"<default><geom solref='{numbers}' ", 1)


class _Layout:
    """Between MuJoCo's coordinates and MotrixSim's, which has a quaternion's real part last."""

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
        self._scene = scene
        self._positions, self._velocities = np.array(positions), np.array(velocities)

    def write(self, data: Any, qpos: Array, qvel: Array) -> None:
        """Set the scene's state."""
        positions, velocities = np.zeros(len(qpos)), np.zeros(len(qvel))
        positions[self._positions], velocities[self._velocities] = qpos, qvel
        data.set_dof_pos(positions.astype(np.float32), self._scene)
        data.set_dof_vel(velocities.astype(np.float32))

    def read(self, data: Any) -> tuple[Array, Array]:
        """The state as MuJoCo writes it."""
        qpos = np.array(data.dof_pos, dtype=np.float64)[self._positions]
        return qpos, np.array(data.dof_vel, dtype=np.float64)[self._velocities]


def _quaternion(first: int) -> list[int]:
    return [first + 3, first, first + 1, first + 2]
