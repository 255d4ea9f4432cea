"""Links that start asleep (``sleep="init"``) and stay where they are until something touches them.

Which trees sleep is known to the world (`asperity.plant.resting_layout`). No direction moves their
links, whatever acts on them. Where a solution has something awake within the activation distance of
what sleeps, the island of this wakes, and the step is solved again. So it yields to a blow from the
blow's first step on.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.plant.resting import wake_group
from asperity.plant.resting_layout import RESTING

__all__ = [
    "everything_sleeps",
    "gap_sleeps",
    "is_asleep",
    "keep_still",
    "let_sleep",
    "stay_asleep",
    "wake_touched_links",
]


@compiled
def is_asleep(engine: Table, link: int) -> bool:
    """Whether a link sleeps in the step at hand; the world does not."""
    return engine.time.sleeping > 0 and engine.links.island_asleep[link] >= 0


@compiled
def let_sleep(engine: Table, world: Table) -> None:
    """Let the links of trees at rest sleep in the coming step, and no others."""
    engine.time.sleeping = 0
    if world.resting == 0:
        return
    resting = RESTING.at(world.resting)
    for link in range(engine.links.first_dof.size):
        dof = engine.links.first_dof[link]
        island = -1
        if dof >= 0 and resting.at_rest[world.plant.dofs.tree[dof]] == 1:
            island = resting.group[world.plant.dofs.tree[dof]]
            engine.time.sleeping += 1
        engine.links.island_asleep[link] = island


@compiled
def everything_sleeps(engine: Table) -> bool:
    """Whether no link moves in the step at hand."""
    return engine.time.sleeping > 0 and engine.time.sleeping == engine.links.first_dof.size


@compiled
def wake_touched_links(engine: Table) -> bool:
    """Wake the islands that something awake touches at the iterate; whether there are any."""
    runs = engine.runs
    asleep = engine.links.island_asleep
    woken = False
    for run in range(runs.count if engine.time.sleeping > 0 else 0):
        if runs.least[run] >= runs.activation[run]:
            continue
        for side in range(2):
            island = asleep[runs.link[run, side]]
            other = runs.link[run, 1 - side]
            if island < 0 or other == engine.links.parent.size or asleep[other] >= 0:
                continue
            woken = True
            for link in range(engine.links.parent.size):
                if asleep[link] == island:
                    asleep[link] = -1
                    engine.time.sleeping -= 1
    return woken


@compiled
def keep_still(engine: Table, change: np.ndarray) -> None:
    """Set what a vector over the variables has of links that sleep to zero."""
    for link in range(engine.links.parent.size if engine.time.sleeping > 0 else 0):
        if engine.links.island_asleep[link] >= 0:
            for i in range(engine.links.variable[link], engine.links.variable[link + 1]):
                change[i] = 0.0


@compiled
def gap_sleeps(engine: Table, i: int) -> bool:
    """Whether a gap is one of links that sleep: an island has all that equalities join."""
    if engine.time.sleeping == 0:
        return False
    tie = i // 3
    if tie < engine.ties.block.size:
        return is_asleep(engine, engine.ties.link[tie, 0]) or is_asleep(
            engine, engine.ties.link[tie, 1]
        )
    coordinate = engine.couplings.joint[i - 3 * engine.ties.block.size, 0]
    if coordinate >= engine.joints.now.size - engine.joints.linear_value.size:
        return False
    member = engine.joints.member_joint[engine.joints.member_start[coordinate]]
    return is_asleep(engine, engine.joints.link[member])


@compiled
def stay_asleep(engine: Table, world: Table, source: Table, target: Table) -> None:
    """At the end of a step, wake trees whose links have woken, and undo round-off in others."""
    if world.resting == 0:
        return
    resting = RESTING.at(world.resting)
    trees = world.plant.trees
    for link in range(engine.links.first_dof.size):
        dof = engine.links.first_dof[link]
        tree = world.plant.dofs.tree[dof] if dof >= 0 else 0
        if dof < 0 or resting.at_rest[tree] == 0:
            continue
        if engine.links.island_asleep[link] < 0:
            wake_group(resting, tree)
            continue
        last = trees.start[tree] + trees.size[tree]
        copy_numbers(source.qvel[trees.start[tree] : last], target.qvel[trees.start[tree] : last])
        start = resting.qpos_start[tree]
        end = start + resting.qpos_size[tree]
        copy_numbers(source.qpos[start:end], target.qpos[start:end])
