"""Derivatives of the steps of a model whose parameters get other values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import mujoco
import numpy as np

from asperity.compiled.compilation import compile_kernels
from asperity.derivatives.parameters.displaced_balances import PARAMETER_KERNELS
from asperity.derivatives.parameters.displaced_models import DisplacedModels, take_over_values
from asperity.derivatives.parameters.parameters import Parameter, apply_parameters, are_never_copied
from asperity.derivatives.step_derivative import StepDerivative
from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.simulator import Simulator

__all__ = ["ParameterizedStep"]


class ParameterizedStep:
    """A simulation with the parameters' present values, and those with displaced ones.

    Parameters
    ----------
    model : mujoco.MjModel
        Not changed.
    integrator : Integrator
    contact : ContactParameters
        But for those that are among the parameters.
    parameters : sequence of Parameter
    values : numpy.ndarray
        Of the parameters, shape (n,).
    inputs : numpy.ndarray
        As `mj_getState` returns them.
    kind : int
        Which inputs these are.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        integrator: Integrator,
        contact: ContactParameters,
        parameters: Sequence[Parameter],
        values: np.ndarray,
        inputs: np.ndarray,
        kind: int,
    ) -> None:
        self._model = model
        self._integrator = integrator
        self._contact = contact
        self._parameters = tuple(parameters)
        self.values = values.copy()
        """Present values; `set_values` changes them."""
        self._inputs = inputs
        self._kind = kind
        self._make()

    def _make(self) -> None:
        """Make the simulation of the present values; displaced ones follow when they are wanted."""
        model, contact = self._model, self._contact
        if self._parameters:
            model, contact = apply_parameters(model, contact, self._parameters, self.values)
        simulator = Simulator(model, integrator=self._integrator, contact=contact)
        self.derivative = StepDerivative(simulator)
        if self._parameters and self.derivative.is_implicit:
            compile_kernels(PARAMETER_KERNELS, "derivatives")
        mujoco.mj_setState(model, simulator.data, self._inputs, self._kind)
        simulator.take_over()
        self._scratch = mujoco.MjData(model)
        self._displaced: DisplacedModels | None = None
        self._stale = False

    @cached_property
    def _copied(self) -> bool:
        """Whether parameters change numbers of which simulations have copies."""
        return not are_never_copied(self._model, self._parameters)

    def set_values(self, values: np.ndarray) -> None:
        """Let the parameters have other values."""
        if np.array_equal(values, self.values):
            return
        self.values = values
        # Models with displaced parameters follow when derivatives are wanted.
        self._stale = True
        if not take_over_values(
            *(self.derivative.simulator, self._contact, self._parameters, values),
            self._scratch,
            copied=self._copied,
        ):
            self._make()

    def displaced(self) -> DisplacedModels | None:
        """Simulations with displaced parameters, at their present values; none without any."""
        if self._parameters and (
            self._displaced is None
            or (self._stale and not self._displaced.set_values(self.values, copied=self._copied))
        ):
            self._displaced = self.derivative.displaced_models(
                self._model, self._contact, self._integrator, self._parameters, self.values
            )
            self._displaced.write_inputs(self._inputs, self._kind)
        self._stale = False
        return self._displaced
