"""Fields of `RELATIVE`: pairs of links of one tree, looked at from one of them."""

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
) -> dict[str, Any]:
    """Fields of `RELATIVE`, for all pairs of links that may touch.

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
    # Round shapes above faces are looked for where they are in the world.
    level = pair_fields["block"][pair_fields["faces"][:, 0] >= 0]
    together[level[level >= 0]] = False
    count = len(pairs)
    owner, rest, radii = (surface[f"vertex_{name}"] for name in ("link", "rest", "radius"))
    moving = owner < len(links)
    box = np.zeros((len(links), 2, 3))
    radius = np.zeros(len(links))
    box[:, 0], box[:, 1] = np.inf, -np.inf
    np.minimum.at(box[:, 0], owner[moving], rest[moving, 1:])
    np.maximum.at(box[:, 1], owner[moving], rest[moving, 1:])
    np.maximum.at(radius, owner[moving], radii[moving])
    box[np.bincount(owner[moving], minlength=len(links)) == 0] = 0.0
    # From the larger one, on which the smaller one deviates less.
    size = np.linalg.norm(box[:, 1] - box[:, 0], axis=1)
    ordered = np.where((size[pairs[:, 0]] >= size[pairs[:, 1]])[:, None], pairs, pairs[:, ::-1])
    return {
        "link_folds": np.isin(roots, roots[pairs[together, 0]]).astype(np.int64),
        "link_box": box,
        "link_stretch": np.ones(len(links)),
        "q_seen": np.zeros((len(links), 4, 3)),
        "link_way": np.zeros((len(links), 2)),
        "link_ahead": np.zeros((len(links), 2)),
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


def _roots(model: mujoco.MjModel, links: list[Link]) -> NDArray[np.int64]:
    """The tree of every link, where trees that one body carries, which does not move, are one."""
    bodies = [int(model.jnt_bodyid[link.joint]) if link.joint >= 0 else -1 for link in links]
    names = [
        (int(model.body_rootid[body]), 0) if body >= 0 else (-1, link.tree)
        for body, link in zip(bodies, links, strict=True)
    ]
    roots = sorted(set(names))
    return np.array([roots.index(name) for name in names], dtype=np.int64)
