"""Stages of Runge–Kutta methods on the manifold of configurations.

Positions are q = q_0 ⊕ u with a displacement u in the tangent space of the step's beginning, as
MuJoCo integrates positions. Where the model has free or ball joints, u̇ is not the velocity: with a
rotation vector u and the angular velocity ω in the body's axes (equation of Bortz),

    u̇ = ω + ½ u × ω + (1/θ² − cot(θ/2)/(2θ)) u × (u × ω),   θ = ‖u‖.

Without that term a method's order is at most two.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_ppp_status
from asperity.integrators.external.system_table import HELD, SYSTEM
from asperity.integrators.methods.classical.stage_layout import CLASSICAL
from asperity.integrators.methods.motion import move_positions
from asperity.integrators.world_layout import OK

__all__ = ["displacement_rate", "evaluate_stage", "place", "system_rates"]

# MuJoCo's mjtJoint.
_FREE = 0
_BALL = 1


@compiled
def _turn(rate: np.ndarray, dof: int, x: float, y: float, z: float) -> None:
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
def displacement_rate(
    plant: Table, displacement: np.ndarray, qvel: np.ndarray, rate: np.ndarray
) -> None:
    """Rate of a displacement at which the generalized velocities are ``qvel``."""
    joints = plant.joints
    copy_numbers(qvel, rate)
    for joint in range(joints.type.size):
        if joints.type[joint] not in (_FREE, _BALL):
            continue
        dof = joints.dof[joint] + (3 if joints.type[joint] == _FREE else 0)
        _turn(rate, dof, displacement[dof], displacement[dof + 1], displacement[dof + 2])


@compiled
def place(world: Table, source: Table, target: Table, time: float) -> None:
    """Put a state at the classical table's displacement, velocity, activation and system state.

    ``time`` [s] is counted from that of ``source``, from whose positions the displacement is. The
    target's snapshot becomes invalid.
    """
    plant = world.plant
    classical = CLASSICAL.at(world.memory)
    copy_numbers(source.qpos, target.qpos)
    move_positions(plant, target.qpos, classical.displacement, 1.0)
    target.time = source.time + time
    target.valid = 0
    copy_numbers(classical.velocity, target.qvel)
    for i in range(target.act.size):
        target.act[i] = min(
            max(classical.activation[i], plant.actuators.act_range[i, 0]),
            plant.actuators.act_range[i, 1],
        )
    copy_numbers(classical.system_state, target.system_state)


@compiled
def system_rates(world: Table, rates: np.ndarray) -> None:
    """Fill the rates of the states of external systems at the state that was evaluated last."""
    for s in range(world.systems.size):
        system = SYSTEM.at(world.systems[s])
        # The states of sampled systems jump at their samples, and rest in between.
        moves = system.treatment != HELD
        first = system.first_state
        for j in range(system.rate_now.size):
            rates[first + j] = system.rate_now[j] if moves else 0.0


@compiled
def evaluate_stage(world: Table, state: Table, stage: int) -> int:
    """Evaluate the dynamics at a state and keep the rates as those of a stage.

    The classical table's displacement must be that of the state.
    """
    classical = CLASSICAL.at(world.memory)
    code = call_ppp_status(classical.dynamics, world, state, classical)
    if code != OK:
        return code
    kept = classical.acceleration_of
    for i in range(classical.acceleration.size):
        kept[stage, i] = classical.acceleration[i]
    displacement_rate(
        world.plant,
        classical.displacement,
        state.qvel,
        classical.rate[stage],
    )
    kept = classical.activation_rate
    for i in range(state.act_dot.size):
        kept[stage, i] = state.act_dot[i]
    system_rates(world, classical.system_rate[stage])
    return OK
