"""The momentum balance of a step under displaced parameters.

Every parameter has two simulations of its own, with a larger and a smaller value, in which the
balance is evaluated at the state and the velocity of the step itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from numba import types

from asperity.compiled import compiled_loop
from asperity.compiled.calls import call_pp_status
from asperity.derivatives.convex_step import ConvexStep
from asperity.derivatives.layout import DERIVATIVE
from asperity.derivatives.matching import match_contacts, same_rows
from asperity.derivatives.parameters import Parameter, apply_parameters, write_parameters
from asperity.derivatives.residual import activations_after, prepare, residual
from asperity.derivatives.tangent import StepState
from asperity.integrators import Integrator
from asperity.integrators.methods.icf import IcfMethod
from asperity.integrators.methods.tamsi.tamsi_method import TamsiMethod
from asperity.integrators.methods.theta import ThetaMethod
from asperity.integrators.world_layout import OK, WORLD
from asperity.plant.contact_parameters import ContactParameters
from asperity.simulator import Simulator

__all__ = ["PARAMETER_KERNELS", "DisplacedModels", "take_over_values"]


@compiled_loop(types.int64(types.int64, types.int64, types.float64))
def balance(world_address: int, work_address: int, step: float) -> int:
    """Fill ``sides[0]`` at the prescribed velocity; −1 if contacts or rows are others."""
    world = WORLD.at(world_address)
    work = DERIVATIVE.at(work_address)
    state = world.current
    state.valid = 0
    code = call_pp_status(world.evaluate, world.plant, state)
    if code != OK:
        return code
    if not (same_rows(work, state) and match_contacts(work, state)):
        return -1
    code = prepare(world, state, step)
    if code != OK:
        return code
    residual(world, work, state, step, work.sides[0])
    activations_after(world, work, state, step, work.sides[0])
    return OK


PARAMETER_KERNELS = (balance,)


def take_over_values(
    simulator: Simulator, parameters: Sequence[Parameter], values: np.ndarray
) -> bool:
    """Let a simulation have other values; False if it is to be made anew.

    That is where contact parameters are among them, or bodies change their kind.
    """
    if any(one.contact_field is not None for one in parameters):
        return False
    world = simulator.world
    write_parameters(simulator.model, parameters, values)
    simulator.take_over()
    return simulator.world is world


class DisplacedModels:
    """Derivatives of the momentum balance by parameters.

    Parameters
    ----------
    model : mujoco.MjModel
    contact : ContactParameters
    integrator : Integrator
        With steps of `ConvexStep`.
    parameters : sequence of Parameter
    values : numpy.ndarray
        Of the parameters, shape (n,).
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        contact: ContactParameters,
        integrator: Integrator,
        parameters: Sequence[Parameter],
        values: np.ndarray,
    ) -> None:
        self._parameters = tuple(parameters)
        self._inputs: np.ndarray | None = None
        self._sizes = np.array([one.displacement for one in parameters])
        self._steps: list[tuple[ConvexStep, ConvexStep]] = []
        self._simulators: list[tuple[Simulator, Simulator]] = []
        for index in range(len(parameters)):
            pair = []
            simulators = []
            for moved in self._sides(values, index):
                other_model, other_contact = apply_parameters(model, contact, parameters, moved)
                simulator = Simulator(other_model, integrator=integrator, contact=other_contact)
                simulators.append(simulator)
                base = simulator.method.base
                assert isinstance(base, IcfMethod | ThetaMethod | TamsiMethod)
                step = ConvexStep(simulator.world, base)
                step.solve_nothing()
                pair.append(step)
            self._steps.append((pair[0], pair[1]))
            self._simulators.append((simulators[0], simulators[1]))

    def _sides(self, values: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Values with a larger and a smaller one of a parameter."""
        change = np.zeros(len(values))
        change[index] = self._sizes[index]
        return values + change, values - change

    def set_values(self, values: np.ndarray) -> bool:
        """Let the models' parameters have other values; False if simulations must be made anew."""
        self._inputs = None
        for index, pair in enumerate(self._simulators):
            for simulator, moved in zip(pair, self._sides(values, index), strict=True):
                if not take_over_values(simulator, self._parameters, moved):
                    return False
        return True

    def write_inputs(self, inputs: np.ndarray, kind: int) -> None:
        """Write controls and forces, as `mj_getState` returns them, into all simulations."""
        if self._inputs is not None and np.array_equal(inputs, self._inputs):
            return
        self._inputs = inputs.copy()
        for pair in self._steps:
            for step in pair:
                step.write_inputs(inputs, kind)

    def columns(self, at: ConvexStep, state: StepState, step: float) -> tuple[np.ndarray, int]:
        """Derivatives of g and of the activations at the end, one row per parameter.

        Parameters
        ----------
        at : ConvexStep
            In which the step from this state has been solved.
        state : StepState
        step : float
            Its size [s].

        Returns
        -------
        columns : numpy.ndarray
            Shape (n, nv+na).
        unmatched : int
            Parameters whose displacement makes or unmakes contacts on both sides.
        """
        base = at.balance
        rows = np.zeros((len(self._steps), len(base)))
        unmatched = 0
        for index, (pair, size) in enumerate(zip(self._steps, self._sizes, strict=True)):
            sides = [one.balance_at(at, state, step, balance) for one in pair]
            ahead, behind = sides
            if ahead is not None and behind is not None:
                rows[index] = (ahead - behind) / (2.0 * size)
            elif ahead is not None:
                rows[index] = (ahead - base) / size
            elif behind is not None:
                rows[index] = (base - behind) / size
            else:
                unmatched += 1
        return rows, unmatched
