"""Error control resolves impacts that are shorter than a step.

**Problem.** After an impact that is shorter than its step, an L-stable method leaves the bodies at
rest, in the whole step as in its halves. The estimated error does not show that they should have
parted.

**Prediction.** The contact law says how fast they should part (`asperity.contact.restitution`). A
contact that closes with a speed p parts with a speed r. Within a time T, or until the acceleration
a that presses the bodies together has stopped them, they are apart by

    s = min(r T, r²/2a).

If s r/p is below the accuracy ε, the rebound does not matter, as in contacts that rest, roll or are
damped. Otherwise two rules hold:

- A step lasts θ/ω at most, where π/ω is the duration of an impact. A step of a method of order m
  takes about θ²ᵐ/4 of the speed, and an impact π θ²ᵐ⁻¹/4. The error of s from this may be an eighth
  of ε. Where damping is strong, r hardly depends on p, with dr/dp ≈ (r/p)², so an error that arises
  before the impact counts less:

      θ²ᵐ⁻¹ = ε/(2 π s (r/p)²), within bounds.

- A step must not find a contact that has been closed for longer than √θ θ/ω, the time in which its
  force would have changed the speed by as much. Such a step is refused, and the next one ends soon
  after the bodies have touched.

Contacts that come together or part at the same time share an impact: their impulses do not press,
and a body that lands flat on n contacts swings on all n springs (`divide_impulses`).

None of this is part of the CENIC paper.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.arrays import copy_numbers
from asperity.contact.restitution import approach_speed, impact_energy, rebound_speed
from asperity.integrators.contact_groups import contact_group, was_known
from asperity.integrators.steppings.mobility import (
    add_normal_impulse,
    along_normal,
    is_of_geoms,
    respond,
)
from asperity.integrators.world_layout import METHOD_SIGNATURE, OK
from asperity.plant.plant_layouts import STATE
from asperity.plant.trees import velocity_to_solver

__all__ = [
    "NOTABLE",
    "REFUSED",
    "as_spring",
    "beginning_impacts",
    "divide_impulses",
    "known_impacts",
]

NOTABLE = 0.01
"""Speed [m/s] below which contacts that come together are at rest."""

REFUSED = 1
"""The step is too long: `impact_step` of the world is the one to try."""

# T [s]. The errors of position that lost speeds make grow with time; this is a time in which
# somebody who asks for an accuracy would look.
_HORIZON = 0.05

# Bounds on θ: sixty steps in an impact, or 160 of first order, and three.
_FINEST = 0.05
_FINEST_FIRST_ORDER = 0.02
_COARSEST = 1.0

# Where in the time in which a contact must be found a step that is to end there should end.
_AIM = 0.3


@compiled
def as_spring(
    growth: float, depth: float, square: float, speed: float
) -> tuple[float, float, float]:
    """Overlap, and that of a spring of the same energy, and the spring's ω².

    Parameters
    ----------
    growth : float
        n ≥ 1 of a force that grows as xⁿ.
    depth : float
        F/F' = x/n now.
    square : float
        w F' now, w being the inverse mass.
    speed : float
        Of the approach or rebound now [m/s].

    The energy per unit of mass is w F x/(n + 1), and grows as xⁿ⁺¹ until it is all there is. The
    spring is as stiff as the contact will be then, at its stiffest.
    """
    if growth <= 1.0 or depth <= 0.0:
        return depth, depth, square
    stored = square * depth * depth * growth / (growth + 1.0)
    energy = stored + 0.5 * speed * speed
    deepest = growth * depth * (energy / stored) ** (1.0 / (growth + 1.0))
    stiffest = growth * (growth + 1.0) * energy / (deepest * deepest)
    return growth * depth, np.sqrt(2.0 * stored / stiffest), stiffest


@compiled
def _resolution(world: Table, energy: float, dissipation: float, returning: float) -> float:
    """θ, or 0 if the rebound does not matter.

    Parameters
    ----------
    world : Table
    energy, dissipation : float
        C and d of `asperity.contact.restitution`.
    returning : float
        a, once the bodies are apart.
    """
    if not energy > 0.0:
        return 0.0
    speed = rebound_speed(energy, dissipation)
    kept = speed / approach_speed(energy, dissipation)
    way = speed * _HORIZON
    if returning > 0.0:
        way = min(way, 0.5 * speed * speed / returning)
    if way * kept <= world.accuracy:
        return 0.0
    share = world.accuracy / (2.0 * np.pi * way * kept * kept)
    if world.order > 1:
        share = max(share ** (1.0 / 3.0), _FINEST)
    return min(max(share, _FINEST_FIRST_ORDER), _COARSEST / kept)


@compiled
def _is_impact(world: Table, state: Table, c: int, controlled: bool) -> bool:
    """Whether a contact comes together, or under error control parts, with a notable speed."""
    speed, _, _ = along_normal(world.plant, state, c, state.velocity, state.velocity)
    return speed < -NOTABLE or (controlled and speed >= NOTABLE)


@compiled
def _any_impact(world: Table, state: Table, controlled: bool) -> bool:
    contacts = state.contacts
    c = 0
    while c < contacts.count:
        c, chosen, _, _, _, impulse = contact_group(contacts, c)
        counts = not controlled or is_of_geoms(world.plant, contacts, chosen)
        if impulse > 0.0 and counts and _is_impact(world, state, chosen, controlled):
            return True
    return False


@compiled
def divide_impulses(world: Table, state: Table, step: float, controlled: bool) -> bool:
    """Find what impacts do to velocities, and what forces do to them; whether there are impacts.

    Contacts that are in no impact have pressed with what their overlap says; the rest of their
    impulses passes the impact on.

    Parameters
    ----------
    world : Table
        Its scratch has forces, and then their accelerations.
    state : Table
        With the step's impulses. Its ``dof_force`` becomes the change of velocities by impacts.
    step : float
        In which they act [s].
    controlled : bool
        Whether steps resolve impacts. Contacts that part are then in one, too, and contacts of
        flexes do not count.
    """
    contacts = state.contacts
    impact = state.work.dof_force
    impact[:] = 0.0
    found = _any_impact(world, state, controlled)
    c = 0
    while found and c < contacts.count:
        group = c
        c, chosen, depth, _, stiffness, impulse = contact_group(contacts, c)
        if not impulse > 0.0 or (controlled and not is_of_geoms(world.plant, contacts, chosen)):
            continue
        share = 1.0
        if not _is_impact(world, state, chosen, controlled):
            share = max(1.0 - stiffness * max(depth, 0.0) * step / impulse, 0.0)
        for point in range(group, c):
            add_normal_impulse(world.plant, state, point, share, impact)
    respond(world.plant, state, impact, world.scratch)
    return found


@entry_point(METHOD_SIGNATURE)
def known_impacts(world: Table, source: Table, _target: Table, step: float) -> int:
    """Find out whether a step resolves impacts whose contacts its beginning knows.

    ``impact_step`` becomes the longest step that does. The contact sets have the step's results.
    """
    contacts = source.contacts
    sample = STATE.at(world.result.sample)
    limit = np.inf
    if contacts.count > 0 and sample.address != 0:
        # Of halves, or of a step that is corrected at its end.
        interval = step
        if sample.time < source.time + 0.75 * step:
            interval = 0.5 * step
        # By all but contacts and constraints.
        copy_numbers(source.force, world.scratch)
        divide_impulses(world, source, interval, True)
        c = 0
        while c < contacts.count:
            c, chosen, depth, _, stiffness, impulse = contact_group(contacts, c)
            before, parting, mobility = along_normal(
                world.plant, source, chosen, source.velocity, world.scratch
            )
            stopped = impulse * mobility
            is_rigid = is_of_geoms(world.plant, contacts, chosen)
            if impulse > 0.0 and abs(before) >= NOTABLE and is_rigid:
                together, _, _ = along_normal(
                    world.plant, source, chosen, source.work.dof_force, world.scratch
                )
                stopped = together if together > 0.0 else stopped
                mobility = stopped / impulse
            _, depth, square = as_spring(
                contacts.growth[chosen], depth, stiffness * mobility, before
            )
            if square * step * step <= _FINEST_FIRST_ORDER**2 or (before >= 0.0 and depth <= 0.0):
                continue
            # What the impact has not done others did.
            gained = contacts.velocity[chosen, 2] - before
            pressing = max((stopped - gained) / interval, 0.0)
            dissipation = contacts.dissipation[chosen]
            energy = impact_energy(-before, depth, square, dissipation, pressing)
            share = _resolution(world, energy, dissipation, max(pressing, -parting))
            if share > 0.0:
                limit = min(limit, share / np.sqrt(square))
    world.impact_step = limit
    return REFUSED if step > 1.001 * limit else OK


@entry_point(METHOD_SIGNATURE)
def beginning_impacts(world: Table, state: Table, source: Table, step: float) -> int:
    """Find out whether impacts that begin within a step are found soon enough.

    If they are, ``impact_step`` becomes the longest step that resolves them from there on.

    Parameters
    ----------
    world : Table
    state : Table
        Evaluated, at a time within the step, or the current one at its end. What was in contact
        before, at the step's beginning or in the last sample of its method, is not looked at.
    source : Table
        The step's beginning, of which only velocities are needed, and the time if it is current.
    step : float
    """
    contacts = state.contacts
    known = world.current.contacts
    elapsed = state.time - source.time
    if state.address == world.current.address:
        known = STATE.at(world.result.sample).contacts
        elapsed = step
    limit = np.inf
    following = np.inf
    if contacts.count > 0:
        velocity_to_solver(world.plant, state.cdof, source.qvel, world.scratch)
        c = 0
        while c < contacts.count:
            first = c
            c, chosen, depth, _, stiffness, _ = contact_group(contacts, c)
            if depth <= 0.0 or was_known(known, contacts, first):
                continue
            now, before, mobility = along_normal(
                world.plant, state, chosen, state.velocity, world.scratch
            )
            if now >= 0.0:
                continue
            overlap, _, square = as_spring(
                contacts.growth[chosen], depth, stiffness * mobility, now
            )
            dissipation = contacts.dissipation[chosen]
            energy = impact_energy(-now, 0.0, square, dissipation, 0.0)
            share = _resolution(world, energy, dissipation, (before - now) / elapsed)
            if share == 0.0:
                continue
            longest = share / np.sqrt(square)
            soon = longest * np.sqrt(share)
            closed = -overlap / now
            if closed > soon or step - elapsed > longest:
                limit = min(limit, elapsed - closed + _AIM * soon)
            else:
                following = min(following, longest)
    if step > limit:
        world.impact_step = limit
        return REFUSED
    world.impact_step = following
    return OK
