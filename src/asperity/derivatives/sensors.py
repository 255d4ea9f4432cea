"""Derivatives of sensors at a transition's beginning.

Most sensors have them in closed form, other sensors of positions and velocities are differences of
kinematics. For what else there is a step begins at every displaced state, solved to round-off or as
far as the integrator's solver gets: for sensors of forces with pressure fields, surfaces that move
by themselves, laws that ask for inverse masses, where pieces of laws meet, and if bodies feel more
than contacts.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.derivatives.actuator_sensors import ACTUATOR_SENSORS, actuator_force_rows
from asperity.derivatives.force_sensors import FORCE_SENSORS, force_rows
from asperity.derivatives.sensor_jacobians import closed_rows
from asperity.derivatives.step_derivative import StepDerivative, read_state
from asperity.derivatives.step_differences import solved_tightly
from asperity.derivatives.tangent import StepState, Tangent, tangent_size
from asperity.derivatives.tangent_space import displaced
from asperity.simulator.exchange import publish_session

__all__ = ["sensor_derivatives"]

_INPUTS = mujoco.mjtState.mjSTATE_INTEGRATION

_VELOCITIES = int(mujoco.mjtStage.mjSTAGE_VEL)
# Displacements of states and of controls.
_SIZE = 1e-6
_CONTROL_SIZE = 1e-4
_SENSORS = mujoco.mjtSensor
# Which MuJoCo reads from constraints, or asks users for.
_OF_MORE = (
    _SENSORS.mjSENS_JOINTLIMITPOS,
    _SENSORS.mjSENS_JOINTLIMITVEL,
    _SENSORS.mjSENS_TENDONLIMITPOS,
    _SENSORS.mjSENS_TENDONLIMITVEL,
    _SENSORS.mjSENS_PLUGIN,
    _SENSORS.mjSENS_USER,
)


def sensor_derivatives(
    derivative: StepDerivative, state: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """C and D: of ``sensordata`` as the simulator publishes it.

    Sensors of forces and accelerations are those of the step that would begin at the state.
    """
    simulator = derivative.simulator
    model, data = simulator.model, simulator.data
    inner = tangent_size(model)
    columns = np.zeros((inner + model.nu, model.nsensordata))
    left = np.ones(model.nsensor, dtype=bool)
    if model.nhistory == 0:
        columns, left = _closed(derivative, state)
    if not np.any(left):
        return columns[:inner].T.copy(), columns[inner:].T.copy()
    values = np.repeat(left, model.sensor_dim)
    steps = model.nhistory > 0 or not _are_kinematic(model, left)
    moving = inner + model.nu if steps else 2 * model.nv
    used = data if steps else derivative.kinematics
    sizes = np.full(inner + model.nu, _SIZE)
    sizes[inner:] = _CONTROL_SIZE
    length = simulator.session.plant.table.elastic.plastic_length
    sizes[inner - len(length) : inner] /= np.where(length > 0.0, length, 1.0)
    with solved_tightly(simulator):
        for index in range(moving):
            sides = []
            for sign in (1.0, -1.0):
                change = np.zeros(inner + model.nu)
                change[index] = sign * sizes[index]
                _displace(model, used, state, change)
                if steps:
                    _publish(derivative)
                else:
                    _sense(model, used)
                sides.append(used.sensordata[values])
            columns[index, values] = (sides[0] - sides[1]) / (2.0 * sizes[index])
    if steps:
        mujoco.mj_setState(model, data, state, _INPUTS)
        simulator.take_over()
    return columns[:inner].T.copy(), columns[inner:].T.copy()


def _publish(derivative: StepDerivative) -> None:
    """Publish what the simulator's data says, with the forces of the step from there."""
    simulator = derivative.simulator
    if derivative.convex is None:
        simulator.advance_to(simulator.time)
        return
    simulator.take_over()
    derivative.deliver(read_state(simulator))
    publish_session(simulator.session)


def _closed(derivative: StepDerivative, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What has closed forms, shape (states and controls, nsensordata), and which sensors do not.

    Accelerations change as the velocities do at which the step ends that would begin.
    """
    simulator, data = derivative.simulator, derivative.kinematics
    model, nv = simulator.model, simulator.model.nv
    inner = tangent_size(model)
    columns = np.zeros((inner + model.nu, model.nsensordata))
    _displace(model, data, state, np.zeros(inner + model.nu))
    _sense(model, data)
    late = derivative.convex is not None and bool(np.any(model.sensor_needstage > _VELOCITIES))
    if late:
        start = StepState.read(data, model)
        step = derivative.published_step(start)
        data.qacc[:] = (step.end.qvel - data.qvel) / step.steps[0]
        by_state = step.by_state[nv : 2 * nv] / step.steps[0]
        by_state[:, nv : 2 * nv] -= np.eye(nv) / step.steps[0]
        data.flg_rnepost = False
        if np.any(np.isin(model.sensor_type, ACTUATOR_SENSORS)):
            mujoco.mj_fwdActuation(model, data)
        mujoco.mj_sensorAcc(model, data)
    rows, known = closed_rows(model, data, accelerations=late)
    columns[: 2 * nv] = rows[:, : 2 * nv].T
    if late:
        by_control = step.by_control[nv : 2 * nv] / step.steps[0]
        by_all = np.hstack([by_state, by_control])
        columns += (rows[:, 2 * nv :] @ by_all).T
        _add_forces(derivative, data, step, by_all, columns, known)
    return columns, ~known


def _add_forces(
    derivative: StepDerivative,
    data: mujoco.MjData,
    step: Tangent,
    acceleration: np.ndarray,
    columns: np.ndarray,
    known: np.ndarray,
) -> None:
    """Fill the columns of sensors of forces, and mark them as known, if contacts allow it."""
    assert derivative.convex is not None
    model = derivative.simulator.model
    driven = np.flatnonzero(np.isin(model.sensor_type, ACTUATOR_SENSORS))
    found = actuator_force_rows(model, data, driven, tangent_size(model))
    asked = np.flatnonzero(np.isin(model.sensor_type, FORCE_SENSORS))
    contacts = derivative.convex.contact_changes(data, step) if len(asked) else None
    if contacts is not None:
        found |= force_rows(model, data, asked, contacts, acceleration)
    for sensor, rows in found.items():
        first = int(model.sensor_adr[sensor])
        columns[:, first : first + len(rows)] = rows.T
        known[sensor] = True


def _displace(
    model: mujoco.MjModel, data: mujoco.MjData, state: np.ndarray, change: np.ndarray
) -> None:
    """Set a state and change it and its controls."""
    mujoco.mj_setState(model, data, state, _INPUTS)
    inner = tangent_size(model)
    displaced(model, StepState.read(data, model), change[:inner]).write(data)
    data.ctrl[:] += change[inner:]


def _are_kinematic(model: mujoco.MjModel, sensors: np.ndarray) -> bool:
    """Whether sensors follow from positions and velocities, without constraints."""
    late = model.sensor_needstage > _VELOCITIES
    more = np.isin(model.sensor_type, [int(kind) for kind in _OF_MORE])
    return not np.any((late | more)[sensors])


def _sense(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Kinematics and the sensors of positions and velocities."""
    data.flg_energypos = data.flg_energyvel = data.flg_subtreevel = False
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_camlight(model, data)
    mujoco.mj_tendon(model, data)
    mujoco.mj_makeM(model, data)
    mujoco.mj_transmission(model, data)
    mujoco.mj_sensorPos(model, data)
    mujoco.mj_fwdVelocity(model, data)
    mujoco.mj_sensorVel(model, data)
