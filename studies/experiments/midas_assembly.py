"""Figures 2 and 5 of the Midas paper: a beam into a notch, and a USB stick into its port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from asperity.scenes.gripper_tasks import BEAM_DROP, beam_assembly, usb_insertion, usb_stroke
from asperity.scenes.usb import Fit
from studies.experiments.engines import MIDAS
from studies.experiments.form import Measured, Runs, product
from studies.experiments.gripper_runs import Ending, Trial, engines, overlaps, summaries, trial
from studies.experiments.outcome import Panel
from studies.experiments.registry import Experiment, Progress

__all__ = ["CLEARANCES", "EXPERIMENTS", "FITS", "beam_activation", "is_in"]

CLEARANCES = (5e-3, 5e-4, 1e-4)  # [m]
FITS = {"standard": Fit(), "0.05 mm": Fit.close(5e-5)}
USB_ACTIVATION = 1e-5  # [m]


def _in(trials: Sequence[Trial]) -> int:
    """How many are in."""
    return sum(one.end == "in" for one in trials)


_ALL_IN = Ending("in", lambda trials: _in(trials) == len(trials))
_PAPER_BEAM = {
    MIDAS: _ALL_IN,
    "Bullet, convex meshes": Ending(
        "in with the widest, not with the others",
        lambda trials: _in(trials[:1]) == 1 and _in(trials[1:]) == 0,
    ),
}
_PAPER_USB = {
    MIDAS: _ALL_IN,
    "Bullet, convex meshes": Ending("not in", lambda trials: _in(trials) == 0),
}


def beam_activation(clearance: float) -> float:
    """Activation distance of Midas for a clearance [m]."""
    return min(0.1 * clearance, 1e-4)


def is_in(trial: Trial, travel: float) -> bool:
    """Whether the object is down, to 2.5 mm, and still upright.

    Bullet's convex meshes end 2 mm above the bottom by their margins.

    Parameters
    ----------
    trial : Trial
    travel : float
        Way down [m].
    """
    down = -float(trial.path[-1, 2] - trial.path[0, 2])
    return abs(down - travel) < 2.5e-3 and trial.upright > 0.999


def _end(trial: Trial, travel: float) -> str:
    down = -float(trial.path[-1, 2] - trial.path[0, 2])
    if is_in(trial, travel):
        return "in"
    # What left the scene has no place to tell.
    if abs(down) > 2.0 * travel:
        return "lost"
    return f"not in ({1e3 * down:.1f} of {1e3 * travel:.1f} mm)"


def _beam(case: str, engine: str, every: int, progress: Progress) -> Trial:
    clearance = _BEAMS[case]
    return trial(
        engine,
        lambda standoff: beam_assembly(clearance, standoff=standoff),
        beam_activation(clearance),
        partial(_end, travel=BEAM_DROP),
        every=every,
        progress=progress,
    )


def _usb(case: str, engine: str, spacing: float, progress: Progress) -> Trial:
    fit = _STICKS[case]
    return trial(
        engine,
        lambda standoff: usb_insertion(fit, standoff=standoff),
        USB_ACTIVATION,
        partial(_end, travel=usb_stroke(fit)),
        spacing=spacing,
        progress=progress,
    )


_BEAMS = {f"{1e3 * clearance:g} mm wider": clearance for clearance in CLEARANCES}
_STICKS = {f"{n} fit, gap {1e3 * min(fit.tightest):.3g} mm": fit for n, fit in FITS.items()}


def _measure(paper: Mapping[str, Ending], runs: Runs) -> Measured:
    yield from summaries(runs, paper)
    # The last case is the tightest.
    case, own = runs.by("case").popitem()

    def height(one: Trial) -> tuple[np.ndarray, np.ndarray]:
        return one.run.time, np.clip(1e3 * (one.path[:, 2] - one.path[0, 2]), -80.0, 20.0)

    yield Panel("time [s]", "height of the object [mm]", own.curves("{engine}", height), case)
    yield Panel("time [s]", "deepest overlap [mm]", overlaps(own), case)


EXPERIMENTS = (
    Experiment(
        "midas-figure-2",
        "Midas, figure 2",
        "a gripper lowers a beam into a notch",
        _beam,
        lambda full: product(case=_BEAMS, engine=engines(), every=[1 if full else 5]),
        partial(_measure, _PAPER_BEAM),
    ),
    Experiment(
        "midas-figure-5",
        "Midas, figure 5",
        "a gripper pushes a USB stick into its port",
        _usb,
        lambda full: product(case=_STICKS, engine=engines(), spacing=[5e-4 if full else 1e-3]),
        partial(_measure, _PAPER_USB),
    ),
)
