"""How point contacts move with the geoms that touch: rigidly, and by their relative motion.

A contact depends on the relative pose of two geoms alone. Moving both by one rigid motion moves it
along; what a motion ξ = (ω, v) of geom 2 against geom 1, at the centre o of geom 2, adds is found
by calling MuJoCo's function for these two geoms at twelve displaced poses, once for each pair that
touches. With the velocity u_1 of geom 1 at the contact point p and its angular velocity ω_1,

    dp = u_1(p) + D_p ξ,     dn = ω_1 × n + D_n ξ,     dφ = D_φ ξ.

In a displaced state of the whole model no collision is then detected: contacts are moved there. No
contact comes or goes with a displacement, and none is confused with another.

Where the function finds the contact on one side alone, or on neither, that motion's column is that
side's, or the one of a point that moves with geom 2 on a surface that moves with geom 1. All
columns of a contact are the latter if its normal turns with the smallest displacement to either
side. That of capsules whose ends share a joint does. It is arbitrary, and such columns fit
together.

Contacts of corners with height fields, which MuJoCo does not find, move as those corners do.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_collision, load_address
from asperity.plant.detection.field_corners import count_corners, find_corner
from asperity.plant.detection.geom_distance import point_distance

__all__ = ["find_motion", "keep_contacts"]

# Displacement of poses [m, rad]. Distances of most shapes are exact, so that what limits it from
# below is round-off, and curvature from above.
_SIZE = 1e-6
# By how much farther contacts are looked for: more than a displacement of this size moves them.
_MARGIN = 1e-5
# How far a contact may be from where it is to be the same one, in units of the displacement.
_REACH = 100.0

# Numbers of a contact that MuJoCo's functions return: distance, point, normal, and a tangent.
_DISTANCE = 0
_POINT = 1
_NORMAL = 4

_PLANE = 0

# What `_nearest` says of a contact of which the normal is another one.
_TURNED = -2


@compiled
def keep_contacts(plant: Table, motion: Table, laws: Table, state: Table) -> None:
    """Keep contacts, and the axes of joints, of the state itself."""
    contacts = state.contacts
    for c in range(contacts.count):
        for a in range(9):
            motion.contact_frame[c, a] = contacts.frame[c, a]
        motion.contact_distance[c] = contacts.signed_distance[c]
        motion.geom_distance[c] = contacts.signed_distance[c] - contacts.distance_change[c]
        laws.inverse_mass[c] = contacts.inverse_mass[c]
        geom = contacts.geom[c, 1]
        for a in range(3):
            vertex = geom >= plant.ngeom
            motion.contact_origin[c, a] = (
                contacts.point[c, a] if vertex else state.mj_geom_xpos[geom, a]
            )
    for i in range(state.cdof.shape[0]):
        for a in range(6):
            motion.cdof[i, a] = state.cdof[i, a]
    for body in range(plant.nbody):
        for a in range(3):
            motion.com[body, a] = state.mj_subtree_com[body, a]


@compiled
def _turn(matrix: np.ndarray, axis: int, angle: float, out: np.ndarray) -> None:
    """``out = exp(angle e_axis) matrix``, row by row."""
    one = (axis + 1) % 3
    two = (axis + 2) % 3
    cosine = np.cos(angle)
    sine = np.sin(angle)
    for j in range(3):
        x = matrix[3 * one + j]
        y = matrix[3 * two + j]
        out[3 * axis + j] = matrix[3 * axis + j]
        out[3 * one + j] = cosine * x - sine * y
        out[3 * two + j] = sine * x + cosine * y


@compiled
def _nearest(motion: Table, sets: Table, found: int, c: int, share: float) -> int:
    """Which of the contacts that were found is contact c; −1 if none is near, −2 if it has turned.

    MuJoCo's point is midway through the overlap, the contact's own may be ahead of that.
    """
    best = -1
    least = _REACH * _SIZE
    for k in range(found):
        distance = 0.0
        turned = 0.0
        for a in range(3):
            normal = motion.found[k, _NORMAL + a]
            point = motion.found[k, _POINT + a] + share * motion.found[k, _DISTANCE] * normal
            distance = max(distance, abs(point - sets.contact_point[c, a]))
            turned = max(turned, abs(normal - motion.contact_frame[c, 6 + a]))
        if distance < least:
            if turned < 1e-2:
                least = distance
                best = k
            elif best < 0:
                best = _TURNED
    return best


@compiled
def _share(motion: Table, sets: Table, found: int, c: int) -> float:
    """How far ahead of MuJoCo's point a contact's own is, as a share of its distance.

    Not a number if it is none of those that were found.
    """
    for k in range(found):
        ahead = 0.0
        for a in range(3):
            ahead += (sets.contact_point[c, a] - motion.found[k, _POINT + a]) * motion.found[
                k, _NORMAL + a
            ]
        off = abs(motion.found[k, _DISTANCE] - motion.geom_distance[c])
        for a in range(3):
            point = motion.found[k, _POINT + a] + ahead * motion.found[k, _NORMAL + a]
            off = max(off, abs(point - sets.contact_point[c, a]))
            off = max(off, abs(motion.found[k, _NORMAL + a] - motion.contact_frame[c, 6 + a]))
        if off < 1e-9 and abs(ahead) <= 0.5 * abs(motion.geom_distance[c]) + 1e-12:
            return ahead / motion.geom_distance[c] if motion.geom_distance[c] != 0.0 else 0.0
    return np.nan


@compiled
def _call(plant: Table, motion: Table, state: Table, a: int, b: int, margin: float) -> int:
    kinds = motion.geom_kinds
    entry = kinds * motion.geom_type[a] + motion.geom_type[b]
    function = load_address(motion.collision + 8 * entry)
    if function == 0:
        return 0
    return call_collision(function, plant.model, state.data, motion.found.ctypes.data, a, b, margin)


@compiled
def _read_change(motion: Table, sets: Table, k: int, c: int, share: float, out: np.ndarray) -> None:
    """By how much point, normal and distance of what was found differ from contact c's."""
    for a in range(3):
        normal = motion.found[k, _NORMAL + a]
        point = motion.found[k, _POINT + a] + share * motion.found[k, _DISTANCE] * normal
        out[a] = point - sets.contact_point[c, a]
        out[3 + a] = normal - motion.contact_frame[c, 6 + a]
    out[6] = motion.found[k, _DISTANCE] - motion.geom_distance[c]


@compiled
def _move_along(motion: Table, sets: Table, c: int, direction: int) -> None:
    """Let a column be that of a point on geom 2 and a surface of geom 1."""
    for k in range(7):
        motion.relative[c, k, direction] = 0.0
    speed = 0.0
    for a in range(3):
        value = 0.0
        if direction >= 3:
            value = 1.0 if a == direction - 3 else 0.0
        elif a != direction:
            one = (direction + 1) % 3
            two = (direction + 2) % 3
            # e × (p − o)
            arm_one = sets.contact_point[c, one] - motion.contact_origin[c, one]
            arm_two = sets.contact_point[c, two] - motion.contact_origin[c, two]
            value = -arm_two if a == one else arm_one
        motion.relative[c, a, direction] = value
        speed += value * motion.contact_frame[c, 6 + a]
    motion.relative[c, 6, direction] = speed


@compiled
def _distance_of(
    plant: Table, motion: Table, state: Table, geom: int, point: np.ndarray, out: np.ndarray
) -> float:
    """Distance of a vertex from a geom, and its gradient in the first of nine numbers."""
    if motion.geom_type[geom] != _PLANE:
        return float(point_distance(plant, state, geom, point, out[3:], out))
    distance = 0.0
    for a in range(3):
        out[a] = state.mj_geom_xmat[geom, 3 * a + 2]
        distance += out[a] * (point[a] - state.mj_geom_xpos[geom, a])
    return distance


@compiled
def _move_vertex(plant: Table, motion: Table, sets: Table, state: Table, c: int) -> None:
    """Fill ``motion`` of a contact of a flex's vertex with a geom."""
    second = state.contacts.geom[c, 1] >= plant.ngeom
    geom = state.contacts.geom[c, 0 if second else 1]
    point = sets.contact_point[c].copy()
    position = state.mj_geom_xpos[geom].copy()
    matrix = state.mj_geom_xmat[geom].copy()
    found = np.zeros(9)
    # From geom 1 to geom 2.
    sign = 0.5 / _SIZE if second else -0.5 / _SIZE
    for direction in range(6):
        for k in range(7):
            motion.relative[c, k, direction] = 0.0
        if second and direction < 3:
            continue
        if second:
            motion.relative[c, direction - 3, direction] = 1.0
        for side in range(2):
            size = _SIZE if side == 0 else -_SIZE
            if second:
                point[direction - 3] = sets.contact_point[c, direction - 3] + size
            elif direction >= 3:
                state.mj_geom_xpos[geom, direction - 3] = position[direction - 3] + size
            else:
                _turn(matrix, direction, size, state.mj_geom_xmat[geom])
            distance = _distance_of(plant, motion, state, geom, point, found)
            ahead = 1.0 if side == 0 else -1.0
            for k in range(3):
                motion.relative[c, 3 + k, direction] += ahead * sign * found[k]
                point[k] = sets.contact_point[c, k]
                state.mj_geom_xpos[geom, k] = position[k]
            motion.relative[c, 6, direction] += ahead * (0.5 / _SIZE) * distance
            for k in range(9):
                state.mj_geom_xmat[geom, k] = matrix[k]


@compiled
def _corner_number(plant: Table, motion: Table, sets: Table, state: Table, c: int) -> int:
    """Which corner of its geom a contact with a height field is of; −1 if of none."""
    geom = state.contacts.geom[c, 1]
    radius = plant.geoms.corner_radius[geom]
    normal = motion.contact_frame[c, 6:9]
    for number in range(count_corners(plant, geom)):
        corner = find_corner(plant, state, geom, number, (-normal[0], -normal[1], -normal[2]))
        ahead = 0.0
        for k in range(3):
            ahead += normal[k] * (sets.contact_point[c, k] - corner[k])
        off = abs(ahead + radius) - abs(motion.geom_distance[c])
        for k in range(3):
            across = sets.contact_point[c, k] - corner[k] - ahead * normal[k]
            off = max(off, abs(across))
        if off < 1e-9:
            return number
    return -1


@compiled
def _move_corner(
    plant: Table, motion: Table, sets: Table, state: Table, c: int, number: int
) -> None:
    """Fill ``motion`` of a contact of a corner with the plane of a height field's triangle."""
    geom = state.contacts.geom[c, 1]
    normal = motion.contact_frame[c, 6:9]
    down = (-normal[0], -normal[1], -normal[2])
    position = state.mj_geom_xpos[geom].copy()
    matrix = state.mj_geom_xmat[geom].copy()
    corner = find_corner(plant, state, geom, number, down)
    # The contact's point is part of the overlap ahead of the deepest point.
    share = plant.geoms.corner_radius[geom]
    for k in range(3):
        share += normal[k] * (sets.contact_point[c, k] - corner[k])
    distance = motion.geom_distance[c]
    share = share / distance if distance != 0.0 else 0.0
    for direction in range(6):
        ends = corner, corner
        for side in range(2):
            size = _SIZE if side == 0 else -_SIZE
            if direction >= 3:
                state.mj_geom_xpos[geom, direction - 3] = position[direction - 3] + size
            else:
                _turn(matrix, direction, size, state.mj_geom_xmat[geom])
            ends = ends[1], find_corner(plant, state, geom, number, down)
            for k in range(3):
                state.mj_geom_xpos[geom, k] = position[k]
            for k in range(9):
                state.mj_geom_xmat[geom, k] = matrix[k]
        speed = 0.0
        farthest = 0.0
        for k in range(3):
            moved = ends[0][k] - ends[1][k]
            farthest = max(farthest, abs(moved))
            motion.relative[c, k, direction] = moved * (0.5 / _SIZE)
            motion.relative[c, 3 + k, direction] = 0.0
        if farthest > _REACH * _SIZE:
            # The lowest point of an upright cylinder is any.
            _move_along(motion, sets, c, direction)
            continue
        for k in range(3):
            speed += normal[k] * motion.relative[c, k, direction]
        for k in range(3):
            motion.relative[c, k, direction] += share * speed * normal[k]
        motion.relative[c, 6, direction] = speed


@compiled
def find_motion(plant: Table, work: Table, state: Table) -> int:
    """Fill ``motion`` of all contacts; returns how many columns are those of rigid points.

    Needs kinematics of the state itself in its MjData, which are there again afterwards.
    """
    motion = work.motion
    contacts = state.contacts
    position = np.zeros(3)
    matrix = np.zeros(9)
    now = np.zeros(7)
    shares = np.zeros(contacts.count)
    seen = np.zeros(contacts.count, np.int64)
    turned = np.zeros(contacts.count, np.int64)
    rigid = np.zeros((contacts.count, 6), np.bool_)
    for c in range(contacts.count):
        a = contacts.geom[c, 0]
        b = contacts.geom[c, 1]
        if max(a, b) >= plant.ngeom:
            _move_vertex(plant, motion, work.sets, state, c)
            continue
        if c > 0 and contacts.geom[c - 1, 0] == a and contacts.geom[c - 1, 1] == b:
            continue
        last = c + 1
        while last < contacts.count and contacts.geom[last, 0] == a and contacts.geom[last, 1] == b:
            last += 1
        margin = _MARGIN
        for i in range(c, last):
            margin = max(margin, contacts.signed_distance[i] + _MARGIN)
        found = _call(plant, motion, state, a, b, margin)
        for i in range(c, last):
            shares[i] = _share(motion, work.sets, found, i)
        for k in range(3):
            position[k] = state.mj_geom_xpos[b, k]
        for k in range(9):
            matrix[k] = state.mj_geom_xmat[b, k]
        for direction in range(6):
            for i in range(c, last):
                seen[i] = 0
                turned[i] = 0
                for k in range(7):
                    motion.relative[i, k, direction] = 0.0
            for side in range(2):
                size = _SIZE if side == 0 else -_SIZE
                if direction >= 3:
                    state.mj_geom_xpos[b, direction - 3] = position[direction - 3] + size
                else:
                    _turn(matrix, direction, size, state.mj_geom_xmat[b])
                found = _call(plant, motion, state, a, b, margin)
                for k in range(3):
                    state.mj_geom_xpos[b, k] = position[k]
                for k in range(9):
                    state.mj_geom_xmat[b, k] = matrix[k]
                for i in range(c, last):
                    if not np.isfinite(shares[i]):
                        continue
                    nearest = _nearest(motion, work.sets, found, i, shares[i])
                    if nearest >= 0:
                        seen[i] += 1
                        _read_change(motion, work.sets, nearest, i, shares[i], now)
                        for k in range(7):
                            motion.relative[i, k, direction] += now[k] / size
                    elif nearest == _TURNED:
                        turned[i] += 1
            for i in range(c, last):
                if turned[i] == 2:
                    rigid[i] = True
                elif seen[i] == 0:
                    rigid[i, direction] = True
                elif seen[i] == 2:
                    for k in range(7):
                        motion.relative[i, k, direction] *= 0.5
    for c in range(contacts.count):
        number = -1
        a = contacts.geom[c, 0]
        if max(a, contacts.geom[c, 1]) < plant.ngeom and plant.geoms.height_field[a] >= 0:
            number = _corner_number(plant, motion, work.sets, state, c)
        if number >= 0:
            _move_corner(plant, motion, work.sets, state, c, number)
            rigid[c] = False
        for direction in range(6):
            if rigid[c, direction]:
                _move_along(motion, work.sets, c, direction)
    return int(rigid.sum())
