"""Figures 9, 12 and 13 of the SAP paper: the clutter with several solvers (VI-C, VI-C1).

In every step each solver solves the problem of the simulation with SAP, so all of them get the same
problems. Clarabel takes the place of Gurobi, which is measured as well where it is installed and
its licence allows the size. Times are CPU times of solving, without setting up; SAP and the
geodesic method share their block algebra, and both start from the step before.
"""

from __future__ import annotations

import warnings

import numpy as np

from asperity.errors import MissingExtra
from studies.experiments.clutter_runs import BODIES_PER_COLUMN, DURATION, TIME_STEP, TOLERANCE
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.paper import paper_sap
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import tracked
from studies.experiments.sap_solvers import available_solvers, compare_solvers
from studies.scenes.sap_clutter import sap_clutter

__all__ = ["EXPERIMENTS"]

COMPLEMENTARITY = 1e-5
"""Of the geodesic method [J], that of the authors' code for these scenes.

In units of ½ s² of equation 33 it depends on how much moves: 10⁻⁶ to 5·10⁻⁴ here.
"""

CONE_TOLERANCE = 1e-6
"""Of Clarabel and Gurobi: Gurobi's default for problems with cones."""

_OPTIONS = {
    "geodesic": {"complementarity": COMPLEMENTARITY},
    "Clarabel": {"tolerance": CONE_TOLERANCE},
    "Gurobi": {"tolerance": CONE_TOLERANCE},
}
_SIZES = (1, 2, 3, 5, 10)  # bodies per column
_MORE_SIZES = (15, 20, 25, 30, 40, 55)


# Figures 12 and 13 show the same simulations.
_RUNS: dict[tuple[int, bool, int], dict[str, np.ndarray]] = {}


def _run(bodies_per_column: int, walls: bool, full: bool) -> dict[str, np.ndarray]:
    return _RUNS[bodies_per_column, walls, _every(bodies_per_column, full)]


def _every(bodies_per_column: int, full: bool) -> int:
    """At how manieth step to compare: in large clutter Clarabel takes a second for one."""
    if bodies_per_column > BODIES_PER_COLUMN:
        return 20
    return 1 if full else 5


def _run_all(sizes: tuple[int, ...], full: bool, progress: Progress) -> None:
    work = [(size, walls, _every(size, full)) for walls in (True, False) for size in sizes]
    for key, part in tracked(work, progress):
        if key not in _RUNS:
            _RUNS[key] = _compare(*key, part)


def _compare(
    bodies_per_column: int, walls: bool, every: int, progress: Progress
) -> dict[str, np.ndarray]:
    return compare_solvers(
        sap_clutter(bodies_per_column, walls, face_spheres=True),
        paper_sap(TIME_STEP, tolerance=TOLERANCE, max_iterations=2000),
        DURATION,
        available_solvers(),
        every,
        options=_OPTIONS,
        progress=progress,
    )


def _mean(values: np.ndarray) -> float:
    """Mean of the numbers there are; NaN if there are none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(np.nanmean(values))


def _figure_9(full: bool, progress: Progress) -> Outcome:
    found = _compare(BODIES_PER_COLUMN, True, 1, progress)
    solvers = available_solvers()
    findings = []
    late = found["time"] >= 0.5 * DURATION
    panels = []
    for key, label, scale in (
        ("iterations", "iterations per step", 1.0),
        ("cpu_time", "CPU time per step [ms]", 1e3),
    ):
        curves = []
        for i, name in enumerate(solvers):
            values = scale * found[key][:, i]
            if np.all(np.isnan(values)):
                continue
            curves.append(Curve(name, found["time"], values))
            first, last = _mean(values[~late]), _mean(values[late])
            findings.append(
                Finding(
                    f"{name}: {label}, first and second half",
                    f"{first:.2f}, {last:.2f}",
                    _FIGURE_9.get((name, key), "–"),
                )
            )
        panels.append(Panel("time [s]", label, tuple(curves), log_y=key == "cpu_time"))
    return Outcome(tuple(findings), tuple(panels))


_FIGURE_9 = {
    ("SAP", "iterations"): "many in the transient, few at rest",
    ("geodesic", "iterations"): "fewer than SAP in the transient",
    ("Gurobi", "iterations"): "the same in all steps",
    ("Clarabel", "iterations"): "(Gurobi: the same in all steps)",
    ("geodesic", "cpu_time"): "much like SAP in the transient",
}


def _sizes(full: bool) -> tuple[int, ...]:
    return _SIZES + (_MORE_SIZES if full else ())


def _span(values: np.ndarray, bodies: np.ndarray) -> str:
    return f"{values.min():.2g} to {values.max():.2g}, {bodies[0]:.0f} to {bodies[-1]:.0f} bodies"


def _speedups(found: dict[str, np.ndarray], over: str) -> dict[str, float]:
    """Total time of one solver by that of each, over steps with contacts that all could solve."""
    solvers = available_solvers()
    base = solvers.index(over)
    counted = (found["contacts"] > 0) & np.isfinite(found["cpu_time"][:, base])
    time = found["cpu_time"][counted]
    total = np.sum(time, axis=0)
    # Where the licence forbids much of a simulation, what is left is not the same simulation.
    if np.count_nonzero(counted) < 0.9 * np.count_nonzero(found["contacts"] > 0):
        total = np.full(len(solvers), np.nan)
    return {name: float(total[base] / total[i]) for i, name in enumerate(solvers)}


def _figure_12(full: bool, progress: Progress) -> Outcome:
    sizes = _sizes(full)
    others = [name for name in ("Clarabel", "Gurobi") if name in available_solvers()]
    if not others:
        raise MissingExtra(
            "figure 12 compares with Clarabel; install it with: pip install 'asperity[reference]'"
        )
    findings: list[Finding] = []
    panels = []
    _run_all(sizes, full, progress)
    for walls in (True, False):
        where = "with walls" if walls else "without walls"
        bodies = 4.0 * np.array(sizes)
        curves = []
        for over in others:
            speedups = [_speedups(_run(size, walls, full), over) for size in sizes]
            for name in ("SAP", "geodesic"):
                values = np.array([one[name] for one in speedups])
                known = np.isfinite(values)
                if not np.any(known):
                    continue
                curves.append(Curve(f"{name} over {over}", bodies[known], values[known], "o-"))
                paper = "up to 25" if walls else "up to 50"
                findings.append(
                    Finding(
                        f"{where}: {name} over {over}",
                        _span(values[known], bodies[known]),
                        f"over Gurobi {paper}, below 40 bodies" if name == "SAP" else "–",
                    )
                )
        ratios = []
        for size in sizes:
            one = _speedups(_run(size, walls, full), "geodesic")
            ratios.append(one["SAP"])
        curves.append(Curve("SAP over geodesic", bodies, np.array(ratios), "s--"))
        findings.append(
            Finding(
                f"{where}: SAP over geodesic",
                _span(np.array(ratios), bodies),
                "about 2; 5 with 8 bodies or less",
            )
        )
        panels.append(
            Panel("bodies", "speed-up", tuple(curves), title=where, log_x=True, log_y=True)
        )
    return Outcome(tuple(findings), tuple(panels))


def _figure_13(full: bool, progress: Progress) -> Outcome:
    sizes = _sizes(full)
    solvers = available_solvers()
    findings = []
    panels = []
    _run_all(sizes, full, progress)
    bodies = 4.0 * np.array(sizes)
    for key, label, paper in (
        ("momentum_error", "mean momentum error (32)", {"SAP": "below its tolerance of 1e-5"}),
        (
            "complementarity_error",
            "mean complementarity error (33)",
            {"SAP": "round-off", "geodesic": "below its tolerance of 1e-5 (here 1e-5 J)"},
        ),
    ):
        curves = []
        for walls in (True, False):
            where = "with walls" if walls else "without walls"
            for i, name in enumerate(solvers):
                values = np.array([_mean(_run(size, walls, full)[key][:, i]) for size in sizes])
                known = np.isfinite(values)
                if not np.any(known):
                    continue
                style = "o-" if walls else "s--"
                # What a licence allows are the easy steps, before most bodies have landed.
                share = np.mean(
                    [np.mean(np.isfinite(_run(n, walls, full)[key][:, i])) for n in sizes]
                )
                note = "" if share == 1.0 else f", in {share:.0%} of the steps"
                curves.append(Curve(f"{name}, {where}{note}", bodies[known], values[known], style))
                findings.append(
                    Finding(
                        f"{name}, {where}: {label}",
                        f"{np.min(values[known]):.1e} to {np.max(values[known]):.1e}{note}",
                        paper.get(name, "–"),
                    )
                )
        panels.append(Panel("bodies", label, tuple(curves), log_x=True, log_y=True))
    return Outcome(tuple(findings), tuple(panels))


EXPERIMENTS = (
    Experiment(
        "sap-figure-9",
        "SAP, figure 9",
        "three solvers in clutter of 40 bodies",
        _figure_9,
    ),
    Experiment(
        "sap-figure-12",
        "SAP, figure 12",
        "speed-ups over the number of bodies",
        _figure_12,
    ),
    Experiment(
        "sap-figure-13",
        "SAP, figure 13",
        "errors of the solvers",
        _figure_13,
    ),
)
