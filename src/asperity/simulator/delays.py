"""Delays of controls and sensors: what MuJoCo reads from history is written there before a step.

As ``mj_step`` does, a step at time t first notes the controls and sensor values of t; forces and
published sensors then are by those of t minus their delay. MuJoCo's buffers hold as many samples as
the model says, for steps of its own time step: shorter ones note no more often, but for a control
that changes. Where steps are longer, such a control is noted twice, as it was one time step before
and as it is.

Steps under error control end where a control that has changed begins to act. No estimate sees what
comes after the middle of a step.
"""

from __future__ import annotations

import ctypes

import mujoco
import numpy as np

from asperity.plant import native
from asperity.plant.model.own_options import OwnOptions
from asperity.simulator.exchange import publish_session
from asperity.simulator.session import Session

__all__ = ["next_arrival", "note_samples"]

# Part of the time step by which a sample may come early.
_EARLY = 1e-6
_INSERT = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_double
)


def note_samples(session: Session) -> None:
    """Note what is to act or to be read later, of the session's present state."""
    model, data = session.model, session.data
    for i in np.flatnonzero(model.actuator_history[:, 0]):
        first = model.actuator_ctrladr[i]
        values = data.ctrl[first : first + model.actuator_ctrlnum[i]]
        at = int(model.actuator_historyadr[i])
        delay = float(model.actuator_delay[i])
        _note(model, data, at, model.actuator_history[i, 0], values, delay)
    sensors = np.flatnonzero(model.sensor_history[:, 0])
    if len(sensors):
        present = _present_values(session)
        for i in sensors:
            interval, at = float(model.sensor_interval[i, 0]), int(model.sensor_historyadr[i])
            if interval > 0.0:
                # The buffer's first number is when the last sample was due.
                if data.history[at] + interval > data.time:
                    continue
                data.history[at] += interval
            first = model.sensor_adr[i]
            values = present[first : first + model.sensor_dim[i]]
            _note(model, data, at, model.sensor_history[i, 0], values)
    for state in session.world.evaluated_states:
        if state.data is not data:
            state.data.history[:] = data.history
    session.inputs.remember()


def next_arrival(session: Session) -> float:
    """When a control that has changed begins to act next [s]; infinity if none is on its way."""
    model, data = session.model, session.data
    soonest = np.inf
    for i in np.flatnonzero(model.actuator_delay):
        samples, interpolation = model.actuator_history[i]
        first, delay = model.actuator_historyadr[i] + 2, model.actuator_delay[i]
        times = data.history[first : first + samples]
        order = np.argsort(times)
        values = data.history[first + samples :][: samples * model.actuator_ctrlnum[i]]
        rows = values.reshape(samples, -1)[order]
        changed = np.any(rows[1:] != rows[:-1], axis=1)
        kinks = times[order][1:][changed]
        if interpolation:
            kinks = np.append(kinks, times[order][:-1][changed])
        coming = kinks[kinks > data.time - delay]
        if len(coming):
            soonest = min(soonest, float(coming.min() + delay) + _EARLY * model.opt.timestep)
    return soonest


def _note(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    at: int,
    samples: int,
    values: np.ndarray,
    delay: float | None = None,
) -> None:
    """Put values into the buffer that begins at ``at``, unless the last ones are too recent.

    Those with a ``delay`` [s] are held until they change. Then the last ones are put there once
    more, and recent ones make way where the buffer would no longer reach back as far.
    """
    buffer = data.history[at:]
    last, step = int(buffer[1]), model.opt.timestep
    noted = float(buffer[2 + last])
    age, time = data.time - noted, data.time
    size = int(np.size(values))
    before = buffer[2 + samples + last * size :][:size].copy()
    changes = delay is not None and bool(np.any(before != values))
    if 0.0 < age < (1.0 - _EARLY) * step:
        if not changes:
            return
        reaches = np.partition(buffer[2 : 2 + samples], 1)[1] if samples > 1 else np.inf
        if delay is not None and reaches > time - delay:
            time = noted
    elif changes and age > (2.0 - _EARLY) * step:
        _insert(buffer, samples, time - step, before)
    _insert(buffer, samples, time, values)


def _insert(buffer: np.ndarray, samples: int, time: float, values: np.ndarray) -> None:
    size = int(np.size(values))
    insert = _INSERT(native.function_address("mju_historyInsert"))
    place = insert(buffer.ctypes.data, int(samples), size, time)
    (ctypes.c_double * size).from_address(place)[:] = np.atleast_1d(values).tolist()


def _present_values(session: Session) -> np.ndarray:
    """What all sensors would read without delay: those of a model that has none."""
    own_options = OwnOptions(session.model)
    without = np.zeros_like(session.model.sensor_history)
    with own_options as undelayed:
        own_options.replace("sensor_history", without)
        publish_session(session, sensed=undelayed)
    return np.array(session.data.sensordata)
