"""What every method costs on a model, and how precise it is: trials and a recommendation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco

from asperity.errors import ArgumentError, SimulationError, Status
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.simulator import Recorder, Simulator, Statistics
from asperity.study.local_error import LocalErrors, States, local_errors
from asperity.study.methods import Method, study_methods

__all__ = ["Study", "Trial", "work_precision"]

_REPEATS = 3
_ACCURACIES = (1e-1, 1e-2, 1e-3, 1e-4)
_TIME_STEPS = (1e-2, 3e-3, 1e-3, 3e-4)  # [s]


@dataclass(frozen=True)
class Trial:
    """One method with one accuracy or time step.

    Parameters
    ----------
    method : str
    parameter : float
        Accuracy, or time step [s].
    expression : str
        The integrator as a user writes it.
    status : Status
        How its simulation ended.
    stats : Statistics
        Work of the simulation; wall time is the least of several runs [s].
    errors : LocalErrors or None
        None if the simulation failed.
    duration : float
        Simulated time [s].
    """

    method: str
    parameter: float
    expression: str
    status: Status
    stats: Statistics
    errors: LocalErrors | None
    duration: float

    @property
    def cost(self) -> float:
        """Wall time per simulated time."""
        return self.stats.wall_time / self.duration


@dataclass(frozen=True)
class Study:
    """All trials on one model.

    Parameters
    ----------
    trials : tuple of Trial
    target : float
        Position error [m, rad] per window that is good enough.
    window : float
        Length of the windows [s].
    reference_errors : dict of str to LocalErrors
        By method, how far its reference is from one of twice the step: what errors are known to.
    """

    trials: tuple[Trial, ...]
    target: float
    window: float
    reference_errors: dict[str, LocalErrors]

    @property
    def recommendation(self) -> str:
        """A sentence on which method and parameter to choose."""
        measured = [trial for trial in self.trials if trial.errors is not None]
        if not measured:
            return "Every simulation failed; try smaller time steps, or look at the model."
        what = f"{self.target:g} (m, rad) within {1e3 * self.window:g} ms"
        good = [t for t in measured if t.errors is not None and t.errors.position <= self.target]
        if not good:
            best = min(measured, key=_position)
            return (
                f"Nothing that was tried stays below an error of {what}; the most precise is "
                f"{best.expression} with {_position(best):.1e}. Try tighter accuracies."
            )
        good.sort(key=lambda trial: trial.cost)
        best = good[0]
        sentence = (
            f"For an error below {what}, choose {best.expression}: {_position(best):.1e}, at "
            f"{best.cost:.2g} s of wall time per simulated second"
        )
        others = [trial for trial in good if trial.method != best.method]
        if others:
            ratio = others[0].cost / best.cost
            sentence += f"; {others[0].expression} takes {ratio:.1f} times as long"
        return sentence + "."


def _position(trial: Trial) -> float:
    return math.inf if trial.errors is None else trial.errors.position


def work_precision(
    model: mujoco.MjModel,
    *,
    methods: Sequence[str] = ("cenic", "icf"),
    accuracies: Sequence[float] | None = None,
    time_steps: Sequence[float] | None = None,
    duration: float = 2.0,
    keyframe: int | str | None = None,
    window: float = 0.025,
    windows: int = 40,
    reference_step: float = 1e-5,
    target: float = 1e-3,
    contact: ContactParameters | None = None,
    progress: Callable[[float], None] | None = None,
) -> Study:
    """Compare methods on a model, without control inputs.

    Parameters
    ----------
    model : mujoco.MjModel
    methods : sequence of str
        Names from `study_methods`.
    accuracies, time_steps : sequence of float, optional
        What is tried of methods with error control, and with fixed steps [s]. By default 1e-1 to
        1e-4, and 1e-2 to 3e-4 s.
    duration : float
        Simulated time [s].
    keyframe : int or str, optional
        Where to start.
    window, windows
        Least length [s] and largest number of windows of the error, see `local_errors`.
    reference_step : float
        Time step [s] of the references, smaller than the window and all time steps.
    target : float
        Position error [m, rad] per window that the recommendation asks for.
    contact : ContactParameters, optional
    progress : callable, optional
        Called with the share of the work that is done; what it raises ends the study.

    Returns
    -------
    Study

    Raises
    ------
    ArgumentError
        If a method is unknown or a number is not positive and finite.
    SimulationError
        If a reference fails.
    """
    known_methods = study_methods()
    for name in methods:
        if name not in known_methods:
            raise ArgumentError(
                f"method {name!r} is unknown; there are {', '.join(known_methods)}."
            )
    numbers = {"duration": duration, "window": window, "reference_step": reference_step}
    for name, value in (*numbers.items(), ("target", target)):
        if not (math.isfinite(value) and value > 0):
            raise ArgumentError(f"{name} must be positive and finite, got {value}.")
    if windows < 1:
        raise ArgumentError(f"windows must be at least 1, got {windows}.")
    controlled = {name: known_methods[name].error_controlled for name in methods}
    for option, given, kind in (
        ("accuracies", accuracies, True),
        ("time_steps", time_steps, False),
    ):
        if given is not None and kind not in controlled.values():
            raise ArgumentError(
                f"{option} has no effect on {', '.join(methods)}; omit it, or add a method with "
                f"{'error control' if kind else 'fixed steps'}."
            )
    accuracies = _ACCURACIES if accuracies is None else accuracies
    time_steps = _TIME_STEPS if time_steps is None else time_steps
    plan = [
        (name, float(parameter))
        for name, is_controlled in controlled.items()
        for parameter in (accuracies if is_controlled else time_steps)
    ]
    if not plan:
        raise ArgumentError("there is nothing to try: name methods, accuracies and time steps.")
    steps = [parameter for name, parameter in plan if not controlled[name]]
    if reference_step >= min([window, *steps]):
        raise ArgumentError(
            f"reference_step must be smaller than the window of {window} s and every time step, "
            f"got {reference_step}."
        )
    report = progress or (lambda share: None)
    references: dict[Callable[[float], object], Simulator] = {}
    known: dict[Callable[[float], object], LocalErrors] = {}
    trials = []
    for number, (name, parameter) in enumerate(plan):
        method = known_methods[name]
        begin, share = number / len(plan), 1.0 / len(plan)
        history, status, stats = _simulate(model, method, parameter, duration, keyframe, contact)
        report(begin + 0.2 * share)
        errors = None
        if status == Status.SUCCESS:
            made = method.reference
            if made not in references:
                references[made] = Simulator(
                    model, integrator=made(reference_step), contact=contact
                )
            errors = local_errors(
                history,
                references[made],
                window=window,
                most=windows,
                progress=_part(report, begin, share),
            )
            if made not in known:
                known[made] = _reference_error(
                    model, references[made], method, history, reference_step, window, contact
                )
        expression = method.expression.format(parameter)
        trials.append(Trial(name, parameter, expression, status, stats, errors, duration))
    floors = {
        n: known[known_methods[n].reference] for n in methods if known_methods[n].reference in known
    }
    return Study(tuple(trials), target, window, floors)


def _part(report: Callable[[float], None], begin: float, share: float) -> Callable[[float], None]:
    return lambda done: report(begin + share * (0.2 + 0.8 * done))


def _simulate(
    model: mujoco.MjModel,
    method: Method,
    parameter: float,
    duration: float,
    keyframe: int | str | None,
    contact: ContactParameters | None,
) -> tuple[States, Status, Statistics]:
    """Simulate once for the record, and again for the least wall time."""
    simulator = Recorder(model, integrator=method.make(parameter), contact=contact)
    # The first call of a loop is not the simulation's work.
    simulator.warm_up()
    best: Statistics | None = None
    for _ in range(_REPEATS):
        simulator.reset(keyframe)
        simulator.start_record()
        outcome = simulator.advance_to(simulator.time + duration, on_failure="return")
        if best is None or outcome.stats.wall_time < best.wall_time:
            best = outcome.stats
        if not outcome.success:
            break
    assert best is not None
    return _states(simulator), outcome.status, best


def _states(simulator: Recorder) -> States:
    return States(*simulator.record(), simulator.activations(), simulator.plasticity())


def _reference_error(
    model: mujoco.MjModel,
    reference: Simulator,
    method: Method,
    history: States,
    step: float,
    window: float,
    contact: ContactParameters | None,
) -> LocalErrors:
    """How far the reference is from one of twice its step, in a few windows."""
    coarse = Recorder(model, integrator=method.reference(2.0 * step), contact=contact)
    errors = []
    for begin in _spread(len(history.time) - 1, 4):
        history.put(begin, coarse.data)
        coarse.advance_to(coarse.time)
        coarse.start_record()
        if not coarse.advance_to(coarse.time + window, on_failure="return").success:
            raise SimulationError(
                "the reference failed at twice its step; choose a smaller reference_step."
            )
        ends = _states(coarse).ends()
        errors.append(local_errors(ends, reference, window=0.5 * window))
    return LocalErrors(
        math.sqrt(sum(e.position**2 for e in errors) / len(errors)),
        math.sqrt(sum(e.velocity**2 for e in errors) / len(errors)),
        len(errors),
    )


def _spread(count: int, most: int) -> list[int]:
    """So many indices below ``count``, evenly spread."""
    return sorted({int((k + 0.5) * count / most) for k in range(most)})
