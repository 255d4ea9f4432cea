"""The broad phase of collision detection: pairs of geoms that may touch, listed for MuJoCo.

MuJoCo's own broad phase sorts the boxes of all bodies along one axis and compares all that overlap
there, body by body, in every step; for a hundred robots this takes longer than to find the
contacts, and so do the bounding volume hierarchies of bodies with many geoms. A robot has a few
hundred pairs of bodies that can touch at all, which are known beforehand, and other robots are far
away but for a few. So trees are compared before bodies and bodies before geoms, and MuJoCo gets a
model in which the pairs of geoms that are near are predefined and nothing else collides.

It finds contacts between them with its own functions and numbers: the same contacts with the same
bits, in the same order, in which contacts of two bodies follow one another by the bodies' numbers.
Whoever is listed may be too many, but never too few.
"""

from __future__ import annotations

import itertools

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.plant import native
from asperity.plant.detection.near_pairs_layout import (
    MODEL_NUMBERS,
    NEAR_PAIRS,
    PAIR_ARRAYS,
    POSSIBLE_PAIRS,
)
from asperity.plant.model.model_view import remembered

__all__ = ["can_list_pairs", "colliding_bodies", "new_near_pairs", "possible_pairs", "renew"]

_WORD = 8
# Comparisons per body up to which listing is no slower than what MuJoCo does: with 112 of them a
# kitchen takes 0.89 of the time, chains of 120 and 200 bodies, which have 60 and 100, all of it.
_MOST_COMPARISONS = 120
# Pairs for which there is room, of so many geoms; of more MuJoCo searches itself.
_PAIRS_PER_GEOM = 8
_FEWEST_PAIRS = 64
# A key has 16 bits for every body and geom.
_MOST_GEOMS = 2**15
_BITS = 0xFFFF
# What rounding may do to MuJoCo's tests and to these, in parts and [m].
_SLACK = 1e-9

_PARAMETERS = (
    *("geom_priority", "geom_condim", "geom_solmix", "geom_solref", "geom_solimp"),
    *("geom_friction", "geom_margin", "geom_gap"),
)
"""What the parameters of a contact are combined from."""

_stamps = itertools.count(1)


def renew(possible: Table) -> None:
    """Let lists be made anew, because MuJoCo's struct has changed."""
    if possible.stamp != 0:
        possible.stamp = next(_stamps)


def colliding_bodies(model: mujoco.MjModel) -> np.ndarray:
    """Which bodies collide with which, by MuJoCo's rules: bool, shape (nbody, nbody)."""
    weld = model.body_weldid
    collide = weld[:, None] != weld[None, :]
    if not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
        parent = weld[model.body_parentid[weld]]
        child = (weld[:, None] == parent[None, :]) & (weld[:, None] > 0) & (weld[None, :] > 0)
        collide &= ~(child | child.T)
    excluded = model.exclude_signature.astype(np.int64)
    low, high = excluded >> 16, excluded & _BITS
    collide[low, high] = collide[high, low] = False
    return collide


def can_list_pairs(model: mujoco.MjModel) -> bool:
    """Whether the pairs of a model can be listed.

    Those that are predefined have parameters of their own, flexes and plugins have other
    functions. A MuJoCo whose pairs have more parameters than are known here searches by itself.
    """
    arrays = {name for name in native.array_names() if name.startswith("pair_")}
    return (
        model.npair == model.nflex == model.nplugin == 0
        and 1 < model.nbody < _MOST_GEOMS
        and model.ngeom < _MOST_GEOMS
        and not np.any(model.geom_adhesion)
        and arrays == set(PAIR_ARRAYS)
    )


@remembered
def possible_pairs(model: mujoco.MjModel, midphase: bool) -> Table:
    """What may touch in a model; its ``stamp`` is 0 if that is too much to be compared.

    Parameters
    ----------
    model : mujoco.MjModel
    midphase : bool
        Whether MuJoCo itself would descend the hierarchies of bodies with several geoms, which
        decides about the order of contacts.
    """
    kind, affinity = model.geom_contype, model.geom_conaffinity
    active = (kind != 0) | (affinity != 0)
    geom_body = model.geom_bodyid.astype(np.int64)
    moving = model.body_treeid[geom_body] >= 0
    collides = colliding_bodies(model)
    fixed = np.flatnonzero(active & ~moving)
    geoms = np.flatnonzero(active & moving)
    bodies = np.unique(geom_body[geoms])
    tree = model.body_treeid[bodies]
    # Bodies of a tree follow each other, and so do geoms of a body.
    tree_first = np.searchsorted(tree, np.arange(model.ntree + 1))
    inner: list[np.ndarray] = []
    for first, last in itertools.pairwise(tree_first):
        near = np.triu(collides[bodies[first:last]][:, bodies[first:last]], 1)
        inner += [first + np.flatnonzero(row) for row in near]
    excluded = model.exclude_signature.astype(np.int64)
    excluded = excluded[model.body_treeid[excluded >> 16] != model.body_treeid[excluded & _BITS]]
    matching = (kind[fixed, None] & affinity[None, :]) | (affinity[fixed, None] & kind[None, :])
    fixed_collides = (matching != 0) & collides[geom_body[fixed]][:, geom_body]
    # As MuJoCo has it, what a mocap body touches is a contact even if that does not move either.
    both_fixed = bool(np.any(fixed_collides[:, fixed]))
    overridden = bool(model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    margin = np.full(model.ngeom, 0.5 * model.opt.o_margin) if overridden else model.geom_margin
    margins = margin + model.geom_gap
    ball = np.where(model.geom_rbound > 0.0, model.geom_rbound, np.inf)
    ball[model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE] = 0.0
    comparisons = sum(map(len, inner)) + len(fixed) * (model.ntree + len(bodies))
    parameters = np.column_stack([getattr(model, name) for name in _PARAMETERS])
    _, geom_kind = np.unique(parameters, axis=0, return_inverse=True)
    few = comparisons <= _MOST_COMPARISONS * len(bodies)
    in_order = bool(np.all(np.diff(tree) >= 0))
    listed = few and in_order and not both_fixed and can_list_pairs(model)
    no_midphase = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_MIDPHASE
    return Table(
        POSSIBLE_PAIRS,
        stamp=int(listed),
        overridden=int(overridden),
        option_margin=float(model.opt.o_margin),
        by_type=int(midphase and not no_midphase),
        tree_first=tree_first.astype(np.int64),
        body=bodies,
        geom_first=np.searchsorted(geom_body[geoms], [*bodies, model.nbody]).astype(np.int64),
        geom=geoms.astype(np.int64),
        inner_first=np.cumsum([0, *map(len, inner)]),
        inner=np.concatenate([np.zeros(0, np.int64), *inner]),
        excluded=excluded,
        fixed=fixed.astype(np.int64),
        fixed_collides=np.ascontiguousarray(fixed_collides, np.uint8),
        geom_reach=(ball + margins) * (1.0 + _SLACK) + _SLACK,
        geom_margins=margins + _SLACK,
        geom_kind=geom_kind.reshape(-1).astype(np.int64),
        body_geoms=model.body_geomnum.astype(np.int64),
        **{
            name: getattr(model, name)
            for name in POSSIBLE_PAIRS.fields
            if name.startswith("geom_") and hasattr(model, name)
        },
    )


def new_near_pairs(model: mujoco.MjModel) -> Table:
    """Make the memory in which the pairs of one state are listed."""
    most = _PAIRS_PER_GEOM * model.ngeom + _FEWEST_PAIRS
    # Touched only where they are used.
    arrays = {
        name: np.empty((most, *like.shape[1:]), like.dtype)
        for name, like in ((name, getattr(model, name)) for name in PAIR_ARRAYS)
    }
    for name in ("pair_signature", "pair_solreffriction", "pair_adhesion"):
        arrays[name][:] = 0
    return Table(
        NEAR_PAIRS,
        words=native.struct_size("mjModel") // _WORD,
        bodies=model.nbody,
        trees=model.ntree,
        **{"at_" + name: native.offset("mjModel", name) for name in (*MODEL_NUMBERS, *PAIR_ARRAYS)},
        order=np.arange(model.ntree),
        key=np.empty(most, np.int64),
        ordered=np.empty(most, np.int64),
        kinds=np.full(most, -1),
        **arrays,
    )
