"""Limits that a direction is about to reach, as contacts in `asperity.midas.newton.anticipation`.

Their barriers begin without curvature too: a joint that swings against its limit is halved towards
it, iteration by iteration, of all bodies.
"""

from __future__ import annotations

import math

from asperity.compiled import Table, compiled
from asperity.midas.energy.joint_terms import limit_barrier

__all__ = ["anticipate_limits", "forget_limits"]

# As in `asperity.midas.newton.anticipation`.
_DEPTH = 0.1
_LEAST = 1e-3
_CHANGE = 0.1
_GROWTH = 4.0


@compiled
def _force(ratio: float) -> float:
    """Dimensionless force at r, the gap over the barrier's width."""
    _, slope, _ = limit_barrier(ratio, 1.0)
    return -slope


@compiled
def _predicted_force(anchor: float, ratio: float) -> float:
    """The tangent at ``anchor``, at another ratio."""
    _, slope, curvature = limit_barrier(anchor, 1.0)
    return -(slope + curvature * (ratio - anchor))


@compiled
def _ratio_of(force: float) -> float:
    """Inverse of `_force`, which is 3 (1 − r)² near r = 1 and 1/r near 0."""
    ratio = 1.0 / (1.0 + math.sqrt(force / 3.0) + force)
    while _force(ratio) < force:
        ratio *= 0.5
    for _ in range(20):
        _, slope, curvature = limit_barrier(ratio, 1.0)
        step = (-slope - force) / curvature
        ratio += step
        if step < 1e-3 * (1.0 - ratio):
            break
    return min(ratio, 1.0 - 1e-9)


@compiled
def forget_limits(engine: Table) -> None:
    """Let all barriers of limits be linearized where they are."""
    for joint in range(engine.joint_anchor.shape[0]):
        engine.joint_anchor[joint, 0] = 0.0
        engine.joint_anchor[joint, 1] = 0.0


@compiled
def anticipate_limits(engine: Table) -> tuple[int, bool]:
    """Choose where limits are linearized, by the trial state.

    Returns how many have such an anchor, and whether one is new.
    """
    anchored = 0
    new = False
    for joint in range(engine.joint_now.size):
        width = engine.joint_activation[joint]
        for side in range(2):
            limit = engine.joint_limit[joint, side]
            if engine.joint_barrier[joint] == 0.0 or abs(limit) == math.inf:
                continue
            sign = 1.0 - 2.0 * side
            ratio = sign * (engine.joint_now[joint] - limit) / width
            ahead = sign * (engine.joint_trial[joint] - limit) / width
            anchor = engine.joint_anchor[joint, side]
            if anchor == 0.0:
                if ahead > 1.0 - _LEAST:
                    continue
                if ratio >= 1.0:
                    anchor = 1.0 - min(_DEPTH, 1.0 - ahead)
                else:
                    force = _predicted_force(ratio, ahead)
                    if force <= _GROWTH * _force(ratio):
                        continue
                    anchor = _ratio_of(force)
                new = True
            else:
                force = _predicted_force(anchor, ahead)
                better = _ratio_of(force) if force > 0.0 else 0.0
                if better == 0.0 or abs(better - anchor) > _CHANGE * (1.0 - better):
                    anchor = better
                    new = True
            engine.joint_anchor[joint, side] = anchor
            if anchor > 0.0:
                anchored += 1
    return anchored, new
