"""States, and steps with their derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

__all__ = ["DIFFERENCES", "IMPLICIT", "StepState", "Tangent", "chain"]

IMPLICIT = "implicit"
DIFFERENCES = "differences"


@dataclass(frozen=True)
class StepState:
    """Time [s], positions, velocities and activations."""

    time: float
    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray

    @classmethod
    def of(cls, row: np.ndarray, model: mujoco.MjModel, time: float = 0.0) -> StepState:
        """The state of which `row` is that."""
        return cls(time, *np.split(row, [model.nq, model.nq + model.nv]))

    @property
    def row(self) -> np.ndarray:
        """All but the time, shape (nq+nv+na,)."""
        return np.concatenate([self.qpos, self.qvel, self.act])


@dataclass(frozen=True)
class Tangent:
    """A transition with its derivatives.

    Attributes
    ----------
    end : StepState
    by_state, by_control, by_parameter : numpy.ndarray
        Of the end's (position, velocity, activation), in tangent spaces, by those of the beginning,
        by controls, and by parameters (no columns if these were not asked for).
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
