"""How patches of pressure fields move and grow.

What they need besides points, normals and pressures: the motion of surfaces that move by
themselves, what of a normal velocity presses nothing in, and how the force grows with the overlap.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined

__all__ = ["carry", "growth_of", "surface_motion"]

# What a pyramid has; whoever finds more has found an overlap of hulls, not of fields.
_CORNER = 3.0


@inlined
def surface_motion(
    plant: Table, state: Table, geom: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Velocity that a geom's moving surface has at a point, over that of the geom [m/s]."""
    if plant.has_moving_surfaces == 0:
        return 0.0, 0.0, 0.0
    own = plant.geom_surface_velocity
    xmat = state.mj_geom_xmat
    dx = x - state.mj_geom_xpos[geom, 0]
    dy = y - state.mj_geom_xpos[geom, 1]
    dz = z - state.mj_geom_xpos[geom, 2]
    px = xmat[geom, 0] * dx + xmat[geom, 3] * dy + xmat[geom, 6] * dz
    py = xmat[geom, 1] * dx + xmat[geom, 4] * dy + xmat[geom, 7] * dz
    pz = xmat[geom, 2] * dx + xmat[geom, 5] * dy + xmat[geom, 8] * dz
    vx = own[geom, 0] + own[geom, 4] * pz - own[geom, 5] * py
    vy = own[geom, 1] + own[geom, 5] * px - own[geom, 3] * pz
    vz = own[geom, 2] + own[geom, 3] * py - own[geom, 4] * px
    return (
        xmat[geom, 0] * vx + xmat[geom, 1] * vy + xmat[geom, 2] * vz,
        xmat[geom, 3] * vx + xmat[geom, 4] * vy + xmat[geom, 5] * vz,
        xmat[geom, 6] * vx + xmat[geom, 7] * vy + xmat[geom, 8] * vz,
    )


@compiled
def _velocity_of(
    plant: Table, state: Table, geom: int, x: float, y: float, z: float
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Angular velocity of a geom, whose link was made, and its velocity at a point."""
    contacts = state.contacts
    body = plant.geom_body[geom]
    link = state.work.body_link[body]
    if link < 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    tree = contacts.link_tree[link]
    velocity = state.velocity
    wx = wy = wz = ux = uy = uz = 0.0
    if plant.tree_spatial[tree]:
        s = plant.tree_start[tree]
        wx, wy, wz = velocity[s], velocity[s + 1], velocity[s + 2]
        ux, uy, uz = velocity[s + 3], velocity[s + 4], velocity[s + 5]
    else:
        start = contacts.link_start[link]
        for e in range(start, start + contacts.link_size[link]):
            speed = velocity[contacts.chain_dof[e]]
            column = contacts.chain_column[e]
            wx += column[0] * speed
            wy += column[1] * speed
            wz += column[2] * speed
            ux += column[3] * speed
            uy += column[4] * speed
            uz += column[5] * speed
    root = plant.body_reference[body]
    dx = x - state.mj_subtree_com[root, 0]
    dy = y - state.mj_subtree_com[root, 1]
    dz = z - state.mj_subtree_com[root, 2]
    return (wx, wy, wz), (ux + wy * dz - wz * dy, uy + wz * dx - wx * dz, uz + wx * dy - wy * dx)


@compiled
def carry(plant: Table, state: Table, first: int, a: int, b: int) -> None:
    """Fill ``carried`` of the contacts from ``first`` on, which are the points of two balls.

    Pressures between balls depend on the distance of their centres alone: what they turn, and how
    their line of centres turns, moves points of their surfaces along the normals, up in front of a
    ball that rolls and down behind it, but presses nothing in. A step that counted it as pressing
    would let the force act in front of where the ball was, and brake it.
    """
    contacts = state.contacts
    fields = plant.fields
    count = contacts.count - first
    nx = ny = nz = px = py = pz = 0.0
    for c in range(first, contacts.count):
        nx += contacts.frame[c, 6]
        ny += contacts.frame[c, 7]
        nz += contacts.frame[c, 8]
        px += contacts.point[c, 0] / count
        py += contacts.point[c, 1] / count
        pz += contacts.point[c, 2] / count
    norm = np.sqrt(nx * nx + ny * ny + nz * nz)
    nx /= norm
    ny /= norm
    nz /= norm
    # Centres of balls, and of what the patch is on a half-space.
    ax, ay, az = px, py, pz
    bx, by, bz = px, py, pz
    if fields.geom_ball[a] > 0.0:
        ax, ay, az = state.mj_geom_xpos[a, 0], state.mj_geom_xpos[a, 1], state.mj_geom_xpos[a, 2]
    if fields.geom_ball[b] > 0.0:
        bx, by, bz = state.mj_geom_xpos[b, 0], state.mj_geom_xpos[b, 1], state.mj_geom_xpos[b, 2]
    (wax, way, waz), (uax, uay, uaz) = _velocity_of(plant, state, a, ax, ay, az)
    (wbx, wby, wbz), (ubx, uby, ubz) = _velocity_of(plant, state, b, bx, by, bz)
    apart = nx * (ubx - uax) + ny * (uby - uay) + nz * (ubz - uaz)
    for c in range(first, contacts.count):
        x, y, z = contacts.point[c, 0], contacts.point[c, 1], contacts.point[c, 2]
        mx, my, mz = contacts.frame[c, 6], contacts.frame[c, 7], contacts.frame[c, 8]
        vx = ubx + wby * (z - bz) - wbz * (y - by) - uax - way * (z - az) + waz * (y - ay)
        vy = uby + wbz * (x - bx) - wbx * (z - bz) - uay - waz * (x - ax) + wax * (z - az)
        vz = ubz + wbx * (y - by) - wby * (x - bx) - uaz - wax * (y - ay) + way * (x - ax)
        contacts.carried[c] = mx * vx + my * vy + mz * vz - (mx * nx + my * ny + mz * nz) * apart


@compiled
def growth_of(work: Table, overlap: float) -> float:
    """The power of the overlap with which the force of a patch grows: dF/dx = n F/x.

    It is 1 where a flat face is pressed in, 2 of a ball, and 3 of a corner.
    """
    force = 0.0
    stiffness = 0.0
    for i in range(work.point_count):
        stiffness += work.point[i, 6]
        force += max(-work.point[i, 6] * work.point[i, 7], 0.0)
    if not force > 0.0:
        return 1.0
    return min(max(stiffness * overlap / force, 1.0), _CORNER)
