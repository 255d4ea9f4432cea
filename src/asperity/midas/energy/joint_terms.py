"""Every potential that is a function ψ(θ) of one joint coordinate.

The armature's inertia, spring, damper, dry friction, limits, motors and applied force of a hinge, a
slide or a fixed tendon. A limit of velocity v resists what a move u over a step h has beyond it, as
the convex methods' rows do: ψ = ½ (b/h²) (|u| − v h)₊².

A limit's curvature is that of the secant from where the iterate is to where the limit has the force
that the last direction has counted with (`asperity.midas.energy.potentials.barrier_secant`). The
gradient is the energy's own. So the fingers of a hand that leans on its limits take three
iterations where the tangent takes ten, and what a direction leads to beyond a limit is expected
to press against it.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.energy.potentials import (
    barrier,
    barrier_secant,
    differs,
    dissipation_factor,
    expected_ratio,
    friction,
    friction_slope,
)

__all__ = [
    "TOO_FAST",
    "begin_limits",
    "expect_present_limits",
    "expects_present_limits",
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

TOO_FAST = 1.1
"""Rate of a joint from which a step brakes it, in limits of velocity."""


@compiled
def limit_gap(joints: Table, joint: int, side: int, angle: float) -> float:
    """Gap between a coordinate and its lower (0) or upper (1) limit; infinite if there is none."""
    sign = 1.0 - 2.0 * side
    return sign * (angle - joints.limit[joint, side])


@compiled
def begin_limits(joints: Table) -> None:
    """At the beginning of a step, choose the forces of limits by the speeds towards them.

    A joint that a user puts near a limit is not pushed until it comes nearer. As it goes away, the
    limit begins to push farther out, up to the usual distance.
    """
    for joint in range(joints.value.size):
        for side in range(2):
            gap = limit_gap(joints, joint, side, joints.value[joint])
            if gap > joints.limit_width[joint, side]:
                joints.limit_width[joint, side] = min(gap, joints.activation[joint])
            closing = (2.0 * side - 1.0) * joints.rate[joint]
            before = math.inf
            if gap < joints.limit_width[joint, side]:
                before = joints.limit_factor[joint, side]
            joints.limit_factor[joint, side] = dissipation_factor(
                before, closing, LIMIT_DISSIPATION
            )


@compiled
def _ratio(joints: Table, joint: int, side: int, angle: float) -> float:
    """Gap between a coordinate and its limit over the distance at which that begins to push."""
    return limit_gap(joints, joint, side, angle) / joints.limit_width[joint, side]


@compiled
def expect_present_limits(joints: Table) -> None:
    """Expect of limits what they bear at the iterate."""
    for joint in range(joints.now.size):
        if joints.barrier[joint] > 0.0:
            for side in range(2):
                ratio = _ratio(joints, joint, side, joints.now[joint])
                joints.limit_end[joint, side] = min(ratio, 1.0)


@compiled
def expects_present_limits(joints: Table) -> bool:
    """Whether of all limits about as much is expected as they bear at the iterate."""
    for joint in range(joints.now.size):
        if joints.barrier[joint] > 0.0:
            for side in range(2):
                ratio = _ratio(joints, joint, side, joints.now[joint])
                if differs(joints.limit_end[joint, side], min(ratio, 1.0)):
                    return False
    return True


@compiled
def _curve(curve: np.ndarray, h: float, x: float) -> tuple[float, float, float]:
    """Energy, slope and curvature of what a spring or damper has beyond its linear force.

    For a stretch x with h = 1, or a move x ≥ 0 over a step h.
    """
    one = curve[0] / (h * h)
    two = curve[1] / (h * h * h)
    square = x * x
    return (
        square * x * (one / 3.0 + 0.25 * two * x),
        square * (one + two * x),
        x * (2.0 * one + 3.0 * two * x),
    )


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
    spring = joints.spring_curve[joint]
    damper = joints.damper_curve[joint]
    if spring[0] != 0.0 or spring[1] != 0.0 or damper[0] != 0.0 or damper[1] != 0.0:
        e, s, c = _curve(spring, 1.0, stretch)
        energy += e
        slope += s
        curvature = max(stiffness + c, 0.0)
        e, s, c = _curve(damper, h, abs(move))
        energy += e
        slope += math.copysign(s, move)
        curvature += max(damping + c, 0.0)
    if dry > 0.0:
        size = abs(move)
        creep = engine.options.joint_stiction * h
        per_slip, bend = friction_slope(size, creep)
        energy += dry * friction(size, creep)
        slope += dry * per_slip * move
        # As of friction in contacts (`asperity.midas.energy.friction_terms`), of one dimension.
        turn = bend / per_slip * joints.dual[joint] * move
        curvature += dry * max(per_slip + turn, 0.0)
    faster = abs(move) - joints.speed[joint] * h
    if faster > 0.0:
        brake = joints.brake[joint] / (h * h)
        energy += 0.5 * brake * faster * faster
        slope += math.copysign(brake * faster, move)
        curvature += brake
    for side in range(2):
        gap = limit_gap(joints, joint, side, angle)
        width = joints.limit_width[joint, side]
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

    BDF2 would go on with the deceleration of the impact, away from the limit, and so it would with
    that of a joint which was faster than its limit of velocity.
    """
    for joint in range(joints.now.size):
        if abs(joints.rate_before[joint]) > TOO_FAST * joints.speed[joint]:
            return True
        if joints.barrier[joint] == 0.0:
            continue
        for side in range(2):
            closing = joints.rate[joint] * (2.0 * side - 1.0)
            now = limit_gap(joints, joint, side, joints.now[joint])
            before = limit_gap(joints, joint, side, joints.value[joint])
            near = min(now, before) < joints.limit_width[joint, side]
            if near and closing * LIMIT_DISSIPATION > 1.0:
                return True
    return False


@compiled
def _follow_limits(joints: Table, joint: int, ahead: float) -> None:
    """Expect of a joint's limits what a direction has counted with, which leads to ``ahead``."""
    for side in range(2):
        before = _ratio(joints, joint, side, joints.now[joint])
        after = _ratio(joints, joint, side, ahead)
        end = joints.limit_end[joint, side]
        joints.limit_end[joint, side] = expected_ratio(end, before, after)


@compiled
def turn_joints(joints: Table, creep: float, share: float) -> None:
    """Move the estimates of joints' dry friction and of limits as `turn_friction`.

    ``creep`` is the move [m or rad] below which friction holds, and ``share`` what the trial state
    is of the direction.
    """
    for joint in range(joints.now.size):
        d = (joints.trial[joint] - joints.now[joint]) / share
        if joints.barrier[joint] > 0.0:
            _follow_limits(joints, joint, joints.now[joint] + d)
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
