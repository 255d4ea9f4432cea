"""Poses and boxes of links that are seen from another link of their tree.

Symbols are those of `asperity.midas.lists.link_pair_paths`.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import compiled, inlined
from asperity.midas.pose.matrices import cofactors

__all__ = [
    "box_centre",
    "box_on_path",
    "choose_pivot",
    "half_extent",
    "longest_path",
    "measure_gap",
    "set_pose",
    "squared_stretch",
]

# Of a point that moves little, over one that is near: weight of the latter.
_NEAR = 1e-2
_LARGEST = 1.7976931348623157e308


@compiled
def squared_stretch(q: np.ndarray) -> float:
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
def set_pose(base: np.ndarray, other: np.ndarray, inverse: np.ndarray, out: np.ndarray) -> None:
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
def box_centre(box: np.ndarray, k: int) -> float:
    return 0.5 * (box[0, k] + box[1, k])


@compiled
def half_extent(box: np.ndarray, k: int) -> float:
    return 0.5 * (box[1, k] - box[0, k])


@inlined
def box_on_path(
    start: np.ndarray, path: np.ndarray, box: np.ndarray, k: int
) -> tuple[float, float, float, float]:
    """Where a link's box is along a coordinate axis as its path begins, and how it goes on.

    Returns
    -------
    centre, half, move, spread : float
        The box is within ``half`` of ``centre``; at the path's end its points have moved by
        ``move``, but for ``spread``.
    """
    centre = start[0, k]
    half = 0.0
    move = path[0, k]
    spread = 0.0
    for j in range(3):
        c = box_centre(box, j)
        e = half_extent(box, j)
        centre += c * start[1 + j, k]
        half += e * abs(start[1 + j, k])
        move += c * path[1 + j, k]
        spread += e * abs(path[1 + j, k])
    return centre, half, move, spread


@inlined
def _extent_along(
    axis: np.ndarray, start: np.ndarray, path: np.ndarray, box: np.ndarray
) -> tuple[float, float]:
    """The second and fourth of `box_on_path` along any axis, times its length."""
    half = 0.0
    spread = 0.0
    for j in range(3):
        turned = 0.0
        turning = 0.0
        for k in range(3):
            turned += axis[k] * start[1 + j, k]
            turning += axis[k] * path[1 + j, k]
        half += half_extent(box, j) * abs(turned)
        spread += half_extent(box, j) * abs(turning)
    return half, spread


@compiled
def choose_pivot(path: np.ndarray, box: np.ndarray, work: np.ndarray, pivot: np.ndarray) -> None:
    """Fill a point of a link, or near it, that moves little on its path."""
    move = work[0]
    right = work[1]
    matrix = work[3:6]
    inverse = work[6:9]
    trace = 0.0
    radius = 0.0
    for k in range(3):
        pivot[k] = box_centre(box, k)
        radius += half_extent(box, k) ** 2
        move[k] = path[0, k]
        for j in range(3):
            move[k] += box_centre(box, j) * path[1 + j, k]
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
def longest_path(path: np.ndarray, box: np.ndarray) -> float:
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
def measure_gap(
    start: np.ndarray, path: np.ndarray, box: np.ndarray, own: np.ndarray, work: np.ndarray
) -> float:
    """Bound of the distance of a base from another link, all along its path.

    ``box`` and ``own`` are theirs in rest coordinates. Seen along the axes of either.
    """
    centre = work[0]
    move = work[1]
    axis = work[2]
    square = 0.0
    for k in range(3):
        middle, size, move[k], spread = box_on_path(start, path, own, k)
        centre[k] = middle - box_centre(box, k)
        now = abs(centre[k]) - size - half_extent(box, k)
        along = move[k] if centre[k] > 0.0 else -move[k]
        square += max(min(now, now + along - spread), 0.0) ** 2
    gap = math.sqrt(square)
    for i in range(3):
        length = 0.0
        for k in range(3):
            length += start[1 + i, k] ** 2
        length = math.sqrt(length)
        between = 0.0
        along = 0.0
        size = 0.0
        for k in range(3):
            axis[k] = start[1 + i, k] / length
            between += axis[k] * centre[k]
            along += axis[k] * move[k]
            size += half_extent(box, k) * abs(axis[k])
        own_size, spread = _extent_along(axis, start, path, own)
        now = abs(between) - size - own_size
        if between < 0.0:
            along = -along
        gap = max(gap, min(now, now + along - spread))
    return gap
