"""Linearized coordinates L = L₀ + g·(z − z₀), and what acts on them handed on to the variables.

An energy ψ(L) has the gradient ψ′ g and the Hessian ψ″ g gᵀ.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["linearized_coordinates"]


@compiled
def linearized_coordinates(engine: Table, z: np.ndarray, out: np.ndarray) -> None:
    """Fill the coordinates that are linear over a step."""
    for i in range(engine.joints.linear_value.size):
        value = engine.joints.linear_value[i]
        for m in range(engine.joints.linear_start[i], engine.joints.linear_start[i + 1]):
            value += engine.joints.linear_slope[m] * (
                z[engine.joints.linear_variable[m]] - engine.joints.linear_origin[m]
            )
        out[out.size - engine.joints.linear_value.size + i] = value
