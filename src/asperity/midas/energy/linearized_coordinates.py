"""Linearized coordinates L = L₀ + g·(z − z₀), and what acts on them handed on to the variables.

An energy ψ(L) has the gradient ψ′ g and the Hessian ψ″ g gᵀ.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["linearized_coordinates"]


@compiled
def linearized_coordinates(joints: Table, z: np.ndarray, out: np.ndarray) -> None:
    """Fill the coordinates that are linear over a step."""
    for i in range(joints.linear_value.size):
        value = joints.linear_value[i]
        for m in range(joints.linear_start[i], joints.linear_start[i + 1]):
            value += joints.linear_slope[m] * (
                z[joints.linear_variable[m]] - joints.linear_origin[m]
            )
        out[out.size - joints.linear_value.size + i] = value
