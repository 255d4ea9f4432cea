"""Which geoms come near enough to one another between two samples for `sweep`.

Most pairs of a model are far apart. Each geom gets an interval along one axis such that the
intervals of two geoms overlap if they may meet; sorted by their lower ends, only overlapping ones
are looked at. The order of the last time is nearly that of this one, and decides nothing but cost.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Layout, Table, compiled

__all__ = ["SWEEP", "cannot_pass", "find_motion", "new_sweep", "order_geoms", "save_poses"]

SWEEP = Layout(
    "motion of geoms between two samples",
    # poses at the sample before
    position="f8[geoms, 3]",
    rotation="f8[geoms, 9]",
    # of geoms that collide with any: how far its rotation moves points at unit distance; 1 if it
    # moves beyond itself; its interval along the axis, empty of other geoms
    turn="f8[geoms]",
    moves="i8[geoms]",
    low="f8[geoms] = inf",
    high="f8[geoms] = -inf",
    order="i8[:]",  # all geoms, by the lower ends of their intervals
    axis="i8",
)

# Turn beyond which the frame of a geom says nothing about where others are.
_LARGEST_TURN = 0.5
# Spread along another axis, over that along the one in use, from which it is worth a new order.
_MUCH_WIDER = 2.0


def new_sweep(plant: Table) -> Table:
    """Make the memory for a plant."""
    ngeom = len(plant.geoms.inner_radius)
    return Table(SWEEP, geoms=ngeom, order=np.arange(ngeom))


@compiled
def save_poses(state: Table, sweep: Table) -> None:
    """Copy the geoms' poses at an evaluated state."""
    position = sweep.position
    rotation = sweep.rotation
    for g in range(position.shape[0]):
        for a in range(3):
            position[g, a] = state.mj_geom_xpos[g, a]
        for a in range(9):
            rotation[g, a] = state.mj_geom_xmat[g, a]


@compiled
def _turn(g: int, rotation: np.ndarray, xmat: np.ndarray) -> float:
    """‖R − R_0‖ of a geom: how far points at unit distance have moved by its rotation."""
    turn = 0.0
    for a in range(9):
        change = xmat[g, a] - rotation[g, a]
        turn += change * change
    return np.sqrt(0.5 * turn)


@compiled
def find_motion(plant: Table, sweep: Table, state: Table) -> bool:
    """Whether geoms that collide move beyond themselves, which is marked, with their turns."""
    geoms = plant.geoms
    xpos = state.mj_geom_xpos
    found = False
    for k in range(geoms.colliding.size):
        g = geoms.colliding[k]
        square = 0.0
        for a in range(3):
            step = xpos[g, a] - sweep.position[g, a]
            square += step * step
        turn = _turn(g, sweep.rotation, state.mj_geom_xmat)
        sweep.turn[g] = turn
        # ‖R − R_0‖_F = √2 · 2 sin(θ/2), and a point at distance r moves by 2 r sin(θ/2).
        travel = np.sqrt(square) + turn * geoms.reach[g]
        sweep.moves[g] = 1 if travel > geoms.inner_radius[g] else 0
        found |= sweep.moves[g] == 1
    return found


@compiled
def cannot_pass(plant: Table, a: int, b: int, sweep: Table, state: Table) -> bool:
    """Whether two geoms are too far apart, or move too little, for one to go through the other.

    In the frame of one, the other's moves by no more than their difference y does, and its rotation
    takes y. A centre whose path there is no longer than both inner radii goes through nothing.
    """
    geoms = plant.geoms
    position = sweep.position
    xpos = state.mj_geom_xpos
    square = 0.0
    moved = 0.0
    for k in range(3):
        before = position[a, k] - position[b, k]
        change = xpos[a, k] - xpos[b, k] - before
        square += before * before
        moved += change * change
    distance = np.sqrt(square)
    moved = np.sqrt(moved)
    turn = max(sweep.turn[a], sweep.turn[b])
    if (1.0 - turn) * distance > moved + geoms.extent[a] + geoms.extent[b]:
        return True
    path = moved + turn * (distance + 2.0 * (geoms.offset[a] + geoms.offset[b]))
    return path <= geoms.inner_radius[a] + geoms.inner_radius[b]


@compiled
def _mean_motion(plant: Table, sweep: Table, state: Table) -> tuple[float, float, float]:
    """Mean displacement of geoms: what falls side by side does not move relative to it."""
    x = y = z = 0.0
    colliding = plant.geoms.colliding
    for k in range(colliding.size):
        g = colliding[k]
        x += state.mj_geom_xpos[g, 0] - sweep.position[g, 0]
        y += state.mj_geom_xpos[g, 1] - sweep.position[g, 1]
        z += state.mj_geom_xpos[g, 2] - sweep.position[g, 2]
    share = 1.0 / colliding.size
    return share * x, share * y, share * z


@compiled
def _choose_axis(plant: Table, sweep: Table) -> None:
    """Let the axis be one along which geoms are spread, and no other one without need."""
    colliding = plant.geoms.colliding
    widest = sweep.axis
    width = 0.0
    for turn in range(3):
        axis = (sweep.axis + turn) % 3
        low = np.inf
        high = -np.inf
        for k in range(colliding.size):
            x = sweep.position[colliding[k], axis]
            low = min(low, x)
            high = max(high, x)
        if turn == 0:
            width = _MUCH_WIDER * (high - low)
        elif high - low > width:
            width = high - low
            widest = axis
    sweep.axis = widest


@compiled
def order_geoms(plant: Table, sweep: Table, state: Table) -> None:
    """Fill and sort the geoms' intervals, of which two overlap unless `cannot_pass` holds.

    Which geoms move beyond themselves is marked anew, relative to the mean of all. With y_0 the
    distance of two frames before, d_a and d_b their displacements and s_a and s_b their extents,
    what is not too far apart has

        (1 − turn) |y_0| ≤ |d_a| + |d_b| + s_a + s_b.
    """
    geoms = plant.geoms
    colliding = geoms.colliding
    position = sweep.position
    xpos = state.mj_geom_xpos
    _choose_axis(plant, sweep)
    x, y, z = _mean_motion(plant, sweep, state)
    largest = 0.0
    for k in range(colliding.size):
        turn = sweep.turn[colliding[k]]
        if turn <= _LARGEST_TURN:
            largest = max(largest, turn)
    growth = 1.0001 / (1.0 - largest)
    for k in range(colliding.size):
        g = colliding[k]
        reach = np.inf
        sweep.moves[g] = 1
        if sweep.turn[g] <= _LARGEST_TURN:
            u = xpos[g, 0] - position[g, 0] - x
            v = xpos[g, 1] - position[g, 1] - y
            w = xpos[g, 2] - position[g, 2] - z
            moved = np.sqrt(u * u + v * v + w * w)
            reach = growth * (moved + geoms.extent[g])
            travel = moved + sweep.turn[g] * geoms.reach[g]
            sweep.moves[g] = 1 if travel > geoms.inner_radius[g] else 0
        sweep.low[g] = position[g, sweep.axis] - reach
        sweep.high[g] = position[g, sweep.axis] + reach
    order = sweep.order
    for i in range(1, order.size):
        g = order[i]
        low = sweep.low[g]
        j = i - 1
        while j >= 0 and sweep.low[order[j]] > low:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = g
