"""Gradient and Hessian of a step's incremental potential in the variables."""

from __future__ import annotations

from numba import types

from asperity.compiled import compiled, entry_point
from asperity.midas.contact_terms import add_contact_terms, expand
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
from asperity.midas.kinematics import link_jacobians, reduce_gradient
from asperity.midas.layouts import FREE, LINEAR, MIDAS, SLIDE, SLOTS
from asperity.midas.link_terms import add_link_terms
from asperity.midas.turn_terms import add_turn_terms, turn_columns

__all__ = ["assemble"]

_midas = MIDAS.get


@compiled
def _add(engine, row, column, value):
    """Add to the lower triangle; both places of a symmetric pair are the same one."""
    i = max(row, column)
    j = min(row, column)
    at = _midas(engine, "row_start")[i] + j - _midas(engine, "row_first")[i]
    _midas(engine, "factor")[at] += value


@compiled
def _columns(engine, link):
    return _midas(engine, "chain_start")[link + 1] - _midas(engine, "chain_start")[link]


@compiled
def _times_jacobian(engine, block, link, out):
    """``out = block · J`` for the link's Jacobian, shape (12, columns)."""
    start = _midas(engine, "chain_start")[link]
    count = _columns(engine, link)
    if _midas(engine, "link_kind")[link] == FREE:
        for i in range(12):
            for c in range(12):
                out[i, c] = block[i, c]
        return
    jacobian = _midas(engine, "jacobian")
    for i in range(12):
        for c in range(count):
            value = 0.0
            for j in range(4):
                for k in range(3):
                    value += block[i, 3 * j + k] * jacobian[start + c, j, k]
            out[i, c] = value


@compiled
def _entry(engine, link, c, product, d):
    """Entry of Jᵀ · product, in column c of the link's Jacobian and column d of the product."""
    if _midas(engine, "link_kind")[link] == FREE:
        return product[c, d]
    jacobian = _midas(engine, "jacobian")
    at = _midas(engine, "chain_start")[link] + c
    value = 0.0
    for j in range(4):
        for k in range(3):
            value += jacobian[at, j, k] * product[3 * j + k, d]
    return value


@compiled
def _add_link(engine, link, product):
    variable = _midas(engine, "chain_variable")
    row = _midas(engine, "variable_row")
    start = _midas(engine, "chain_start")[link]
    block = _midas(engine, "link_block")[link]
    expand(_midas(engine, "link_sums")[link], block)
    _times_jacobian(engine, block, link, product)
    for c in range(_columns(engine, link)):
        i = row[variable[start + c]]
        for d in range(c + 1):
            j = row[variable[start + d]]
            _add(engine, i, j, _entry(engine, link, c, product, d))


@compiled
def _add_slot(engine, slot, product):
    variable = _midas(engine, "chain_variable")
    row = _midas(engine, "variable_row")
    chain = _midas(engine, "chain_start")
    a = _midas(engine, "slot_link")[slot, 0]
    b = _midas(engine, "slot_link")[slot, 1]
    block = _midas(engine, "slot_block")
    for i in range(12):
        for j in range(12):
            block[i, j] = 0.0
    expand(_midas(engine, "slot_sums")[slot], block)
    _times_jacobian(engine, block, b, product)
    for c in range(_columns(engine, a)):
        i = row[variable[chain[a] + c]]
        for d in range(_columns(engine, b)):
            j = row[variable[chain[b] + d]]
            value = _entry(engine, a, c, product, d)
            # A variable that moves both links gets the block and its transpose.
            _add(engine, i, j, 2.0 * value if i == j else value)


@compiled
def _sum_joint_slopes(engine, angle, curved):
    """Fill ψ′ and ψ″ of every joint, motors and couplings included."""
    slopes = _midas(engine, "joint_slope")
    curvatures = _midas(engine, "joint_stiffening")
    for joint in range(angle.size):
        _, slopes[joint], curvatures[joint] = joint_slopes(engine, joint, angle[joint])
    motor_joint = _midas(engine, "motor_joint")
    for motor in range(motor_joint.size):
        joint = motor_joint[motor]
        slope, curvature = motor_slopes(engine, motor, angle[joint])
        slopes[joint] += slope
        curvatures[joint] += curvature
    add_coupling_slopes(engine, angle, slopes, curvatures, curved)


@compiled
def _add_joint(engine, joint, curved):
    slope = _midas(engine, "joint_slope")[joint]
    curvature = _midas(engine, "joint_stiffening")[joint]
    gradient = _midas(engine, "gradient")
    by_z = _midas(engine, "joint_gradient")[joint]
    variable = _midas(engine, "chain_variable")
    row = _midas(engine, "variable_row")
    link = _midas(engine, "joint_link")[joint]
    start = _midas(engine, "chain_start")[link]
    hinged = curved == 1 and _midas(engine, "link_kind")[link] != SLIDE
    for c in range(_columns(engine, link)):
        gradient[variable[start + c]] += slope * by_z[c]
        i = row[variable[start + c]]
        for d in range(c + 1):
            value = curvature * by_z[c] * by_z[d]
            if hinged:
                value += slope * joint_curvature(engine, joint, c, d)
            if value != 0.0:
                _add(engine, i, row[variable[start + d]], value)


@compiled
def _add_turn(engine, term, q):
    """Add what ψ″ of a ball or free joint's term gives."""
    by_z = _midas(engine, "right")
    curvature = turn_columns(engine, term, q, by_z)
    if curvature == 0.0:
        return
    variable = _midas(engine, "chain_variable")
    row = _midas(engine, "variable_row")
    link = _midas(engine, "turn_link")[term]
    start = _midas(engine, "chain_start")[link]
    for c in range(_columns(engine, link)):
        i = row[variable[start + c]]
        for d in range(c + 1):
            _add(engine, i, row[variable[start + d]], curvature * by_z[c] * by_z[d])


@compiled
def _add_coupling(engine, coupling, angle):
    """Add the Hessian between the two joints of a coupling."""
    joint = _midas(engine, "coupling_joint")[coupling]
    if joint[1] < 0:
        return
    cross = coupling_cross(engine, coupling, angle)
    variable = _midas(engine, "chain_variable")
    row = _midas(engine, "variable_row")
    chain = _midas(engine, "chain_start")
    by_z = _midas(engine, "joint_gradient")
    a = _midas(engine, "joint_link")[joint[0]]
    b = _midas(engine, "joint_link")[joint[1]]
    for c in range(_columns(engine, a)):
        i = row[variable[chain[a] + c]]
        for d in range(_columns(engine, b)):
            value = cross * by_z[joint[0], c] * by_z[joint[1], d]
            if value != 0.0:
                j = row[variable[chain[b] + d]]
                # As in `_add_slot`.
                _add(engine, i, j, 2.0 * value if i == j else value)


@compiled
def _add_slides(engine, z, q):
    """Add second derivatives of the links that slides on turning links carry.

    A slide's child has Q = (T + s e d) Q_parent in its first row, so that the gradient g of that
    row, over all that the child carries, adds g · (d ∂Q_parent/∂z) between s and z.
    """
    kind = _midas(engine, "link_kind")
    parent = _midas(engine, "link_parent")
    first = _midas(engine, "link_variable")
    transfer = _midas(engine, "transfer")
    direction = _midas(engine, "slide_direction")
    gradient = _midas(engine, "link_gradient")
    carried = _midas(engine, "carried_gradient")
    chain = _midas(engine, "chain_start")
    variable = _midas(engine, "chain_variable")
    jacobian = _midas(engine, "jacobian")
    row = _midas(engine, "variable_row")
    count = kind.size
    for link in range(count):
        for i in range(4):
            for k in range(3):
                carried[link, i, k] = gradient[link, i, k]
    slopes = _midas(engine, "joint_slope")
    for joint in range(slopes.size):
        add_angle_gradient(engine, joint, q, slopes[joint], carried)
    for back in range(count):
        link = count - 1 - back
        p = parent[link]
        if p == count:
            continue
        for k in range(3):
            for j in range(4):
                for i in range(4):
                    carried[p, j, k] += transfer[link, i, j] * carried[link, i, k]
            if kind[link] == SLIDE:
                for j in range(3):
                    carried[p, 1 + j, k] += (
                        z[first[link]] * direction[link, j] * carried[link, 0, k]
                    )
        if kind[link] != SLIDE:
            continue
        for c in range(chain[p], chain[p + 1]):
            value = 0.0
            for j in range(3):
                for k in range(3):
                    by_z = jacobian[c, 1 + j, k]
                    if kind[p] == FREE:
                        by_z = 1.0 if c - chain[p] == 3 * (1 + j) + k else 0.0
                    value += direction[link, j] * carried[link, 0, k] * by_z
            _add(engine, row[first[link]], row[variable[c]], value)


@entry_point(types.int64(types.int64, types.int64))
def assemble(engine, curved):
    """Fill gradient and Hessian at the iterate, for candidates measured there.

    With ``curved`` the Hessian has the second derivatives of slides and of hinge angles, which may
    make it indefinite.
    """
    z = _midas(engine, "z_now")
    q = _midas(engine, "q_now")
    x = _midas(engine, "vertex_now")
    angle = _midas(engine, "joint_now")
    ints = _midas(engine, "ints")
    gradient = _midas(engine, "gradient")
    values = _midas(engine, "factor")
    link_sums = _midas(engine, "link_sums")
    slot_sums = _midas(engine, "slot_sums")
    product = _midas(engine, "product")
    row_start = _midas(engine, "row_start")
    link_jacobians(engine, z, q)
    add_link_terms(engine, q)
    for link in range(link_sums.shape[0]):
        for i in range(6):
            for j in range(16):
                link_sums[link, i, j] = 0.0
    for slot in range(ints[SLOTS]):
        for i in range(6):
            for j in range(16):
                slot_sums[slot, i, j] = 0.0
    add_contact_terms(engine, x)
    add_friction_terms(engine, q)
    add_tie_terms(engine, q)
    add_turn_terms(engine, q)
    for i in range(gradient.size):
        gradient[i] = 0.0
    for i in range(row_start[gradient.size]):
        values[i] = 0.0
    reduce_gradient(engine, gradient)
    for link in range(_midas(engine, "link_kind").size):
        _add_link(engine, link, product)
    for slot in range(ints[SLOTS]):
        _add_slot(engine, slot, product)
    joint_gradients(engine, q)
    _sum_joint_slopes(engine, angle, curved)
    for joint in range(angle.size):
        _add_joint(engine, joint, curved)
    for term in range(_midas(engine, "turn_link").size):
        _add_turn(engine, term, q)
    active = _midas(engine, "coupling_active")
    for coupling in range(active.size):
        if active[coupling]:
            _add_coupling(engine, coupling, angle)
    if curved == 1 and ints[LINEAR] == 0:
        _add_slides(engine, z, q)
    return 0
