"""Fields of `RELATIVE`: pairs of links of one tree, or of one and the world, seen from a link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.midas.model.links import Link
from asperity.midas.model.shapes import Shapes

__all__ = ["link_pair_tables"]


def link_pair_tables(
    model: mujoco.MjModel,
    shapes: Shapes,
    links: list[Link],
    pairs: NDArray[np.int64],
    surface: Mapping[str, Any],
    pair_fields: Mapping[str, Any],
) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Fields of `RELATIVE`, for all pairs of links that may touch, then of links and the world.

    And the number among these of every pair of shapes, −1 of half-spaces.

    Parameters
    ----------
    pairs : array, shape (p, 2)
        Pairs of links, those among them that are merely held as well.
    surface, pair_fields : mapping
        Fields of `SHAPES` and of `PAIRS`.
    """
    pairs = pairs.reshape(-1, 2)
    roots = _roots(model, links)
    together = roots[pairs[:, 0]] == roots[pairs[:, 1]]
    world = len(links)
    seen = _numbers(shapes, pair_fields["block"], len(pairs), world)
    # Round shapes above faces are looked for where they are in the world.
    level = seen[pair_fields["faces"][:, 0] >= 0]
    together[level[level < len(pairs)]] = False
    folds = np.isin(roots, roots[pairs[together, 0]])
    # The world is a link at rest, to links that are seen from others anyhow.
    together = np.concatenate([together, folds])
    pairs = np.concatenate([pairs, np.column_stack([np.arange(world), np.full(world, world)])])
    together[level] = False
    count = len(pairs)
    owner, rest, radii = (surface[f"vertex_{name}"] for name in ("link", "rest", "radius"))
    box = np.zeros((world + 1, 2, 3))
    radius = np.zeros(world + 1)
    box[:, 0], box[:, 1] = np.inf, -np.inf
    np.minimum.at(box[:, 0], owner, rest[:, 1:])
    np.maximum.at(box[:, 1], owner, rest[:, 1:])
    np.maximum.at(radius, owner, radii)
    box[np.bincount(owner, minlength=world + 1) == 0] = 0.0
    # From the larger one, on which the smaller one deviates less.
    size = np.linalg.norm(box[:, 1] - box[:, 0], axis=1)
    size[world] = np.inf
    ordered = np.where((size[pairs[:, 0]] >= size[pairs[:, 1]])[:, None], pairs, pairs[:, ::-1])
    fields = {
        "link_folds": np.append(folds, np.any(folds)).astype(np.int64),
        "link_box": box,
        "link_stretch": np.ones(world + 1),
        "q_seen": np.zeros((world + 1, 4, 3)),
        "link_way": np.zeros((world + 1, 2)),
        "link_ahead": np.zeros((world + 1, 2)),
        "any": 0,
        "link": np.where(together[:, None], ordered, -1),
        "state": np.zeros(count, np.int64),
        "kept": np.zeros(count, np.int64),
        "start": np.zeros((count, 4, 3)),
        "path": np.zeros((count, 4, 3)),
        "pivot": np.zeros((count, 3)),
        "width": np.zeros((count, 2)),
        "radius": radius[pairs].sum(axis=1),
        "reach": np.zeros(count),
        "lever": np.zeros((count, 3)),
        "spare": np.zeros((count, 2)),
    }
    return fields, seen


def _numbers(
    shapes: Shapes, block: NDArray[np.int64], blocks: int, world: int
) -> NDArray[np.int64]:
    """Which pair of links every pair of shapes is of, where those with the world come last."""
    one, other = np.asarray(shapes.pair_shape, np.int64).reshape(-1, 2).T
    link = np.append(np.asarray(shapes.link, np.int64), world)
    moving = np.minimum(link[one], link[np.maximum(other, -1)])
    return np.where(other < 0, -1, np.where(block >= 0, block, blocks + moving))


def _roots(model: mujoco.MjModel, links: list[Link]) -> NDArray[np.int64]:
    """The tree of every link, where trees that one body carries, which does not move, are one."""
    bodies = [int(model.jnt_bodyid[link.joint]) if link.joint >= 0 else -1 for link in links]
    names = [
        (int(model.body_rootid[body]), 0) if body >= 0 else (-1, link.tree)
        for body, link in zip(bodies, links, strict=True)
    ]
    roots = sorted(set(names))
    return np.array([roots.index(name) for name in names], dtype=np.int64)
