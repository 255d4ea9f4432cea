"""Elements that yield: their shape at rest, and what flows at the end of a step.

With the plastic stretch U_p of an element (`asperity.soft.plasticity`) its energy is that of
F U_p⁻¹, so that its gradients at rest are U_p⁻¹ g. Cells resist what is beyond their mean strain as
before: linear deformations, of which U_p is one, do not change that.

With the singular values σ_i of F U_p⁻¹ and its right singular vectors V, flow begins where strains
ln σ_i reach the limit of `asperity.soft.plasticity`, which is the same for small ones, and takes
what is beyond, Δ_i: C_p = U_p V exp(2 Δ) Vᵀ U_p. Of volumes it has no trace, and det C_p stays.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.soft.strains import deform, diagonalize
from asperity.soft.flow import between, flow_of, keep_plasticity
from asperity.soft.folds import flow_of_folds
from asperity.soft.plasticity import inverse, plastic_stretch, root

__all__ = ["flow", "set_rest_shapes"]


@compiled
def set_rest_shapes(soft: Table, plastic: np.ndarray) -> None:
    """Give elements the gradients of their shapes at rest."""
    for place in range(soft.yielding):
        found, stretch = plastic_stretch(soft, plastic, place)
        a, b, c, d, e, f = inverse(stretch)
        for k in range(soft.shaped_first[place], soft.shaped_first[place + 1]):
            old = soft.shaped_gradient[k]
            new = soft.element_gradient[soft.shaped[k]]
            for corner in range(old.shape[0]):
                x, y, z = old[corner, 0], old[corner, 1], old[corner, 2]
                new[corner, 0] = a * x + d * y + f * z if found else x
                new[corner, 1] = d * x + b * y + e * z if found else y
                new[corner, 2] = f * x + e * y + c * z if found else z


@compiled
def flow(soft: Table, x: np.ndarray, plastic: np.ndarray) -> None:
    """Add what flows at positions, of vertices, to what is plastic."""
    c = soft.small[1]
    v = soft.small[2]
    grown = soft.small[3]
    for place in range(soft.yielding):
        deform(soft, soft.plastic_element[place], x)
        diagonalize(c, v)
        strain = (
            0.5 * math.log(c[0, 0]),
            0.5 * math.log(c[1, 1]),
            0.5 * math.log(c[2, 2]),
            0.0,
            0.0,
            0.0,
        )
        more = flow_of(strain, soft.plastic_plane[place], soft.plastic_limit[place])
        if more[0] == 0.0 and more[1] == 0.0 and more[2] == 0.0:
            continue
        for i in range(3):
            for j in range(3):
                grown[i, j] = 0.0
                for k in range(3):
                    grown[i, j] += v[i, k] * math.exp(2.0 * more[k]) * v[j, k]
        _, stretch = plastic_stretch(soft, plastic, place)
        tensor = between(
            stretch,
            (grown[0, 0], grown[1, 1], grown[2, 2], grown[0, 1], grown[1, 2], grown[2, 0]),
        )
        squares = soft.plastic_squared[place] == 1
        keep_plasticity(soft, place, tensor if squares else root(tensor), plastic)
    flow_of_folds(soft, x, plastic, soft.fold_work, plastic)
