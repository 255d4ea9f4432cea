"""Pairs of shapes that may touch, as the engine's table has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from asperity.compiled import Table
from asperity.midas.model.shapes import Shapes
from asperity.plant.model.names import element

__all__ = [
    "FlexPair",
    "LinkPair",
    "exclude_links",
    "pair_ends",
    "pair_geoms",
    "pair_links",
    "pair_names",
]

LinkPair = tuple[int, int]
"""Two links, the smaller first. The world is the number of links, its half-space i −1 − i."""


@dataclass(frozen=True)
class FlexPair:
    """A flex, and a geom or another flex, which follow the geoms in number."""

    flex: int
    other: int


def pair_ends(
    pair_shape: NDArray[np.int64], of_shape: ArrayLike, of_plane: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What the two sides of pairs belong to, by what shapes and half-spaces do."""
    # Half-space i, number −1 − i, is the i-th from the end.
    every = np.concatenate([np.asarray(of_shape, np.int64), np.asarray(of_plane, np.int64)[::-1]])
    return every[pair_shape[:, 0]], every[pair_shape[:, 1]]


def pair_geoms(table: Table, shapes: Shapes, pair: int) -> tuple[int, int]:
    """Geoms of a pair of shapes."""
    a, b = (int(i) for i in table.pairs.shape[pair])
    other = shapes.geom[b] if b >= 0 else shapes.plane_geom[-1 - b]
    return int(shapes.geom[a]), int(other)


def pair_links(table: Table, shapes: Shapes, pair: int) -> LinkPair:
    """Links of a pair of shapes."""
    a, b = (int(i) for i in table.pairs.shape[pair])
    one, other = int(shapes.link[a]), int(shapes.link[b]) if b >= 0 else b
    return min(one, other), max(one, other)


def pair_names(model: mujoco.MjModel, pair: FlexPair) -> tuple[str, str]:
    """What a flex and the other side are called."""
    flex, geom = mujoco.mjtObj.mjOBJ_FLEX, mujoco.mjtObj.mjOBJ_GEOM
    other = pair.other - model.ngeom
    return element(model, flex, pair.flex), (
        element(model, geom, pair.other) if other < 0 else element(model, flex, other)
    )


def exclude_links(table: Table, shapes: Shapes, pairs: Iterable[LinkPair]) -> None:
    """Let links pass through each other from now on."""
    gone = set(pairs)
    kept = np.array(
        [pair_links(table, shapes, pair) not in gone for pair in range(len(table.pairs.shape))],
        dtype=bool,
    )
    own = table.pairs
    for name, field in own.layout.fields.items():
        if field.ndim > 0 and name != "block_link":
            setattr(own, name, getattr(own, name)[kept].copy())
    # Whatever is listed has other numbers now.
    table.candidates.count = table.friction.count = table.boxes.listed = 0
    table.schedule.friction_schedule[:] = 0
