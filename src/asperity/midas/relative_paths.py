"""Paths of links of one tree against each other, and how far they may leave them.

The fingers of a hand that swings stay where they are on the hand, but boxes of their paths hold all
of their neighbours. So two links of a tree are looked at from one of them, the base, where the
other one is at

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

On the straight way to a trial state E is of second order in the way's part τ, with s linear in it.
It is off its chord by τ (1 − τ) K, K = Δs ΔG ΔQ_base.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.parts import PART, count_parts, do_parts, least
from asperity.midas.poses import cofactors

__all__ = [
    "RELATIVE_KERNELS",
    "is_relative",
    "keep_relative",
    "may_meet",
    "measure_relative",
    "part_for_now",
    "time_in_relative",
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
# Of a point that moves little, over one that is near: weight of the latter.
_NEAR = 1e-2
# Pairs of links that make a part.
_PAIRS = 64
_LARGEST = 1.7976931348623157e308

NOT_RELATIVE, FAR, NEAR = range(3)


@compiled
def is_relative(engine: Table, pair: int) -> bool:
    """Whether a pair of shapes is looked at from the link of one of them."""
    block = engine.pair_block[pair]
    return block >= 0 and engine.relative_state[block] != NOT_RELATIVE


@compiled
def may_meet(engine: Table, block: int) -> bool:
    """Whether a pair of links that is looked at so may come near on its path."""
    return engine.relative_state[block] == NEAR


@compiled
def part_for_now(engine: Table, block: int) -> None:
    """Note that nothing of a pair of links comes near on its path."""
    engine.relative_state[block] = FAR


@compiled
def _squared_stretch(q: np.ndarray) -> float:
    """Lower bound of the square of the smallest singular value of a link's axes."""
    strain = 0.0
    for i in range(1, 4):
        for j in range(1, 4):
            product = -1.0 if i == j else 0.0
            for k in range(3):
                product += q[i, k] * q[j, k]
            strain += product * product
    return 1.0 - math.sqrt(strain)


@compiled
def _set_pose(base: np.ndarray, other: np.ndarray, inverse: np.ndarray, out: np.ndarray) -> None:
    """Fill where a link is on another one, shape (4, 3)."""
    determinant = cofactors(base[1:], inverse)
    for row in range(4):
        for k in range(3):
            value = 0.0
            for m in range(3):
                x = other[row, m] - base[0, m] if row == 0 else other[row, m]
                value += x * inverse[k, m]
            out[row, k] = value / determinant


@compiled
def _centre(box: np.ndarray, k: int) -> float:
    return 0.5 * (box[0, k] + box[1, k])


@compiled
def _half(box: np.ndarray, k: int) -> float:
    return 0.5 * (box[1, k] - box[0, k])


@compiled
def _choose_pivot(path: np.ndarray, box: np.ndarray, work: np.ndarray, pivot: np.ndarray) -> None:
    """Fill a point of a link, or near it, that moves little on its path."""
    move = work[0]
    right = work[1]
    matrix = work[3:6]
    inverse = work[6:9]
    trace = 0.0
    radius = 0.0
    for k in range(3):
        pivot[k] = _centre(box, k)
        radius += _half(box, k) ** 2
        move[k] = path[0, k]
        for j in range(3):
            move[k] += _centre(box, j) * path[1 + j, k]
    for i in range(3):
        right[i] = 0.0
        for k in range(3):
            right[i] -= path[1 + i, k] * move[k]
            matrix[i, k] = 0.0
            for j in range(3):
                matrix[i, k] += path[1 + i, j] * path[1 + k, j]
        trace += matrix[i, i]
    if not 0.0 < trace <= _LARGEST:
        return
    for k in range(3):
        matrix[k, k] += _NEAR * trace
    determinant = cofactors(matrix, inverse)
    square = 0.0
    for i in range(3):
        move[i] = 0.0
        for k in range(3):
            move[i] += inverse[i, k] * right[k] / determinant
        square += move[i] ** 2
    share = min(1.0, math.sqrt(radius / square)) if square > 0.0 else 0.0
    for k in range(3):
        pivot[k] += share * move[k]


@compiled
def _longest(path: np.ndarray, box: np.ndarray) -> float:
    """Bound of the length of the paths of a link's points."""
    largest = 0.0
    for corner in range(8):
        square = 0.0
        for k in range(3):
            move = path[0, k]
            for j in range(3):
                move += box[(corner >> j) & 1, j] * path[1 + j, k]
            square += move * move
        largest = max(largest, square)
    return math.sqrt(largest)


@compiled
def _measure_gaps(
    start: np.ndarray, path: np.ndarray, box: np.ndarray, own: np.ndarray, work: np.ndarray
) -> tuple[float, float]:
    """Bounds of the distance of a base from another link, all along its path and where it begins.

    ``box`` and ``own`` are theirs in rest coordinates. Seen along the axes of either.
    """
    centre = work[0]
    move = work[1]
    axis = work[2]
    square = 0.0
    square_now = 0.0
    for k in range(3):
        centre[k] = start[0, k] - _centre(box, k)
        move[k] = path[0, k]
        size = _half(box, k)
        spread = 0.0
        for j in range(3):
            c = _centre(own, j)
            e = _half(own, j)
            centre[k] += c * start[1 + j, k]
            move[k] += c * path[1 + j, k]
            size += e * abs(start[1 + j, k])
            spread += e * abs(path[1 + j, k])
        now = abs(centre[k]) - size
        along = move[k] if centre[k] > 0.0 else -move[k]
        square_now += max(now, 0.0) ** 2
        square += max(min(now, now + along - spread), 0.0) ** 2
    gap = math.sqrt(square)
    gap_now = math.sqrt(square_now)
    for i in range(3):
        length = 0.0
        for k in range(3):
            length += start[1 + i, k] ** 2
        length = math.sqrt(length)
        between = 0.0
        along = 0.0
        size = 0.0
        spread = 0.0
        for k in range(3):
            axis[k] = start[1 + i, k] / length
            between += axis[k] * centre[k]
            along += axis[k] * move[k]
            size += _half(box, k) * abs(axis[k])
        for j in range(3):
            turned = 0.0
            turning = 0.0
            for k in range(3):
                turned += axis[k] * start[1 + j, k]
                turning += axis[k] * path[1 + j, k]
            size += _half(own, j) * abs(turned)
            spread += _half(own, j) * abs(turning)
        now = abs(between) - size
        if between < 0.0:
            along = -along
        gap_now = max(gap_now, now)
        gap = max(gap, min(now, now + along - spread))
    return gap, gap_now


@entry_point(PART)
def relative_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Choose paths for some pairs of links that have none."""
    work = engine.relative_work
    longest = engine.longest_move
    end = min((part + 1) * _PAIRS, engine.relative_state.size)
    for block in range(part * _PAIRS, end):
        if engine.relative_state[block] == NOT_RELATIVE or engine.relative_kept[block] == 1:
            continue
        base = engine.relative_link[block, 0]
        link = engine.relative_link[block, 1]
        start = engine.relative_start[block]
        path = engine.relative_path[block]
        box = engine.link_box[base]
        own = engine.link_box[link]
        _set_pose(engine.path_begin[base], engine.path_begin[link], work[:3], start)
        _set_pose(engine.path_end[base], engine.path_end[link], work[:3], path)
        for i in range(4):
            for k in range(3):
                path[i, k] -= start[i, k]
        length = _longest(path, own)
        share = _LONGER * longest / length if length > _LONGER * longest else 1.0
        for i in range(4):
            for k in range(3):
                path[i, k] *= share
        pivot = engine.relative_pivot[block]
        _choose_pivot(path, own, work, pivot)
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
            far += (abs(pivot[k] - _centre(own, k)) + _half(own, k)) ** 2
            radius += _half(own, k) ** 2
        far = math.sqrt(far)
        # Half of it for what moves, half for what turns.
        width = max(engine.least_slack, _LEAST_WIDTH)
        firmness = _FIRMNESS * engine.boxed_widening
        wide = 0.5 * width + firmness * math.sqrt(moved)
        turn = firmness * math.sqrt(turned)
        if radius > 0.0:
            turn += 0.5 * width / math.sqrt(radius)
        gap, gap_now = _measure_gaps(start, path, box, own, work)
        # Of surfaces, and round-off.
        reach = engine.activation + engine.relative_radius[block] + _ROUNDING * (far + length)
        reach += _ROUNDING * (abs(start[0, 0]) + abs(start[0, 1]) + abs(start[0, 2]))
        room = engine.link_stretch[base] * gap - reach
        state = NEAR
        if room >= wide + turn * far:
            state = FAR
            more = room / (wide + turn * far)
            wide *= more
            turn *= more
        engine.relative_state[block] = state
        engine.relative_width[block, 0] = wide
        engine.relative_width[block, 1] = turn
        engine.relative_reach[block] = reach
        engine.relative_room[block] = (
            engine.link_stretch[base] * gap_now
            - reach
            - engine.link_drift[base]
            - engine.link_drift[link]
        )
    return 0


@compiled
def _drift(engine: Table, link: int, q: np.ndarray) -> float:
    """Bound of how far a link's points are from where they were when all was listed."""
    straight = 0.0
    turned = 0.0
    for k in range(3):
        straight += (q[link, 0, k] - engine.q_listed[link, 0, k]) ** 2
        for i in range(1, 4):
            turned += (q[link, i, k] - engine.q_listed[link, i, k]) ** 2
    return math.sqrt(straight) + engine.radius[link] * math.sqrt(turned)


@compiled
def _choose_relative(engine: Table) -> None:
    """Choose what pairs of links are looked at from one of them."""
    engine.relative = 0
    for shape in range(engine.shape_boxed.size):
        engine.shape_boxed[shape] = 1
    state = engine.relative_state
    for block in range(state.size):
        state[block] = NOT_RELATIVE
    largest = 0.0
    for link in range(engine.link_root.size):
        if engine.tree_folds[engine.link_root[link]] == 1:
            largest = max(largest, engine.path_length[link])
            square = _squared_stretch(engine.path_begin[link])
            if not (square >= _FIRM and _squared_stretch(engine.path_end[link]) >= _FIRM):
                return
            engine.link_stretch[link] = _STRETCH * math.sqrt(square)
    # Short paths have small boxes, and lists of them last.
    if not largest > engine.activation:
        return
    for back in range(engine.pair_block.size):
        pair = engine.pair_block.size - 1 - back
        block = engine.pair_block[pair]
        if block >= 0 and engine.relative_link[block, 0] >= 0:
            engine.relative_next[pair] = (
                engine.relative_first[block] if state[block] == NEAR else -1
            )
            engine.relative_first[block] = pair
            state[block] = NEAR
            engine.relative = 1
    if engine.relative == 1:
        _choose_boxed(engine)


@compiled
def _choose_boxed(engine: Table) -> None:
    """Mark the shapes of which other pairs are, and whose vertices must stay in boxes."""
    for shape in range(engine.shape_boxed.size):
        engine.shape_boxed[shape] = 0
    for pair in range(engine.pair_block.size):
        if not is_relative(engine, pair):
            engine.shape_boxed[engine.pair_shape[pair, 0]] = 1
            if engine.pair_shape[pair, 1] >= 0:
                engine.shape_boxed[engine.pair_shape[pair, 1]] = 1


@compiled
def measure_relative(engine: Table) -> None:
    """Choose paths and widths of pairs of links, but of those that keep theirs."""
    if engine.keeps_relative == 0:
        _choose_relative(engine)
        for block in range(engine.relative_kept.size):
            engine.relative_kept[block] = 0
        for link in range(engine.link_root.size):
            for i in range(4):
                for k in range(3):
                    engine.q_listed[link, i, k] = engine.path_begin[link, i, k]
    if engine.relative == 0:
        return
    for link in range(engine.link_root.size):
        engine.link_drift[link] = _drift(engine, link, engine.path_begin)
    do_parts(engine, engine.relative_part, count_parts(engine.relative_state.size, _PAIRS))


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
) -> float:
    """Time τ ≤ 1 up to which some rows stay within a width on a way that bends."""
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
        return 1.0
    # Also of what is not a number.
    if not here < width:
        return 0.0
    speed = math.sqrt(way) + math.sqrt(off)
    return min(1.0, (width - here) / speed) if speed <= _LARGEST else 0.0


@compiled
def _time_of_pair(engine: Table, block: int) -> float:
    """Time τ ≤ 1 up to which a pair of links keeps to its path on the way to the trial state."""
    base = engine.relative_link[block, 0]
    link = engine.relative_link[block, 1]
    start = engine.relative_start[block]
    path = engine.relative_path[block]
    pivot = engine.relative_pivot[block]
    own = engine.link_box[link]
    scale = 0.0
    for k in range(3):
        scale += _half(own, k) ** 2
    work = engine.relative_work
    off = work[:4]
    along = work[4:8]
    after = work[8:12]
    along_after = work[12:16]
    now = _deviate(start, path, pivot, engine.q_now[base], engine.q_now[link], scale, off, along)
    then = _deviate(
        start, path, pivot, engine.q_trial[base], engine.q_trial[link], scale, after, along_after
    )
    for row in range(4):
        for k in range(3):
            bend = (then - now) * (along_after[row, k] - along[row, k])
            off[row, k] -= now * along[row, k]
            after[row, k] -= then * along_after[row, k]
            along[row, k] = bend
    width = engine.relative_width[block]
    return min(
        _time_of_rows(off, after, along, 0, 1, width[0]),
        _time_of_rows(off, after, along, 1, 4, width[1]),
    )


@compiled
def _time_of_some(engine: Table, part: int, keep: bool) -> float:
    """That of some pairs; with ``keep`` those that stay for good are marked."""
    time = 1.0
    end = min((part + 1) * _PAIRS, engine.relative_state.size)
    for block in range(part * _PAIRS, end):
        if engine.relative_state[block] == NOT_RELATIVE:
            continue
        base = engine.relative_link[block, 0]
        link = engine.relative_link[block, 1]
        own = 1.0
        if not engine.link_drift[base] + engine.link_drift[link] <= engine.relative_room[block]:
            own = _time_of_pair(engine, block)
            time = min(time, own)
        if keep:
            engine.relative_kept[block] = 1 if own == 1.0 else 0
    return time


@entry_point(PART)
def relative_time_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Find how long some pairs of links keep to their paths."""
    engine.part_value[part] = _time_of_some(engine, part, False)
    return 0


@compiled
def _time_of_links(engine: Table) -> float:
    """Time τ ≤ 1 up to which no base is stretched too much; links' drifts are measured."""
    time = 1.0
    for link in range(engine.link_root.size):
        if engine.tree_folds[engine.link_root[link]] == 0:
            continue
        # On a straight way drift is largest at an end.
        engine.link_drift[link] = max(
            _drift(engine, link, engine.q_now), _drift(engine, link, engine.q_trial)
        )
        now = _squared_stretch(engine.q_now[link])
        then = _squared_stretch(engine.q_trial[link])
        turned = 0.0
        for i in range(1, 4):
            for k in range(3):
                turned += (engine.q_trial[link, i, k] - engine.q_now[link, i, k]) ** 2
        # |u A(τ)|² = (1 − τ) |u A|² + τ |u A′|² − τ (1 − τ) |u ΔA|²
        least_square = engine.link_stretch[link] ** 2
        if min(now, then) - 0.25 * turned >= least_square:
            continue
        fall = now - max(then, 0.0) + turned
        if not now > least_square or not fall <= _LARGEST:
            return 0.0
        if fall > 0.0:
            time = min(time, (now - least_square) / fall)
    return time


@compiled
def time_in_relative(engine: Table) -> float:
    """Largest time τ ≤ 1 for which pairs of links keep to their paths on the way to the trial."""
    time = _time_of_links(engine)
    parts = count_parts(engine.relative_state.size, _PAIRS)
    do_parts(engine, engine.relative_time_part, parts)
    return least(engine, parts, time)


@compiled
def keep_relative(engine: Table) -> bool:
    """Mark the pairs of links that keep their paths on the way to the trial state, if any may."""
    if engine.relative == 0 or _time_of_links(engine) < 1.0:
        return False
    for part in range(count_parts(engine.relative_state.size, _PAIRS)):
        _time_of_some(engine, part, True)
    return True


RELATIVE_KERNELS = (relative_part, relative_time_part)
