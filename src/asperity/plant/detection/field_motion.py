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
    if plant.geoms.has_moving_surfaces == 0:
        return 0.0, 0.0, 0.0
    own = plant.geoms.surface_velocity
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
    body = plant.geoms.body[geom]
    link = state.work.body_link[body]
    if link < 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    tree = contacts.link_tree[link]
    velocity = state.velocity
    wx = wy = wz = ux = uy = uz = 0.0
    if plant.trees.spatial[tree]:
        s = plant.trees.start[tree]
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
    root = plant.bodies.reference[body]
    dx = x - state.mj_subtree_com[root, 0]
    dy = y - state.mj_subtree_com[root, 1]
    dz = z - state.mj_subtree_com[root, 2]
    return (wx, wy, wz), (ux + wy * dz - wz * dy, uy + wz * dx - wx * dz, uz + wx * dy - wy * dx)


@inlined
def _spin(
    plant: Table, state: Table, geom: int, w: tuple[float, float, float]
) -> tuple[float, float, float]:
    """The part of an angular velocity that turns a geom's field into itself."""
    fields = plant.fields
    wx, wy, wz = w
    if fields.geom_ball[geom] > 0.0:
        return w
    if fields.geom_round[geom] == 0:
        return 0.0, 0.0, 0.0
    xmat = state.mj_geom_xmat
    x = xmat[geom, 2]
    y = xmat[geom, 5]
    z = xmat[geom, 8]
    along = x * wx + y * wy + z * wz
    return along * x, along * y, along * z


@compiled
def carry(plant: Table, state: Table, first: int, a: int, b: int) -> None:
    """Fill ``carried`` of the contacts from ``first`` on, which are the points of one patch.

    What turns a ball, or what is round about its axis, moves points of the surface along the
    normals, up in front of a ball that rolls and down behind it, but presses nothing in: the field
    is what it was. A step that counted it as pressing would let the force act in front of where the
    ball was, and brake it. So would one that counted how convex shapes slide along each other,
    wherever a patch is not flat. Pressures of a ball depend on how deep its centre is alone: what
    tilts the other side presses nothing in, either.
    """
    contacts = state.contacts
    fields = plant.fields
    last = contacts.count
    convex = fields.geom_convex[a] == 1 and fields.geom_convex[b] == 1
    if not (convex or fields.geom_round[a] == 1 or fields.geom_round[b] == 1):
        return
    total = nx = ny = nz = px = py = pz = 0.0
    for c in range(first, last):
        force = max(-contacts.stiffness[c] * contacts.signed_distance[c], 0.0)
        total += force
        nx += force * contacts.frame[c, 6]
        ny += force * contacts.frame[c, 7]
        nz += force * contacts.frame[c, 8]
        px += force * contacts.point[c, 0]
        py += force * contacts.point[c, 1]
        pz += force * contacts.point[c, 2]
    norm = np.sqrt(nx * nx + ny * ny + nz * nz)
    if not norm > 0.0:
        return
    nx /= norm
    ny /= norm
    nz /= norm
    px /= total
    py /= total
    pz /= total
    wa, (uax, uay, uaz) = _velocity_of(plant, state, a, px, py, pz)
    wb, (ubx, uby, ubz) = _velocity_of(plant, state, b, px, py, pz)
    wax, way, waz = wa
    wbx, wby, wbz = wb
    ux, uy, uz = ubx - uax, uby - uay, ubz - uaz
    wx, wy, wz = wbx - wax, wby - way, wbz - waz
    # Velocity of the fields over each other at the centre of the patch
    sax, say, saz = _spin(plant, state, a, wa)
    sbx, sby, sbz = _spin(plant, state, b, wb)
    xpos = state.mj_geom_xpos
    ax, ay, az = px - xpos[a, 0], py - xpos[a, 1], pz - xpos[a, 2]
    bx, by, bz = px - xpos[b, 0], py - xpos[b, 1], pz - xpos[b, 2]
    fx = ux - (sby * bz - sbz * by) + (say * az - saz * ay)
    fy = uy - (sbz * bx - sbx * bz) + (saz * ax - sax * az)
    fz = uz - (sbx * by - sby * bx) + (sax * ay - say * ax)
    if convex:
        apart = nx * fx + ny * fy + nz * fz
        fx, fy, fz = apart * nx, apart * ny, apart * nz
    # And how they turn over each other
    tx = ty = tz = 0.0
    if not (fields.geom_ball[a] > 0.0 or fields.geom_ball[b] > 0.0):
        tx, ty, tz = wx - sbx + sax, wy - sby + say, wz - sbz + saz
    for c in range(first, last):
        x = contacts.point[c, 0] - px
        y = contacts.point[c, 1] - py
        z = contacts.point[c, 2] - pz
        contacts.carried[c] = (
            contacts.frame[c, 6] * (ux + wy * z - wz * y - fx - ty * z + tz * y)
            + contacts.frame[c, 7] * (uy + wz * x - wx * z - fy - tz * x + tx * z)
            + contacts.frame[c, 8] * (uz + wx * y - wy * x - fz - tx * y + ty * x)
        )


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
