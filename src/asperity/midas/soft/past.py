"""What rates of deformable bodies count from: strains of the past, by the scheme's weights.

Where a step has the velocity (x − x*)/h, with h its step of forces and x* = Σ w_k x_k of states of
the past (`asperity.midas.time.second_order`), the rate of a strain is (s − s*)/h with s* = Σ w_k
s(x_k). That of x* would be another one, of which a body that turns has some.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.soft.contacts import place
from asperity.midas.soft.edges import count_stretches
from asperity.midas.soft.elements import count_strains
from asperity.midas.soft.twists import count_twists

__all__ = ["count_past"]


@compiled
def _count(engine: Table, soft: Table, x: np.ndarray, angle: np.ndarray, weight: float) -> None:
    for v in range(x.shape[0]):
        for k in range(3):
            soft.past[v, k] += weight * x[v, k]
    count_strains(soft, x, weight)
    count_stretches(soft, x, weight)
    count_twists(engine, soft, x, angle, weight)


@compiled
def count_past(engine: Table, soft: Table) -> None:
    """Sum what changes count from, at the beginning of a step whose ``start`` is known."""
    joints = engine.joints
    levels = engine.time.past_levels
    one = engine.time.past_weight[0]
    two = engine.time.past_weight[1]
    soft.past[:] = 0.0
    soft.element_past[:] = 0.0
    soft.strand_past[:] = 0.0
    soft.twist_past[:] = 0.0
    _count(engine, soft, soft.start, joints.value, 1.0 + one + two)
    soft.ahead[:] = soft.start
    if levels > 0:
        place(soft, engine.poses.q_before, soft.trial)
        for v in range(soft.ahead.shape[0]):
            for k in range(3):
                soft.ahead[v, k] += soft.start[v, k] - soft.trial[v, k]
        _count(engine, soft, soft.trial, joints.before, -one)
    if levels == 2:
        place(soft, engine.poses.q_older, soft.trial)
        _count(engine, soft, soft.trial, joints.older, -two)
