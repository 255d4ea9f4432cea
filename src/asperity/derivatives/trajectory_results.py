"""What derivatives of trajectories are returned as."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Gradient", "Sensitivities"]


@dataclass(frozen=True)
class Sensitivities:
    """A trajectory with its derivatives, forward in time.

    Attributes
    ----------
    states : numpy.ndarray
        At the beginning and after every transition, shape (n+1, state_size of the transition).
    by_state, by_parameter : numpy.ndarray
        Of these states, in tangent spaces, by the first one, shape (n+1, tangent_size,
        tangent_size) or without columns if that was not asked for, and by the parameters, shape
        (n+1, tangent_size, number of parameters).
    """

    states: np.ndarray
    by_state: np.ndarray
    by_parameter: np.ndarray


@dataclass(frozen=True)
class Gradient:
    """The gradient of a function of a trajectory.

    Attributes
    ----------
    states : numpy.ndarray
        As in `Sensitivities`.
    by_state : numpy.ndarray
        By the first state, in its tangent space, shape (tangent_size,).
    by_control : numpy.ndarray
        By the controls of every transition, shape (n, nu).
    by_parameter : numpy.ndarray
        Shape (number of parameters,).
    """

    states: np.ndarray
    by_state: np.ndarray
    by_control: np.ndarray
    by_parameter: np.ndarray
