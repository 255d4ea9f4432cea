"""Figures 1 and 18 to 21 of the SAP paper: two arms open a jar and pour marbles (VI-E).

In some steps of one simulation with SAP every solver solves the problem of the step with several
tolerances. Clarabel takes the place of Gurobi; times are CPU times of solving.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from studies.experiments.dual_arm_runs import TIME_STEP, DualArm, open_and_pour
from studies.experiments.outcome import Curve, Film, Finding, Outcome, Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import part, tracked
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


# Figures 19 to 21 show the same simulation.
_RUNS: dict[bool, DualArm] = {}


def _comparison(full: bool, progress: Progress) -> DualArm:
    if full not in _RUNS:
        _RUNS[full] = open_and_pour(cases=_cases(), every=2 if full else 10, progress=progress)
    return _RUNS[full]


def _figure_18(full: bool, progress: Progress) -> Outcome:
    found = open_and_pour(progress=part(progress, 0.0, 0.2))
    last = found.states[-1]
    findings = [
        Finding("degrees of freedom", f"{found.model.nv}", "160"),
        Finding(
            "the task",
            "succeeds" if found.succeeded else "fails: " + _failures(found),
            "succeeds",
        ),
        Finding("marbles in the bowl, in the jar at the end", f"{last.poured}, {last.left}", "–"),
        Finding(
            "lid at the end, above its seat; its tilt",
            f"{1e3 * last.lid_gap:.2f} mm; {last.lid_tilt:.2f}°",
            "closed",
        ),
        Finding(
            "largest motion of the jar in the hand",
            f"{1e3 * found.slip:.1f} mm",
            "held",
        ),
        Finding(
            "contacts: largest, median",
            f"{found.contacts.max():.0f}, {np.median(found.contacts):.0f}",
            "hundreds",
        ),
        Finding(
            "CPU time per second of the task, with control and planning",
            f"{found.cpu / found.step_time[-1]:.2f} s",
            "–",
        ),
    ]
    looser = _TASK_TOLERANCES if full else _TASK_TOLERANCES[:3]
    for tolerance, own in tracked(looser, part(progress, 0.2, 1.0)):
        one = open_and_pour(tolerance, progress=own)
        findings.append(
            Finding(
                f"with ε_r = {tolerance:g}: task; iterations per step",
                f"{'succeeds' if one.succeeded else 'fails: ' + _failures(one)}; "
                f"{one.iterations:.1f}",
                "fails above an error that is lost",
            )
        )
    panel = Panel("time [s]", "contacts", _stages(found), title=f"δt = {1e3 * TIME_STEP:g} ms")
    film = Film(found.model, found.time, found.qpos, "front")
    return Outcome(tuple(findings), (panel,), film=film)


def _failures(found: DualArm) -> str:
    return found.ending or "not " + ", not ".join(n for n, good in found.checks.items() if not good)


def _stages(found: DualArm) -> tuple[Curve, ...]:
    begins = [(begin, _STAGES[name]) for begin, name in found.events if name in _STAGES]
    ends = [begin for begin, _ in begins[1:]] + [np.inf]
    curves = []
    for (begin, label), end in zip(begins, ends, strict=True):
        own = (found.step_time > begin) & (found.step_time <= end)
        curves.append(Curve(label, found.step_time[own], found.contacts[own]))
    return tuple(curves)


def _values(found: DualArm, key: str, solver: str, tolerance: float) -> np.ndarray:
    """Of the steps that the solver could do, and that have contacts."""
    column = list(_cases()).index(_label(solver, tolerance))
    values = found.compared[key][found.compared["contacts"] > 0, column]
    return np.asarray(values[np.isfinite(values)])


def _errors(key: str, label: str, papers: dict[str, str]) -> Callable[[bool, Progress], Outcome]:
    """An experiment that draws errors against tolerances."""

    def compute(full: bool, progress: Progress) -> Outcome:
        found = _comparison(full, progress)
        findings, curves = [], []
        for solver in available_solvers():
            tolerances = _TOLERANCES[solver]
            rows = []
            for tolerance in tolerances:
                values = _values(found, key, solver, tolerance)
                # Zero cannot be drawn on a logarithmic axis.
                values = np.maximum(values, 1e-25) if len(values) else np.array([np.nan])
                rows.append((values.mean(), np.median(values), values.min(), values.max()))
            x = np.array(tolerances)
            for name, style, column in zip(
                ("mean", "median", "least", "largest"),
                ("o-", "--", ":", ":"),
                np.array(rows).T,
                strict=True,
            ):
                curves.append(Curve(f"{solver}, {name}", x, column, style))
            findings.append(
                Finding(
                    f"{solver}: {label}, mean and largest, at "
                    + ", ".join(f"{t:.0e}" for t in tolerances[::3]),
                    "; ".join(f"{r[0]:.0e}, {r[3]:.0e}" for r in rows[::3]),
                    papers.get(solver, "–"),
                )
            )
        panel = Panel("tolerance of the solver", label, tuple(curves), log_x=True, log_y=True)
        return Outcome(tuple(findings), (panel,))

    return compute


def _figure_21(full: bool, progress: Progress) -> Outcome:
    found = _comparison(full, progress)
    findings, curves = [], []
    chosen: dict[str, float] = {}
    for solver in available_solvers():
        tolerances = np.array(_TOLERANCES[solver])
        means = np.array([_values(found, "iterations", solver, t).mean() for t in tolerances])
        curves.append(Curve(solver, tolerances, means, "o-"))
        unsolved = [1.0 - _values(found, "converged", solver, t).mean() for t in tolerances]
        # The loosest that is accurate enough.
        good = [
            float(t)
            for t in tolerances
            if np.median(_values(found, "distance", solver, t)) <= _ALIKE
        ]
        chosen[solver] = max(good, default=float(tolerances[0]))
        own = int(np.flatnonzero(tolerances == chosen[solver])[0])
        findings.append(
            Finding(
                f"{solver}: mean iterations at {chosen[solver]:.0e}, unsolved there; "
                f"range over tolerances",
                f"{means[own]:.1f}, {unsolved[own]:.1%}; "
                f"{np.nanmin(means):.1f}–{np.nanmax(means):.1f}",
                _ITERATIONS[solver],
            )
        )
    base = _values(found, "cpu_time", "SAP", chosen["SAP"]).sum()
    for solver, tolerance in chosen.items():
        if solver != "SAP":
            ratio = _values(found, "cpu_time", solver, tolerance).sum() / base
            findings.append(
                Finding(
                    f"SAP over {solver}: total time of solving, both as accurate in the median",
                    f"{ratio:.1f}",
                    _SPEED_UPS[solver],
                )
            )
    panel = Panel("tolerance of the solver", "mean iterations per step", tuple(curves), log_x=True)
    return Outcome(tuple(findings), (panel,))


_ITERATIONS = {"SAP": "4", "geodesic": "8.3", "Gurobi": "10.1", "Clarabel": "(Gurobi: 10.1)"}
_SPEED_UPS = {"geodesic": "2.2", "Gurobi": "7.4", "Clarabel": "(over Gurobi: 7.4)"}

EXPERIMENTS = (
    Experiment(
        "sap-figure-18",
        "SAP, figures 1 and 18",
        "two arms open a jar, pour out marbles and close it",
        _figure_18,
    ),
    Experiment(
        "sap-figure-19",
        "SAP, figure 19",
        "errors of momentum in that task",
        _errors(
            "momentum_error",
            "momentum error (32)",
            {"SAP": "below its tolerance", "geodesic": "does not follow its tolerance"},
        ),
    ),
    Experiment(
        "sap-figure-20",
        "SAP, figure 20",
        "errors of complementarity in that task",
        _errors("complementarity_error", "complementarity error (33)", {"SAP": "exact"}),
    ),
    Experiment(
        "sap-figure-21",
        "SAP, figure 21",
        "iterations and speed-ups in that task",
        _figure_21,
    ),
)
