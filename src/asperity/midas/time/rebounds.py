"""How bodies part after an impact, as the dissipation of their contact says.

A step of implicit Euler ends an impact within the barrier, at rest, or still on its way where it
begins near the surface. The law of Hunt and Crossley has contacts part with the share e of the
speed that they meet with, whatever their stiffness and masses are (`asperity.contact.restitution`).
So, at the end of a step that has stopped an approach, velocities change by further impulses in the
same contacts: Poisson's hypothesis, by which the impulses of restitution are shares of those of
compression, with Newton's speed of departure. Positions stay, and with them the guarantee.

Where all contacts have e = 1 and no friction, v⁺ = v_c + (v_c − v⁻) with the velocity v_c at the
end of compression, the reflection that keeps the energy of any number of contacts at once (Smith,
Kaufman, Vouga, Tamstorf and Grinspun, Reflections on simultaneous impact, 2012). For others, their
sum of kinetic energies is kept from growing beyond what compression has taken.

Velocities change by what the inertia of links that joints hold together says, equalities included,
with implicit friction μ times the impulse in contacts that rebound, by iteratively reweighted least
squares. Whatever else bodies touch is met with in the next step.
"""

from __future__ import annotations

import math

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp_status
from asperity.midas.energy.friction_stencils import collect_friction, forget_friction
from asperity.midas.energy.friction_terms import fill_slip, slips
from asperity.midas.geometry.round_planes import further_stencils, link_of_side, place_on_round
from asperity.midas.geometry.stencil import RIM_PLANE
from asperity.midas.pose.joint_coordinates import joint_coordinates
from asperity.midas.pose.link_kinematics import place_links
from asperity.midas.time.impacts import (
    departs,
    meets_impact,
    restitution_impulse,
    slowest_departure,
)

__all__ = ["add_rebounds", "find_rebounds"]

# Share of a direction that velocities are read off, so that what is not linear in it is not seen.
_SHARE = 1e-3
# Row of `inertia_work` that has an impulse, beyond those that impacts are found in.
_PUSH = 8
# Rounds of friction, and the change of slips that is enough.
_ROUNDS = 8
_ENOUGH = 0.01


@compiled
def _apply_impulses(engine: Table, h: float) -> float:
    """Add impulses of restitution to the links' forces, and keep what friction they bear.

    Returns the energy that compression has taken [J], or −1 if nothing rebounds.
    """
    slowest = slowest_departure(engine.options, engine.links, h)
    world = engine.links.parent.size
    y = engine.work.side_weight
    push = engine.work.inertia_work[_PUSH]
    lost = -1.0
    collect_friction(engine, 1)
    at = 0
    for run in range(engine.runs.count):
        may_depart = departs(engine, run, slowest)
        for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
            size = 0.0
            taken = restitution_impulse(engine, i, h, slowest, push) if may_depart else -1.0
            if taken >= 0.0:
                lost = max(lost, 0.0) + taken
                for side in range(2):
                    link = link_of_side(engine, i, side)
                    if link == world:
                        continue
                    for j in range(4):
                        for k in range(3):
                            engine.forces.force[link, j, k] += (
                                y[side, j] * push[k] / engine.time.step
                            )
                for k in range(3):
                    size += push[k] * push[k]
                size = math.sqrt(size) / engine.time.step
            if not engine.friction.bound[i] > 0.0:
                continue
            stencils = 1
            if engine.candidates.kind[i] == RIM_PLANE:
                stencils += further_stencils(place_on_round(engine, i, engine.poses.q_now, y))
            bound = engine.friction.bound[i]
            share = engine.pairs.friction[engine.candidates.pair[i]] * size / bound
            for _ in range(stencils):
                engine.friction.rebound[at] = share * engine.friction.force[at]
                at += 1
    return lost


@compiled
def _weigh_friction(engine: Table, first: bool) -> float:
    """Set friction's forces by the slips that the direction leads to; returns their change.

    Friction is as if linear in the slip, with a factor by which it has its bound for this slip.
    """
    friction = engine.friction
    change = 0.0
    u = engine.work.slips[0]
    ahead = engine.work.slips[1]
    for i in range(friction.count):
        bound = friction.rebound[i]
        if bound == 0.0 or first:
            friction.force[i] = bound
            continue
        width = engine.pairs.stiction[friction.pair[i]] * engine.time.step
        before = max(fill_slip(engine, i, engine.poses.q_now, u), width)
        fill_slip(engine, i, engine.poses.q_trial, ahead)
        u0 = u[0] + (ahead[0] - u[0]) / _SHARE
        u1 = u[1] + (ahead[1] - u[1]) / _SHARE
        square = u0 * u0 + u1 * u1
        for k in range(2, slips(engine, i)):
            square += (u[k] + (ahead[k] - u[k]) / _SHARE) ** 2
        after = max(math.sqrt(square), width)
        force = bound * before / after
        change = max(change, abs(force - friction.force[i]) / force)
        friction.force[i] = force
    return change


@compiled
def _place_ahead(engine: Table) -> None:
    """Place the trial state at a small share of the direction."""
    poses = engine.poses
    for i in range(poses.z_now.size):
        poses.z_trial[i] = poses.z_now[i] + _SHARE * engine.newton.direction[i]
    place_links(engine.links, poses.z_trial, poses.q_trial)
    joint_coordinates(engine, poses.q_trial, poses.z_trial, engine.joints.now, engine.joints.trial)


@compiled
def _affordable_share(engine: Table, lost: float) -> float:
    """Share of the change of velocities that costs no more energy [J] than there was."""
    square = 0.0
    cross = 0.0
    for link in range(engine.links.mass.shape[0]):
        for i in range(4):
            for j in range(4):
                mass = engine.links.mass[link, i, j]
                for k in range(3):
                    new = engine.poses.q_trial[link, j, k] - engine.poses.q_now[link, j, k]
                    own = engine.poses.q_trial[link, i, k] - engine.poses.q_now[link, i, k]
                    square += mass * own * new
                    cross += mass * engine.poses.v[link, i, k] * new
    whole = _SHARE * engine.time.step
    square /= whole * whole
    cross /= whole
    if square <= 0.0:
        return 1.0
    # ½ s² square + s cross ≤ lost
    return min((math.sqrt(cross * cross + 2.0 * square * lost) - cross) / square, 1.0)


@compiled
def find_rebounds(engine: Table, h: float) -> int:
    """After a step, find how velocities change by restitution; returns 1 if they do.

    Then the trial state is ahead of the iterate by a share of it, in ``rebound_share`` [s]. The
    iterate has become the present state, and free motions are still those of the step before.
    """
    if not meets_impact(engine, h):
        return 0
    gradient = engine.newton.gradient
    rest = engine.time.rebound_gradient
    stiffness = engine.options.barrier_stiffness
    engine.newton.curved = 0
    # What all but contacts and friction does to the solution.
    forget_friction(engine.friction, engine.schedule)
    engine.options.barrier_stiffness = 0.0
    engine.newton.only_slopes = 1
    call_pp_status(engine.entries.assemble, engine, 0)
    engine.newton.only_slopes = 0
    engine.options.barrier_stiffness = stiffness
    for i in range(gradient.size):
        rest[i] = gradient[i]
    lost = _apply_impulses(engine, h)
    if lost < 0.0:
        return 0
    engine.options.barrier_stiffness = 0.0
    code = 0
    for turn in range(_ROUNDS):
        change = _weigh_friction(engine, turn == 0)
        if turn > 0 and change <= _ENOUGH:
            break
        call_pp_status(engine.entries.assemble, engine, 1)
        for i in range(gradient.size):
            gradient[i] -= rest[i]
        code = call_pp_status(engine.entries.find_direction, engine, 0)
        if code != 0:
            break
        _place_ahead(engine)
    engine.options.barrier_stiffness = stiffness
    if code != 0:
        return 0
    engine.time.rebound_share = (
        _SHARE * engine.time.step / max(_affordable_share(engine, lost), 1e-300)
    )
    return 1


@compiled
def add_rebounds(engine: Table) -> None:
    """Change the velocities of the state that the iterate has become.

    Those of the step before, which say how the next one may begin, become the same: there is no
    acceleration to go on.
    """
    joints = engine.joints
    for link in range(engine.links.mass.shape[0]):
        moves = False
        for i in range(4):
            for k in range(3):
                change = engine.poses.q_trial[link, i, k] - engine.poses.q_now[link, i, k]
                moves = moves or change != 0.0
                engine.poses.v[link, i, k] += change / engine.time.rebound_share
        for i in range(4 if moves else 0):
            for k in range(3):
                engine.poses.v_before[link, i, k] = engine.poses.v[link, i, k]
    for i in range(joints.value.size):
        change = joints.trial[i] - joints.now[i]
        joints.rate[i] += change / engine.time.rebound_share
        if change != 0.0:
            joints.rate_before[i] = joints.rate[i]
