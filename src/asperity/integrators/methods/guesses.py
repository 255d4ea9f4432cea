"""Warm starts: first guesses of the velocities at the end of a step and of its halves.

A better guess saves iterations. The solution does not depend on it.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.integrators.world_layout import END_VELOCITY, TOWARDS

__all__ = [
    "find_stiff_trees",
    "guess_end",
    "guess_first_half",
    "guess_middle",
    "guess_second_half",
    "guess_whole",
]

# (ω δt)² from which a step is long against the time of a tree's contacts.
_LONG = 10.0


@compiled
def guess_whole(world: Table, source: Table, step: float) -> None:
    """Let the next solve begin with what a refused longer attempt has found for this time."""
    world.guess_kind = 0
    if not world.tried > step:
        return
    share = 2.0 * step / world.tried
    for i in range(world.guess.size):
        half = world.tried_half[i]
        if share < 1.0:
            world.guess[i] = source.qvel[i] + share * (half - source.qvel[i])
        else:
            world.guess[i] = half + (share - 1.0) * (world.tried_end[i] - half)
    world.guess_kind = END_VELOCITY


@compiled
def guess_middle(world: Table, source: Table, full: Table) -> None:
    """Let the next solve begin with the mean of a step's beginning and end (CENIC VI-A)."""
    for i in range(world.guess.size):
        world.guess[i] = 0.5 * (source.qvel[i] + full.qvel[i])
    world.guess_kind = END_VELOCITY


@compiled
def guess_end(world: Table, velocity: np.ndarray) -> None:
    """Let the next solve begin with generalized velocities at the step's end."""
    copy_numbers(velocity, world.guess)
    world.guess_kind = END_VELOCITY


@compiled
def find_stiff_trees(state: Table, step: float, stiff: np.ndarray) -> bool:
    """Find the trees that contacts hold of whose time constants a step is many; True if any.

    Needs impulses in the state's contact set.

    Parameters
    ----------
    state : Table
    step : float
        [s]
    stiff : array, shape (ntree,)
        (ω δt)² of all contacts of a tree together that push in the last solution: above 10 if the
        step is long. Negative of what may break loose from static friction: whether it does is not
        to depend on what a guess goes beyond.
    """
    found = False
    stiff[:] = 0.0
    contacts = state.contacts
    for c in range(contacts.count):
        if contacts.impulse[c, 2] > 0.0:
            square = step * step * contacts.stiffness[c] * contacts.inverse_mass[c]
            if contacts.static_friction[c] != contacts.dynamic_friction[c]:
                square = -np.inf
            for side in range(2):
                link = contacts.link[c, side]
                if link >= 0:
                    tree = contacts.link_tree[link]
                    stiff[tree] += square
                    found = found or stiff[tree] > _LONG
    return found


@compiled
def guess_first_half(
    world: Table, source: Table, full: Table, step: float, stiff: np.ndarray
) -> None:
    """Let a first half step begin with the mean of a step's beginning and end, or with more of it.

    What stiff contacts hold may have come to its end by then: it goes towards it as far as the cost
    falls. ``stiff`` is filled as by `find_stiff_trees`.
    """
    guess_middle(world, source, full)
    world.guess_interval = step
    if not find_stiff_trees(source, 0.5 * step, stiff):
        return
    dof_tree = world.plant.dofs.tree
    for i in range(world.guess.size):
        rest = full.qvel[i] - world.guess[i]
        world.guess_direction[i] = rest if stiff[dof_tree[i]] > _LONG else 0.0
    world.guess_kind = TOWARDS


@compiled
def guess_second_half(
    world: Table, source: Table, half: Table, full: Table, stiff: np.ndarray
) -> None:
    """Let a second half step begin with the whole step's end v, corrected.

    With v_1 in the middle, v + v_1 − (v_0 + v)/2 is what implicit forces lead to up to the second
    order: of v' = −λ v, with z = λ δt, v_1 = v_0/(1 + z/2), v = v_0/(1 + z), and two halves end
    with v_0/(1 + z/2)² = v_0 (1 − z + 3 z²/4 − …). ``stiff`` is that of the first half.
    """
    dof_tree = world.plant.dofs.tree
    for i in range(world.guess.size):
        world.guess[i] = full.qvel[i]
        if stiff[dof_tree[i]] >= 0.0:
            world.guess[i] += half.qvel[i] - 0.5 * (source.qvel[i] + full.qvel[i])
    world.guess_kind = END_VELOCITY
