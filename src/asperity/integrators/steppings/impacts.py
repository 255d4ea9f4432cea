"""Impacts that are shorter than a step, and rebounds that a step would swallow.

An L-stable method ends an impact that is shorter than its step at rest, in the whole step as in its
halves: no difference of the two tells that the bodies should have parted again. But what a contact
will do is known beforehand. By the law of Hunt and Crossley, with u the closing speed, x the
overlap, ω² = k w with w the inverse mass along the normal, and a the acceleration with which
everything else presses the contact together,

    u u' = a − ω² x (1 + d u),

and while a is small against the force of the impact,

    C = G(u) + ½ ω² x² − a x,       G(u) = u/d − ln(1 + d u)/d²

is constant: a contact that closes or pushes back with C > 0 leaves again with the speed r for which
G(−r) = C. That would take the bodies apart by

    s = min(r T, r²/2a),

T being the time in which others would notice. Where this is below the accuracy the rebound does not
matter, as in contacts that rest, roll, or are damped (r < 1/d). Elsewhere

- a step takes the share θ of the contact's time 1/ω at most. A second-order step then loses the
  share θ³/4 of the rebound, an impact of π/θ steps π θ²/4 · θ; so θ follows from the accuracy,
  (4 ε/π s)^⅓, within bounds;
- a step may not find the contact when it has been closed for longer than the time in which its
  force would have taken away as large a share of the speed, but must end there.

None of this is part of the CENIC paper.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.integrators.world_layout import METHOD_SIGNATURE, OK
from asperity.plant.plant_layouts import STATE
from asperity.plant.trees import velocity_to_solver

__all__ = ["REFUSED", "beginning_impacts", "known_impacts"]

REFUSED = 1
"""The step is too long: `impact_step` of the world is the one to try."""

_HORIZON = 0.1
_FINEST = 0.05
_COARSEST = 0.5
# Where in the time of entry a step that is to end there should end.
_AIM = 0.3


@compiled
def _potential(u: float, d: float) -> float:
    """G(u)."""
    if d * abs(u) < 1e-3:
        return u * u * (0.5 - d * u / 3.0)
    return (u - np.log1p(d * u) / d) / d


@compiled
def rebound_speed(energy: float, d: float) -> float:
    """The speed r > 0 with G(−r) = C."""
    elastic = np.sqrt(2.0 * energy)
    if d < 0.0:
        # closing: z = ln(1 + d p): exp(z) - z - 1 = d² C
        e = -d * elastic
        if e < 1e-3:
            return elastic * (1.0 - d * elastic / 3.0)
        z = np.log1p(e * (1.0 + 0.5 * e))
        for _ in range(6):
            z -= (np.exp(z) - z - 1.0 - d * d * energy) / (np.exp(z) - 1.0)
        return (np.exp(z) - 1.0) / -d
    if d * elastic < 1e-3:
        return elastic * (1.0 - d * elastic / 3.0)
    # With z = −ln(1 − d r): z − 1 + exp(−z) = d² C, which Newton's method finds from above.
    scaled = d * d * energy
    z = scaled + d * elastic
    for _ in range(5):
        z -= (z - 1.0 + np.exp(-z) - scaled) / (1.0 - np.exp(-z))
    return (1.0 - np.exp(-z)) / d


@compiled
def _along_normal(
    plant: Table, state: Table, c: int, first: np.ndarray, second: np.ndarray
) -> tuple[float, float, float]:
    """Normal velocities of a contact at two solver velocities, and its inverse mass there."""
    contacts = state.contacts
    inverse = state.mass_inverse_diagonal
    x = contacts.frame[c, 6]
    y = contacts.frame[c, 7]
    z = contacts.frame[c, 8]
    v = 0.0
    w = 0.0
    mobility = 0.0
    for side in range(2):
        link = contacts.link[c, side]
        if link < 0:
            continue
        arm = contacts.arm_a if side == 0 else contacts.arm_b
        sign = -1.0 if side == 0 else 1.0
        mx = arm[c, 1] * z - arm[c, 2] * y
        my = arm[c, 2] * x - arm[c, 0] * z
        mz = arm[c, 0] * y - arm[c, 1] * x
        tree = contacts.link_tree[link]
        if plant.tree_spatial[tree]:
            s = plant.tree_start[tree]
            v += sign * (
                mx * first[s] + my * first[s + 1] + mz * first[s + 2]
                + x * first[s + 3] + y * first[s + 4] + z * first[s + 5]
            )  # fmt: skip
            w += sign * (
                mx * second[s] + my * second[s + 1] + mz * second[s + 2]
                + x * second[s + 3] + y * second[s + 4] + z * second[s + 5]
            )  # fmt: skip
            mobility += (
                mx * mx * inverse[s] + my * my * inverse[s + 1] + mz * mz * inverse[s + 2]
                + x * x * inverse[s + 3] + y * y * inverse[s + 4] + z * z * inverse[s + 5]
            )  # fmt: skip
        else:
            column = contacts.chain_column
            start = contacts.link_start[link]
            for e in range(start, start + contacts.link_size[link]):
                j = (
                    mx * column[e, 0] + my * column[e, 1] + mz * column[e, 2]
                    + x * column[e, 3] + y * column[e, 4] + z * column[e, 5]
                )  # fmt: skip
                dof = contacts.chain_dof[e]
                v += sign * j * first[dof]
                w += sign * j * second[dof]
                mobility += j * j * inverse[dof]
    return v, w, mobility


@compiled
def _contact_or_patch(contacts: Table, first: int) -> tuple[int, int, float, float, float]:
    """Where the next begins, the contact that stands for it, its overlap, stiffness and impulse.

    The points of a patch of pressure fields stand for one contact.
    """
    chosen = first
    depth = -contacts.signed_distance[first]
    stiffness = contacts.stiffness[first]
    impulse = contacts.impulse[first, 2]
    c = first + 1
    if contacts.patch[first] < 0:
        return c, chosen, depth, stiffness, impulse
    strongest = stiffness * depth
    force = max(strongest, 0.0)
    while c < contacts.count and contacts.patch[c] == contacts.patch[first]:
        other = -contacts.stiffness[c] * contacts.signed_distance[c]
        stiffness += contacts.stiffness[c]
        impulse += contacts.impulse[c, 2]
        force += max(other, 0.0)
        if other > strongest:
            strongest = other
            chosen = c
        c += 1
    return c, chosen, force / max(stiffness, 1e-300), stiffness, impulse


@compiled
def _resolution(
    closing: float,
    depth: float,
    square: float,
    d: float,
    pressing: float,
    falling: float,
    accuracy: float,
) -> float:
    """The share θ of 1/ω that a step may take, or 0 if the rebound does not matter.

    ``square`` is ω².
    """
    if 1.0 + d * closing <= 1e-3:
        return 0.0
    energy = _potential(closing, d)
    if depth > 0.0:
        energy += depth * (0.5 * square * depth - max(pressing, 0.0))
    if not energy > 0.0:
        return 0.0
    speed = rebound_speed(energy, d)
    way = speed * _HORIZON
    returning = max(pressing, falling)
    if returning > 0.0:
        way = min(way, 0.5 * speed * speed / returning)
    kept = speed / rebound_speed(energy, -d)
    if way * kept <= accuracy:
        return 0.0
    share = (4.0 / np.pi * accuracy / (way * kept * kept)) ** (1.0 / 3.0)
    return min(max(share, _FINEST), _COARSEST / kept)


@entry_point(METHOD_SIGNATURE)
def known_impacts(world: Table, source: Table, _target: Table, step: float) -> int:
    """Find out whether a step resolves impacts that are on at its beginning.

    ``impact_step`` becomes the longest step that does. The contact sets have the step's results.
    """
    contacts = source.contacts
    sample = STATE.at(world.result.sample)
    limit = np.inf
    if contacts.count > 0 and sample.address != 0:
        interval = step
        if sample.time < source.time + 0.75 * step:
            interval = 0.5 * step
        for i in range(world.scratch.size):
            world.scratch[i] = source.force[i] * source.mass_inverse_diagonal[i]
        c = 0
        while c < contacts.count:
            after, chosen, depth, stiffness, impulse = _contact_or_patch(contacts, c)
            c = after
            before, parting, mobility = _along_normal(
                world.plant, source, chosen, source.velocity, world.scratch
            )
            square = stiffness * mobility
            if square * step * step <= _FINEST * _FINEST or (before >= 0.0 and depth <= 0.0):
                continue
            gained = contacts.velocity[chosen, 2] - before
            pressing = (impulse * mobility - gained) / interval
            share = _resolution(
                -before,
                depth,
                square,
                contacts.dissipation[chosen],
                pressing,
                -parting,
                world.accuracy,
            )
            if share > 0.0:
                limit = min(limit, share / np.sqrt(square))
    world.impact_step = limit
    return REFUSED if step > 1.001 * limit else OK


@compiled
def _was_known(known: Table, contacts: Table, c: int) -> bool:
    for k in range(known.count):
        if known.geom[k, 0] == contacts.geom[c, 0] and known.geom[k, 1] == contacts.geom[c, 1]:
            return True
    return False


@entry_point(METHOD_SIGNATURE)
def beginning_impacts(world: Table, state: Table, source: Table, step: float) -> int:
    """Find out whether impacts that begin within a step are found soon enough.

    Parameters
    ----------
    world : Table
    state : Table
        Evaluated, at a time within the step, or the current one at its end. What was in contact
        before, at the step's beginning or in the last sample of its method, is not looked at.
    source : Table
        The step's beginning, of which only velocity and time are needed.
    step : float
    """
    contacts = state.contacts
    known = world.current.contacts
    elapsed = state.time - source.time
    if state.address == world.current.address:
        known = STATE.at(world.result.sample).contacts
        elapsed = step
    limit = np.inf
    if contacts.count > 0:
        velocity_to_solver(world.plant, state.cdof, source.qvel, world.scratch)
        c = 0
        while c < contacts.count:
            first = c
            after, chosen, depth, stiffness, _ = _contact_or_patch(contacts, c)
            c = after
            if depth <= 0.0 or _was_known(known, contacts, first):
                continue
            now, before, mobility = _along_normal(
                world.plant, state, chosen, state.velocity, world.scratch
            )
            if now >= 0.0:
                continue
            square = stiffness * mobility
            share = _resolution(
                -now,
                0.0,
                square,
                contacts.dissipation[chosen],
                0.0,
                (before - now) / elapsed,
                world.accuracy,
            )
            if share == 0.0:
                continue
            entry = share * np.sqrt(share / square)
            closed = -depth / now
            if closed > entry:
                limit = min(limit, elapsed - closed + _AIM * entry)
    world.impact_step = limit
    return REFUSED if step > limit else OK
