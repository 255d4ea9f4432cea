"""Transitions and trajectories as differentiable functions of state, controls and parameters."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import mujoco
import numpy as np

from asperity.arguments import as_number, is_count
from asperity.derivatives.balance.smoothing import Smoothing
from asperity.derivatives.parameters.displaced_models import DisplacedModels
from asperity.derivatives.parameters.parameterized_step import ParameterizedStep
from asperity.derivatives.parameters.parameters import Parameter, refuse_simple_bodies
from asperity.derivatives.step_derivative import StepDerivative
from asperity.derivatives.tangent import StepState, Tangent, tangent_size
from asperity.derivatives.tangent_space import difference, displaced
from asperity.derivatives.trajectory_results import Gradient, Sensitivities
from asperity.errors import ArgumentError
from asperity.integrators import Icf, Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.renamed import refuse_old_options
from asperity.simulator.checks import reads_contact

__all__ = ["Transition", "require_finite"]

# What may be given beside state and controls, and stays as it is.
_INPUTS = int(mujoco.mjtState.mjSTATE_USER)


def require_finite(name: str, values: np.ndarray) -> None:
    """Refuse an array with NaN or infinity, and name the first number of that kind."""
    for where in np.argwhere(~np.isfinite(values))[:1]:
        index = ", ".join(str(i) for i in where)
        raise ArgumentError(
            f"{name}[{index}] is {values[tuple(where)]}, which is not finite; correct it."
        )


@refuse_old_options
class Transition:
    """The map x⁺ = f(x, u, θ) over a time step, with its derivatives.

    States are vectors x = (qpos, qvel, act), of models with flexes that yield (qpos, qvel, act,
    plastic); derivatives are with respect to changes of these in tangent spaces, as in
    `asperity.derivatives.linearize`.

    Parameters
    ----------
    model : mujoco.MjModel
        It is copied: later changes of it have no effect.
    integrator : Integrator, optional
        ``Icf(resolve_impacts=False)`` by default: fixed steps, whose number does not depend on the
        state, without rebounds, which have no derivative.
    contact : ContactParameters, optional
    parameters : sequence of Parameter
        θ; they have their own values until `set_parameters` changes them.
    step : float, optional
        Length of a transition [s]; the integrator's ``time_step``, or the model's ``timestep``
        under error control.
    data : mujoco.MjData, optional
        Applied forces, mocap poses and active equalities, which stay as they are; those of the
        model by default.

    smoothing : Smoothing, optional
        Of contact; none by default.

    Raises
    ------
    ArgumentError, ModelError
        If the model or an argument cannot be used.

    Notes
    -----
    Not to be used by two threads at once.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        *,
        integrator: Integrator | None = None,
        contact: ContactParameters | None = None,
        parameters: Sequence[Parameter] = (),
        step: float | None = None,
        data: mujoco.MjData | None = None,
        smoothing: Smoothing | None = None,
    ) -> None:
        if not isinstance(model, mujoco.MjModel):
            raise ArgumentError(f"model must be a mujoco.MjModel, got {type(model).__name__}.")
        if integrator is not None and not isinstance(integrator, Integrator):
            raise ArgumentError(
                f"integrator must be an asperity integrator such as Icf(), got {integrator!r}."
            )
        self.model = copy.copy(model)
        self._tangent_size = tangent_size(model)
        # Rebounds have no derivative.
        self.integrator = Icf(resolve_impacts=False) if integrator is None else integrator
        self.parameters = tuple(parameters)
        names = [one.name for one in self.parameters]
        if len(set(names)) < len(names):
            raise ArgumentError(
                f"two parameters have the same name: {', '.join(sorted(names))}; rename one."
            )
        refuse_simple_bodies(model, self.parameters)
        self._contact = ContactParameters() if contact is None else contact
        if smoothing is not None:
            for one in self.parameters:
                if one.contact_field in ("stiffness", "stiction_tolerance"):
                    raise ArgumentError(
                        f"smoothing bounds the parameter {one.name!r}; leave out one of them."
                    )
            self._contact = smoothing.of(model, self._contact, self.integrator)
        self._require_read(smoothing)
        default = self.integrator.time_step or float(model.opt.timestep)
        self.step_size = default if step is None else as_number("step", step)
        if not (math.isfinite(self.step_size) and self.step_size > 0.0):
            raise ArgumentError(f"step must be positive and finite, got {step}.")
        self._inputs = np.empty(mujoco.mj_stateSize(model, _INPUTS))
        mujoco.mj_getState(
            model, mujoco.MjData(model) if data is None else data, self._inputs, _INPUTS
        )
        self._step = ParameterizedStep(
            *(self.model, self.integrator, self._contact, self.parameters),
            *(np.array([one.value for one in self.parameters]), self._inputs, _INPUTS),
        )

    def _require_read(self, smoothing: Smoothing | None) -> None:
        """Refuse parameters and smoothing of contact of which the integrator takes no notice."""
        asked = [(f"parameter {one.name!r}", one.contact_field) for one in self.parameters]
        if smoothing is not None:
            asked += [("smoothing", name) for name, bound in vars(smoothing).items() if bound]
        for what, name in asked:
            if name is not None and not reads_contact(self.integrator, name):
                raise ArgumentError(
                    f"{what} has no effect, because {type(self.integrator).__name__} does not read "
                    f"{name} of contact; omit it, or take another integrator."
                )

    @property
    def _derivative(self) -> StepDerivative:
        return self._step.derivative

    @property
    def values(self) -> np.ndarray:
        """Present values of the parameters."""
        return self._step.values.copy()

    def set_parameters(self, values: np.ndarray) -> None:
        """Set the values of the parameters, which takes some milliseconds for each."""
        values = np.array(values, dtype=np.float64).reshape(-1)
        if values.shape != self._step.values.shape or not np.all(np.isfinite(values)):
            names = ", ".join(one.name for one in self.parameters) or "none"
            raise ArgumentError(
                f"set_parameters needs one finite value for each of its parameters ({names}), got "
                f"{values}."
            )
        self._step.set_values(values)

    @property
    def contact(self) -> ContactParameters:
        """Contact parameters, without those that are among the parameters."""
        return self._contact

    @property
    def inputs(self) -> np.ndarray:
        """Inputs of ``mjSTATE_USER`` as `mj_getState` returns them; controls are every call's."""
        return self._inputs.copy()

    @property
    def steps_are_rolled_out(self) -> bool:
        """Whether a transition is one fixed step that is solved, as `asperity.Batch` takes it.

        There ropes and cloth remember their tension.
        """
        one_step = self.step_size == self.integrator.time_step
        return self._derivative.has_implicit_steps and one_step and self.model.nflex == 0

    def copy(self) -> Transition:
        """A copy, for use in another thread."""
        other = Transition(
            self.model,
            integrator=self.integrator,
            contact=self._contact,
            parameters=self.parameters,
            step=self.step_size,
        )
        other._inputs[:] = self._inputs
        other._step = ParameterizedStep(
            *(other.model, other.integrator, other._contact, other.parameters),
            *(self._step.values, other._inputs, _INPUTS),
        )
        return other

    # -- states --------------------------------------------------------------------------------

    @property
    def state_size(self) -> int:
        """nq + nv + na, and nplastic if a flex yields."""
        return self._tangent_size + int(self.model.nq - self.model.nv)

    @property
    def tangent_size(self) -> int:
        """2nv + na, and nplastic if a flex yields."""
        return self._tangent_size

    def state_of(self, data: mujoco.MjData) -> np.ndarray:
        """The state x of an MjData."""
        return StepState.read(data, self.model).row

    def difference(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The change of positions, velocities and all else from one state to another."""
        model = self.model
        return difference(model, StepState.of(first, model), StepState.of(second, model))

    def displace(self, state: np.ndarray, change: np.ndarray) -> np.ndarray:
        """The state that a change of positions, velocities and all else leads to."""
        return displaced(self.model, StepState.of(state, self.model), change).row

    def _unpack(self, state: np.ndarray, control: np.ndarray) -> StepState:
        """Check a state and controls, and write these where steps find them."""
        model = self.model
        state = np.array(state, dtype=np.float64)
        control = np.array(control, dtype=np.float64)
        for name, one, size in (
            ("state", state, self.state_size),
            ("control", control, model.nu),
        ):
            if one.shape != (size,):
                raise ArgumentError(f"the {name} must have the shape ({size},), got {one.shape}.")
            require_finite(name, one)
        self._derivative.write_controls(control)
        mujoco.mj_normalizeQuat(model, state[: model.nq])
        return StepState.of(state, model)

    # -- one transition ------------------------------------------------------------------------

    def __call__(self, state: np.ndarray, control: np.ndarray) -> np.ndarray:
        """x⁺, solved as for its derivatives."""
        start = self._unpack(state, control)
        return self._derivative.end(start, self.step_size).row

    def linearize(self, state: np.ndarray, control: np.ndarray) -> tuple[np.ndarray, Tangent]:
        """x⁺, and its derivatives."""
        start = self._unpack(state, control)
        displaced = self._step.displaced()
        tangent = self._derivative.between(start, self.step_size, parameters=displaced)
        return tangent.end.row, tangent

    # -- trajectories --------------------------------------------------------------------------

    def trajectory(self, state: np.ndarray, controls: np.ndarray) -> np.ndarray:
        """States after every transition, and the first one.

        Parameters
        ----------
        state : numpy.ndarray
            The first one, shape (state_size,).
        controls : numpy.ndarray
            Shape (n, nu).

        Returns
        -------
        states : numpy.ndarray
            Shape (n+1, state_size).
        """
        nothing = np.zeros((self.tangent_size, 0))
        return self._follow(state, self._controls(controls), nothing, None)[0]

    @property
    def _runs(self) -> bool:
        """Whether trajectories run in compiled code, one implicit step after the other."""
        return self._derivative.is_one_step(self.step_size)

    def _follow(
        self,
        state: np.ndarray,
        controls: np.ndarray,
        changes: np.ndarray,
        displaced: DisplacedModels | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """States and changes along those of the first one, (n+1, tangent_size, directions)."""
        derivative, step = self._derivative, self.step_size
        states = np.zeros((len(controls) + 1, self.state_size))
        along = np.zeros((len(states), *changes.shape))
        states[0], along[0] = state, changes
        if self._runs and len(controls) > 0:
            assert derivative.convex is not None
            # Checks both, and takes quaternions for directions.
            states[0] = self._unpack(state, controls[0]).row
            derivative.convex.follow(states, step, controls, along, displaced)
            states[0] = state
            return states, along
        for index, control in enumerate(controls):
            start = self._unpack(states[index], control)
            if changes.shape[1] == 0:
                end = derivative.end(start, step)
            else:
                end, along[index + 1] = derivative.along(start, step, along[index], displaced)
            states[index + 1] = end.row
        return states, along

    def sensitivities(
        self, state: np.ndarray, controls: np.ndarray, *, by_state: bool = False
    ) -> Sensitivities:
        """A trajectory with its derivatives by the parameters, and by the first state if wanted.

        It goes forward in time. By parameters a transition costs little more than its own solution,
        or under error control and with many velocities two evaluations of the model for each
        parameter. For the gradient of one function by controls or many parameters take `gradient`.
        """
        size = self.tangent_size
        inner = size if by_state else 0
        controls = self._controls(controls)
        first = np.eye(size, inner + len(self.parameters))
        first[:, inner:] = 0.0
        states, changes = self._follow(state, controls, first, self._step.displaced())
        return Sensitivities(states, changes[:, :, :inner], changes[:, :, inner:])

    def gradient(
        self,
        state: np.ndarray,
        controls: np.ndarray,
        by_states: np.ndarray,
        *,
        states: np.ndarray | None = None,
        checkpoint_every: int = 1,
    ) -> Gradient:
        """The gradient of a function of a trajectory's states, backward in time.

        Parameters
        ----------
        state, controls
            As of `trajectory`.
        by_states : numpy.ndarray
            Derivatives of the function by the states' changes, shape (n+1, tangent_size).
        states : numpy.ndarray, optional
            What `trajectory` has returned, if that was called.
        checkpoint_every : int
            Every so many transitions a state is kept, and those between are computed again on the
            way back. A state is small, so 1 is nearly always best.
        """
        if not (is_count(checkpoint_every) and checkpoint_every > 0):
            raise ArgumentError(
                f"checkpoint_every must be a positive count, got {checkpoint_every}."
            )
        controls = self._controls(controls)
        count = len(controls)
        by_states = np.asarray(by_states, dtype=np.float64)
        if by_states.shape != (count + 1, self.tangent_size):
            raise ArgumentError(
                f"by_states must have the shape {(count + 1, self.tangent_size)}, got "
                f"{by_states.shape}."
            )
        if states is None:
            states = self.trajectory(state, controls)
        kept = states[::checkpoint_every]
        by_control = np.zeros((count, self.model.nu))
        by_parameter = np.zeros(len(self.parameters))
        adjoint = by_states[-1].copy()
        displaced, runs = self._step.displaced(), self._runs
        for first in range(
            (count - 1) // checkpoint_every * checkpoint_every, -1, -checkpoint_every
        ):
            last = min(first + checkpoint_every, count)
            part = self.trajectory(kept[first // checkpoint_every], controls[first : last - 1])
            if runs:
                assert self._derivative.convex is not None
                self._derivative.convex.pull_back(
                    *(part, self.step_size, controls[first:last], by_states[first:last]),
                    *(adjoint, by_control[first:last], by_parameter, displaced),
                )
                continue
            for index in range(last - 1, first - 1, -1):
                start = self._unpack(part[index - first], controls[index])
                tangent = self._derivative.between(
                    start, self.step_size, parameters=displaced, ahead=False
                )
                by_control[index] = adjoint @ tangent.by_control
                by_parameter += adjoint @ tangent.by_parameter
                adjoint = adjoint @ tangent.by_state + by_states[index]
        return Gradient(states, adjoint, by_control, by_parameter)

    def _controls(self, controls: np.ndarray) -> np.ndarray:
        controls = np.ascontiguousarray(controls, dtype=np.float64)
        if controls.ndim != 2 or controls.shape[1] != self.model.nu:
            raise ArgumentError(
                f"controls must have the shape (n, {self.model.nu}), got {controls.shape}."
            )
        require_finite("controls", controls)
        return controls
