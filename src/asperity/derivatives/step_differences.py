"""Central differences of whole steps, for methods without an implicit derivative.

Every displaced step has the size of the step itself. The solvers work to their own tolerance, which
bounds what the differences are worth.
"""

from __future__ import annotations

from typing import Protocol

import mujoco
import numpy as np

from asperity.derivatives.tangent import DIFFERENCES, StepState, Tangent
from asperity.errors import SimulationError
from asperity.integrators.steppings.stepping import Fixed
from asperity.integrators.world_layout import OK
from asperity.simulator import Simulator

__all__ = ["StepDifferences", "difference"]

# Displacement of states [m, rad, m/s, rad/s] and of inputs.
_SIZE = 1e-6
_INPUT_SIZE = 1e-4


class ParameterChanges(Protocol):
    """What makes derivatives of whole steps by parameters."""

    def changes(self, state: StepState, step: float, ctrl: np.ndarray) -> np.ndarray:
        """Derivatives of a step's end from this state, shape (2nv+na, parameters)."""
        ...


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
        self, state: StepState, step: float, parameters: ParameterChanges | None = None
    ) -> Tangent:
        """Take a step of this size from a state, with its derivatives."""
        simulator = self._simulator
        model, data = simulator.model, simulator.world.current.data
        nv, na, nu = model.nv, model.na, model.nu
        ctrl = data.ctrl.copy()
        end = self._step(state, step, ctrl)
        columns = np.zeros((2 * nv + na + nu, 2 * nv + na))
        for index in range(2 * nv + na + nu):
            size = _SIZE if index < 2 * nv + na else _INPUT_SIZE
            sides = [
                self._step(*self._displaced(state, ctrl, index, sign * size, step))
                for sign in (1.0, -1.0)
            ]
            columns[index] = difference(model, sides[1], sides[0]) / (2.0 * size)
        self._write_controls(ctrl)
        matrix = columns.T
        inner = 2 * nv + na
        return Tangent(
            end,
            matrix[:, :inner],
            matrix[:, inner:],
            np.zeros((inner, 0)) if parameters is None else parameters.changes(state, step, ctrl),
            (step,),
            DIFFERENCES,
            0.0,
            0,
            0,
        )

    def take(self, state: StepState, step: float, ctrl: np.ndarray | None = None) -> StepState:
        """Take a step of this size from a state; the end is the world's current state.

        With the controls that there are, unless others are given.
        """
        if ctrl is None:
            ctrl = self._simulator.world.current.data.ctrl.copy()
        return self._step(state, step, ctrl)

    def _displaced(
        self, state: StepState, ctrl: np.ndarray, index: int, size: float, step: float
    ) -> tuple[StepState, float, np.ndarray]:
        model = self._simulator.model
        nv, na = model.nv, model.na
        qpos, qvel, act, ctrl = (one.copy() for one in (state.qpos, state.qvel, state.act, ctrl))
        if index < nv:
            unit = np.zeros(nv)
            unit[index] = size
            mujoco.mj_integratePos(model, qpos, unit, 1.0)
        elif index < 2 * nv:
            qvel[index - nv] += size
        elif index < 2 * nv + na:
            act[index - 2 * nv] += size
        else:
            ctrl[index - 2 * nv - na] += size
        return StepState(state.time, qpos, qvel, act), step, ctrl

    def _write_controls(self, ctrl: np.ndarray) -> None:
        world = self._simulator.world
        for one in world.evaluated_states:
            one.data.ctrl[:] = ctrl

    def _step(self, state: StepState, step: float, ctrl: np.ndarray) -> StepState:
        """The end of a step; in the simulator, and not by its error control."""
        simulator = self._simulator
        world = simulator.world
        current = world.current.table
        current.time = state.time
        for name in ("qpos", "qvel", "act"):
            getattr(current, name)[:] = getattr(state, name)
        current.valid = 0
        self._write_controls(ctrl)
        world.forget_solutions()
        stepping = Fixed(step)
        while True:
            simulator.method.base.begin(world)
            code = stepping.advance(world, simulator.method, state.time + step, 1)
            simulator.method.base.end(world)
            if code == OK or not world.grow(code):
                break
        if code != OK:
            raise SimulationError(f"a displaced step of {step} s failed (code {code}).")
        return StepState(
            state.time + step, current.qpos.copy(), current.qvel.copy(), current.act.copy()
        )


def difference(model: mujoco.MjModel, first: StepState, second: StepState) -> np.ndarray:
    """second ⊖ first."""
    positions = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, positions, 1.0, first.qpos, second.qpos)
    return np.concatenate([positions, second.qvel - first.qvel, second.act - first.act])
