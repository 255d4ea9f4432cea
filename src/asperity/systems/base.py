"""External systems as users write them: controllers and force elements with or without a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import mujoco
import numpy as np

from asperity.arguments import as_array, as_names
from asperity.errors import ArgumentError

if TYPE_CHECKING:
    from asperity.compiled import EntryPoint, Table

__all__ = ["ExternalSystem", "FunctionSystem", "SystemInput"]


_OPTIONS = (
    "name",
    "joints",
    "actuators",
    "initial_state",
    "effort_limit",
    "sample_time",
    "implicit",
    "coupled",
    "linear",
    "error_weight",
)


class SystemInput(NamedTuple):
    """What a system sees of the simulation, ``x`` of its functions.

    The arrays are read-only and valid during the call.
    """

    time: float
    """[s]."""
    qpos: np.ndarray
    """Positions [m, rad, quaternions], shape (nq,)."""
    qvel: np.ndarray
    """Velocities [m/s, rad/s], shape (nv,)."""
    parameters: np.ndarray
    """The system's own `ExternalSystem.parameters`."""


class ExternalSystem:
    """A controller or force element beside the multibody system (CENIC III-C, V-C).

    Its state z evolves as ``ż = derivative(z, x)``, and its efforts are ``output(z, x)``. `Cenic`,
    `Icf`, `Sap` and `Tamsi` linearise both by forward differences once at the beginning of a step.
    They integrate them implicitly with the multibody system, so a stiff controller shortens no
    steps. Classical integrators evaluate both with the rest of the dynamics.

    Subclasses define ``output``, ``derivative`` if there is a state, and attributes that differ
    from those below. Both functions are also called at trial states. They must depend only on their
    arguments and on attributes that change between calls of `Simulator.advance_to` or in a control
    callback. An exception in them ends the advance with the state of the last accepted step; values
    that are not finite make the step fail.

    Attributes
    ----------
    name : str
        For messages; the class's name by default.
    joints : sequence of str
        Joints on which the system acts by generalized forces [N, Nm], the first of its outputs: one
        per dof.
    actuators : sequence of str
        Actuators that the system commands, the rest of its outputs: their forces [N, Nm] replace
        those that follow from ``ctrl``.
    initial_state : sequence of float
        z at the beginning, and after `Simulator.reset`.
    effort_limit : None, float or sequence
        Largest size of the outputs, one for all or one for each, or pairs (least, largest). They
        hold exactly, and so do the limits of the model (``forcerange``, ``actuatorfrcrange``). Do
        not apply limits in ``output``: the integrator would not see the gain beyond them.
    sample_time : float or None
        With a sample time [s] the system is a digital controller. Steps end at its multiples. There
        the output is computed and held, and z ← z + sample_time · derivative.
    implicit : bool
        False for explicit treatment: forces and rates are those of the beginning of a step.
    coupled : bool
        Whether gains between different outputs are implicit too, for outputs on at most two
        kinematic trees. Otherwise every output is implicit in its own velocity alone, as in the
        paper.
    linear : bool
        Whether both functions are linear (affine) in z, positions and velocities: differences are
        then exact to round-off.
    error_weight : float
        Weight of z in the norm that `Cenic` compares with its accuracy; 0 as in the paper.
    parameters : ndarray, shape (p,)
        Numbers for the functions, which may be written between steps.
    """

    name: str = ""
    joints: Sequence[str] = ()
    actuators: Sequence[str] = ()
    initial_state: Sequence[float] | np.ndarray = ()
    effort_limit: float | Sequence[Any] | np.ndarray | None = None
    sample_time: float | None = None
    implicit: bool = True
    coupled: bool = True
    linear: bool = False
    error_weight: float = 0.0
    parameters: np.ndarray = np.zeros(0)

    made_by_bind: ClassVar[Sequence[str]] = ()
    """Attributes that `bind` makes; copies do without them until they are bound themselves."""

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in self.made_by_bind}

    def output(self, z: np.ndarray, x: SystemInput) -> Any:
        """Efforts [N, Nm], shape (number of outputs,)."""
        raise NotImplementedError(f"{type(self).__name__} must define output(z, x).")

    def derivative(self, z: np.ndarray, x: SystemInput) -> Any:
        """Rate of the state, shape (number of states,)."""
        raise NotImplementedError(
            f"{type(self).__name__} has a state and must define derivative(z, x)."
        )

    def bind(self, model: mujoco.MjModel) -> None:
        """Look up what the system needs of a model.

        Called when a `Simulator` is made, and again when the model's numbers have changed.
        """

    def dofs(self, model: mujoco.MjModel) -> list[int]:
        """Dofs on which the system acts by generalized forces: those of its ``joints``."""
        found: list[int] = []
        for name in as_names(f"{self.label}: joints", self.joints):
            joint = _find(model, mujoco.mjtObj.mjOBJ_JOINT, "joint", name, self.label)
            first = int(model.jnt_dofadr[joint])
            following = model.jnt_dofadr[joint + 1] if joint + 1 < model.njnt else model.nv
            found.extend(range(first, int(following)))
        return found

    def actuator_ids(self, model: mujoco.MjModel) -> list[int]:
        """Indices of the commanded actuators."""
        kind = mujoco.mjtObj.mjOBJ_ACTUATOR
        names = as_names(f"{self.label}: actuators", self.actuators)
        return [_find(model, kind, "actuator", name, self.label) for name in names]

    @property
    def label(self) -> str:
        """The system in messages."""
        return f"external system {self.name or type(self).__name__!r}"

    def functions(self) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        """``output`` and, with a state, ``derivative``; both may be compiled by Numba."""
        return self.output, self.derivative if len(self.initial_state) else None

    def kernel(self) -> tuple[EntryPoint, Table | None] | None:
        """A function of a `SYSTEM` table and the system's own table, of systems that have them."""
        return None


class FunctionSystem(ExternalSystem):
    """An external system made of functions.

    Parameters
    ----------
    output, derivative : callable
        ``output(z, x)`` and, with a state, ``derivative(z, x)``, see `ExternalSystem`. If they are
        compiled by Numba (``@numba.njit``), steps do not return to Python: they get the same
        arguments and must return arrays. Constants are then those of the time of compilation; what
        changes belongs into ``parameters``.
    parameters : array_like, optional
        Numbers that the functions find in ``x.parameters``; write to the attribute of that name to
        change them between steps.
    **options
        Attributes of `ExternalSystem`: ``joints``, ``actuators``, ``initial_state`` and so on.
    """

    def __init__(
        self,
        output: Callable[[np.ndarray, SystemInput], Any],
        derivative: Callable[[np.ndarray, SystemInput], Any] | None = None,
        *,
        parameters: Any = (),
        **options: Any,
    ) -> None:
        for name, function in (("output", output), ("derivative", derivative)):
            if not callable(function) and not (function is None and name == "derivative"):
                raise ArgumentError(f"{name} must be a function of (z, x), got {function!r}.")
        for name, value in options.items():
            if name not in _OPTIONS:
                known = ", ".join(_OPTIONS)
                raise ArgumentError(f"external systems have no option {name!r}; there are {known}.")
            setattr(self, name, value)
        self.parameters = as_array("parameters", parameters).flatten()
        self.initial_state = np.atleast_1d(as_array("initial_state", self.initial_state))
        self._output = output
        self._derivative = derivative
        if not self.name:
            self.name = getattr(output, "__name__", "")
        if len(self.initial_state) and derivative is None:
            raise ArgumentError(f"{self.label} has a state and needs a derivative; give both.")
        if derivative is not None and not len(self.initial_state):
            raise ArgumentError(
                f"{self.label} has a derivative and needs an initial_state; give both."
            )

    def functions(self) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        """The two functions."""
        return self._output, self._derivative


def _find(model: mujoco.MjModel, kind: Any, what: str, name: str, owner: str) -> int:
    index = mujoco.mj_name2id(model, kind, name) if isinstance(name, str) else -1
    if index < 0:
        count = model.njnt if what == "joint" else len(model.actuator_gaintype)
        names = [mujoco.mj_id2name(model, kind, i) for i in range(count)]
        known = ", ".join(repr(n) for n in names if n) or "none with a name"
        raise ArgumentError(f"{owner}: {what} {name!r} does not exist; the model has {known}.")
    return index
