"""Steps that have missed a contact are refused.

A method sees the contacts of the states at which it evaluates the model. After the last of them a
body moves on as if nothing were there, in the whole step as in its halves, so the estimated error
does not show it. Therefore the end of a step is evaluated before the step is accepted. It is the
beginning of the next step, so this costs nothing. There are three tests:

- Geoms that may have passed through each other between two samples refuse the step
  (`asperity.plant.detection.sweep`).
- Geoms may overlap by δ now that were not in contact at the last sample. The force that was left
  out grows as k ṡ t (1 + d ṡ) over the time t_c = δ/ṡ since they touched. It would have moved them
  by w k δ (1 + d ṡ) t_c²/6 relative to each other, with the inverse mass w at the contact, and by
  no more than δ. This is an error like any other, and must not exceed the accuracy.
- A geom that has come in from the side, as over the edge of a low curb, is deeper inside along its
  way than along the normal, which points elsewhere then. It is pushed out there, where nothing has
  stopped it. Such a step is refused at any error until the way is about as long as δ. Two half
  steps may both see nothing else, so that this is asked of the middle of a step as well.

This is not part of the CENIC paper, whose examples have no thin or fast bodies.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.integrators.contact_groups import contact_group, was_known
from asperity.integrators.steppings.mobility import along_normal, is_of_geoms
from asperity.plant.detection.seams import meets_level_neighbour
from asperity.plant.detection.sweep import passed, relative_motion
from asperity.plant.detection.sweep_pairs import save_poses

__all__ = ["step_without_missed_contacts"]


_MISSED = 0.25
"""Part of the accuracy that a missed contact uses up in the step that is tried next."""

_SHORTEST = 0.1

# Overlap, as a part of the accuracy, from which it matters where a geom has come in.
_SIDEWAYS = 0.05
# Part of an overlap by which geoms have approached at least if they have met along its normal.
_OF_DEPTH = 0.5


@compiled
def step_without_missed_contacts(
    world: Table, before: Table, after: Table, step: float, accuracy: float
) -> float:
    """The step size to try instead, or ``step`` if it has missed nothing that matters.

    ``before`` and ``after`` are the step's beginning and its sample, or the sample and its end,
    which is the current state, evaluated.
    """
    at_end = after.address == world.current.address
    known = before.contacts
    save_poses(before, world.sweep)
    if passed(world.plant, known, world.sweep, after):
        return 0.5 * step
    interval = after.time - before.time
    if interval <= 0.0:
        # The method has seen the contacts of its step's end.
        return step
    contacts = after.contacts
    elapsed = step if at_end else interval
    best = step
    c = 0
    while c < contacts.count:
        first = c
        c, chosen, _, depth, stiffness, _ = contact_group(contacts, c)
        if depth <= _SIDEWAYS * accuracy or was_known(known, contacts, first):
            continue
        across = 0.0
        if is_of_geoms(world.plant, contacts, chosen):
            closing, across = relative_motion(contacts, chosen, world.sweep, after)
        elif depth <= accuracy or not at_end:
            continue
        else:
            velocity = after.velocity
            speed, _, _ = along_normal(world.plant, after, chosen, velocity, velocity)
            closing = -speed * interval
        time = interval
        if closing > depth:
            time = interval * depth / closing
        damping = 1.0 + contacts.dissipation[chosen] * max(closing, 0.0) / max(interval, 1e-300)
        stiff = contacts.inverse_mass[chosen] * stiffness * damping * time * time / 6.0
        error = depth * min(1.0, stiff) if at_end else 0.0
        is_sideways = closing < _OF_DEPTH * depth and across > depth
        if is_sideways and not meets_level_neighbour(world.plant, after, contacts, chosen, known):
            share = _OF_DEPTH * depth / across
        elif error > accuracy:
            # It grows with the time in contact, linearly or, of soft contacts, cubically.
            share = _MISSED * accuracy / error
            if stiff < 1.0:
                share = share ** (1.0 / 3.0)
        else:
            continue
        best = min(best, elapsed - time * (1.0 - share))
    return max(best, _SHORTEST * step)
