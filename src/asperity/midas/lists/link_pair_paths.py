"""Paths of links of one tree against each other, and how far they may leave them.

The fingers of a hand that swings stay where they are on the hand, but boxes of their paths hold all
of their neighbours. So two links of a tree are looked at from one of them, the base, where the
other one is at (to the links of such trees the world is a link at rest)

    [1, r] = [1, y] G,    x = [1, r] Q_base,

of the point y, in its own rest coordinates, of the other one. Over a list of candidates G leads
from where it is to where it is going, G(s) = G₀ + s ΔG with 0 ≤ s ≤ 1. Whatever the two links do
meanwhile, with any s

    [1, y] Q = [1, y] G(s) Q_base + [1, y] E,    E = Q − G(s) Q_base,

and surfaces that are at least D apart in the base, at s, are at least σ D − |[1, y] E| apart where
the links are, if σ is the smallest singular value of the base's axes. Links are nearly rigid, so
that σ is nearly 1. A pair keeps its candidates as long as

    |[1, c] E| ≤ a,    ‖E₁…E₃‖ ≤ b,

with a point c of the other link, of which all points y then are within a + b |y − c| of where they
are expected. Nothing of that depends on where both of them go together.

E changes by ΔQ − G(s) ΔQ_base at the same s. So a pair whose E is known keeps its candidates, and
need not be looked at again, while its links have not gone far enough to use up what is left of a
and b, by the lengths of their ways.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.parts import PART, count_parts, do_parts
from asperity.midas.pose.link_kinematics import copy_poses, length_of_move
from asperity.midas.pose.link_pair_poses import (
    box_centre,
    choose_pivot,
    half_extent,
    longest_path,
    measure_gap,
    set_pose,
    squared_stretch,
)

__all__ = [
    "LINK_PAIR_KERNELS",
    "follow_links",
    "is_searched",
    "is_seen_from_base",
    "keeps_candidates",
    "measure_link_pairs",
    "set_spare",
    "way_of_pair",
]

# Least stretch σ of a base that pairs are listed for, over its bound in the state that they are
# listed in, and the square of the latter that a link must have.
_STRETCH = 0.85
_FIRM = 0.25
# Half the width about a path [m], at least, and its growth with the path over that of boxes.
_LEAST_WIDTH = 2.5e-4
_FIRMNESS = 0.3
# How much longer paths may be than those of boxes.
_LONGER = 8.0
# Of lengths.
_ROUNDING = 1e-9
# Pairs of links that make a part.
_PAIRS = 64

NOT_FROM_BASE, FAR, NEAR = range(3)


@compiled
def is_seen_from_base(pairs: Table, relative: Table, pair: int) -> bool:
    """Whether a pair of shapes is looked at from the link of one of them."""
    block = pairs.seen[pair]
    return block >= 0 and relative.state[block] != NOT_FROM_BASE


@compiled
def is_searched(relative: Table, block: int) -> bool:
    """Whether a pair of links that is looked at so may come near, on a path that is new."""
    return relative.state[block] == NEAR and relative.kept[block] == 0


@compiled
def keeps_candidates(pairs: Table, relative: Table, pair: int) -> bool:
    """Whether a pair of shapes is of links that keep their path."""
    return is_seen_from_base(pairs, relative, pair) and relative.kept[pairs.seen[pair]] == 1


@compiled
def follow_links(relative: Table, q: np.ndarray) -> None:
    """Add the ways from where links were seen last to where they are."""
    for link in range(relative.link_folds.size):
        straight, turned = length_of_move(relative.q_seen[link], q[link])
        relative.link_way[link, 0] += straight
        relative.link_way[link, 1] += turned
    copy_poses(q, relative.q_seen)


@compiled
def way_of_pair(relative: Table, block: int, way: np.ndarray) -> tuple[float, float]:
    """Bounds of how much E of a pair has changed on its links' ways, at c [m] and of the axes."""
    base = way[relative.link[block, 0]]
    link = way[relative.link[block, 1]]
    lever = relative.lever[block]
    return (
        link[0] + lever[0] * link[1] + base[0] + lever[1] * base[1],
        link[1] + lever[2] * base[1],
    )


@compiled
def set_spare(relative: Table, block: int, off: float, turned: float) -> None:
    """Note how far from its path a pair is where links were seen last: |[1, c] E| and ‖E₁…E₃‖."""
    gone, bent = way_of_pair(relative, block, relative.link_way)
    relative.spare[block, 0] = gone + relative.width[block, 0] - off
    relative.spare[block, 1] = bent + relative.width[block, 1] - turned


@compiled
def _measure_levers(
    start: np.ndarray, path: np.ndarray, pivot: np.ndarray, lever: np.ndarray
) -> None:
    """Fill how far a pivot is from its link's origin, and from the base's all along the path."""
    square = 0.0
    near = 0.0
    far = 0.0
    for k in range(3):
        square += pivot[k] ** 2
        here = start[0, k]
        move = path[0, k]
        for j in range(3):
            here += pivot[j] * start[1 + j, k]
            move += pivot[j] * path[1 + j, k]
        near += here * here
        far += (here + move) ** 2
    lever[0] = math.sqrt(square)
    lever[1] = math.sqrt(max(near, far))


@entry_point(PART)
def link_pair_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Choose paths for some pairs of links that have none."""
    boxes = engine.boxes
    relative = engine.relative
    work = engine.work.relative_work
    longest = boxes.longest_move
    end = min((part + 1) * _PAIRS, relative.state.size)
    for block in range(part * _PAIRS, end):
        if relative.state[block] == NOT_FROM_BASE or relative.kept[block] == 1:
            continue
        base = relative.link[block, 0]
        link = relative.link[block, 1]
        start = relative.start[block]
        path = relative.path[block]
        box = relative.link_box[base]
        own = relative.link_box[link]
        set_pose(boxes.path_begin[base], boxes.path_begin[link], work[:3], start)
        set_pose(boxes.path_end[base], boxes.path_end[link], work[:3], path)
        lever = relative.lever[block]
        lever[2] = math.sqrt(2.0 - min(squared_stretch(start), squared_stretch(path)))
        for i in range(4):
            for k in range(3):
                path[i, k] -= start[i, k]
        length = longest_path(path, own)
        share = _LONGER * longest / length if length > _LONGER * longest else 1.0
        for i in range(4):
            for k in range(3):
                path[i, k] *= share
        pivot = relative.pivot[block]
        choose_pivot(path, own, work, pivot)
        moved = 0.0
        turned = 0.0
        far = 0.0
        radius = 0.0
        for k in range(3):
            move = path[0, k]
            for j in range(3):
                move += pivot[j] * path[1 + j, k]
                turned += path[1 + j, k] ** 2
            moved += move * move
            far += (abs(pivot[k] - box_centre(own, k)) + half_extent(own, k)) ** 2
            radius += half_extent(own, k) ** 2
        far = math.sqrt(far)
        # Half of it for what moves, half for what turns.
        width = max(boxes.least_slack, _LEAST_WIDTH)
        firmness = _FIRMNESS * boxes.boxed_widening
        wide = 0.5 * width + firmness * math.sqrt(moved)
        turn = firmness * math.sqrt(turned)
        if radius > 0.0:
            turn += 0.5 * width / math.sqrt(radius)
        _measure_levers(start, path, pivot, lever)
        gap = measure_gap(start, path, box, own, work)
        # Of surfaces, and round-off.
        reach = engine.options.activation + relative.radius[block] + _ROUNDING * (far + length)
        reach += _ROUNDING * (abs(start[0, 0]) + abs(start[0, 1]) + abs(start[0, 2]))
        room = relative.link_stretch[base] * gap - reach
        state = NEAR
        if room >= wide + turn * far:
            state = FAR
            more = room / (wide + turn * far)
            wide *= more
            turn *= more
        relative.state[block] = state
        relative.width[block, 0] = wide
        relative.width[block, 1] = turn
        relative.reach[block] = reach
        set_spare(relative, block, 0.0, 0.0)
    return 0


@compiled
def _choose_relative(engine: Table) -> None:
    """Choose what pairs of links are looked at from one of them."""
    relative = engine.relative
    relative.any = 0
    for shape in range(engine.boxes.shape_boxed.size):
        engine.boxes.shape_boxed[shape] = 1
    state = relative.state
    for block in range(state.size):
        state[block] = NOT_FROM_BASE
    largest = 0.0
    for link in range(relative.link_folds.size):
        if relative.link_folds[link] == 1:
            largest = max(largest, engine.boxes.path_length[link])
            square = squared_stretch(engine.boxes.path_begin[link])
            if not (square >= _FIRM and squared_stretch(engine.boxes.path_end[link]) >= _FIRM):
                return
            relative.link_stretch[link] = _STRETCH * math.sqrt(square)
    # Short paths have small boxes, and lists of them last.
    if not largest > engine.options.activation:
        return
    for pair in range(engine.pairs.block.size):
        block = engine.pairs.seen[pair]
        if block >= 0 and relative.link[block, 0] >= 0:
            state[block] = NEAR
            relative.any = 1
    if relative.any == 1:
        _choose_boxed(engine)


@compiled
def _choose_boxed(engine: Table) -> None:
    """Mark the shapes of which other pairs are, and whose vertices must stay in boxes."""
    for shape in range(engine.boxes.shape_boxed.size):
        engine.boxes.shape_boxed[shape] = 0
    for pair in range(engine.pairs.block.size):
        if not is_seen_from_base(engine.pairs, engine.relative, pair):
            engine.boxes.shape_boxed[engine.pairs.shape[pair, 0]] = 1
            if engine.pairs.shape[pair, 1] >= 0:
                engine.boxes.shape_boxed[engine.pairs.shape[pair, 1]] = 1


@compiled
def measure_link_pairs(engine: Table, some_keep: bool) -> None:
    """Choose paths and widths of pairs of links, but of those that keep theirs, if some do."""
    relative = engine.relative
    if not some_keep:
        _choose_relative(engine)
        for block in range(relative.kept.size):
            relative.kept[block] = 0
        copy_poses(engine.boxes.path_begin, relative.q_seen)
        relative.link_way[:] = 0.0
    if relative.any == 0:
        return
    follow_links(relative, engine.boxes.path_begin)
    do_parts(engine, engine.entries.link_pair_part, count_parts(relative.state.size, _PAIRS))


LINK_PAIR_KERNELS = (link_pair_part,)
