"""Comparisons of the broad phase: of trees, bodies, geoms (`near_pairs`)."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.plant.resting_layout import RESTING
from asperity.plant.rotations import between

__all__ = ["bound_trees", "compare_all"]

_FAR = 1e300
# Spread along another axis, over that along the one in use, from which it is worth a new order.
_MUCH_WIDER = 2.0
# What MuJoCo's types of geoms are.
_PLANE = 0
_SPHERE = 2
# How far apart boxes are surely not in contact: the tolerance of its convex collisions [m].
_BOX_SLACK = 1e-6


@inlined
def _bound_geom(plant: Table, state: Table, g: int, axis: int) -> tuple[float, float]:
    """Where a geom begins and ends along an axis, with its margin: of its box and of its ball."""
    possible = plant.possible_pairs
    box = plant.geoms.box
    x = state.mj_geom_xpos[g, axis]
    u = state.mj_geom_xmat[g, 3 * axis]
    v = state.mj_geom_xmat[g, 3 * axis + 1]
    w = state.mj_geom_xmat[g, 3 * axis + 2]
    middle = x + (u * box[g, 0] + v * box[g, 1] + w * box[g, 2])
    half = abs(u) * box[g, 3] + abs(v) * box[g, 4] + abs(w) * box[g, 5]
    half += possible.geom_margins[g]
    reach = possible.geom_reach[g]
    return max(x - reach, middle - half), min(x + reach, middle + half)


@compiled
def bound_trees(plant: Table, state: Table) -> None:
    """Fill the boxes of bodies and trees."""
    possible = plant.possible_pairs
    near = state.near_pairs
    for tree in range(near.order.size):
        if state.work.left_out[tree] == 1:
            continue
        for axis in range(3):
            near.tree_box[tree, axis] = _FAR
            near.tree_box[tree, 3 + axis] = -_FAR
        for k in range(possible.tree_first[tree], possible.tree_first[tree + 1]):
            for axis in range(3):
                low = _FAR
                high = -_FAR
                for e in range(possible.geom_first[k], possible.geom_first[k + 1]):
                    begin, end = _bound_geom(plant, state, possible.geom[e], axis)
                    low = min(low, begin)
                    high = max(high, end)
                near.body_box[k, axis] = low
                near.body_box[k, 3 + axis] = high
                near.tree_box[tree, axis] = min(near.tree_box[tree, axis], low)
                near.tree_box[tree, 3 + axis] = max(near.tree_box[tree, 3 + axis], high)


@inlined
def _apart(a: np.ndarray, i: int, b: np.ndarray, j: int) -> bool:
    """Whether two boxes have no point in common; what is not a number is not apart.

    Without a branch for every end: which of them are apart nobody could foretell.
    """
    x = max(a[i, 0] - b[j, 3], b[j, 0] - a[i, 3])
    y = max(a[i, 1] - b[j, 4], b[j, 1] - a[i, 4])
    z = max(a[i, 2] - b[j, 5], b[j, 2] - a[i, 5])
    return max(max(x, y), z) > 0.0


@compiled
def _margin(possible: Table, a: int, b: int) -> float:
    if possible.overridden == 1:
        return possible.option_margin
    return possible.geom_margin[a] + possible.geom_margin[b]


@compiled
def _faces_divide(plant: Table, state: Table, a: int, b: int, reach: float) -> bool:
    """Whether the box of geom ``b`` is beyond a face of that of ``a``, by more than a distance."""
    box = plant.geoms.box
    xmat = state.mj_geom_xmat
    x, y, z = between(state.mj_geom_xpos, b, state.mj_geom_xpos, a)
    for k in range(3):
        u = xmat[a, k]
        v = xmat[a, 3 + k]
        w = xmat[a, 6 + k]
        distance = u * x + v * y + w * z - box[a, k]
        half = box[a, 3 + k] + reach
        for j in range(3):
            along = u * xmat[b, j] + v * xmat[b, 3 + j] + w * xmat[b, 6 + j]
            distance += along * box[b, j]
            half += abs(along) * box[b, 3 + j]
        if abs(distance) > half:
            return True
    return False


@compiled
def _boxes_apart(plant: Table, state: Table, a: int, b: int) -> bool:
    """Whether the boxes of two geoms are apart, if contacts of such geoms take longer to find."""
    possible = plant.possible_pairs
    first = possible.geom_type[a]
    second = possible.geom_type[b]
    if min(first, second) < _SPHERE or max(first, second) <= _SPHERE:
        return False
    reach = _margin(possible, a, b) + possible.geom_gap[a] + possible.geom_gap[b] + _BOX_SLACK
    return _faces_divide(plant, state, a, b, reach) or _faces_divide(plant, state, b, a, reach)


@compiled
def _list(plant: Table, state: Table, a: int, b: int) -> None:
    """List two geoms that are near."""
    possible = plant.possible_pairs
    near = state.near_pairs
    at = near.count
    if at < 0 or at == near.key.size:
        near.count = -1
        return
    body_a = plant.geoms.body[a]
    body_b = plant.geoms.body[b]
    if body_a > body_b:
        a, b = b, a
        body_a, body_b = body_b, body_a
    first = a
    second = b
    # MuJoCo sorts what its mid-phase has found by geoms, of which that of lower type comes first.
    if (
        possible.by_type == 1
        and (possible.body_geoms[body_a] > 1 or possible.body_geoms[body_b] > 1)
        and possible.geom_type[a] > possible.geom_type[b]
    ):
        first = b
        second = a
    near.key[at] = (((body_a << 16) + body_b) << 32) + (first << 16) + second
    near.count = at + 1


@compiled
def _match(possible: Table, a: int, b: int) -> bool:
    """Whether two geoms collide by their types and affinities."""
    ahead = possible.geom_contype[a] & possible.geom_conaffinity[b]
    return (ahead | (possible.geom_contype[b] & possible.geom_conaffinity[a])) != 0


@compiled
def _is_excluded(possible: Table, i: int, j: int) -> bool:
    """Whether two bodies of different trees are not to collide."""
    a = possible.body[i]
    b = possible.body[j]
    signature = (min(a, b) << 16) + max(a, b)
    found = False
    for k in range(possible.excluded.size):
        found = found or possible.excluded[k] == signature
    return found


@compiled
def _compare_geoms(plant: Table, state: Table, i: int, j: int) -> None:
    """List those geoms of two bodies that are near."""
    possible = plant.possible_pairs
    xpos = state.mj_geom_xpos
    for e in range(possible.geom_first[i], possible.geom_first[i + 1]):
        a = possible.geom[e]
        for f in range(possible.geom_first[j], possible.geom_first[j + 1]):
            b = possible.geom[f]
            x, y, z = between(xpos, a, xpos, b)
            reach = possible.geom_reach[a] + possible.geom_reach[b]
            if x * x + y * y + z * z > reach * reach:
                continue
            if _match(possible, a, b) and not _boxes_apart(plant, state, a, b):
                _list(plant, state, a, b)


@inlined
def _apart_from_fixed(plant: Table, state: Table, g: int, box: np.ndarray, i: int) -> bool:
    """Whether a box is apart from a geom that does not move."""
    possible = plant.possible_pairs
    xpos = state.mj_geom_xpos
    x = xpos[g, 0]
    y = xpos[g, 1]
    z = xpos[g, 2]
    reach = possible.geom_reach[g]
    if possible.geom_type[g] == _PLANE:
        u = state.mj_geom_xmat[g, 2]
        v = state.mj_geom_xmat[g, 5]
        w = state.mj_geom_xmat[g, 8]
        # The corner that is farthest behind it.
        height = u * ((box[i, 0] if u > 0.0 else box[i, 3]) - x)
        height += v * ((box[i, 1] if v > 0.0 else box[i, 4]) - y)
        height += w * ((box[i, 2] if w > 0.0 else box[i, 5]) - z)
        return height > reach
    return (
        box[i, 0] > x + reach
        or box[i, 3] < x - reach
        or box[i, 1] > y + reach
        or box[i, 4] < y - reach
        or box[i, 2] > z + reach
        or box[i, 5] < z - reach
    )


@compiled
def _balls_apart(plant: Table, state: Table, g: int, other: int) -> bool:
    """Whether the ball around a geom is apart from one that does not move, or its ball."""
    possible = plant.possible_pairs
    xpos = state.mj_geom_xpos
    x, y, z = between(xpos, other, xpos, g)
    reach = possible.geom_reach[g] + possible.geom_reach[other]
    if possible.geom_type[g] == _PLANE:
        xmat = state.mj_geom_xmat
        return xmat[g, 2] * x + xmat[g, 5] * y + xmat[g, 8] * z > reach
    return x * x + y * y + z * z > reach * reach


@compiled
def _compare_fixed(plant: Table, state: Table, k: int, tree: int) -> None:
    """List the geoms of a tree that are near one that does not move."""
    possible = plant.possible_pairs
    near = state.near_pairs
    g = possible.fixed[k]
    if _apart_from_fixed(plant, state, g, near.tree_box, tree):
        return
    for i in range(possible.tree_first[tree], possible.tree_first[tree + 1]):
        if _apart_from_fixed(plant, state, g, near.body_box, i):
            continue
        for e in range(possible.geom_first[i], possible.geom_first[i + 1]):
            other = possible.geom[e]
            if (
                possible.fixed_collides[k, other]
                and not _balls_apart(plant, state, g, other)
                and not _boxes_apart(plant, state, g, other)
            ):
                _list(plant, state, g, other)


@compiled
def _compare_trees(plant: Table, state: Table, s: int, t: int) -> None:
    """List the geoms of two trees that are near."""
    possible = plant.possible_pairs
    near = state.near_pairs
    box = near.body_box
    for i in range(possible.tree_first[s], possible.tree_first[s + 1]):
        if _apart(box, i, near.tree_box, t):
            continue
        for j in range(possible.tree_first[t], possible.tree_first[t + 1]):
            if not _apart(box, i, box, j) and not _is_excluded(possible, i, j):
                _compare_geoms(plant, state, i, j)


@compiled
def _order_trees(near: Table) -> None:
    """Sort trees by the lower ends of their boxes along the axis in which they are spread."""
    box = near.tree_box
    order = near.order
    widest = near.axis
    spread = 0.0
    for shift in range(3):
        # Beginning with the axis in use, which another one must clearly exceed.
        axis = (near.axis + shift) % 3
        low = _FAR
        high = -_FAR
        for tree in range(near.order.size):
            low = min(low, box[tree, axis])
            high = max(high, box[tree, axis])
        if high - low > (1.0 if shift == 0 else _MUCH_WIDER) * spread:
            widest = axis
            spread = high - low
    near.axis = widest
    # Nearly in order from the last time, which decides nothing but cost.
    for i in range(1, near.order.size):
        tree = order[i]
        low = box[tree, widest]
        k = i
        while k > 0 and box[order[k - 1], widest] > low:
            order[k] = order[k - 1]
            k -= 1
        order[k] = tree


@inlined
def _is_at_rest(state: Table, tree: int) -> bool:
    return state.resting != 0 and RESTING.at(state.resting).at_rest[tree] == 1


@compiled
def _compare_awake(plant: Table, state: Table) -> None:
    """List geoms that are near of two trees, one of which is awake."""
    near = state.near_pairs
    resting = RESTING.at(state.resting)
    box = near.tree_box
    axis = near.axis
    size = near.order.size
    count = 0
    for i in range(size):
        if resting.at_rest[near.order[i]] == 0:
            near.awake[count] = i
            count += 1
    following = 0
    for i in range(size):
        s = near.order[i]
        end = box[s, 3 + axis]
        if following < count and near.awake[following] == i:
            following += 1
            for k in range(i + 1, size):
                t = near.order[k]
                if box[t, axis] > end:
                    break
                if not _apart(box, s, box, t):
                    _compare_trees(plant, state, s, t)
            continue
        for k in range(following, count):
            t = near.order[near.awake[k]]
            if box[t, axis] > end:
                break
            if not _apart(box, s, box, t):
                _compare_trees(plant, state, s, t)


@compiled
def compare_all(plant: Table, state: Table) -> None:
    """List all geoms that are near."""
    possible = plant.possible_pairs
    near = state.near_pairs
    near.count = 0
    for tree in range(near.order.size):
        if _is_at_rest(state, tree):
            continue
        for k in range(possible.fixed.size):
            _compare_fixed(plant, state, k, tree)
        for i in range(possible.tree_first[tree], possible.tree_first[tree + 1]):
            for p in range(possible.inner_first[i], possible.inner_first[i + 1]):
                j = possible.inner[p]
                if not _apart(near.body_box, i, near.body_box, j):
                    _compare_geoms(plant, state, i, j)
    if near.order.size == 1:
        return
    _order_trees(near)
    if state.resting != 0 and RESTING.at(state.resting).count > 0:
        _compare_awake(plant, state)
        return
    box = near.tree_box
    axis = near.axis
    for i in range(near.order.size):
        s = near.order[i]
        end = box[s, 3 + axis]
        for k in range(i + 1, near.order.size):
            t = near.order[k]
            if box[t, axis] > end:
                break
            if not _apart(box, s, box, t):
                _compare_trees(plant, state, s, t)
