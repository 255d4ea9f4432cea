"""Impacts by the law of Hunt and Crossley: what is conserved, and the speed of the rebound.

With the closing speed u, the overlap x, ω² = k w (w is the inverse mass along the normal) and the
acceleration a with which everything else presses the bodies together,

    u u' = a − ω² x (1 + d u).

While a is small against the force of the impact,

    C = G(u) + ½ ω² x² − a x,       G(u) = u/d − ln(1 + d u)/d²     (½ u² without dissipation)

does not change: a contact closes first with the speed p for which G(p) = C and parts with the speed
r for which G(−r) = C, if C is positive. So r < 1/d, however hard the impact.

Of linear dissipation, f = k (x + τ u)₊, the share of the speed that is left does not depend on it.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled

__all__ = ["approach_speed", "impact_energy", "linear_restitution", "rebound_speed"]

# d u below which three terms of a series are better than a difference of logarithms.
_SMALL = 1e-3


@compiled
def impact_energy(
    closing: float, overlap: float, square: float, dissipation: float, pressing: float
) -> float:
    """C per unit of mass [m²/s²]; −1 for what parts faster than the law lets it.

    Parameters
    ----------
    closing : float
        u [m/s].
    overlap : float
        x [m]; there is no force at a distance.
    square : float
        ω² [1/s²].
    dissipation : float
        d [s/m].
    pressing : float
        a ≥ 0 [m/s²].
    """
    share = dissipation * closing
    if share <= -1.0 + _SMALL:
        return -1.0
    if abs(share) < _SMALL:
        energy = closing * closing * (0.5 - share / 3.0)
    else:
        energy = (closing - np.log1p(share) / dissipation) / dissipation
    if overlap > 0.0:
        energy += overlap * (0.5 * square * overlap - pressing)
    return energy


@compiled
def rebound_speed(energy: float, dissipation: float) -> float:
    """The speed r [m/s] with which a contact of C > 0 parts."""
    elastic = np.sqrt(2.0 * energy)
    share = dissipation * elastic
    if share < _SMALL:
        return elastic * (1.0 - share / 3.0)
    # With z = −ln(1 − d r) it is z − 1 + exp(−z) = d² C, which Newton's method finds from above.
    scaled = 0.5 * share * share
    z = scaled + share
    for _ in range(5):
        z -= (z - 1.0 + np.exp(-z) - scaled) / (1.0 - np.exp(-z))
    return (1.0 - np.exp(-z)) / dissipation


@compiled
def approach_speed(energy: float, dissipation: float) -> float:
    """The speed p [m/s] with which a contact of C > 0 has begun."""
    elastic = np.sqrt(2.0 * energy)
    share = dissipation * elastic
    if share < _SMALL:
        return elastic * (1.0 + share / 3.0)
    # With z = ln(1 + d p) it is exp(z) − z − 1 = d² C, from above again.
    scaled = 0.5 * share * share
    z = np.log1p(share * (1.0 + share))
    for _ in range(6):
        z -= (np.exp(z) - z - 1.0 - scaled) / (np.exp(z) - 1.0)
    return (np.exp(z) - 1.0) / dissipation


@compiled
def linear_restitution(damping: float) -> float:
    """The share of its speed with which a contact of linear dissipation parts.

    Parameters
    ----------
    damping : float
        ζ = ω τ/2, with the relaxation time τ.

    Notes
    -----
    The contact ends where its force vanishes, not its overlap: T. Schwager and T. Pöschel,
    Coefficient of restitution and linear-dashpot model revisited, Granular Matter 9, 2007.
    """
    if damping < 1.0:
        root = np.sqrt(1.0 - damping * damping)
        angle = np.arctan2(2.0 * damping * root, 1.0 - 2.0 * damping * damping)
        return float(np.exp(-damping / root * (np.pi - angle)))
    if damping == 1.0:
        return float(np.exp(-2.0))
    root = np.sqrt(damping * damping - 1.0)
    return float(((damping + root) / (damping - root)) ** (-damping / root))
