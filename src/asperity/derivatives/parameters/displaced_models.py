"""Simulations with displaced parameters.

Every parameter has one or two of its own, with a larger and a smaller value, which follow when the
parameters get other values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.derivatives.parameters.parameters import (
    Parameter,
    apply_parameters,
    are_finite,
    contact_with,
    write_parameters,
)
from asperity.derivatives.tangent import StepState
from asperity.integrators import Integrator
from asperity.integrators.methods.icf import IcfMethod
from asperity.integrators.methods.tamsi.tamsi_method import TamsiMethod
from asperity.integrators.methods.theta import ThetaMethod
from asperity.plant.efforts import NO_EFFORTS
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.simulator import Simulator

__all__ = ["DisplacedModels", "take_over_values"]


def take_over_values(
    simulator: Simulator,
    contact: ContactParameters,
    parameters: Sequence[Parameter],
    values: np.ndarray,
    scratch: mujoco.MjData,
    *,
    copied: bool = True,
    check: bool = True,
) -> bool:
    """Let a simulation have other values; False if it is to be made anew.

    That is where bodies change their kind, and methods copy contact parameters.

    Parameters
    ----------
    simulator : Simulator
    contact : ContactParameters
        But for those that are among the parameters.
    parameters : sequence of Parameter
    values : numpy.ndarray
    scratch : mujoco.MjData
        Of the model, to work in.
    copied : bool
        Whether the parameters change numbers besides inertias of which simulations have copies.
    check : bool
        Whether the model must be looked at again: not if it differs by displacements alone from one
        that has been looked at.
    """
    world, plant, base = (
        simulator.session.world,
        simulator.session.plant,
        simulator.session.method.base,
    )
    if any(one.contact_field is not None for one in parameters):
        if not isinstance(base, IcfMethod | ThetaMethod | TamsiMethod):
            return False
        plant.set_contact_parameters(contact_with(contact, parameters, values))
        base.plant_changed(world)
        world.forget_evaluations()
    write_parameters(simulator.model, parameters, values, scratch)
    if not copied and not base.copies_model and are_finite(simulator.model):
        # But for friction, of which lists of near geoms have copies, and inertias.
        plant.set_detection()
        plant.read_inertias(simulator.model)
        world.forget_evaluations()
        return True
    if check or not isinstance(base, IcfMethod | ThetaMethod | TamsiMethod):
        simulator.take_over()
        return simulator.session.world is world
    if plant.needs_other_memory(NO_EFFORTS, NO_EFFORTS):
        return False
    plant.read_model(NO_EFFORTS)
    base.plant_changed(world)
    world.forget_evaluations()
    return True


class DisplacedModels:
    """Simulations with a larger value of each parameter, and perhaps with a smaller one.

    Parameters
    ----------
    model : mujoco.MjModel
    contact : ContactParameters
    integrator : Integrator
    parameters : sequence of Parameter
    values : numpy.ndarray
        Of the parameters, shape (n,).
    """

    _coarser: ClassVar[float] = 1.0
    """Displacements, in units of those of the parameters."""

    def __init__(
        self,
        model: mujoco.MjModel,
        contact: ContactParameters,
        integrator: Integrator,
        parameters: Sequence[Parameter],
        values: np.ndarray,
    ) -> None:
        self._parameters = tuple(parameters)
        self._contact = contact
        self._scratch = mujoco.MjData(model)
        self.model, _ = apply_parameters(model, contact, parameters, values)
        self.sizes = self._coarser * np.array([one.displacement for one in parameters])
        self.simulators = [
            [
                Simulator(other, integrator=integrator, contact=with_values)
                for other, with_values in (
                    apply_parameters(model, contact, parameters, moved)
                    for moved in self._sides(values, index)
                )
            ]
            for index in range(len(parameters))
        ]
        for sides in self.simulators:
            for simulator in sides:
                simulator.session.stay_awake()
        self._prepare()

    def _prepare(self) -> None:
        """Make what is to be done with the simulations."""

    def _is_central(self, parameter: Parameter) -> bool:
        """Whether a parameter is displaced to both sides."""
        return True

    def _sides(self, values: np.ndarray, index: int) -> list[np.ndarray]:
        """Values with a larger, and perhaps a smaller one of a parameter."""
        change = np.zeros(len(values))
        change[index] = self.sizes[index]
        both = [values + change, values - change]
        return both if self._is_central(self._parameters[index]) else both[:1]

    def set_values(self, values: np.ndarray, *, copied: bool = True) -> bool:
        """Let the models' parameters have other values; False if simulations must be made anew.

        ``copied`` says whether simulations have copies of what the parameters change.
        """
        write_parameters(self.model, self._parameters, values, self._scratch)
        return all(
            take_over_values(
                *(simulator, self._contact, self._parameters, moved, self._scratch),
                copied=copied,
                check=False,
            )
            for index, sides in enumerate(self.simulators)
            for simulator, moved in zip(sides, self._sides(values, index), strict=True)
        )

    def write_inputs(self, inputs: np.ndarray, kind: int) -> None:
        """Write inputs but controls and forces, as `mj_getState` returns them, into all of them."""
        for sides in self.simulators:
            for simulator in sides:
                datas = {id(one.data): one.data for one in simulator.session.world.evaluated_states}
                for data in datas.values():
                    mujoco.mj_setState(simulator.model, data, inputs, kind)

    def install(self, table: Table) -> None:
        """Let compiled code that takes implicit steps add columns by the parameters."""
        raise NotImplementedError

    def make_room(self) -> bool:
        """Make room for what compiled code has missed; False if it was nothing of that kind."""
        return False

    def changes(self, state: StepState, step: float, ctrl: np.ndarray) -> np.ndarray:
        """Derivatives of a whole step's end from this state, shape (tangent_size, parameters)."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """Number of parameters."""
        return len(self._parameters)
