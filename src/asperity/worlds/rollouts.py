"""Open-loop rollouts of many worlds, called like ``mujoco.rollout.rollout``."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from asperity.compiled.team import available_threads
from asperity.errors import ArgumentError, Status, warn_user
from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters, contact_key
from asperity.plant.model.derived_bounds import update_bounds
from asperity.simulator.checks import check_contact, check_count, check_integrator, check_model
from asperity.systems import ExternalSystem
from asperity.worlds.compiled_worlds import CompiledWorlds
from asperity.worlds.crew import Crew
from asperity.worlds.kinds import AnyWorlds, make_worlds
from asperity.worlds.rollout_arrays import RolloutArrays, resolve_arrays
from asperity.worlds.world_rows import WorldRows

__all__ = ["as_models", "rollout", "run_rollouts", "warn_of_failures"]

_CTRL = int(mujoco.mjtState.mjSTATE_CTRL)


def rollout(
    model: mujoco.MjModel | Sequence[mujoco.MjModel],
    initial_state: ArrayLike,
    control: ArrayLike | None = None,
    *,
    control_spec: int = _CTRL,
    integrator: Integrator | None = None,
    contact: ContactParameters | None = None,
    nstep: int | None = None,
    threads: int | None = None,
    state: np.ndarray | None = None,
    sensordata: np.ndarray | None = None,
    systems: Sequence[ExternalSystem] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Roll out worlds from initial states with given controls, on a pool of threads.

    Arguments and results are those of ``mujoco.rollout.rollout``, without its ``data``, of which
    none is needed. Axes of length 1, or missing ones at the front, are repeated.

    Parameters
    ----------
    model : mujoco.MjModel, or a sequence of them
        One for all worlds, or one each, with states, controls and sensors of the same sizes.
    initial_state : array_like, shape (nbatch or 1, nstate)
        Of ``mjSTATE_FULLPHYSICS``: time, positions, velocities, activations, delays.
    control : array_like, optional, shape (nbatch or 1, nstep or 1, ncontrol)
        Inputs held over each step; zero by default.
    control_spec : int
        Bits of ``mjtState`` that say what ``control`` holds: those of ``mjSTATE_USER``; controls by
        default.
    integrator : Integrator
        ``Cenic(accuracy=1e-3)`` by default. A step is its fixed one, or the model's ``timestep``.
    contact : ContactParameters, optional
        As for `Simulator`.
    nstep : int, optional
        Number of steps; that of ``control`` by default.
    threads : int, optional
        As many as this process may run at once by default.
    state, sensordata : ndarray, optional
        Where results are written, shapes as returned.
    systems : sequence of ExternalSystem
        As for `Simulator`. Every world gets copies, which begin in their initial states.

    Returns
    -------
    state : ndarray, shape (nbatch, nstep, nstate)
        After every step.
    sensordata : ndarray, shape (nbatch, nstep, nsensordata)
        Of these states; MuJoCo's are those of the states before each step.

    Raises
    ------
    ArgumentError, ModelError
        If an array has a wrong shape, or a model cannot be simulated. It is a ``ValueError``.

    Warns
    -----
    AsperityWarning
        If worlds have failed, or were given what is not finite: the rest of their results repeats
        their last state. The others have gone on.

    Notes
    -----
    Every world does what a `Simulator` would do that is told the controls step by step, to the bit.
    What it takes to advance a model's worlds is kept for the next call with the same model and
    options.
    """
    models = as_models(model)
    arrays = resolve_arrays(
        models, initial_state, control, int(control_spec), nstep, state, sensordata
    )
    status = run_rollouts(models, arrays, integrator, contact, threads, systems)
    warn_of_failures(status)
    return arrays.state, arrays.sensordata


def run_rollouts(
    models: list[mujoco.MjModel],
    arrays: RolloutArrays,
    integrator: Integrator | None,
    contact: ContactParameters | None,
    threads: int | None,
    systems: Sequence[ExternalSystem] = (),
) -> np.ndarray:
    """Fill the results of rollouts; returns the status of every world.

    Parameters
    ----------
    models : list of mujoco.MjModel
        One, or one for each world.
    arrays : RolloutArrays
    integrator, contact, threads, systems
        As for `rollout`.

    Raises
    ------
    ArgumentError, ModelError
        As by `rollout`.
    """
    integrator, contact = check_integrator(integrator, many=True), check_contact(contact)
    number = available_threads() if threads is None else check_count("threads", threads)
    for one in {id(one): one for one in models}.values():
        check_model(one, integrator, many=True)
        update_bounds(one)
    status = np.zeros(arrays.worlds, np.int64)
    groups = _groups(models, arrays.worlds)
    if len(groups) == 1:
        _roll(*groups[0], arrays, status, integrator, contact, number, systems)
        return status
    # Every model is one thread's.
    with ThreadPoolExecutor(min(number, len(groups))) as pool:
        done = [
            pool.submit(_roll, *group, arrays, status, integrator, contact, 1, systems)
            for group in groups
        ]
        for one in done:
            one.result()
    return status


def as_models(model: Any) -> list[mujoco.MjModel]:
    """Models of rollouts as a list; refuses anything else."""
    models = [model] if isinstance(model, mujoco.MjModel) else model
    if not isinstance(models, Sequence) or isinstance(models, str) or len(models) == 0:
        raise ArgumentError(
            f"model must be a mujoco.MjModel, or a sequence of them, got {model!r}."
        )
    for number, one in enumerate(models):
        if not isinstance(one, mujoco.MjModel):
            raise ArgumentError(
                f"model[{number}] must be a mujoco.MjModel, got {type(one).__name__}."
            )
    return list(models)


def _groups(models: list[mujoco.MjModel], count: int) -> list[tuple[mujoco.MjModel, np.ndarray]]:
    """Models, each with the numbers of its worlds."""
    if len(models) == 1:
        return [(models[0], np.arange(count))]
    numbers: dict[int, list[int]] = {}
    for w, one in enumerate(models):
        numbers.setdefault(id(one), []).append(w)
    return [(models[first[0]], np.array(first)) for first in numbers.values()]


def _roll(
    model: mujoco.MjModel,
    worlds: np.ndarray,
    arrays: RolloutArrays,
    status: np.ndarray,
    integrator: Integrator,
    contact: ContactParameters,
    threads: int,
    systems: Sequence[ExternalSystem],
) -> None:
    """Roll out the worlds of one model."""
    rows = WorldRows(model, len(worlds))
    rows.write(np.arange(len(worlds)), mujoco.MjData(model))
    initial = arrays.initial_state[worlds if len(arrays.initial_state) > 1 else [0] * len(worlds)]
    rows.values[:, : initial.shape[1]] = initial
    # Results go where they belong at once if these are all the worlds there are.
    every = len(worlds) == arrays.worlds
    state = arrays.state if every else arrays.state[worlds]
    sensordata = arrays.sensordata if every else arrays.sensordata[worlds]
    inputs = arrays.inputs
    if not every and len(inputs) > 1:
        inputs = np.ascontiguousarray(inputs[worlds])
    state[:] = initial[:, None]
    sensordata[:] = np.nan
    step = integrator.time_step
    with _KEPT.lend(model, integrator, contact, threads, systems) as kept:
        kept.adopt(rows, keeps_results=False)
        kept.advance(
            rows,
            np.arange(len(worlds)),
            arrays.nstep,
            float(model.opt.timestep) if step is None else step,
            publishes=model.nsensordata > 0,
            rollout={
                "state": state,
                "sensordata": sensordata,
                "inputs": inputs,
                "input_bits": arrays.input_bits,
                "controls": arrays.controls,
            },
        )
    status[worlds] = rows.arrays["status"]
    if not every:
        arrays.state[worlds] = state
        arrays.sensordata[worlds] = sensordata


def warn_of_failures(status: np.ndarray) -> None:
    """Say which worlds have failed; to be called by what users call."""
    failed = np.flatnonzero(status != Status.SUCCESS)
    if len(failed):
        named = ", ".join(str(w) for w in failed[:5]) + (", …" if len(failed) > 5 else "")
        warn_user(
            f"{len(failed)} of {len(status)} rollouts have ended early ({named}) and repeat their "
            f"last state. {failed[0]}: {Status(int(status[failed[0]])).message}"
        )


class _Kept:
    """What advances worlds of a few models, kept between calls, for one caller at a time."""

    _MOST = 4

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[tuple[tuple[Any, ...], mujoco.MjModel, CompiledWorlds]] = []

    @contextlib.contextmanager
    def lend(
        self,
        model: mujoco.MjModel,
        integrator: Integrator,
        contact: ContactParameters,
        threads: int,
        systems: Sequence[ExternalSystem],
    ) -> Iterator[AnyWorlds]:
        """One that is kept, up to date with the model, or a new one.

        It is kept for the next call if it is compiled; the one that was not used for longest goes.
        """
        options = (integrator, contact_key(contact), threads)
        found: AnyWorlds | None = None
        with self._lock:
            for place, (known, its_model, worlds) in enumerate(self._kept):
                if its_model is model and known == options and len(systems) == 0:
                    found = worlds
                    del self._kept[place]
                    break
        if found is None:
            tolerance = integrator.default_joint_stiction_tolerance
            found = make_worlds(model, integrator, contact, tolerance, Crew(threads), systems)
        else:
            found.follow_model()
        try:
            yield found
        finally:
            if isinstance(found, CompiledWorlds):
                with self._lock:
                    self._kept.insert(0, (options, model, found))
                    del self._kept[self._MOST :]


_KEPT = _Kept()
