"""Groups of contact points that count as one contact when a step is judged.

The points of a patch of pressure fields are such a group. Every other contact is a group by itself.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled

__all__ = ["contact_group", "in_group", "was_known"]


@compiled
def in_group(contacts: Table, first: int, other: int) -> bool:
    """Whether a contact belongs to the group of another one."""
    if other == first:
        return True
    return contacts.patch[first] >= 0 and contacts.patch[other] == contacts.patch[first]


@compiled
def contact_group(contacts: Table, first: int) -> tuple[int, int, float, float, float, float]:
    """What a group of contacts does as one.

    Parameters
    ----------
    contacts : Table
        In the order of detection, in which a group's contacts follow each other.
    first : int
        The group's first contact.

    Returns
    -------
    end : int
        Where the next group begins.
    strongest : int
        The contact with the largest elastic force, which stands for the group.
    depth : float
        Overlap [m] at which the group's stiffness has its elastic force.
    deepest : float
        Largest overlap in the group [m].
    stiffness : float
        Sum over the group [N/m].
    impulse : float
        Normal impulse of the last solution, summed [N s].
    """
    strongest = first
    depth = -contacts.signed_distance[first]
    deepest = depth
    stiffness = contacts.stiffness[first]
    impulse = contacts.impulse[first, 2]
    c = first + 1
    if contacts.patch[first] < 0:
        return c, strongest, depth, deepest, stiffness, impulse
    largest = stiffness * depth
    force = max(largest, 0.0)
    while c < contacts.count and in_group(contacts, first, c):
        other = -contacts.stiffness[c] * contacts.signed_distance[c]
        deepest = max(deepest, -contacts.signed_distance[c])
        stiffness += contacts.stiffness[c]
        impulse += contacts.impulse[c, 2]
        force += max(other, 0.0)
        if other > largest:
            largest = other
            strongest = c
        c += 1
    return c, strongest, force / max(stiffness, 1e-300), deepest, stiffness, impulse


@compiled
def was_known(known: Table, contacts: Table, c: int) -> bool:
    """Whether a contact's geoms were in contact in another contact set."""
    for k in range(known.count):
        if known.geom[k, 0] == contacts.geom[c, 0] and known.geom[k, 1] == contacts.geom[c, 1]:
            return True
    return False
