"""Trial states along a direction, and how far it is safe to go.

A trial state is safe if no vertex leaves its box on the straight way there, every pair of surfaces
keeps a tenth of its distance all along, and no joint comes nearer to a limit than that.
"""

from __future__ import annotations

import math

from asperity.compiled import compiled
from asperity.midas.candidates import time_in_boxes
from asperity.midas.collision_time import collision_free_time
from asperity.midas.joint_coordinates import joint_coordinates
from asperity.midas.kinematics import move_vertices, place_links
from asperity.midas.layouts import CANDIDATES, LINEAR, MIDAS
from asperity.midas.turn_terms import share_to_turn_limits

__all__ = ["is_free", "largest_move", "safe_share", "try_share"]

_midas = MIDAS.get

# A hinge may turn by so much in one iteration [rad], so that it cannot get past a limit's far side.
_LARGEST_TURN = 1.0
_ATTEMPTS = 60


@compiled
def try_share(engine, share):
    """Place the trial state at z + share · direction."""
    z = _midas(engine, "z_now")
    direction = _midas(engine, "direction")
    trial = _midas(engine, "z_trial")
    for i in range(z.size):
        trial[i] = z[i] + share * direction[i]
    q = _midas(engine, "q_trial")
    x = _midas(engine, "vertex_trial")
    place_links(engine, trial, q)
    move_vertices(engine, q, x)
    joint_coordinates(engine, q, trial, _midas(engine, "joint_now"), _midas(engine, "joint_trial"))
    now = _midas(engine, "vertex_now")
    move = _midas(engine, "vertex_move")
    for vertex in range(_midas(engine, "moving_vertices")):
        for k in range(3):
            move[vertex, k] = x[vertex, k] - now[vertex, k]


@compiled
def largest_move(engine):
    """Bound of how far any point of a link is from now to the trial state [m]."""
    now = _midas(engine, "q_now")
    trial = _midas(engine, "q_trial")
    radius = _midas(engine, "radius")
    largest = 0.0
    for link in range(radius.size):
        size = 0.0
        for i in range(4):
            square = 0.0
            for k in range(3):
                square += (trial[link, i, k] - now[link, i, k]) ** 2
            size += (1.0 if i == 0 else radius[link]) * math.sqrt(square)
        # Written so that NaN is not lost.
        if not size <= largest:
            largest = size
    return largest


@compiled
def _largest_turn(engine):
    now = _midas(engine, "joint_now")
    trial = _midas(engine, "joint_trial")
    largest = 0.0
    for joint in range(now.size):
        largest = max(largest, abs(trial[joint] - now[joint]))
    return largest


@compiled
def _time_to_limits(engine):
    """Share of the trial step that keeps a tenth of the way to every joint limit."""
    now = _midas(engine, "joint_now")
    trial = _midas(engine, "joint_trial")
    limit = _midas(engine, "joint_limit")
    time = 1.0
    for joint in range(now.size):
        move = trial[joint] - now[joint]
        room = 0.9 * (limit[joint, 1] - now[joint])
        if move > room:
            time = min(time, room / move)
        room = 0.9 * (limit[joint, 0] - now[joint])
        if move < room:
            time = min(time, room / move)
    return time


@compiled
def _time_to_collision(engine, time):
    """Share of the trial step, at most ``time``, that keeps a tenth of every distance."""
    kind = _midas(engine, "candidate_kind")
    vertex = _midas(engine, "candidate_vertex")
    square = _midas(engine, "now_square")
    planes = _midas(engine, "plane")
    x = _midas(engine, "vertex_now")
    p = _midas(engine, "vertex_move")
    c = _midas(engine, "side_weight")[0]
    t = _midas(engine, "slip")
    corner = _midas(engine, "corner")
    for i in range(_midas(engine, "ints")[CANDIDATES]):
        v = vertex[i]
        time = collision_free_time(
            kind[i], v[0], v[1], v[2], v[3], x, p, planes, square[i], time, c, t, corner
        )
    return time


@compiled
def safe_share(engine):
    """Bring the trial state to the largest safe share of the direction.

    Returns the share, whether the vertices' boxes cut it, and what part of the rest surfaces and
    limits have left. Where joints make the links'
    coordinates a non-linear function of the variables, the straight way to the end of a shorter
    step is another one, and is looked at again.
    """
    linear = _midas(engine, "ints")[LINEAR] == 1
    x = _midas(engine, "vertex_now")
    p = _midas(engine, "vertex_move")
    q = _midas(engine, "q_now")
    q_trial = _midas(engine, "q_trial")
    share = 1.0
    cut = False
    free = 1.0
    for attempt in range(_ATTEMPTS):
        time = _time_to_limits(engine)
        time = min(time, share_to_turn_limits(engine, q, q_trial))
        turn = _largest_turn(engine)
        if turn * time > _LARGEST_TURN:
            time = _LARGEST_TURN / turn
        boxed = time_in_boxes(engine, x, p)
        cut = cut or boxed < time
        longest = min(boxed, _LARGEST_TURN / turn) if turn > _LARGEST_TURN else boxed
        time = _time_to_collision(engine, min(time, boxed))
        if time == 1.0:
            return share, cut, free
        if longest > 0.0:
            free *= time / longest
        # Where paths bend, an end on a bound may be a little beyond it when looked at again.
        share *= time if attempt == 0 else 0.9 * time
        if not share > 0.0:
            return 0.0, cut, free
        try_share(engine, share)
        if linear:
            return share, cut, free
    return 0.0, cut, free


@compiled
def is_free(engine):
    """Whether the straight paths to the trial state stay in the boxes and free of collisions."""
    x = _midas(engine, "vertex_now")
    p = _midas(engine, "vertex_move")
    return time_in_boxes(engine, x, p) == 1.0 and _time_to_collision(engine, 1.0) == 1.0
