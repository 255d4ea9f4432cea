"""TALS for methods whose configuration changes while they iterate (TAMSI III-A, IV-B).

The slip of a contact before and after an update belongs to different configurations, and so to
different contact frames. Slips are therefore compared in world axes. Contacts are matched by their
geoms and their order among the contacts of these geoms. Those of one iterate alone do not count.
The paper finds, too, that the search is then less reliable than with fixed contacts.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.integrators.methods.tamsi.transition import transition_step

__all__ = ["keep_slips", "share_of_update"]

_RELATIVE = 1e-2
"""Part of the stiction tolerance that counts as rest."""


@compiled
def _slip(graph: Table, iterate: Table, contacts: Table, i: int) -> tuple[float, float, float]:
    """Tangential velocity of the problem's contact i in world axes."""
    c = graph.contact[i]
    frame = contacts.frame
    x = iterate.v1[i]
    y = iterate.v2[i]
    return (
        frame[c, 0] * x + frame[c, 3] * y,
        frame[c, 1] * x + frame[c, 4] * y,
        frame[c, 2] * x + frame[c, 5] * y,
    )


@compiled
def keep_slips(classical: Table, graph: Table, iterate: Table, contacts: Table) -> None:
    """Keep the contacts of the state that was evaluated last as those of the iterate."""
    count = contacts.count
    for i in range(count):
        c = graph.contact[i]
        classical.known_geom[c, 0] = contacts.geom[c, 0]
        classical.known_geom[c, 1] = contacts.geom[c, 1]
        x, y, z = _slip(graph, iterate, contacts, i)
        classical.known_slip[c, 0] = x
        classical.known_slip[c, 1] = y
        classical.known_slip[c, 2] = z
    classical.known_contacts = count


@compiled
def _partner(classical: Table, contacts: Table, c: int) -> int:
    """The kept contact that contact c was before the update, or −1."""
    geom = contacts.geom
    rank = 0
    for k in range(c):
        if geom[k, 0] == geom[c, 0] and geom[k, 1] == geom[c, 1]:
            rank += 1
    for k in range(classical.known_contacts):
        if classical.known_geom[k, 0] == geom[c, 0] and classical.known_geom[k, 1] == geom[c, 1]:
            if rank == 0:
                return k
            rank -= 1
    return -1


@compiled
def share_of_update(classical: Table, graph: Table, iterate: Table, contacts: Table) -> float:
    """Share of the update that led from the kept contacts to those of the last evaluation."""
    known = classical.known_slip
    alpha = 1.0
    for i in range(contacts.count):
        c = graph.contact[i]
        k = _partner(classical, contacts, c)
        if k < 0 or contacts.static_friction[c] == 0.0:
            continue
        x, y, z = _slip(graph, iterate, contacts, i)
        dx = x - known[k, 0]
        dy = y - known[k, 1]
        dz = z - known[k, 2]
        speed = np.sqrt(known[k, 0] ** 2 + known[k, 1] ** 2 + known[k, 2] ** 2)
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        along = length
        if speed > 0.0:
            along = (dx * known[k, 0] + dy * known[k, 1] + dz * known[k, 2]) / speed
        across = np.sqrt(max(length * length - along * along, 0.0))
        share = transition_step(
            speed, 0.0, along, across, contacts.stiction_tolerance[c], _RELATIVE
        )
        alpha = min(alpha, share)
    return alpha
