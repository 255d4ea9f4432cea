"""Marks of the robots that turn far in a step, and of what touches them.

They are numbers in ``state.work.turning``, 0 for trees that do not.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import EQUALITY

__all__ = ["FLOATS", "HANGS", "TOUCHED", "choose_marked", "mark_touched", "mark_trees"]

# Marks of trees that turn: those that hang on something, that float, and that something touches.
HANGS, FLOATS, TOUCHED = 1, 2, 3

# Angles [rad] by which a body of a robot must turn in a step, if it floats untouched (in a step of
# which nothing else tells the error, and in a doubled one), hangs on something, or is touched.
_FLOATING_ANGLE = 1e-4
_FLOATING_ANGLE_OF_DOUBLED = 0.025
_HANGING_ANGLE = 0.05
_TOUCHED_ANGLE = 0.1


@compiled
def mark_trees(plant: Table, state: Table, step: float) -> bool:
    """Mark the robots, with the angle by which a body of each turns; False if none does.

    The marks are ``state.work.turning``.
    """
    if plant.only_free_bodies:
        return False
    marked = state.work.turning
    angles = state.work.turned
    for tree in range(plant.ntree):
        marked[tree] = 0
        angles[tree] = 0.0
    farthest = 0.0
    for body in range(1, plant.nbody):
        tree = plant.bodies.tree[body]
        if tree >= 0 and plant.trees.balances[tree]:
            marked[tree] = FLOATS if plant.trees.floats[tree] else HANGS
            v = state.mj_cvel[body]
            angle = step * np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
            angles[tree] = max(angles[tree], angle)
            farthest = max(farthest, angle)
    return farthest >= _FLOATING_ANGLE


@compiled
def mark_touched(state: Table, marked: np.ndarray) -> None:
    """Mark those of the marked trees that a contact of a state pushes, or an equality holds.

    Needs the impulses of the step in the contact set.
    """
    contacts = state.contacts
    for c in range(contacts.count):
        if contacts.impulse[c, 2] != 0.0:
            for side in range(2):
                link = contacts.link[c, side]
                if link >= 0 and marked[contacts.link_tree[link]] != 0:
                    marked[contacts.link_tree[link]] = TOUCHED
    rows = state.rows
    for r in range(rows.count):
        if rows.kind[r] == EQUALITY:
            for side in range(2):
                tree = rows.tree[r, side]
                if tree >= 0 and marked[tree] != 0:
                    marked[tree] = TOUCHED


@compiled
def choose_marked(plant: Table, state: Table, doubled: bool) -> bool:
    """Leave out trees that turn less far than matters to what they are; False if none is left."""
    work = state.work
    found = False
    for tree in range(plant.ntree):
        least = _TOUCHED_ANGLE
        if work.turning[tree] == FLOATS:
            least = _FLOATING_ANGLE_OF_DOUBLED if doubled else _FLOATING_ANGLE
        elif work.turning[tree] == HANGS:
            least = _HANGING_ANGLE
        if work.turned[tree] < least:
            work.turning[tree] = 0
        found = found or work.turning[tree] != 0
    return found
