"""The history of a run: what every attempted step was, and why some were refused."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from asperity.integrators.steppings import attempts
from asperity.integrators.world import World
from asperity.integrators.world_layout import ATTEMPT_COLUMNS
from asperity.simulator.columns import Columns

__all__ = ["REASONS", "History", "HistoryKeeper"]

REASONS = ("", "error", "not converged", "not finite", "impact", "missed contact")
"""Why a step was refused, by verdict; nothing is said of accepted ones."""

# What energies need of a state, without its contacts.
_POSITIONS = (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_makeM)
# Rows that are kept unless a number is asked for: 64 MB.
_MOST = 1_000_000
# Rows between two returns to Python.
_STRETCH = 4096


class History(Columns):
    """Attempted steps of a run, n of them, in order; every column has the shape (n,).

    Each is an entry and an attribute: ``history["step"]``, ``history.step``. ``to_pandas()`` makes
    a ``pandas.DataFrame``, ``plot()`` a figure.

    Attributes
    ----------
    time : ndarray
        Where the step begins [s].
    step : ndarray
        Its size [s].
    error : ndarray
        Estimated error, in units of the accuracy's; NaN in fixed steps.
    accepted : ndarray of bool
    reason : ndarray of str
        Why it was refused: one of `REASONS`.
    iterations : ndarray of int
        Newton iterations.
    contacts : ndarray of int
        Contacts with which it was solved.
    energy : ndarray
        Kinetic and potential energy where the step begins [J], as of `Simulator.energy`; with
        `Midas` without that of contacts.
    """

    def plot(self) -> Any:
        """A ``matplotlib`` figure of step sizes, errors, iterations, contacts and energy."""
        from asperity.simulator.plots import plot_history

        return plot_history(self)


class HistoryKeeper:
    """Keeps the rows of a session's attempts.

    Parameters
    ----------
    model : mujoco.MjModel
    most : int or True
        Rows to keep, the latest; of more the oldest half goes. A million with True.
    """

    def __init__(self, model: mujoco.MjModel, most: int | bool) -> None:
        self.most = most
        self._model, self._data = model, mujoco.MjData(model)
        self._limit = _MOST if most is True else max(int(most), 1)
        self._rows = np.zeros((0, ATTEMPT_COLUMNS + 1))
        self._count = 0
        self._first = 0
        self._before = 0

    def begin(self, world: World, iterations: int, *, records: bool) -> None:
        """Let a stretch of steps be recorded.

        Parameters
        ----------
        world : World
        iterations : int
            Their number before it.
        records : bool
            Whether states of accepted steps are recorded already.
        """
        self._before = iterations
        table = world.table
        if table.attempt.shape[0] == 0:
            table.attempt = np.zeros((_STRETCH, ATTEMPT_COLUMNS))
        table.attempts = 0
        if not records or table.records < 0:
            table.records = 0
        self._first = int(table.records)
        current = world.current.table
        self._state = current.qpos.copy(), current.qvel.copy()

    def end(self, world: World) -> None:
        """Keep what a stretch has left."""
        table = world.table
        count = int(table.attempts)
        if count == 0:
            return
        rows = table.attempt[:count].copy()
        total = rows[:, attempts.ITERATIONS]
        # A row has the number at its end.
        rows[:, attempts.ITERATIONS] = np.diff(total, prepend=self._before)
        energies = self._energies(table, rows[:, attempts.VERDICT] == attempts.ACCEPTED)
        self._append(np.column_stack([rows, energies + rows[:, attempts.ELASTIC]]))

    def table(self) -> History:
        """What is kept."""
        rows = self._rows[: self._count]
        verdict = rows[:, attempts.VERDICT].astype(int)
        return History(
            {
                "time": rows[:, attempts.TIME].copy(),
                "step": rows[:, attempts.STEP].copy(),
                "error": rows[:, attempts.ERROR].copy(),
                "accepted": verdict == attempts.ACCEPTED,
                "reason": np.array(REASONS)[verdict],
                "iterations": rows[:, attempts.ITERATIONS].astype(int),
                "contacts": rows[:, attempts.CONTACTS].astype(int),
                "energy": rows[:, ATTEMPT_COLUMNS].copy(),
            }
        )

    def forget(self) -> None:
        """Begin with nothing."""
        self._count = 0

    # -- inside --------------------------------------------------------------------------------

    def _energies(self, table: Any, accepted: np.ndarray) -> np.ndarray:
        """Kinetic energy and that of gravity and springs [J] where each attempt begins."""
        energies = np.empty(len(accepted))
        qpos, qvel = self._state
        state = self._first
        energy = self._energy(qpos, qvel)
        for row, was_accepted in enumerate(accepted):
            energies[row] = energy
            if was_accepted:
                energy = self._energy(table.record_qpos[state], table.record_qvel[state])
                state += 1
        return energies

    def _energy(self, qpos: np.ndarray, qvel: np.ndarray) -> float:
        model, data = self._model, self._data
        data.qpos[:], data.qvel[:] = qpos, qvel
        for derive in _POSITIONS:
            derive(model, data)
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
        return float(data.energy[0] + data.energy[1])

    def _append(self, rows: np.ndarray) -> None:
        if self._count + len(rows) > self._limit:
            kept = min(self._count, max(self._limit // 2 - len(rows), 0))
            self._rows[:kept] = self._rows[self._count - kept : self._count].copy()
            self._count = kept
        rows = rows[-self._limit :]
        if self._count + len(rows) > len(self._rows):
            room = max(2 * len(self._rows), self._count + len(rows), 1024)
            grown = np.zeros((room, self._rows.shape[1]))
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        self._rows[self._count : self._count + len(rows)] = rows
        self._count += len(rows)
