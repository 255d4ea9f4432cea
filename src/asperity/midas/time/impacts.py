"""Impacts that a step has ended, and the impulses of restitution that follow.

With how much of its approach a contact departs is a matter of its dissipation alone (Hunt and
Crossley's law, `asperity.contact.restitution`); what becomes of the impulses is that of
`asperity.midas.time.rebounds`.

Contacts that part so slowly that gravity brings them back within some steps end at rest: rebounds
that a step resolves badly would keep stacks rattling.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.restitution import impact_energy, rebound_speed
from asperity.midas.energy.contact_terms import add_round_arms, contact_sides
from asperity.midas.energy.friction_stencils import normal_force
from asperity.midas.energy.potentials import barrier, barrier_slopes
from asperity.midas.geometry.round_planes import link_of_side
from asperity.midas.time.free_motion import angular_momentum, angular_velocity

__all__ = ["departs", "meets_impact", "restitution_impulse", "slowest_departure"]

# Steps that gravity takes to bring back what parts, and distance that it goes in a step, in
# activation distances, below which contacts end at rest.
_FLIGHT = 12.0
_UNSEEN = 0.05
# Least share of an approach that a step must have stopped: with less, it is left to the next one.
_STOPPED = 2e-3
# Row of `inertia_work` that has a normal; the next four are for what moves along it.
_NORMAL = 0


@compiled
def slowest_departure(options: Table, links: Table, h: float) -> float:
    """Speed of departure [m/s] below which contacts end at rest."""
    square = 0.0
    for link in range(links.gravity.shape[0]):
        pull = 0.0
        for k in range(3):
            pull += links.gravity[link, k] ** 2
        square = max(square, pull)
    return max(0.5 * _FLIGHT * h * math.sqrt(square), _UNSEEN * options.activation / h)


@compiled
def departs(engine: Table, run: int, slowest: float) -> bool:
    """Whether contacts of a run may rebound.

    They depart no faster than 1/d, nor than they have met.
    """
    if engine.runs.least[run] >= engine.runs.activation[run]:
        return False
    pair = engine.candidates.pair[engine.runs.begin[run]]
    if engine.pairs.dissipation[pair] * slowest >= 1.0:
        return False
    fastest = 0.0
    for side in range(2):
        link = engine.runs.link[run, side]
        if link < engine.links.radius.size:
            straight = 0.0
            turned = 0.0
            for k in range(3):
                straight += engine.poses.v_free[link, 0, k] ** 2
                for i in range(1, 4):
                    turned += engine.poses.v_free[link, i, k] ** 2
            fastest += math.sqrt(straight) + engine.links.radius[link] * math.sqrt(turned)
    return fastest > slowest


@compiled
def _rate_along(
    engine: Table, link: int, y: np.ndarray, normal: np.ndarray, q: np.ndarray, v: np.ndarray
) -> float:
    """Velocity along a normal [m/s] of the point of a rigid link that is at y at the iterate.

    The link is at ``q`` and has the momenta of ``v``; in chords of rotations there is more.
    """
    work = engine.work.inertia_work
    arm = work[1]
    rate = work[2]
    momentum = work[3]
    any_axis = work[4]
    for k in range(3):
        arm[k] = 0.0
        rate[k] = 0.0
        any_axis[k] = 0.0
        for j in range(1, 4):
            arm[k] += y[j] * engine.poses.q_now[link, j, k]
    angular_momentum(engine.links.mass[link], q, v, 1, momentum)
    angular_velocity(
        engine.links.mass[link], q, 1, any_axis, momentum, engine.work.moments_work, rate
    )
    total = 0.0
    for k in range(3):
        i = (k + 1) % 3
        j = (k + 2) % 3
        total += normal[k] * (y[0] * v[0, k] + rate[i] * arm[j] - rate[j] * arm[i])
    return total


@compiled
def _approach(engine: Table, i: int, normal: np.ndarray) -> tuple[float, float]:
    """Speed [m/s] at which a candidate would close by free motions, and what gravity adds [m/s²].

    Fills the normal, and y of both sides in ``side_weight``.
    """
    y = engine.work.side_weight
    contact_sides(engine.shapes, engine.candidates, i, y)
    add_round_arms(engine.shapes, engine.candidates, i, engine.poses.q_now, y)
    distance = math.sqrt(engine.candidates.square[i])
    for k in range(3):
        normal[k] = engine.candidates.arm[i, k] / distance
    closing = 0.0
    pressing = 0.0
    for side in range(2):
        link = link_of_side(engine, i, side)
        if link == engine.links.parent.size:
            continue
        for k in range(3):
            pressing -= normal[k] * y[side, 0] * engine.links.gravity[link, k]
        before = (
            engine.poses.q_target[link]
            if engine.poses.turns[link] == 1
            else engine.poses.q_slip[link]
        )
        closing -= _rate_along(engine, link, y[side], normal, before, engine.poses.v_free[link])
    return closing, pressing


@compiled
def meets_impact(engine: Table, h: float) -> bool:
    """Whether a solution is that of an impact from which something may rebound."""
    slowest = slowest_departure(engine.options, engine.links, h)
    normal = engine.work.inertia_work[_NORMAL]
    for run in range(engine.runs.count):
        if not departs(engine, run, slowest):
            continue
        for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
            if normal_force(engine, i, engine.vertices.now) > 0.0:
                closing, _ = _approach(engine, i, normal)
                if closing > slowest:
                    return True
    return False


@compiled
def restitution_impulse(engine: Table, i: int, h: float, slowest: float, push: np.ndarray) -> float:
    """Fill a candidate's impulse of restitution [N s], as a vector on its first side.

    Links have their velocities at the end of the step. Returns the energy [J] that compression has
    taken, or −1 where there is no rebound. With one, y of both sides is in ``side_weight``.
    """
    candidates = engine.candidates
    force = normal_force(engine, i, engine.vertices.now)
    if force <= 0.0:
        return -1.0
    normal = engine.work.inertia_work[_NORMAL]
    closing, pressing = _approach(engine, i, normal)
    if closing <= slowest:
        return -1.0
    parting = 0.0
    for side in range(2):
        link = link_of_side(engine, i, side)
        if link < engine.links.parent.size:
            y = engine.work.side_weight[side]
            parting += _rate_along(
                engine, link, y, normal, engine.poses.q[link], engine.poses.v[link]
            )
    ended = closing + pressing * h
    stopped = ended + parting
    # By how much the gap has closed, gravity has made it faster.
    square = closing * closing - 2.0 * pressing * h * parting
    if not (square > 0.0 and ended > 0.0 and stopped >= _STOPPED * ended):
        return -1.0
    closing = math.sqrt(square)
    dissipation = engine.pairs.dissipation[candidates.pair[i]]
    speed = rebound_speed(impact_energy(closing, 0.0, 0.0, dissipation, 0.0), dissipation)
    mass = force * engine.time.step / stopped
    activation = engine.pairs.activation[candidates.pair[i]]
    if speed * h < activation - math.sqrt(candidates.square[i]):
        # The barrier goes on pushing for more than a step, with what it has stored.
        slope, _ = barrier_slopes(candidates.square[i], activation)
        stored = -force * barrier(candidates.square[i], activation) / slope
        speed = math.sqrt(max(speed * speed - 2.0 * stored / mass, 0.0))
    if speed < slowest or speed <= parting:
        return -1.0
    for k in range(3):
        push[k] = mass * (speed - parting) * normal[k]
    return max(0.5 * mass * (closing * closing - parting * parting), 0.0)
