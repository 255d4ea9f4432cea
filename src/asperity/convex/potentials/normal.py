"""The Hunt–Crossley normal impulse of one step, which several laws share (CENIC IV-A, V-D).

With the elastic force f_e0 [N] before the step, without its positive part:

    n(v_n) = δt (f_e0 − δt k v_n)₊ (1 − d v_n)₊

It vanishes at and above the smaller root v̂ = min(f_e0/(δt k), 1/d), the ``cutoff``, and is a
polynomial of the speed p = (v̂ − v_n)₊ below it:

    n = p (G + C p),   −n' = G + 2 C p,   −∫ n = p² (G/2 + C p/3)
    G = δt |δt k − d f_e0|,   C = δt² k d

In numbers per contact: ``normal_slope`` = G and ``normal_bend`` = C.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled, inlined

__all__ = ["normal_impulse", "normal_numbers", "speed_of_impulse"]


@compiled
def normal_numbers(
    force: float, stiffness: float, dissipation: float, step: float
) -> tuple[float, float, float]:
    """``cutoff``, ``normal_slope`` and ``normal_bend`` of a contact with this elastic force [N]."""
    # The tiny terms keep k = 0 and d = 0 finite.
    cutoff = min(force / (step * stiffness + 1e-300), 1.0 / (dissipation + 1e-20))
    slope = step * abs(step * stiffness - dissipation * force)
    return cutoff, slope, step * step * stiffness * dissipation


@inlined
def normal_impulse(speed: float, slope: float, bend: float) -> tuple[float, float, float]:
    """n, −n' and −∫ n at a speed p ≥ 0 below the cutoff; −n' is that of contact at p = 0, too."""
    return (
        speed * (slope + bend * speed),
        slope + 2.0 * bend * speed,
        speed * speed * (0.5 * slope + bend * speed / 3.0),
    )


@inlined
def speed_of_impulse(impulse: float, slope: float, bend: float) -> float:
    """Speed p below the cutoff at which the normal impulse is this one, ≥ 0."""
    # The tiny term is for contacts without stiffness.
    return 2.0 * impulse / (slope + np.sqrt(slope * slope + 4.0 * bend * impulse) + 1e-300)
