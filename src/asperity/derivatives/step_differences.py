"""Central differences of whole steps, for methods without an implicit derivative.

Every displaced step has the size of the step itself. Convex solvers work as far as round-off lets
them; the tolerance of others bounds what the differences are worth.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from asperity.derivatives.parameters.displaced_models import DisplacedModels
from asperity.derivatives.tangent import DIFFERENCES, StepState, Tangent, tangent_size
from asperity.derivatives.tangent_space import difference, displaced
from asperity.errors import SimulationError, Status
from asperity.integrators.steppings.stepping import Fixed
from asperity.integrators.world_layout import OK
from asperity.simulator import Simulator
from asperity.simulator.compiled_call import STATUSES

__all__ = ["StepDifferences", "reason_of", "solved_tightly"]

# Displacement of states [m, rad, m/s, rad/s] and of inputs.
_SIZE = 1e-6
_INPUT_SIZE = 1e-4
# Options of convex solvers in displaced steps, unless their own are tighter.
_LEAST = {"tolerance": 1e-15, "settle_tolerance": 1e-9}
_MOST = {"most_changes": 100, "max_iterations": 500}


def reason_of(code: int) -> str:
    """A sentence on why a step has failed, from the code of a stepping."""
    status = dict(STATUSES).get(code)
    return f"its code is {code}." if status is None else Status(status).message


@contextmanager
def solved_tightly(simulator: Simulator) -> Iterator[None]:
    """Let a convex solver leave nothing of its steps that differences would show."""
    session = simulator.session
    if not session.base.evaluates_plant:
        yield
        return
    options = session.world.problem.options
    kept = {name: getattr(options, name) for name in (*_LEAST, *_MOST)}
    for name, value in _LEAST.items():
        setattr(options, name, min(kept[name], value))
    for name, value in _MOST.items():
        setattr(options, name, max(kept[name], value))
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(options, name, value)


class StepDifferences:
    """Derivatives of a simulator's steps by differences.

    Parameters
    ----------
    simulator : Simulator
        Of its own: it is moved about.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator

    def at(
        self,
        state: StepState,
        step: float,
        parameters: DisplacedModels | None = None,
        *,
        ahead: bool = True,
    ) -> Tangent:
        """Take a step of this size from a state, with its derivatives."""
        model, data = self._simulator.model, self._simulator.session.world.current.data
        inner = tangent_size(model)
        ctrl = data.ctrl.copy()
        end = self.end(state, step, ctrl)
        columns = np.zeros((inner + model.nu, inner))
        for index in range(inner + model.nu):
            size = _SIZE if index < inner else _INPUT_SIZE
            change = np.zeros(inner + model.nu)
            change[index] = size
            with solved_tightly(self._simulator):
                sides = [
                    self.end(displaced(model, state, one[:inner]), step, ctrl + one[inner:])
                    for one in (change, -change)
                ]
            columns[index] = difference(model, sides[1], sides[0]) / (2.0 * size)
        self._write_controls(ctrl)
        by_parameter = np.zeros((inner, 0))
        if parameters is not None:
            by_parameter = parameters.changes(state, step, ctrl)
        matrix = columns.T
        return Tangent(
            end, matrix[:, :inner], matrix[:, inner:], by_parameter, (step,), DIFFERENCES, 0.0, 0, 0
        )

    def along(
        self,
        state: StepState,
        step: float,
        directions: np.ndarray,
        parameters: DisplacedModels | None = None,
    ) -> tuple[StepState, np.ndarray]:
        """The end of a step, and its changes along changes of the state and of parameters."""
        tangent = self.at(state, step, parameters)
        changes = tangent.by_state @ directions
        changes[:, changes.shape[1] - tangent.by_parameter.shape[1] :] += tangent.by_parameter
        return tangent.end, changes

    def end(self, state: StepState, step: float, ctrl: np.ndarray | None = None) -> StepState:
        """Take a step of this size from a state; the end is the world's current state.

        Not by error control, and with the controls that there are, unless others are given.
        """
        simulator = self._simulator
        world = simulator.session.world
        current = world.current.table
        if np.array_equal(current.qpos, state.qpos) and np.array_equal(current.qvel, state.qvel):
            # Otherwise the step would go on from those before, which are not part of the state.
            simulator.session.method.base.restart(world)
        current.time = state.time
        state.write(current)
        current.valid = 0
        if ctrl is not None:
            self._write_controls(ctrl)
        world.forget_solutions()
        stepping = Fixed(step)
        while True:
            simulator.session.method.base.begin(world)
            code = stepping.advance(world, simulator.session.method, state.time + step, 1)
            simulator.session.method.base.end(world)
            if code == OK or not world.grow(code):
                break
        if code != OK:
            raise SimulationError(f"a displaced step of {step} s failed: {reason_of(code)}")
        return replace(StepState.read(current, simulator.model), time=state.time + step)

    def _write_controls(self, ctrl: np.ndarray) -> None:
        for one in self._simulator.session.world.evaluated_states:
            one.data.ctrl[:] = ctrl
