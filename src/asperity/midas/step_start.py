"""The beginning of a step: what moves it, where inertia leads, and the first iterate.

Implicit Euler minimizes ½‖Q − Q̃‖²_M + h² Σ V with Q̃ = Q_n + h Q̇_n + h² M⁻¹f (Midas III, IPC 3).
BDF2 is the same problem with the step 2h/3, Q* = (4Q_n − Q_{n−1})/3 in place of Q_n and
Q̇* = (4Q̇_n − Q̇_{n−1})/3 in place of Q̇_n.
"""

from __future__ import annotations

import math

from asperity.compiled import compiled
from asperity.compiled.calls import call_pp_status
from asperity.integrators.layout import OK
from asperity.midas.equality_terms import begin_equalities
from asperity.midas.friction_terms import collect_friction
from asperity.midas.kinematics import move_vertices
from asperity.midas.layouts import (
    HAS_HISTORY,
    LAST_STEP,
    LONGEST_MOVE,
    MIDAS,
    SECOND_ORDER,
    STEP,
    WIDENING,
)
from asperity.midas.turn_terms import begin_turns

__all__ = ["prepare_step"]

_midas = MIDAS.get


@compiled
def _apply_forces(engine):
    """Turn wrenches into forces on Q: a torque τ does ½ τ × aᵢ on the rows of a rigid link."""
    wrench = _midas(engine, "wrench")
    force = _midas(engine, "force")
    q = _midas(engine, "q")
    for link in range(wrench.shape[0]):
        for k in range(3):
            i = (k + 1) % 3
            j = (k + 2) % 3
            force[link, 0, k] = wrench[link, k]
            for row in range(1, 4):
                force[link, row, k] = 0.5 * (
                    wrench[link, 3 + i] * q[link, row, j] - wrench[link, 3 + j] * q[link, row, i]
                )


@compiled
def _predict(engine, h):
    """Fill where displacements count from and where inertia leads; returns the step of forces."""
    ints = _midas(engine, "ints")
    reals = _midas(engine, "reals")
    q = _midas(engine, "q")
    v = _midas(engine, "v")
    q_before = _midas(engine, "q_before")
    v_before = _midas(engine, "v_before")
    slip = _midas(engine, "q_slip")
    target = _midas(engine, "q_target")
    gravity = _midas(engine, "gravity")
    second = (
        ints[SECOND_ORDER] == 1 and ints[HAS_HISTORY] == 1 and abs(reals[LAST_STEP] - h) <= 1e-9 * h
    )
    new = 4.0 / 3.0 if second else 1.0
    old = 1.0 / 3.0 if second else 0.0
    step = 2.0 / 3.0 * h if second else h
    reals[STEP] = step
    for link in range(q.shape[0] - 1):
        for i in range(4):
            for k in range(3):
                slip[link, i, k] = new * q[link, i, k] - old * q_before[link, i, k]
                rate = new * v[link, i, k] - old * v_before[link, i, k]
                target[link, i, k] = slip[link, i, k] + step * rate
        for k in range(3):
            target[link, 0, k] += step * step * gravity[link, k]
    joint = _midas(engine, "joint")
    start = _midas(engine, "joint_start")
    aim = _midas(engine, "joint_target")
    before = _midas(engine, "joint_before")
    rate = _midas(engine, "joint_rate")
    rate_before = _midas(engine, "joint_rate_before")
    for i in range(joint.size):
        start[i] = new * joint[i] - old * before[i]
        aim[i] = start[i] + step * (new * rate[i] - old * rate_before[i])
    return step


@compiled
def _set_motors(engine, step):
    """Bring motors into the form clamp(c − k θ), with the velocity (θ − θ*)/h."""
    joint = _midas(engine, "motor_joint")
    feed = _midas(engine, "motor_feed")
    position = _midas(engine, "motor_position")
    velocity = _midas(engine, "motor_velocity")
    constant = _midas(engine, "motor_constant")
    stiffness = _midas(engine, "motor_stiffness")
    start = _midas(engine, "joint_start")
    now = _midas(engine, "joint")
    for i in range(joint.size):
        k = -position[i] - velocity[i] / step
        c = feed[i] - velocity[i] * start[joint[i]] / step
        if k < 0.0:
            # Positive feedback has no minimum: it acts by the state at hand.
            c -= k * now[joint[i]]
            k = 0.0
        constant[i] = c
        stiffness[i] = k


@compiled
def _begin(engine):
    """Set the iterate to the present state, and its expected moves to those of inertia."""
    z = _midas(engine, "z")
    z_now = _midas(engine, "z_now")
    for i in range(z.size):
        z_now[i] = z[i]
    q = _midas(engine, "q")
    q_now = _midas(engine, "q_now")
    for link in range(q.shape[0] - 1):
        for i in range(4):
            for k in range(3):
                q_now[link, i, k] = q[link, i, k]
    joint = _midas(engine, "joint")
    now = _midas(engine, "joint_now")
    for i in range(joint.size):
        now[i] = joint[i]
    x = _midas(engine, "vertex_now")
    x_target = _midas(engine, "vertex_trial")
    move = _midas(engine, "vertex_move")
    move_vertices(engine, q, x)
    move_vertices(engine, _midas(engine, "q_target"), x_target)
    for vertex in range(_midas(engine, "moving_vertices")):
        for k in range(3):
            move[vertex, k] = x_target[vertex, k] - x[vertex, k]


@compiled
def prepare_step(engine, h):
    """Set up a step's potential, with the iterate at the present state; returns a code."""
    _apply_forces(engine)
    step = _predict(engine, h)
    _set_motors(engine, step)
    begin_equalities(engine, h)
    begin_turns(engine)
    _begin(engine)
    _midas(engine, "reals")[LONGEST_MOVE] = math.inf
    _midas(engine, "reals")[WIDENING] = 0.0
    code = call_pp_status(_midas(engine, "rebuild"), engine, 0)
    if code == OK:
        collect_friction(engine, _midas(engine, "vertex_now"))
    return code
