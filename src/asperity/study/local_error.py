"""The localised global error of a simulation (TAMSI IV; docs/equations.md, ‘Localised error’).

Chaos makes the error at the end of a contact-rich simulation a matter of luck. The localised error
asks instead how far a simulation goes astray within windows of time. A reference starts from the
simulation's own state at the beginning of a window. Both are compared at its end,

    e_v² = mean over windows m of ‖v^m − Φ(x^{m−1})_v‖²,

and likewise with positions, as differences in the tangent space. Windows begin and end with
accepted steps, so that looking at them changes no step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

import mujoco
import numpy as np

from asperity.errors import SimulationError
from asperity.simulator import Simulator

__all__ = ["LocalErrors", "States", "local_errors", "windows_of"]


@dataclass(frozen=True)
class States:
    """Every accepted step of a simulation.

    Parameters
    ----------
    time : ndarray, shape (n,)
    qpos, qvel, act : ndarray, shapes (n, nq), (n, nv) and (n, na)
    plastic : ndarray, shape (n, nplastic)
        Or (n, 0) where nothing yields.
    """

    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    plastic: np.ndarray

    def put(self, number: int, data: mujoco.MjData) -> None:
        """Write the state at the end of a step into an MjData."""
        data.time = self.time[number]
        data.qpos[:], data.qvel[:] = self.qpos[number], self.qvel[number]
        data.act[:] = self.act[number]
        data.plastic[: self.plastic.shape[1]] = self.plastic[number]

    def ends(self) -> States:
        """The first and the last one."""
        return States(*(getattr(self, one.name)[[0, -1]] for one in fields(self)))


@dataclass(frozen=True)
class LocalErrors:
    """Errors within windows.

    Parameters
    ----------
    position : float
        Root mean square over windows of the norm of the position error [m, rad].
    velocity : float
        The same of velocities [m/s, rad/s].
    windows : int
        Number of windows looked at.
    """

    position: float
    velocity: float
    windows: int


def windows_of(time: np.ndarray, length: float, most: int) -> list[tuple[int, int]]:
    """Windows of at least a length [s] that begin and end at given times, no more than so many.

    Returns
    -------
    list of (int, int)
        Indices of beginnings and ends; the windows that are chosen are spread evenly.
    """
    found = []
    begin = 0
    while begin < len(time) - 1:
        end = int(np.searchsorted(time, time[begin] + length * (1 - 1e-9)))
        if end >= len(time):
            break
        found.append((begin, end))
        begin = end
    if len(found) > most:
        chosen = np.linspace(0, len(found) - 1, most).round().astype(int)
        found = [found[k] for k in chosen]
    return found


def local_errors(
    history: States,
    reference: Simulator,
    *,
    window: float = 0.025,
    most: int = 40,
    progress: Callable[[float], None] | None = None,
) -> LocalErrors:
    """Localised errors of a simulation.

    Parameters
    ----------
    history : States
    reference : Simulator
        Of the same model, with an integrator whose own error is far below.
    window : float
        Least length of a window [s]; 25 ms as in the paper.
    most : int
        Number of windows beyond which only some are looked at.
    progress : callable, optional
        Called with the share that is done.

    Raises
    ------
    SimulationError
        If the reference fails, or the simulation has no window.
    """
    windows = windows_of(history.time, window, most)
    if not windows:
        raise SimulationError(
            f"the simulation is shorter than a window of {window:g} s; simulate longer."
        )
    model, data = reference.model, reference.data
    positions, velocities = [], []
    difference = np.zeros(model.nv)
    for number, (begin, end) in enumerate(windows):
        history.put(begin, data)
        report = reference.advance_to(float(history.time[end]), on_failure="return")
        if not report.success:
            raise SimulationError(
                f"the reference failed at {report.time:.6g} s ({report.status.name}); choose a "
                f"smaller reference_step. {report.message}"
            )
        mujoco.mj_differentiatePos(model, difference, 1.0, data.qpos, history.qpos[end])
        positions.append(float(difference @ difference))
        velocities.append(float(np.sum((data.qvel - history.qvel[end]) ** 2)))
        if progress is not None:
            progress((number + 1) / len(windows))
    return LocalErrors(math.sqrt(np.mean(positions)), math.sqrt(np.mean(velocities)), len(windows))
