"""The momentum balance of a step under displaced parameters.

Every parameter has two simulations of its own, with a larger and a smaller value, in which the
balance is evaluated at the state and the velocity of the step itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.calls import call_pp_status
from asperity.derivatives.columns import restore
from asperity.derivatives.convex_step import ConvexStep
from asperity.derivatives.layout import DERIVATIVE
from asperity.derivatives.matching import match_contacts, same_rows
from asperity.derivatives.parameters import Parameter, apply_parameters, write_parameters
from asperity.derivatives.residual import activations_after, prepare, residual
from asperity.integrators import Integrator
from asperity.integrators.methods.icf import IcfMethod
from asperity.integrators.methods.tamsi.tamsi_method import TamsiMethod
from asperity.integrators.methods.theta import ThetaMethod
from asperity.integrators.world_layout import OK, WORLD
from asperity.plant.contact_parameters import ContactParameters
from asperity.simulator import Simulator

__all__ = ["PARAMETER_KERNELS", "DisplacedModels", "take_over_values"]


# What `displaced_balances` returns beside the codes of methods.
_SETS_FULL = -101

# Which simulation a code is about, of the pair of each parameter.
_SIDES = 2


@compiled
def _take_over(world: Table, work: Table, at_work: Table, at_state: Table) -> int:
    """Let a simulation have the state, inputs, velocity and contacts of another's solution."""
    contacts = at_work.contacts
    rows = at_work.rows
    if work.contact_geom.shape[0] < contacts or work.row_kind.size < rows:
        return _SETS_FULL
    state = world.current
    state.time = at_state.time
    for i in range(at_work.qpos.size):
        work.qpos[i] = at_work.qpos[i]
    for i in range(at_work.qvel.size):
        work.qvel[i] = at_work.qvel[i]
        work.applied[i] = at_work.applied[i]
        work.velocity[i] = at_work.velocity[i]
    for i in range(at_work.act.size):
        work.act[i] = at_work.act[i]
    for i in range(at_work.ctrl.size):
        work.ctrl[i] = at_work.ctrl[i]
    for i in range(at_work.turning.size):
        work.turning[i] = at_work.turning[i]
    work.contacts = contacts
    work.rows = rows
    work.patches = at_work.patches
    for c in range(contacts):
        for side in range(2):
            work.contact_geom[c, side] = at_work.contact_geom[c, side]
        for a in range(3):
            work.contact_point[c, a] = at_work.contact_point[c, a]
    for r in range(rows):
        work.row_kind[r] = at_work.row_kind[r]
        work.row_source[r] = at_work.row_source[r]
    restore(work, state)
    state.valid = 0
    return OK


@compiled
def _balance(world: Table, work: Table, step: float, out: np.ndarray) -> int:
    """Fill g and activations at the prescribed velocity; −1 if contacts or rows are others."""
    state = world.current
    code = call_pp_status(world.evaluate, world.plant, state)
    if code != OK:
        return code
    if not (same_rows(work, state) and match_contacts(work, state)):
        return -1
    code = prepare(world, state, step)
    if code != OK:
        return code
    residual(world, work, state, step, out)
    activations_after(world, work, state, step, out)
    return OK


_INTEGERS = types.Array(types.int64, 2, "C")
_REALS = types.Array(types.float64, 1, "C")


@compiled_loop(
    types.int64(types.int64, types.int64, types.float64, _INTEGERS, _REALS, _INTEGERS, types.int64)
)
def displaced_balances(
    at_world: int,
    at_work: int,
    step: float,
    addresses: np.ndarray,
    sizes: np.ndarray,
    codes: np.ndarray,
    first_column: int,
) -> int:
    """Add derivatives of g and of the activations at the end by every parameter to columns.

    ``addresses`` has the worlds and works of both simulations of each; ``codes`` is filled with
    what became of each. Returns the worst of them, with which nothing is added.
    """
    solved = DERIVATIVE.at(at_work)
    state = WORLD.at(at_world).current
    worst = OK
    for index in range(sizes.size):
        for side in range(_SIDES):
            world = WORLD.at(addresses[index, 2 * side])
            work = DERIVATIVE.at(addresses[index, 2 * side + 1])
            code = _take_over(world, work, solved, state)
            if code == OK:
                code = _balance(world, work, step, work.sides[0])
            codes[index, side] = code
            if code > OK or code == _SETS_FULL:
                worst = code
    if worst != OK:
        return worst
    base = solved.sides[0]
    for index in range(sizes.size):
        ahead = DERIVATIVE.at(addresses[index, 1]).sides[0]
        behind = DERIVATIVE.at(addresses[index, 3]).sides[0]
        one_sided = codes[index, 0] != OK or codes[index, 1] != OK
        scale = 1.0 / sizes[index] if one_sided else 0.5 / sizes[index]
        if codes[index, 0] != OK and codes[index, 1] != OK:
            solved.unmatched += 1
            continue
        for i in range(base.size):
            first = ahead[i] if codes[index, 0] == OK else base[i]
            last = behind[i] if codes[index, 1] == OK else base[i]
            solved.columns[first_column + index, i] += scale * (first - last)
    return worst


PARAMETER_KERNELS = (displaced_balances,)


def take_over_values(
    simulator: Simulator,
    parameters: Sequence[Parameter],
    values: np.ndarray,
    scratch: mujoco.MjData,
) -> bool:
    """Let a simulation have other values; False if it is to be made anew.

    ``scratch`` is an MjData of the model to work in.

    That is where contact parameters are among them, or bodies change their kind.
    """
    if any(one.contact_field is not None for one in parameters):
        return False
    world = simulator.world
    write_parameters(simulator.model, parameters, values, scratch)
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
        self._scratch = mujoco.MjData(model)
        self._sizes = np.array([one.displacement for one in parameters])
        self._codes = np.zeros((len(parameters), _SIDES), np.int64)
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
        self._addresses = np.array(
            [[*ahead.addresses, *behind.addresses] for ahead, behind in self._steps], np.int64
        )

    def _sides(self, values: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Values with a larger and a smaller one of a parameter."""
        change = np.zeros(len(values))
        change[index] = self._sizes[index]
        return values + change, values - change

    def set_values(self, values: np.ndarray) -> bool:
        """Let the models' parameters have other values; False if simulations must be made anew."""
        for index, pair in enumerate(self._simulators):
            for simulator, moved in zip(pair, self._sides(values, index), strict=True):
                if not take_over_values(simulator, self._parameters, moved, self._scratch):
                    return False
        return True

    def write_inputs(self, inputs: np.ndarray, kind: int) -> None:
        """Write inputs but controls and forces, as `mj_getState` returns them, into all of them."""
        for pair in self._steps:
            for step in pair:
                step.write_inputs(inputs, kind)

    @property
    def count(self) -> int:
        """Number of parameters."""
        return len(self._parameters)

    def add_columns(self, at: ConvexStep, step: float, first: int) -> None:
        """Add derivatives of the balance by the parameters to a step's columns.

        Parameters
        ----------
        at : ConvexStep
            In which the step has been solved.
        step : float
            Its size [s].
        first : int
            The first parameter's column. What changes contacts on both sides counts as unmatched.
        """
        while True:
            worst = displaced_balances.call(
                *at.addresses, step, self._addresses, self._sizes, self._codes, first
            )
            if worst == OK:
                return
            for pair, both in zip(self._steps, self._codes, strict=True):
                for one, code in zip(pair, both, strict=True):
                    one.make_room(at, int(code))
