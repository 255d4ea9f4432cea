"""Where the stiffness of contact that is asked for would be visible, since Midas has none.

Midas keeps surfaces apart, by up to an activation distance d̂. How far contacts give way instead,
and how long that takes, is left out. A point of contact of stiffness k that bears a mass m gives
way by δ = m g/k, and m swings on it as e^(iωt), with ω = √(k/m). Steps of Midas show nothing of
that if both

    δ ≤ d̂       a surface at rest is known to within d̂, as its gap depends on its load
    ω h ≥ 1     a step h of implicit Euler takes 1 − 1/√(1 + ω² h²) ≥ 29 % of such a swing

The mass is that of the heavier of the two mechanisms, all of it on a single point: the most that
one puts on the other at rest. What hangs together by joints is a mechanism, and what is fixed to
the world has no weight. Within a mechanism it is that of the heavier branch, from the body where
the two meet. Piles, grips and impacts press harder. How fast surfaces part after an
impact is a matter of dissipation, which Midas has, with any stiffness
(`asperity.midas.time.rebounds`).

The barrier cannot take the stiffness over. Its stroke ends at the surface, so that a contact that
gives way by δ > d̂ would need a longer one: with 2δ, things would rest δ above a surface that they
ought to sink into by δ, and fingers would hold things through as much air. In twelve public robots
with springs for feet or fingers, most of 30 kN/m, δ is 1 to 5 mm. Nor is the barrier a spring: its
force begins with the square of the depth. With the right depth under one load, it swings some 1.4
times as fast there, and is half as deep as it ought to be under four times the load.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.contact.combination import STIFFNESS, UNSET
from asperity.midas.engine import Engine
from asperity.midas.model.pairs import pair_ends
from asperity.plant.model.flex_contact import contact_stiffness
from asperity.plant.model.names import element, listed
from asperity.plant.model.resolved_materials import ResolvedMaterials

__all__ = ["compliance_notes"]

Floats = NDArray[np.float64]

# Where gravity is off, loads are as on earth [m/s²].
_GRAVITY = 9.81
_RIGID = "Midas keeps contacts rigid"


def compliance_notes(
    engine: Engine, materials: ResolvedMaterials, *, of_all: bool
) -> tuple[str, ...]:
    """Sentences on contacts that would visibly give way, and on flexes with a stiffness.

    Parameters
    ----------
    engine : Engine
        With the activation distances of its state.
    materials : ResolvedMaterials
    of_all : bool
        Whether somebody gives the stiffness of contacts whose geoms have none of their own.
    """
    model = engine.model
    own = materials.geoms[model.ngeom :, STIFFNESS]
    given = own != (UNSET if of_all else contact_stiffness(model))
    flexes = [element(model, mujoco.mjtObj.mjOBJ_FLEX, i) for i in np.flatnonzero(given | of_all)]
    notes = [f"{_RIGID}: {listed(flexes)}."] if flexes else []
    one, other = pair_ends(engine.table.pairs.shape, engine.shapes.geom, engine.shapes.plane_geom)
    stiffness = _stiffness(materials, one, other, of_all=of_all)
    mass = _loads(model, np.array(model.geom_bodyid[one]), np.array(model.geom_bodyid[other]))
    square = mass / stiffness  # 1/ω²
    gravity = float(np.linalg.norm(model.opt.gravity)) or _GRAVITY
    least = np.minimum(engine.table.pairs.activation / gravity, engine.options.time_step**2)
    visible = np.flatnonzero(square > least)
    if visible.size:
        pair = visible[np.argmax(square[visible])]
        names = [element(model, mujoco.mjtObj.mjOBJ_GEOM, i) for i in (one[pair], other[pair])]
        pairs = {tuple(sorted(ends)) for ends in zip(one[visible], other[visible], strict=True)}
        count = len(pairs) - 1
        more = f" (and {count} more pair{'s' if count > 1 else ''})" if count else ""
        notes.append(
            f"{_RIGID}: with the stiffness that is given, one of {names[0]} and {names[1]} that "
            f"bears {mass[pair]:.3g} kg would give way by {1e3 * gravity * square[pair]:.3g} mm "
            f"and swing at {0.5 / (math.pi * math.sqrt(square[pair])):.3g} Hz{more}."
        )
    return tuple(notes)


def _stiffness(
    materials: ResolvedMaterials, one: NDArray[np.int64], other: NDArray[np.int64], *, of_all: bool
) -> Floats:
    """Stiffness of pairs [N/m], as `combine` has it; infinite where nobody gives any."""
    own = materials.geoms[:, STIFFNESS]
    unset = float(materials.default[STIFFNESS]) if of_all else math.inf
    first, second = own[one], own[other]
    with np.errstate(divide="ignore"):
        # Springs in series, of which those that are not given are rigid.
        compliance = np.where(first < 0.0, 0.0, 1.0 / first)
        compliance += np.where(second < 0.0, 0.0, 1.0 / second)
        stiffness = np.where((first < 0.0) & (second < 0.0), unset, 1.0 / compliance)
    keys = materials.pair_keys
    if keys.size:
        key = np.minimum(one, other) * len(own) + np.maximum(one, other)
        at = np.minimum(np.searchsorted(keys, key), keys.size - 1)
        value = materials.pairs[at, STIFFNESS]
        stiffness = np.where((keys[at] == key) & (value >= 0.0), value, stiffness)
    return np.asarray(stiffness)


def _loads(model: mujoco.MjModel, one: NDArray[np.int64], other: NDArray[np.int64]) -> Floats:
    """Mass that contacts between bodies bear [kg], if these touch nothing else."""
    tree = np.array(model.body_treeid)
    moves = tree >= 0
    mass = np.bincount(tree[moves], model.body_mass[moves], minlength=model.ntree)
    of_body = np.where(moves, np.append(mass, 0.0)[tree], 0.0)
    loads = np.maximum(of_body[one], of_body[other])
    inside = np.flatnonzero(moves[one] & (tree[one] == tree[other]))
    pairs, which = np.unique(np.stack([one[inside], other[inside]]), axis=1, return_inverse=True)
    branches = [_heavier_branch(model, int(a), int(b)) for a, b in pairs.T]
    loads[inside] = np.array(branches, np.float64)[which.ravel()]
    return np.asarray(loads)


def _heavier_branch(model: mujoco.MjModel, one: int, other: int) -> float:
    """Mass of the heavier of two branches of a tree, below the body on which both hang [kg]."""
    ends = [one, other]
    mass = [0.0, 0.0]
    while ends[0] != ends[1]:
        # Parents come before their children.
        side = int(ends[1] > ends[0])
        mass[side] = float(model.body_subtreemass[ends[side]])
        ends[side] = int(model.body_parentid[ends[side]])
    return max(mass)
