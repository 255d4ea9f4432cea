"""The end of a step: its solution becomes the present state, and the past moves on."""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.midas.energy.equality_terms import keep_multipliers
from asperity.midas.energy.joint_terms import motor_forces
from asperity.midas.lists.candidate_runs import SLACK
from asperity.midas.model.flat_faces import keep_faces
from asperity.midas.pose.pivots import find_pivot, move_origin
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
    moments = engine.work.moments_work
    change = engine.work.inertia_work[:4]
    momentum = engine.work.inertia_work[4]
    rate = engine.work.inertia_work[5]
    pivot = engine.work.inertia_work[6]
    axis = engine.work.inertia_work[7]
    for link in range(engine.poses.turns.size):
        if engine.poses.turns[link] == 0:
            continue
        q = engine.poses.q[link]
        first = find_pivot(engine, link, pivot, axis)
        for i in range(4):
            for k in range(3):
                change[i, k] = (q[i, k] - engine.poses.q_target[link, i, k]) / engine.time.step
        for k in range(3):
            # Weight is in the target, but acts where the link is.
            change[0, k] += engine.time.step * engine.links.gravity[link, k]
        move_origin(q, first, pivot, -1.0)
        angular_momentum(engine.links.mass[link], q, change, first, momentum)
        across = along(engine.links.slender_axis[link], q, engine.poses.momentum[link])
        across -= engine.poses.slender_momentum[link]
        for k in range(3):
            momentum[k] += engine.poses.momentum[link, k]
        if angular_velocity(engine.links.mass[link], q, first, axis, momentum, moments, rate):
            side = engine.links.slender_side[link]
            across -= engine.time.step * along(side[0], q, rate) * along(side[1], q, rate)
        for k in range(3):
            for i in range(3):
                momentum[k] -= across * engine.links.slender_axis[link, i] * q[1 + i, k]
        if angular_velocity(engine.links.mass[link], q, first, axis, momentum, moments, rate):
            spin(rate, q, first, engine.poses.v[link])
        move_origin(q, first, pivot, 1.0)


@compiled
def finish_step(engine: Table, h: float, second: bool) -> None:
    """Make the iterate the present state, at the end of a step that was one of BDF2 or not."""
    count_step(engine, second)
    step = engine.time.step
    for i in range(engine.poses.z.size):
        engine.poses.z[i] = engine.poses.z_now[i]
    for link in range(engine.poses.q.shape[0] - 1):
        for i in range(4):
            for k in range(3):
                engine.poses.q_older[link, i, k] = engine.poses.q_before[link, i, k]
                engine.poses.v_older[link, i, k] = engine.poses.v_before[link, i, k]
                engine.poses.q_before[link, i, k] = engine.poses.q[link, i, k]
                engine.poses.v_before[link, i, k] = engine.poses.v[link, i, k]
                engine.poses.q[link, i, k] = engine.poses.q_now[link, i, k]
                engine.poses.v[link, i, k] = (
                    engine.poses.q_now[link, i, k] - engine.poses.q_slip[link, i, k]
                ) / step
    _spin_on(engine)
    for i in range(engine.joints.value.size):
        engine.joints.older[i] = engine.joints.before[i]
        engine.joints.rate_older[i] = engine.joints.rate_before[i]
        engine.joints.before[i] = engine.joints.value[i]
        engine.joints.rate_before[i] = engine.joints.rate[i]
        engine.joints.value[i] = engine.joints.now[i]
        engine.joints.rate[i] = (engine.joints.now[i] - engine.joints.start[i]) / step
    engine.time.rebounded = 0 if second else find_rebounds(engine, h)
    if engine.time.rebounded == 1:
        add_rebounds(engine)
        # The next step has no smooth past.
        engine.time.wait = max(engine.time.wait, 1)
    engine.time.last_step = h
    engine.time.has_history = 1
    motor_forces(engine, engine.joints.now)
    keep_multipliers(engine)
    keep_faces(engine)
    # Beyond the boxes' slack there may be others that were never looked at.
    smallest = (1.0 + SLACK) * engine.options.activation
    for run in range(engine.runs.count):
        if engine.runs.least[run] < (1.0 + SLACK) * engine.runs.activation[run]:
            smallest = min(smallest, engine.runs.least[run])
    engine.counts.clearance = min(engine.counts.clearance, smallest)
