"""Arguments of rollouts: their shapes, as those of ``mujoco.rollout.rollout``."""

from __future__ import annotations

from typing import Any, NamedTuple

import mujoco
import numpy as np

from asperity.arguments import as_array, is_count
from asperity.errors import ArgumentError, ModelError
from asperity.simulator.state_vector import STATE_BITS

__all__ = ["ROLLOUT_BITS", "RolloutArrays", "resolve_arrays"]

_STATE = mujoco.mjtState
_FULL = int(_STATE.mjSTATE_FULLPHYSICS)
_USER = int(_STATE.mjSTATE_USER)
_CTRL = int(_STATE.mjSTATE_CTRL)

ROLLOUT_BITS = STATE_BITS | int(_STATE.mjSTATE_HISTORY)
"""Which states rollouts have: what is on its way goes with the others."""


class RolloutArrays(NamedTuple):
    """Arguments of a rollout, checked.

    Attributes
    ----------
    worlds, nstep : int
        Number of worlds, and of steps.
    initial_state : ndarray, shape (worlds or 1, nstate)
    inputs : ndarray, shape (worlds or 1, nstep or 1, ncontrol)
    input_bits, controls : int
        Which inputs these are, and how many of them are controls, which come first.
    state, sensordata : ndarray, shapes (worlds, nstep, nstate) and (worlds, nstep, nsensordata)
        Where results go.
    """

    worlds: int
    nstep: int
    initial_state: np.ndarray
    inputs: np.ndarray
    input_bits: int
    controls: int
    state: np.ndarray
    sensordata: np.ndarray


def resolve_arrays(
    models: list[mujoco.MjModel],
    initial_state: Any,
    control: Any,
    control_spec: int,
    nstep: int | None,
    state: Any,
    sensordata: Any,
) -> RolloutArrays:
    """Check arguments of a rollout, infer sizes, and make what is missing.

    Raises
    ------
    ArgumentError
        Which names the argument.
    """
    if control_spec & ~_USER:
        raise ArgumentError(
            f"control_spec {control_spec} has bits that mjSTATE_USER, {_USER}, does not have; add "
            "up members of it, such as mjSTATE_CTRL."
        )
    if control is None and control_spec != int(mujoco.mjtState.mjSTATE_CTRL):
        raise ArgumentError(
            "control_spec says what control holds, and there is none; pass control, or omit "
            "control_spec."
        )
    if nstep is not None and not (is_count(nstep) and nstep >= 0):
        raise ArgumentError(f"nstep must be a whole number of steps, got {nstep!r}.")
    sizes = [_sizes(model, control_spec) for model in models]
    for number, one in enumerate(sizes):
        if one != sizes[0]:
            raise ArgumentError(
                f"model[{number}] has other sizes of state, controls or sensors than model[0], "
                f"{one} and {sizes[0]}; roll them out one after the other."
            )
    nstate, ncontrol, nsensordata = sizes[0]
    if nstate != mujoco.mj_stateSize(models[0], ROLLOUT_BITS):
        raise ModelError(
            "the model has states besides time, positions, velocities, activations and delays (of "
            "plugins or plastic joints), which rollouts do not have."
        )
    given = {
        "initial_state": _with_axes("initial_state", initial_state, 2, nstate),
        "control": _with_axes("control", control, 3, ncontrol),
        "state": _with_axes("state", state, 3, nstate),
        "sensordata": _with_axes("sensordata", sensordata, 3, nsensordata),
    }
    count = _length(0, None if len(models) == 1 else len(models), given, "worlds")
    steps = {name: given[name] for name in ("control", "state", "sensordata")}
    length = _length(1, None if nstep is None else int(nstep), steps, "steps")
    inputs, start = given["control"], given["initial_state"]
    if start is None:
        raise ArgumentError("initial_state must be given, one for each world or one for all.")
    return RolloutArrays(
        count,
        length,
        start,
        np.zeros((1, 1, 0)) if inputs is None else inputs,
        0 if inputs is None else control_spec,
        0 if inputs is None else mujoco.mj_stateSize(models[0], control_spec & _CTRL),
        _result("state", state, (count, length, nstate)),
        _result("sensordata", sensordata, (count, length, nsensordata)),
    )


def _sizes(model: mujoco.MjModel, control_spec: int) -> tuple[int, int, int]:
    return (
        mujoco.mj_stateSize(model, _FULL),
        mujoco.mj_stateSize(model, control_spec),
        int(model.nsensordata),
    )


def _with_axes(name: str, values: Any, ndim: int, last: int) -> np.ndarray | None:
    """Values as an array with so many axes, missing ones before the others."""
    if values is None:
        return None
    array = as_array(name, values)
    if array.ndim > ndim:
        axes = ("worlds", "steps", "values") if ndim == 3 else ("worlds", "values")
        raise ArgumentError(f"{name} must have the axes {', '.join(axes)}; got {array.shape}.")
    array = np.ascontiguousarray(array.reshape((1,) * (ndim - array.ndim) + array.shape))
    if array.shape[-1] != last:
        raise ArgumentError(f"the last axis of {name} must be {last} long, got {array.shape[-1]}.")
    return array


def _length(axis: int, known: int | None, given: dict[str, np.ndarray | None], what: str) -> int:
    """Length of an axis along which arrays of length 1 are repeated."""
    wanted = None if known == 1 else known
    for name, array in given.items():
        if array is None or array.shape[axis] == 1:
            continue
        if wanted is not None and array.shape[axis] != wanted:
            raise ArgumentError(
                f"{name} is for {array.shape[axis]} {what}, and other arguments are for {wanted}; "
                f"give as many, or one for all."
            )
        wanted = array.shape[axis]
    return 1 if wanted is None else wanted


def _result(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    if given is None:
        return np.empty(shape)
    if not isinstance(given, np.ndarray) or given.dtype != np.float64:
        raise ArgumentError(f"{name} must be an array of float64, got {type(given).__name__}.")
    if given.shape != shape or not given.flags.c_contiguous or not given.flags.writeable:
        raise ArgumentError(
            f"{name} must be a C-contiguous, writeable array of shape {shape}, got {given.shape}."
        )
    return given
