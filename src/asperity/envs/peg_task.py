"""The task of the peg: starts, observations, rewards and ends, for one world or for many.

What one environment and a vector of them have in common. Everything here takes arrays whose first
axis, if any, counts worlds, and knows nothing of simulators.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.arguments import as_number, is_count
from asperity.envs.peg_variation import PegVariation, turned
from asperity.errors import ArgumentError
from asperity.midas.preset import Midas
from asperity.scenes.peg_in_hole import PegScene

__all__ = ["Outcome", "PegTask"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_POSITIVE = ("margin", "max_speed", "control_period", "depth")


class Outcome(NamedTuple):
    """What a step of the task was worth."""

    reward: Floats
    success: Flags
    """The peg has reached the depth."""
    out_of_time: Flags
    """It has not, and this was the last step."""


@dataclass(frozen=True, kw_only=True)
class PegTask:
    """Numbers of the task (Midas, section V-B); the paper's text gives none of them.

    Parameters
    ----------
    margin : float
        Radius of the hole, 10 mm, less that of the peg [m].
    max_steps : int
        Steps of the agent in an episode.
    max_speed : float
        Of the hand along each axis, at actions of ±1 [m/s].
    control_period : float
        Time of a step of the agent [s].
    depth : float
        How deep the peg's end is to be in the straight part of the hole, of 40 mm [m].
    bonus : float
        What success at once would be worth.
    spread : float
        Starts lie in a square of ± this about the axis [m].
    lowest, highest : float
        Of the peg's lower end above the funnel's rim, at the start [m].
    friction : float
        Of peg and container.
    tilt : float
        Angle [rad] about the axis of the jaws at which they have gripped the peg.
    scene : PegScene, optional
        All other sizes; its radius, friction and tilt are replaced by the above.
    """

    margin: float = 5e-4
    max_steps: int = 100
    max_speed: float = 0.1
    control_period: float = 0.03
    depth: float = 0.03
    bonus: float = 100.0
    spread: float = 0.015
    lowest: float = 0.01
    highest: float = 0.03
    friction: float = 0.1
    tilt: float = 0.0
    scene: PegScene = field(default_factory=PegScene)

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            value = as_number(name, getattr(self, name))
            if not (math.isfinite(value) and value > 0.0):
                raise ArgumentError(f"{name} must be positive, got {value}.")
        if not is_count(self.max_steps) or self.max_steps < 1:
            raise ArgumentError(
                f"max_steps must be a positive whole number, got {self.max_steps!r}."
            )
        if not 0.0 < self.lowest <= self.highest:
            raise ArgumentError(
                f"lowest and highest must be positive and in this order, got {self.lowest} and "
                f"{self.highest}."
            )
        if not self.spread >= 0.0:
            raise ArgumentError(f"spread must not be negative, got {self.spread}.")
        if self.depth > self.scene.hole_depth:
            raise ArgumentError(
                f"depth {self.depth} is more than the hole's {self.scene.hole_depth}; lower it, or "
                "take a scene with a larger hole_depth."
            )
        scene = replace(
            self.scene,
            radius=self.scene.hole_radius - self.margin,
            friction=self.friction,
            tilt=self.tilt,
        )
        object.__setattr__(self, "scene", scene)

    def integrator(self, variation: PegVariation | None = None) -> Midas:
        """Midas in steps of 10 ms, surfaces a tenth of the margin apart, or of the least of them.

        A tenth leaves the rest of the margin free. Between 0.02 and 0.2 of it, neither times nor
        motions differ by much.
        """
        margins = (self.margin, *((variation and variation.margin) or ()))
        distance = 0.1 * min(margins)
        return Midas(time_step=0.01, time_scheme="implicit-euler", activation_distance=distance)

    def addresses(self, model: mujoco.MjModel) -> tuple[int, NDArray[np.int64]]:
        """Where the peg's and the hand's positions are in ``qpos``."""
        peg = int(model.joint("peg").qposadr[0])
        return peg, np.array([int(model.joint(name).qposadr[0]) for name in "xyz"])

    # -- starts ------------------------------------------------------------------------------

    def start(self, random: np.random.Generator) -> Floats:
        """By how much a start is beside the gripped state of the model [m], shape (3,)."""
        beside = random.uniform(-self.spread, self.spread, 2)
        height = random.uniform(self.lowest, self.highest)
        return np.array([*beside, height - 0.02])

    def moved(
        self, model: mujoco.MjModel, gripped: Floats, offset: Floats, tilt: Floats | float = 0.0
    ) -> Floats:
        """The gripped state with hand and peg elsewhere, shapes (nq,) and (…, 3) to (…, nq).

        ``tilt`` turns the peg further in the jaws [rad].
        """
        peg, hand = self.addresses(model)
        qpos = np.broadcast_to(gripped, (*offset.shape[:-1], gripped.size)).copy()
        qpos[..., hand] += offset
        qpos[..., peg : peg + 3] += offset
        if np.any(tilt):
            qpos[..., peg + 3 : peg + 7] = turned(qpos[..., peg + 3 : peg + 7], tilt)
        return qpos

    # -- steps -------------------------------------------------------------------------------

    def controls(self, action: Floats) -> Floats:
        """Velocities of the hand [m/s] for actions, which count up to ±1, shape (…, 3)."""
        return self.max_speed * np.clip(np.asarray(action, np.float64), -1.0, 1.0)

    def tip(self, position: Floats) -> Floats:
        """Height of the lower end of a peg that is upright [m], of positions (…, 3)."""
        return np.asarray(position[..., 2] - 0.5 * self.scene.height)

    def outcome(self, before: Floats, after: Floats, step: NDArray[np.int64]) -> Outcome:
        """Reward of a step, and whether the episode ends with it.

        Within the circle of the funnel's rim the reward is −v / V, and outside of it −|v| / V. Here
        v is the mean velocity of the peg along z over the step, and V the largest of the hand. The
        step t that reaches the depth earns bonus · (1 − t / T) more, with the largest number T of
        steps. The paper's reward is "positive […] if the object is moving downwards inside the
        container, or […] negative […] otherwise" (Midas, section V-B3). With −v / V everywhere,
        some agents learn to go down beside the container, because that way is longer.

        Parameters
        ----------
        before, after : ndarray, shape (…, 3)
            Positions of the peg [m].
        step : ndarray of int
            Number of the step, from 1.
        """
        down = (before[..., 2] - after[..., 2]) / (self.max_speed * self.control_period)
        scene = self.scene
        aside = np.hypot(after[..., 0], after[..., 1])
        success = np.asarray(self.tip(after) <= scene.hole_depth - self.depth)
        # What has fallen beside the container is deep, too, but not in it.
        success &= aside < scene.hole_radius
        late = np.asarray(step, np.float64) / self.max_steps
        reward = np.where(aside < scene.funnel_radius, down, -np.abs(down))
        reward = reward + np.where(success, self.bonus * (1.0 - late), 0.0)
        return Outcome(reward, success, ~success & (np.asarray(step) >= self.max_steps))
