"""Figures 16 and 17 of the SAP paper: a spatula slips in a gripper with bubbles (VI-D)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from asperity.simulator import Simulator
from studies.experiments.form import (
    Measured,
    Paper,
    Runs,
    at_least,
    at_most,
    finding,
    product,
    twofold,
)
from studies.experiments.outcome import Curve, Film, Finding, Panel
from studies.experiments.paper import paper_sap
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import Look, Notes, Samples
from studies.experiments.sap_solvers import Case, available_solvers, compare_along
from studies.scenes.bubble_gripper import (
    DUTY,
    FILE_INERTIA,
    PERIOD,
    THIN_INERTIA,
    bubble_gripper,
    grasp_force,
    pitch,
)

__all__ = ["EXPERIMENTS", "SlipControl", "slip_control"]

TIME_STEP = 5e-3
TOLERANCE = 1e-6
LOOSE_TOLERANCE = 1e-4
DURATION = 5.0 * PERIOD

_CASES = {
    "SAP": Case("SAP", {"tolerance": TOLERANCE}),
    "SAP, ε_r = 1e-4": Case("SAP", {"tolerance": LOOSE_TOLERANCE}),
    # [J]; larger ones fail, says the paper, without its number.
    "geodesic": Case("geodesic", {"complementarity": 1e-8}),
    "Clarabel": Case("Clarabel", {"tolerance": 1e-8}),
    "Gurobi": Case("Gurobi", {"tolerance": 1e-8}),
}


class SlipControl(NamedTuple):
    """What happened, and what the solvers did."""

    seen: Samples
    """At the end of every step: see `_LOOKS`."""
    solvers: tuple[str, ...]
    """Names, in the order of ``compared``."""
    compared: dict[str, np.ndarray]
    """See `compare_along`."""


def _slip(simulator: Simulator) -> float:
    contacts = simulator.contacts
    return float(np.max(contacts.slip_speed[contacts.normal_force > 0.0], initial=0.0))


_LOOKS: dict[str, Look] = {
    "qpos": lambda simulator: simulator.data.qpos.copy(),
    # Commanded in the step [N].
    "force": lambda simulator: simulator.data.ctrl[0],
    # Of the handle below the horizon [degrees].
    "pitch": lambda simulator: np.degrees(pitch(simulator.data.qpos[5:9])),
    "contacts": lambda simulator: len(simulator.contacts.normal_force),
    # The largest speed of contacts with a force [m/s].
    "slip": _slip,
}


def slip_control(
    duration: float = DURATION,
    every: int = 1,
    solvers: tuple[str, ...] = (),
    *,
    inertia: tuple[float, ...] = FILE_INERTIA,
    progress: Progress = lambda share: None,
) -> SlipControl:
    """Squeeze and loosen.

    Parameters
    ----------
    duration : float
        [s].
    every : int
        At how manieth step solvers are compared.
    solvers : tuple of str
        Which ones.
    inertia : tuple of float
        Of the spatula; see `bubble_gripper`.
    progress : callable, optional

    Raises
    ------
    SimulationError
        If the simulation fails.
    """
    simulator = Simulator(
        bubble_gripper(inertia), integrator=paper_sap(TIME_STEP, tolerance=TOLERANCE)
    )
    simulator.reset("start")

    def drive(current: Simulator) -> None:
        # In the middle of the step, where rounding does not matter.
        force = grasp_force(current.time + 0.5 * TIME_STEP)
        current.data.ctrl[:] = force, -force

    notes = Notes(_LOOKS)
    compared = compare_along(
        simulator,
        duration,
        {name: _CASES[name] for name in solvers},
        every,
        drive=drive,
        observe=notes,
        progress=progress,
    )
    return SlipControl(notes.samples(simulator), tuple(solvers), compared)


def _phases(found: SlipControl) -> tuple[np.ndarray, np.ndarray]:
    """Steps of the secure and of the loose grasp, each without the first fifth of a second."""
    phase = (found.seen.time - 0.5 * TIME_STEP) % PERIOD
    secure = (phase > 0.2) & (phase < DUTY * PERIOD)
    return secure, phase > DUTY * PERIOD + 0.2


def _turns(found: SlipControl, steps: np.ndarray) -> list[float]:
    """By how much the pitch changes in these steps of every period [degrees]."""
    number = found.seen.time // PERIOD
    periods = range(int(DURATION / PERIOD))
    return [float(np.ptp(found.seen["pitch"][steps & (number == k)])) for k in periods]


def _control(inertia: str, every: int, progress: Progress) -> SlipControl:
    """The experiment, or one period with the inertia of a thin spatula."""
    if inertia == "thin":
        return slip_control(PERIOD, inertia=THIN_INERTIA, progress=progress)
    solvers = tuple(name for name, case in _CASES.items() if case.solver in available_solvers())
    return slip_control(every=every, solvers=solvers, progress=progress)


def _measure(runs: Runs) -> Measured:
    found, thin = runs.results
    seen = found.seen
    secure, loose = _phases(found)
    turns, creep = _turns(found, loose), _turns(found, secure)
    yield finding(
        "contacts while it slips, while it sticks (medians)",
        tuple(np.median(seen["contacts"][steps]) for steps in (loose, secure)),
        "{:.0f}, {:.0f}",
        Paper("about 60, about 160", (40.0, 120.0), (80.0, 200.0)),
    )
    yield finding(
        "pitch in each loose phase, in each secure one",
        (min(turns), max(turns), max(creep)),
        "{:.1f}°–{:.1f}°, at most {:.2f}°",
        at_least("turns; sticks (figure 17)", 5.0),
        judged=min(turns) / max(creep),
    )
    bound = 1e6 * 1e-3 * 9.81 * TIME_STEP
    yield finding(
        "largest slip speed while it sticks (median over steps)",
        1e6 * np.median(seen["slip"][secure]),
        "{:.0f} µm/s",
        at_most(f"below μσgδt = {bound:.0f} µm/s for a weight alone", bound),
    )
    yield finding(
        "with the inertia of a thin spatula, pitch at the end of the first loose phase",
        thin.seen["pitch"][-1],
        "{:.0f}°",
    )
    yield from _solver_findings(found)
    compared = found.compared
    for y, label, look in (
        ("grasp force [N]", "command", "force"),
        ("pitch [degrees]", "SAP, δt = 5 ms", "pitch"),
        ("contacts", "contacts", "contacts"),
    ):
        yield Panel("time [s]", y, [Curve(label, seen.time, seen[look])])
    iterations = zip(found.solvers, compared["iterations"].T, strict=True)
    curves = [Curve(name, compared["time"], column, ".") for name, column in iterations]
    yield Panel("time [s]", "iterations per step", curves)
    yield Film(seen.simulator.model, seen.time[::4], seen["qpos"][::4], "grasp")


_LOOSE_SAP = "SAP, ε_r = 1e-4"
_ITERATIONS: dict[str, str | Paper] = {
    "SAP": twofold("0.62", 0.62),
    "geodesic": twofold("5.6", 5.6),
    "Gurobi": twofold("10.1", 10.1),
    "Clarabel": twofold("(Gurobi: 10.1)", 10.1),
}
_MOMENTUM: dict[str, Paper] = {
    "SAP": at_most("bounded by its tolerance", TOLERANCE),
    _LOOSE_SAP: at_most("bounded by its tolerance", LOOSE_TOLERANCE),
}
# Bounds are of the error over SAP's.
_MOMENTUM_OVER_SAP: dict[str, Paper] = {
    "geodesic": at_most("far below Gurobi's, which is above SAP's", 0.01),
    "Gurobi": at_least("above SAP's", 1.0),
    "Clarabel": at_least("(Gurobi: above SAP's)", 1.0),
}
_SPEED_UPS: dict[str, str | Paper] = {
    "geodesic": twofold("20", 20.0),
    "Gurobi": twofold("92", 92.0),
    "Clarabel": twofold("(over Gurobi: 92)", 92.0),
}


def _solver_findings(found: SlipControl) -> Iterator[Finding]:
    compared = found.compared
    for i, name in enumerate(found.solvers):
        done = np.isfinite(compared["iterations"][:, i])
        if not np.any(done):
            continue
        solved = compared["converged"][done, i]
        note = "" if np.all(solved) else f", unsolved {100 * (1 - np.mean(solved)):.1f} %"
        share = "" if np.all(done) else f", in {np.mean(done):.0%} of the steps"
        mean = float(np.mean(compared["iterations"][done, i]))
        said = _ITERATIONS.get(name, "–")
        yield finding(f"{name}: mean iterations per step", (mean, note, share), "{:.2f}{}{}", said)
        largest = np.max(compared["momentum_error"][done, i])
        of_sap = np.nanmax(compared["momentum_error"][:, found.solvers.index("SAP")])
        absolute = _MOMENTUM.get(name)
        yield finding(
            f"{name}: largest momentum error (32)",
            largest,
            "{:.1e}",
            absolute or _MOMENTUM_OVER_SAP[name],
            judged=largest if absolute else largest / of_sap,
        )
        if name in _SPEED_UPS:
            # Only steps that both have solved.
            total = np.sum(compared["cpu_time"][done], axis=0)
            ratios = [total[i] / total[found.solvers.index(s)] for s in ("SAP", _LOOSE_SAP)]
            at = f"at {TOLERANCE:g} and at {LOOSE_TOLERANCE:g}"
            quantity = f"SAP over {name}: total time of solving, {at}"
            yield finding(quantity, ratios, "{:.0f}", _SPEED_UPS[name], join=", ")


EXPERIMENTS = (
    Experiment(
        "sap-figure-17",
        "SAP, figures 16 and 17",
        "a spatula in a gripper with bubbles",
        _control,
        lambda full: product(inertia=("file", "thin"), every=[1 if full else 5]),
        _measure,
    ),
)
