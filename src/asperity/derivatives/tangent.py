"""States, and steps with their derivatives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from asperity.plant.model.plastic import plastic_size

__all__ = ["DIFFERENCES", "IMPLICIT", "StepState", "Tangent", "chain", "tangent_size"]

IMPLICIT = "implicit"
DIFFERENCES = "differences"


def tangent_size(model: mujoco.MjModel) -> int:
    """Numbers of a change of a state: 2nv + na, and those of what has yielded."""
    return int(2 * model.nv + model.na) + plastic_size(model)


@dataclass(frozen=True)
class StepState:
    """Time [s], positions, velocities, activations, and what flexes have yielded.

    The last are the numbers of `mjData.plastic`, or none without a flex that yields.
    """

    time: float
    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    plastic: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, row: np.ndarray, model: mujoco.MjModel, time: float = 0.0) -> StepState:
        """The state of which `row` is that."""
        velocity, act = model.nq, model.nq + model.nv
        return cls(time, *np.split(row, [velocity, act, act + model.na]))

    @classmethod
    def read(cls, source: Any, model: mujoco.MjModel) -> StepState:
        """The state of an MjData, or of a table with arrays of the same names."""
        plastic = source.plastic[: plastic_size(model)].copy()
        rest = source.qpos.copy(), source.qvel.copy(), source.act.copy(), plastic
        return cls(float(source.time), *rest)

    def write(self, target: Any) -> None:
        """Let an MjData or a table have the state, but for its time."""
        target.qpos[:], target.qvel[:], target.act[:] = self.qpos, self.qvel, self.act
        target.plastic[: len(self.plastic)] = self.plastic

    @property
    def row(self) -> np.ndarray:
        """All but the time, shape (nq+nv+na,), and what has yielded behind it."""
        return np.concatenate([self.qpos, self.qvel, self.act, self.plastic])


@dataclass(frozen=True)
class Tangent:
    """A transition with its derivatives.

    Attributes
    ----------
    end : StepState
    by_state, by_control, by_parameter : numpy.ndarray
        Of the end's (position, velocity, activation, what has yielded), in tangent spaces, by those
        of the beginning, by controls, and by parameters (no columns if these were not asked for).
    steps : tuple of float
        Sizes of its steps [s].
    method : str
        How the derivatives were found: `IMPLICIT`, `DIFFERENCES`, or both.
    residual : float
        ‖D g‖/max(1, ‖D r‖) at which Newton's method has ended, D = diag(M)^(−1/2).
    one_sided, unmatched : int
        Displacements on one side of which alone, or on neither, contacts are the same.
    """

    end: StepState
    by_state: np.ndarray
    by_control: np.ndarray
    by_parameter: np.ndarray
    steps: tuple[float, ...]
    method: str
    residual: float
    one_sided: int
    unmatched: int


def chain(first: Tangent, second: Tangent) -> Tangent:
    """One transition after the other, with the same inputs."""
    methods = {*first.method.split(", "), *second.method.split(", ")}
    return Tangent(
        second.end,
        second.by_state @ first.by_state,
        second.by_state @ first.by_control + second.by_control,
        second.by_state @ first.by_parameter + second.by_parameter,
        (*first.steps, *second.steps),
        ", ".join(sorted(methods, reverse=True)),
        max(first.residual, second.residual),
        first.one_sided + second.one_sided,
        first.unmatched + second.unmatched,
    )
