"""Figure 13 of the CENIC paper: a vacuum gripper catches a box (VII-D1)."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from asperity.integrators import Integrator
from asperity.simulator import Simulator
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.paper import paper_cenic, paper_icf, paper_sap
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import sampled, tracked
from studies.scenes.cenic_cases import CONTACTS
from studies.scenes.suction_gripper import BASE_BOTTOM, BOX_HALF_SIZES, suction, suction_gripper

__all__ = ["EXPERIMENTS", "Catch", "catch"]

DURATION = 1.0  # [s]
LOOK = 0.5
"""When the paper's pictures are taken [s]."""
SAMPLE = 0.01  # [s]
TIME_STEP = 0.01
BELLOWS_HEIGHT = 0.015

_METHODS: dict[str, tuple[Integrator, bool]] = {
    "CENIC, accuracy 1e-3": (paper_cenic(accuracy=1e-3), True),
    "ICF, 10 ms, suction explicit": (paper_icf(TIME_STEP), False),
    "SAP, 10 ms, suction explicit": (
        paper_sap(TIME_STEP, theta_scheme="implicit-euler"),
        False,
    ),
}


class Catch(NamedTuple):
    """What happened, sampled."""

    time: np.ndarray
    """[s], shape (n,)."""
    gap: np.ndarray
    """Of the box's top to what the bellows are pressed against [m], shape (n,)."""
    overlap: np.ndarray
    """The deepest of two geoms [m], shape (n,)."""
    steps: int


def catch(
    integrator: Integrator,
    contact: str = "fields",
    *,
    implicit: bool = True,
    progress: Progress = lambda share: None,
) -> Catch:
    """Simulate the gripper and the box, with pressure fields or in ``"points"``."""
    pull = suction()
    pull.implicit = implicit
    simulator = Simulator(suction_gripper(contact), integrator=integrator, systems=[pull])
    time = SAMPLE * np.arange(1, round(DURATION / SAMPLE) + 1)
    gap, overlap = [], []
    for _ in sampled(simulator, time, progress):
        top = simulator.data.body("box").xpos[2] + BOX_HALF_SIZES[2]
        gap.append(BASE_BOTTOM - top)
        overlap.append(_overlap(simulator))
    return Catch(time, np.array(gap), np.array(overlap), simulator.stats.steps)


def _overlap(simulator: Simulator) -> float:
    """The deepest overlap of convex geoms, whatever their contact [m]."""
    scratch = mujoco.MjData(simulator.model)
    scratch.qpos[:] = simulator.data.qpos
    mujoco.mj_fwdPosition(simulator.model, scratch)
    return float(max(-scratch.contact.dist, default=0.0))


def _figure_13(_full: bool, progress: Progress) -> Outcome:
    findings, gaps, overlaps = [], [], []
    look = round(LOOK / SAMPLE) - 1
    runs = [
        (method if contact == "fields" else f"{method}, in points", contact, *how)
        for contact in CONTACTS
        for method, how in _METHODS.items()
    ]
    for (name, contact, integrator, implicit), own in tracked(runs, progress):
        found = catch(integrator, contact, implicit=implicit, progress=own)
        controlled = integrator.time_step is None
        findings += [
            Finding(
                f"{name}: gap between box and gripper after {LOOK:g} s",
                f"{1e3 * found.gap[look]:.1f} mm",
                "the height of the bellows, 15 mm" if controlled else "massive passthrough",
            ),
            Finding(
                f"{name}: deepest overlap",
                f"{1e3 * found.overlap.max():.2g} mm",
                "in the figure only",
            ),
            Finding(f"{name}: steps", str(found.steps), "–"),
        ]
        gaps.append(Curve(name, found.time, 1e3 * found.gap))
        overlaps.append(Curve(name, found.time, np.maximum(1e3 * found.overlap, 1e-4)))
    panels = (
        Panel("time [s]", "gap between box and gripper [mm]", tuple(gaps)),
        Panel("time [s]", "deepest overlap [mm]", tuple(overlaps), log_y=True),
    )
    return Outcome(tuple(findings), panels)


EXPERIMENTS = (
    Experiment(
        "cenic-figure-13",
        "CENIC, figure 13",
        "a vacuum gripper catches a box",
        _figure_13,
    ),
)
