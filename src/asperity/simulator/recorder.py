"""A simulator that keeps every accepted step."""

from __future__ import annotations

import numpy as np

from asperity.simulator.events import EventFinder
from asperity.simulator.simulator import Simulator
from asperity.simulator.watcher import Watcher

__all__ = ["Recorder"]

# What Python takes for a time and an array besides its numbers [bytes].
_OF_A_CONTROL = 200


class Recorder(Watcher, Simulator):
    """A simulator that keeps every accepted step, without making any step shorter.

    Takes what `Simulator` takes. Call `start_record` once, advance, and then `record`.
    """

    events: EventFinder | None = None
    """What to look for in every step."""

    def start_record(self) -> None:
        """Forget what was kept, and keep the present state and every accepted step from here."""
        self._held = [(float(self.data.time), self.data.ctrl.copy())]
        self._parts: list[tuple[np.ndarray, ...]] = []
        table = self.session.world.table
        table.records = 1
        table.record_time[0] = self.data.time
        table.record_qpos[0] = self.data.qpos
        table.record_qvel[0] = self.data.qvel
        table.record_act[0] = self.data.act
        table.record_plastic[0] = self.data.plastic[: table.record_plastic.shape[1]]

    def keep_record(self) -> None:
        """See `Watcher`."""
        table = self.session.world.table
        n = int(table.records)
        if n == 0:
            return
        self._parts.append(
            (
                table.record_time[:n].copy(),
                table.record_qpos[:n].copy(),
                table.record_qvel[:n].copy(),
                table.record_act[:n].copy(),
                table.record_plastic[:n].copy(),
            )
        )
        table.records = 0

    def before_steps(self, budget: int) -> int:
        """See `Watcher`."""
        held = getattr(self, "_held", None)
        # Controls change in Python only, between calls of the loops.
        if held is not None and not np.array_equal(held[-1][1], self.data.ctrl):
            held.append((float(self.data.time), self.data.ctrl.copy()))
        # Every step is looked at before the next one, which it may rule out.
        return budget if self.events is None else 1

    def after_steps(self) -> None:
        """See `Watcher`."""
        if self.events is not None:
            self.events.look(self.session.world.current.table)

    def controls_at(self, times: np.ndarray) -> np.ndarray:
        """Controls from each time on, shape (n, nu); those of the last are what led there."""
        begins = [time for time, _ in self._held]
        # A step ends within round-off of the time at which the next control begins.
        slack = 1e-12 * np.maximum(1.0, np.abs(times))
        index = np.searchsorted(begins, times + slack, side="right") - 1
        return np.array([ctrl for _, ctrl in self._held])[np.maximum(index, 0)]

    @property
    def kept_bytes(self) -> int:
        """Memory of what was kept [bytes], about."""
        steps = sum(array.nbytes for part in self._parts for array in part)
        return steps + len(self._held) * (self._held[-1][1].nbytes + _OF_A_CONTROL)

    def forget_record(self) -> None:
        """Forget what was kept, but for the last state and control: the first of what follows."""
        self.keep_record()
        last = self._parts[-1]
        self._parts = [tuple(part[-1:].copy() for part in last)]
        self._held = self._held[-1:]

    def record(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, positions and velocities so far, shapes (n,), (n, nq) and (n, nv)."""
        self.keep_record()
        every = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        self._parts = [tuple(every)]
        return every[0], every[1], every[2]

    def activations(self) -> np.ndarray:
        """Activations of actuators so far, shape (n, na)."""
        self.keep_record()
        return np.concatenate([part[3] for part in self._parts])

    def plasticity(self) -> np.ndarray:
        """What flexes have yielded so far, shape (n, nplastic), or (n, 0) without such."""
        self.keep_record()
        return np.concatenate([part[4] for part in self._parts])
