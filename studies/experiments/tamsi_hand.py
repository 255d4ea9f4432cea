"""Figure 9 of the TAMSI paper: a hand turns a mug in its fingers (VI-B)."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from asperity.integrators import Cenic, ImplicitEuler, Integrator
from asperity.simulator import Simulator
from studies.experiments.form import (
    FIGURE_ONLY,
    Measured,
    Runs,
    at_least,
    at_most,
    finding,
    product,
    twofold,
)
from studies.experiments.outcome import Panel
from studies.experiments.paper import paper_tamsi
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import Samples, watch
from studies.scenes.allegro_mug import HOLD, MUG, allegro_mug, posture

__all__ = ["EXPERIMENTS", "hand", "handle"]

TIME_STEP = 7e-4  # [s]
DURATION = 7.0  # [s]
FULL_DURATION = 15.0
SAMPLES = 20
"""Per second."""
SETTLED = 3.5
"""Time [s] after which the mug is grasped."""

_TAMSI = "TAMSI, 0.7 ms"
_BASELINE = "implicit Euler, quasi Newton, error-controlled"
_EULER = ImplicitEuler(accuracy=1e-2, error_norm="state", friction_law="linear")
_FIELDS = ", pressure fields"
# With the contact of each.
_METHODS: dict[str, tuple[Integrator, str]] = {
    _TAMSI: (paper_tamsi(TIME_STEP), "points"),
    _BASELINE: (_EULER, "points"),
    f"{_BASELINE}, TALS": (replace(_EULER, transition_aware=True), "points"),
    "CENIC, accuracy 1e-3": (Cenic(accuracy=1e-3), "points"),
    _TAMSI + _FIELDS: (paper_tamsi(TIME_STEP), "fields"),
    _BASELINE + _FIELDS: (_EULER, "fields"),
    "CENIC, accuracy 1e-3" + _FIELDS: (Cenic(accuracy=1e-3), "fields"),
}


def hand(integrator: Integrator, contact: str = "points") -> Simulator:
    """A simulator of the hand at its start, whose servos follow the postures."""

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[:] = posture(data.time + 0.5 * HOLD)

    return Simulator(
        allegro_mug(contact), integrator=integrator, control=control, control_period=0.5 * HOLD
    )


def _tilt(simulator: Simulator) -> float:
    """Angle of the mug's axis to where it was at first, across the palm [degrees]."""
    axis = simulator.data.body(MUG).xmat.reshape(3, 3)[:, 2]
    return float(np.degrees(np.arccos(np.clip(-axis[1], -1.0, 1.0))))


def _turn(simulator: Simulator) -> float:
    """Angle by which the mug has turned about its axis, by the way its handle points [degrees]."""
    handle = simulator.data.body(MUG).xmat.reshape(3, 3)[:, 0]
    return float(np.degrees(np.arctan2(handle[2], handle[0])))


def handle(
    integrator: Integrator,
    duration: float,
    progress: Progress = lambda share: None,
    contact: str = "points",
) -> Samples:
    """Simulate the hand, as far as the integrator can; looks are `_turn` and `_tilt`."""
    times = np.arange(1, round(duration * SAMPLES) + 1) / SAMPLES
    looks = {"turn": _turn, "tilt": _tilt}
    return watch(hand(integrator, contact), times, looks, progress, may_fail=True)


def _handle(name: str, duration: float, progress: Progress) -> Samples:
    integrator, contact = _METHODS[name]
    return handle(integrator, duration, progress, contact)


# With TALS it is compared with the time without.
_SAID = {
    _BASELINE: twofold("7.8 (in points)", 7.8),
    f"{_BASELINE}, TALS": at_least("TALS does not improve it", 0.9),
    _BASELINE + _FIELDS: twofold("7.8 (in points)", 7.8),
}


def _measure(runs: Runs) -> Measured:
    found = {key["name"]: seen for key, seen in runs}
    duration = runs.axis("duration")[0]
    ours = found.pop(_TAMSI)
    settled = ours.time > SETTLED
    rate = duration / ours.cpu[-1]
    yield finding("TAMSI, times faster than real time", rate, "{:.1f}", at_least("2.14", 2.14))
    turn = np.ptp(ours["turn"][settled])
    yield finding("turning to and fro of the mug", turn, "{:.0f}°", FIGURE_ONLY)
    tilt = ours["tilt"][settled].max()
    yield finding("largest tilt of its axis", tilt, "{:.0f}°", at_most("stays in the hand", 60.0))
    ratios: dict[str, float] = {}
    for name, other in found.items():
        if name == _TAMSI + _FIELDS:
            # What follows is compared with it.
            ours = other
            rate = duration / ours.cpu[-1]
            yield finding(f"{name}, times faster than real time", rate, "{:.1f}")
            continue
        n = len(other.time)
        ending = f" (fails: {other.failure})" if other.failure else ""
        cost = other.cpu[-1] / ours.cpu[n - 1], ending
        ratios[name] = cost[0]
        judged = cost[0] / ratios[_BASELINE] if name.endswith(", TALS") else cost[0]
        said = _SAID.get(name, "–")
        yield finding(f"{name}, CPU time over TAMSI's", cost, "{:.2g}{}", said, judged=judged)
        apart = np.abs(other["turn"] - ours["turn"][:n]).max()
        yield finding(f"{name}, turn compared with TAMSI's", apart, "{:.1f}°")
    turns = runs.curves("{name}", lambda seen: (seen.time, seen["turn"]))
    yield Panel("time [s]", "turn of the handle about the palm's axis [°]", turns)
    tilts = runs.curves("{name}", lambda seen: (seen.time, seen["tilt"]))
    yield Panel("time [s]", "tilt of the mug's axis [°]", tilts)


EXPERIMENTS = (
    Experiment(
        "tamsi-figure-9",
        "TAMSI, figure 9",
        "a hand turns a mug in its fingers",
        _handle,
        lambda full: product(name=_METHODS, duration=[FULL_DURATION if full else DURATION]),
        _measure,
    ),
)
