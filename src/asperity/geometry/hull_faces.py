"""Flat faces of a surface that have all of it below them: those that it shares with its hull."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from asperity.geometry.surfaces import Surface

__all__ = ["HullFace", "hull_faces"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# What counts as flat, of the surface's extent: mesh files have coordinates of single precision.
_FLAT = 1e-6
# Planes that are looked at, those of the largest triangles first: what has more has no large ones.
_MOST = 64


class HullFace(NamedTuple):
    """A flat face, of one or more triangles."""

    corners: Ints
    """Three of its vertices, far apart and anticlockwise seen from outside, shape (3,)."""
    border: Ints
    """Vertices of the edges that bound it, anticlockwise, shape (k, 2)."""


def hull_faces(surface: Surface, least: float) -> list[HullFace]:
    """Flat faces that nothing of a surface is above, the largest first.

    Parameters
    ----------
    surface : Surface
    least : float
        Area of the smallest, as a share of the whole surface's.
    """
    points = surface.vertices[surface.faces]
    normals = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    areas = 0.5 * np.linalg.norm(normals, axis=1)
    flat = _FLAT * float(np.ptp(surface.vertices, axis=0).max(initial=0.0))
    waiting = areas > 0.0
    found: list[tuple[float, HullFace]] = []
    for _ in range(_MOST):
        triangle = int(np.argmax(np.where(waiting, areas, 0.0)))
        if not waiting[triangle]:
            break
        normal = normals[triangle] / (2.0 * areas[triangle])
        heights = surface.vertices @ normal
        top = float(heights.max())
        own = np.all(heights[surface.faces] >= top - flat, axis=1) & waiting
        waiting[triangle] = False
        if not own[triangle]:
            continue
        waiting &= ~own
        if areas[own].sum() >= least * areas.sum():
            face = HullFace(_corners(surface, own, normal), _border(surface.faces[own]))
            found.append((float(areas[own].sum()), face))
    return [face for _, face in sorted(found, key=lambda one: -one[0])]


def _corners(surface: Surface, own: NDArray[np.bool_], normal: Floats) -> Ints:
    """Three vertices of a face that make a large triangle."""
    members = np.unique(surface.faces[own])
    points = surface.vertices[members]
    first = int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))
    second = int(np.argmax(np.linalg.norm(points - points[first], axis=1)))
    across = np.cross(normal, points[second] - points[first])
    height = (points - points[first]) @ across
    third = int(np.argmax(np.abs(height)))
    if height[third] < 0.0:
        first, second = second, first
    return np.array([members[first], members[second], members[third]], dtype=np.int64)


def _border(faces: Ints) -> Ints:
    """Edges of one of the triangles alone, in its direction."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    there = {(int(a), int(b)) for a, b in edges}
    border = [(a, b) for a, b in sorted(there) if (b, a) not in there]
    return np.array(border, dtype=np.int64).reshape(-1, 2)
