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
from studies.experiments.form import (
    Key,
    Measured,
    Paper,
    Runs,
    about,
    at_least,
    at_most,
    finding,
    product,
    twofold,
)
from studies.experiments.outcome import Curve, Panel
from studies.experiments.paper import paper_sap
from studies.experiments.registry import Experiment, Progress
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
_CONES = ("Clarabel", "Gurobi")
_SIZES = (1, 2, 3, 5, 10)  # bodies per column
_MORE_SIZES = (15, 20, 25, 30, 40, 55)


Found = dict[str, np.ndarray]


def _compare(size: int, where: str, every: int, progress: Progress) -> Found:
    return compare_solvers(
        sap_clutter(size, where == "with walls", face_spheres=True),
        paper_sap(TIME_STEP, tolerance=TOLERANCE, max_iterations=2000),
        DURATION,
        available_solvers(),
        every,
        options=_OPTIONS,
        progress=progress,
    )


def _sweep(full: bool) -> list[Key]:
    """Sizes with and without walls, compared at every so many-th step.

    In large clutter Clarabel takes a second for one.
    """
    return [
        {"size": size, "where": where, "every": every}
        for where in ("with walls", "without walls")
        for size in _SIZES + (_MORE_SIZES if full else ())
        for every in [20 if size > BODIES_PER_COLUMN else 1 if full else 5]
    ]


def _sweep_of_speeds(full: bool) -> list[Key]:
    if not set(_CONES) & set(available_solvers()):
        raise MissingExtra(
            "figure 12 compares with Clarabel; install it with: pip install 'asperity[reference]'"
        )
    return _sweep(full)


def _mean(values: np.ndarray) -> float:
    """Mean of the numbers there are; NaN if there are none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(np.nanmean(values))


def _columns(found: Found, quantity: str) -> dict[str, np.ndarray]:
    """Of the solvers that could solve something."""
    columns = dict(zip(available_solvers(), found[quantity].T, strict=True))
    return {name: column for name, column in columns.items() if not np.all(np.isnan(column))}


# Bounds are of the transient's mean over SAP's, or of these over that at rest.
_OVER_REST = {"SAP", "Gurobi", "Clarabel"}
_FIGURE_9: dict[tuple[str, str], str | Paper] = {
    ("SAP", "iterations"): at_least("many in the transient, few at rest", 1.5),
    ("geodesic", "iterations"): at_most("fewer than SAP in the transient", 1.0),
    ("Gurobi", "iterations"): about("the same in all steps", 1.0, 0.2),
    ("Clarabel", "iterations"): about("(Gurobi: the same in all steps)", 1.0, 0.2),
    ("geodesic", "cpu_time"): twofold("much like SAP in the transient", 1.0),
}


def _figure_9(runs: Runs) -> Measured:
    found = runs.one
    late = found["time"] >= 0.5 * DURATION
    transient: dict[str, float] = {}  # SAP's, which comes first
    for key, label, scale in (
        ("iterations", "iterations per step", 1.0),
        ("cpu_time", "CPU time per step [ms]", 1e3),
    ):
        curves = []
        for name, column in _columns(found, key).items():
            values = scale * column
            curves.append(Curve(name, found["time"], values))
            early, rest = _mean(values[~late]), _mean(values[late])
            said = _FIGURE_9.get((name, key), "–")
            transient.setdefault(key, early)
            yield finding(
                f"{name}: {label}, first and second half",
                (early, rest),
                "{:.2f}, {:.2f}",
                said,
                judged=early / (rest if name in _OVER_REST else transient[key]),
            )
        yield Panel("time [s]", label, curves, log_y=key == "cpu_time")


def _speedups(found: Found, over: str) -> dict[str, float]:
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


def _figure_12(runs: Runs) -> Measured:
    cones = [name for name in _CONES if name in available_solvers()]
    pairs = [(name, over) for over in cones for name in ("SAP", "geodesic")]
    for where, own in runs.by("where").items():
        most = 25 if where == "with walls" else 50
        curves = []
        for name, over in (*pairs, ("SAP", "geodesic")):
            values = own.values(lambda found, n=name, o=over: _speedups(found, o)[n])  # type: ignore[misc]
            known = np.isfinite(values)
            bodies, values = 4.0 * own.axis("size")[known], values[known]
            if not len(values):
                continue
            text = f"over Gurobi up to {most}, below 40 bodies"
            said: str | Paper = "–" if name == "geodesic" else Paper(text, 1.0, 2.0 * most)
            if over == "geodesic":
                said = Paper("about 2; 5 with 8 bodies or less", (1.0, 2.5), (10.0, 10.0))
            style = "s--" if over == "geodesic" else "o-"
            curves.append(Curve(f"{name} over {over}", bodies, values, style))
            span = values.min(), values.max(), bodies[0], bodies[-1]
            form = "{:.2g} to {:.2g}, {:.0f} to {:.0f} bodies"
            yield finding(f"{where}: {name} over {over}", span, form, said, judged=span[:2])
        yield Panel("bodies", "speed-up", curves, where, log_x=True, log_y=True)


_FIGURE_13: dict[tuple[str, str], str | Paper] = {
    ("SAP", "momentum_error"): at_most("below its tolerance of 1e-5", 1e-5),
    ("SAP", "complementarity_error"): at_most("round-off", 1e-12),
    ("geodesic", "complementarity_error"): at_most(
        "below its tolerance of 1e-5 (here 1e-5 J)", 1e-5
    ),
}


def _figure_13(runs: Runs) -> Measured:
    for key, label in (
        ("momentum_error", "mean momentum error (32)"),
        ("complementarity_error", "mean complementarity error (33)"),
    ):
        curves = []
        for where, own in runs.by("where").items():
            for i, name in enumerate(available_solvers()):
                columns = [found[key][:, i] for found in own.results]
                values = np.array([_mean(column) for column in columns])
                known = np.isfinite(values)
                if not np.any(known):
                    continue
                # What a licence allows are the easy steps, before most bodies have landed.
                share = np.mean([np.mean(np.isfinite(column)) for column in columns])
                note = "" if share == 1.0 else f", in {share:.0%} of the steps"
                bodies, values = 4.0 * own.axis("size")[known], values[known]
                style = "o-" if where == "with walls" else "s--"
                curves.append(Curve(f"{name}, {where}{note}", bodies, values, style))
                yield finding(
                    f"{name}, {where}: {label}",
                    (values.min(), values.max(), note),
                    "{:.1e} to {:.1e}{}",
                    _FIGURE_13.get((name, key), "–"),
                )
        yield Panel("bodies", label, curves, log_x=True, log_y=True)


EXPERIMENTS = (
    Experiment(
        "sap-figure-9",
        "SAP, figure 9",
        "three solvers in clutter of 40 bodies",
        _compare,
        lambda full: product(size=[BODIES_PER_COLUMN], where=["with walls"], every=[1]),
        _figure_9,
    ),
    Experiment(
        "sap-figure-12",
        "SAP, figure 12",
        "speed-ups over the number of bodies",
        _compare,
        _sweep_of_speeds,
        _figure_12,
        shared=True,
    ),
    Experiment(
        "sap-figure-13",
        "SAP, figure 13",
        "errors of the solvers",
        _compare,
        _sweep,
        _figure_13,
        shared=True,
    ),
)
