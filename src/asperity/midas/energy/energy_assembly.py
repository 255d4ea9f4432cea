"""Gradient and Hessian of a step's incremental potential in the variables."""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.energy.contact_schedule import do_schedule
from asperity.midas.energy.contact_terms import add_contact_terms
from asperity.midas.energy.equality_terms import add_coupling_slopes, add_tie_terms, coupling_cross
from asperity.midas.energy.friction_terms import add_friction_terms
from asperity.midas.energy.joint_terms import joint_slopes, motor_slopes
from asperity.midas.energy.link_terms import add_link_terms
from asperity.midas.energy.tendon_terms import share_slopes
from asperity.midas.energy.tree_assembly import carry_gradient, place_carries
from asperity.midas.energy.turn_terms import add_turn_gradients
from asperity.midas.engine_layout import MIDAS, POINT
from asperity.midas.factor.blocks import add_entry, find_row
from asperity.midas.factor.structure import arrange
from asperity.midas.parts import PART, do_parts
from asperity.midas.pose.joint_coordinates import joint_gradients
from asperity.midas.pose.link_kinematics import link_jacobians
from asperity.midas.soft.calls import BLOCKS, GRADIENTS, ask_soft

__all__ = ["ASSEMBLY_KERNELS", "assemble"]


@compiled
def _sum_joint_slopes(engine: Table, angle: np.ndarray) -> None:
    """Fill ψ′ and ψ″ of every joint, motors and couplings included."""
    joints = engine.joints
    for joint in range(angle.size):
        _, joints.slope[joint], joints.stiffening[joint] = joint_slopes(engine, joint, angle[joint])
    for motor in range(engine.motors.joint.size):
        joint = engine.motors.joint[motor]
        slope, curvature = motor_slopes(engine.motors, engine.time, motor, angle[joint])
        joints.slope[joint] += slope
        joints.stiffening[joint] += curvature
    add_coupling_slopes(engine, angle, joints.slope, joints.stiffening)
    share_slopes(joints)


@compiled
def _take(links: Table, link: int, column: int) -> int:
    """A variable that moves a link; what is no variable beyond the last."""
    at = links.chain_start[link] + column
    if at >= links.chain_start[link + 1]:
        return links.variable[-1]
    return links.chain_variable[at]


@compiled
def _add_cross(engine: Table, one: int, other: int, cross: float) -> None:
    """Add the Hessian between the coordinates of two joints, which may be the same.

    Along a chain variables ascend: those of both joints are taken in their order.
    """
    a = engine.joints.link[one]
    b = engine.joints.link[other]
    variable = engine.links.cross_variable
    end = engine.links.variable[-1]
    slope = engine.links.cross_slope
    count = 0
    c = 0
    d = 0
    i = _take(engine.links, a, 0)
    j = _take(engine.links, b, 0)
    while min(i, j) < end:
        variable[count] = min(i, j)
        slope[0, count] = 0.0
        slope[1, count] = 0.0
        if i == variable[count]:
            slope[0, count] = cross * engine.joints.gradient[one, c]
            c += 1
            i = _take(engine.links, a, c)
        if j == variable[count]:
            slope[1, count] = engine.joints.gradient[other, d]
            d += 1
            j = _take(engine.links, b, d)
        count += 1
    factor = engine.factor
    for m in range(count):
        last = -1
        at = 0
        apart = 0
        for n in range(m, count):
            value = slope[0, m] * slope[1, n] + slope[1, m] * slope[0, n]
            if value == 0.0:
                continue
            link = factor.variable_link[variable[n]]
            if link != last:
                at, apart = find_row(factor, variable[m], link)
                last = link
            factor.values[at + apart * (variable[n] - factor.tree_start[link])] += value


@compiled
def _add_coupling(engine: Table, coupling: int, angle: np.ndarray) -> None:
    """Add the Hessian between the joints of a coupling's two coordinates."""
    joints = engine.joints
    pair = engine.couplings.joint[coupling]
    if pair[1] < 0:
        return
    cross = coupling_cross(engine, coupling, angle)
    joint = joints.member_joint
    weight = joints.member_weight
    for m in range(joints.member_start[pair[0]], joints.member_start[pair[0] + 1]):
        for n in range(joints.member_start[pair[1]], joints.member_start[pair[1] + 1]):
            _add_cross(engine, joint[m], joint[n], cross * weight[m] * weight[n])


@compiled
def _add_tendon(engine: Table, tendon: int) -> None:
    """Add the Hessian between a tendon's joints."""
    curvature = engine.joints.stiffening[tendon]
    if curvature == 0.0:
        return
    joint = engine.joints.member_joint
    weight = engine.joints.member_weight
    end = engine.joints.member_start[tendon + 1]
    for m in range(engine.joints.member_start[tendon], end):
        for n in range(m + 1, end):
            _add_cross(engine, joint[m], joint[n], curvature * weight[m] * weight[n])


@compiled
def _add_linearized(engine: Table, i: int) -> None:
    """Add what acts on a coordinate that is linear over the step."""
    joints = engine.joints
    coordinate = joints.now.size - joints.linear_value.size + i
    slope = joints.slope[coordinate]
    curvature = joints.stiffening[coordinate]
    by_z = joints.linear_slope
    start = joints.linear_start[i]
    for m in range(start, joints.linear_start[i + 1]):
        variable = joints.linear_variable[m]
        engine.newton.gradient[variable] += slope * by_z[m]
        if curvature == 0.0 or engine.newton.only_slopes == 1:
            continue
        for n in range(start, m + 1):
            value = curvature * by_z[m] * by_z[n]
            if value != 0.0:
                add_entry(engine.factor, variable, joints.linear_variable[n], value)


@compiled
def _clear_sums(links: Table, hessian: Table) -> None:
    """Set what contacts sum for the Hessian to zero.

    Of vertices of deformable bodies nothing is read but what their positions have.
    """
    rows = hessian.link_sums.shape[1]
    for link in range(hessian.link_sums.shape[0]):
        alone = links.kind[link] == POINT and hessian.slot_first[link] < 0
        for i in range(rows):
            for j in range(1 if alone else 16):
                hessian.link_sums[link, i, j] = 0.0
    for slot in range(hessian.couples):
        for i in range(rows):
            for j in range(16):
                hessian.slot_sums[slot, i, j] = 0.0


@compiled
def _add_between_joints(engine: Table, q: np.ndarray) -> None:
    """Add the Hessian of what depends on several coordinates."""
    first = engine.joints.link.size
    end = engine.joints.now.size - engine.joints.linear_value.size
    if end - first + engine.couplings.joint.shape[0] == 0:
        return
    link_jacobians(engine.links, engine.poses.z_now, q, engine.links.crossed)
    joint_gradients(engine, q)
    for tendon in range(first, end):
        _add_tendon(engine, tendon)
    for coupling in range(engine.couplings.joint.shape[0]):
        _add_coupling(engine, coupling, engine.joints.now)


@entry_point(PART)
def contacts_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Add what contacts and friction of a part of the schedule give."""
    add_contact_terms(engine, part, engine.vertices.now)
    add_friction_terms(engine, part, engine.poses.q_now)
    return 0


@entry_point(types.int64(MIDAS.type, types.int64))
def assemble(engine: Table, after_step: int) -> int:
    """Fill gradient and Hessian at the iterate, for candidates measured there; returns a code.

    With ``newton.curved`` the Hessian has the second derivatives of slides and of hinge angles, and
    those of strains, which may make it indefinite. With ``newton.only_slopes`` the gradient alone
    is filled, and the factor stays.
    """
    q = engine.poses.q_now
    whole = engine.newton.only_slopes == 0
    place_carries(engine.links, engine.hessian, engine.poses.z_now, q)
    add_link_terms(engine)
    if whole:
        _clear_sums(engine.links, engine.hessian)
    do_schedule(engine)
    ask_soft(engine, GRADIENTS)
    add_tie_terms(engine, q)
    add_turn_gradients(engine, q)
    _sum_joint_slopes(engine, engine.joints.now)
    carry_gradient(engine, q, engine.newton.gradient)
    if whole:
        if arrange(engine, after_step == 1) != 0:
            return engine.factor.code
        for i in range(engine.factor.size):
            engine.factor.values[i] = 0.0
        do_parts(engine, engine.entries.carry_part, engine.factor.islands)
        _add_between_joints(engine, q)
    for i in range(engine.joints.linear_value.size):
        _add_linearized(engine, i)
    ask_soft(engine, BLOCKS)
    return 0


ASSEMBLY_KERNELS = (assemble, contacts_part)
