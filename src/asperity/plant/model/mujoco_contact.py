"""MuJoCo's contact parameters, ``solref`` and ``solimp``, as stiffness and dissipation.

MuJoCo asks of a contact of overlap r ≥ 0 and speed of approach s the acceleration
a = (1 − d) a₀ + d (b s + k r), where a₀ is that without the contact, d(r) is the impedance of
``solimp`` and (k, b) come from ``solref`` (its chapter on computation, ‘Parameters’). With the
inverse mass w that the contact feels, its force is F = (d/w) (k r + b s − a₀). So

    at rest, under a load F          F = K r,  K = d k/((1 − d) w)
    in an impact, a₀ = 0             a mass 1/w on a spring d k/w, with the damping ratio of solref

The stiffness K is the one at rest, whatever the number of contacts that share the load. As
w = w_A + w_B, it is that of two springs in series with d k/((1 − d) w_A) and the like: a stiffness
that belongs to a geom.

A spring and damper of damping ratio ζ which does not pull rebounds at e times the speed of
approach, e = exp(−ζ φ/√(1 − ζ²)) with φ = atan2(2 ζ √(1 − ζ²), 2 ζ² − 1). Hunt–Crossley contact of
dissipation D rebounds from the speed v at r/D, where u − ln(1 + u) = −r − ln(1 − r) and u = D v
(both sides are integrals of its equation of motion). D is the one that rebounds alike.
"""

from __future__ import annotations

import glob
import math
from collections.abc import Callable
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.plant.model.material import Material

__all__ = [
    "MujocoMaterials",
    "damping_ratio",
    "hunt_crossley_dissipation",
    "materials_from_mujoco",
    "spring_of",
]

# Where gravity is off, loads are as on earth [m/s²].
_GRAVITY = 9.81
# Of a contact that takes up its load at no overlap at all, and of an endless dissipation.
_STIFFEST, _MOST_DISSIPATION = 1e12, 1e3
_SOFTEST_REBOUND = 1e-3


class _Spring(NamedTuple):
    """What ``solref`` and ``solimp`` say, for a mass of one."""

    stiffness: float
    """Of a geom of inverse mass 1 [N/m], at the overlap at which it carries its weight."""
    damping_ratio: float


def _root(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    # Loading it takes as long as all else that a simulation needs, and most need it never.
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=tolerance))


def impedance(solimp: np.ndarray, overlap: float) -> float:
    """MuJoCo's d(r)."""
    low, high, width, middle, power = (float(value) for value in solimp)
    low, high = (min(max(value, 1e-4), 0.9999) for value in (low, high))
    x = min(overlap / max(width, 1e-15), 1.0)
    middle, power = min(max(middle, 1e-4), 0.9999), max(power, 1.0)
    if x <= middle:
        y = x**power / middle ** (power - 1.0)
    else:
        y = 1.0 - (1.0 - x) ** power / (1.0 - middle) ** (power - 1.0)
    return low + y * (high - low)


def spring_of(
    solref: np.ndarray, solimp: np.ndarray, gravity: float, shortest: float = 0.0
) -> _Spring:
    """The spring of a mass of one under gravity [m/s²], by either meaning of ``solref``.

    MuJoCo raises a time constant that is shorter than two of its time steps, ``shortest`` [s].
    """
    first, second = (float(value) for value in solref)
    if first > 0.0:
        first = max(first, shortest)
    highest = impedance(solimp, math.inf)
    if first > 0.0:
        frequency, ratio = 1.0 / (highest * first * max(second, 1e-9)), second
        k = frequency**2  # to be multiplied by d(r)
    else:
        k = -first / highest**2
        ratio = -second / highest / (2.0 * math.sqrt(k)) if k > 0.0 else 1.0

    def excess(overlap: float) -> float:
        d = impedance(solimp, overlap)
        return d * d * k * overlap - (1.0 - d) * gravity

    deepest = max(1.0, 1e4 * gravity / max(k, 1e-9))
    overlap = _root(excess, 0.0, deepest, 1e-12)
    return _Spring(min(gravity / max(overlap, 1e-12), _STIFFEST), ratio)


def rebound(damping_ratio: float) -> float:
    """The share of its speed with which a mass on a spring and damper rebounds."""
    ratio = max(damping_ratio, 0.0)
    if ratio < 1.0:
        root = math.sqrt(1.0 - ratio * ratio)
        phase = math.atan2(2.0 * ratio * root, 2.0 * ratio * ratio - 1.0)
        return math.exp(-ratio / root * phase)
    root = math.sqrt(ratio * ratio - 1.0)
    # The limit of equal roots is exp(−2); of unlike ones the slower decides.
    phase = 2.0 if root < 1e-6 else ratio / root * math.log((ratio + root) / (ratio - root))
    return math.exp(-phase)


def damping_ratio(restitution: float) -> float:
    """The damping ratio of a spring and damper from which a mass rebounds at that share."""
    least = max(restitution, _SOFTEST_REBOUND)
    return 0.0 if least >= 1.0 else _root(lambda x: rebound(x) - least, 0.0, 1e3, 1e-12)


def hunt_crossley_dissipation(damping_ratio: float, speed: float) -> float:
    """The dissipation [s/m] that rebounds from a speed [m/s] as a spring and damper does."""
    if damping_ratio <= 0.0:
        return 0.0
    restitution = max(rebound(damping_ratio), _SOFTEST_REBOUND)

    def share(u: float) -> float:
        target = u - math.log1p(u)
        # Of r below one: −r − ln(1 − r) grows from nothing beyond all bounds.
        logarithm = _root(lambda x: x + math.expm1(-x) - target, 0.0, target + 1.0, 1e-14)
        return float(-math.expm1(-logarithm)) / u

    most = _MOST_DISSIPATION * speed
    if share(most) > restitution:
        return _MOST_DISSIPATION
    return _root(lambda u: share(u) - restitution, 1e-9, most, 1e-12) / speed


class MujocoMaterials(NamedTuple):
    """Fields of `ContactParameters`."""

    geoms: dict[str, Material]
    bodies: dict[str, Material]
    pairs: dict[tuple[str, str], Material]
    notes: tuple[str, ...]


def materials_from_mujoco(model: mujoco.MjModel, impact_speed: float) -> MujocoMaterials:
    """See `ContactParameters.from_mujoco`."""
    gravity = float(np.linalg.norm(model.opt.gravity)) or _GRAVITY
    notes: list[str] = []
    safe = not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_REFSAFE
    shortest = 2.0 * model.opt.timestep if safe else 0.0

    def material(solref: np.ndarray, solimp: np.ndarray, inverse_mass: float) -> Material:
        spring = spring_of(solref, solimp, gravity, shortest)
        return Material(
            stiffness=min(spring.stiffness / inverse_mass, _STIFFEST),
            dissipation=hunt_crossley_dissipation(spring.damping_ratio, impact_speed),
        )

    geoms: dict[str, Material] = {}
    bodies: dict[str, Material] = {}
    alike: set[bytes] = set()
    for body in range(model.nbody):
        weight = float(model.body_invweight0[body, 0])
        start = int(model.body_geomadr[body])
        own = [
            geom
            for geom in range(start, start + int(model.body_geomnum[body]))
            if model.geom_contype[geom] or model.geom_conaffinity[geom]
        ]
        if weight <= 0.0 or not own:
            continue
        values = {
            geom: material(model.geom_solref[geom], model.geom_solimp[geom], weight) for geom in own
        }
        alike.update(
            model.geom_solref[geom].tobytes() + model.geom_solimp[geom].tobytes() for geom in own
        )
        name = model.body(body).name
        if name:
            bodies[glob.escape(name)] = values[own[0]]
        for geom in own:
            known = values[own[0]] if name else None
            if values[geom] == known:
                continue
            if model.geom(geom).name:
                geoms[glob.escape(model.geom(geom).name)] = values[geom]
            else:
                where = f"of body {name!r} " if name else ""
                notes.append(
                    f"geom {geom} {where}has no name, so its contact parameters were not converted."
                )
    pairs = _pairs(model, material, notes)
    if len(alike) > 1:
        notes.append(
            "geoms have different solref or solimp, which MuJoCo averages for a pair; here they "
            "are springs in series."
        )
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT == 0 and (bodies or geoms):
        notes.append(
            "contact parameters are those of MuJoCo's solref and solimp: stiffness where a body "
            f"carries its own weight, dissipation by the rebound from {impact_speed:g} m/s."
        )
    return MujocoMaterials(geoms, bodies, pairs, tuple(notes))


def _pairs(
    model: mujoco.MjModel,
    material: Callable[[np.ndarray, np.ndarray, float], Material],
    notes: list[str],
) -> dict[tuple[str, str], Material]:
    """Of the model's ``<pair>`` elements."""
    pairs: dict[tuple[str, str], Material] = {}
    for pair in range(model.npair):
        first, second = int(model.pair_geom1[pair]), int(model.pair_geom2[pair])
        names = (model.geom(first).name, model.geom(second).name)
        if not all(names):
            notes.append(f"pair {pair} joins geoms without names, so it was not converted.")
            continue
        weight = sum(float(model.body_invweight0[model.geom_bodyid[g], 0]) for g in (first, second))
        if weight > 0.0:
            value = material(model.pair_solref[pair], model.pair_solimp[pair], weight)
            pairs[(glob.escape(names[0]), glob.escape(names[1]))] = value
    return pairs
