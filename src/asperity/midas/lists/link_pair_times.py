"""How long links of one tree keep to their paths, as they are seen from each other.

Symbols are those of `asperity.midas.lists.link_pair_paths`.

On the straight way to a trial state E is of second order in the way's part τ, with s linear in it.
It is off its chord by τ (1 − τ) K, K = Δs ΔG ΔQ_base.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.lists.link_pair_paths import (
    NOT_FROM_BASE,
    follow_links,
    set_spare,
    way_of_pair,
)
from asperity.midas.parts import PART, count_parts, do_parts, least
from asperity.midas.pose.link_kinematics import length_of_move
from asperity.midas.pose.link_pair_poses import half_extent, squared_stretch

__all__ = ["LINK_PAIR_TIME_KERNELS", "keep_link_pairs", "time_of_link_pairs"]

# Pairs of links that make a part.
_PAIRS = 64
_LARGEST = 1.7976931348623157e308


@compiled
def _deviate(
    start: np.ndarray,
    path: np.ndarray,
    pivot: np.ndarray,
    base: np.ndarray,
    link: np.ndarray,
    scale: float,
    off: np.ndarray,
    along: np.ndarray,
) -> float:
    """Fill how far a link is from its path's beginning, and its path, where the base is.

    Rows are of the pivot and of the axes, shapes (4, 3). Returns the nearest s, 0 ≤ s ≤ 1; axes
    count with the square ``scale``.
    """
    for row in range(4):
        for k in range(3):
            value = link[row, k] - base[0, k] if row == 0 else link[row, k]
            move = 0.0
            for j in range(3):
                value -= start[row, j] * base[1 + j, k]
                move += path[row, j] * base[1 + j, k]
            off[row, k] = value
            along[row, k] = move
    product = 0.0
    square = 0.0
    for k in range(3):
        for j in range(3):
            off[0, k] += pivot[j] * off[1 + j, k]
            along[0, k] += pivot[j] * along[1 + j, k]
            product += scale * off[1 + j, k] * along[1 + j, k]
            square += scale * along[1 + j, k] ** 2
        product += off[0, k] * along[0, k]
        square += along[0, k] ** 2
    return min(max(product / square, 0.0), 1.0) if square > 0.0 else 0.0


@compiled
def _time_of_rows(
    before: np.ndarray, after: np.ndarray, bend: np.ndarray, first: int, end: int, width: float
) -> tuple[float, float]:
    """Time τ ≤ 1 up to which some rows stay within a width on a way that bends.

    And how large they are where it begins.
    """
    here = 0.0
    there = 0.0
    way = 0.0
    off = 0.0
    for row in range(first, end):
        for k in range(3):
            here += before[row, k] ** 2
            there += after[row, k] ** 2
            way += (after[row, k] - before[row, k]) ** 2
            off += bend[row, k] ** 2
    here = math.sqrt(here)
    if max(here, math.sqrt(there)) + 0.25 * math.sqrt(off) <= width:
        return 1.0, here
    # Also of what is not a number.
    if not here < width:
        return 0.0, here
    speed = math.sqrt(way) + math.sqrt(off)
    return (min(1.0, (width - here) / speed) if speed <= _LARGEST else 0.0), here


@compiled
def _time_of_pair(engine: Table, block: int) -> float:
    """Time τ ≤ 1 up to which a pair of links keeps to its path on the way to the trial state.

    What the pair may do from now on without being looked at is noted.
    """
    relative = engine.relative
    base = relative.link[block, 0]
    link = relative.link[block, 1]
    start = relative.start[block]
    path = relative.path[block]
    pivot = relative.pivot[block]
    own = relative.link_box[link]
    scale = 0.0
    for k in range(3):
        scale += half_extent(own, k) ** 2
    work = engine.work.relative_work
    off = work[:4]
    along = work[4:8]
    after = work[8:12]
    along_after = work[12:16]
    now = _deviate(
        start, path, pivot, engine.poses.q_now[base], engine.poses.q_now[link], scale, off, along
    )
    then = _deviate(
        start,
        path,
        pivot,
        engine.poses.q_trial[base],
        engine.poses.q_trial[link],
        scale,
        after,
        along_after,
    )
    for row in range(4):
        for k in range(3):
            bend = (then - now) * (along_after[row, k] - along[row, k])
            off[row, k] -= now * along[row, k]
            after[row, k] -= then * along_after[row, k]
            along[row, k] = bend
    width = relative.width[block]
    time, here = _time_of_rows(off, after, along, 0, 1, width[0])
    time_of_turn, turned = _time_of_rows(off, after, along, 1, 4, width[1])
    set_spare(relative, block, here, turned)
    return min(time, time_of_turn)


@compiled
def _time_of_some(engine: Table, part: int, keep: bool) -> float:
    """Time τ ≤ 1 up to which some pairs keep to their paths; ``keep`` marks those with τ = 1."""
    relative = engine.relative
    time = 1.0
    end = min((part + 1) * _PAIRS, relative.state.size)
    for block in range(part * _PAIRS, end):
        if relative.state[block] == NOT_FROM_BASE:
            continue
        own = 1.0
        gone, bent = way_of_pair(relative, block, relative.link_ahead)
        if not (gone <= relative.spare[block, 0] and bent <= relative.spare[block, 1]):
            own = _time_of_pair(engine, block)
            time = min(time, own)
        if keep:
            relative.kept[block] = 1 if own == 1.0 else 0
    return time


@entry_point(PART)
def link_pair_time_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Find how long some pairs of links keep to their paths."""
    engine.parts.value[part] = _time_of_some(engine, part, False)
    return 0


@compiled
def _time_of_links(engine: Table) -> float:
    """Time τ ≤ 1 up to which no base is stretched too much; links' ways are measured."""
    poses = engine.poses
    relative = engine.relative
    follow_links(relative, poses.q_now)
    time = 1.0
    for link in range(relative.link_folds.size):
        if relative.link_folds[link] == 0:
            continue
        straight, turned = length_of_move(poses.q_now[link], poses.q_trial[link])
        relative.link_ahead[link, 0] = relative.link_way[link, 0] + straight
        relative.link_ahead[link, 1] = relative.link_way[link, 1] + turned
        now = squared_stretch(poses.q_now[link])
        then = squared_stretch(poses.q_trial[link])
        turned *= turned
        # |u A(τ)|² = (1 − τ) |u A|² + τ |u A′|² − τ (1 − τ) |u ΔA|²
        least_square = relative.link_stretch[link] ** 2
        if min(now, then) - 0.25 * turned >= least_square:
            continue
        fall = now - max(then, 0.0) + turned
        if not now > least_square or not fall <= _LARGEST:
            return 0.0
        if fall > 0.0:
            time = min(time, (now - least_square) / fall)
    return time


@compiled
def time_of_link_pairs(engine: Table) -> float:
    """Largest time τ ≤ 1 for which pairs of links keep to their paths on the way to the trial."""
    time = _time_of_links(engine)
    parts = count_parts(engine.relative.state.size, _PAIRS)
    do_parts(engine, engine.entries.link_pair_time_part, parts)
    return least(engine, parts, time)


@compiled
def keep_link_pairs(engine: Table) -> bool:
    """Mark the pairs of links that keep their paths on the way to the trial state, if any may."""
    if engine.relative.any == 0 or _time_of_links(engine) < 1.0:
        return False
    for part in range(count_parts(engine.relative.state.size, _PAIRS)):
        _time_of_some(engine, part, True)
    return True


LINK_PAIR_TIME_KERNELS = (link_pair_time_part,)
