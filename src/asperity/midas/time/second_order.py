"""When a step may look back: BDF2 where motion is smooth, implicit Euler through impacts.

Where motion has been smooth for a step already, it is blended with BDF3, of which there are β parts
(Vatsa, Carpenter and Lockard, Re-evaluation of an optimized second order backward difference
(BDF2OPT) scheme for unsteady flow applications, AIAA 2010-0122):

    (3/2 + β/3) Q_{n+1} − (2 + β) Q_n + (1/2 + β) Q_{n−1} − β/3 Q_{n−2} = h Q̇_{n+1}.

That is of second order for any β, and A-stable up to β = 1/2. What swings with ωh = θ is damped by
θ⁴/4 a step by BDF2, and undamped by as much by BDF3; at β = 0.48 there is a 25th of it left.

BDF2 concludes from the last two velocities to the next one. Past an impact that is wrong: a body
that has just come to rest from v would depart at v/3, and the impact itself would end at up to v/2
in the opposite direction. So a step of BDF2 is done again with implicit Euler where the velocity of
a link changes by much else than in the step before, and so is the step that follows, which has no
smooth past. Where that goes on, as in a pile, BDF2 is tried more and more seldom, so that it costs
next to nothing.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.energy.joint_terms import TOO_FAST, limit_gap
from asperity.midas.engine_layout import LIMIT, POINT
from asperity.midas.pose.pivots import find_pivot, move_origin
from asperity.midas.soft.calls import TOUCH, ask_soft
from asperity.midas.time.free_motion import angular_momentum, free_motion

__all__ = [
    "SHORTEST_WAIT",
    "count_step",
    "forget_past",
    "invent_past",
    "is_smooth",
    "may_look_back",
    "may_look_far_back",
    "moves_freely",
    "put_off",
    "set_weights",
]

# Change of acceleration over a step, relative to acceleration; 1 for what meets with a surface at
# constant speed.
_CHANGE = 0.9
# The same, relative to velocity: accelerations of what swings pass through zero.
_SWING = 0.1
# Rotation within a step [rad] that it resolves.
_TURN = 2.5
# What is no impact, in the largest activation distance per step: bodies at rest move by less.
_UNSEEN = 0.05
# Steps between two attempts at BDF2: an impact may take two steps until the velocity has settled,
# and the one after those begins with a smooth past.
SHORTEST_WAIT = 2
_BLEND = 0.48
_LONGEST_WAIT = 8


@compiled
def may_look_back(options: Table, time: Table, h: float) -> bool:
    """Whether a step of h [s] is to be one of BDF2."""
    if options.second_order == 0 or time.has_history == 0 or time.wait > 0:
        return False
    return abs(time.last_step - h) <= 1e-9 * h


@compiled
def moves_freely(engine: Table) -> bool:
    """Whether no surfaces push each other, and no joint its limit, at the present iterate.

    Nor may a joint that begins faster than its limit of velocity be braked to that.
    """
    runs = engine.runs
    joints = engine.joints
    for run in range(runs.count):
        if runs.least[run] < runs.activation[run]:
            return False
    for joint in range(joints.now.size):
        if abs(joints.rate[joint]) > TOO_FAST * joints.speed[joint]:
            return False
        if joints.barrier[joint] > 0.0:
            for side in range(2):
                gap = limit_gap(joints, joint, side, joints.now[joint])
                if gap < joints.limit_width[joint, side]:
                    return False
    return ask_soft(engine, TOUCH) == 0


@compiled
def _has_other_stops(joints: Table, turns: Table) -> bool:
    """Whether something may stop motion that `moves_freely` does not see.

    That are limits of ball joints, and springs that are slack up to a length, as strings are.
    """
    for term in range(turns.kind.size):
        if turns.kind[term] == LIMIT:
            return True
    for joint in range(joints.value.size):
        slack = joints.spring[joint, 0] < joints.spring[joint, 1]
        curve = joints.spring_curve[joint]
        if slack and (joints.stiffness[joint] > 0.0 or curve[0] != 0.0 or curve[1] != 0.0):
            return True
    return False


@compiled
def may_look_far_back(engine: Table, h: float) -> bool:
    """Whether a step of BDF2 is to be blended with BDF3.

    The one before was smooth and ended with nothing that touches, which BDF2 damps better, and
    nothing turns farther in two steps than free motion is followed.
    """
    if engine.time.smooth_steps == 0 or engine.time.was_free == 0:
        return False
    for link in range(engine.links.rigidity.size):
        turn = 0.0
        for k in range(3):
            for i in range(1, 4):
                turn += engine.poses.v[link, i, k] ** 2
        if turn * h * h > 0.5 * (0.9 * _TURN) ** 2:
            return False
    return True


@compiled
def set_weights(time: Table, h: float, levels: int) -> float:
    """Set by how much so many states of the past count; returns the step of forces [s]."""
    blend = _BLEND if levels == 2 else 0.0
    whole = 1.0 if levels == 0 else 1.5 + blend / 3.0
    time.past_weight[0] = 0.0 if levels == 0 else (0.5 + blend) / whole
    time.past_weight[1] = -blend / 3.0 / whole
    time.step = h / whole
    return time.step


@compiled
def _compare_momenta(
    engine: Table, link: int, q: np.ndarray, work: np.ndarray, velocity: np.ndarray
) -> tuple[int, float, float, float, float]:
    """Squares of the changes of a link's angular momentum, over its inertia.

    Returns how many rows of Q have no part in it, then |l − l₀|², |l|², |l₀|² and |L|², with
    l = L_{n+1} − L_n and l₀ = L_n − L_{n−1}.
    """
    pivot = work[0]
    axis = work[1]
    mass = engine.links.mass[link]
    present_q = engine.poses.q[link]
    before = engine.poses.q_before[link]
    first = find_pivot(engine.links, engine.poses, link, pivot, axis)
    for i in range(4):
        for k in range(3):
            velocity[i, k] = (q[i, k] - engine.poses.q_slip[link, i, k]) / engine.time.step
    for rows in (q, present_q, before):
        move_origin(rows, first, pivot, -1.0)
    angular_momentum(mass, q, velocity, first, work[2])
    angular_momentum(mass, present_q, engine.poses.v[link], first, work[3])
    angular_momentum(mass, before, engine.poses.v_before[link], first, work[4])
    inertia = 0.0
    for i in range(first, 4):
        for k in range(3):
            inertia += mass[i, i] * present_q[i, k] * present_q[i, k]
    for rows in (q, present_q, before):
        move_origin(rows, first, pivot, 1.0)
    change = 0.0
    present = 0.0
    past = 0.0
    speed = 0.0
    for k in range(3):
        new = work[2, k] - work[3, k]
        old = work[3, k] - work[4, k]
        change += (new - old) ** 2
        present += new * new
        past += old * old
        speed += work[3, k] ** 2
    return first, change / inertia, present / inertia, past / inertia, speed / inertia


@compiled
def is_smooth(engine: Table, q: np.ndarray, h: float) -> bool:
    """Whether no link has met with an impact, by the state at which a step of BDF2 ends.

    With d = v_{n+1} − v_n and d₀ = v_n − v_{n−1}, less what the free motion of the present state
    has of them, in the norm of kinetic energy over the mass: |d − d₀| is at most 0.9 times the
    larger of both, or a tenth of |v|, or next to nothing. Nor does the link turn by more than two
    and a half radians. What turns is compared by its angular momentum, whose rate torques are: its
    rows are elsewhere a step later. Where nothing touches, before or after, there is no impact,
    however fast accelerations change, as those of linkages do near their dead centres.
    """
    poses = engine.poses
    free = (
        engine.time.was_free == 1
        and moves_freely(engine)
        and not _has_other_stops(engine.joints, engine.turns)
    )
    unseen = _UNSEEN * engine.options.activation / h
    work = np.empty((5, 3))
    velocity = np.empty((4, 3))
    for link in range(engine.links.rigidity.size):
        change = 0.0
        present = 0.0
        past = 0.0
        speed = 0.0
        turn = 0.0  # 2 ω², by the rows of a rigid link
        turn_before = 0.0  # of the step before
        # Rows before this one are compared as they are.
        straight = 1 if engine.links.kind[link] == POINT else 4
        if poses.turns[link] == 1:
            straight, change, present, past, speed = _compare_momenta(
                engine, link, q[link], work, velocity
            )
        for k in range(3):
            for i in range(1, 4):
                turn += poses.v[link, i, k] ** 2
                turn_before += poses.v_before[link, i, k] ** 2
            for i in range(straight):
                d0i = poses.v_past[link, i, k] - poses.v_before[link, i, k]
                vi = (q[link, i, k] - poses.q_slip[link, i, k]) / engine.time.step
                di = vi - poses.v_free[link, i, k]
                for j in range(straight):
                    d0j = poses.v_past[link, j, k] - poses.v_before[link, j, k]
                    vj = (q[link, j, k] - poses.q_slip[link, j, k]) / engine.time.step
                    dj = vj - poses.v_free[link, j, k]
                    mass = engine.links.mass[link, i, j]
                    change += mass * (di - d0i) * (dj - d0j)
                    present += mass * di * dj
                    past += mass * d0i * d0j
                    speed += mass * poses.v[link, i, k] * poses.v[link, j, k]
        limit = max(
            _CHANGE**2 * max(present, past),
            _SWING**2 * speed,
            unseen**2 * engine.links.mass[link, 0, 0],
        )
        if (change > limit and not free) or max(turn, turn_before) * h * h > 2.0 * _TURN**2:
            return False
    return True


@compiled
def invent_past(engine: Table, h: float) -> None:
    """Before a first step, let there be a past, from which the accelerations are those to come.

    They are those of implicit Euler's solution, whose iterate must be at hand, over the free
    motion: D̈ = (Q̇₁ − Ḟ(h))/h. The state of a step ago is then F(−h) + h²/2 D̈, and its rate
    Ḟ(−h) − h D̈.
    """
    joints = engine.joints
    poses = engine.poses
    work = np.empty(3)
    axis = np.empty(3)
    for link in range(engine.links.rigidity.size):
        first = find_pivot(engine.links, poses, link, work, axis)
        before = poses.q_before[link]
        move_origin(poses.q[link], first, work, -1.0)
        free_motion(
            engine.links.mass[link],
            poses.q[link],
            poses.v[link],
            first,
            axis,
            -h,
            before,
            poses.v_before[link],
        )
        move_origin(poses.q[link], first, work, 1.0)
        move_origin(before, first, work, 1.0)
        for i in range(4):
            for k in range(3):
                rate = (poses.q_now[link, i, k] - poses.q_slip[link, i, k]) / engine.time.step
                change = rate - poses.v_free[link, i, k]
                before[i, k] += 0.5 * h * change
                poses.v_before[link, i, k] -= change
    for i in range(joints.value.size):
        rate = joints.rate[i]
        change = (joints.now[i] - joints.start[i]) / engine.time.step - rate
        joints.before[i] = joints.value[i] - h * rate + 0.5 * h * change
        joints.rate_before[i] = rate - change
    for i in range(joints.dof.size):
        poses.shift[joints.dof[i]] = (joints.value[i] - joints.before[i]) / h
    engine.time.has_history = 1
    engine.time.last_step = h


@compiled
def forget_past(time: Table) -> None:
    """Take it back, where motion turns out not to be smooth."""
    time.has_history = 0


@compiled
def put_off(time: Table) -> None:
    """After an impact: leave this step and some more to implicit Euler, more of them each time."""
    time.wait = 1 + time.patience
    time.patience = min(2 * time.patience, _LONGEST_WAIT)


@compiled
def count_step(engine: Table, second: bool) -> None:
    """At the end of a step, which was one of BDF2 or not."""
    time = engine.time
    time.smooth_steps = time.smooth_steps + 1 if second else 0
    time.was_free = 1 if moves_freely(engine) else 0
    if second:
        # The next impact is again the first of its kind.
        time.patience = SHORTEST_WAIT
        return
    time.wait = max(time.wait - 1, 0)
