"""The momentum balance of a step under displaced parameters.

It is evaluated in simulations with another value of each parameter, at the state and the velocity
of the step itself. Nothing is solved.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_pp_status
from asperity.derivatives.balance.displacement import restore
from asperity.derivatives.balance.flow import plastic_after
from asperity.derivatives.balance.matching import match_contacts, same_rows
from asperity.derivatives.balance.residual import (
    activations_after,
    keep_the_guess,
    prepare,
    residual,
)
from asperity.derivatives.convex_step import STEADY_TOLERANCE, table_of_inputs
from asperity.derivatives.layout import INPUTS
from asperity.derivatives.parameters.direct_numbers import DirectNumbers
from asperity.derivatives.parameters.direct_parameters import add_direct_column, is_direct
from asperity.derivatives.parameters.displaced_models import DisplacedModels
from asperity.derivatives.parameters.parameters import Parameter
from asperity.derivatives.stages import stage
from asperity.derivatives.tangent import tangent_size
from asperity.integrators.world_layout import OK, WORLD
from asperity.plant.evaluate import change_distances

__all__ = ["PARAMETER_KERNELS", "DisplacedBalances"]

# What `displaced_balances` returns if a code is about one of its simulations.
MISSED = -103

# Of a simulation with other contacts or rows.
_OTHER_SETS = -1

# Which simulation a code is about, of the pair of each parameter.
_SIDES = 2


@compiled
def _balance(
    world: Table, inputs: Table, at_world: Table, solved: Table, step: float, out: np.ndarray
) -> int:
    """Fill g, activations and what stays of another simulation at the solution of a step.

    Returns −1 if its contacts or rows are others.
    """
    state = world.current
    state.time = at_world.current.time
    restore(solved.start, inputs, state)
    state.valid = 0
    world.doubled_step = at_world.doubled_step
    copy_numbers(at_world.spring_share, world.spring_share)
    code = call_pp_status(world.evaluate, world.plant, state)
    if code != OK:
        return code
    if not (same_rows(solved.sets, state) and match_contacts(solved.sets, state)):
        return _OTHER_SETS
    change_distances(state, at_world.current.distance_changes)
    code = prepare(world, state, step)
    if code != OK:
        return code
    residual(world, solved, state, step, out)
    activations_after(world, solved.start, state, step, out)
    plastic_after(world, solved, 1, out)
    return OK


@stage
def displaced_balances(at_world: Table, solved: Table, step: float, first_column: int) -> int:
    """Add derivatives of all that ``sides`` have by every parameter to columns.

    ``displaced`` has the worlds and inputs of its simulations, with zeros where there is no second
    one, and ``displaced_codes`` is filled with what became of each. Returns ``MISSED``, with which
    nothing is added, if one could not be evaluated.
    """
    parameters = solved.parameters
    addresses = parameters.displaced
    sizes = parameters.displaced_sizes
    codes = parameters.displaced_codes
    missed = False
    for index in range(sizes.size):
        for side in range(_SIDES):
            codes[index, side] = _OTHER_SETS
            if addresses[index, 2 * side] == 0 or is_direct(at_world.plant, solved, index):
                continue
            codes[index, side] = _balance(
                WORLD.at(addresses[index, 2 * side]),
                INPUTS.at(addresses[index, 2 * side + 1]),
                at_world,
                solved,
                step,
                parameters.displaced_sides[index, side],
            )
            missed = missed or codes[index, side] > OK
    if missed:
        return MISSED
    base = solved.sides[0]
    for index in range(sizes.size):
        column = solved.columns[first_column + index]
        if is_direct(at_world.plant, solved, index):
            add_direct_column(at_world, solved, step, index, column)
            continue
        one_sided = codes[index, 0] != OK or codes[index, 1] != OK
        scale = 1.0 / sizes[index] if one_sided else 0.5 / sizes[index]
        if codes[index, 0] != OK and codes[index, 1] != OK:
            solved.unmatched += 1
            continue
        for side in range(_SIDES):
            sign = scale if side == 0 else -scale
            known = codes[index, side] == OK
            values = parameters.displaced_sides[index, side] if known else base
            for i in range(base.size):
                column[i] += sign * values[i]
    return OK


PARAMETER_KERNELS = (displaced_balances,)


class DisplacedBalances(DisplacedModels):
    """Derivatives of the momentum balance by parameters, for integrators with `ConvexStep`."""

    def _is_central(self, parameter: Parameter) -> bool:
        return parameter.size is not None

    def _prepare(self) -> None:
        self._codes = np.zeros((self.count, _SIDES), np.int64)
        size = tangent_size(self.model) - self.model.nv
        self._sides_of = np.zeros((self.count, _SIDES, size))
        self._ends = np.zeros((self.count, self.model.nv))
        self._addresses = np.zeros((self.count, 2 * _SIDES), np.int64)
        self._inputs: list[Table] = []
        for row, sides in zip(self._addresses, self.simulators, strict=True):
            for side, simulator in enumerate(sides):
                world = simulator.session.world
                world.table.solve_problem = keep_the_guess.address
                world.table.steady_tolerance = STEADY_TOLERANCE
                self._inputs.append(table_of_inputs(world))
                row[2 * side : 2 * side + 2] = world.table.address, self._inputs[-1].address
        self._datas: list[list[mujoco.MjData]] = []
        self._direct = DirectNumbers(self.model, self._parameters, self.simulators, self.sizes)

    def set_values(self, values: np.ndarray, *, copied: bool = True) -> bool:
        done = super().set_values(values, copied=copied)
        self._direct.read(self.model)
        # Whoever has the numbers installed has to take the new ones.
        self._addresses = self._addresses.copy()
        return done

    def install(self, table: Table) -> None:
        if table.displaced is self._addresses:
            return
        self._direct.install(table)
        table.add_parameters = displaced_balances.address
        table.displaced, table.displaced_sizes = self._addresses, self.sizes
        table.displaced_codes, table.displaced_sides = self._codes, self._sides_of
        table.displaced_ends = self._ends

    def make_room(self) -> bool:
        grown = False
        for sides, codes in zip(self.simulators, self._codes, strict=True):
            for simulator, code in zip(sides, codes, strict=False):
                grown = (code > OK and simulator.session.world.grow(int(code))) or grown
        self._codes[:] = OK
        return grown

    def differences(self, function: Function) -> np.ndarray:
        """Differences of a vector that follows from model and MjData, shape (…, parameters).

        The data are to work in, and have nothing of the state.
        """
        columns = []
        if not self._datas:
            self._base = mujoco.MjData(self.model)
            self._datas = [[mujoco.MjData(one.model) for one in sides] for sides in self.simulators]
        for sides, datas, size in zip(self.simulators, self._datas, self.sizes, strict=True):
            ends = [function(one.model, data) for one, data in zip(sides, datas, strict=True)]
            if len(ends) < _SIDES:
                ends.append(function(self.model, self._base))
                size *= 0.5
            columns.append((ends[0] - ends[1]) / (2.0 * size))
        return np.array(columns).T


Function = Callable[[mujoco.MjModel, mujoco.MjData], np.ndarray]
