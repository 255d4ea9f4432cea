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
from asperity.midas.energy.turn_terms import add_turn_terms, turn_columns
from asperity.midas.engine_layout import MIDAS
from asperity.midas.parts import PART, do_parts
from asperity.midas.pose.joint_coordinates import joint_gradients
from asperity.midas.pose.link_kinematics import link_jacobians

__all__ = ["ASSEMBLY_KERNELS", "assemble"]


@compiled
def _add(engine: Table, row: int, column: int, value: float) -> None:
    """Add to the lower triangle; both places of a symmetric pair are the same one."""
    i = max(row, column)
    j = min(row, column)
    at = engine.row_start[i] + j - engine.row_first[i]
    engine.factor[at] += value


@compiled
def _columns(engine: Table, link: int) -> int:
    return engine.chain_start[link + 1] - engine.chain_start[link]


@compiled
def _sum_joint_slopes(engine: Table, angle: np.ndarray, curved: int) -> None:
    """Fill ψ′ and ψ″ of every joint, motors and couplings included."""
    for joint in range(angle.size):
        _, engine.joint_slope[joint], engine.joint_stiffening[joint] = joint_slopes(
            engine, joint, angle[joint]
        )
    for motor in range(engine.motor_joint.size):
        joint = engine.motor_joint[motor]
        slope, curvature = motor_slopes(engine, motor, angle[joint])
        engine.joint_slope[joint] += slope
        engine.joint_stiffening[joint] += curvature
    add_coupling_slopes(engine, angle, engine.joint_slope, engine.joint_stiffening, curved)
    share_slopes(engine)


@compiled
def _add_turn(engine: Table, term: int, q: np.ndarray) -> None:
    """Add what ψ″ of a ball or free joint's term gives."""
    curvature = turn_columns(engine, term, q, engine.right)
    if curvature == 0.0:
        return
    link = engine.turn_link[term]
    start = engine.chain_start[link]
    for c in range(_columns(engine, link)):
        i = engine.variable_row[engine.chain_variable[start + c]]
        for d in range(c + 1):
            _add(
                engine,
                i,
                engine.variable_row[engine.chain_variable[start + d]],
                curvature * engine.right[c] * engine.right[d],
            )


@compiled
def _take(engine: Table, link: int, column: int) -> int:
    """Row of a variable that moves a link; −1 beyond the last."""
    at = engine.chain_start[link] + column
    if at >= engine.chain_start[link + 1]:
        return -1
    return engine.variable_row[engine.chain_variable[at]]


@compiled
def _add_cross(engine: Table, one: int, other: int, cross: float) -> None:
    """Add the Hessian between the coordinates of two joints, which may be the same.

    Along a chain of variables rows descend: those of both joints are taken in the order of rows.
    """
    a = engine.joint_link[one]
    b = engine.joint_link[other]
    row = engine.cross_row
    slope = engine.cross_slope
    count = 0
    c = 0
    d = 0
    i = _take(engine, a, 0)
    j = _take(engine, b, 0)
    while max(i, j) >= 0:
        row[count] = max(i, j)
        slope[0, count] = 0.0
        slope[1, count] = 0.0
        if i == row[count]:
            slope[0, count] = cross * engine.joint_gradient[one, c]
            c += 1
            i = _take(engine, a, c)
        if j == row[count]:
            slope[1, count] = engine.joint_gradient[other, d]
            d += 1
            j = _take(engine, b, d)
        count += 1
    for m in range(count):
        at = engine.row_start[row[m]] - engine.row_first[row[m]]
        for n in range(m, count):
            engine.factor[at + row[n]] += slope[0, m] * slope[1, n] + slope[1, m] * slope[0, n]


@compiled
def _add_coupling(engine: Table, coupling: int, angle: np.ndarray) -> None:
    """Add the Hessian between the joints of a coupling's two coordinates."""
    pair = engine.coupling_joint[coupling]
    if pair[1] < 0:
        return
    cross = coupling_cross(engine, coupling, angle)
    joint = engine.member_joint
    weight = engine.member_weight
    for m in range(engine.member_start[pair[0]], engine.member_start[pair[0] + 1]):
        for n in range(engine.member_start[pair[1]], engine.member_start[pair[1] + 1]):
            _add_cross(engine, joint[m], joint[n], cross * weight[m] * weight[n])


@compiled
def _add_tendon(engine: Table, tendon: int) -> None:
    """Add the Hessian between a tendon's joints."""
    curvature = engine.joint_stiffening[tendon]
    if curvature == 0.0:
        return
    joint = engine.member_joint
    weight = engine.member_weight
    end = engine.member_start[tendon + 1]
    for m in range(engine.member_start[tendon], end):
        for n in range(m + 1, end):
            _add_cross(engine, joint[m], joint[n], curvature * weight[m] * weight[n])


@compiled
def _add_linearized(engine: Table, i: int) -> None:
    """Add what acts on a coordinate that is linear over the step."""
    coordinate = engine.joint_now.size - engine.linear_value.size + i
    slope = engine.joint_slope[coordinate]
    curvature = engine.joint_stiffening[coordinate]
    by_z = engine.linear_slope
    start = engine.linear_start[i]
    for m in range(start, engine.linear_start[i + 1]):
        variable = engine.linear_variable[m]
        engine.gradient[variable] += slope * by_z[m]
        if curvature == 0.0 or engine.only_slopes == 1:
            continue
        row = engine.variable_row[variable]
        for n in range(start, m + 1):
            value = curvature * by_z[m] * by_z[n]
            if value != 0.0:
                _add(engine, row, engine.variable_row[engine.linear_variable[n]], value)


@compiled
def _clear(engine: Table) -> None:
    """Set the Hessian, and what contacts have summed for it, to zero, where they are not yet."""
    for link in range(engine.link_sums.shape[0]):
        for i in range(6):
            for j in range(16):
                engine.link_sums[link, i, j] = 0.0
    for slot in range(engine.couples):
        for i in range(6):
            for j in range(16):
                engine.slot_sums[slot, i, j] = 0.0
    for row in range(engine.row_used.size):
        begin = engine.row_start[row] + engine.row_used[row] - engine.row_first[row]
        for i in range(begin, engine.row_start[row + 1]):
            engine.factor[i] = 0.0
        engine.row_used[row] = engine.row_first[row]


@compiled
def _add_between_joints(engine: Table, q: np.ndarray) -> None:
    """Add the Hessian of what depends on several coordinates, or on turns of ball joints."""
    first = engine.joint_link.size
    end = engine.joint_now.size - engine.linear_value.size
    if end - first + engine.turn_link.size + engine.coupling_active.size == 0:
        return
    link_jacobians(engine, engine.z_now, q, engine.link_crossed)
    joint_gradients(engine, q)
    for tendon in range(first, end):
        _add_tendon(engine, tendon)
    for term in range(engine.turn_link.size):
        _add_turn(engine, term, q)
    for coupling in range(engine.coupling_active.size):
        if engine.coupling_active[coupling]:
            _add_coupling(engine, coupling, engine.joint_now)


@entry_point(PART)
def contacts_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Add what contacts and friction of a part of the schedule give."""
    add_contact_terms(engine, part, engine.vertex_now)
    add_friction_terms(engine, part, engine.q_now)
    return 0


@entry_point(types.int64(MIDAS.type, types.int64))
def assemble(engine: Table, curved: int) -> int:
    """Fill gradient and Hessian at the iterate, for candidates measured there.

    With ``curved`` the Hessian has the second derivatives of slides and of hinge angles, and those
    of strains, which may make it indefinite. With ``only_slopes`` the gradient alone is filled, and
    the factor stays.
    """
    q = engine.q_now
    whole = engine.only_slopes == 0
    engine.curved = curved
    place_carries(engine, engine.z_now, q)
    add_link_terms(engine)
    if whole:
        _clear(engine)
    do_schedule(engine)
    add_tie_terms(engine, q)
    add_turn_terms(engine, q)
    _sum_joint_slopes(engine, engine.joint_now, curved)
    carry_gradient(engine, q, engine.gradient)
    if whole:
        do_parts(engine, engine.carry_part, engine.islands)
        _add_between_joints(engine, q)
    for i in range(engine.linear_value.size):
        _add_linearized(engine, i)
    return 0


ASSEMBLY_KERNELS = (assemble, contacts_part)
