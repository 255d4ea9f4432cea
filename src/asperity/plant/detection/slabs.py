"""Slabs of space, in which several threads find contacts (`shared_detection`).

They are cut along the axis in which bodies are spread farthest, with about as many geoms each, and
where few bodies reach across.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import load_address, load_double, load_int
from asperity.plant.detection.shared_detection_layout import BINS

__all__ = ["cut_slabs"]

_WORD = 8
# What a geom that a slab has more or less than others costs, in bodies that two slabs share.
_UNEVEN = 0.25
# What is not contact, in shares of the time that all contacts take, about: for free bodies, and
# with articulated ones.
_FREE_MOTION = 0.15
_MOTION = 0.4
_FAR = 1e300


@compiled
def _widest_axis(plant: Table, state: Table) -> tuple[int, float, float]:
    """The axis along which geoms of bodies that move are spread farthest, and their range."""
    best = 0
    begin = 0.0
    end = 0.0
    for axis in range(3):
        low = _FAR
        high = -_FAR
        for g in range(plant.geoms.body.size):
            if plant.bodies.tree[plant.geoms.body[g]] >= 0:
                x = state.mj_geom_xpos[g, axis]
                low = min(low, x)
                high = max(high, x)
        if high - low > end - begin:
            best = axis
            begin = low
            end = high
    return best, begin, end


@compiled
def _bound_bodies(plant: Table, state: Table, shared: Table, axis: int) -> None:
    """Fill where bodies begin and end, with their margins; planes and the world are everywhere."""
    model = shared.model
    radius = load_address(model + shared.at_geom_rbound)
    margin = load_address(model + shared.at_geom_margin)
    gap = load_address(model + shared.at_geom_gap)
    overridden = load_int(model + shared.at_flags) & shared.override != 0
    of_all = load_double(model + shared.at_margin)
    for body in range(shared.lower.size):
        shared.lower[body] = _FAR
        shared.upper[body] = -_FAR
    shared.lower[0] = -_FAR
    shared.upper[0] = _FAR
    for g in range(plant.geoms.body.size):
        body = plant.geoms.body[g]
        r = load_double(radius + _WORD * g)
        if r <= 0.0:
            shared.lower[body] = -_FAR
            shared.upper[body] = _FAR
        own = of_all if overridden else load_double(margin + _WORD * g)
        # No less than round-off, in which MuJoCo's tests may differ from these.
        r = r * (1.0 + 1e-9) + own + load_double(gap + _WORD * g) + 1e-9
        x = state.mj_geom_xpos[g, axis]
        shared.lower[body] = min(shared.lower[body], x - r)
        shared.upper[body] = max(shared.upper[body], x + r)


@compiled
def _fill_bins(
    plant: Table, state: Table, shared: Table, axis: int, begin: float, scale: float
) -> int:
    """Count geoms between places along the axis, and bodies that reach across each of them."""
    bins = shared.bins
    across = shared.across
    for k in range(BINS):
        bins[k] = 0
        across[k] = 0
    total = 0
    for g in range(plant.geoms.body.size):
        if plant.bodies.tree[plant.geoms.body[g]] >= 0:
            place = scale * (state.mj_geom_xpos[g, axis] - begin)
            # Positions that are not numbers are in none.
            if place >= 0.0 and place <= BINS:
                bins[min(int(place), BINS - 1)] += 1
                total += 1
    for body in range(plant.nbody):
        low = scale * (shared.lower[body] - begin)
        high = scale * (shared.upper[body] - begin)
        if plant.bodies.tree[body] >= 0 and low <= high and high - low < BINS:
            first = max(int(np.ceil(low)), 1)
            last = min(int(high), BINS - 1)
            if first <= last:
                across[first] += 1
                across[last + 1 if last < BINS - 1 else 0] -= 1
    for k in range(2, BINS):
        across[k] += across[k - 1]
    return total


@compiled
def cut_slabs(plant: Table, state: Table, shared: Table) -> None:
    """Cut space into slabs with about as many geoms each, where few bodies reach across.

    What does has contacts that are found in both slabs, to be left out in one. The first slab is
    smaller: whoever begins with what is not contact does it last.
    """
    axis, begin, end = _widest_axis(plant, state)
    _bound_bodies(plant, state, shared, axis)
    scale = BINS / (end - begin) if end > begin else 0.0
    total = _fill_bins(plant, state, shared, axis, begin, scale)
    after = 0
    lighter = _FREE_MOTION if plant.only_free_bodies else _MOTION
    for slab in range(shared.slabs - 1):
        wanted = total * (slab + 1 - lighter * (shared.slabs - slab - 1)) / shared.slabs
        best = np.inf
        before = after
        found = 0
        for k in range(1, BINS):
            found += shared.bins[k - 1]
            cost = shared.across[k] + _UNEVEN * abs(found - wanted)
            if k > before and cost < best:
                best = cost
                after = k
        shared.cut[slab] = begin + (end - begin) * after / BINS
    shared.cut[shared.slabs - 1] = np.inf
