"""The derivative of a step, in the place of `mujoco.mjd_transitionFD`."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

import mujoco
import numpy as np

from asperity.arguments import as_number
from asperity.derivatives.sensors import sensor_derivatives
from asperity.derivatives.step_derivative import StepDerivative
from asperity.derivatives.tangent import Tangent, tangent_size
from asperity.errors import ArgumentError, SimulationError, warn_user
from asperity.integrators import Cenic, Integrator
from asperity.plant.model.contact_parameters import ContactParameters, contact_key
from asperity.renamed import refuse_old_arguments
from asperity.simulator import Simulator

__all__ = ["Linearization", "linearize"]

_DEFAULT = Cenic()
_INPUTS = int(mujoco.mjtState.mjSTATE_INTEGRATION)


@dataclass(frozen=True)
class Linearization:
    """The derivative of a transition x⁺ = f(x, u) with the outputs y = g(x, u).

    A change of the state is (position, velocity, activation), positions in the tangent space of
    `mj_differentiatePos`, as in `mujoco.mjd_transitionFD`. If a flex yields, that of
    ``MjData.plastic`` is behind it, and 2nv+na is nplastic more.

    Attributes
    ----------
    A : numpy.ndarray
        ∂x⁺/∂x, shape (2nv+na, 2nv+na).
    B : numpy.ndarray
        ∂x⁺/∂u by ``ctrl``, shape (2nv+na, nu).
    C, D : numpy.ndarray
        ∂y/∂x and ∂y/∂u of ``sensordata`` at the beginning, shape (nsensordata, 2nv+na) and
        (nsensordata, nu).
    qpos, qvel, act, plastic : numpy.ndarray
        The state x⁺ itself; ``plastic`` is empty if no flex yields.
    steps : numpy.ndarray
        Sizes of the integrator's steps [s], which the derivative takes as given.
    method : str
        ``"implicit"``: the implicit function theorem, exact but for differences of the model's
        evaluation. ``"differences"``: central differences of whole steps. Both names, if some steps
        were of one kind and some of the other.
    residual : float
        Relative residual of the momentum balance at whose root the derivative is taken; 0 for
        differences.
    one_sided, unmatched : int
        Numbers of displacements at which the active set changes on one side of the state, where the
        one-sided derivative of the other side is taken, and on both sides, where the momentum
        balance is taken not to change.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    steps: np.ndarray
    method: str
    residual: float
    one_sided: int
    unmatched: int
    plastic: np.ndarray


class _Linearized:
    """What is kept of one MjModel: a simulation of its own, for one set of options."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model
        self.running = threading.Lock()
        self.options: tuple[object, ...] = ()
        self.derivative: StepDerivative | None = None

    def derivative_for(
        self, integrator: Integrator, contact: ContactParameters | None
    ) -> StepDerivative:
        options = (integrator, contact_key(contact))
        if self.derivative is None or self.options != options:
            simulator = Simulator(self.model, integrator=integrator, contact=contact)
            self.derivative, self.options = StepDerivative(simulator), options
        return self.derivative


# Of the models that were linearised last; a simulation keeps its model alive.
_MOST_KEPT = 4
_KEPT: list[_Linearized] = []
_LOCK = threading.Lock()


def _kept(model: mujoco.MjModel) -> _Linearized:
    with _LOCK:
        for index, one in enumerate(_KEPT):
            if one.model is model:
                _KEPT.insert(0, _KEPT.pop(index))
                return one
        _KEPT.insert(0, _Linearized(model))
        del _KEPT[_MOST_KEPT:]
        return _KEPT[0]


@refuse_old_arguments
def linearize(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    *,
    integrator: Integrator | None = None,
    contact: ContactParameters | None = None,
    step: float | None = None,
    sensors: bool = True,
) -> Linearization:
    """Linearise the transition over a time step, as `mujoco.mjd_transitionFD` does.

    Parameters
    ----------
    model, data : mujoco.MjModel, mujoco.MjData
        The state, controls, applied forces and mocap poses are read from ``data``, which stays as
        it is.
    integrator : Integrator, optional
        ``Cenic(accuracy=1e-3)`` by default.
    contact : ContactParameters, optional
        As for `Simulator`.
    step : float, optional
        Length of the transition [s]; the integrator's ``time_step`` by default, or under error
        control the model's ``timestep``. Of several steps the derivatives are multiplied.
    sensors : bool
        Whether C and D are wanted, of models with sensors. Without them they have no rows. Sensors
        that have no closed form take kinematics or a step for every displacement of the state.

    Returns
    -------
    Linearization

    Raises
    ------
    ArgumentError, ModelError
        If model, state or controls cannot be simulated.
    SimulationError
        If a step of the transition has no solution, or its derivative is not finite.

    Notes
    -----
    A step of `Icf`, `Sap` or `Tamsi`, and steps of `Cenic` that are made of these, have the
    velocity at their end as the root of a momentum balance, which the implicit function theorem
    differentiates; the balance itself is differentiated at that velocity, in closed form or by
    differences of the model's evaluation. Steps of all other integrators are repeated at displaced
    states (``method``). Under error control the sizes of steps are taken as given, and so is in all
    steps what an integrator decides from case to case, such as what it extrapolates.

    Where a contact opens or closes, or a limit is reached, f has a kink. Beside it the result is
    the derivative of the state's own side; at the kink itself every column is the derivative ahead,
    along its own coordinate. See docs/derivatives.md for what derivatives through contact mean.
    """
    if not isinstance(model, mujoco.MjModel):
        raise ArgumentError(
            f"model must be a mujoco.MjModel, got {type(model).__name__}; asperity.load_model "
            "makes one of a file."
        )
    if not isinstance(data, mujoco.MjData):
        raise ArgumentError(f"data must be a mujoco.MjData, got {type(data).__name__}.")
    if len(data.qpos) != model.nq or len(data.ctrl) != model.nu:
        raise ArgumentError("data belongs to another model; make it with mujoco.MjData(model).")
    integrator = _DEFAULT if integrator is None else integrator
    if step is not None:
        step = as_number("step", step)
        if not (math.isfinite(step) and step > 0.0):
            raise ArgumentError(f"step must be positive and finite, got {step}.")
    kept = _kept(model)
    with kept.running:
        derivative = kept.derivative_for(integrator, contact)
        return _linearize(derivative, model, data, step, bool(sensors))


def _linearize(
    derivative: StepDerivative,
    model: mujoco.MjModel,
    data: mujoco.MjData,
    step: float | None,
    sensors: bool,
) -> Linearization:
    state = np.empty(mujoco.mj_stateSize(model, _INPUTS))
    mujoco.mj_getState(model, data, state, _INPUTS)
    derivative.take_over(state)
    tangent = derivative.over(step)
    _check_finite(tangent)
    if tangent.unmatched > 0:
        warn_user(
            f"linearize: {tangent.unmatched} displacements change contacts or constraints on both "
            "sides of the state, and A and B leave out what these change by there; take a state "
            "nearby, or of meshes a lower ccd_tolerance (see unmatched of the result)."
        )
    by_state = np.zeros((0, tangent_size(model)))
    by_control = np.zeros((0, model.nu))
    if sensors and model.nsensordata > 0:
        by_state, by_control = sensor_derivatives(derivative, state)
    return Linearization(
        A=tangent.by_state,
        B=tangent.by_control,
        C=by_state,
        D=by_control,
        qpos=tangent.end.qpos,
        qvel=tangent.end.qvel,
        act=tangent.end.act,
        steps=np.array(tangent.steps),
        method=tangent.method,
        residual=tangent.residual,
        one_sided=tangent.one_sided,
        unmatched=tangent.unmatched,
        plastic=tangent.end.plastic,
    )


def _check_finite(tangent: Tangent) -> None:
    # Sums have all that is not finite in them, and are found in half the time.
    if not math.isfinite(tangent.by_state.sum() + tangent.by_control.sum()):
        raise SimulationError(
            "the derivative of the step is not finite: its momentum balance is singular at the "
            "solution. Take a smaller step, or a state nearby."
        )
