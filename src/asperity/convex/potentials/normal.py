"""The Hunt–Crossley normal impulse of one step, which several laws share (CENIC IV-A, V-D).

With the elastic force f_e0 [N] before the step, without its positive part:

    n(v_n) = δt (f_e0 − δt k v_n)₊ (1 − d v_n)₊

In numbers per contact: ``elastic`` = δt f_e0, ``slope`` = δt² k, ``dissipation`` = d, and
``cutoff`` = min(f_e0/(δt k), 1/d), the velocity at and above which n vanishes.
"""

from __future__ import annotations

from asperity.compiled import compiled

__all__ = ["normal_impulse", "normal_numbers"]


@compiled
def normal_numbers(force, stiffness, dissipation, step):
    """``elastic``, ``slope`` and ``cutoff`` of a contact with this elastic force [N]."""
    # The tiny terms keep k = 0 and d = 0 finite.
    cutoff = min(force / (step * stiffness + 1e-300), 1.0 / (dissipation + 1e-20))
    return step * force, step * step * stiffness, cutoff


@compiled
def normal_impulse(z, elastic, slope, dissipation, cutoff):
    """n(z), −n'(z), and the cost −∫ n, shifted to vanish without contact."""
    if z >= cutoff:
        return 0.0, 0.0, 0.0
    elastic_part = elastic - slope * z
    damping_part = 1.0 - dissipation * z
    mid = 0.5 * (cutoff + z)
    cost = (cutoff - z) * (
        elastic
        - (slope + dissipation * elastic) * mid
        + slope * dissipation * (cutoff * cutoff + cutoff * z + z * z) / 3.0
    )
    return elastic_part * damping_part, slope * damping_part + dissipation * elastic_part, cost
