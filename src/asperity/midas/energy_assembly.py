"""Gradient and Hessian of a step's incremental potential in the variables."""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.contact_terms import add_contact_terms, expand
from asperity.midas.engine_layout import FREE, MIDAS, SLIDE
from asperity.midas.equality_terms import (
    add_coupling_slopes,
    add_tie_terms,
    coupling_cross,
)
from asperity.midas.friction_terms import add_friction_terms
from asperity.midas.joint_coordinates import (
    add_angle_gradient,
    joint_curvature,
    joint_gradients,
)
from asperity.midas.joint_terms import joint_slopes, motor_slopes
from asperity.midas.link_kinematics import link_jacobians, reduce_gradient
from asperity.midas.link_terms import add_link_terms
from asperity.midas.tendon_terms import share_slopes
from asperity.midas.turn_terms import add_turn_terms, turn_columns

__all__ = ["assemble"]


@compiled
def _add(engine: Table, row: int, column: int, value: float) -> None:
    """Add to the lower triangle; both places of a symmetric pair are the same one."""
    if engine.only_slopes == 1:
        return
    i = max(row, column)
    j = min(row, column)
    at = engine.row_start[i] + j - engine.row_first[i]
    engine.factor[at] += value


@compiled
def _columns(engine: Table, link: int) -> int:
    return engine.chain_start[link + 1] - engine.chain_start[link]


@compiled
def _times_jacobian(engine: Table, block: np.ndarray, link: int, out: np.ndarray) -> None:
    """``out = block · J`` for the link's Jacobian, shape (12, columns)."""
    start = engine.chain_start[link]
    count = _columns(engine, link)
    if engine.link_kind[link] == FREE:
        for i in range(12):
            for c in range(12):
                out[i, c] = block[i, c]
        return
    for i in range(12):
        for c in range(count):
            value = 0.0
            for j in range(4):
                for k in range(3):
                    value += block[i, 3 * j + k] * engine.jacobian[start + c, j, k]
            out[i, c] = value


@compiled
def _entry(engine: Table, link: int, c: int, product: np.ndarray, d: int) -> float:
    """Entry of Jᵀ · product, in column c of the link's Jacobian and column d of the product."""
    if engine.link_kind[link] == FREE:
        return product[c, d]
    at = engine.chain_start[link] + c
    value = 0.0
    for j in range(4):
        for k in range(3):
            value += engine.jacobian[at, j, k] * product[3 * j + k, d]
    return value


@compiled
def _add_link(engine: Table, link: int, product: np.ndarray) -> None:
    start = engine.chain_start[link]
    block = engine.link_block[link]
    expand(engine.link_sums[link], block)
    _times_jacobian(engine, block, link, product)
    for c in range(_columns(engine, link)):
        i = engine.variable_row[engine.chain_variable[start + c]]
        for d in range(c + 1):
            j = engine.variable_row[engine.chain_variable[start + d]]
            _add(engine, i, j, _entry(engine, link, c, product, d))


@compiled
def _add_slot(engine: Table, slot: int, product: np.ndarray) -> None:
    a = engine.slot_link[slot, 0]
    b = engine.slot_link[slot, 1]
    for i in range(12):
        for j in range(12):
            engine.slot_block[i, j] = 0.0
    expand(engine.slot_sums[slot], engine.slot_block)
    _times_jacobian(engine, engine.slot_block, b, product)
    for c in range(_columns(engine, a)):
        i = engine.variable_row[engine.chain_variable[engine.chain_start[a] + c]]
        for d in range(_columns(engine, b)):
            j = engine.variable_row[engine.chain_variable[engine.chain_start[b] + d]]
            value = _entry(engine, a, c, product, d)
            # A variable that moves both links gets the block and its transpose.
            _add(engine, i, j, 2.0 * value if i == j else value)


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
def _add_joint(engine: Table, joint: int, curved: int) -> None:
    slope = engine.joint_slope[joint]
    curvature = engine.joint_stiffening[joint]
    by_z = engine.joint_gradient[joint]
    link = engine.joint_link[joint]
    start = engine.chain_start[link]
    hinged = curved == 1 and engine.link_kind[link] != SLIDE
    for c in range(_columns(engine, link)):
        engine.gradient[engine.chain_variable[start + c]] += slope * by_z[c]
        i = engine.variable_row[engine.chain_variable[start + c]]
        for d in range(c + 1):
            value = curvature * by_z[c] * by_z[d]
            if hinged:
                value += slope * joint_curvature(engine, joint, c, d)
            if value != 0.0:
                _add(engine, i, engine.variable_row[engine.chain_variable[start + d]], value)


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
def _add_cross(engine: Table, one: int, other: int, cross: float) -> None:
    """Add the Hessian between the coordinates of two joints, which may be the same."""
    a = engine.joint_link[one]
    b = engine.joint_link[other]
    for c in range(_columns(engine, a)):
        i = engine.variable_row[engine.chain_variable[engine.chain_start[a] + c]]
        for d in range(_columns(engine, b)):
            value = cross * engine.joint_gradient[one, c] * engine.joint_gradient[other, d]
            if value != 0.0:
                j = engine.variable_row[engine.chain_variable[engine.chain_start[b] + d]]
                # As in `_add_slot`.
                _add(engine, i, j, 2.0 * value if i == j else value)


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
        if curvature == 0.0:
            continue
        row = engine.variable_row[variable]
        for n in range(start, m + 1):
            value = curvature * by_z[m] * by_z[n]
            if value != 0.0:
                _add(engine, row, engine.variable_row[engine.linear_variable[n]], value)


@compiled
def _add_slides(engine: Table, z: np.ndarray, q: np.ndarray) -> None:
    """Add second derivatives of the links that slides on turning links carry.

    A slide's child has Q = (T + s e d) Q_parent in its first row, so that the gradient g of that
    row, over all that the child carries, adds g · (d ∂Q_parent/∂z) between s and z.
    """
    kind = engine.link_kind
    carried = engine.carried_gradient
    count = kind.size
    for link in range(count):
        for i in range(4):
            for k in range(3):
                carried[link, i, k] = engine.link_gradient[link, i, k]
    for joint in range(engine.joint_link.size):
        add_angle_gradient(engine, joint, q, engine.joint_slope[joint], carried)
    for back in range(count):
        link = count - 1 - back
        p = engine.link_parent[link]
        if p == count:
            continue
        for k in range(3):
            for j in range(4):
                for i in range(4):
                    carried[p, j, k] += engine.transfer[link, i, j] * carried[link, i, k]
            if kind[link] == SLIDE:
                for j in range(3):
                    carried[p, 1 + j, k] += (
                        z[engine.link_variable[link]]
                        * engine.slide_direction[link, j]
                        * carried[link, 0, k]
                    )
        if kind[link] != SLIDE:
            continue
        for c in range(engine.chain_start[p], engine.chain_start[p + 1]):
            value = 0.0
            for j in range(3):
                for k in range(3):
                    by_z = engine.jacobian[c, 1 + j, k]
                    if kind[p] == FREE:
                        by_z = 1.0 if c - engine.chain_start[p] == 3 * (1 + j) + k else 0.0
                    value += engine.slide_direction[link, j] * carried[link, 0, k] * by_z
            _add(
                engine,
                engine.variable_row[engine.link_variable[link]],
                engine.variable_row[engine.chain_variable[c]],
                value,
            )


@compiled
def _clear(engine: Table) -> None:
    """Set the Hessian, and what contacts have summed for it, to zero."""
    for link in range(engine.link_sums.shape[0]):
        for i in range(6):
            for j in range(16):
                engine.link_sums[link, i, j] = 0.0
    for slot in range(engine.slots):
        for i in range(6):
            for j in range(16):
                engine.slot_sums[slot, i, j] = 0.0
    for i in range(engine.row_start[engine.gradient.size]):
        engine.factor[i] = 0.0


@entry_point(types.int64(MIDAS.type, types.int64))
def assemble(engine: Table, curved: int) -> int:
    """Fill gradient and Hessian at the iterate, for candidates measured there.

    With ``curved`` the Hessian has the second derivatives of slides and of hinge angles, and those
    of strains, which may make it indefinite. With ``only_slopes`` the gradient alone is filled, and
    the factor stays.
    """
    q = engine.q_now
    gradient = engine.gradient
    whole = engine.only_slopes == 0
    link_jacobians(engine, engine.z_now, q)
    add_link_terms(engine, q, curved)
    if whole:
        _clear(engine)
    add_contact_terms(engine, engine.vertex_now)
    add_friction_terms(engine, q)
    add_tie_terms(engine, q)
    add_turn_terms(engine, q)
    for i in range(gradient.size):
        gradient[i] = 0.0
    reduce_gradient(engine, gradient)
    if whole:
        for link in range(engine.link_kind.size):
            _add_link(engine, link, engine.product)
        for slot in range(engine.slots):
            _add_slot(engine, slot, engine.product)
    joint_gradients(engine, q)
    _sum_joint_slopes(engine, engine.joint_now, curved)
    for joint in range(engine.joint_link.size):
        _add_joint(engine, joint, curved)
    for tendon in range(engine.joint_link.size, engine.joint_now.size - engine.linear_value.size):
        _add_tendon(engine, tendon)
    for i in range(engine.linear_value.size):
        _add_linearized(engine, i)
    for term in range(engine.turn_link.size):
        _add_turn(engine, term, q)
    for coupling in range(engine.coupling_active.size):
        if engine.coupling_active[coupling]:
            _add_coupling(engine, coupling, engine.joint_now)
    if curved == 1 and engine.linear == 0:
        _add_slides(engine, engine.z_now, q)
    return 0
