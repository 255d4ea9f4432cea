"""The momentum balance of a step under displaced parameters.

It is evaluated in simulations with another value of each parameter, at the state and the velocity
of the step itself. Nothing is solved.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp_status
from asperity.derivatives.balance.displacement import restore
from asperity.derivatives.balance.matching import match_contacts, same_rows
from asperity.derivatives.balance.residual import activations_after, prepare, residual
from asperity.derivatives.balance.root_search import SETS_FULL
from asperity.derivatives.convex_step import ConvexStep
from asperity.derivatives.layout import DERIVATIVE
from asperity.derivatives.parameters.direct_numbers import DirectNumbers
from asperity.derivatives.parameters.direct_parameters import add_direct_column, is_direct
from asperity.derivatives.parameters.displaced_models import DisplacedModels
from asperity.derivatives.parameters.parameters import Parameter
from asperity.derivatives.stages import stage
from asperity.integrators.methods.icf import IcfMethod
from asperity.integrators.methods.tamsi.tamsi_method import TamsiMethod
from asperity.integrators.methods.theta import ThetaMethod
from asperity.integrators.world_layout import OK, WORLD
from asperity.simulator import Simulator

__all__ = ["PARAMETER_KERNELS", "DisplacedBalances"]

# What `displaced_balances` returns if a code is about one of its simulations.
MISSED = -103

# Of a simulation with other contacts or rows.
_OTHER_SETS = -1

# Which simulation a code is about, of the pair of each parameter.
_SIDES = 2


@compiled
def _take_over(world: Table, work: Table, at_world: Table, at_work: Table) -> int:
    """Let a simulation have the state, inputs, velocity and contacts of another's solution."""
    contacts = at_work.contacts
    rows = at_work.rows
    if work.contact_geom.shape[0] < contacts or work.row_kind.size < rows:
        return SETS_FULL
    state = world.current
    state.time = at_world.current.time
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
    world.spring_interval = at_world.spring_interval
    return OK


@compiled
def _balance(world: Table, work: Table, step: float, out: np.ndarray) -> int:
    """Fill g and activations at the prescribed velocity; −1 if contacts or rows are others."""
    state = world.current
    code = call_pp_status(world.evaluate, world.plant, state)
    if code != OK:
        return code
    if not (same_rows(work, state) and match_contacts(work, state)):
        return _OTHER_SETS
    code = prepare(world, state, step)
    if code != OK:
        return code
    residual(world, work, state, step, out)
    activations_after(world, work, state, step, out)
    return OK


@stage
def displaced_balances(at_world: Table, solved: Table, step: float, first_column: int) -> int:
    """Add derivatives of g and of the activations at the end by every parameter to columns.

    ``displaced`` has the worlds and tables of its simulations, with zeros where there is no second
    one, and ``displaced_codes`` is filled with what became of each. Returns ``MISSED``, with which
    nothing is added, if one could not be evaluated.
    """
    addresses = solved.displaced
    sizes = solved.displaced_sizes
    codes = solved.displaced_codes
    missed = False
    for index in range(sizes.size):
        for side in range(_SIDES):
            codes[index, side] = _OTHER_SETS
            if addresses[index, 2 * side] == 0 or is_direct(at_world, solved, index):
                continue
            world = WORLD.at(addresses[index, 2 * side])
            work = DERIVATIVE.at(addresses[index, 2 * side + 1])
            code = _take_over(world, work, at_world, solved)
            if code == OK:
                code = _balance(world, work, step, work.sides[0])
            codes[index, side] = code
            if code > OK or code == SETS_FULL:
                missed = True
    if missed:
        return MISSED
    base = solved.sides[0]
    for index in range(sizes.size):
        column = solved.columns[first_column + index]
        if is_direct(at_world, solved, index):
            add_direct_column(at_world, solved, step, index, column)
            continue
        one_sided = codes[index, 0] != OK or codes[index, 1] != OK
        scale = 1.0 / sizes[index] if one_sided else 0.5 / sizes[index]
        if codes[index, 0] != OK and codes[index, 1] != OK:
            solved.unmatched += 1
            continue
        for side in range(_SIDES):
            sign = scale if side == 0 else -scale
            values = base
            if codes[index, side] == OK:
                values = DERIVATIVE.at(addresses[index, 2 * side + 1]).sides[0]
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
        self._steps = [[_step(one) for one in sides] for sides in self.simulators]
        self._addresses = np.zeros((self.count, 2 * _SIDES), np.int64)
        for row, steps in zip(self._addresses, self._steps, strict=True):
            found = [address for step in steps for address in step.addresses]
            row[: len(found)] = found
        self._datas: list[list[mujoco.MjData]] = []
        self._direct = DirectNumbers(self.model, self._parameters, self.simulators, self.sizes)

    def set_values(self, values: np.ndarray, *, copied: bool = True) -> bool:
        done = super().set_values(values, copied=copied)
        self._direct.read(self.model)
        # Whoever has the numbers installed has to take the new ones.
        self._addresses = self._addresses.copy()
        return done

    def install(self, work: Table) -> None:
        """Let compiled code that runs through a step's stages add these columns."""
        if work.displaced is self._addresses:
            return
        self._direct.install(work)
        work.add_parameters = displaced_balances.address
        work.displaced, work.displaced_sizes = self._addresses, self.sizes
        work.displaced_codes = self._codes

    def make_room(self, at: ConvexStep) -> bool:
        """Make room for what compiled code has missed; False if it was nothing of that kind."""
        grown = False
        for steps, codes in zip(self._steps, self._codes, strict=True):
            for one, code in zip(steps, codes, strict=False):
                grown = one.make_room(at, int(code)) or grown
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


def _step(simulator: Simulator) -> ConvexStep:
    """Of a simulation in which nothing is solved."""
    base = simulator.method.base
    assert isinstance(base, IcfMethod | ThetaMethod | TamsiMethod)
    step = ConvexStep(simulator.world, base)
    step.solve_nothing()
    return step
