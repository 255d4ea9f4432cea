"""What a simulator needs of an integrator: a method, a stepping, and their options.

An *integrator* is what users name: a frozen set of options (a preset), which makes a method and a
stepping for a simulation. This module and the presets import no compiled code, so that the command
line can list them quickly; methods are imported when they are made.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from asperity.arguments import is_count, is_flag, is_number
from asperity.errors import ArgumentError
from asperity.integrators.steppings.stepping import ErrorControl, ErrorNorm, Fixed, Stepping

if TYPE_CHECKING:
    from asperity.compiled import Kernel
    from asperity.integrators.methods.method import Method

__all__ = [
    "PRESSURE_FIELDS",
    "Integrator",
    "SteppedIntegrator",
    "error_control",
    "refuse_unused",
    "require_choices",
    "require_count",
    "require_error_control",
    "require_non_negative",
    "require_positive",
]


def require_positive(name: str, value: float) -> None:
    """Refuse an option that is not a positive number."""
    if not (is_number(value) and math.isfinite(value) and value > 0):
        raise ArgumentError(f"{name} must be a positive, finite number, got {value!r}.")


def require_count(name: str, value: float) -> None:
    """Refuse an option that is not a positive whole number."""
    if not (is_count(value) and value > 0):
        raise ArgumentError(f"{name} must be a positive whole number, got {value!r}.")


@functools.cache
def _kinds(options: Any) -> dict[str, Any]:
    """Types of a dataclass's fields."""
    hints = get_type_hints(options)
    return {one.name: hints[one.name] for one in fields(options)}


def require_choices(options: Any) -> None:
    """Refuse what is neither True nor False where a field is a flag, or none of a field's words.

    ``"no"`` would count as true.
    """
    owner: Any = type(options)
    for name, kind in _kinds(owner).items():
        value = getattr(options, name)
        if kind is bool and not is_flag(value):
            raise ArgumentError(f"{name} must be True or False, got {value!r}.")
        if kind == (bool | None) and value is not None and not is_flag(value):
            raise ArgumentError(f"{name} must be True, False or None, got {value!r}.")
        if get_origin(kind) is Literal and value not in (known := get_args(kind)):
            raise ArgumentError(
                f"{name} {value!r} is unknown; use one of {', '.join(sorted(known))}."
            )


def refuse_unused(options: Any, names: Iterable[str], why: str) -> None:
    """Refuse options that were set and would have no effect; ``why`` ends the sentence."""
    for name in names:
        if getattr(options, name) != getattr(type(options), name):
            raise ArgumentError(f"{name} {why}")


def require_non_negative(name: str, value: float) -> None:
    """Refuse an option that is negative or not finite."""
    if not (is_number(value) and math.isfinite(value) and value >= 0):
        raise ArgumentError(f"{name} must be non-negative and finite, got {value!r}.")


def require_error_control(options: Any) -> None:
    """Refuse step sizes and weights that error control cannot do with."""
    require_positive("max_step", options.max_step)
    require_positive("min_step", options.min_step)
    if options.min_step >= options.max_step:
        raise ArgumentError(
            f"min_step {options.min_step} must be below max_step {options.max_step}."
        )
    require_non_negative("velocity_weight", options.velocity_weight)


def error_control(options: Any, resolve_impacts: bool) -> ErrorControl:
    """The error control that a preset's options ask for."""
    return ErrorControl(
        accuracy=options.accuracy,
        max_step=options.max_step,
        min_step=options.min_step,
        error_norm=options.error_norm,
        velocity_weight=options.velocity_weight,
        resolve_impacts=resolve_impacts,
    )


PRESSURE_FIELDS = frozenset({"surface", "hydroelastic_modulus", "resolution"})
"""Fields of `ContactParameters` with which every geom gets a field of pressure."""


class Integrator(abc.ABC):
    """Options of a method and a stepping."""

    contact_parameters: ClassVar[frozenset[str]] = frozenset(
        {"stiffness", "dissipation", "friction", "dynamic_friction", "stiction_tolerance"}
        | PRESSURE_FIELDS
    )
    """Fields of `ContactParameters` that play a part, here those of Hunt–Crossley contact."""

    judged_contact_parameters: ClassVar[frozenset[str]] = frozenset()
    """Fields that play none, and that the method says so of where it matters."""

    default_stiction_tolerance: ClassVar[float | None] = None
    """Stiction tolerance [m/s] of contacts for which nobody gives one; None: that of all."""

    default_joint_stiction_tolerance: ClassVar[float] = 1e-5
    """That of dry friction in joints and tendons [m/s or rad/s].

    Beside 1e-3 it takes at most 4 % more iterations on robots with dry friction: hands, Talos and
    a kitchen, with all convex methods.
    """

    takes_every_actuator: ClassVar[bool] = False
    """Whether actuators may act on bodies, by what these touch, and have inner states."""

    takes_every_friction: ClassVar[bool] = False
    """Whether contacts have torsion, rolling, and different friction by direction."""

    takes_sleep: ClassVar[bool] = False
    """Whether islands at rest may keep their solution."""

    starts_asleep: ClassVar[bool] = False
    """Whether bodies may start asleep, as ``sleep="init"`` asks, without ever falling asleep."""

    @property
    def no_flexes(self) -> str | None:
        """Name of what does not simulate deformable bodies; None if it does."""
        return type(self).__name__

    time_step: float | None
    """The fixed step [s], or None under error control."""

    @property
    @abc.abstractmethod
    def stepping(self) -> Stepping:
        """Who chooses the steps."""

    @abc.abstractmethod
    def make_method(self) -> Method:
        """A method for one simulation, with memory of its own."""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """What the integrator needs compiled; what takes longest to compile comes first."""
        return tuple(dict.fromkeys((*self.make_method().kernels, *self.stepping.kernels)))


@dataclass(frozen=True, kw_only=True)
class SteppedIntegrator(Integrator):
    """A method of any kind, in fixed steps or under error control.

    A method without an error estimate of its own is doubled under error control: every step is done
    whole and in two halves.

    Parameters
    ----------
    time_step : float, optional
        Fixed step size [s]. Give either this or ``accuracy``.
    accuracy : float, optional
        Largest estimated error of a step in any coordinate: metres, radians.
    max_step : float
        Largest step under error control [s]; 0.1 as in CENIC. The first attempt is a tenth of it.
    min_step : float
        Smallest step under error control [s]. A step of this size that is still refused, as forces
        that grow without bound will have it, ends the simulation with ``Status.STEP_TOO_SMALL``.
    error_norm : {"position", "state"}
        What the accuracy bounds: positions, as in CENIC, or velocities as well, in m/s and rad/s,
        as is usual with general-purpose integrators.
    velocity_weight : float
        With w > 0, errors of velocity count as w·δt times their size, or a quarter of that.
    """

    time_step: float | None = None
    accuracy: float | None = None
    max_step: float = 0.1
    min_step: float = 1e-9
    error_norm: ErrorNorm = "position"
    velocity_weight: float = 0.0

    default_time_step: ClassVar[float | None] = None
    """The step where neither ``time_step`` nor ``accuracy`` is given; None for error control."""
    default_accuracy: ClassVar[float] = 1e-3

    divides_steps: ClassVar[bool] = False
    """Whether fixed steps are divided where the method does not converge."""

    def __post_init__(self) -> None:
        require_choices(self)
        if self.time_step is not None and self.accuracy is not None:
            raise ArgumentError(
                "time_step asks for fixed steps and accuracy for error control; give one of them."
            )
        if self.time_step is None and self.accuracy is None:
            if self.default_time_step is None:
                object.__setattr__(self, "accuracy", self.default_accuracy)
            else:
                object.__setattr__(self, "time_step", self.default_time_step)
        for name in ("time_step", "accuracy"):
            if getattr(self, name) is not None:
                require_positive(name, getattr(self, name))
        if self.time_step is not None:
            refuse_unused(
                self,
                ("max_step", "min_step", "error_norm", "velocity_weight"),
                f"belongs to error control, and steps of {self.time_step} s are fixed; omit it, or "
                "give an accuracy instead of a time_step.",
            )
        require_error_control(self)

    @property
    def sees_impacts(self) -> bool:
        """Whether error control is to resolve impacts, and fixed steps to add rebounds.

        Only methods can that keep the impulses of contacts of Hunt and Crossley
        (`asperity.integrators.steppings.impacts`).
        """
        return False

    @abc.abstractmethod
    def make_base_method(self) -> Method:
        """The method that the stepping repeats, or doubles if it has no error estimate."""

    @property
    def stepping(self) -> Stepping:
        if self.time_step is not None:
            return Fixed(self.time_step, self.sees_impacts)
        return error_control(self, self.sees_impacts)

    def make_method(self) -> Method:
        from asperity.integrators.methods.step_doubling import StepDoubling
        from asperity.integrators.methods.substeps import Substeps

        method = self.make_base_method()
        if self.time_step is None:
            return method if method.estimates_error else StepDoubling(method)
        return Substeps(method) if self.divides_steps else method
