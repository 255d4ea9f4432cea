"""Figures 16 and 17 of the SAP paper: a spatula slips in a gripper with bubbles (VI-D)."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from asperity.simulator import Simulator
from studies.experiments.outcome import Curve, Film, Finding, Outcome, Panel
from studies.experiments.paper import paper_sap
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import part
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
    """What happened, step by step, and what the solvers did."""

    model: mujoco.MjModel
    """Of gripper and spatula."""
    time: np.ndarray
    """End of every step [s], shape (n,)."""
    qpos: np.ndarray
    """Configurations, shape (n, 9)."""
    force: np.ndarray
    """Commanded in the step [N], shape (n,)."""
    pitch: np.ndarray
    """Angle of the handle below the horizon [degrees], shape (n,)."""
    contacts: np.ndarray
    """Contacts of the step, shape (n,)."""
    slip: np.ndarray
    """Largest slip speed of contacts with a force [m/s], shape (n,)."""
    solvers: tuple[str, ...]
    """Names, in the order of ``compared``."""
    compared: dict[str, np.ndarray]
    """See `compare_along`."""


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
    rows: list[tuple[float, ...]] = []
    path: list[np.ndarray] = []

    def drive(current: Simulator) -> None:
        # In the middle of the step, where rounding does not matter.
        force = grasp_force(current.time + 0.5 * TIME_STEP)
        current.data.ctrl[:] = force, -force

    def observe(current: Simulator) -> None:
        contacts = current.contacts
        slip = contacts.slip_speed[contacts.normal_force > 0.0]
        rows.append(
            (
                current.time,
                current.data.ctrl[0],
                np.degrees(pitch(current.data.qpos[5:9])),
                len(contacts.normal_force),
                np.max(slip, initial=0.0),
            )
        )
        path.append(current.data.qpos.copy())

    compared = compare_along(
        simulator,
        duration,
        {name: _CASES[name] for name in solvers},
        every,
        drive=drive,
        observe=observe,
        progress=progress,
    )
    time, force, angle, contacts, slip = np.array(rows).T
    return SlipControl(
        simulator.model,
        time,
        np.array(path),
        force,
        angle,
        contacts,
        slip,
        tuple(solvers),
        compared,
    )


def _phases(found: SlipControl) -> tuple[np.ndarray, np.ndarray]:
    """Steps of the secure and of the loose grasp, each without the first fifth of a second."""
    phase = (found.time - 0.5 * TIME_STEP) % PERIOD
    secure = (phase > 0.2) & (phase < DUTY * PERIOD)
    return secure, phase > DUTY * PERIOD + 0.2


def _figure_17(full: bool, progress: Progress) -> Outcome:
    solvers = tuple(name for name, case in _CASES.items() if case.solver in available_solvers())
    found = slip_control(
        every=1 if full else 5, solvers=solvers, progress=part(progress, 0.0, 0.95)
    )
    thin = slip_control(PERIOD, inertia=THIN_INERTIA, progress=part(progress, 0.95, 1.0))
    secure, loose = _phases(found)
    turns = [
        float(np.ptp(found.pitch[loose & (found.time // PERIOD == k)]))
        for k in range(int(DURATION / PERIOD))
    ]
    creep = [
        float(np.ptp(found.pitch[secure & (found.time // PERIOD == k)]))
        for k in range(int(DURATION / PERIOD))
    ]
    findings = [
        Finding(
            "contacts while it slips, while it sticks (medians)",
            f"{np.median(found.contacts[loose]):.0f}, {np.median(found.contacts[secure]):.0f}",
            "about 60, about 160",
        ),
        Finding(
            "pitch in each loose phase, in each secure one",
            f"{min(turns):.1f}°–{max(turns):.1f}°, at most {max(creep):.2f}°",
            "turns; sticks (figure 17)",
        ),
        Finding(
            "largest slip speed while it sticks (median over steps)",
            f"{1e6 * np.median(found.slip[secure]):.0f} µm/s",
            f"below μσgδt = {1e6 * 1e-3 * 9.81 * TIME_STEP:.0f} µm/s for a weight alone",
        ),
        Finding(
            "with the inertia of a thin spatula, pitch at the end of the first loose phase",
            f"{thin.pitch[-1]:.0f}°",
            "–",
        ),
        *_solver_findings(found),
    ]
    time = found.time
    curves = [
        Curve(name, found.compared["time"], found.compared["iterations"][:, i], ".")
        for i, name in enumerate(found.solvers)
    ]
    panels = (
        Panel("time [s]", "grasp force [N]", (Curve("command", time, found.force),)),
        Panel("time [s]", "pitch [degrees]", (Curve("SAP, δt = 5 ms", time, found.pitch),)),
        Panel("time [s]", "contacts", (Curve("contacts", time, found.contacts),)),
        Panel("time [s]", "iterations per step", tuple(curves)),
    )
    every = 4
    film = Film(found.model, time[::every], found.qpos[::every], "grasp")
    return Outcome(tuple(findings), panels, film=film)


_ITERATIONS = {"SAP": "0.62", "geodesic": "5.6", "Gurobi": "10.1", "Clarabel": "(Gurobi: 10.1)"}
_LOOSE_SAP = "SAP, ε_r = 1e-4"
_MOMENTUM = {
    "SAP": "bounded by its tolerance",
    "geodesic": "far below Gurobi's",
    "Gurobi": "above SAP's",
    "Clarabel": "(Gurobi: above SAP's)",
}
_SPEED_UPS = {"geodesic": "20", "Gurobi": "92", "Clarabel": "(over Gurobi: 92)"}


def _solver_findings(found: SlipControl) -> list[Finding]:
    findings = []
    compared = found.compared
    for i, name in enumerate(found.solvers):
        done = np.isfinite(compared["iterations"][:, i])
        if not np.any(done):
            continue
        solved = compared["converged"][done, i]
        note = "" if np.all(solved) else f", unsolved {100 * (1 - np.mean(solved)):.1f} %"
        share = "" if np.all(done) else f", in {np.mean(done):.0%} of the steps"
        findings += [
            Finding(
                f"{name}: mean iterations per step",
                f"{np.mean(compared['iterations'][done, i]):.2f}{note}{share}",
                _ITERATIONS.get(name, "the tolerance is lost"),
            ),
            Finding(
                f"{name}: largest momentum error (32)",
                f"{np.max(compared['momentum_error'][done, i]):.1e}",
                _MOMENTUM.get(name, "bounded by its tolerance"),
            ),
        ]
        if name in _SPEED_UPS:
            # Only steps that both have solved.
            total = np.sum(compared["cpu_time"][done], axis=0)
            ratios = [
                f"{total[i] / total[found.solvers.index(sap)]:.0f}" for sap in ("SAP", _LOOSE_SAP)
            ]
            findings.append(
                Finding(
                    f"SAP over {name}: total time of solving, at {TOLERANCE:g} and at "
                    f"{LOOSE_TOLERANCE:g}",
                    ", ".join(ratios),
                    _SPEED_UPS[name],
                )
            )
    return findings


EXPERIMENTS = (
    Experiment(
        "sap-figure-17",
        "SAP, figures 16 and 17",
        "a spatula in a gripper with bubbles",
        _figure_17,
    ),
)
