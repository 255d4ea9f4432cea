"""What an environment observes and rewards, as functions of arrays of many worlds."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asperity.envs.batch_vector import Outcome
from asperity.worlds import Batch

__all__ = ["ArrayTask"]

Floats = NDArray[np.float64]


class ArrayTask(abc.ABC):
    """Observations and rewards of many worlds; the model and resets are an environment's.

    A batch's arrays have the world first: ``worlds.qpos`` has the shape (n, nq). What else MjData
    has, `Batch.bind` gives: ``worlds.bind("cfrc_ext")`` has the shape (n, nbody, 6).
    """

    @abc.abstractmethod
    def observation(self, worlds: Batch) -> Floats:
        """What agents see, shape (n, m)."""

    @abc.abstractmethod
    def outcome(self, worlds: Batch, before: Floats, action: Floats) -> Outcome:
        """What a step has come to; what truncates all episodes alike is left to others.

        Parameters
        ----------
        worlds : Batch
            After the step.
        before : ndarray
            Their `place` before it.
        action : ndarray, shape (n, nu)
        """

    def place(self, worlds: Batch) -> Floats:
        """What a step is measured from, any shape (n, ...); velocities follow from places [m]."""
        return np.array(worlds.qpos)

    def start(self, worlds: Batch) -> dict[str, Any]:
        """Infos of worlds that begin, arrays of shape (n, ...)."""
        return {}
