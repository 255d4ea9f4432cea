"""Delays of controls and sensors: what MuJoCo reads from history is written there before a step.

As ``mj_step`` does, a step at time t first notes the controls and sensor values of t; forces and
published sensors then are by those of t minus their delay. MuJoCo's buffers hold as many samples as
the model says, for steps of its own time step: shorter ones note no more often.
"""

from __future__ import annotations

import ctypes

import mujoco
import numpy as np

from asperity.plant import native
from asperity.plant.model.own_options import OwnOptions
from asperity.simulator.exchange import publish_session
from asperity.simulator.session import Session

__all__ = ["note_samples"]

# Part of the time step by which a sample may come early.
_EARLY = 1e-6
_INSERT = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_double
)


def note_samples(session: Session) -> None:
    """Note what is to act or to be read later, of the session's present state."""
    model, data = session.model, session.data
    for i in np.flatnonzero(model.actuator_history[:, 0]):
        value = data.ctrl[model.actuator_ctrladr[i]]
        _note(model, data, int(model.actuator_historyadr[i]), model.actuator_history[i, 0], value)
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


def _note(
    model: mujoco.MjModel, data: mujoco.MjData, at: int, samples: int, values: np.ndarray
) -> None:
    """Put values into the buffer that begins at ``at``, unless the last ones are too recent."""
    buffer = data.history[at:]
    newest = float(buffer[2 + int(buffer[1])])
    if 0.0 < data.time - newest < (1.0 - _EARLY) * model.opt.timestep:
        return
    size = int(np.size(values))
    insert = _INSERT(native.function_address("mju_historyInsert"))
    place = insert(buffer.ctypes.data, int(samples), size, data.time)
    (ctypes.c_double * size).from_address(place)[:] = np.atleast_1d(values).tolist()


def _present_values(session: Session) -> np.ndarray:
    """What all sensors would read without delay: those of a model that has none."""
    own_options = OwnOptions(session.model)
    without = np.zeros_like(session.model.sensor_history)
    with own_options as undelayed:
        own_options.replace("sensor_history", without)
        publish_session(session, sensed=undelayed)
    return np.array(session.data.sensordata)
