"""Contacts that a step has missed because they began between the samples of its method.

A method sees the contacts of the states at which it evaluates the model. A body that touches
another after the last of them moves on as if nothing were there, in the whole step as in its
halves, so that no difference of the two tells. Therefore the end of a step is evaluated before the
step is final (it is the beginning of the next one and costs nothing):

- geoms that may have passed through each other between two samples (`asperity.plant.sweep`) reject
  the step;
- for geoms that overlap by δ now, and were not in contact at the last sample, the force that was
  left out, growing as k ṡ t (1 + d ṡ) over the time t_c = δ/ṡ since they touched, would have moved
  them by w k δ (1 + d ṡ) t_c²/6 relative to each other, w being the inverse mass at the contact,
  and not by more than δ. That is an error like any other, and must not exceed the accuracy.

This is not part of the CENIC paper, whose examples have no thin or fast bodies.
"""

from __future__ import annotations

from asperity.compiled import compiled
from asperity.contact.contact_set import CONTACT_SET, COUNT_CONTACTS
from asperity.integrators.layout import GEOM_SAMPLE, WORLD
from asperity.plant.layouts import STATE, TIME
from asperity.plant.sweep import closing_distance, passed, save_poses

__all__ = ["passed_before_sample", "step_without_missed_contacts"]

_world = WORLD.get
_state = STATE.get
_contacts = CONTACT_SET.get

_MISSED = 0.25
"""Part of the accuracy that a missed contact uses up in the step that is tried next."""

_SHORTEST = 0.1


@compiled
def passed_before_sample(world):
    """Whether geoms passed through each other between the current state and the sample."""
    sample = _world(world, "ints")[GEOM_SAMPLE]
    if sample == 0:
        return False
    current = _world(world, "current")
    position = _world(world, "geom_position")
    rotation = _world(world, "geom_rotation")
    save_poses(current, position, rotation)
    return passed(_world(world, "plant"), _state(current, "contacts"), position, rotation, sample)


@compiled
def _was_known(known, contacts, c):
    geom = _contacts(contacts, "geom")
    before = _contacts(known, "geom")
    for k in range(_contacts(known, "counts")[COUNT_CONTACTS]):
        if before[k, 0] == geom[c, 0] and before[k, 1] == geom[c, 1]:
            return True
    return False


@compiled
def step_without_missed_contacts(world, step, accuracy):
    """The step size to try instead, or ``step`` if the step has missed nothing that matters.

    The current state is the end of the step, evaluated.
    """
    sample = _world(world, "ints")[GEOM_SAMPLE]
    if sample == 0:
        return step
    current = _world(world, "current")
    position = _world(world, "geom_position")
    rotation = _world(world, "geom_rotation")
    save_poses(sample, position, rotation)
    known = _state(sample, "contacts")
    if passed(_world(world, "plant"), known, position, rotation, current):
        return 0.5 * step
    if _state(sample, "reals")[TIME] >= _state(current, "reals")[TIME]:
        # The method has seen the contacts of its step's end.
        return step
    contacts = _state(current, "contacts")
    distance = _contacts(contacts, "signed_distance")
    stiffness = _contacts(contacts, "stiffness")
    dissipation = _contacts(contacts, "dissipation")
    inverse_mass = _contacts(contacts, "inverse_mass")
    interval = _state(current, "reals")[0] - _state(sample, "reals")[0]
    best = step
    for c in range(_contacts(contacts, "counts")[COUNT_CONTACTS]):
        depth = -distance[c]
        if depth <= accuracy or _was_known(known, contacts, c):
            continue
        closing = closing_distance(contacts, c, position, rotation, current)
        time = interval
        if closing > depth:
            time = interval * depth / closing
        damping = 1.0 + dissipation[c] * max(closing, 0.0) / max(interval, 1e-300)
        stiff = inverse_mass[c] * stiffness[c] * damping * time * time / 6.0
        error = depth * min(1.0, stiff)
        if error <= accuracy:
            continue
        # The error grows with the time in contact, linearly or, of soft contacts, cubically.
        share = _MISSED * accuracy / error
        if stiff < 1.0:
            share = share ** (1.0 / 3.0)
        best = min(best, step - time * (1.0 - share))
    return max(best, _SHORTEST * step)
