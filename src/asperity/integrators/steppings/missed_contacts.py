"""Steps that have missed a contact are refused.

A method sees the contacts of the states at which it evaluates the model. After the last of them a
body moves on as if nothing were there, in the whole step as in its halves, so the estimated error
does not show it. Therefore the end of a step is evaluated before the step is accepted. It is the
beginning of the next step, so this costs nothing. There are two tests:

- Geoms that may have passed through each other between two samples refuse the step
  (`asperity.plant.detection.sweep`).
- Geoms may overlap by δ now that were not in contact at the last sample. The force that was left
  out grows as k ṡ t (1 + d ṡ) over the time t_c = δ/ṡ since they touched. It would have moved them
  by w k δ (1 + d ṡ) t_c²/6 relative to each other, with the inverse mass w at the contact, and by
  no more than δ. This is an error like any other, and must not exceed the accuracy.

This is not part of the CENIC paper, whose examples have no thin or fast bodies.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.integrators.contact_groups import contact_group, was_known
from asperity.integrators.steppings.mobility import along_normal, is_of_geoms
from asperity.plant.detection.sweep import closing_distance, passed
from asperity.plant.detection.sweep_pairs import save_poses
from asperity.plant.plant_layouts import STATE

__all__ = ["passed_before_sample", "step_without_missed_contacts"]


_MISSED = 0.25
"""Part of the accuracy that a missed contact uses up in the step that is tried next."""

_SHORTEST = 0.1


@compiled
def passed_before_sample(world: Table) -> bool:
    """Whether geoms passed through each other between the current state and the sample."""
    sample = STATE.at(world.result.sample)
    if sample.address == 0:
        return False
    current = world.current
    save_poses(current, world.sweep)
    return passed(world.plant, current.contacts, world.sweep, sample)


@compiled
def step_without_missed_contacts(world: Table, step: float, accuracy: float) -> float:
    """The step size to try instead, or ``step`` if the step has missed nothing that matters.

    The current state is the end of the step, evaluated.
    """
    sample = STATE.at(world.result.sample)
    if sample.address == 0:
        return step
    current = world.current
    save_poses(sample, world.sweep)
    known = sample.contacts
    if passed(world.plant, known, world.sweep, current):
        return 0.5 * step
    if sample.time >= current.time:
        # The method has seen the contacts of its step's end.
        return step
    contacts = current.contacts
    interval = current.time - sample.time
    best = step
    c = 0
    while c < contacts.count:
        first = c
        c, chosen, _, depth, stiffness, _ = contact_group(contacts, c)
        if depth <= accuracy or was_known(known, contacts, first):
            continue
        if is_of_geoms(world.plant, contacts, chosen):
            closing = closing_distance(contacts, chosen, world.sweep, current)
        else:
            velocity = current.velocity
            speed, _, _ = along_normal(world.plant, current, chosen, velocity, velocity)
            closing = -speed * interval
        time = interval
        if closing > depth:
            time = interval * depth / closing
        damping = 1.0 + contacts.dissipation[chosen] * max(closing, 0.0) / max(interval, 1e-300)
        stiff = contacts.inverse_mass[chosen] * stiffness * damping * time * time / 6.0
        error = depth * min(1.0, stiff)
        if error <= accuracy:
            continue
        # The error grows with the time in contact, linearly or, of soft contacts, cubically.
        share = _MISSED * accuracy / error
        if stiff < 1.0:
            share = share ** (1.0 / 3.0)
        best = min(best, step - time * (1.0 - share))
    return max(best, _SHORTEST * step)
