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
    moments = engine.moments_work
    change = engine.inertia_work[:4]
    momentum = engine.inertia_work[4]
    rate = engine.inertia_work[5]
    pivot = engine.inertia_work[6]
    axis = engine.inertia_work[7]
    for link in range(engine.turns.size):
        if engine.turns[link] == 0:
            continue
        q = engine.q[link]
        first = find_pivot(engine, link, pivot, axis)
        for i in range(4):
            for k in range(3):
                change[i, k] = (q[i, k] - engine.q_target[link, i, k]) / engine.step
        for k in range(3):
            # Weight is in the target, but acts where the link is.
            change[0, k] += engine.step * engine.gravity[link, k]
        move_origin(q, first, pivot, -1.0)
        angular_momentum(engine.mass[link], q, change, first, momentum)
        across = along(engine.slender_axis[link], q, engine.momentum[link])
        across -= engine.slender_momentum[link]
        for k in range(3):
            momentum[k] += engine.momentum[link, k]
        if angular_velocity(engine.mass[link], q, first, axis, momentum, moments, rate):
            side = engine.slender_side[link]
            across -= engine.step * along(side[0], q, rate) * along(side[1], q, rate)
        for k in range(3):
            for i in range(3):
                momentum[k] -= across * engine.slender_axis[link, i] * q[1 + i, k]
        if angular_velocity(engine.mass[link], q, first, axis, momentum, moments, rate):
            spin(rate, q, first, engine.v[link])
        move_origin(q, first, pivot, 1.0)


@compiled
def finish_step(engine: Table, h: float, second: bool) -> None:
    """Make the iterate the present state, at the end of a step that was one of BDF2 or not."""
    count_step(engine, second)
    step = engine.step
    for i in range(engine.z.size):
        engine.z[i] = engine.z_now[i]
    for link in range(engine.q.shape[0] - 1):
        for i in range(4):
            for k in range(3):
                engine.q_older[link, i, k] = engine.q_before[link, i, k]
                engine.v_older[link, i, k] = engine.v_before[link, i, k]
                engine.q_before[link, i, k] = engine.q[link, i, k]
                engine.v_before[link, i, k] = engine.v[link, i, k]
                engine.q[link, i, k] = engine.q_now[link, i, k]
                engine.v[link, i, k] = (engine.q_now[link, i, k] - engine.q_slip[link, i, k]) / step
    _spin_on(engine)
    for i in range(engine.joint.size):
        engine.joint_older[i] = engine.joint_before[i]
        engine.joint_rate_older[i] = engine.joint_rate_before[i]
        engine.joint_before[i] = engine.joint[i]
        engine.joint_rate_before[i] = engine.joint_rate[i]
        engine.joint[i] = engine.joint_now[i]
        engine.joint_rate[i] = (engine.joint_now[i] - engine.joint_start[i]) / step
    engine.rebounded = 0 if second else find_rebounds(engine, h)
    if engine.rebounded == 1:
        add_rebounds(engine)
        # The next step has no smooth past.
        engine.wait = max(engine.wait, 1)
    engine.last_step = h
    engine.has_history = 1
    motor_forces(engine, engine.joint_now)
    keep_multipliers(engine)
    keep_faces(engine)
    # Beyond the boxes' slack there may be others that were never looked at.
    smallest = (1.0 + SLACK) * engine.activation
    for run in range(engine.runs):
        if engine.run_least[run] < (1.0 + SLACK) * engine.run_activation[run]:
            smallest = min(smallest, engine.run_least[run])
    engine.clearance = min(engine.clearance, smallest)
