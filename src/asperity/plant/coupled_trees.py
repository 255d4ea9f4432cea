"""Kinematic trees that one scalar constraint couples, taken together.

A row of the constraint set belongs to two trees at most, as contacts do: the solvers' matrices have
a block for every pair of trees. A tendon can run over more of them. Such trees, and those between
them, are then one tree to the solvers, whose branches are cut into chains as those of any robot.
"""

from __future__ import annotations

import mujoco
import numpy as np

__all__ = ["coupled_trees"]

_ROW_TREES = 2


def coupled_trees(model: mujoco.MjModel) -> np.ndarray:
    """Number of the solvers' tree to which each kinematic tree of a model belongs.

    Returns
    -------
    array of int64, shape (ntree,)
        In ascending order; each kinematic tree's own number if no constraint couples three.
    """
    joined = np.zeros(model.ntree, bool)  # with the tree before it
    tendons = [_tendon_trees(model, tendon) for tendon in range(model.ntendon)]
    for trees in [*tendons, *_tendon_equalities(model, tendons)]:
        if len(trees) > _ROW_TREES:
            joined[min(trees) + 1 : max(trees) + 1] = True
    return np.cumsum(~joined) - 1


def _tendon_trees(model: mujoco.MjModel, tendon: int) -> set[int]:
    """Kinematic trees that a tendon acts on."""
    wrap = mujoco.mjtWrap
    trees: set[int] = set()
    first = model.tendon_adr[tendon]
    for k in range(first, first + model.tendon_num[tendon]):
        kind, number = model.wrap_type[k], model.wrap_objid[k]
        if kind == wrap.mjWRAP_JOINT:
            body = model.jnt_bodyid[number]
        elif kind == wrap.mjWRAP_SITE:
            body = model.site_bodyid[number]
        elif kind in (wrap.mjWRAP_SPHERE, wrap.mjWRAP_CYLINDER):
            body = model.geom_bodyid[number]
        else:
            continue
        trees.add(int(model.body_treeid[body]))
    return trees - {-1}


def _tendon_equalities(model: mujoco.MjModel, tendons: list[set[int]]) -> list[set[int]]:
    """Kinematic trees that each equality of two tendons couples."""
    found = []
    for equality in np.flatnonzero(model.eq_type == mujoco.mjtEq.mjEQ_TENDON):
        pair = (model.eq_obj1id[equality], model.eq_obj2id[equality])
        found.append(set().union(*(tendons[tendon] for tendon in pair if tendon >= 0)))
    return found
