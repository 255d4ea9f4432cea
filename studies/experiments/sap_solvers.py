"""Solvers side by side, on every step's convex problem of one simulation with SAP (VI-A)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from asperity.errors import Status
from asperity.integrators import Sap
from asperity.simulator import Simulator
from studies.experiments.reference import (
    ReferenceProblem,
    SizeLimitError,
    Solution,
    Tables,
    errors_of,
    prepare_problem,
    read_problem,
    solve_clarabel,
    solve_geodesic,
    solve_gurobi,
    solve_newton,
)

__all__ = ["SOLVERS", "Case", "available_solvers", "compare_along", "compare_solvers"]

Options = Mapping[str, Mapping[str, Any]]


SOLVERS: dict[str, Callable[..., Solution]] = {
    "SAP": solve_newton,
    "geodesic": solve_geodesic,
    "Clarabel": lambda problem, _tables, **options: solve_clarabel(problem, **options),
    "Gurobi": lambda problem, _tables, **options: solve_gurobi(problem, **options),
}
"""Solvers by name."""


class Case(NamedTuple):
    """A solver with its options."""

    solver: str
    """Name from `SOLVERS`."""
    options: Mapping[str, Any]
    """Keyword arguments of its function."""


_PACKAGES = {"Clarabel": "clarabel", "Gurobi": "gurobipy"}


def available_solvers() -> tuple[str, ...]:
    """Names of the solvers whose packages are installed."""
    import importlib.util

    return tuple(
        name
        for name in SOLVERS
        if name not in _PACKAGES or importlib.util.find_spec(_PACKAGES[name]) is not None
    )


def compare_solvers(
    model: Any,
    sap: Sap,
    duration: float,
    solvers: Sequence[str] = ("SAP", "geodesic", "Clarabel"),
    every: int = 1,
    *,
    options: Options | None = None,
    progress: Callable[[float], None] | None = None,
) -> dict[str, np.ndarray]:
    """Simulate with SAP, and let other solvers solve the very problems that it solves.

    Parameters
    ----------
    model
        Anything that `Simulator` takes. Its constraints may be contacts, equalities and limits.
    sap : Sap
        The integrator, whose solution the simulation follows.
    duration : float
        Simulated time [s].
    solvers : sequence of str
        Names from `SOLVERS`.
    every : int
        Compare at every so many-th step.
    options : mapping, optional
        Keyword arguments of a solver's function by the solver's name.
    progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    dict of ndarray
        For k compared steps and s solvers: ``time`` (k,), when the step begins [s], and
        ``contacts`` (k,); ``iterations``, ``wall_time`` and ``cpu_time`` [s], ``momentum_error``
        and ``complementarity_error`` (SAP, equations 32 and 33), ``distance`` to the velocities
        of SAP's solver in the norm of A, relative to their size or to the change that the impulses
        made (things at rest have next to no velocity), and ``converged`` (0 or 1), all (k, s).
        NaN where a solver's licence did not allow the problem's size. Times are of solving, without
        setting up.

    Raises
    ------
    ValueError
        If a solver is unknown, or a number is not positive.
    ImportError
        If a solver's package is missing.
    SimulationError
        If the simulation fails.
    """
    unknown = [name for name in solvers if name not in SOLVERS]
    if unknown:
        raise ValueError(f"solver {unknown[0]!r} is unknown; use one of {', '.join(SOLVERS)}.")
    if not (np.isfinite(duration) and duration > 0.0):
        raise ValueError(f"duration must be positive and finite, got {duration}.")
    if every < 1:
        raise ValueError(f"every must be at least 1, got {every}.")
    if sap.time_step is None:
        raise ValueError("the solvers are compared in fixed steps; give sap a time_step.")
    simulator = Simulator(model, integrator=sap)
    cases = {name: Case(name, (options or {}).get(name, {})) for name in solvers}
    return compare_along(simulator, duration, cases, every, progress=progress)


def compare_along(
    simulator: Simulator,
    duration: float,
    cases: Mapping[str, Case],
    every: int = 1,
    *,
    drive: Callable[[Simulator], None] | None = None,
    observe: Callable[[Simulator], None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> dict[str, np.ndarray]:
    """Take the steps of a simulation with SAP, and let solvers solve the problems of some of them.

    Parameters
    ----------
    simulator : Simulator
        Of `Sap` with a fixed step, and without a control callback, which would be called too late
        for the problem of a step.
    duration : float
        Simulated time [s].
    cases : mapping of str to Case
        Solvers by the label of their results.
    every : int
        Compare at every so many-th step, the first included.
    drive, observe : callable, optional
        Called before every step, to write controls and targets, and after it.
    progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    dict of ndarray
        As `compare_solvers`, in the order of the cases.

    Raises
    ------
    SimulationError
        If the simulation fails.
    """
    step_size = simulator.step_size
    steps = max(1, round(duration / step_size))
    records: list[list[tuple[float, ...]]] = []
    times: list[float] = []
    contacts: list[int] = []
    refused: dict[str, int] = {}
    for step in range(steps):
        if drive is not None:
            drive(simulator)
            # Hands what was written to the world, as the step itself would.
            simulator.advance_to(simulator.time)
        if cases and step % every == 0:
            tables = prepare_problem(simulator.session.world, step_size)
            problem = read_problem(tables)
            times.append(simulator.time)
            contacts.append(problem.ncontact)
            records.append(_compare(problem, tables, cases, refused))
        simulator.step()
        if observe is not None:
            observe(simulator)
        if progress is not None:
            progress((step + 1) / steps)
    table = np.array(records, dtype=float).reshape(len(records), len(cases), len(_QUANTITIES))
    found = {"time": np.array(times), "contacts": np.array(contacts)}
    return found | {name: table[:, :, i].copy() for i, name in enumerate(_QUANTITIES)}


_QUANTITIES = (
    "iterations",
    "wall_time",
    "cpu_time",
    "momentum_error",
    "complementarity_error",
    "distance",
    "converged",
)


def _compare(
    problem: ReferenceProblem,
    tables: Tables,
    cases: Mapping[str, Case],
    refused: dict[str, int],
) -> list[tuple[float, ...]]:
    """One row of numbers per case; ``refused`` has the least number of contacts beyond a licence.

    The velocities are as many in all steps, so the contacts make the size.
    """
    solutions: list[Solution | None] = []
    for name, options in cases.values():
        if problem.ncontact >= refused.get(name, problem.ncontact + 1):
            solutions.append(None)
            continue
        try:
            solutions.append(SOLVERS[name](problem, tables, **options))
        except SizeLimitError:
            refused[name] = problem.ncontact
            solutions.append(None)
    best = next((one for one in solutions if one is not None and one.solver == "SAP"), None)
    if best is None:
        best = solve_newton(problem, tables)
    change = _norm(problem, best.velocity - problem.free_velocity)
    size = max(_norm(problem, best.velocity), change)
    out = []
    for one in solutions:
        if one is None:
            out.append((np.nan,) * len(_QUANTITIES))
            continue
        errors = errors_of(problem, one)
        distance = _norm(problem, one.velocity - best.velocity)
        out.append(
            (
                one.iterations,
                one.wall_time,
                one.cpu_time,
                errors.momentum,
                errors.complementarity,
                distance / size if size > 0.0 else distance,
                float(one.status == Status.SUCCESS),
            )
        )
    return out


def _norm(problem: ReferenceProblem, velocity: np.ndarray) -> float:
    return float(np.sqrt(max(velocity @ (problem.matrix @ velocity), 0.0)))
