"""The end of a step: its solution becomes the present state, and the past moves on."""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.midas.energy.equality_terms import keep_multipliers
from asperity.midas.energy.joint_terms import motor_forces
from asperity.midas.lists.candidate_runs import SLACK
from asperity.midas.model.flat_faces import keep_faces
from asperity.midas.pose.pivots import find_pivot, move_origin
from asperity.midas.soft.calls import END, ask_soft
from asperity.midas.time.free_motion import along, angular_momentum, angular_velocity, spin
from asperity.midas.time.rebounds import add_rebounds, find_rebounds
from asperity.midas.time.second_order import count_step

__all__ = ["finish_step"]


@compiled
def _spin_on(engine: Table) -> None:
    """Let links that turn as rigid bodies turn on with what angular momentum the step has left.

    Torques act at the end of the step, by then about turned axes. A slender body has next to no
    inertia about its axis, and what is left there of the momentum across it would spin it up; but
    forces on the axis have no torque about it, whatever they turn it to.
    """
    links = engine.links
    poses = engine.poses
    work = engine.work
    moments = work.moments_work
    change = work.inertia_work[:4]
    momentum = work.inertia_work[4]
    rate = work.inertia_work[5]
    pivot = work.inertia_work[6]
    axis = work.inertia_work[7]
    for link in range(poses.turns.size):
        if poses.turns[link] == 0:
            continue
        q = poses.q[link]
        first = find_pivot(links, poses, link, pivot, axis)
        for i in range(4):
            for k in range(3):
                change[i, k] = (q[i, k] - poses.q_target[link, i, k]) / engine.time.step
        for k in range(3):
            # Weight is in the target, but acts where the link is.
            change[0, k] += engine.time.step * links.gravity[link, k]
        move_origin(q, first, pivot, -1.0)
        angular_momentum(links.mass[link], q, change, first, momentum)
        across = along(links.slender_axis[link], q, poses.momentum[link])
        across -= poses.slender_momentum[link]
        for k in range(3):
            momentum[k] += poses.momentum[link, k]
        if angular_velocity(links.mass[link], q, first, axis, momentum, moments, rate):
            side = links.slender_side[link]
            across -= engine.time.step * along(side[0], q, rate) * along(side[1], q, rate)
        for k in range(3):
            for i in range(3):
                momentum[k] -= across * links.slender_axis[link, i] * q[1 + i, k]
        if angular_velocity(links.mass[link], q, first, axis, momentum, moments, rate):
            spin(rate, q, first, poses.v[link])
        move_origin(q, first, pivot, 1.0)


@compiled
def finish_step(engine: Table, h: float, second: bool) -> None:
    """Make the iterate the present state, at the end of a step that was one of BDF2 or not."""
    joints = engine.joints
    poses = engine.poses
    time = engine.time
    count_step(engine, second)
    step = time.step
    for i in range(poses.z.size):
        poses.z[i] = poses.z_now[i]
    for link in range(poses.q.shape[0] - 1):
        for i in range(4):
            for k in range(3):
                poses.q_older[link, i, k] = poses.q_before[link, i, k]
                poses.v_older[link, i, k] = poses.v_before[link, i, k]
                poses.q_before[link, i, k] = poses.q[link, i, k]
                poses.v_before[link, i, k] = poses.v[link, i, k]
                poses.q[link, i, k] = poses.q_now[link, i, k]
                poses.v[link, i, k] = (poses.q_now[link, i, k] - poses.q_slip[link, i, k]) / step
    _spin_on(engine)
    for i in range(joints.value.size):
        joints.older[i] = joints.before[i]
        joints.rate_older[i] = joints.rate_before[i]
        joints.before[i] = joints.value[i]
        joints.rate_before[i] = joints.rate[i]
        joints.value[i] = joints.now[i]
        joints.rate[i] = (joints.now[i] - joints.start[i]) / step
    time.rebounded = 0 if second else find_rebounds(engine, h)
    if time.rebounded == 1:
        add_rebounds(engine)
        # The next step has no smooth past.
        time.wait = max(time.wait, 1)
    time.last_step = h
    time.has_history = 1
    motor_forces(engine.motors, joints.now)
    keep_multipliers(engine.gaps)
    keep_faces(engine.pairs)
    # Beyond the boxes' slack there may be others that were never looked at.
    smallest = (1.0 + SLACK) * engine.options.activation
    for run in range(engine.runs.count):
        if engine.runs.least[run] < (1.0 + SLACK) * engine.runs.activation[run]:
            smallest = min(smallest, engine.runs.least[run])
    engine.counts.clearance = min(engine.counts.clearance, smallest)
    ask_soft(engine, END)
