"""Velocities of contacts and rows, and the generalized impulses that they return.

Vectors given to these kernels have the problem's length, ``nv`` and six places per link behind
that: shorter ones would be written beyond their end.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.convex.ellipsoids import add_turn_impulse, fill_turns
from asperity.convex.paths import gather_forces, spread_velocities

__all__ = [
    "add_contact_impulses",
    "add_impulses",
    "add_row_impulses",
    "clear_links",
    "contact_changes",
    "contact_velocities",
    "fill_velocities",
    "impulse_in_world",
    "link_velocities",
    "row_velocities",
]


@compiled
def link_velocities(graph: Table, iterate: Table, contacts: Table, vector: np.ndarray) -> None:
    """Fill a vector's end with the spatial velocities of the links of articulated trees."""
    spread_velocities(graph, iterate, contacts, 0, graph.islands, vector)


@inlined
def _side_velocity(
    arm: np.ndarray, c: int, vector: np.ndarray, base: int
) -> tuple[float, float, float]:
    """Velocity of one side's surface at contact c, v + ω × r, in world axes."""
    wx, wy, wz = vector[base], vector[base + 1], vector[base + 2]
    rx, ry, rz = arm[c, 0], arm[c, 1], arm[c, 2]
    return (
        vector[base + 3] + wy * rz - wz * ry,
        vector[base + 4] + wz * rx - wx * rz,
        vector[base + 5] + wx * ry - wy * rx,
    )


@inlined
def fill_velocities(
    graph: Table,
    contacts: Table,
    first: int,
    last: int,
    vector: np.ndarray,
    v1: np.ndarray,
    v2: np.ndarray,
    vn: np.ndarray,
    turn: np.ndarray,
) -> None:
    """Fill velocities without surface velocity, and ``turn`` if there are ellipsoidal contacts."""
    frame = contacts.frame
    for i in range(first, last):
        c = graph.contact[i]
        x = 0.0
        y = 0.0
        z = 0.0
        if graph.base_b[i] >= 0:
            x, y, z = _side_velocity(contacts.arm_b, c, vector, graph.base_b[i])
        if graph.base_a[i] >= 0:
            ax, ay, az = _side_velocity(contacts.arm_a, c, vector, graph.base_a[i])
            x -= ax
            y -= ay
            z -= az
        v1[i] = frame[c, 0] * x + frame[c, 1] * y + frame[c, 2] * z
        v2[i] = frame[c, 3] * x + frame[c, 4] * y + frame[c, 5] * z
        vn[i] = frame[c, 6] * x + frame[c, 7] * y + frame[c, 8] * z
    if graph.ellipsoids != 0:
        fill_turns(graph, contacts, first, last, vector, v2, turn)


@compiled
def contact_changes(
    graph: Table, iterate: Table, contacts: Table, first: int, last: int, direction: np.ndarray
) -> None:
    """Fill the changes of contact velocities along a direction, after `link_velocities`."""
    fill_velocities(
        graph,
        contacts,
        first,
        last,
        direction,
        iterate.dv1,
        iterate.dv2,
        iterate.dvn,
        iterate.turn_change,
    )


@compiled
def contact_velocities(
    graph: Table, iterate: Table, contacts: Table, first: int, last: int, vector: np.ndarray
) -> None:
    """Fill contact velocities, with those of moving surfaces (belts), after `link_velocities`."""
    fill_velocities(
        graph,
        contacts,
        first,
        last,
        vector,
        iterate.v1,
        iterate.v2,
        iterate.vn,
        iterate.turn,
    )
    for i in range(first, last):
        c = graph.contact[i]
        iterate.v1[i] += contacts.surface_velocity[c, 0] + contacts.turning_velocity[c, 0]
        iterate.vn[i] += contacts.turning_velocity[c, 2]
        second = contacts.surface_velocity[c, 1] + contacts.turning_velocity[c, 1]
        if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
            second *= contacts.slip_scale[c, 0]
        iterate.v2[i] += second


@compiled
def row_velocities(
    graph: Table, rows: Table, first: int, last: int, velocity: np.ndarray, out: np.ndarray
) -> None:
    """Fill ``out`` with the velocity of rows ``first .. last`` (sorted by island)."""
    jacobian = rows.jacobian
    dof = rows.dof
    for i in range(first, last):
        alone = graph.row_entry[i]
        if alone >= 0:
            out[i] = jacobian[alone] * velocity[dof[alone]]
            continue
        r = graph.row[i]
        value = 0.0
        for e in range(rows.start[r, 0], rows.start[r, 2]):
            value += jacobian[e] * velocity[dof[e]]
        out[i] = value


@inlined
def _add_side(
    arm: np.ndarray, c: int, x: float, y: float, z: float, out: np.ndarray, base: int
) -> None:
    """Add a force at contact c, in world axes, with its moment."""
    rx, ry, rz = arm[c, 0], arm[c, 1], arm[c, 2]
    out[base] += ry * z - rz * y
    out[base + 1] += rz * x - rx * z
    out[base + 2] += rx * y - ry * x
    out[base + 3] += x
    out[base + 4] += y
    out[base + 5] += z


@inlined
def add_impulses(
    graph: Table,
    iterate: Table,
    contacts: Table,
    rows: Table,
    contact_range: tuple[int, int],
    row_range: tuple[int, int],
    out: np.ndarray,
    sign: float,
) -> None:
    """``out += sign · Jᵀ γ`` for the impulses of a range of contacts and rows."""
    if contact_range[1] > contact_range[0]:
        first = _island_of_contact(graph, contacts, contact_range[0])
        last = _island_of_contact(graph, contacts, contact_range[1] - 1) + 1
        clear_links(graph, first, last, out)
        add_contact_impulses(
            graph, iterate, contacts, contact_range[0], contact_range[1], out, sign
        )
        gather_forces(graph, iterate, contacts, first, last, out)
    add_row_impulses(graph, iterate, rows, row_range[0], row_range[1], out, sign)


@inlined
def add_row_impulses(
    graph: Table, iterate: Table, rows: Table, first: int, last: int, out: np.ndarray, sign: float
) -> None:
    """``out += sign · Gᵀ λ`` for the impulses of a range of rows."""
    jacobian = rows.jacobian
    dof = rows.dof
    for i in range(first, last):
        value = sign * iterate.row_impulse[i]
        if value == 0.0:
            continue
        alone = graph.row_entry[i]
        if alone >= 0:
            out[dof[alone]] += jacobian[alone] * value
            continue
        r = graph.row[i]
        for e in range(rows.start[r, 0], rows.start[r, 2]):
            out[dof[e]] += jacobian[e] * value


@compiled
def _island_of_contact(graph: Table, contacts: Table, i: int) -> int:
    """The island of one of the problem's contacts."""
    c = graph.contact[i]
    link = contacts.link[c, 0] if contacts.link[c, 0] >= 0 else contacts.link[c, 1]
    return graph.component[graph.ntree + contacts.link_tree[link]]


@inlined
def clear_links(graph: Table, first: int, last: int, out: np.ndarray) -> None:
    """Set the forces on links of articulated trees of islands ``first .. last`` to 0."""
    paths = graph.paths
    for index in range(paths.island_link_start[first], paths.island_link_start[last]):
        base = graph.nv + 6 * paths.link_order[index]
        for k in range(base, base + 6):
            out[k] = 0.0


@inlined
def impulse_in_world(
    graph: Table, iterate: Table, contacts: Table, i: int, sign: float
) -> tuple[float, float, float]:
    """The impulse of a contact in world axes, or what is opposite."""
    frame = contacts.frame
    c = graph.contact[i]
    s = sign * iterate.g1[i]
    t = sign * iterate.g2[i]
    if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
        t *= contacts.slip_scale[c, 0]
    n = sign * iterate.gn[i]
    return (
        frame[c, 0] * s + frame[c, 3] * t + frame[c, 6] * n,
        frame[c, 1] * s + frame[c, 4] * t + frame[c, 7] * n,
        frame[c, 2] * s + frame[c, 5] * t + frame[c, 8] * n,
    )


@inlined
def add_contact_impulses(
    graph: Table,
    iterate: Table,
    contacts: Table,
    first: int,
    last: int,
    out: np.ndarray,
    sign: float,
) -> None:
    """Add impulses of contacts to free bodies and to the links of articulated trees."""
    for i in range(first, last):
        c = graph.contact[i]
        x, y, z = impulse_in_world(graph, iterate, contacts, i, sign)
        if graph.base_b[i] >= 0:
            _add_side(contacts.arm_b, c, x, y, z, out, graph.base_b[i])
        if graph.base_a[i] >= 0:
            _add_side(contacts.arm_a, c, -x, -y, -z, out, graph.base_a[i])
        if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
            add_turn_impulse(graph, iterate, contacts, i, out, sign)
