"""Coordinates of fixed tendons, and what acts on them handed on to their joints.

A tendon's coordinate is L = Σ cᵢ θᵢ, so that an energy ψ(L) has the slopes cᵢ ψ′ by its joints and
the second derivatives cᵢ cⱼ ψ″.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.midas.model.model_layout import JOINTS

__all__ = ["find_tendons", "share_slopes", "tendon_coordinates"]


@compiled
def tendon_coordinates(joints: Table, angle: np.ndarray) -> None:
    """Fill the tendons' coordinates, which follow those of the joints."""
    for tendon in range(joints.link.size, angle.size - joints.linear_value.size):
        value = 0.0
        for m in range(joints.member_start[tendon], joints.member_start[tendon + 1]):
            value += joints.member_weight[m] * angle[joints.member_joint[m]]
        angle[tendon] = value


@compiled_loop(types.void(JOINTS.type))
def find_tendons(joints: Table) -> None:
    """Fill the tendons' coordinates and rates."""
    tendon_coordinates(joints, joints.value)
    tendon_coordinates(joints, joints.rate)


@compiled
def share_slopes(joints: Table) -> None:
    """Add the tendons' ψ′ and the diagonal of their ψ″ to those of their joints."""
    for tendon in range(joints.link.size, joints.slope.size - joints.linear_value.size):
        for m in range(joints.member_start[tendon], joints.member_start[tendon + 1]):
            joint = joints.member_joint[m]
            weight = joints.member_weight[m]
            joints.slope[joint] += weight * joints.slope[tendon]
            joints.stiffening[joint] += weight * weight * joints.stiffening[tendon]
