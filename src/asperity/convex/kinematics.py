"""Velocities of contacts and rows, and the generalized impulses that they return."""

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
def link_velocities(problem, contacts, velocity):
    """Fill ``link_velocity`` for the links of articulated trees (free bodies need no copy)."""
    out = _problem(problem, "link_velocity")
    tree_spatial = _problem(problem, "tree_spatial")
    link_tree = _contacts(contacts, "link_tree")
    link_start = _contacts(contacts, "link_start")
    link_size = _contacts(contacts, "link_size")
    chain_dof = _contacts(contacts, "chain_dof")
    chain_column = _contacts(contacts, "chain_column")
    for link in range(_contacts(contacts, "counts")[1]):
        if tree_spatial[link_tree[link]]:
            continue
        for a in range(6):
            out[link, a] = 0.0
        start = link_start[link]
        for i in range(start, start + link_size[link]):
            v = velocity[chain_dof[i]]
            for a in range(6):
                out[link, a] += chain_column[i, a] * v


@compiled
def contact_velocities(problem, contacts, first, last, velocity, v1, v2, vn):
    """Fill contact velocities (without surface velocity), after `link_velocities`."""
    order = _problem(problem, "contact")
    spatial = _problem(problem, "link_velocity")
    tree_start = _problem(problem, "tree_start")
    tree_spatial = _problem(problem, "tree_spatial")
    link_tree = _contacts(contacts, "link_tree")
    link = _contacts(contacts, "link")
    jacobian_a = _contacts(contacts, "jacobian_a")
    jacobian_b = _contacts(contacts, "jacobian_b")
    for i in range(first, last):
        c = order[i]
        x = 0.0
        y = 0.0
        z = 0.0
        a = link[c, 0]
        b = link[c, 1]
        if b >= 0:
            tree = link_tree[b]
            free = tree_spatial[tree]
            start = tree_start[tree]
            for k in range(6):
                v = velocity[start + k] if free else spatial[b, k]
                x += jacobian_b[c, 0, k] * v
                y += jacobian_b[c, 1, k] * v
                z += jacobian_b[c, 2, k] * v
        if a >= 0:
            tree = link_tree[a]
            free = tree_spatial[tree]
            start = tree_start[tree]
            for k in range(6):
                v = velocity[start + k] if free else spatial[a, k]
                x -= jacobian_a[c, 0, k] * v
                y -= jacobian_a[c, 1, k] * v
                z -= jacobian_a[c, 2, k] * v
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
def add_impulses(problem, contacts, rows, contact_range, row_range, out, sign):
    """``out += sign · Jᵀ γ`` for the impulses of a range of contacts and rows."""
    order = _problem(problem, "contact")
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    tree_start = _problem(problem, "tree_start")
    tree_spatial = _problem(problem, "tree_spatial")
    link_force = _problem(problem, "link_force")
    link = _contacts(contacts, "link")
    link_tree = _contacts(contacts, "link_tree")
    link_start = _contacts(contacts, "link_start")
    link_size = _contacts(contacts, "link_size")
    chain_dof = _contacts(contacts, "chain_dof")
    chain_column = _contacts(contacts, "chain_column")
    jacobian_a = _contacts(contacts, "jacobian_a")
    jacobian_b = _contacts(contacts, "jacobian_b")
    for i in range(contact_range[0], contact_range[1]):
        c = order[i]
        for side in range(2):
            body = link[c, side]
            if body >= 0 and not tree_spatial[link_tree[body]]:
                for k in range(6):
                    link_force[body, k] = 0.0
    for i in range(contact_range[0], contact_range[1]):
        c = order[i]
        x = sign * g1[i]
        y = sign * g2[i]
        z = sign * gn[i]
        b = link[c, 1]
        if b >= 0:
            tree = link_tree[b]
            if tree_spatial[tree]:
                start = tree_start[tree]
                for k in range(6):
                    out[start + k] += (
                        jacobian_b[c, 0, k] * x + jacobian_b[c, 1, k] * y + jacobian_b[c, 2, k] * z
                    )
            else:
                for k in range(6):
                    link_force[b, k] += (
                        jacobian_b[c, 0, k] * x + jacobian_b[c, 1, k] * y + jacobian_b[c, 2, k] * z
                    )
        a = link[c, 0]
        if a >= 0:
            tree = link_tree[a]
            if tree_spatial[tree]:
                start = tree_start[tree]
                for k in range(6):
                    out[start + k] -= (
                        jacobian_a[c, 0, k] * x + jacobian_a[c, 1, k] * y + jacobian_a[c, 2, k] * z
                    )
            else:
                for k in range(6):
                    link_force[a, k] -= (
                        jacobian_a[c, 0, k] * x + jacobian_a[c, 1, k] * y + jacobian_a[c, 2, k] * z
                    )
    for i in range(contact_range[0], contact_range[1]):
        c = order[i]
        for side in range(2):
            body = link[c, side]
            if body >= 0 and not tree_spatial[link_tree[body]]:
                start = link_start[body]
                for e in range(start, start + link_size[body]):
                    value = 0.0
                    for k in range(6):
                        value += chain_column[e, k] * link_force[body, k]
                    out[chain_dof[e]] += value
                # Emptied, so that the next contact of this body adds nothing.
                for k in range(6):
                    link_force[body, k] = 0.0
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
