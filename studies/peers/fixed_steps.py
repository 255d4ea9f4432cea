"""Engines with steps of a fixed size: what a simulation with any of them is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

import mujoco
import numpy as np

from studies.benchmarks.verification.case import (
    Array,
    Given,
    NotApplicable,
    Record,
    Simulate,
    World,
)
from studies.peers.limits import Deadline, Stopped

__all__ = ["FixedSteps", "Scene", "refusal_of"]


class Scene(Protocol):
    """A world in an engine."""

    def begin(self, qpos: Array, qvel: Array) -> tuple[Array, Array]:
        """Set the state, in MuJoCo's coordinates, and return it as the engine has it."""

    def control(self, values: Sequence[float] | Array) -> None:
        """Set the controls of the actuators."""

    def push(self, name: str, force: Sequence[float]) -> None:
        """Apply a force and a torque to a body for the next step, shape (6,)."""

    def step(self) -> None:
        """Advance."""

    def read(self) -> tuple[Array, Array]:
        """The state in MuJoCo's coordinates."""


class FixedSteps(Simulate):
    """Simulates worlds with an engine in steps of a fixed size [s]."""

    def __init__(self, time_step: float, deadline: Deadline | None = None) -> None:
        self.time_step = time_step
        self.deadline = deadline or Deadline(float("inf"))

    @abstractmethod
    def scene(self, world: World, model: mujoco.MjModel) -> Scene:
        """The world, whose model it is, in the engine."""

    def run(self, world: World, duration: float, given: Given) -> Record:
        """See `Simulate`."""
        if world.contact.dynamic_friction is not None:
            raise NotApplicable("one coefficient of friction")
        if world.deformable:
            raise NotApplicable("no deformable bodies")
        model = world.model()
        if given.release is not None:
            raise NotApplicable("no equalities that let go")
        if model.ntendon:
            raise NotApplicable("no tendons")
        if model.opt.density > 0.0 or model.opt.viscosity > 0.0:
            raise NotApplicable("no fluids")
        scene = self.scene(world, model)
        start = scene.begin(
            np.array(model.qpos0 if given.qpos is None else given.qpos, float),
            np.zeros(model.nv) if given.qvel is None else np.array(given.qvel, float),
        )
        rows = [(0.0, *start)]
        hold = max(round(given.period / self.time_step), 1)
        for i in range(round(duration / self.time_step)):
            if given.drive is not None and model.nu and i % hold == 0:
                scene.control(given.drive(i * self.time_step))
            for name, force in given.forces.items():
                scene.push(name, force)
            scene.step()
            rows.append(((i + 1) * self.time_step, *scene.read()))
            if i % 100 == 0:
                self.deadline.check()
        times, positions, velocities = (np.array(part) for part in zip(*rows, strict=True))
        if not (np.isfinite(positions).all() and np.isfinite(velocities).all()):
            raise Stopped("became unstable")
        return Record(model, times, positions, velocities)


def refusal_of(error: Exception) -> NotApplicable:
    """What an engine that cannot read a world says, as its first line."""
    return NotApplicable(str(error).splitlines()[0][:80])
