"""Figure 13 of the CENIC paper: a vacuum gripper catches a box (VII-D1)."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.integrators import Integrator
from asperity.simulator import Simulator
from studies.experiments.form import FIGURE_ONLY, Measured, Runs, about, at_most, finding
from studies.experiments.outcome import Panel
from studies.experiments.paper import paper_cenic, paper_icf, paper_sap
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import Samples, watch
from studies.scenes.cenic_cases import CONTACTS
from studies.scenes.suction_gripper import (
    BASE_BOTTOM,
    BELLOWS_HEIGHT,
    BOX_HALF_SIZES,
    field_yield,
    suction,
    suction_gripper,
)

__all__ = ["EXPERIMENTS", "catch"]

DURATION = 1.0  # [s]
LOOK = 0.5
"""When the paper's pictures are taken [s]."""
SAMPLE = 0.01  # [s]
TIME_STEP = 0.01

_METHODS: dict[str, tuple[Integrator, bool]] = {
    "CENIC, accuracy 1e-3": (paper_cenic(accuracy=1e-3), True),
    "ICF, 10 ms, suction explicit": (paper_icf(TIME_STEP), False),
    "SAP, 10 ms, suction explicit": (paper_sap(TIME_STEP, theta_scheme="implicit-euler"), False),
}


def catch(
    integrator: Integrator,
    contact: str = "fields",
    *,
    implicit: bool = True,
    progress: Progress = lambda share: None,
) -> Samples:
    """Simulate the gripper and the box, with pressure fields or in ``"points"``.

    Looks are the ``gap`` of the box's top to what the bellows are pressed against, and the deepest
    ``overlap`` of two geoms [m].
    """
    pull = suction()
    pull.implicit = implicit
    simulator = Simulator(suction_gripper(contact), integrator=integrator, systems=[pull])
    time = SAMPLE * np.arange(1, round(DURATION / SAMPLE) + 1)
    return watch(simulator, time, {"gap": _gap, "overlap": _overlap}, progress)


def _gap(simulator: Simulator) -> float:
    top = simulator.data.body("box").xpos[2] + BOX_HALF_SIZES[2]
    return float(BASE_BOTTOM - top)


def _overlap(simulator: Simulator) -> float:
    """The deepest overlap of convex geoms, whatever their contact [m]."""
    scratch = mujoco.MjData(simulator.model)
    scratch.qpos[:] = simulator.data.qpos
    mujoco.mj_fwdPosition(simulator.model, scratch)
    return float(max(-scratch.contact.dist, default=0.0))


def _measure(runs: Runs) -> Measured:
    for key, seen in runs:
        name = key["name"]
        held = 1e3 * (BELLOWS_HEIGHT - (field_yield() if key["contact"] == "fields" else 0.0))
        correct = about(f"correct (here {held:.1f} mm)", held, 0.5)
        gap = 1e3 * seen["gap"][round(LOOK / SAMPLE) - 1]
        quantity = f"{name}: gap between box and gripper after {LOOK:g} s"
        passed = at_most("massive passthrough", 0.5e3 * BELLOWS_HEIGHT)
        yield finding(quantity, gap, "{:.1f} mm", correct if key["implicit"] else passed)
        overlap = 1e3 * seen["overlap"].max()
        yield finding(f"{name}: deepest overlap", overlap, "{:.2g} mm", FIGURE_ONLY)
        yield finding(f"{name}: steps", seen.simulator.stats.steps)
    gaps = runs.curves("{name}", lambda seen: (seen.time, 1e3 * seen["gap"]))
    yield Panel("time [s]", "gap between box and gripper [mm]", gaps)
    depths = runs.curves("{name}", lambda s: (s.time, np.maximum(1e3 * s["overlap"], 1e-4)))
    yield Panel("time [s]", "deepest overlap [mm]", depths, log_y=True)


EXPERIMENTS = (
    Experiment(
        "cenic-figure-13",
        "CENIC, figure 13",
        "a vacuum gripper catches a box",
        lambda name, **how: catch(**how),
        lambda full: [
            {
                "name": method if contact == "fields" else f"{method}, in points",
                "integrator": integrator,
                "contact": contact,
                "implicit": implicit,
            }
            for contact in CONTACTS
            for method, (integrator, implicit) in _METHODS.items()
        ],
        _measure,
    ),
)
