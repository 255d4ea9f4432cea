"""Trajectories of many worlds and their gradients: one transition, a batch of states and controls.

Forward, fixed steps of `Icf`, `Sap` and `Tamsi` are rolled out as `asperity.Batch` advances worlds,
by compiled code on all threads, with the solver's tolerances tightened to what derivatives are
taken of. Other integrators' worlds, and all gradients, are shared out to threads, each of which has
a transition of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any

import mujoco
import numpy as np

from asperity.derivatives.parameters.parameters import apply_parameters
from asperity.derivatives.pull_back import pull_back_trajectory
from asperity.derivatives.transition import Transition, require_finite
from asperity.errors import SimulationError, Status
from asperity.integrators import Integrator
from asperity.simulator.checks import check_threads
from asperity.worlds.rollout_arrays import resolve_arrays
from asperity.worlds.rollouts import run_rollouts

__all__ = ["TransitionWorlds", "total_of", "worlds_of_transition"]

_INPUTS = int(mujoco.mjtState.mjSTATE_USER)
_CTRL = int(mujoco.mjtState.mjSTATE_CTRL)

# Options of solvers, if an integrator has them, with which the steps of a rollout agree with those
# that derivatives are taken of.
_TIGHT: dict[str, Any] = {
    "tolerance": 1e-11,
    "friction_tolerance": 1e-9,
    "friction_passes": 100,
    "max_iterations": 500,
}

Gradients = tuple[np.ndarray, np.ndarray, np.ndarray]


def _tight(integrator: Integrator) -> Integrator:
    """The integrator with tight tolerances."""
    names = {field.name for field in fields(integrator)}  # type: ignore[arg-type]
    gliding = getattr(integrator, "gliding", False)
    if gliding or getattr(integrator, "friction_bound", "delivered") != "delivered":
        names -= {"friction_tolerance", "friction_passes"}  # refused where bounds do not change
    changes = {name: value for name, value in _TIGHT.items() if name in names}
    return replace(integrator, **changes)  # type: ignore[type-var]


class TransitionWorlds:
    """A transition over a batch of worlds.

    Parameters
    ----------
    transition : Transition
        Whose parameters all worlds share.
    threads : int, optional
        As many as this process may run at once by default.
    """

    def __init__(self, transition: Transition, threads: int | None = None) -> None:
        self.transition = transition
        self.threads = check_threads(threads, "a batch", shared=True)
        self._copies: list[Transition] = [transition]
        self._model: mujoco.MjModel | None = None
        self._values: np.ndarray | None = None

    def trajectories(self, states: np.ndarray, controls: np.ndarray) -> np.ndarray:
        """States after every transition of every world, and the first ones.

        Parameters
        ----------
        states : numpy.ndarray
            First states, shape (worlds, state_size).
        controls : numpy.ndarray
            Shape (worlds, n, nu).

        Returns
        -------
        numpy.ndarray
            Shape (worlds, n+1, state_size).

        Raises
        ------
        SimulationError
            If a world's step has no solution; it names the world.
        """
        transition = self.transition
        states = np.asarray(states, np.float64)
        controls = np.asarray(controls, np.float64)
        for name, one in (("states", states), ("controls", controls)):
            require_finite(name, one)
        if transition.steps_are_rolled_out and len(states) > 1:
            return self._rolled_out(states, controls)
        runs = self._share(
            lambda own, world: own.trajectory(states[world], controls[world]), len(states)
        )
        return np.array(runs).reshape(len(states), controls.shape[1] + 1, transition.state_size)

    def pull_back_trajectories(
        self, runs: np.ndarray, controls: np.ndarray, gradients: np.ndarray
    ) -> list[Gradients]:
        """Gradients by first state, controls and parameters of those by every world's states."""
        return self._share(
            lambda own, world: pull_back_trajectory(
                own, runs[world], controls[world], gradients[world]
            ),
            len(runs),
        )

    def _rolled_out(self, states: np.ndarray, controls: np.ndarray) -> np.ndarray:
        transition = self.transition
        worlds, steps = controls.shape[:2]
        model, contact = self._model_now()
        initial = np.zeros((worlds, 1 + transition.state_size))
        initial[:, 1:] = states
        inputs = np.tile(transition.inputs, (worlds, steps, 1))
        # MuJoCo writes the inputs in the order of their bits.
        first = 0
        if mujoco.mj_stateSize(model, _CTRL) > 0:
            for bit in range(_CTRL.bit_length() - 1):
                if _INPUTS & 1 << bit:
                    first += mujoco.mj_stateSize(model, 1 << bit)
            inputs[:, :, first : first + model.nu] = controls
        arrays = resolve_arrays([model], initial, inputs, _INPUTS, steps, None, None)
        status = run_rollouts([model], arrays, _tight(transition.integrator), contact, self.threads)
        for world, code in enumerate(status):
            if Status(int(code)) is not Status.SUCCESS:
                raise SimulationError(
                    f"a step of world {world} has no solution; take smaller steps."
                )
        result = np.empty((worlds, steps + 1, transition.state_size))
        result[:, 0] = states
        result[:, 1:] = arrays.state[:, :, 1:]
        return result

    def _model_now(self) -> tuple[mujoco.MjModel, Any]:
        """The model and contact parameters with the transition's present values."""
        transition = self.transition
        values = transition.values
        known = self._values
        if self._model is None or known is None or not np.array_equal(values, known):
            self._model, self._contact = apply_parameters(
                transition.model, transition.contact, transition.parameters, values
            )
            self._values = values
        assert self._model is not None
        return self._model, self._contact

    def _share(self, work: Callable[[Transition, int], Any], count: int) -> list[Any]:
        """Results of work for every world, on threads."""
        threads = min(self.threads, count)
        if threads <= 1:
            return [work(self.transition, world) for world in range(count)]
        while len(self._copies) < threads:
            self._copies.append(self.transition.copy())
        values = self.transition.values
        results: list[Any] = [None] * count

        def run(number: int) -> None:
            own = self._copies[number]
            own.set_parameters(values)
            for world in range(number, count, threads):
                results[world] = work(own, world)

        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(run, number) for number in range(threads)]:
                done.result()
        return results


def worlds_of_transition(transition: Transition) -> TransitionWorlds:
    """The worlds of a transition, kept with it."""
    worlds = transition.__dict__.get("_worlds")
    if worlds is None:
        worlds = transition.__dict__["_worlds"] = TransitionWorlds(transition)
    assert isinstance(worlds, TransitionWorlds)
    return worlds


def total_of(parts: Sequence[Gradients]) -> np.ndarray:
    """Gradient by parameters, which all worlds share."""
    return np.sum([part[2] for part in parts], axis=0)
