"""Tetrahedra of thin-walled solids of revolution, a single layer of them, as generators make them."""

from collections.abc import Sequence

import numpy as np

from asperity.contact.hydroelastic.cells import prisms
from asperity.contact.hydroelastic.field_mesh import oriented

Profile = Sequence[tuple[float, float]]


def shell(outer: Profile, inner: Profile, segments: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m] and tetrahedra between two profiles (radius, height) that begin on the axis."""
    angle = 2.0 * np.pi * np.arange(segments) / segments
    sheets = []
    for profile in (outer, inner):
        rings = [
            np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(segments, z)])
            for r, z in profile[1:]
        ]
        sheets.append(np.concatenate([[(0.0, 0.0, profile[0][1])], *rings]))
    here = np.arange(segments)
    there = (here + 1) % segments
    faces = [np.column_stack([0 * here, 1 + here, 1 + there])]
    for k in range(len(outer) - 2):
        low, high = 1 + k * segments, 1 + (k + 1) * segments
        faces.append(np.column_stack([low + here, high + there, low + there]))
        faces.append(np.column_stack([low + here, high + here, high + there]))
    sheet = np.concatenate(faces)
    vertices = np.concatenate(sheets)
    return vertices, oriented(vertices, prisms(*sheet.T, *(sheet.T + len(sheets[0]))))


WALL = 0.003
"""Of the mug and the plate [m]."""


def mug(segments: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Radius 40 mm, height 90 mm."""
    outer = [(0.0, 0.0), (0.02, 0.0), (0.04, 0.0), (0.04, 0.03), (0.04, 0.06), (0.04, 0.09)]
    side = 0.04 - WALL
    inner = [(0.0, WALL), (0.02, WALL), (side, WALL), (side, 0.03), (side, 0.06), (side, 0.09)]
    return shell(outer, inner, segments)


def plate(segments: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Radius 100 mm, its rim 15 mm high."""
    outer = [(0.0, 0.0), (0.03, 0.0), (0.06, 0.0), (0.08, 0.007), (0.1, 0.014)]
    inner = [(r, z + WALL) for r, z in outer]
    return shell(outer, inner, segments)
