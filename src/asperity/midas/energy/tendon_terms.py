"""Coordinates of fixed tendons, and what acts on them handed on to their joints.

A tendon's coordinate is L = Σ cᵢ θᵢ, so that an energy ψ(L) has the slopes cᵢ ψ′ by its joints and
the second derivatives cᵢ cⱼ ψ″.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["share_slopes", "tendon_coordinates"]


@compiled
def tendon_coordinates(engine: Table, angle: np.ndarray) -> None:
    """Fill the tendons' coordinates, which follow those of the joints."""
    for tendon in range(engine.joint_link.size, angle.size - engine.linear_value.size):
        value = 0.0
        for m in range(engine.member_start[tendon], engine.member_start[tendon + 1]):
            value += engine.member_weight[m] * angle[engine.member_joint[m]]
        angle[tendon] = value


@compiled
def share_slopes(engine: Table) -> None:
    """Add the tendons' ψ′ and the diagonal of their ψ″ to those of their joints."""
    for tendon in range(engine.joint_link.size, engine.joint_slope.size - engine.linear_value.size):
        for m in range(engine.member_start[tendon], engine.member_start[tendon + 1]):
            joint = engine.member_joint[m]
            weight = engine.member_weight[m]
            engine.joint_slope[joint] += weight * engine.joint_slope[tendon]
            engine.joint_stiffening[joint] += weight * weight * engine.joint_stiffening[tendon]
