"""Trial states on arcs: links that turn far are turned, not stretched.

Variables are linear in the links' axes, so that the straight way to a turned link stretches it, by
half the square of its turn. The stiffer the link, the less of the way the energy allows then, some
hundredths of a radian in an iteration, however well the direction is known. So a trial state takes
of the straight one's what turns the links, and what strains them, and does the first by a rotation,

    Aᵀ (1 + S) exp(W),

where Aᵀ (S + W) is the change of a link's axes, with a symmetric S and a skew W: a retraction to
the rotations (Absil, Mahony & Sepulchre 2008, section 4.1), of which strain is left as it is. It
differs from the straight one by terms of second order only, so that Newton's method converges as
before. A hinge's link goes along with its parent and turns about their axis, which both have still.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.engine_layout import HINGE, POINT, SLIDE
from asperity.midas.pose.link_kinematics import (
    carry_axes,
    copy_poses,
    place_links,
    read_variables,
)
from asperity.midas.pose.matrices import cofactors

__all__ = ["follow_arcs"]


@compiled
def _turn(axis: np.ndarray, rows: np.ndarray) -> None:
    """Turn rows about an axis whose length is the tangent of the angle, shape (3, 3)."""
    square = axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2
    if square == 0.0:
        return
    cosine = 1.0 / math.sqrt(1.0 + square)
    versine = (1.0 - cosine) / square
    for i in range(3):
        x, y, z = rows[i, 0], rows[i, 1], rows[i, 2]
        along = versine * (axis[0] * x + axis[1] * y + axis[2] * z)
        rows[i, 0] = cosine * (x + axis[1] * z - axis[2] * y) + along * axis[0]
        rows[i, 1] = cosine * (y + axis[2] * x - axis[0] * z) + along * axis[1]
        rows[i, 2] = cosine * (z + axis[0] * y - axis[1] * x) + along * axis[2]


@compiled
def _turn_freely(now: np.ndarray, ahead: np.ndarray, work: np.ndarray) -> None:
    """Replace a link's axes ahead by those on the arc, shape (3, 3)."""
    axis = work[0, 0]
    for k in range(3):
        i = (k + 1) % 3
        j = (k + 2) % 3
        axis[k] = 0.0
        for row in range(3):
            axis[k] += 0.5 * (now[row, i] * ahead[row, j] - now[row, j] * ahead[row, i])
    for row in range(3):
        for k in range(3):
            i = (k + 1) % 3
            j = (k + 2) % 3
            ahead[row, k] -= axis[i] * now[row, j] - axis[j] * now[row, i]
    _turn(axis, ahead)


@compiled
def _invert(a: np.ndarray, out: np.ndarray) -> None:
    """Fill the inverse of three rows that are nearly orthogonal."""
    determinant = cofactors(a, out)
    for i in range(3):
        out[i, i] /= determinant
        for k in range(i):
            above = out[k, i]
            out[k, i] = out[i, k] / determinant
            out[i, k] = above / determinant


@compiled
def _turn_on_hinge(
    now: np.ndarray,
    parent: np.ndarray,
    straight: np.ndarray,
    turned: np.ndarray,
    frame: np.ndarray,
    ahead: np.ndarray,
    work: np.ndarray,
) -> None:
    """Replace a link's axes ahead by those on the arc about its hinge, shape (3, 3).

    Its parent's are ``parent``, ahead ``straight`` and on the arc ``turned``. ``frame`` is of the
    joint.
    """
    axis = work[0, 0]
    inverse = work[1]
    share = work[2]
    more = work[3]
    for k in range(3):
        i = (k + 1) % 3
        j = (k + 2) % 3
        axis[k] = frame[1, i] * frame[2, j] - frame[1, j] * frame[2, i]
    _invert(parent, inverse)
    along = 0.0
    square = 0.0
    # By the parent's axes: where the link's are, and what they do that these do not.
    for row in range(3):
        for k in range(3):
            share[row, k] = 0.0
            for i in range(3):
                share[row, k] += now[row, i] * inverse[i, k]
        for k in range(3):
            more[row, k] = 0.0
            for i in range(3):
                own = ahead[row, i]
                for j in range(3):
                    own -= share[row, j] * straight[j, i]
                more[row, k] += own * inverse[i, k]
        for k in range(3):
            i = (k + 1) % 3
            j = (k + 2) % 3
            across = axis[i] * share[row, j] - axis[j] * share[row, i]
            along += across * more[row, k]
            square += across * across
    rate = along / square
    for k in range(3):
        axis[k] *= rate
    for row in range(3):
        for k in range(3):
            i = (k + 1) % 3
            j = (k + 2) % 3
            more[row, k] -= axis[i] * share[row, j] - axis[j] * share[row, i]
    for row in range(3):
        for k in range(3):
            share[row, k] += more[row, k]
    _turn(axis, share)
    for row in range(3):
        for k in range(3):
            ahead[row, k] = 0.0
            for i in range(3):
                ahead[row, k] += share[row, i] * turned[i, k]


@compiled
def follow_arcs(engine: Table) -> None:
    """Carry the trial state, whose links are placed by its variables, to the arcs."""
    links = engine.links
    poses = engine.poses
    straight = poses.q_straight
    copy_poses(poses.q_trial, straight)
    work = engine.newton.arc_work
    for link in range(links.kind.size):
        kind = links.kind[link]
        now = poses.q_now[link, 1:]
        ahead = poses.q_trial[link, 1:]
        p = links.parent[link]
        if kind == SLIDE:
            # Of its axes only, which is what others are turned by.
            carry_axes(links, link, poses.q_trial)
            continue
        if kind == POINT:
            continue
        if kind == HINGE:
            _turn_on_hinge(
                now,
                poses.q_now[p, 1:],
                straight[p, 1:],
                poses.q_trial[p, 1:],
                engine.joints.frame[links.joint[link]],
                ahead,
                work,
            )
        else:
            _turn_freely(now, ahead, work)
        read_variables(links, link, poses.q_trial, poses.z_trial)
    place_links(links, poses.z_trial, poses.q_trial)
