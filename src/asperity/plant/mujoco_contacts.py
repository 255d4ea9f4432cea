"""MuJoCo's soft contacts as contact parameters: ``solref`` and ``solimp`` as N/m and s/m.

A contact of MuJoCo by itself, with the inverse mass A that it assumes for it (the sum of both
bodies' ``body_invweight0``), has the force f = (d/A) (k x + b ẋ − a₀) at the depth x, with the
impedance d of ``solimp``, a₀ the acceleration without it, and of ``solref``

    k = d/(d_max² t² ζ²),   b = 2/(d_max t)          or  k = d k₀/d_max²,   b = b₀/d_max

At rest it carries f at the depth x = f A (1 − d)/(d k): a spring of

    stiffness     K = d k/((1 − d) A),  in series of both bodies', with A = 0 of what cannot move
    dissipation   D = d b/g,  with which Hunt–Crossley's K x (1 + D ẋ) is damped as MuJoCo's contact
                  is at the depth where it carries the weight, K x = m g

(docs/equations.md, ‘MuJoCo's contacts’).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from scipy.optimize import brentq

from asperity.plant.contact_parameters import ContactParameters, Material
from asperity.plant.names import listed

__all__ = ["material_of", "parameters_of_mujoco"]

_STANDARD_GRAVITY = 9.81
# MuJoCo's own bounds of the impedance.
_LEAST, _MOST = 1e-4, 0.9999


@dataclass(frozen=True)
class _Soft:
    """``solref`` and ``solimp`` of a contact.

    Parameters
    ----------
    ref, imp : tuple of float
    least_time : float
        Shortest time constant [s], where MuJoCo keeps them above two steps.
    """

    ref: tuple[float, ...]
    imp: tuple[float, ...]
    least_time: float

    def impedance(self, depth: float) -> float:
        """d at a depth [m]."""
        low, high, width, middle, power = self.imp
        low, high = (min(max(d, _LEAST), _MOST) for d in (low, high))
        middle, power = min(max(middle, _LEAST), _MOST), max(power, 1.0)
        if low == high or width <= 1e-15:
            return 0.5 * (low + high)
        x = min(depth / width, 1.0)
        if power == 1.0:
            share = x
        elif x <= middle:
            share = x**power / middle ** (power - 1.0)
        else:
            share = 1.0 - (1.0 - x) ** power / (1.0 - middle) ** (power - 1.0)
        return low + share * (high - low)

    def spring(self, depth: float) -> tuple[float, float]:
        """k [1/s²] and b [1/s] at a depth [m]."""
        d, most = self.impedance(depth), min(max(self.imp[1], _LEAST), _MOST)
        first, second = self.ref
        if first > 0.0 and second > 0.0:
            time = max(first, self.least_time)
            return d / (most * time * second) ** 2, 2.0 / (most * time)
        return -d * first / most**2, -second / most

    def at_rest(self, gravity: float) -> tuple[float, float]:
        """K A [1/s²] and D [s/m] where the contact carries the weight of what it holds."""

        def stiffness(depth: float) -> float:
            d, (k, _) = self.impedance(depth), self.spring(depth)
            return d * k / (1.0 - d)

        def excess(depth: float) -> float:
            return depth * stiffness(depth) - gravity

        # With the least impedance of all depths it rests deepest.
        deepest = 2.0 * gravity / min(stiffness(0.0), stiffness(1e9))
        depth = float(brentq(excess, 0.0, deepest))
        _, b = self.spring(depth)
        return stiffness(depth), self.impedance(depth) * b / gravity


def material_of(
    ref: Any, imp: Any, inverse_mass: float, *, gravity: float, least_time: float = 0.0
) -> Material:
    """Stiffness and dissipation of a contact of MuJoCo.

    Parameters
    ----------
    ref, imp : array_like, shapes (2,) and (5,)
        ``solref`` and ``solimp``.
    inverse_mass : float
        A [1/kg].
    gravity : float
        [m/s²].
    least_time : float
        Shortest time constant [s].
    """
    soft = _Soft(tuple(float(x) for x in ref), tuple(float(x) for x in imp), least_time)
    stiffness, dissipation = soft.at_rest(gravity)
    return Material(stiffness=stiffness / inverse_mass, dissipation=dissipation)


def parameters_of_mujoco(model: mujoco.MjModel) -> ContactParameters:
    """`ContactParameters.from_mujoco`, which says more."""
    gravity = float(np.linalg.norm(model.opt.gravity))
    notes = [
        "MuJoCo's damping is linear, Hunt-Crossley's is not: they agree where a contact carries "
        "the weight of what it holds."
    ]
    if np.any(model.geom_solimp[:, 0] != model.geom_solimp[:, 1]):
        notes.append(
            "MuJoCo's contacts get stiffer with depth (solimp): the stiffness is that where one "
            "contact carries the weight of its body, less than under heavier loads."
        )
    if gravity == 0.0:
        gravity = _STANDARD_GRAVITY
        notes.append("The model has no gravity: contacts are compared under 9.81 m/s².")
    safe = not int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_REFSAFE)
    options = {"gravity": gravity, "least_time": 2.0 * float(model.opt.timestep) if safe else 0.0}
    inverse = np.asarray(model.body_invweight0)[:, 0]
    bodies, geoms, left_out = _own_values(model, inverse, options)
    if left_out:
        notes.append(
            f"{len(left_out)} geoms have no name, nor has their body; they keep the default: "
            f"{listed(left_out)}."
        )
    moving = inverse[model.geom_bodyid] > 0.0
    if len(np.unique(np.hstack([model.geom_solref, model.geom_solimp])[moving], axis=0)) > 1:
        notes.append(
            "Geoms differ in solref or solimp: two of them act in series, where MuJoCo mixes their "
            "numbers by solmix and priority."
        )
    static = ~moving & np.any(
        np.hstack([model.geom_solref - [0.02, 1.0], model.geom_solimp - [0.9, 0.95, 1e-3, 0.5, 2]]),
        axis=1,
    )
    if static.any():
        names = [model.geom(k).name or f"#{k}" for k in np.flatnonzero(static)]
        notes.append(f"solref and solimp of geoms that do not move are left out: {listed(names)}.")
    pairs = {}
    for k in range(model.npair):
        ends = [int(model.pair_geom1[k]), int(model.pair_geom2[k])]
        names = [model.geom(geom).name for geom in ends]
        mass = float(inverse[model.geom_bodyid[ends]].sum())
        if not all(names):
            notes.append(f"Pair {k} has a geom without a name, and is left out.")
        elif mass > 0.0:
            ref, imp = model.pair_solref[k], model.pair_solimp[k]
            pairs[names[0], names[1]] = material_of(ref, imp, mass, **options)
    if model.nv:
        notes.append(
            "Masses that contacts of MuJoCo feel are those of the model's initial configuration."
        )
    return ContactParameters(bodies=bodies, geoms=geoms, pairs=pairs, notes=tuple(notes))


def _own_values(
    model: mujoco.MjModel, inverse: np.ndarray, options: dict[str, float]
) -> tuple[dict[str, Material], dict[str, Material], list[str]]:
    """Values by body and by geom, and geoms that no name reaches."""
    bodies: dict[str, Material] = {}
    geoms: dict[str, Material] = {}
    left_out = []
    for body in range(1, model.nbody):
        first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
        if not inverse[body] > 0.0:
            continue
        for geom in range(first, first + count):
            if not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
                continue
            ref, imp = model.geom_solref[geom], model.geom_solimp[geom]
            material = material_of(ref, imp, float(inverse[body]), **options)
            name = _literal(model.body(body).name)
            if name and bodies.setdefault(name, material) == material:
                continue
            own = _literal(model.geom(geom).name)
            if own:
                geoms[own] = material
            else:
                left_out.append(f"#{geom}")
    return bodies, geoms, left_out


def _literal(name: str) -> str:
    """A name as a glob that matches it alone."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
