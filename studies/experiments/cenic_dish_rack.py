"""Table I and figures 1 and 15 to 17 of the CENIC paper: a robot clears a dish rack (VII-E)."""

from __future__ import annotations

import numpy as np

from asperity.integrators import Cenic, Integrator
from studies.experiments.dish_rack_runs import Run, fields, points, watch
from studies.experiments.form import Measured, Runs, finding, product, says
from studies.experiments.outcome import Curve, Film, Panel
from studies.experiments.paper import paper_cenic, paper_icf
from studies.experiments.registry import Experiment, Progress
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


def _watch(name: str, progress: Progress) -> Run:
    model = dish_rack()
    integrator, patches, _ = _RUNS[name]
    contact = fields() if patches else points()
    return watch(model, DishRack(model), integrator, contact, progress)


def _rates(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Middles of windows [s], and there the real-time rate and the mean step size [s]."""
    edges = np.arange(0.0, run.time[-1], WINDOW)
    cpu = np.interp(edges, run.clock[:, 0], run.clock[:, 1])
    steps, _ = np.histogram(run.step_end[1:], edges)
    spent = np.maximum(np.diff(cpu), 1e-6)
    return 0.5 * (edges[1:] + edges[:-1]), WINDOW / spent, WINDOW / np.maximum(steps, 1)


def _measure(runs: Runs) -> Measured:
    by_name = {key["name"]: run for key, run in runs}
    deepest = by_name[REFERENCE].artefacts.depth
    for name, run in by_name.items():
        depth = run.artefacts.depth
        words = ", ".join(run.artefacts.names) or "none"
        yield finding(
            name,
            (100 * run.rate, words, run.steps, 1e3 * depth, depth / deepest),
            "{:.0f} %; {}; {} steps; wires and walls {:.2f} mm deep ({:.1f} times the reference)",
            says(_RUNS[name][2]) if _RUNS[name][2] != "–" else "–",
            # Rates are those of other machines.
            judged=(words == "none") == _RUNS[name][2].endswith("none"),
        )
    shown = by_name[_SHOWN]
    time, rate, step = _rates(shown)
    yield Panel("time [s]", "real-time rate", [Curve(_SHOWN, time, rate)], log_y=True)
    yield Panel("time [s]", "step size [s]", [Curve(_SHOWN, time, step)], log_y=True)
    carried = [
        Curve(name, by_name[name].time, 1e3 * by_name[name].qpos[:, 11])
        for name in ("accuracy 1e-1", "20 ms", _SHOWN, REFERENCE)
    ]
    yield Panel("time [s]", "height of the plate [mm]", carried)
    yield Film(shown.model, shown.time, shown.qpos, camera="front", contact=fields())


EXPERIMENTS = (
    Experiment(
        "cenic-dish-rack",
        "CENIC, table I and figures 1, 15–17",
        "a robot clears a dish rack: real-time rates and artefacts",
        _watch,
        lambda full: product(name=_RUNS),
        _measure,
    ),
)
