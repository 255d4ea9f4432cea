"""Velocities of contacts and rows, and the generalized impulses that they return.

Vectors given to these kernels have the problem's length, ``nv`` and six places per link behind
that: shorter ones would be written beyond their end.
"""

from __future__ import annotations

from asperity.compiled import compiled
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.problem import PROBLEM

__all__ = ["add_impulses", "contact_velocities", "link_velocities", "row_velocities"]

_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_rows = CONSTRAINT_SET.get


@compiled
def link_velocities(problem, contacts, vector):
    """Fill a vector's end with the spatial velocities of the links of articulated trees."""
    nv = _problem(problem, "nv")
    tree_spatial = _problem(problem, "tree_spatial")
    link_tree = _contacts(contacts, "link_tree")
    link_start = _contacts(contacts, "link_start")
    link_size = _contacts(contacts, "link_size")
    chain_dof = _contacts(contacts, "chain_dof")
    chain_column = _contacts(contacts, "chain_column")
    for link in range(_contacts(contacts, "counts")[1]):
        if tree_spatial[link_tree[link]]:
            continue
        base = nv + 6 * link
        for a in range(6):
            vector[base + a] = 0.0
        start = link_start[link]
        for i in range(start, start + link_size[link]):
            v = vector[chain_dof[i]]
            for a in range(6):
                vector[base + a] += chain_column[i, a] * v


@compiled
def _side_velocity(arm, c, vector, base):
    """Velocity of one side's surface at contact c, v + ω × r, in world axes."""
    wx = vector[base]
    wy = vector[base + 1]
    wz = vector[base + 2]
    rx = arm[c, 0]
    ry = arm[c, 1]
    rz = arm[c, 2]
    return (
        vector[base + 3] + wy * rz - wz * ry,
        vector[base + 4] + wz * rx - wx * rz,
        vector[base + 5] + wx * ry - wy * rx,
    )


@compiled
def contact_velocities(problem, contacts, first, last, vector, v1, v2, vn):
    """Fill contact velocities (without surface velocity), after `link_velocities`."""
    order = _problem(problem, "contact")
    base_a = _problem(problem, "base_a")
    base_b = _problem(problem, "base_b")
    frame = _contacts(contacts, "frame")
    arm_a = _contacts(contacts, "arm_a")
    arm_b = _contacts(contacts, "arm_b")
    for i in range(first, last):
        c = order[i]
        x = 0.0
        y = 0.0
        z = 0.0
        if base_b[i] >= 0:
            x, y, z = _side_velocity(arm_b, c, vector, base_b[i])
        if base_a[i] >= 0:
            ax, ay, az = _side_velocity(arm_a, c, vector, base_a[i])
            x -= ax
            y -= ay
            z -= az
        v1[i] = frame[c, 0] * x + frame[c, 1] * y + frame[c, 2] * z
        v2[i] = frame[c, 3] * x + frame[c, 4] * y + frame[c, 5] * z
        vn[i] = frame[c, 6] * x + frame[c, 7] * y + frame[c, 8] * z


@compiled
def add_surface_velocities(problem, contacts, first, last):
    """Add the velocity of moving surfaces (conveyor belts) to the contact velocities."""
    order = _problem(problem, "contact")
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    surface_velocity = _contacts(contacts, "surface_velocity")
    for i in range(first, last):
        c = order[i]
        v1[i] += surface_velocity[c, 0]
        v2[i] += surface_velocity[c, 1]


@compiled
def row_velocities(problem, rows, first, last, velocity, out):
    """Fill ``out`` with the velocity of rows ``first .. last`` (sorted by island)."""
    order = _problem(problem, "row")
    start = _rows(rows, "start")
    dof = _rows(rows, "dof")
    jacobian = _rows(rows, "jacobian")
    for i in range(first, last):
        r = order[i]
        value = 0.0
        for e in range(start[r, 0], start[r, 2]):
            value += jacobian[e] * velocity[dof[e]]
        out[i] = value


@compiled
def _add_side(arm, c, x, y, z, out, base):
    """Add a force at contact c, in world axes, with its moment."""
    rx = arm[c, 0]
    ry = arm[c, 1]
    rz = arm[c, 2]
    out[base] += ry * z - rz * y
    out[base + 1] += rz * x - rx * z
    out[base + 2] += rx * y - ry * x
    out[base + 3] += x
    out[base + 4] += y
    out[base + 5] += z


@compiled
def add_impulses(problem, contacts, rows, contact_range, row_range, out, sign):
    """``out += sign · Jᵀ γ`` for the impulses of a range of contacts and rows."""
    if contact_range[1] > contact_range[0]:
        _add_contact_impulses(problem, contacts, contact_range, out, sign)
    order = _problem(problem, "row")
    impulse = _problem(problem, "row_impulse")
    start = _rows(rows, "start")
    dof = _rows(rows, "dof")
    jacobian = _rows(rows, "jacobian")
    for i in range(row_range[0], row_range[1]):
        r = order[i]
        value = sign * impulse[i]
        for e in range(start[r, 0], start[r, 2]):
            out[dof[e]] += jacobian[e] * value


@compiled
def _add_contact_impulses(problem, contacts, contact_range, out, sign):
    order = _problem(problem, "contact")
    base_a = _problem(problem, "base_a")
    base_b = _problem(problem, "base_b")
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    nv = _problem(problem, "nv")
    tree_spatial = _problem(problem, "tree_spatial")
    frame = _contacts(contacts, "frame")
    arm_a = _contacts(contacts, "arm_a")
    arm_b = _contacts(contacts, "arm_b")
    link_tree = _contacts(contacts, "link_tree")
    link_start = _contacts(contacts, "link_start")
    link_size = _contacts(contacts, "link_size")
    chain_dof = _contacts(contacts, "chain_dof")
    chain_column = _contacts(contacts, "chain_column")
    links = _contacts(contacts, "counts")[1]
    for link in range(links):
        if not tree_spatial[link_tree[link]]:
            for k in range(nv + 6 * link, nv + 6 * link + 6):
                out[k] = 0.0
    for i in range(contact_range[0], contact_range[1]):
        c = order[i]
        s = sign * g1[i]
        t = sign * g2[i]
        n = sign * gn[i]
        x = frame[c, 0] * s + frame[c, 3] * t + frame[c, 6] * n
        y = frame[c, 1] * s + frame[c, 4] * t + frame[c, 7] * n
        z = frame[c, 2] * s + frame[c, 5] * t + frame[c, 8] * n
        if base_b[i] >= 0:
            _add_side(arm_b, c, x, y, z, out, base_b[i])
        if base_a[i] >= 0:
            _add_side(arm_a, c, -x, -y, -z, out, base_a[i])
    for link in range(links):
        if not tree_spatial[link_tree[link]]:
            base = nv + 6 * link
            start = link_start[link]
            for e in range(start, start + link_size[link]):
                value = 0.0
                for k in range(6):
                    value += chain_column[e, k] * out[base + k]
                out[chain_dof[e]] += value
