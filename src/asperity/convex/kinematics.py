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
def _side_velocity(jacobian, c, vector, base):
    """Velocity of one side's surface along the axes of contact c."""
    x = 0.0
    y = 0.0
    z = 0.0
    for k in range(6):
        v = vector[base + k]
        x += jacobian[c, 0, k] * v
        y += jacobian[c, 1, k] * v
        z += jacobian[c, 2, k] * v
    return x, y, z


@compiled
def contact_velocities(problem, contacts, first, last, vector, v1, v2, vn):
    """Fill contact velocities (without surface velocity), after `link_velocities`."""
    order = _problem(problem, "contact")
    base_a = _problem(problem, "base_a")
    base_b = _problem(problem, "base_b")
    jacobian_a = _contacts(contacts, "jacobian_a")
    jacobian_b = _contacts(contacts, "jacobian_b")
    for i in range(first, last):
        c = order[i]
        x = 0.0
        y = 0.0
        z = 0.0
        if base_b[i] >= 0:
            x, y, z = _side_velocity(jacobian_b, c, vector, base_b[i])
        if base_a[i] >= 0:
            ax, ay, az = _side_velocity(jacobian_a, c, vector, base_a[i])
            x -= ax
            y -= ay
            z -= az
        v1[i] = x
        v2[i] = y
        vn[i] = z


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
def _add_side(jacobian, c, x, y, z, out, base):
    for k in range(6):
        out[base + k] += jacobian[c, 0, k] * x + jacobian[c, 1, k] * y + jacobian[c, 2, k] * z


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
    jacobian_a = _contacts(contacts, "jacobian_a")
    jacobian_b = _contacts(contacts, "jacobian_b")
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
        x = sign * g1[i]
        y = sign * g2[i]
        z = sign * gn[i]
        if base_b[i] >= 0:
            _add_side(jacobian_b, c, x, y, z, out, base_b[i])
        if base_a[i] >= 0:
            _add_side(jacobian_a, c, -x, -y, -z, out, base_a[i])
    for link in range(links):
        if not tree_spatial[link_tree[link]]:
            base = nv + 6 * link
            start = link_start[link]
            for e in range(start, start + link_size[link]):
                value = 0.0
                for k in range(6):
                    value += chain_column[e, k] * out[base + k]
                out[chain_dof[e]] += value
