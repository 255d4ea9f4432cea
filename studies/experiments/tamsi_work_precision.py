"""Figure 5 of the TAMSI paper: what precision of implicit Euler costs on a box with friction.

The box moves on one slide at a fixed depth in the ground, so that the normal force is its weight
and the dynamics are m v̇ = f(t) − μ̃(v) W sgn v (IV-A). The reference of the localised errors is
that equation, integrated by another method than those that are measured.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numba
import numpy as np

from asperity.errors import Status
from asperity.integrators import ImplicitEuler
from asperity.simulator.recorder import Recorder
from asperity.study.local_error import windows_of
from asperity.systems import FunctionSystem
from studies.experiments.form import FIGURE_ONLY, Measured, Runs, about, at_most, finding, slope
from studies.experiments.outcome import Curve, Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import part, tracked
from studies.experiments.tamsi_box import AMPLITUDE, FREQUENCY, MASS, STICTION_TOLERANCE, WEIGHT

__all__ = [
    "EXPERIMENTS",
    "Windows",
    "errors_of",
    "first_order_range",
    "reference_velocities",
    "simulate",
    "windows",
]

DURATION = 2.0  # [s], two periods
WINDOW = 0.025  # [s]
REFERENCE_STEP = 2e-6  # [s]
FULL_REFERENCE_STEP = 1e-7  # the paper's

STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
FULL_STEPS = (*STEPS, 1e-5, 3e-6, 1e-6)
ACCURACIES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
FULL_ACCURACIES = (*ACCURACIES, 3e-6, 1e-6)

_STIFFNESS = 1e5  # [N/m]
_RADIUS = 0.05  # [m]

_MODEL = f"""
<mujoco model='box on the ground'>
  <custom><text name='asperity' data='stiffness={_STIFFNESS:g} dissipation=0 friction=1
    stiction_tolerance={STICTION_TOLERANCE:g}'/></custom>
  <worldbody>
    <geom type='plane' size='10 10 0.1'/>
    <body pos='0 0 {_RADIUS - WEIGHT / _STIFFNESS!r}'><joint name='x' type='slide' axis='1 0 0'/>
      <geom type='sphere' size='{_RADIUS}' mass='{MASS}'/></body>
  </worldbody>
</mujoco>
"""

NEWTON = {"full": "full Newton", "quasi": "quasi Newton"}


def _acceleration(time: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    force = AMPLITUDE * np.cos(2.0 * np.pi * FREQUENCY * time)
    return (force - WEIGHT * np.clip(velocity / STICTION_TOLERANCE, -1.0, 1.0)) / MASS


@numba.njit
def _force(z: Any, x: Any) -> np.ndarray:
    return np.array([AMPLITUDE * math.cos(2.0 * math.pi * FREQUENCY * x.time)])


class Windows(NamedTuple):
    """Windows of a simulation, n of them."""

    begin: np.ndarray
    """[s], shape (n,)."""
    length: np.ndarray
    """[s], shape (n,)."""
    before: np.ndarray
    """Velocities at their beginnings [m/s], shape (n,)."""
    after: np.ndarray
    """Velocities at their ends [m/s], shape (n,)."""


def reference_velocities(
    windows: Windows, step: float, progress: Progress = lambda share: None
) -> np.ndarray:
    """Velocities at the ends of windows by Kutta's third-order rule, shape (n,).

    Parameters
    ----------
    windows : Windows
    step : float
        Largest step [s].
    progress : callable, optional
    """
    count = math.ceil(windows.length.max() / step)
    h = windows.length / count
    time = windows.begin.copy()
    velocity = windows.before.copy()
    for i in range(count):
        k_1 = _acceleration(time, velocity)
        k_2 = _acceleration(time + 0.5 * h, velocity + 0.5 * h * k_1)
        k_3 = _acceleration(time + h, velocity + h * (2.0 * k_2 - k_1))
        velocity += h * (k_1 + 4.0 * k_2 + k_3) / 6.0
        time = windows.begin + (i + 1) * h
        if i % 1000 == 0:
            progress(i / count)
    return velocity


def simulate(
    integrator: ImplicitEuler, duration: float = DURATION
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Times [s], velocities [m/s] and the number of evaluations of the dynamics, or None.

    None is for a simulation that fails.
    """
    force = FunctionSystem(_force, joints=["x"])
    simulator = Recorder(_MODEL, integrator=integrator, systems=[force])
    simulator.start_record()
    report = simulator.advance_to(duration, on_failure="return")
    if report.status != Status.SUCCESS:
        return None
    time, _, qvel = simulator.record()
    return time, qvel[:, 0], report.stats.evaluations


def windows(time: np.ndarray, velocity: np.ndarray) -> Windows:
    """Windows of a simulation that begin and end with its steps."""
    begin, end = np.array(windows_of(time, WINDOW, len(time))).T
    return Windows(time[begin], time[end] - time[begin], velocity[begin], velocity[end])


def errors_of(
    runs: list[Windows], step: float, progress: Progress = lambda share: None
) -> list[float]:
    """Localised errors e_v [m/s] of several simulations, by one reference for all."""
    together = Windows(*(np.concatenate(parts) for parts in zip(*runs, strict=True)))
    square = (together.after - reference_velocities(together, step, progress)) ** 2
    ends = np.cumsum([len(run.begin) for run in runs])
    return [math.sqrt(np.mean(part)) for part in np.split(square, ends[:-1])]


def _integrators(newton: str, controlled: bool, aware: bool, full: bool) -> list[ImplicitEuler]:
    options: dict[str, Any] = {
        "newton": newton,
        "transition_aware": aware,
        "friction_law": "linear",
    }
    if controlled:
        accuracies = FULL_ACCURACIES if full else ACCURACIES
        return [
            ImplicitEuler(accuracy=accuracy, error_norm="state", **options)
            for accuracy in accuracies
        ]
    steps = FULL_STEPS if full else STEPS
    return [ImplicitEuler(time_step=step, **options) for step in steps]


def first_order_range(errors: np.ndarray, evaluations: np.ndarray) -> float:
    """The largest error [m/s] up to which evaluations are at most twice those of first order.

    First order is that of the errors up to four stiction tolerances: a constant product of both.
    """
    product = errors * evaluations
    constant = np.median(product[errors <= 4.0 * STICTION_TOLERANCE])
    order = np.argsort(errors)
    beyond = np.flatnonzero((product[order] > 2.0 * constant) & (errors[order] > 1e-4))
    if not len(beyond):
        return float(errors.max())
    first = beyond[0]
    x = np.log(errors[order][first - 1 : first + 1])
    y = np.log(product[order][first - 1 : first + 1])
    return float(np.exp(np.interp(np.log(2.0 * constant), y, x)))


Kind = tuple[str, bool, bool]
_KINDS: list[Kind] = list(itertools.product(NEWTON, (False, True), (False, True)))
"""Newton's method, error control, TALS."""


def _work_and_precision(
    full: bool, progress: Progress
) -> tuple[dict[Kind, tuple[np.ndarray, np.ndarray]], int]:
    """Errors and evaluations of all simulations, by one reference, and how many fail."""
    counts: dict[Kind, list[float]] = {kind: [] for kind in _KINDS}
    runs: list[Windows] = []
    failures = 0
    for kind, own in tracked(_KINDS, part(progress, 0.0, 0.7)):
        for integrator, _ in tracked(_integrators(*kind, full), own):
            outcome = simulate(integrator)
            if outcome is None:
                failures += 1
                continue
            time, velocity, evaluations = outcome
            runs.append(windows(time, velocity))
            counts[kind].append(evaluations)
    step = FULL_REFERENCE_STEP if full else REFERENCE_STEP
    errors = iter(errors_of(runs, step, part(progress, 0.7, 1.0)))
    return {
        kind: (np.array([next(errors) for _ in own]), np.array(own, dtype=float))
        for kind, own in counts.items()
    }, failures


def _measure(runs: Runs) -> Measured:
    points, failures = runs.one
    yield finding("simulations that fail", failures, paper=at_most("none", 0))
    for newton, controlled in itertools.product(NEWTON, (False, True)):
        plain, cut = points[newton, controlled, False], points[newton, controlled, True]
        name = NEWTON[newton] + (", error control" if controlled else ", fixed steps")
        small = cut[0] <= 10.0 * STICTION_TOLERANCE
        exponent = slope(cut[0][small], cut[1][small])
        quantity = f"{name}, TALS: slope of evaluations over error"
        yield finding(quantity, exponent, "{:.2f}", about("-1", -1.0, 0.15))
        reach = first_order_range(*cut) / first_order_range(*plain)
        most = at_most("up to 10", 10.0) if newton == "full" else at_most("up to 3", 3.0)
        quantity = f"{name}: range of first order, with TALS over without"
        yield finding(quantity, reach, "{:.1f}", most)
        quantity = f"{name}: evaluations at the loosest setting, without TALS over with"
        loosest = plain[1][0] / cut[1][0], cut[0][0]
        yield finding(quantity, loosest, "{:.1f} at {:.2g} m/s", FIGURE_ONLY)
    axes = "localised error of velocity [m/s]", "evaluations of the dynamics"
    for newton, title in NEWTON.items():
        curves = []
        for controlled, aware in itertools.product((False, True), repeat=2):
            x, y = points[newton, controlled, aware]
            label = ("error control" if controlled else "fixed steps") + (", TALS" if aware else "")
            style = ("s" if controlled else "o") + ("-" if aware else "--")
            curves.append(Curve(label, x, y, style))
        yield Panel(*axes, curves, title, log_x=True, log_y=True)


EXPERIMENTS = (
    Experiment(
        "tamsi-figure-5",
        "TAMSI, figure 5",
        "implicit Euler on a box that sticks and slips",
        _work_and_precision,
        lambda full: [{"full": full}],
        _measure,
    ),
)
