"""Every potential that is a function ψ(θ) of one joint coordinate.

The armature's inertia, spring, damper, dry friction, limits, motors and applied force of a hinge, a
slide or a fixed tendon.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.energy.potentials import (
    barrier,
    barrier_secant,
    barrier_slopes,
    dissipation_factor,
    friction,
    friction_slope,
    ratio_of_force,
)

__all__ = [
    "begin_joints",
    "begin_limits",
    "joint_energy",
    "joint_slopes",
    "limit_gap",
    "meets_limit",
    "motor_forces",
    "motor_slopes",
    "turn_joints",
]


LIMIT_DISSIPATION = 100.0
"""d of limits [s/rad or s/m]."""

# Depth below the activation distance, relative to it, that is assumed of a limit to come. Things
# at rest are less deep: it is better to count with too stiff a limit than with too soft a one.
_FIRST_DEPTH = 0.1


@compiled
def limit_gap(joints: Table, joint: int, side: int, angle: float) -> float:
    """Gap between a coordinate and its lower (0) or upper (1) limit; infinite if there is none."""
    sign = 1.0 - 2.0 * side
    return sign * (angle - joints.limit[joint, side])


@compiled
def begin_limits(joints: Table) -> None:
    """At the beginning of a step, choose the forces of limits by the speeds towards them."""
    for joint in range(joints.value.size):
        for side in range(2):
            closing = (2.0 * side - 1.0) * joints.rate[joint]
            before = math.inf
            if limit_gap(joints, joint, side, joints.value[joint]) < joints.activation[joint]:
                before = joints.limit_factor[joint, side]
            joints.limit_factor[joint, side] = dissipation_factor(
                before, closing, LIMIT_DISSIPATION
            )


@compiled
def begin_joints(joints: Table) -> None:
    """Forget joints' friction, and expect limits to bear what they bear at the present state."""
    for joint in range(joints.value.size):
        joints.dual[joint] = 0.0
        if joints.barrier[joint] > 0.0:
            for side in range(2):
                gap = limit_gap(joints, joint, side, joints.value[joint])
                joints.limit_end[joint, side] = min(gap / joints.activation[joint], 1.0)


@compiled
def joint_slopes(engine: Table, joint: int, angle: float) -> tuple[float, float, float]:
    """Energy ψ [J s²] of a joint without its motors, ψ′ and ψ″."""
    joints = engine.joints
    h = engine.time.step
    armature = joints.armature[joint]
    stiffness = joints.stiffness[joint]
    damping = joints.damping[joint] / h
    dry = joints.friction[joint]
    applied = joints.applied[joint]
    width = joints.activation[joint]
    lead = angle - joints.target[joint]
    low = joints.spring[joint, 0]
    high = joints.spring[joint, 1]
    stretch = angle - min(max(angle, low), high)
    if low < high and stretch == 0.0:
        stiffness = 0.0
    move = angle - joints.start[joint]
    energy = 0.5 * stiffness * stretch * stretch + 0.5 * damping * move * move - applied * angle
    slope = stiffness * stretch + damping * move - applied
    curvature = stiffness + damping
    if dry > 0.0:
        size = abs(move)
        creep = engine.options.joint_stiction * h
        per_slip, bend = friction_slope(size, creep)
        energy += dry * friction(size, creep)
        slope += dry * per_slip * move
        # As of friction in contacts (`asperity.midas.energy.friction_terms`), of one dimension.
        turn = bend / per_slip * joints.dual[joint] * move
        curvature += dry * max(per_slip + turn, 0.0)
    for side in range(2):
        gap = limit_gap(joints, joint, side, angle)
        if gap >= width and joints.limit_end[joint, side] == 1.0:
            continue
        if gap <= 0.0:
            return math.inf, 0.0, 0.0
        scale = joints.limit_factor[joint, side] * joints.barrier[joint]
        s, c = barrier_secant(gap * gap, width, joints.limit_end[joint, side])
        energy += scale * barrier(gap * gap, width)
        slope += (1.0 - 2.0 * side) * scale * s
        curvature += scale * c
    square = h * h
    return (
        square * energy + 0.5 * armature * lead * lead,
        square * slope + armature * lead,
        square * curvature + armature,
    )


@compiled
def meets_limit(joints: Table) -> bool:
    """Whether a step begins faster towards a limit than it could depart, and reaches its barrier.

    BDF2 would go on with the deceleration of the impact, away from the limit.
    """
    for joint in range(joints.now.size):
        if joints.barrier[joint] == 0.0:
            continue
        for side in range(2):
            closing = joints.rate[joint] * (2.0 * side - 1.0)
            now = limit_gap(joints, joint, side, joints.now[joint])
            before = limit_gap(joints, joint, side, joints.value[joint])
            near = min(now, before) < joints.activation[joint]
            if near and closing * LIMIT_DISSIPATION > 1.0:
                return True
    return False


@compiled
def _limit_end(joints: Table, joint: int, side: int, ahead: float) -> float:
    """Ratio of a limit's gap to its width where it has the force that a direction counts with.

    ``ahead`` is the coordinate at the direction's end.
    """
    width = joints.activation[joint]
    before = limit_gap(joints, joint, side, joints.now[joint]) / width
    end = joints.limit_end[joint, side]
    after = limit_gap(joints, joint, side, ahead) / width
    if before >= 1.0 and end == 1.0:
        # The direction has known nothing of it.
        return 1.0 - min(max(1.0 - after, 0.0), _FIRST_DEPTH)
    slope, curvature = barrier_secant(before * before, 1.0, end)
    return ratio_of_force(curvature * (before - after) - slope)


@compiled
def turn_joints(joints: Table, creep: float, share: float) -> None:
    """Move the estimates of joints' dry friction and of limits as `turn_friction`.

    ``creep`` is the move [m or rad] below which friction holds, and ``share`` what the trial state
    is of the direction.
    """
    for joint in range(joints.now.size):
        d = (joints.trial[joint] - joints.now[joint]) / share
        if joints.barrier[joint] > 0.0:
            for side in range(2):
                joints.limit_end[joint, side] = _limit_end(
                    joints, joint, side, joints.now[joint] + d
                )
        if joints.friction[joint] == 0.0:
            continue
        u = joints.now[joint] - joints.start[joint]
        per_slip, bend = friction_slope(abs(u), creep)
        w = joints.dual[joint]
        turn = bend / per_slip * u * d
        w += share * (per_slip * (u + d) + (turn - 1.0) * w)
        joints.dual[joint] = min(max(w, -1.0), 1.0)


@compiled
def _motor(motors: Table, motor: int, angle: float) -> tuple[float, float, float]:
    """Potential of a motor's force clamp(c − k θ), the force, and what of k is in effect."""
    k = motors.stiffness[motor]
    wanted = motors.constant[motor] - k * angle
    low = motors.limit[motor, 0]
    high = motors.limit[motor, 1]
    force = min(max(wanted, low), high)
    if k == 0.0:
        return -force * angle, force, 0.0
    if wanted == force:
        return 0.5 * wanted * wanted / k, force, k
    return force * (wanted - 0.5 * force) / k, force, 0.0


@compiled
def motor_forces(motors: Table, angle: np.ndarray) -> None:
    """Fill the motors' forces on their joints [N or N m]."""
    for motor in range(motors.joint.size):
        _, force, _ = _motor(motors, motor, angle[motors.joint[motor]])
        motors.force[motor] = force


@compiled
def joint_energy(engine: Table, angle: np.ndarray) -> float:
    """Energy [J s²] of all joints and motors; infinite beyond a limit."""
    h = engine.time.step
    total = 0.0
    for i in range(angle.size):
        energy, _, _ = joint_slopes(engine, i, angle[i])
        total += energy
    for motor in range(engine.motors.joint.size):
        energy, _, _ = _motor(engine.motors, motor, angle[engine.motors.joint[motor]])
        total += h * h * energy
    return total


@compiled
def motor_slopes(motors: Table, time: Table, motor: int, angle: float) -> tuple[float, float]:
    """First and second derivative of a motor's energy by its joint's coordinate."""
    h = time.step
    _, force, stiffness = _motor(motors, motor, angle)
    return -h * h * force, h * h * stiffness
