"""Figures 1 and 18 to 21 of the SAP paper: two arms open a jar and pour marbles (VI-E).

In some steps of one simulation with SAP every solver solves the problem of the step with several
tolerances. Clarabel takes the place of Gurobi; times are CPU times of solving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from studies.experiments.dual_arm_runs import TIME_STEP, TOLERANCE, DualArm, open_and_pour
from studies.experiments.form import (
    Key,
    Measured,
    Paper,
    Runs,
    about,
    at_most,
    finding,
    says,
    twofold,
)
from studies.experiments.outcome import Curve, Film, Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.sap_solvers import Case, available_solvers

__all__ = ["EXPERIMENTS"]

_OPTIONS = {"SAP": "tolerance", "geodesic": "complementarity"}  # others: tolerance

# Tightest first: velocities are compared with those of the first SAP.
_TOLERANCES = {
    "SAP": tuple(10.0**-power for power in range(8, 0, -1)),
    "geodesic": tuple(10.0**-power for power in range(9, 2, -1)),
    "Clarabel": (1e-10, 1e-8, 1e-6, 1e-4, 1e-2),
    "Gurobi": (1e-8, 1e-6, 1e-4),
}
_ALIKE = 1e-3
"""Median distance of velocities from the solution at which solvers are said to be as accurate."""

_TASK_TOLERANCES = (1.0, 0.5, 1e-1, 1e-2, 1e-3, 1e-4)

# Of the keyframes, what is drawn in one colour.
_STAGES = {
    "approach": "grasp",
    "lift": "lift and open",
    "bring": "pour",
    "return": "close",
    "put down": "put down",
}


def _cases() -> dict[str, Case]:
    out = {}
    for solver in available_solvers():
        for tolerance in _TOLERANCES[solver]:
            option = _OPTIONS.get(solver, "tolerance")
            out[_label(solver, tolerance)] = Case(solver, {option: tolerance})
    return out


def _label(solver: str, tolerance: float) -> str:
    return f"{solver} {tolerance:.0e}"


def _task(tolerance: float, progress: Progress) -> DualArm:
    return open_and_pour(tolerance, progress=progress)


def _tolerances(full: bool) -> list[Key]:
    """The task as it is, and with other tolerances."""
    looser = _TASK_TOLERANCES if full else _TASK_TOLERANCES[:3]
    return [{"tolerance": tolerance} for tolerance in (TOLERANCE, *looser)]


def _comparison(every: int, progress: Progress) -> DualArm:
    return open_and_pour(cases=_cases(), every=every, progress=progress)


def _end(found: DualArm) -> str:
    if found.succeeded:
        return "succeeds"
    failed = ", not ".join(name for name, good in found.checks.items() if not good)
    return "fails: " + (found.ending or f"not {failed}")


def _stages(found: DualArm) -> Iterator[Curve]:
    begins = [(begin, _STAGES[name]) for begin, name in found.events if name in _STAGES]
    ends = [begin for begin, _ in begins[1:]] + [np.inf]
    for (begin, label), end in zip(begins, ends, strict=True):
        own = (found.step_time > begin) & (found.step_time <= end)
        yield Curve(label, found.step_time[own], found.contacts[own])


def _figure_18(runs: Runs) -> Measured:
    found, *others = runs.results
    last = found.states[-1]
    yield finding("degrees of freedom", found.model.nv, paper=about("160", 160, 0))
    yield finding("the task", _end(found), paper=says("succeeds"), judged=found.succeeded)
    marbles = last.poured, last.left
    yield finding("marbles in the bowl, in the jar at the end", marbles, "{}, {}")
    lid = 1e3 * last.lid_gap, last.lid_tilt
    quantity = "lid at the end, above its seat; its tilt"
    yield finding(quantity, lid, "{:.2f} mm; {:.2f}°", at_most("closed", 1.0))
    held = at_most("held", 10.0)
    yield finding("largest motion of the jar in the hand", 1e3 * found.slip, "{:.1f} mm", held)
    contacts = found.contacts.max(), np.median(found.contacts)
    hundreds = Paper("hundreds", 100.0, 1000.0)
    quantity, form = "contacts: largest, median", "{:.0f}, {:.0f}"
    yield finding(quantity, contacts, form, hundreds, judged=contacts[0])
    quantity = "CPU time per second of the task, with control and planning"
    yield finding(quantity, found.cpu / found.step_time[-1], "{:.2f} s")
    tolerances = runs.axis("tolerance")[1:]
    done = np.array([one.succeeded for one in others])
    parted = not np.all(done) and bool(np.all(tolerances[done] < tolerances[~done].min()))
    for tolerance, one in zip(tolerances, others, strict=True):
        quantity = f"with ε_r = {tolerance:g}: task; iterations per step"
        said = says("fails above an error that is lost")
        values = _end(one), one.iterations
        yield finding(quantity, values, "{}; {:.1f}", said, judged=parted)
    yield Panel("time [s]", "contacts", tuple(_stages(found)), f"δt = {1e3 * TIME_STEP:g} ms")
    yield Film(found.model, found.time, found.qpos, "front")


def _values(found: DualArm, key: str, solver: str, tolerance: float) -> np.ndarray:
    """Of the steps that the solver could do, and that have contacts."""
    column = list(_cases()).index(_label(solver, tolerance))
    values = found.compared[key][found.compared["contacts"] > 0, column]
    return np.asarray(values[np.isfinite(values)])


class Judged(NamedTuple):
    """A value of the paper, and what of errors is compared with it."""

    paper: str | Paper
    of: Callable[[np.ndarray, np.ndarray], np.ndarray]


_UNSAID = Judged("–", lambda _, rows: rows[:, 0])

_DRAWN = {"mean": "o-", "median": "--", "least": ":", "largest": ":"}


def _errors(quantity: str, label: str, papers: Mapping[str, Judged], runs: Runs) -> Measured:
    """Errors against tolerances."""
    curves = []
    for solver in available_solvers():
        tolerances = _TOLERANCES[solver]
        rows = []
        for tolerance in tolerances:
            values = _values(runs.one, quantity, solver, tolerance)
            # Zero cannot be drawn on a logarithmic axis.
            values = np.maximum(values, 1e-25) if len(values) else np.array([np.nan])
            rows.append((values.mean(), np.median(values), values.min(), values.max()))
        for (name, style), column in zip(_DRAWN.items(), np.array(rows).T, strict=True):
            curves.append(Curve(f"{solver}, {name}", np.array(tolerances), column, style))
        at = ", ".join(f"{tolerance:.0e}" for tolerance in tolerances[::3])
        compared = papers.get(solver, _UNSAID)
        yield finding(
            f"{solver}: {label}, mean and largest, at {at}",
            [(row[0], row[3]) for row in rows[::3]],
            "{:.0e}, {:.0e}",
            compared.paper,
            join="; ",
            judged=tuple(compared.of(np.array(tolerances), np.array(rows))),
        )
    yield Panel("tolerance of the solver", label, curves, log_x=True, log_y=True)


_ITERATIONS: dict[str, str | Paper] = {
    "SAP": twofold("4", 4.0),
    "geodesic": twofold("8.3", 8.3),
    "Gurobi": twofold("10.1", 10.1),
    "Clarabel": twofold("(Gurobi: 10.1)", 10.1),
}
_SPEED_UPS: dict[str, str | Paper] = {
    "geodesic": twofold("2.2", 2.2),
    "Gurobi": twofold("7.4", 7.4),
    "Clarabel": twofold("(over Gurobi: 7.4)", 7.4),
}


def _figure_21(runs: Runs) -> Measured:
    found = runs.one
    curves = []
    chosen: dict[str, float] = {}
    for solver in available_solvers():
        tolerances = np.array(_TOLERANCES[solver])
        means = np.array([_values(found, "iterations", solver, t).mean() for t in tolerances])
        curves.append(Curve(solver, tolerances, means, "o-"))
        # The loosest that is accurate enough.
        good = [t for t in tolerances if np.median(_values(found, "distance", solver, t)) <= _ALIKE]
        chosen[solver] = float(max(good, default=tolerances[0]))
        unsolved = 1.0 - _values(found, "converged", solver, chosen[solver]).mean()
        own = int(np.flatnonzero(tolerances == chosen[solver])[0])
        yield finding(
            f"{solver}: mean iterations at {chosen[solver]:.0e}, unsolved there; "
            f"range over tolerances",
            (means[own], unsolved, np.nanmin(means), np.nanmax(means)),
            "{:.1f}, {:.1%}; {:.1f}–{:.1f}",
            _ITERATIONS[solver],
            judged=means[own],
        )
    total = {name: _values(found, "cpu_time", name, at).sum() for name, at in chosen.items()}
    for solver, spent in total.items():
        if solver != "SAP":
            quantity = f"SAP over {solver}: total time of solving, both as accurate in the median"
            yield finding(quantity, spent / total["SAP"], "{:.1f}", _SPEED_UPS[solver])
    yield Panel("tolerance of the solver", "mean iterations per step", curves, log_x=True)


def _compared(number: int, description: str, measure: Callable[[Runs], Measured]) -> Experiment:
    """A figure of the same simulation."""
    return Experiment(
        f"sap-figure-{number}",
        f"SAP, figure {number}",
        description,
        _comparison,
        lambda full: [{"every": 2 if full else 10}],
        measure,
        shared=True,
    )


# Errors are rows of mean, median, least and largest, of every tolerance.
_MOMENTUM = {
    "SAP": Judged(at_most("below its tolerance", 1.0), lambda at, rows: rows[:, 0] / at),
    "geodesic": Judged(
        at_most("does not follow its tolerance", 100.0),
        lambda _, rows: rows[:, :1].max(axis=0) / rows[:, 0].min(),
    ),
}
_EXACT = {"SAP": Judged(at_most("exact", 1e-12), lambda _, rows: rows[:, 3])}

EXPERIMENTS = (
    Experiment(
        "sap-figure-18",
        "SAP, figures 1 and 18",
        "two arms open a jar, pour out marbles and close it",
        _task,
        _tolerances,
        _figure_18,
    ),
    _compared(
        19,
        "errors of momentum in that task",
        partial(_errors, "momentum_error", "momentum error (32)", _MOMENTUM),
    ),
    _compared(
        20,
        "errors of complementarity in that task",
        partial(_errors, "complementarity_error", "complementarity error (33)", _EXACT),
    ),
    _compared(21, "iterations and speed-ups in that task", _figure_21),
)
