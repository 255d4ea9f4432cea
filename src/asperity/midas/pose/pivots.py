"""Ball joints and hinges that are fixed in the world, which links turn about."""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["find_pivot", "move_origin"]


@compiled
def find_pivot(links: Table, poses: Table, link: int, point: np.ndarray, axis: np.ndarray) -> int:
    """Fill where a link's joint is, and its axis; returns the first row of Q that turns about it.

    That is 1 for a link that turns about its centre of mass: the point is then not filled, and the
    axis zero, as that of a ball joint is.
    """
    for k in range(3):
        axis[k] = 0.0
    held = links.pivot[link]
    if held == 0:
        return 1
    q = poses.q[link]
    length = 0.0
    for k in range(3):
        point[k] = 0.0
        for i in range(4):
            point[k] += links.own_row[link, 0, i] * q[i, k]
            if held == 2:
                axis[k] += (links.own_row[link, 1, i] - links.own_row[link, 0, i]) * q[i, k]
        length += axis[k] * axis[k]
    if held == 2:
        for k in range(3):
            axis[k] /= math.sqrt(length)
    return 0


@compiled
def move_origin(q: np.ndarray, first: int, point: np.ndarray, sign: float) -> None:
    """Measure the centre of mass from a link's joint (``sign`` −1), or from the world's origin."""
    if first == 0:
        for k in range(3):
            q[0, k] += sign * point[k]
