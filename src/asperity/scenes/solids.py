"""Solids of straight walls and of revolution: closed surfaces, and convex pieces of the same shape.

An engine that takes meshes as they are needs the surface; one that knows convex shapes only needs
the pieces. Both come from one description, so that neither is at a disadvantage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from asperity.geometry.surfaces import Surface

__all__ = ["Box", "Solid", "cup", "union_of_boxes"]

Floats = NDArray[np.float64]

# Corners nearer than this are one [m].
_ROUNDING = 1e-9


class Box(NamedTuple):
    """A box, turned about the z axis."""

    centre: tuple[float, float, float]
    """[m]."""
    half: tuple[float, float, float]
    """Half sizes [m]."""
    turn: float = 0.0
    """About z [rad]."""


@dataclass(frozen=True)
class Solid:
    """One shape, in two descriptions.

    Parameters
    ----------
    name : str
        Of its meshes and geoms.
    surface : Surface
        Closed, in the frame of its body.
    boxes : tuple of Box
        Its convex pieces.
    hulls : tuple of ndarray, shape (n, 3)
        Vertices of further convex pieces [m].
    """

    name: str
    surface: Surface
    boxes: tuple[Box, ...] = ()
    hulls: tuple[Floats, ...] = ()

    def assets(self, pieces: bool) -> str:
        """MJCF of the meshes that `geoms` refers to."""
        if not pieces:
            faces = " ".join(map(str, self.surface.faces.ravel()))
            return (
                f"<mesh name='{self.name}' inertia='exact' "
                f"vertex='{_numbers(self.surface.vertices)}' face='{faces}'/>"
            )
        return "".join(
            f"<mesh name='{self.name}_{i}' vertex='{_numbers(hull)}'/>"
            for i, hull in enumerate(self.hulls)
        )

    def geoms(self, pieces: bool, density: float = 1000.0) -> str:
        """MJCF of the geoms of a density [kg/m³]: one mesh, or the convex pieces."""
        if not pieces:
            return (
                f"<geom name='{self.name}' type='mesh' mesh='{self.name}' density='{density!r}'/>"
            )
        boxes = (
            f"<geom type='box' pos='{_numbers(box.centre)}' size='{_numbers(box.half)}' "
            f"euler='0 0 {np.degrees(box.turn):.12g}' density='{density!r}'/>"
            for box in self.boxes
        )
        hulls = (
            f"<geom type='mesh' mesh='{self.name}_{i}' density='{density!r}'/>"
            for i in range(len(self.hulls))
        )
        return "".join((*boxes, *hulls))


def union_of_boxes(name: str, corners: Sequence[Sequence[float]]) -> Solid:
    """A solid of boxes along the axes that touch without overlapping.

    Parameters
    ----------
    name : str
    corners : sequence of sequences
        Lowest and highest corner of every box, (x₀, y₀, z₀, x₁, y₁, z₁) [m].

    Returns
    -------
    Solid
        Its surface is that of the union: faces between two boxes are not in it.
    """
    low, high = np.split(np.array(corners, dtype=np.float64), 2, axis=1)
    grid = [np.unique(np.round(np.r_[low[:, k], high[:, k]] / _ROUNDING)) for k in range(3)]
    filled = np.zeros([len(lines) + 1 for lines in grid], dtype=bool)
    for least, most in zip(low, high, strict=True):
        first = [int(np.searchsorted(grid[k], round(least[k] / _ROUNDING))) for k in range(3)]
        last = [int(np.searchsorted(grid[k], round(most[k] / _ROUNDING))) for k in range(3)]
        # A border of empty cells surrounds the grid.
        cells = tuple(slice(a + 1, b + 1) for a, b in zip(first, last, strict=True))
        if np.any(filled[cells]):
            raise ValueError(f"boxes of {name!r} overlap.")
        filled[cells] = True
    faces, corners_of_faces = _faces_of_cells(filled)
    lattice, label = np.unique(corners_of_faces, axis=0, return_inverse=True)
    vertices = np.column_stack([grid[k][lattice[:, k]] * _ROUNDING for k in range(3)])
    boxes = tuple(
        Box(tuple((0.5 * (a + b)).tolist()), tuple((0.5 * (b - a)).tolist()))
        for a, b in zip(low, high, strict=True)
    )
    return Solid(name, Surface(vertices, label.reshape(-1)[faces]), boxes)


def _faces_of_cells(filled: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Triangles between filled and empty cells, and the lattice points that they number."""
    faces: list[list[int]] = []
    points: list[list[int]] = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for sign in (-1, 1):
            beside = filled & ~np.roll(filled, -sign, axis=axis)
            for cell in np.argwhere(beside):
                # Cell i of the bordered grid lies between lattice points i − 1 and i.
                corner = cell - 1
                corner[axis] += sign > 0
                ring = []
                for along_u, along_v in ((0, 0), (1, 0), (1, 1), (0, 1)):
                    point = corner.copy()
                    point[u] += along_u
                    point[v] += along_v
                    ring.append(len(points))
                    points.append(point.tolist())
                ring = ring if sign > 0 else ring[::-1]
                faces += [[ring[0], ring[1], ring[2]], [ring[0], ring[2], ring[3]]]
    return np.array(faces, dtype=np.int64), np.array(points, dtype=np.int64)


def cup(name: str, radius: float, height: float, wall: float, segments: int = 24) -> Solid:
    """An open cylinder with a bottom, its bottom's lower face at z = 0.

    Parameters
    ----------
    name : str
    radius, height, wall : float
        Outer radius, height, and thickness of wall and bottom [m].
    segments : int
        Straight pieces around, the first across the x axis; with the convex pieces, each is a box
        whose outer face is the same.
    """
    inner = radius - wall
    profile = [(radius, 0.0), (radius, height), (inner, height), (inner, wall)]
    angle = 2.0 * np.pi * (np.arange(segments) + 0.5) / segments
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    rings = [np.column_stack([r * ring, np.full(segments, z)]) for r, z in profile]
    vertices = np.concatenate([[[0.0, 0.0, 0.0]], *rings, [[0.0, 0.0, wall]]])
    here, top = np.arange(segments), len(vertices) - 1
    there = (here + 1) % segments
    faces = [np.column_stack([0 * here, 1 + there, 1 + here])]
    for k in range(len(rings) - 1):
        low, high = 1 + k * segments, 1 + (k + 1) * segments
        faces.append(np.column_stack([low + here, low + there, high + there]))
        faces.append(np.column_stack([low + here, high + there, high + here]))
    last = 1 + (len(rings) - 1) * segments
    faces.append(np.column_stack([last + here, last + there, 0 * here + top]))
    flat = np.cos(np.pi / segments)
    width = (radius + inner) * np.sin(np.pi / segments)
    boxes = []
    for turn in angle + np.pi / segments:
        place = 0.5 * (radius + inner) * flat
        centre = (place * np.cos(turn), place * np.sin(turn), 0.5 * (height + wall))
        half = (0.5 * wall * flat, 0.5 * width, 0.5 * (height - wall))
        boxes.append(Box(centre, half, float(turn)))
    bottom = np.concatenate(
        [np.column_stack([radius * ring, np.full(segments, z)]) for z in (0.0, wall)]
    )
    surface = Surface(vertices, np.concatenate(faces).astype(np.int64))
    return Solid(name, surface, tuple(boxes), (bottom,))


def _numbers(values: Floats | Sequence[float]) -> str:
    return " ".join(f"{value:.9g}" for value in np.ravel(values))
