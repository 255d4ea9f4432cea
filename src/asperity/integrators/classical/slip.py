"""TALS for methods whose configuration changes while they iterate (TAMSI III-A, IV-B).

The tangential velocities of a contact before and after an update belong to different configurations
and so to different contact frames: they are compared in world axes. Contacts are matched by their
geoms and their order among the contacts of these geoms; those that are in one iterate only do not
count. That the search is less reliable then than with fixed contacts is the paper's finding.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.contact.contact_set import CONTACT_SET, COUNT_CONTACTS
from asperity.convex.problem import PROBLEM
from asperity.integrators.classical.layout import CLASSICAL, KNOWN_CONTACTS
from asperity.integrators.tamsi.transition import transition_step

__all__ = ["keep_slips", "share_of_update"]

_RELATIVE = 1e-2
"""Part of the stiction tolerance that counts as rest."""

_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_classical = CLASSICAL.get


@compiled
def _slip(problem, contacts, i):
    """Tangential velocity of the problem's contact i in world axes."""
    c = _problem(problem, "contact")[i]
    frame = _contacts(contacts, "frame")
    x = _problem(problem, "v1")[i]
    y = _problem(problem, "v2")[i]
    return (
        frame[c, 0] * x + frame[c, 3] * y,
        frame[c, 1] * x + frame[c, 4] * y,
        frame[c, 2] * x + frame[c, 5] * y,
    )


@compiled
def keep_slips(classical, problem, contacts):
    """Keep the contacts of the state that was evaluated last as those of the iterate."""
    geom = _contacts(contacts, "geom")
    order = _problem(problem, "contact")
    known_geom = _classical(classical, "known_geom")
    known = _classical(classical, "known_slip")
    count = _contacts(contacts, "counts")[COUNT_CONTACTS]
    for i in range(count):
        c = order[i]
        known_geom[c, 0] = geom[c, 0]
        known_geom[c, 1] = geom[c, 1]
        x, y, z = _slip(problem, contacts, i)
        known[c, 0] = x
        known[c, 1] = y
        known[c, 2] = z
    _classical(classical, "ints")[KNOWN_CONTACTS] = count


@compiled
def _partner(classical, contacts, c):
    """The kept contact that contact c was before the update, or −1."""
    geom = _contacts(contacts, "geom")
    rank = 0
    for k in range(c):
        if geom[k, 0] == geom[c, 0] and geom[k, 1] == geom[c, 1]:
            rank += 1
    known = _classical(classical, "known_geom")
    for k in range(_classical(classical, "ints")[KNOWN_CONTACTS]):
        if known[k, 0] == geom[c, 0] and known[k, 1] == geom[c, 1]:
            if rank == 0:
                return k
            rank -= 1
    return -1


@compiled
def share_of_update(classical, problem, contacts):
    """Share of the update that led from the kept contacts to those of the last evaluation."""
    order = _problem(problem, "contact")
    tolerance = _contacts(contacts, "stiction_tolerance")
    friction = _contacts(contacts, "static_friction")
    known = _classical(classical, "known_slip")
    alpha = 1.0
    for i in range(_contacts(contacts, "counts")[COUNT_CONTACTS]):
        c = order[i]
        k = _partner(classical, contacts, c)
        if k < 0 or friction[c] == 0.0:
            continue
        x, y, z = _slip(problem, contacts, i)
        dx = x - known[k, 0]
        dy = y - known[k, 1]
        dz = z - known[k, 2]
        speed = np.sqrt(known[k, 0] ** 2 + known[k, 1] ** 2 + known[k, 2] ** 2)
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        along = length
        if speed > 0.0:
            along = (dx * known[k, 0] + dy * known[k, 1] + dz * known[k, 2]) / speed
        across = np.sqrt(max(length * length - along * along, 0.0))
        share = transition_step(speed, 0.0, along, across, tolerance[c], _RELATIVE)
        alpha = min(alpha, share)
    return alpha
