"""Stages of Runge–Kutta methods on the manifold of configurations.

Positions are q = q_0 ⊕ u with a displacement u in the tangent space of the step's beginning, as
MuJoCo integrates positions. Where the model has free or ball joints, u̇ is not the velocity: with a
rotation vector u and the angular velocity ω in the body's axes (equation of Bortz),

    u̇ = ω + ½ u × ω + (1/θ² − cot(θ/2)/(2θ)) u × (u × ω),   θ = ‖u‖.

Without that term a method's order is at most two.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.compiled.calls import call_ppp_status
from asperity.integrators.classical.layout import CLASSICAL
from asperity.integrators.icf import integrate_positions
from asperity.integrators.layout import OK, WORLD
from asperity.integrators.system_table import HELD, SYSTEM
from asperity.plant.layouts import PLANT, STATE, TIME

__all__ = ["displacement_rate", "evaluate_stage", "place", "system_rates"]

# MuJoCo's mjtJoint.
_FREE = 0
_BALL = 1

_world = WORLD.get
_plant = PLANT.get
_state = STATE.get
_classical = CLASSICAL.get
_system = SYSTEM.get


@compiled
def _turn(rate, dof, x, y, z):
    """Change ω at three dofs into the rate of the rotation vector (x, y, z)."""
    p = rate[dof]
    q = rate[dof + 1]
    r = rate[dof + 2]
    square = x * x + y * y + z * z
    if square < 1e-4:
        share = 1.0 / 12.0 + square / 720.0
    else:
        angle = np.sqrt(square)
        share = 1.0 / square - 0.5 / (angle * np.tan(0.5 * angle))
    cx = y * r - z * q
    cy = z * p - x * r
    cz = x * q - y * p
    rate[dof] = p + 0.5 * cx + share * (y * cz - z * cy)
    rate[dof + 1] = q + 0.5 * cy + share * (z * cx - x * cz)
    rate[dof + 2] = r + 0.5 * cz + share * (x * cy - y * cx)


@compiled
def displacement_rate(plant, displacement, qvel, rate):
    """Rate of a displacement at which the generalized velocities are ``qvel``."""
    for i in range(qvel.size):
        rate[i] = qvel[i]
    kind = _plant(plant, "joint_type")
    first = _plant(plant, "joint_dof")
    for joint in range(kind.size):
        if kind[joint] not in (_FREE, _BALL):
            continue
        dof = first[joint] + (3 if kind[joint] == _FREE else 0)
        _turn(rate, dof, displacement[dof], displacement[dof + 1], displacement[dof + 2])


@compiled
def place(world, source, target, time):
    """Put a state at the classical table's displacement, velocity, activation and system state.

    ``time`` [s] is counted from that of ``source``, from whose positions the displacement is. The
    target's snapshot becomes invalid.
    """
    plant = _world(world, "plant")
    classical = _world(world, "classical")
    integrate_positions(plant, source, target, _classical(classical, "displacement"), 1.0)
    _state(target, "reals")[TIME] = _state(source, "reals")[TIME] + time
    velocity = _classical(classical, "velocity")
    qvel = _state(target, "qvel")
    for i in range(qvel.size):
        qvel[i] = velocity[i]
    activation = _classical(classical, "activation")
    limits = _plant(plant, "act_range")
    act = _state(target, "act")
    for i in range(act.size):
        act[i] = min(max(activation[i], limits[i, 0]), limits[i, 1])
    system_state = _classical(classical, "system_state")
    z = _state(target, "system_state")
    for i in range(z.size):
        z[i] = system_state[i]


@compiled
def system_rates(world, rates):
    """Fill the rates of the states of external systems at the state that was evaluated last."""
    systems = _world(world, "systems")
    for s in range(systems.size):
        system = systems[s]
        # The states of sampled systems jump at their samples, and rest in between.
        moves = _system(system, "treatment") != HELD
        rate = _system(system, "rate_now")
        first = _system(system, "first_state")
        for j in range(rate.size):
            rates[first + j] = rate[j] if moves else 0.0


@compiled
def evaluate_stage(world, state, stage):
    """Evaluate the dynamics at a state and keep the rates as those of a stage.

    The classical table's displacement must be that of the state.
    """
    classical = _world(world, "classical")
    code = call_ppp_status(_classical(classical, "dynamics"), world, state, classical)
    if code != OK:
        return code
    acceleration = _classical(classical, "acceleration")
    kept = _classical(classical, "acceleration_of")
    for i in range(acceleration.size):
        kept[stage, i] = acceleration[i]
    displacement_rate(
        _world(world, "plant"),
        _classical(classical, "displacement"),
        _state(state, "qvel"),
        _classical(classical, "rate")[stage],
    )
    act_dot = _state(state, "act_dot")
    kept = _classical(classical, "activation_rate")
    for i in range(act_dot.size):
        kept[stage, i] = act_dot[i]
    system_rates(world, _classical(classical, "system_rate")[stage])
    return OK
