"""A first iterate: where rigid links go if they accelerate as in the last step.

Newton's method starts at the present state, from where the straight way to a turned link stretches
it, the stiffer the link the longer the way back. A prediction in joint coordinates and rotations is
strained by nothing, and what is left is the change of acceleration. It is only taken if surfaces
and limits leave the way and its energy is lower; if not, nothing is lost but the look. Vertices of
flexes keep their velocities, or go where inertia leads.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.engine_layout import BALL, FREE, HINGE, POINT, SLIDE
from asperity.midas.newton.trial import place_trial
from asperity.midas.pose.link_kinematics import carry_axes, read_variables
from asperity.midas.pose.matrices import make_orthogonal
from asperity.midas.time.free_motion import angular_momentum, angular_velocity, turn
from asperity.midas.time.sleep import is_asleep

__all__ = ["predict", "predict_turns"]

# Rotation within a step [rad] from which on links are stretched enough for it to matter, and from
# which on joints lead links elsewhere than inertia does.
_LEAST_TURN, _LEAST_JOINTED_TURN = 1e-3, 1e-5
# What vertices at rest move by, in the largest activation distance per step.
_REST = 0.05
# Share of the way to a limit that a joint may be predicted to go.
_ROOM = 0.5


@compiled
def _rate(time: Table, now: float, before: float) -> float:
    """Velocity at the end of the step, if it changes as it did."""
    return 2.0 * now - before if time.has_history == 1 else now


@compiled
def _turn_by_torque(engine: Table, link: int, q: np.ndarray) -> None:
    """Turn a free link from where inertia leads by what the last step's torque does to it."""
    mass = engine.links.mass[link]
    had = np.empty(3)
    gained = np.empty(3)
    angle = np.empty(3)
    angular_momentum(mass, engine.poses.q_before[link], engine.poses.v_before[link], 1, had)
    angular_momentum(mass, engine.poses.q[link], engine.poses.v[link], 1, gained)
    for k in range(3):
        gained[k] = (
            (gained[k] - had[k]) * engine.time.step * engine.time.step / engine.time.last_step
        )
    if angular_velocity(mass, q, 1, np.zeros(3), gained, np.empty((3, 3)), angle):
        turn(angle, q, 1)


@compiled
def _move_freely(engine: Table, link: int, q: np.ndarray) -> bool:
    """Let a free or ball link go on by itself; False if it turns by too much to say how.

    Axes of one that turns by itself move otherwise meanwhile: it turns as inertia leads.
    """
    straight = 4
    if engine.poses.turns[link] == 1:
        straight = 1
        for i in range(1, 4):
            for k in range(3):
                q[link, i, k] = engine.poses.q_target[link, i, k]
        if engine.time.has_history == 1 and engine.links.kind[link] == FREE:
            _turn_by_torque(engine, link, q[link])
    for i in range(straight):
        for k in range(3):
            if engine.time.has_history == 1:
                v = 2.0 * engine.poses.v[link, i, k] - engine.poses.v_before[link, i, k]
            else:
                v = engine.poses.v_free[link, i, k]
                if i == 0:
                    v += engine.time.step * engine.links.gravity[link, k]
            q[link, i, k] = engine.poses.q_slip[link, i, k] + engine.time.step * v
    return make_orthogonal(q[link, 1:])


@compiled
def _turn_about_axis(engine: Table, joint: int, link: int, angle: float, q: np.ndarray) -> None:
    """Carry a link with its parent, and turn it about their hinge."""
    p = engine.links.parent[link]
    n = engine.joints.frame[joint, 1]
    b = engine.joints.frame[joint, 2]
    axis = engine.work.directions[0]
    for k in range(3):
        axis[k] = 0.0
    for j in range(3):
        along = n[(j + 1) % 3] * b[(j + 2) % 3] - n[(j + 2) % 3] * b[(j + 1) % 3]
        for k in range(3):
            axis[k] += along * q[p, 1 + j, k]
    for i in range(1, 4):
        for k in range(3):
            q[link, i, k] = 0.0
        for j in range(1, 4):
            share = 0.0
            for k in range(3):
                share += engine.poses.q_now[link, i, k] * engine.poses.q_now[p, j, k]
            for k in range(3):
                q[link, i, k] += share * q[p, j, k]
    for k in range(3):
        axis[k] *= angle
    turn(axis, q[link], 1)


@compiled
def _coordinate_ahead(joints: Table, time: Table, joint: int) -> float:
    """Where a joint will be, short of its limits."""
    now = joints.now[joint]
    rate = _rate(time, joints.rate[joint], joints.rate_before[joint])
    move = joints.start[joint] + time.step * rate - now
    move = min(move, _ROOM * (joints.limit[joint, 1] - now))
    return now + max(move, _ROOM * (joints.limit[joint, 0] - now))


@compiled
def _vertices_move_on(engine: Table) -> bool:
    """Whether vertices of flexes are predicted to keep their velocities.

    That is where motion is smooth, and nothing touches or all are next to rest: where they slide
    and press each other, Newton's method has a longer way from there.
    """
    if engine.soft.bodies == 0 or engine.time.past_levels == 0 or engine.time.smooth_steps == 0:
        return False
    if engine.time.was_free == 1:
        return True
    most = 0.0
    for link in range(engine.links.kind.size):
        if engine.links.kind[link] == POINT:
            for k in range(3):
                most = max(most, abs(engine.poses.v[link, 0, k]))
    return most * engine.time.whole_step <= _REST * engine.options.activation


@compiled
def predict(engine: Table) -> bool:
    """Fill the trial state with a prediction; False if there is none that is worth it.

    What is predicted are axes, of which the variables are made, and positions of what floats.
    """
    links = engine.links
    q = engine.poses.q_trial
    z = engine.poses.z_trial
    joint = 0
    largest = 0.0
    moves_on = _vertices_move_on(engine)
    for link in range(links.kind.size):
        kind = links.kind[link]
        if is_asleep(engine, link):
            for i in range(links.variable[link], links.variable[link + 1]):
                z[i] = engine.poses.z_now[i]
            q[link, :, :] = engine.poses.q_now[link]
            joint += 1 if links.joint[link] >= 0 else 0
            continue
        if kind in (FREE, BALL):
            if not _move_freely(engine, link, q):
                return False
        elif kind == POINT:
            for k in range(3):
                q[link, 0, k] = engine.poses.q_target[link, 0, k]
                if moves_on:
                    move = engine.time.step * engine.poses.v[link, 0, k]
                    q[link, 0, k] = engine.poses.q_slip[link, 0, k] + move
                for i in range(1, 4):
                    q[link, i, k] = engine.poses.q_now[link, i, k]
        else:
            ahead = _coordinate_ahead(engine.joints, engine.time, joint)
            if kind == HINGE:
                _turn_about_axis(engine, joint, link, ahead - engine.joints.now[joint], q)
            else:
                z[links.variable[link]] = ahead
                carry_axes(links, link, q)
            joint += 1
        if kind != SLIDE:
            read_variables(links, link, q, z)
        for i in range(1, 4):
            square = 0.0
            for k in range(3):
                square += (q[link, i, k] - engine.poses.q_now[link, i, k]) ** 2
            if square > 1.0 and engine.poses.turns[link] == 1:
                square = 1.0
            # Written so that NaN is not lost.
            if not square <= largest:
                largest = square
    least = _LEAST_JOINTED_TURN if engine.joints.link.size > 0 else _LEAST_TURN
    if not largest <= 1.0 or not (moves_on or largest >= least**2):
        return False
    place_trial(engine)
    return True


@compiled
def predict_turns(engine: Table) -> bool:
    """Let what floats turn as predicted, but stay where it is; False if nothing turns by itself.

    A ball that spins on a floor is predicted to fall into it. Without a prediction its turn is a
    long way for Newton's method.
    """
    turns = False
    for link in range(engine.links.kind.size):
        if engine.links.kind[link] == FREE and engine.poses.turns[link] == 1:
            turns = True
            start = engine.links.variable[link]
            for k in range(3):
                engine.poses.z_trial[start + k] = engine.poses.z_now[start + k]
    if turns:
        place_trial(engine)
    return turns
