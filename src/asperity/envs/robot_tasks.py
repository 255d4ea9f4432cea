"""Gymnasium's walking robots as functions of arrays: Ant, Humanoid, HalfCheetah, Hopper, Walker2d.

Formulas and their weights are those of Gymnasium's environments of version 5; weights are read from
an environment, which has them from its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asperity.envs.array_task import ArrayTask
from asperity.envs.batch_vector import Outcome
from asperity.worlds import Batch

__all__ = ["TASKS"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def _between(values: Floats, limits: tuple[float, float]) -> Flags:
    return np.asarray((limits[0] < values) & (values < limits[1]))


def _squares(values: Floats) -> Floats:
    """Sums of squares by world."""
    return np.square(values).reshape(len(values), -1).sum(axis=1)


class _Walk(ArrayTask):
    """A robot that is to walk along x: forward, alive, and with little effort.

    Parameters
    ----------
    env : gymnasium.envs.mujoco.MujocoEnv
        Whose weights are used.
    """

    lost = 1
    """Positions that are not observed, unless they are asked for."""

    def __init__(self, env: Any) -> None:
        self._given = vars(env)
        self._period = float(env.dt)
        self._height = float(env.init_qpos[1])

    def _weight(self, name: str) -> Any:
        return self._given[f"_{name}"]

    def _seen(self, worlds: Batch, largest_speed: float = np.inf) -> list[Floats]:
        hidden = self.lost * self._weight("exclude_current_positions_from_observation")
        speeds = np.clip(worlds.qvel, -largest_speed, largest_speed)
        return [worlds.qpos[:, hidden:], speeds]

    def place(self, worlds: Batch) -> Floats:
        """Positions along x, and y where the robot is not planar."""
        return np.array(worlds.qpos[:, :1])

    def healthy(self, worlds: Batch) -> Flags | None:
        """Which worlds go on; None if all do."""
        return None

    def contact_cost(self, worlds: Batch) -> Floats | None:
        """Cost of contact forces, if there is one."""
        return None

    def effort(self, worlds: Batch, action: Floats) -> Floats:
        """What the cost of control is the sum of squares of."""
        return action

    def outcome(self, worlds: Batch, before: Floats, action: Floats) -> Outcome:
        velocity = (self.place(worlds) - before) / self._period
        terms = {"reward_forward": self._weight("forward_reward_weight") * velocity[:, 0]}
        cost = self._weight("ctrl_cost_weight") * _squares(self.effort(worlds, action))
        terms["reward_ctrl"] = -cost
        contact = self.contact_cost(worlds)
        if contact is not None:
            terms["reward_contact"] = -contact
        never = np.zeros(len(action), bool)
        healthy, ended = self.healthy(worlds), never
        if healthy is not None:
            terms["reward_survive"] = self._weight("healthy_reward") * healthy
            if self._weight("terminate_when_unhealthy"):
                ended = ~healthy
        speeds = dict(zip(("x_velocity", "y_velocity"), velocity.T, strict=False))
        reward = np.add.reduce(list(terms.values()))
        return Outcome(reward, ended, never, self.start(worlds) | speeds | terms)


class _Cheetah(_Walk):
    def observation(self, worlds: Batch) -> Floats:
        return np.hstack(self._seen(worlds))

    def start(self, worlds: Batch) -> dict[str, Any]:
        return {"x_position": np.array(worlds.qpos[:, 0])}


class _Walker(_Walk):
    def observation(self, worlds: Batch) -> Floats:
        return np.hstack(self._seen(worlds, 10.0))

    def healthy(self, worlds: Batch) -> Flags:
        height, angle = worlds.qpos[:, 1], worlds.qpos[:, 2]
        upright = _between(angle, self._weight("healthy_angle_range"))
        return _between(height, self._weight("healthy_z_range")) & upright

    def start(self, worlds: Batch) -> dict[str, Any]:
        height = worlds.qpos[:, 1] - self._height
        return {"x_position": np.array(worlds.qpos[:, 0]), "z_distance_from_origin": height}


class _Hopper(_Walker):
    def healthy(self, worlds: Batch) -> Flags:
        state = np.hstack([worlds.qpos[:, 2:], worlds.qvel])
        sane = _between(state, self._weight("healthy_state_range")).all(axis=1)
        return super().healthy(worlds) & sane


class _Spatial(_Walk):
    lost = 2

    def start(self, worlds: Batch) -> dict[str, Any]:
        x, y = worlds.qpos[:, 0], worlds.qpos[:, 1]
        far = np.hypot(x, y)
        return {"x_position": np.array(x), "y_position": np.array(y), "distance_from_origin": far}


class _Ant(_Spatial):
    def _forces(self, worlds: Batch) -> Floats:
        return np.clip(worlds.bind("cfrc_ext"), *self._weight("contact_force_range"))

    def observation(self, worlds: Batch) -> Floats:
        seen = self._seen(worlds)
        if self._weight("include_cfrc_ext_in_observation"):
            seen.append(self._forces(worlds)[:, 1:].reshape(len(worlds), -1))
        return np.hstack(seen)

    def place(self, worlds: Batch) -> Floats:
        body = worlds.model.body(self._weight("main_body")).id
        return np.array(worlds.bind("xpos")[:, body, :2])

    def healthy(self, worlds: Batch) -> Flags:
        low, high = self._weight("healthy_z_range")
        finite = np.isfinite(np.hstack([worlds.qpos, worlds.qvel])).all(axis=1)
        height = worlds.qpos[:, 2]
        return np.asarray(finite & (low <= height) & (height <= high))

    def contact_cost(self, worlds: Batch) -> Floats:
        return np.asarray(self._weight("contact_cost_weight") * _squares(self._forces(worlds)))


class _Humanoid(_Spatial):
    _FIELDS = ("cinert", "cvel", "qfrc_actuator", "cfrc_ext")

    def observation(self, worlds: Batch) -> Floats:
        seen = self._seen(worlds)
        for name in self._FIELDS:
            if self._weight(f"include_{name}_in_observation"):
                # Neither of the world's body nor of the free joint.
                first = 6 if name == "qfrc_actuator" else 1
                seen.append(worlds.bind(name)[:, first:].reshape(len(worlds), -1))
        return np.hstack(seen)

    def place(self, worlds: Batch) -> Floats:
        mass = worlds.model.body_mass
        return np.asarray(np.einsum("b,nbi->ni", mass, worlds.bind("xipos")[:, :, :2]) / mass.sum())

    def effort(self, worlds: Batch, action: Floats) -> Floats:
        return worlds.ctrl

    def healthy(self, worlds: Batch) -> Flags:
        return _between(worlds.qpos[:, 2], self._weight("healthy_z_range"))

    def contact_cost(self, worlds: Batch) -> Floats:
        cost = self._weight("contact_cost_weight") * _squares(worlds.bind("cfrc_ext"))
        return np.clip(cost, *self._weight("contact_cost_range"))

    def start(self, worlds: Batch) -> dict[str, Any]:
        tendons = {
            "tendon_length": np.array(worlds.bind("ten_length")),
            "tendon_velocity": np.array(worlds.bind("ten_velocity")),
        }
        return super().start(worlds) | tendons


TASKS: dict[str, Callable[[Any], ArrayTask]] = {
    "AntEnv": _Ant,
    "HalfCheetahEnv": _Cheetah,
    "HopperEnv": _Hopper,
    "HumanoidEnv": _Humanoid,
    "Walker2dEnv": _Walker,
}
"""By the name of Gymnasium's class, of version 5."""
