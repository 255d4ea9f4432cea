"""The contact parameters of all pairs of geoms and flexes that may touch, as they are combined.

Flexes are numbered from the last geom on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.plant.detection.near_pairs import colliding_bodies
from asperity.plant.plant import Plant

__all__ = ["TouchingPairs", "touching_pairs"]


class TouchingPairs(NamedTuple):
    """Pairs of geoms or flexes with the same parameters."""

    first: np.ndarray
    """Geoms on one side."""
    second: np.ndarray
    """Geoms on the other side; all that may touch one of the first."""
    number: int
    """Number of pairs."""
    values: np.ndarray
    """Parameters, shape (6,), in the order of `asperity.contact.combination`."""


def touching_pairs(plant: Plant) -> Iterator[TouchingPairs]:
    """Yield all pairs that may touch, those with equal parameters together.

    Geoms with the same values of their own, coefficient of friction and priority are alike, so as
    many combinations are computed as there are pairs of such classes. Pairs with values of their
    own come last, one by one.
    """
    model, materials = plant.model, plant.materials
    touch = _may_touch(model)
    friction = {}
    for pair in range(model.npair):
        a, b = sorted((int(model.pair_geom1[pair]), int(model.pair_geom2[pair])))
        friction[a, b] = float(model.pair_friction[pair, 0])
    single = {divmod(int(key), len(touch)) for key in materials.pair_keys} | set(friction)
    for a, b in single:
        touch[a, b] = touch[b, a] = False
    friction_of, priority = _friction_and_priority(model)
    alike = np.column_stack([materials.geoms, friction_of, priority])
    _, classes = np.unique(alike, axis=0, return_inverse=True)
    classes = classes.ravel()
    for a in range(classes.max(initial=-1) + 1):
        of_a = np.flatnonzero(classes == a)
        for b in range(a, classes.max() + 1):
            of_b = np.flatnonzero(classes == b)
            block = touch[np.ix_(of_a, of_b)]
            if not block.any():
                continue
            first, second = of_a[block.any(axis=1)], of_b[block.any(axis=0)]
            # Within a class every pair stands there twice, but a flex with itself once.
            count = int(block.sum() + np.trace(block)) // 2 if a == b else int(block.sum())
            one = int(first[0]), int(second[0])
            yield TouchingPairs(
                first, second, count, materials.combined(*one, _friction(model, *one))
            )
    for a, b in sorted(single):
        own = friction.get((a, b))
        values = materials.combined(a, b, _friction(model, a, b) if own is None else own)
        yield TouchingPairs(np.array([a]), np.array([b]), 1, values)


def _may_touch(model: mujoco.MjModel) -> np.ndarray:
    """Which geoms and flexes collide with which, bool, shape (ngeom + nflex, ngeom + nflex)."""
    kind = np.concatenate([model.geom_contype, model.flex_contype])
    affinity = np.concatenate([model.geom_conaffinity, model.flex_conaffinity])
    touch = (kind[:, None] & affinity[None, :]) != 0
    touch |= touch.T
    bodies, geoms = model.geom_bodyid, slice(model.ngeom)
    touch[geoms, geoms] &= colliding_bodies(model)[bodies][:, bodies]
    flexes = np.arange(model.ngeom, len(touch))
    touch[flexes, flexes] = model.flex_selfcollide != 0
    return touch


def _friction_and_priority(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of sliding friction and priorities of geoms and flexes."""
    friction = np.concatenate([model.geom_friction[:, 0], model.flex_friction[:, 0]])
    return friction, np.concatenate([model.geom_priority, model.flex_priority])


def _friction(model: mujoco.MjModel, a: int, b: int) -> float:
    """Sliding friction as MuJoCo combines it."""
    friction, priority = _friction_and_priority(model)
    ahead = int(priority[a]) - int(priority[b])
    if ahead != 0:
        return float(friction[a if ahead > 0 else b])
    return float(max(friction[a], friction[b]))
