"""What a step has delivered: its contacts and constraints, with impulses and velocities.

A copy of the contact and constraint sets that the last accepted step has used, as far as
publication reads them: geometry, friction, impulses and velocities. Attempts that are rejected or
fail do not touch it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from asperity.compiled import Layout, Table
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET

__all__ = [
    "DELIVERED",
    "NOTHING",
    "OUTDATED",
    "SOLVED",
    "TAKEN",
    "grow_delivered",
    "new_delivered",
    "read_delivered",
    "write_delivered",
]

# Where the results come from (`origin`).
NOTHING = 0  # not from the current state, nor from a step to it
SOLVED = 1  # from a step that would begin in the current state
OUTDATED = 2  # the same, with other controls or applied forces
TAKEN = 3  # from the last step, which has led to the current state

DELIVERED = Layout(
    "delivered",
    origin="i8",
    contacts=CONTACT_SET,
    rows=CONSTRAINT_SET,
    step="f8 = 1",  # the interval over which the impulses acted [s]
    acceleration="f8[nv]",  # change of generalized velocities in it, per time
    # where MuJoCo's rows are that publication writes into, by joint and sign, and by dof, or −1
    limit_rows="i8[joints, 2] = -1",
    friction_rows="i8[nv] = -1",
    loose_force="f8[nv]",  # generalized forces without such a row
)


def new_delivered(nv: int, joints: int, contacts: int, rows: int) -> Table:
    """Make an empty one, with room for so many contacts and scalar constraints."""
    return Table(
        DELIVERED,
        nv=nv,
        joints=joints,
        contacts=Table(CONTACT_SET, contacts=contacts, links=0, chain=0),
        rows=Table(CONSTRAINT_SET, rows=rows, entries=0),
    )


def grow_delivered(table: Table, contacts: int, rows: int) -> None:
    """Make room for so many contacts and scalar constraints, and keep those that there are."""
    table.contacts.extend(contacts=contacts)
    table.rows.extend(rows=rows)


def read_delivered(table: Table) -> dict[str, Any]:
    """Copies of its numbers and arrays, by name, and of those of the tables in it."""
    found: dict[str, Any] = {}
    for name, field in table.layout.fields.items():
        value = getattr(table, name)
        if field.layout is not None:
            found[name] = read_delivered(value)
        else:
            found[name] = value.copy() if field.ndim > 0 else value
    return found


def write_delivered(table: Table, values: Mapping[str, Any]) -> None:
    """Put back what `read_delivered` has returned, making room where there is too little."""
    contacts, rows = (len(values[name]["impulse"]) for name in ("contacts", "rows"))
    if contacts > len(table.contacts.impulse) or rows > len(table.rows.impulse):
        grow_delivered(table, contacts, rows)
    _write(table, values)


def _write(table: Table, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, dict):
            _write(getattr(table, name), value)
        elif isinstance(value, np.ndarray):
            getattr(table, name)[: len(value)] = value
        else:
            setattr(table, name, value)
