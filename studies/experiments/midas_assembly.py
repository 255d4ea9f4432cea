"""Figures 2 and 5 of the Midas paper: a beam into a notch, and a USB stick into its port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from asperity.scenes.gripper_tasks import BEAM_DROP, beam_assembly, usb_insertion, usb_stroke
from asperity.scenes.usb import Fit
from studies.experiments.engines import MIDAS
from studies.experiments.gripper_runs import Trial, notes, overlap_curve, summaries, trials
from studies.experiments.outcome import Curve, Outcome, Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import tracked

__all__ = ["CLEARANCES", "EXPERIMENTS", "FITS", "beam_activation", "is_in"]

CLEARANCES = (5e-3, 5e-4, 1e-4)  # [m]
FITS = {"standard": Fit(), "0.05 mm": Fit.close(5e-5)}
USB_ACTIVATION = 1e-5  # [m]

_PAPER_BEAM = {
    MIDAS: "in",
    "Bullet, convex meshes": "in with the widest, not with the others",
}
_PAPER_USB = {MIDAS: "in", "Bullet, convex meshes": "not in"}


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


def _panels(done: list[tuple[str, list[Trial]]]) -> tuple[Panel, ...]:
    """Way down and overlap of the last case, the tightest."""
    case, found = done[-1]
    down = tuple(
        Curve(t.engine, t.run.time, np.clip(1e3 * (t.path[:, 2] - t.path[0, 2]), -80.0, 20.0))
        for t in found
    )
    return (
        Panel("time [s]", "height of the object [mm]", down, title=case),
        Panel("time [s]", "deepest overlap [mm]", tuple(map(overlap_curve, found)), title=case),
    )


def _outcome(
    done: list[tuple[str, list[Trial]]], travels: Sequence[float], paper: Mapping[str, str]
) -> Outcome:
    ends = [
        [(trial, _end(trial, travel)) for trial in found]
        for (_, found), travel in zip(done, travels, strict=True)
    ]
    findings = summaries([case for case, _ in done], ends, paper)
    return Outcome((*findings, *notes()), _panels(done))


def _figure_2(full: bool, progress: Progress) -> Outcome:
    done = []
    for clearance, own in tracked(CLEARANCES, progress):
        found = trials(
            lambda standoff, c=clearance: beam_assembly(c, standoff=standoff),  # type: ignore[misc]
            beam_activation(clearance),
            every=1 if full else 5,
            progress=own,
        )
        done.append((f"{1e3 * clearance:g} mm wider", found))
    return _outcome(done, [BEAM_DROP] * len(done), _PAPER_BEAM)


def _figure_5(full: bool, progress: Progress) -> Outcome:
    done = []
    for (name, fit), own in tracked(FITS.items(), progress):
        found = trials(
            lambda standoff, f=fit: usb_insertion(f, standoff=standoff),  # type: ignore[misc]
            USB_ACTIVATION,
            spacing=5e-4 if full else 1e-3,
            progress=own,
        )
        done.append((f"{name} fit, gap {1e3 * min(fit.tightest):.3g} mm", found))
    return _outcome(done, [usb_stroke(fit) for fit in FITS.values()], _PAPER_USB)


EXPERIMENTS = (
    Experiment(
        "midas-figure-2",
        "Midas, figure 2",
        "a gripper lowers a beam into a notch",
        _figure_2,
    ),
    Experiment(
        "midas-figure-5",
        "Midas, figure 5",
        "a gripper pushes a USB stick into its port",
        _figure_5,
    ),
)
