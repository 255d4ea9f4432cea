"""Rollouts whose worlds are split over the machines of a Ray cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from asperity.arguments import is_count
from asperity.distributed.shares import Progress, cluster_cpus, do_shares, keep
from asperity.errors import ArgumentError
from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.systems import ExternalSystem
from asperity.worlds.rollout_arrays import RolloutArrays, resolve_arrays
from asperity.worlds.rollouts import as_models, run_rollouts, warn_of_failures

__all__ = ["rollout"]

_CTRL = int(mujoco.mjtState.mjSTATE_CTRL)

# Shares per processor: with more of them less is lost with a worker and no processor waits long for
# the last one; with fewer, less is sent.
_PER_PROCESSOR = 4


def rollout(
    model: mujoco.MjModel | Sequence[mujoco.MjModel],
    initial_state: ArrayLike,
    control: ArrayLike | None = None,
    *,
    control_spec: int = _CTRL,
    integrator: Integrator | None = None,
    contact: ContactParameters | None = None,
    nstep: int | None = None,
    threads: int = 1,
    share: int | None = None,
    progress: Progress = True,
    systems: Sequence[ExternalSystem] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Roll out worlds as `asperity.rollout` does, on all machines of a Ray cluster.

    The cluster is that to which the program is connected (``ray.init``), or that of the environment
    variable ``RAY_ADDRESS``, or else one of this machine alone, which is started.

    Parameters
    ----------
    model, initial_state, control, control_spec, integrator, contact, nstep, systems
        As for `asperity.rollout`.
    threads : int
        Processors that a share of the worlds takes.
    share : int, optional
        Worlds of a share; by default there are four shares for every processor of the cluster.
    progress : bool or callable
        Whether a progress bar is shown, or what to call with the number of shares that are done,
        and of all.

    Returns
    -------
    state, sensordata : ndarray
        As of `asperity.rollout`: to the bit, whatever the number of machines and of shares, on
        processors of the same kind.

    Raises
    ------
    ArgumentError, ModelError, MissingExtra
        As by `asperity.rollout`, or if Ray is not installed.
    SimulationError
        If a share was lost with six workers, one after the other. Till then it is done again.

    Warns
    -----
    AsperityWarning
        As by `asperity.rollout`.
    """
    models = as_models(model)
    arrays = resolve_arrays(models, initial_state, control, int(control_spec), nstep, None, None)
    if share is not None and not (is_count(share) and share >= 1):
        raise ArgumentError(f"share must be a positive whole number of worlds, got {share!r}.")
    count = arrays.worlds
    if share is None:
        share = max(1, -(-count * int(threads) // (_PER_PROCESSOR * cluster_cpus())))
    firsts = list(range(0, count, int(share)))
    one_model = keep(models[0]) if len(models) == 1 else None
    options = keep((integrator, contact, systems))
    shares = [
        (
            models[first : first + int(share)] if one_model is None else one_model,
            _part(arrays, first, min(first + int(share), count)),
            options,
            int(threads),
        )
        for first in firsts
    ]
    status = np.zeros(count, np.int64)
    for number, found in do_shares(_roll, shares, cpus=threads, progress=progress, what="Rollouts"):
        first = firsts[number]
        worlds = slice(first, min(first + int(share), count))
        arrays.state[worlds], arrays.sensordata[worlds], status[worlds] = found
    warn_of_failures(status)
    return arrays.state, arrays.sensordata


def _part(arrays: RolloutArrays, first: int, last: int) -> RolloutArrays:
    """The arguments of some of the worlds, without memory for results."""
    nothing = np.zeros((0, 0, 0))
    return arrays._replace(
        worlds=last - first,
        initial_state=_rows(arrays.initial_state, first, last),
        inputs=_rows(arrays.inputs, first, last),
        state=nothing,
        sensordata=nothing,
    )


def _rows(array: np.ndarray, first: int, last: int) -> np.ndarray:
    return array[first:last] if len(array) > 1 else array


def _roll(
    model: Any, arrays: RolloutArrays, options: Any, threads: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Roll out a share, in a worker."""
    models = as_models(model)
    integrator, contact, systems = options
    nstate, nsensordata = arrays.initial_state.shape[1], models[0].nsensordata
    arrays = arrays._replace(
        # Arrays that Ray hands over are read-only.
        initial_state=arrays.initial_state.copy(),
        inputs=arrays.inputs.copy(),
        state=np.empty((arrays.worlds, arrays.nstep, nstate)),
        sensordata=np.empty((arrays.worlds, arrays.nstep, nsensordata)),
    )
    status = run_rollouts(models, arrays, integrator, contact, threads, systems)
    return arrays.state, arrays.sensordata, status
