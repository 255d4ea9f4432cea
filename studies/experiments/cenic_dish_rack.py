"""Table I and figures 1 and 15 to 17 of the CENIC paper: a robot clears a dish rack (VII-E)."""

from __future__ import annotations

import numpy as np

from asperity.integrators import Cenic, Integrator
from studies.experiments.dish_rack_runs import Artefacts, Run, fields, points, watch
from studies.experiments.outcome import Curve, Film, Finding, Outcome, Panel
from studies.experiments.paper import paper_cenic, paper_icf
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import tracked
from studies.scenes.dish_rack import DishRack, dish_rack

__all__ = ["EXPERIMENTS"]

REFERENCE = "reference, accuracy 1e-5"
_SHOWN = "accuracy 1e-3"
# Integrator, whether contact is of fields, and what the paper says.
_RUNS: dict[str, tuple[Integrator, bool, str]] = {
    "accuracy 1e-1": (paper_cenic(accuracy=1e-1), True, "218 %; artefacts"),
    "accuracy 1e-2": (paper_cenic(accuracy=1e-2), True, "463 %; artefacts"),
    _SHOWN: (paper_cenic(accuracy=1e-3), True, "342 %; none"),
    "accuracy 1e-4": (paper_cenic(accuracy=1e-4), True, "132 %; none"),
    "20 ms": (paper_icf(0.02), True, "102 %; artefacts"),
    "10 ms": (paper_icf(0.01), True, "180 %; artefacts"),
    "2 ms": (paper_icf(0.002), True, "43 %; artefacts"),
    "1 ms": (paper_icf(0.001), True, "21 %; none"),
    **{
        f"our scheme, accuracy {name}": (Cenic(accuracy=float(name)), True, "–")
        for name in ("1e-1", "1e-2", "1e-3", "1e-4")
    },
    "points and hulls, accuracy 1e-3": (paper_cenic(accuracy=1e-3), False, "–"),
    REFERENCE: (Cenic(accuracy=1e-5), True, "–"),
}
WINDOW = 0.5
"""Over which real-time rate and step size are averaged [s]."""


def _describe(run: Run, deepest: float) -> str:
    found: Artefacts = run.artefacts
    words = ", ".join(found.names) or "none"
    return (
        f"{100 * run.rate:.0f} %; {words}; {run.steps} steps; wires and walls "
        f"{1e3 * found.depth:.2f} mm deep ({found.depth / deepest:.1f} times the reference)"
    )


def _rates(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Middles of windows [s], and there the real-time rate and the mean step size [s]."""
    edges = np.arange(0.0, run.time[-1], WINDOW)
    cpu = np.interp(edges, run.clock[:, 0], run.clock[:, 1])
    steps, _ = np.histogram(run.step_end[1:], edges)
    spent = np.maximum(np.diff(cpu), 1e-6)
    return 0.5 * (edges[1:] + edges[:-1]), WINDOW / spent, WINDOW / np.maximum(steps, 1)


def _table_1(_full: bool, progress: Progress) -> Outcome:
    model = dish_rack()
    task = DishRack(model)
    runs = {
        name: watch(model, task, integrator, fields() if patches else points(), own)
        for (name, (integrator, patches, _)), own in tracked(_RUNS.items(), progress)
    }
    deepest = runs[REFERENCE].artefacts.depth
    findings = tuple(
        Finding(name, _describe(run, deepest), _RUNS[name][2]) for name, run in runs.items()
    )
    shown = runs[_SHOWN]
    time, rate, step = _rates(shown)
    carried = [
        Curve(name, runs[name].time, 1e3 * runs[name].qpos[:, 11], "-")
        for name in ("accuracy 1e-1", "20 ms", _SHOWN, REFERENCE)
    ]
    panels = (
        Panel("time [s]", "real-time rate", (Curve(_SHOWN, time, rate),), log_y=True),
        Panel("time [s]", "step size [s]", (Curve(_SHOWN, time, step),), log_y=True),
        Panel("time [s]", "height of the plate [mm]", tuple(carried)),
    )
    film = Film(model, shown.time, shown.qpos, camera="front", contact=fields())
    return Outcome(findings, panels, film=film)


EXPERIMENTS = (
    Experiment(
        "cenic-dish-rack",
        "CENIC, table I and figures 1, 15–17",
        "a robot clears a dish rack: real-time rates and artefacts",
        _table_1,
    ),
)
