"""Hinge and slide joints: their coordinates, and every potential that is a function of one of them.

A slide's coordinate is a variable. A hinge's is the signed angle between a direction u of the child
and a direction n of the parent across the axis, θ = atan2(u·b, u·n) with b the axis × n
(design 8.5), unwrapped from step to step. All terms of a joint, its armature's inertia, spring,
damper, dry friction, limits, motors and applied force, are functions ψ(θ), whose Hessian is taken
as ψ″ ∇θ ∇θᵀ.
"""

from __future__ import annotations

import math

from asperity.compiled import compiled
from asperity.midas.layouts import JOINT_STICTION, MIDAS, SLIDE, STEP
from asperity.midas.potentials import friction, friction_slope

__all__ = [
    "add_motor_terms",
    "joint_coordinates",
    "joint_energy",
    "joint_gradients",
    "joint_slopes",
    "motor_forces",
]

_midas = MIDAS.get


@compiled
def joint_coordinates(engine, q, z, near, out):
    """Fill coordinates relative to the reference pose, angles within π of those in ``near``."""
    link = _midas(engine, "joint_link")
    kind = _midas(engine, "link_kind")
    parent = _midas(engine, "link_parent")
    first = _midas(engine, "link_variable")
    frame = _midas(engine, "joint_frame")
    for joint in range(link.size):
        child = link[joint]
        if kind[child] == SLIDE:
            out[joint] = z[first[child]]
            continue
        p = parent[child]
        cosine = 0.0
        sine = 0.0
        for k in range(3):
            u = 0.0
            n = 0.0
            b = 0.0
            for i in range(3):
                u += frame[joint, 0, i] * q[child, 1 + i, k]
                n += frame[joint, 1, i] * q[p, 1 + i, k]
                b += frame[joint, 2, i] * q[p, 1 + i, k]
            cosine += u * n
            sine += u * b
        angle = math.atan2(sine, cosine)
        turns = math.floor((near[joint] - angle) / (2.0 * math.pi) + 0.5)
        out[joint] = angle + 2.0 * math.pi * turns


@compiled
def joint_gradients(engine, q):
    """Fill ∂θ/∂z of every joint over the variables that move its link."""
    link = _midas(engine, "joint_link")
    kind = _midas(engine, "link_kind")
    parent = _midas(engine, "link_parent")
    chain = _midas(engine, "chain_start")
    jacobian = _midas(engine, "jacobian")
    frame = _midas(engine, "joint_frame")
    out = _midas(engine, "joint_gradient")
    on_child = _midas(engine, "angle_child")
    on_parent = _midas(engine, "angle_parent")
    for joint in range(link.size):
        child = link[joint]
        size = chain[child + 1] - chain[child]
        if kind[child] == SLIDE:
            for i in range(size - 1):
                out[joint, i] = 0.0
            out[joint, size - 1] = 1.0
            continue
        p = parent[child]
        cosine = 0.0
        sine = 0.0
        for k in range(3):
            u = 0.0
            n = 0.0
            b = 0.0
            for i in range(3):
                u += frame[joint, 0, i] * q[child, 1 + i, k]
                n += frame[joint, 1, i] * q[p, 1 + i, k]
                b += frame[joint, 2, i] * q[p, 1 + i, k]
            cosine += u * n
            sine += u * b
        square = cosine * cosine + sine * sine
        for k in range(3):
            u = 0.0
            n = 0.0
            b = 0.0
            for i in range(3):
                u += frame[joint, 0, i] * q[child, 1 + i, k]
                n += frame[joint, 1, i] * q[p, 1 + i, k]
                b += frame[joint, 2, i] * q[p, 1 + i, k]
            by_u = (cosine * b - sine * n) / square
            by_n = -sine * u / square
            by_b = cosine * u / square
            for i in range(3):
                on_child[i, k] = by_u * frame[joint, 0, i]
                on_parent[i, k] = by_n * frame[joint, 1, i] + by_b * frame[joint, 2, i]
        ancestors = 0
        if p < parent.size:
            ancestors = chain[p + 1] - chain[p]
        for column in range(size):
            value = 0.0
            at = chain[child] + column
            for i in range(3):
                for k in range(3):
                    value += on_child[i, k] * jacobian[at, 1 + i, k]
            if column < ancestors:
                if kind[p] == 0:  # a free parent's coordinates are its variables
                    if column >= 3:
                        value += on_parent[column // 3 - 1, column % 3]
                else:
                    for i in range(3):
                        for k in range(3):
                            value += on_parent[i, k] * jacobian[chain[p] + column, 1 + i, k]
            out[joint, column] = value


@compiled
def _limit(gap, width):
    """−(x − 1)² ln x with x = gap/width, and its derivatives by the gap."""
    x = gap / width
    if x >= 1.0:
        return 0.0, 0.0, 0.0
    if x <= 0.0:
        return math.inf, 0.0, 0.0
    logarithm = math.log(x)
    y = x - 1.0
    return (
        -y * y * logarithm,
        (-2.0 * y * logarithm - y * y / x) / width,
        (-2.0 * logarithm - 4.0 * y / x + y * y / (x * x)) / (width * width),
    )


@compiled
def joint_slopes(engine, joint, angle):
    """Energy ψ [J s²] of a joint without its motors, ψ′ and ψ″."""
    reals = _midas(engine, "reals")
    h = reals[STEP]
    armature = _midas(engine, "joint_armature")[joint]
    stiffness = _midas(engine, "joint_stiffness")[joint]
    damping = _midas(engine, "joint_damping")[joint] / h
    dry = _midas(engine, "joint_friction")[joint]
    applied = _midas(engine, "joint_applied")[joint]
    width = _midas(engine, "joint_activation")[joint]
    scale = _midas(engine, "joint_barrier")[joint]
    lead = angle - _midas(engine, "joint_target")[joint]
    stretch = angle - _midas(engine, "joint_spring")[joint]
    move = angle - _midas(engine, "joint_start")[joint]
    energy = 0.5 * stiffness * stretch * stretch + 0.5 * damping * move * move - applied * angle
    slope = stiffness * stretch + damping * move - applied
    curvature = stiffness + damping
    if dry > 0.0:
        size = abs(move)
        creep = reals[JOINT_STICTION] * h
        per_slip, bend = friction_slope(size, creep)
        energy += dry * friction(size, creep)
        slope += dry * per_slip * move
        curvature += dry * max(per_slip + bend * size * size, 0.0)
    limit = _midas(engine, "joint_limit")
    for side in range(2):
        sign = 1.0 - 2.0 * side
        e, s, c = _limit(sign * (angle - limit[joint, side]), width)
        energy += scale * e
        slope += sign * scale * s
        curvature += scale * c
    square = h * h
    return (
        square * energy + 0.5 * armature * lead * lead,
        square * slope + armature * lead,
        square * curvature + armature,
    )


@compiled
def _motor(engine, motor, angle):
    """Potential of a motor's force clamp(c − k θ), the force, and what of k is in effect."""
    k = _midas(engine, "motor_stiffness")[motor]
    wanted = _midas(engine, "motor_constant")[motor] - k * angle
    limit = _midas(engine, "motor_limit")
    low = limit[motor, 0]
    high = limit[motor, 1]
    force = min(max(wanted, low), high)
    if k == 0.0:
        return -force * angle, force, 0.0
    if wanted == force:
        return 0.5 * wanted * wanted / k, force, k
    return force * (wanted - 0.5 * force) / k, force, 0.0


@compiled
def motor_forces(engine, angle):
    """Fill the motors' forces on their joints [N or N m]."""
    joint = _midas(engine, "motor_joint")
    out = _midas(engine, "motor_force")
    for motor in range(joint.size):
        _, force, _ = _motor(engine, motor, angle[joint[motor]])
        out[motor] = force


@compiled
def joint_energy(engine, angle):
    """Energy [J s²] of all joints and motors; infinite beyond a limit."""
    joint = _midas(engine, "motor_joint")
    h = _midas(engine, "reals")[STEP]
    total = 0.0
    for i in range(angle.size):
        energy, _, _ = joint_slopes(engine, i, angle[i])
        total += energy
    for motor in range(joint.size):
        energy, _, _ = _motor(engine, motor, angle[joint[motor]])
        total += h * h * energy
    return total


@compiled
def add_motor_terms(engine, motor, angle):
    """First and second derivative of a motor's energy by its joint's coordinate."""
    h = _midas(engine, "reals")[STEP]
    _, force, stiffness = _motor(engine, motor, angle)
    return -h * h * force, h * h * stiffness
