"""Figure 9 of the TAMSI paper: a hand turns a mug in its fingers (VI-B)."""

from __future__ import annotations

import time as clock
from dataclasses import replace
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.integrators import Cenic, ImplicitEuler, Integrator
from asperity.simulator import Simulator
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.paper import paper_tamsi
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import tracked
from studies.scenes.allegro_mug import HOLD, MUG, allegro_mug, posture

__all__ = ["EXPERIMENTS", "Handling", "hand", "handle"]

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


class Handling(NamedTuple):
    """What happened to the mug, sampled at ``SAMPLES`` per second."""

    time: np.ndarray
    """[s], shape (n,)."""
    turn: np.ndarray
    """See `_turn`, shape (n,)."""
    tilt: np.ndarray
    """See `_tilt`, shape (n,)."""
    cpu: np.ndarray
    """CPU time so far [s], shape (n,)."""
    ending: str
    """Nothing, or when and why the simulation failed."""


def handle(
    integrator: Integrator,
    duration: float,
    progress: Progress = lambda share: None,
    contact: str = "points",
) -> Handling:
    """Simulate the hand, as far as the integrator can."""
    simulator = hand(integrator, contact)
    found = []
    spent = 0.0
    ending = ""
    count = round(duration * SAMPLES)
    for i in range(count):
        started = clock.process_time()
        report = simulator.advance_to((i + 1) / SAMPLES, on_failure="return")
        spent += clock.process_time() - started
        if not report.success:
            ending = f"{report.status.name} at {report.time:.2f} s"
            break
        found.append((simulator.time, _turn(simulator), _tilt(simulator), spent))
        progress((i + 1) / count)
    time, turn, tilt, cpu = np.array(found).T
    return Handling(time, turn, tilt, cpu, ending)


def _figure_9(full: bool, progress: Progress) -> Outcome:
    duration = FULL_DURATION if full else DURATION
    found = {
        name: handle(integrator, duration, own, contact)
        for (name, (integrator, contact)), own in tracked(_METHODS.items(), progress)
    }
    ours = found[_TAMSI]
    settled = ours.time > SETTLED
    findings = [
        Finding("TAMSI, times faster than real time", f"{duration / ours.cpu[-1]:.1f}", "2.14"),
        Finding(
            "turning to and fro of the mug",
            f"{np.ptp(ours.turn[settled]):.0f}°",
            "in the figure only",
        ),
        Finding(
            "largest tilt of its axis", f"{ours.tilt[settled].max():.0f}°", "stays in the hand"
        ),
    ]
    papers = {
        _BASELINE: "7.8 (in points)",
        f"{_BASELINE}, TALS": "TALS does not improve it",
        _BASELINE + _FIELDS: "7.8 (in points)",
    }
    for name, other in found.items():
        if name == _TAMSI:
            continue
        if name == _TAMSI + _FIELDS:
            # What follows is compared with it.
            ours = other
            rate = f"{duration / ours.cpu[-1]:.1f}"
            findings.append(Finding(f"{name}, times faster than real time", rate, "–"))
            continue
        n = len(other.time)
        ratio = f"{other.cpu[-1] / ours.cpu[n - 1]:.2g}"
        ending = f" (fails: {other.ending})" if other.ending else ""
        findings.append(
            Finding(f"{name}, CPU time over TAMSI's", ratio + ending, papers.get(name, "–"))
        )
        apart = np.abs(other.turn - ours.turn[:n]).max()
        findings.append(Finding(f"{name}, turn compared with TAMSI's", f"{apart:.1f}°", "–"))
    panels = (
        Panel(
            "time [s]",
            "turn of the handle about the palm's axis [°]",
            tuple(Curve(name, other.time, other.turn) for name, other in found.items()),
        ),
        Panel(
            "time [s]",
            "tilt of the mug's axis [°]",
            tuple(Curve(name, other.time, other.tilt) for name, other in found.items()),
        ),
    )
    return Outcome(tuple(findings), panels)


EXPERIMENTS = (
    Experiment(
        "tamsi-figure-9",
        "TAMSI, figure 9",
        "a hand turns a mug in its fingers",
        _figure_9,
    ),
)
