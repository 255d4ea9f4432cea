"""The beginning of a step: what moves it, where inertia leads, and the first iterate.

Implicit Euler minimizes ½‖Q − Q̃‖²_M + h² Σ V with Q̃ = Q_n + h Q̇_n + h² M⁻¹f (Midas III, IPC 3).
BDF2 is the same problem with the step 2h/3, Q* = (4Q_n − Q_{n−1})/3 in place of Q_n and
Q̇* = (4Q̇_n − Q̇_{n−1})/3 in place of Q̇_n; with three states of the past other numbers stand there
(`asperity.midas.time.second_order`).

Both are schemes for D = Q − F, where F(t) is the free motion from the state at hand: D and its rate
are zero now, and D̈ is what forces do. A link that moves straight on has F = Q_n + t Q̇_n, and D
says the same as Q; one that turns has its spin in F, which keeps it
(`asperity.midas.time.free_motion`).
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp_status
from asperity.integrators.world_layout import OK
from asperity.midas.energy.equality_terms import begin_equalities
from asperity.midas.energy.friction_stencils import collect_friction
from asperity.midas.energy.joint_terms import begin_limits
from asperity.midas.energy.turn_terms import begin_turns
from asperity.midas.engine_layout import PREDICTED, STARTED
from asperity.midas.lists.candidate_runs import measure_candidates
from asperity.midas.lists.vertex_boxes import are_kept
from asperity.midas.lists.vertex_parts import listed_parts
from asperity.midas.parts import LINKS, PART, count_parts, do_parts
from asperity.midas.pose.link_kinematics import copy_poses
from asperity.midas.pose.pivots import find_pivot, move_origin
from asperity.midas.soft.calls import BEGIN, ask_soft
from asperity.midas.time.free_motion import (
    along,
    angular_momentum,
    angular_velocity,
    free_motion,
    spin,
    turn,
)
from asperity.midas.time.prediction import predict
from asperity.midas.time.second_order import may_look_far_back, set_weights

__all__ = ["START_KERNELS", "prepare_step"]

# Length by which a prediction may be wrong, as a share of its own.
_DOUBT = 0.1


@compiled
def _apply_forces(poses: Table, forces: Table) -> None:
    """Turn wrenches into forces on Q: a torque τ does ½ τ × aᵢ on the rows of a rigid link.

    Rows are those of the free motion's end. Those of the beginning would add ½ h ω × τ to it.
    """
    wrench = forces.wrench
    for link in range(wrench.shape[0]):
        for k in range(3):
            i = (k + 1) % 3
            j = (k + 2) % 3
            forces.force[link, 0, k] = wrench[link, k]
            for row in range(1, 4):
                forces.force[link, row, k] = 0.5 * (
                    wrench[link, 3 + i] * poses.q_target[link, row, j]
                    - wrench[link, 3 + j] * poses.q_target[link, row, i]
                )


@compiled
def _predict_turn(
    engine: Table,
    link: int,
    first: int,
    hinge: np.ndarray,
    levels: int,
    older: np.ndarray,
    work: np.ndarray,
    moments: np.ndarray,
) -> bool:
    """Predict the orientation of a link whose free motion is known; returns whether it could.

    Deviations from the free motion are rotations: D is a vector ρ, its rate one of angular momentum
    L − L_n. So BDF2 gives L* = (4L_n − L_{n−1})/3, to which a step adds what torques do. Rows from
    ``first`` turn, about the axis ``hinge`` if that is not zero; ``levels`` states of the past
    count, and ``older`` is where the free motion was two steps ago.
    """
    poses = engine.poses
    step = engine.time.step
    mass = engine.links.mass[link]
    ahead = poses.q_target[link]
    slip = poses.q_slip[link]
    momentum = work[0]
    change = work[1]
    angle = work[2]
    rate = work[3]
    speed = work[4]
    angular_momentum(mass, poses.q[link], poses.v[link], first, momentum)
    if not angular_velocity(mass, ahead, first, hinge, momentum, moments, rate):
        return False
    axis = engine.links.slender_axis[link]
    side = engine.links.slender_side[link]
    # What the spin that a step adds does about a slender axis is added at its end.
    about = along(axis, ahead, momentum) - step * (
        along(side[0], ahead, rate) * along(side[1], ahead, rate)
    )
    for k in range(3):
        poses.momentum[link, k] = momentum[k]
        angle[k] = 0.0
        speed[k] = 0.0
    if levels > 0:
        had = work[5]
        more = 0.0
        for k in range(3):
            change[k] = 0.0
        for level in range(levels):
            weight = engine.time.past_weight[level]
            before = poses.q_before[link] if level == 0 else poses.q_older[link]
            v_before = poses.v_before[link] if level == 0 else poses.v_older[link]
            free = slip if level == 0 else older
            angular_momentum(mass, before, v_before, first, had)
            more += weight * (along(axis, free, momentum) - along(axis, before, had))
            for k in range(3):
                change[k] -= weight * (had[k] - momentum[k])
            # Σ M_ij aᵢ × Dⱼ = Σ M_ij aᵢ × (aⱼ + Dⱼ) = I ρ, symmetric in i and j
            angular_momentum(mass, free, before, first, had)
            if not angular_velocity(mass, free, first, hinge, had, moments, speed):
                return False
            for k in range(3):
                angle[k] -= weight * speed[k]
        about += more
        for k in range(3):
            poses.momentum[link, k] += change[k]
        # About a slender axis not what the momentum across it has there, as at the step's end.
        more -= along(axis, ahead, change)
        for k in range(3):
            for i in range(3):
                change[k] += more * axis[i] * ahead[1 + i, k]
        if not angular_velocity(mass, ahead, first, hinge, change, moments, speed):
            return False
    poses.slender_momentum[link] = about
    for k in range(3):
        angle[k] += step * speed[k]
        rate[k] += speed[k]
    turn(angle, ahead, first)
    spin(rate, ahead, first, slip)
    for i in range(first, 4):
        for k in range(3):
            slip[i, k] = ahead[i, k] - step * slip[i, k]
    return True


@entry_point(PART)
def predict_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Fill where displacements of some links count from and where inertia leads."""
    poses = engine.poses
    step = engine.time.step
    h = engine.time.whole_step
    levels = engine.time.past_levels
    one = engine.time.past_weight[0]
    two = engine.time.past_weight[1]
    work = engine.work.inertia_work[:6]
    older = engine.work.inertia_work[6:10]
    rate_older = engine.work.inertia_work[10:14]
    pivot = engine.work.inertia_work[14]
    axis = engine.work.inertia_work[15]
    moments = engine.work.moments_work
    for link in range(part * LINKS, min((part + 1) * LINKS, poses.q.shape[0] - 1)):
        mass = engine.links.mass[link]
        q = poses.q[link]
        v = poses.v[link]
        ahead = poses.q_target[link]
        rate = poses.v_free[link]
        back = poses.q_slip[link]
        first = find_pivot(engine.links, poses, link, pivot, axis)
        move_origin(q, first, pivot, -1.0)
        move_origin(poses.q_before[link], first, pivot, -1.0)
        move_origin(poses.q_older[link], first, pivot, -1.0)
        turns = free_motion(mass, q, v, first, axis, h, ahead, rate)
        if levels > 0:
            turns = free_motion(mass, q, v, first, axis, -h, back, poses.v_past[link]) and turns
        if levels == 2:
            turns = free_motion(mass, q, v, first, axis, -2.0 * h, older, rate_older) and turns
        poses.turns[link] = 0
        if turns and _predict_turn(engine, link, first, axis, levels, older, work, moments):
            poses.turns[link] = 1
        first_row = first if poses.turns[link] == 1 else 4
        for i in range(first_row):
            for k in range(3):
                past = 0.0
                past_rate = 0.0
                if levels > 0:
                    past = one * (poses.q_before[link, i, k] - back[i, k])
                    past_rate = one * (poses.v_before[link, i, k] - poses.v_past[link, i, k])
                if levels == 2:
                    past += two * (poses.q_older[link, i, k] - older[i, k])
                    past_rate += two * (poses.v_older[link, i, k] - rate_older[i, k])
                back[i, k] = ahead[i, k] - past - step * rate[i, k]
                ahead[i, k] -= past + step * past_rate
        move_origin(q, first, pivot, 1.0)
        move_origin(poses.q_before[link], first, pivot, 1.0)
        move_origin(poses.q_older[link], first, pivot, 1.0)
        move_origin(ahead, first, pivot, 1.0)
        move_origin(back, first, pivot, 1.0)
        for k in range(3):
            poses.q_target[link, 0, k] += step * step * engine.links.gravity[link, k]
    return 0


@compiled
def _predict(engine: Table, h: float, second: bool) -> float:
    """Fill where displacements count from and where inertia leads; returns the step of forces."""
    joints = engine.joints
    levels = 0
    if second:
        levels = 2 if may_look_far_back(engine, h) else 1
    step = set_weights(engine.time, h, levels)
    one = engine.time.past_weight[0]
    two = engine.time.past_weight[1]
    new = 1.0 + one + two
    engine.time.whole_step = h
    engine.time.past_levels = levels
    do_parts(engine, engine.entries.predict_part, count_parts(engine.poses.q.shape[0] - 1, LINKS))
    rate = joints.rate
    for i in range(joints.value.size):
        joints.start[i] = new * joints.value[i] - one * joints.before[i] - two * joints.older[i]
        joints.target[i] = joints.start[i] + step * (
            new * rate[i] - one * joints.rate_before[i] - two * joints.rate_older[i]
        )
    return step


@compiled
def _set_motors(joints: Table, motors: Table, step: float) -> None:
    """Bring motors into the form clamp(c − k θ), with the velocity (θ − θ*)/h."""
    for i in range(motors.joint.size):
        k = -motors.position[i] - motors.velocity[i] / step
        c = motors.feed[i] - motors.velocity[i] * joints.start[motors.joint[i]] / step
        if k < 0.0:
            # Positive feedback has no minimum: it acts by the state at hand.
            c -= k * joints.value[motors.joint[i]]
            k = 0.0
        motors.constant[i] = c
        motors.stiffness[i] = k


@compiled
def _begin(engine: Table) -> None:
    """Set the iterate to the present state, and the trial state to a prediction if there is one."""
    poses = engine.poses
    for i in range(poses.z.size):
        poses.z_now[i] = poses.z[i]
    copy_poses(poses.q, poses.q_now)
    for i in range(engine.joints.value.size):
        engine.joints.now[i] = engine.joints.value[i]
        engine.joints.dual[i] = 0.0
    do_parts(engine, engine.entries.place_now_vertices, listed_parts(engine.vertices))
    engine.time.has_prediction = 1 if predict(engine) else 0


@compiled
def prepare_step(engine: Table, h: float, second: bool) -> int:
    """Set up a step's potential, with the iterate at the present state; returns a code.

    ``second`` says whether it is one of BDF2, for which there must be a history.
    """
    step = _predict(engine, h, second)
    _apply_forces(engine.poses, engine.forces)
    _set_motors(engine.joints, engine.motors, step)
    begin_equalities(engine, h)
    begin_limits(engine.joints)
    begin_turns(engine)
    _begin(engine)
    engine.boxes.longest_move = math.inf
    engine.boxes.widening = _DOUBT if engine.time.has_prediction == 1 else 0.0
    code = OK
    ahead = engine.poses.q_trial if engine.time.has_prediction == 1 else engine.poses.q_target
    if are_kept(engine, engine.poses.q, ahead):
        measure_candidates(engine)
    else:
        code = call_pp_status(
            engine.entries.rebuild,
            engine,
            PREDICTED if engine.time.has_prediction == 1 else STARTED,
        )
    if code == OK:
        collect_friction(engine, 0)
        code = ask_soft(engine, BEGIN)
    return code


START_KERNELS = (predict_part,)
