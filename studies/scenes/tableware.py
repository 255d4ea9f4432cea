"""A plate, a mug with a handle and a spoon as closed surfaces, thin-walled and not convex."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asperity.contact.hydroelastic.import_mesh import write_field_mesh
from asperity.contact.hydroelastic.tetrahedralize import tetrahedralize
from asperity.geometry.primitives import revolve
from asperity.geometry.surfaces import Surface

__all__ = [
    "FIELD_MESHES",
    "MUG_HEIGHT",
    "MUG_RADIUS",
    "PLATE_RADIUS",
    "SPOON_LENGTH",
    "mug",
    "plate",
    "spoon",
    "write_field_meshes",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PLATE_RADIUS = 0.1
MUG_RADIUS = 0.033
MUG_HEIGHT = 0.09
SPOON_LENGTH = 0.16
"""[m]."""

FIELD_MESHES = {
    name: Path(str(files("studies.scenes") / "assets" / f"{name}.npz"))
    for name in ("plate", "mug", "spoon")
}
"""Tetrahedra with pressure fields in the frames of the surfaces (`write_field_meshes`)."""


def plate() -> Surface:
    """A plate 16 mm deep, 4 mm thick, its foot's lower face at z = 0."""
    lower = np.array([(0.0, 0.0), (0.055, 0.0), (0.07, 0.009), (PLATE_RADIUS, 0.012)])
    upper = lower[::-1] + np.array([0.0, 0.004])
    profile = np.concatenate([lower, upper])
    return revolve(profile[:, 0], profile[:, 1], 48)


# Of the mug's wall, and heights of rings around it [m]: the handle grows out of the strips around
# 18 mm and 66 mm.
_WALL = 0.0035
_RINGS = (0.0, 0.012, 0.018, 0.024, 0.060, 0.066, 0.072, MUG_HEIGHT)
_SEGMENTS = 32
_HANDLE_REACH = 0.027
_HANDLE_RADIUS = 0.0045
_HANDLE_RINGS = 12
# Corners of a patch of two by two cells, anticlockwise seen from outside (around, up).
_PATCH = ((-1, -1), (0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0))


def mug() -> Surface:
    """A mug whose bottom's lower face is at z = 0, with a handle along x.

    The handle is a tube; its ends take the place of two patches of the wall's triangles.
    """
    inner = MUG_RADIUS - _WALL
    radius = np.r_[0.0, np.full(len(_RINGS), MUG_RADIUS), inner, inner, 0.0]
    height = np.r_[0.0, _RINGS, MUG_HEIGHT, _WALL, _WALL]
    vertices, faces = revolve(radius, height, _SEGMENTS)

    def corner(around: int, up: int) -> int:
        return 1 + up * _SEGMENTS + around % _SEGMENTS

    middles = (2, 5)  # of the patches, bottom and top
    removed = [corner(0, up) for up in middles]
    faces = faces[~np.isin(faces, removed).any(axis=1) & ~_within(faces, middles, corner)]
    low, high = (np.array([corner(u, up + v) for u, v in _PATCH]) for up in middles)
    # Around the patch as around the tube, seen along its way: at its end, up is down.
    turned = np.array([_PATCH.index((u, -v)) for u, v in _PATCH])
    rings = [high]
    z = np.array([_RINGS[up] for up in middles])
    for way in np.pi * (np.arange(_HANDLE_RINGS) + 1.0) / (_HANDLE_RINGS + 1.0):
        sine, cosine = np.sin(way), np.cos(way)
        half = 0.5 * (z[1] - z[0])
        centre = np.array([MUG_RADIUS + _HANDLE_REACH * sine, 0.0, z.mean() + half * cosine])
        out = np.array([half * sine, 0.0, _HANDLE_REACH * cosine])
        out /= np.linalg.norm(out)
        side = np.array([0.0, 1.0, 0.0])
        around = np.array([u * side + v * out for u, v in _PATCH])
        around *= _HANDLE_RADIUS / np.linalg.norm(around, axis=1)[:, None]
        rings.append(len(vertices) + np.arange(len(_PATCH)))
        vertices = np.concatenate([vertices, centre + around])
    rings.append(low[turned])
    return _used(vertices, np.concatenate([faces, *_tube(rings)]))


def _within(
    faces: Ints, middles: tuple[int, ...], corner: Callable[[int, int], int]
) -> NDArray[np.bool_]:
    """Triangles of a patch that do not touch its middle."""
    inside = np.zeros(len(faces), dtype=bool)
    for up in middles:
        patch = [corner(u, up + v) for u in (-1, 0, 1) for v in (-1, 0, 1)]
        inside |= np.isin(faces, patch).all(axis=1)
    return inside


# Stations along the spoon, and points across [m]; its sheet is as thick everywhere.
_BOWL_LENGTH, _BOWL_WIDTH, _BOWL_DEPTH = 0.052, 0.038, 0.009
_NECK, _HANDLE_WIDTH = 0.007, 0.012
_SHEET = 0.0025
_STATIONS = (0.001, 0.004, 0.01, 0.018, 0.026, 0.034, 0.042, 0.048, 0.054, 0.07, 0.09, 0.12, 0.16)
_ACROSS = 9


def spoon() -> Surface:
    """A spoon along x, its bowl's tip at x = 0 and the bowl's lowest point below z = 0."""
    along = np.array(_STATIONS)
    middle = 0.5 * _BOWL_LENGTH
    round_ = 1.0 - ((along - middle) / middle) ** 2
    handle = np.interp(along, [0.054, 0.09, SPOON_LENGTH], [_NECK, _HANDLE_WIDTH, _HANDLE_WIDTH])
    bowl = _BOWL_WIDTH * np.sqrt(np.maximum(round_, 0.0))
    width = np.where(along < middle, bowl, np.maximum(bowl, handle))
    across = np.linspace(-0.5, 0.5, _ACROSS)
    x = np.repeat(along[:, None], _ACROSS, axis=1)
    y = width[:, None] * across
    deep = 1.0 - ((x - middle) / middle) ** 2 - (2.0 * y / _BOWL_WIDTH) ** 2
    rise = 0.012 * (np.maximum(x - _BOWL_LENGTH, 0.0) / (SPOON_LENGTH - _BOWL_LENGTH)) ** 2
    z = rise - _BOWL_DEPTH * np.maximum(deep, 0.0)
    lower = np.stack([x, y, z], axis=2)
    upper = lower[:, ::-1] + np.array([0.0, 0.0, _SHEET])
    loops = np.concatenate([lower, upper], axis=1)
    count = loops.shape[1]
    vertices = np.concatenate([loops.reshape(-1, 3), loops[0].mean(axis=0, keepdims=True)])
    vertices = np.concatenate([vertices, loops[-1].mean(axis=0, keepdims=True)])
    rings = [count * k + np.arange(count) for k in range(len(loops))]
    tip, end = len(vertices) - 2, len(vertices) - 1
    caps = [
        np.column_stack([np.roll(rings[0], -1), rings[0], np.full(count, tip)]),
        np.column_stack([rings[-1], np.roll(rings[-1], -1), np.full(count, end)]),
    ]
    return Surface(vertices, np.concatenate([*_tube(rings), *caps]).astype(np.int64))


def write_field_meshes(folder: Path) -> None:
    """Write the field meshes of all three into a folder (extra ``hydroelastic``).

    Those of the package were made so. TetWild's vertices differ from run to run, and with them the
    largest distance from the surface: the depths are given, of half of the plate's and the spoon's
    thickness and of the mug's handle's radius, so that the pressure rises alike everywhere.
    """
    for surface, depth in ((plate, 0.002), (mug, _HANDLE_RADIUS), (spoon, 0.5 * _SHEET)):
        name = surface.__name__
        field = tetrahedralize(surface(), depth=depth, name=name, keep=False)
        write_field_mesh(folder / f"{name}.npz", field)


def _tube(rings: list[Ints]) -> list[Ints]:
    """Triangles between rings of as many vertices, anticlockwise seen along their way."""
    faces = []
    for one, other in itertools.pairwise(rings):
        following, beyond = np.roll(one, -1), np.roll(other, -1)
        faces.append(np.column_stack([one, following, beyond]))
        faces.append(np.column_stack([one, beyond, other]))
    return faces


def _used(vertices: Floats, faces: Ints) -> Surface:
    used, label = np.unique(faces, return_inverse=True)
    return Surface(vertices[used], label.reshape(-1, 3).astype(np.int64))
