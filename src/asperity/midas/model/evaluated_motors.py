"""Motors by the forces that MuJoCo says they exert: all but simple ones and affine servos.

Before every step MuJoCo is asked for forces F(L, V, a) by lengths, velocities and activations, for
the rates ȧ(L, V, a), and for the derivatives of both, by differences: all actuators' at once, since
none depends on another's. Activations go on by an exponential step of Euler's
(`asperity.midas.time.activations`), which is exact for the current of a coil, a temperature and a
bristle at constant velocity. The force is linear: ∂F/∂a (a₁ − a) is added to it, and what L and V
do to it and, by a₁, to the activations, is implicit where it opposes motion. Limits of forces are
those of all motors.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.compiled import Table
from asperity.midas.model.motors import UNHEARD, evaluated_actuators, motor_actuators
from asperity.plant.model.own_options import OwnOptions

__all__ = ["EvaluatedMotors"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SO3 = int(mujoco.mjtGain.mjGAIN_SO3)
_PID, _DC = int(mujoco.mjtDyn.mjDYN_PID), int(mujoco.mjtDyn.mjDYN_DCMOTOR)
# Differences of lengths [m or rad], of velocities, and of activations, whatever their unit. All but
# cogging, friction and clamped voltages is linear.
_LENGTH, _SPEED, _ACTIVATION = 1e-6, 1e-5, 1e-6
# Limits are the motors' own.
_SWITCHED_OFF = ("actuator_forcelimited", "tendon_actfrclimited", *UNHEARD)


class EvaluatedMotors:
    """The motors of a model that MuJoCo is asked about.

    Parameters
    ----------
    model : mujoco.MjModel
    options : OwnOptions
        The model's.
    gears : ndarray, shape (nout,)
        Length of motors per length of their coordinates.
    """

    def __init__(self, model: mujoco.MjModel, options: OwnOptions, gears: Floats) -> None:
        self._model, self._options, self._gears = model, options, gears
        chosen = evaluated_actuators(model)
        self.any = bool(chosen)
        self._none = {name: np.zeros_like(getattr(model, name)) for name in _SWITCHED_OFF}
        owner = motor_actuators(model)
        self._motors = np.flatnonzero(np.isin(owner, chosen))
        self._owner = owner[self._motors]
        states = [self._states(i) for i in chosen]
        self._most = max((len(own) for own in states), default=0)
        # Activations that are set-points which may not change faster: the force already counts
        # with the next one.
        self._slewing = [own[0] for i, own in zip(chosen, states, strict=True) if self._slews(i)]

    def _states(self, actuator: int) -> Ints:
        """Places of an actuator's activations in ``act``."""
        first = int(self._model.actuator_actadr[actuator])
        count = int(self._model.actuator_actnum[actuator])
        return np.arange(first, first + count, dtype=np.int64)

    def _slews(self, actuator: int) -> bool:
        kind, parameters = int(self._model.actuator_dyntype[actuator]), self._model.actuator_dynprm
        at = {_PID: 1, _DC: 7}.get(kind)
        return at is not None and bool(parameters[actuator, at] > 0.0)

    def limit_windup(self, limit: Floats) -> None:
        """Fill limits of activations that are integrals of an error, shape (na, 2)."""
        for i in evaluated_actuators(self._model):
            windup = self._windup(i)
            if windup > 0.0:
                limit[self._states(i)[int(self._slews(i))]] = [-windup, windup]

    def _windup(self, actuator: int) -> float:
        """Limit of the integral of an actuator's error, 0 if it has none."""
        kind, model = int(self._model.actuator_dyntype[actuator]), self._model
        if kind == _PID and model.actuator_gainprm[actuator, 0] > 0.0:
            return float(model.actuator_dynprm[actuator, 0])
        if kind == _DC and model.actuator_gainprm[actuator, 5] > 0.0:
            return float(model.actuator_dynprm[actuator, 8])
        return 0.0

    # -- every step --------------------------------------------------------------------------------

    def feed(
        self, table: Table, state: mujoco.MjData, control: Floats, activation: Floats, step: float
    ) -> None:
        """Set the motors for the step that begins at a state.

        Parameters
        ----------
        table : Table
            The engine's.
        state : mujoco.MjData
            Data of the engine's own, evaluated at its positions and velocities.
        control, activation : ndarray
            Controls that have arrived, and ``act``.
        step : float
            The usual step size [s].
        """
        if not self.any:
            return
        state.ctrl[:], state.act[:] = control, activation
        slope_of: dict[str, tuple[Floats, Floats]] = {}
        with self._options as lent:
            for field, none in self._none.items():
                self._options.replace(field, none)
            lent.opt.timestep = step
            force, rate = _evaluate(lent, state)
            for name, size in (("actuator_length", _LENGTH), ("actuator_velocity", _SPEED)):
                slope_of[name] = _slopes(lent, state, getattr(state, name), self._motors, size)
            by_state = []
            for k in range(self._most):
                chosen = self._kth_states(k)
                by_state.append(_slopes(lent, state, state.act, chosen, _ACTIVATION))
        self._set_states(table, activation, rate, by_state)
        self._set_motors(table, state, force, slope_of, by_state, step)

    def _kth_states(self, k: int) -> Ints:
        """Places of every actuator's activation number k."""
        own = [self._states(i) for i in dict.fromkeys(self._owner)]
        return np.array([states[k] for states in own if len(states) > k], dtype=np.int64)

    def _set_states(
        self, table: Table, activation: Floats, rate: Floats, by_state: list[tuple[Floats, Floats]]
    ) -> None:
        for k, (_, slope) in enumerate(by_state):
            for at in self._kth_states(k):
                table.motors.state_start[at] = activation[at]
                table.motors.state_rate[at] = rate[at]
                # A set-point that is near its command gets there in one step.
                table.motors.state_slope[at] = 0.0 if at in self._slewing else min(slope[at], 0.0)

    def _set_motors(
        self,
        table: Table,
        state: mujoco.MjData,
        force: Floats,
        slope_of: dict[str, tuple[Floats, Floats]],
        by_state: list[tuple[Floats, Floats]],
        step: float,
    ) -> None:
        motors = table.motors
        model = self._model
        for motor, actuator in zip(self._motors, self._owner, strict=True):
            gear = float(self._gears[motor])
            own = self._states(int(actuator))
            gains = np.zeros(motors.state_gain.shape[1])
            slopes = [float(of_force[motor]) for of_force, _ in slope_of.values()]
            is_servo = int(model.actuator_gaintype[actuator]) == _SO3
            if is_servo:
                # Torques by an orientation, about axes that it has now.
                slopes = [float(x) for x in model.actuator_biasprm[actuator, 1:3]]
            for k, at in enumerate(own):
                if at in self._slewing:
                    continue
                gains[k] = by_state[k][0][motor]
                grown = step * _growth(step * float(motors.state_slope[at]))
                for way, (_, of_rate) in enumerate(slope_of.values()):
                    slopes[way] += gains[k] * grown * float(of_rate[at])
            stiffness, damping = (min(slope, 0.0) for slope in slopes)
            length, speed = (
                float(state.actuator_length[motor]),
                float(state.actuator_velocity[motor]),
            )
            reference = gear * float(table.joints.reference[motors.joint[motor]])
            motors.state_gain[motor] = gear * gains
            motors.position[motor] = gear * gear * stiffness
            motors.velocity[motor] = gear * gear * damping
            motors.bias[motor] = gear * (
                float(force[motor]) + stiffness * (reference - length) - damping * speed
            )
            motors.feed[motor] = motors.bias[motor]
            if is_servo and model.actuator_forcelimited[actuator]:
                motors.limit[motor] = self._limits(int(motor), int(actuator), force)

    def _limits(self, motor: int, actuator: int, force: Floats) -> tuple[float, float]:
        """Limits of one part of a servo's torque, whose length is limited."""
        most = float(self._model.actuator_forcerange[actuator, 1])
        whole = float(np.linalg.norm(force[self._motors[self._owner == actuator]]))
        own = most * abs(float(force[motor])) / whole if whole > most else most
        return -own, own


def _evaluate(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Floats, Floats]:
    """Forces of all motors, and rates of all activations."""
    mujoco.mj_fwdActuation(model, data)
    return np.array(data.actuator_force), np.array(data.act_dot)


def _slopes(
    model: mujoco.MjModel, data: mujoco.MjData, values: Floats, chosen: Ints, size: float
) -> tuple[Floats, Floats]:
    """Derivatives of `_evaluate` by some of the values, each by its own."""
    kept = np.array(values)
    values[chosen] = kept[chosen] + size
    force, rate = _evaluate(model, data)
    values[chosen] = kept[chosen] - size
    before, rate_before = _evaluate(model, data)
    values[:] = kept
    return (force - before) / (2.0 * size), (rate - rate_before) / (2.0 * size)


def _growth(x: float) -> float:
    """φ(x) = (eˣ − 1)/x."""
    return math.expm1(x) / x if x != 0.0 else 1.0
