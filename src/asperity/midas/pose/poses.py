"""MuJoCo's coordinates of the links: nearest rotations of free and ball joints, angles, lengths."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.midas.engine_layout import BALL, FREE, MIDAS, POINT, SLIDE
from asperity.midas.pose.matrices import make_orthogonal
from asperity.midas.time.free_motion import angular_momentum, angular_velocity

__all__ = [
    "fill_qpos",
    "nearest_rotation",
    "write_qpos",
    "write_qvel",
]


@compiled
def nearest_rotation(q: np.ndarray, out: np.ndarray) -> None:
    """Fill the orthogonal polar factor of A, Q = [p; Aᵀ]."""
    for i in range(3):
        for k in range(3):
            out[i, k] = q[1 + k, i]
    make_orthogonal(out)


@compiled
def _write_quaternion(r: np.ndarray, qpos: np.ndarray, at: int) -> None:
    """Write a rotation's unit quaternion, on the side of the one that is there."""
    w = 1.0 + r[0, 0] + r[1, 1] + r[2, 2]
    x = 1.0 + r[0, 0] - r[1, 1] - r[2, 2]
    y = 1.0 - r[0, 0] + r[1, 1] - r[2, 2]
    z = 1.0 - r[0, 0] - r[1, 1] + r[2, 2]
    # Four times the squares of the components; the largest one is the safe divisor.
    if w >= x and w >= y and w >= z:
        s = 2.0 * math.sqrt(w)
        a, b, c, d = (
            0.25 * s,
            (r[2, 1] - r[1, 2]) / s,
            (r[0, 2] - r[2, 0]) / s,
            (r[1, 0] - r[0, 1]) / s,
        )
    elif x >= y and x >= z:
        s = 2.0 * math.sqrt(x)
        a, b, c, d = (
            (r[2, 1] - r[1, 2]) / s,
            0.25 * s,
            (r[0, 1] + r[1, 0]) / s,
            (r[0, 2] + r[2, 0]) / s,
        )
    elif y >= z:
        s = 2.0 * math.sqrt(y)
        a, b, c, d = (
            (r[0, 2] - r[2, 0]) / s,
            (r[0, 1] + r[1, 0]) / s,
            0.25 * s,
            (r[1, 2] + r[2, 1]) / s,
        )
    else:
        s = 2.0 * math.sqrt(z)
        a, b, c, d = (
            (r[1, 0] - r[0, 1]) / s,
            (r[0, 2] + r[2, 0]) / s,
            (r[1, 2] + r[2, 1]) / s,
            0.25 * s,
        )
    sign = a * qpos[at] + b * qpos[at + 1] + c * qpos[at + 2] + d * qpos[at + 3]
    size = math.sqrt(a * a + b * b + c * c + d * d)
    if sign < 0.0:
        size = -size
    qpos[at] = a / size
    qpos[at + 1] = b / size
    qpos[at + 2] = c / size
    qpos[at + 3] = d / size


@compiled
def write_qpos(engine: Table, qpos: np.ndarray) -> None:
    """Fill the coordinates of all joints, near those that are there.

    A free body's centre of mass is where it is; its orientation is the rotation nearest to A.
    """
    links = engine.links
    q = engine.poses.q
    rotation = np.empty((3, 3))
    above = np.empty((3, 3))
    relative = np.empty((3, 3))
    turned = -1  # the holder whose rotation is ``above``
    for link in range(links.kind.size):
        at = links.qpos[link]
        if links.kind[link] == FREE:
            if at < 0:  # a mocap body
                continue
            nearest_rotation(q[link], rotation)
            for k in range(3):
                value = q[link, 0, k]
                for i in range(3):
                    value -= rotation[k, i] * links.centre[link, i]
                qpos[at + k] = value
            _write_quaternion(rotation, qpos, at + 3)
        elif links.kind[link] == BALL:
            turned = -1
            nearest_rotation(q[link], rotation)
            nearest_rotation(q[links.parent[link]], above)
            for i in range(3):
                for k in range(3):
                    value = 0.0
                    for m in range(3):
                        base = 0.0
                        for n in range(3):
                            base += above[m, n] * links.turn[link, n, i]
                        value += base * rotation[m, k]
                    relative[i, k] = value
            _write_quaternion(relative, qpos, at)
        elif links.kind[link] == POINT:
            holder = links.holder[link]
            if holder >= 0 and holder != turned:
                nearest_rotation(q[holder], above)
                turned = holder
            for k in range(3):
                qpos[at + k] = 0.0
            for i in range(3):
                place = q[link, 0, i]
                if holder >= 0:
                    # In the body frame of the holder, whose centre of mass its coordinates have.
                    place = links.centre[holder, i]
                    for m in range(3):
                        place += above[m, i] * (q[link, 0, m] - q[holder, 0, m])
                for k in range(3):
                    qpos[at + k] += links.turn[link, i, k] * (
                        place - links.slide_direction[link, i]
                    )
    for i in range(engine.joints.qpos.size):
        qpos[engine.joints.qpos[i]] = engine.joints.reference[i] + engine.joints.value[i]


@compiled_loop(types.void(MIDAS.type, types.float64[::1]))
def fill_qpos(engine: Table, qpos: np.ndarray) -> None:
    """See `write_qpos`."""
    write_qpos(engine, qpos)


@compiled
def _write_velocity_in_holder(
    links: Table, poses: Table, link: int, rotation: np.ndarray, qvel: np.ndarray
) -> None:
    """Fill the velocity of a vertex, beside the point of its holder where it is."""
    holder = links.holder[link]
    if holder < 0:
        holder = links.kind.size  # the world
    q = poses.q[holder]
    nearest_rotation(q, rotation)
    at = links.dof[link]
    for k in range(3):
        qvel[at + k] = 0.0
    for i in range(3):
        # Along an axis of the holder's body frame.
        value = 0.0
        for m in range(3):
            rate = poses.v[link, 0, m] - poses.v[holder, 0, m]
            for j in range(3):
                place = 0.0
                for n in range(3):
                    place += rotation[n, j] * (poses.q[link, 0, n] - q[0, n])
                rate -= place * poses.v[holder, 1 + j, m]
            value += rotation[m, i] * rate
        for k in range(3):
            qvel[at + k] += links.turn[link, i, k] * value


@compiled
def write_qvel(links: Table, poses: Table, qvel: np.ndarray) -> None:
    """Fill the velocities of free and ball joints, which have the links' momenta, and of vertices.

    Those of other joints are known. An edge of a rod turns about itself by what its
    angle has changed, but for what it has by other reasons (`asperity.midas.soft.twists`).
    """
    rotation = np.empty((3, 3))
    moments = np.empty((3, 3))
    momentum = np.empty(3)
    rate = np.empty(3)
    above = np.empty(3)
    none = np.zeros(3)
    for link in range(links.kind.size):
        at = links.dof[link]
        if at < 0:
            continue
        if links.kind[link] == POINT:
            _write_velocity_in_holder(links, poses, link, rotation, qvel)
            continue
        if links.kind[link] == SLIDE:
            qvel[at] = 0.0
            for k in range(3):
                qvel[at] += links.slide_direction[link, k] * poses.v[link, 0, k]
            continue
        q = poses.q[link]
        angular_momentum(links.mass[link], q, poses.v[link], 1, momentum)
        if not angular_velocity(links.mass[link], q, 1, none, momentum, moments, rate):
            continue
        nearest_rotation(q, rotation)
        if links.kind[link] == FREE:
            for k in range(3):
                value = poses.v[link, 0, k]
                i = (k + 1) % 3
                j = (k + 2) % 3
                for m in range(3):
                    # ω × r, with r from the origin to the centre of mass
                    value -= (rate[i] * rotation[j, m] - rate[j] * rotation[i, m]) * links.centre[
                        link, m
                    ]
                qvel[at + k] = value
            at += 3
        else:
            p = links.parent[link]
            if p < links.kind.size:
                angular_momentum(links.mass[p], poses.q[p], poses.v[p], 1, momentum)
                if not angular_velocity(
                    links.mass[p], poses.q[p], 1, none, momentum, moments, above
                ):
                    continue
                for k in range(3):
                    rate[k] -= above[k]
        for i in range(3):
            qvel[at + i] = (
                rotation[0, i] * rate[0] + rotation[1, i] * rate[1] + rotation[2, i] * rate[2]
            )
