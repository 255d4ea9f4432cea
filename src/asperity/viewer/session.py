"""A simulation that is played, and told what to do by other threads."""

from __future__ import annotations

import collections
import queue
import time as clock
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import AsperityError
from asperity.simulator import Simulator
from asperity.simulator.session import Control
from asperity.viewer.pull import HOLD, Carry, Pull, take_hold

__all__ = ["Session"]

# State, controls, applied forces and mocap poses.
_WHOLE_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)
# Wall time over which the rate is measured [s].
_RATE_TIME = 1.0


class _Late(Exception):
    """An advance has taken longer than there is time for."""


class Session:
    """A simulator, played at a speed.

    One thread calls `turn` again and again, and nobody else touches the simulator, which runs in
    one thread at a time. All others `tell` what is to be done, and it is done at the next turn.

    Parameters
    ----------
    simulator : Simulator
    speed : float
        Simulated time over wall time.
    """

    def __init__(self, simulator: Simulator, *, speed: float = 1.0) -> None:
        self.simulator = simulator
        self.playing = False
        self.speed = speed
        self.message = ""
        """What went wrong last, in a sentence."""
        self.resets = 0
        """How often the simulation began anew."""
        self._orders: queue.SimpleQueue[tuple[Callable[..., None], tuple[Any, ...]]]
        self._orders = queue.SimpleQueue()
        self._control: Control | None = simulator.control
        self._start = np.empty(mujoco.mj_stateSize(simulator.model, _WHOLE_STATE))
        mujoco.mj_getState(simulator.model, simulator.data, self._start, _WHOLE_STATE)
        self._pull: Pull | Carry | None = None
        self._owed = 0.0
        self._deadline = 0.0
        self._passed: collections.deque[tuple[float, float]] = collections.deque()

    # -- by any thread -----------------------------------------------------------------------

    def tell(self, order: Callable[..., None], *arguments: Any) -> None:
        """Have a method of this session called with these arguments at the next turn."""
        self._orders.put((order, arguments))

    # -- orders ------------------------------------------------------------------------------

    def play(self) -> None:
        """Let time run."""
        if not self.playing:
            self.playing = True
            self.message = ""
            self._owed = 0.0
            self._passed.clear()

    def pause(self) -> None:
        """Let time stand."""
        self.playing = False

    def step(self) -> None:
        """Pause, and advance by one step: the fixed one, or the one that error control tries."""
        self.pause()
        self.message = ""
        self._advance(self.simulator.time + self._step_length(), float("inf"))

    def reset(self, keyframe: int | str | None = None) -> None:
        """Return to the model's initial state, or to a keyframe; time goes on running, or not."""
        self._release()
        self.simulator.reset(keyframe)
        self.message = ""
        self._owed = 0.0
        self._passed.clear()
        self.resets += 1

    def restart(self) -> None:
        """Return to the state in which the session began; external systems begin anew."""
        self.reset()
        simulator = self.simulator
        mujoco.mj_setState(simulator.model, simulator.data, self._start, _WHOLE_STATE)
        simulator.advance_to(simulator.time)

    def set_speed(self, speed: float) -> None:
        """Set simulated time over wall time."""
        self.speed = float(speed)
        self._passed.clear()

    def set_option(self, name: str, value: float) -> None:
        """Change an option of the integrator, such as ``accuracy``."""
        options: Any = self.simulator.integrator  # every preset is a dataclass
        self.simulator.change_integrator(replace(options, **{name: value}))
        self._owed = 0.0

    def set_control(self, actuator: int, value: float) -> None:
        """Write one control; a control callback would write over it."""
        self.simulator.data.ctrl[actuator] = value

    def use_controller(self, wanted: bool) -> None:
        """Let the simulator's control callback write the controls, or nobody."""
        self.simulator.control = self._control if wanted else None

    def grab(self, body: int, grip: NDArray[np.float64]) -> None:
        """Take hold of a point [m] in a body's frame."""
        self._release()
        self._pull = take_hold(self.simulator.model, self.simulator.data, body, grip)

    def drag(self, target: NDArray[np.float64]) -> None:
        """Pull what is held to a point [m] of the world."""
        if self._pull is not None:
            self._pull.target = np.array(target, dtype=np.float64)

    def release(self) -> None:
        """Let go."""
        self._release()

    # -- by the thread that runs ---------------------------------------------------------------

    @property
    def held(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The point that is held and where it is pulled to [m], shapes (3,)."""
        pull = self._pull
        return None if pull is None else (pull.point(self.simulator.data), pull.target)

    @property
    def rate(self) -> float:
        """Simulated time over wall time, lately; NaN where nothing runs."""
        if not self.playing or len(self._passed) < 2:
            return float("nan")
        (wall, time), (last_wall, last_time) = self._passed[0], self._passed[-1]
        return (last_time - time) / max(last_wall - wall, 1e-9)

    @property
    def controlled(self) -> bool:
        """Whether a control callback writes the controls."""
        return self.simulator.control is not None

    def turn(self, wall: float, most: float | None = None) -> None:
        """Do what was told, and advance by as much as belongs to some wall time.

        Parameters
        ----------
        wall : float
            [s].
        most : float, optional
            Wall time that this may take [s], unless a single step takes longer; ``wall`` by
            default. A simulation that cannot keep up is behind, and does not hurry afterwards.
        """
        self._obey()
        if self._pull is not None and isinstance(self._pull, Carry):
            self._pull.apply(self.simulator.data)
        if not self.playing:
            return
        simulator = self.simulator
        self._owed += wall * self.speed
        step = simulator.integrator.time_step
        # Fixed steps stay whole.
        whole = self._owed if step is None else step * int(self._owed / step + 1e-9)
        if whole <= 0.0:
            return
        self._owed -= whole
        begin = clock.perf_counter()
        if not self._advance(simulator.time + whole, begin + (wall if most is None else most)):
            self._owed = 0.0
        now = clock.perf_counter()
        self._passed.append((now, simulator.time))
        while self._passed[0][0] < now - _RATE_TIME and len(self._passed) > 2:
            self._passed.popleft()

    def _obey(self) -> None:
        # Not those that come meanwhile, or there might be no end of it.
        for _ in range(self._orders.qsize()):
            order, arguments = self._orders.get()
            try:
                order(*arguments)
            except Exception as error:
                self.message = _sentence(error)

    def _step_length(self) -> float:
        simulator = self.simulator
        step = simulator.integrator.time_step
        return simulator.step_size if step is None else step

    def _advance(self, end: float, deadline: float) -> bool:
        """Advance to a time [s] unless it gets later than the deadline; whether it was reached."""
        simulator = self.simulator
        self._deadline = deadline
        try:
            while simulator.time < end:
                stop = end
                if self._pull is not None:
                    self._pull.apply(simulator.data)
                    step = simulator.integrator.time_step
                    hold = HOLD if step is None else step * max(1, int(HOLD / step))
                    # No splinter of a step at the end.
                    if simulator.time + 1.5 * hold < end:
                        stop = simulator.time + hold
                report = simulator.advance_to(
                    stop, progress=self._look_at_the_clock, on_failure="return"
                )
                if not report.success:
                    self._fail(report.message)
                    return False
                if clock.perf_counter() > deadline and simulator.time < end:
                    return False
        except _Late:
            return False
        except Exception as error:
            self._fail(_sentence(error))
            return False
        return True

    def _look_at_the_clock(self, _: Simulator) -> None:
        if clock.perf_counter() > self._deadline or not self._orders.empty():
            raise _Late

    def _fail(self, message: str) -> None:
        self.message = message
        self.playing = False

    def _release(self) -> None:
        if self._pull is not None:
            self._pull.release(self.simulator.data)
            self._pull = None


def _sentence(error: Exception) -> str:
    """What to show of an error; those that are not ours come from a user's own controller."""
    return str(error) if isinstance(error, AsperityError) else f"{type(error).__name__}: {error}"
