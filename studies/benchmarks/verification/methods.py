"""The methods of the page, by the names that its tables and the command line use.

``NAME@NUMBER``: the number is an accuracy for methods under error control and a time step [s] for
the others: ``cenic@1e-3``, ``icf@1e-2``, ``drake:sap@1e-3``. Names without a number have fixed
settings: ``mujoco``. ``NAME+fields@NUMBER`` is one of ours with pressure fields instead of contact
in points.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from studies.benchmarks.verification.case import FIELDS, Case, NotApplicable, Simulate, World
from studies.peers.limits import Deadline, OutOfTime, Stopped

__all__ = ["COLUMNS", "FIELDS", "OWN", "PEERS", "QUICK", "evaluate", "label", "resolve", "warm_up"]

COLUMNS: dict[str, tuple[str, ...]] = {
    "CENIC": ("cenic@1e-2", "cenic@1e-3", "cenic@1e-4", "trapezoid@1e-3", "trapezoid@1e-4"),
    "Fixed steps": (
        "icf@1e-2",
        "icf@1e-3",
        "sap@1e-2",
        "sap@1e-3",
        "tamsi@1e-2",
        "tamsi@1e-3",
        "midas@1e-2",
    ),
    "Other methods under error control": (
        "tamsi-controlled@1e-3",
        "implicit-euler@1e-3",
        "sdirk2@1e-3",
        "rosenbrock2@1e-3",
        "runge-kutta3@1e-3",
    ),
    "Pressure fields": (
        "cenic+fields@1e-2",
        "cenic+fields@1e-3",
        "cenic+fields@1e-4",
        "icf+fields@1e-2",
        "icf+fields@1e-3",
        "sap+fields@1e-3",
        "tamsi+fields@1e-3",
    ),
    "Other engines": (
        "mujoco",
        "mujoco:careful",
        "mujoco:speculative",
        "mujoco:discrete",
        "rapier@1e-3",
        "motrixsim@1e-3",
        "drake:cenic@1e-3",
        "drake:cenic@1e-4",
        "drake:sap@1e-2",
        "drake:sap@1e-3",
    ),
}
"""Tables of the page and their columns."""

PEERS = tuple(name for name in COLUMNS["Other engines"] if not name.startswith("mujoco"))
OWN = tuple(name for names in COLUMNS.values() for name in names if name not in PEERS)
QUICK = ("cenic@1e-3", "icf@1e-3", "sap@1e-3", "tamsi@1e-3", "mujoco")

Make = Callable[[Deadline], Simulate]

_CONTROLLED = {"cenic", "trapezoid", "tamsi-controlled", "drake:cenic"} | {
    "implicit-euler",
    "sdirk2",
    "rosenbrock2",
    "runge-kutta3",
}


@dataclass(frozen=True)
class Method:
    """A column: several ways to simulate, of which the one nearest to the truth is shown."""

    name: str
    ways: tuple[Make, ...]


def label(name: str) -> str:
    """The name as a table's head shows it."""
    title, _, number = name.partition("@")
    if not number:
        return title
    if title.removesuffix(FIELDS) in _CONTROLLED:
        return f"{title} {number}"
    return f"{title} {1e3 * float(number):g} ms"


def _asperity(name: str, number: float) -> Make | None:
    import asperity as asp
    from studies.peers.asperity import AsperitySimulate

    makers = {
        "cenic": lambda: asp.Cenic(accuracy=number),
        "trapezoid": lambda: asp.Cenic(accuracy=number, error_estimate="trapezoid"),
        "icf": lambda: asp.Icf(time_step=number),
        "sap": lambda: asp.Sap(time_step=number),
        "tamsi": lambda: asp.Tamsi(time_step=number),
        "tamsi-controlled": lambda: asp.Tamsi(accuracy=number),
        "midas": lambda: asp.Midas(time_step=number, overlaps="separate"),
        "implicit-euler": lambda: asp.ImplicitEuler(accuracy=number, error_norm="state"),
        "sdirk2": lambda: asp.Sdirk2(accuracy=number, error_norm="state"),
        "rosenbrock2": lambda: asp.Rosenbrock2(accuracy=number, error_norm="state"),
        "runge-kutta3": lambda: asp.RungeKutta3(accuracy=number, error_norm="state"),
    }
    maker = makers.get(name.removesuffix(FIELDS))
    if maker is None:
        return None
    integrator = maker()
    fields = name.endswith(FIELDS)
    return lambda deadline: AsperitySimulate(integrator, deadline, fields=fields)


def resolve(name: str) -> Method:
    """The method of a name.

    Raises
    ------
    ValueError
        If no method is called so.
    ImportError
        If its engine is not installed.
    """
    title, _, text = name.partition("@")
    try:
        number = float(text) if text else 0.0
    except ValueError:
        raise ValueError(f"method {name!r}: {text!r} is not a number") from None
    if title.partition(":")[0] == "mujoco":
        from studies.peers import mujoco as engine

        if title in engine.SETTINGS:
            settings = engine.SETTINGS[title]
            return Method(name, tuple(partial(engine.MujocoSimulate, s) for s in settings))
    if number > 0.0:
        if title == "rapier":
            from studies.peers.rapier import RapierSimulate

            return Method(name, (partial(RapierSimulate, number),))
        if title == "motrixsim":
            from studies.peers.motrixsim import MotrixSimulate

            return Method(name, (partial(MotrixSimulate, number),))
        if title in ("drake:cenic", "drake:sap"):
            from studies.peers.drake import DrakeSimulate

            if title == "drake:cenic":
                return Method(name, (lambda d: DrakeSimulate(accuracy=number, deadline=d),))
            return Method(name, (lambda d: DrakeSimulate(time_step=number, deadline=d),))
        make = _asperity(title, number)
        if make is not None:
            return Method(name, (make,))
    raise ValueError(
        f"no method is called {name!r}; there are {', '.join((*OWN, *PEERS))}, "
        "and the same with other numbers"
    )


def warm_up(method: Method) -> None:
    """Compile what a method needs: a box that falls on a floor and slides."""
    world = World(
        "<geom type='plane' size='9 9 1'/><body pos='0 0 .11'><freejoint/>"
        "<geom type='box' size='.1 .1 .1' mass='1'/></body>"
    )
    for make in method.ways:
        with contextlib.suppress(NotApplicable, Stopped, OutOfTime):
            make(Deadline(120.0))(world, 0.2, qvel=[1, 0, 0, 0, 0, 0])


def evaluate(case: Case, method: Method, limit: float) -> tuple[float | None, str]:
    """The number that a method finds for a case, and ``ok`` or why there is none.

    ``never`` is what should have happened and has not, which is as wrong as a number can be.

    ``limit`` is the wall time [s] that each way may take.
    """
    values, reasons = [], []
    for make in method.ways:
        try:
            value = float(case.measure(make(Deadline(limit))))
            if math.isfinite(value):
                values.append(value)
            else:
                reasons.append("never")
        except OutOfTime:
            reasons.append(f"not finished in {limit:g} s")
        except NotApplicable as refusal:
            reasons.append(f"cannot: {refusal}")
        except Stopped as stop:
            reasons.append(f"stopped: {stop}")
    if values:
        return min(values, key=lambda value: abs(value - case.truth_for(method.name))), "ok"
    return None, reasons[0]
