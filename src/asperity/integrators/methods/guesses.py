"""Warm starts: first guesses of the velocities at the end of half steps (CENIC VI-A).

A better guess saves iterations. The solution does not depend on it.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.integrators.world_layout import END_VELOCITY

__all__ = ["guess_end", "guess_middle"]


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
