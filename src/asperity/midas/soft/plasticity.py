"""Elements that yield: their shape at rest, and what flows at the end of a step.

With the plastic stretch U_p of an element (`asperity.soft.plasticity`) its energy is that of
F U_p⁻¹, so that its gradients at rest are U_p⁻¹ g. Cells resist what is beyond their mean strain as
before: linear deformations, of which U_p is one, do not change that.

With the singular values σ_i of F U_p⁻¹, its right singular vectors V, and the deviator e of ln σ_i,
flow begins where √(⅔ e : e) = ε_y, which is the same limit for small strains, and takes what is
beyond, share s of e, in its direction: C_p = U_p V exp(2 s e) Vᵀ U_p, without a change of volume.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.soft.strains import deform, diagonalize
from asperity.soft.plasticity import inverse, keep_plasticity, plastic_stretch, root

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
    half = soft.small[4]
    u = soft.small[5]
    for place in range(soft.yielding):
        deform(soft, soft.plastic_element[place], x)
        diagonalize(c, v)
        mean = 0.0
        for i in range(3):
            mean += math.log(c[i, i]) / 6.0
        square = 0.0
        for i in range(3):
            square += (0.5 * math.log(c[i, i]) - mean) ** 2
        strain = math.sqrt(2.0 / 3.0 * square)
        limit = soft.plastic_limit[place]
        if strain <= limit:
            continue
        share = 1.0 - limit / strain
        _, stretch = plastic_stretch(soft, plastic, place)
        for i in range(3):
            u[i, i] = stretch[i]
        u[0, 1] = u[1, 0] = stretch[3]
        u[1, 2] = u[2, 1] = stretch[4]
        u[2, 0] = u[0, 2] = stretch[5]
        for i in range(3):
            for j in range(3):
                grown[i, j] = 0.0
                for k in range(3):
                    more = math.exp(2.0 * share * (0.5 * math.log(c[k, k]) - mean))
                    grown[i, j] += v[i, k] * more * v[j, k]
        for i in range(3):
            for j in range(3):
                half[i, j] = 0.0
                for k in range(3):
                    half[i, j] += u[i, k] * grown[k, j]
        for i in range(3):
            for j in range(3):
                grown[i, j] = 0.0
                for k in range(3):
                    grown[i, j] += half[i, k] * u[k, j]
        tensor = (
            grown[0, 0],
            grown[1, 1],
            grown[2, 2],
            grown[0, 1],
            grown[1, 2],
            grown[2, 0],
        )
        squares = soft.plastic_squared[place] == 1
        keep_plasticity(soft, place, tensor if squares else root(tensor), plastic)
