"""Combination of two geoms' contact parameters into those of a contact.

A parameter's value for a contact comes from, in this order: a pair's own value; the geoms' own
values, combined; the default, which is the pair's value as it stands (or, for friction, MuJoCo's
combined coefficient when no default is given).

Two own values combine as follows (docs/equations.md, ‘Materials of two bodies’):

    stiffness     k = k_A k_B/(k_A + k_B)                         springs in series
    dissipation   d = (k_B d_A + k_A d_B)/(k_A + k_B)             the softer side dominates
    friction      μ = 2 μ_A μ_B/(μ_A + μ_B)                       static and dynamic separately
    stiction tolerance  the larger (looser) one
    relaxation time  τ = τ_A + τ_B                                linear dissipation (SAP)

One own value stands alone against a geom without one.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled, consistent

__all__ = [
    "DISSIPATION",
    "DYNAMIC_FRICTION",
    "PARAMETERS",
    "RELAXATION_TIME",
    "STATIC_FRICTION",
    "STICTION_TOLERANCE",
    "STIFFNESS",
    "UNSET",
    "combine",
    "combine_dissipation",
    "find_pair",
]

STIFFNESS = 0
DISSIPATION = 1
STATIC_FRICTION = 2
DYNAMIC_FRICTION = 3
STICTION_TOLERANCE = 4
RELAXATION_TIME = 5
PARAMETERS = 6

UNSET = -1.0
"""Marks a parameter without a value (all parameters are non-negative)."""


@compiled
def find_pair(keys: np.ndarray, key: int) -> int:
    """Index of a key in a sorted array, or −1."""
    low = 0
    high = keys.size
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < keys.size and keys[low] == key:
        return low
    return -1


@consistent
def _harmonic(a: float, b: float, default: float) -> float:
    if a < 0.0 and b < 0.0:
        return default
    if a < 0.0:
        return b
    if b < 0.0:
        return a
    return 2.0 * a * b / (a + b) if a + b > 0.0 else 0.0


@consistent
def combine(
    own: np.ndarray,
    pairs: np.ndarray,
    pair_keys: np.ndarray,
    default: np.ndarray,
    a: int,
    b: int,
    model_friction: float,
    out: np.ndarray,
) -> float:
    """Fill ``out`` with the contact's parameters.

    Parameters
    ----------
    own : array, shape (ngeom, 6)
        Values of geoms; ``UNSET`` where a geom has none.
    pairs, pair_keys : arrays, shapes (n, 6) and (n,)
        Values of pairs, and their sorted keys ``min(a, b) · ngeom + max(a, b)``.
    default : array, shape (6,)
    a, b : int
        The geoms.
    model_friction : float
        MuJoCo's coefficient for this contact.
    out : array, shape (6,)

    Returns
    -------
    float
        Share of side A in the contact's compliance, k/k_A: 0 for a rigid side A, ½ for equal sides.
    """
    k_a = own[a, STIFFNESS]
    k_b = own[b, STIFFNESS]
    share = 0.5
    if k_a < 0.0 and k_b < 0.0:
        out[STIFFNESS] = default[STIFFNESS]
    elif k_a < 0.0:
        out[STIFFNESS] = k_b
        share = 0.0
    elif k_b < 0.0:
        out[STIFFNESS] = k_a
        share = 1.0
    else:
        total = k_a + k_b
        out[STIFFNESS] = k_a * k_b / total if total > 0.0 else 0.0
        share = k_b / total if total > 0.0 else 0.5
    d_a = own[a, DISSIPATION]
    d_b = own[b, DISSIPATION]
    if d_a < 0.0 and d_b < 0.0:
        out[DISSIPATION] = default[DISSIPATION]
    elif d_a < 0.0:
        out[DISSIPATION] = d_b
    elif d_b < 0.0:
        out[DISSIPATION] = d_a
    else:
        out[DISSIPATION] = share * d_a + (1.0 - share) * d_b
    static = default[STATIC_FRICTION]
    if static < 0.0:
        static = model_friction
    static = _harmonic(own[a, STATIC_FRICTION], own[b, STATIC_FRICTION], static)
    dynamic = default[DYNAMIC_FRICTION]
    dynamic = _harmonic(own[a, DYNAMIC_FRICTION], own[b, DYNAMIC_FRICTION], dynamic)
    tolerance = max(own[a, STICTION_TOLERANCE], own[b, STICTION_TOLERANCE])
    out[STICTION_TOLERANCE] = default[STICTION_TOLERANCE] if tolerance < 0.0 else tolerance
    relaxation = max(own[a, RELAXATION_TIME], 0.0) + max(own[b, RELAXATION_TIME], 0.0)
    if own[a, RELAXATION_TIME] < 0.0 and own[b, RELAXATION_TIME] < 0.0:
        relaxation = default[RELAXATION_TIME]
    if pair_keys.size > 0:
        pair = find_pair(pair_keys, min(a, b) * own.shape[0] + max(a, b))
        if pair >= 0:
            if pairs[pair, STIFFNESS] >= 0.0:
                out[STIFFNESS] = pairs[pair, STIFFNESS]
            if pairs[pair, DISSIPATION] >= 0.0:
                out[DISSIPATION] = pairs[pair, DISSIPATION]
            if pairs[pair, STATIC_FRICTION] >= 0.0:
                static = pairs[pair, STATIC_FRICTION]
                dynamic = UNSET
            if pairs[pair, DYNAMIC_FRICTION] >= 0.0:
                dynamic = pairs[pair, DYNAMIC_FRICTION]
            if pairs[pair, STICTION_TOLERANCE] >= 0.0:
                out[STICTION_TOLERANCE] = pairs[pair, STICTION_TOLERANCE]
            if pairs[pair, RELAXATION_TIME] >= 0.0:
                relaxation = pairs[pair, RELAXATION_TIME]
    out[RELAXATION_TIME] = relaxation
    out[STATIC_FRICTION] = static
    # Without its own value dynamic friction is static friction, which it never exceeds.
    out[DYNAMIC_FRICTION] = static if dynamic < 0.0 else min(static, dynamic)
    return share


@compiled
def combine_dissipation(
    own: np.ndarray,
    pairs: np.ndarray,
    pair_keys: np.ndarray,
    default: np.ndarray,
    a: int,
    b: int,
    modulus_a: float,
    modulus_b: float,
) -> float:
    """Dissipation of two geoms with pressure fields [s/m].

    As in `combine`, with hydroelastic moduli (infinite of rigid geoms) in place of stiffness.
    """
    if pair_keys.size > 0:
        pair = find_pair(pair_keys, min(a, b) * own.shape[0] + max(a, b))
        if pair >= 0 and pairs[pair, DISSIPATION] >= 0.0:
            return pairs[pair, DISSIPATION]
    d_a = own[a, DISSIPATION]
    d_b = own[b, DISSIPATION]
    if d_a < 0.0 and d_b < 0.0:
        return default[DISSIPATION]
    if d_a < 0.0 or d_b < 0.0:
        return max(d_a, d_b)
    if np.isinf(modulus_a):
        return d_b
    if np.isinf(modulus_b):
        return d_a
    return (modulus_b * d_a + modulus_a * d_b) / (modulus_a + modulus_b)
