"""Impacts of volumes that deform, of which waves go through them.

A bar that hits a wall with its end leaves it when the wave of compression has come back, and one
that hits an equal bar leaves it its speed (Saint-Venant, 1867). Of a bar of a few layers some of
the energy stays in vibrations.
"""

from __future__ import annotations

import numpy as np

from studies.benchmarks.verification.case import Array, Case, Contact, Record, Simulate, World
from studies.benchmarks.verification.flexes import flex, speeds
from studies.benchmarks.verification.soft_bodies import FLOOR, WEIGHTLESS, elastic

__all__ = ["CASES", "bounced_speed", "collided_speed"]

HIT_CELLS, HIT_EDGE, HIT_AREA, HIT_LAYER, HIT_YOUNG = 10, 0.05, 0.05**2, 0.05, 1e6
HARD = Contact(friction=0.0, solref=(1e-3, 1.0))


def _upright(name: str, bottom: float) -> str:
    """A bar of 0.5 m along z, whose first layer of vertices is at a height."""
    return flex(
        name,
        (2, 2, HIT_CELLS + 1),
        HIT_EDGE,
        mass=HIT_LAYER * (HIT_CELLS + 1),
        at=(0.0, 0.0, bottom + 0.5 * HIT_CELLS * HIT_EDGE),
        inner=elastic(HIT_YOUNG),
        friction=0.0,
    )


def _bounces(simulate: Simulate) -> float:
    world = World(FLOOR + _upright("bar", 5e-3), HARD, gravity=WEIGHTLESS, deformable=True)
    start = np.zeros(world.model().nv)
    start[2::3] = -1.0
    run = simulate(world, 0.05, qvel=start)
    return _mean_speed(run)


def _mean_speed(run: Record) -> float:
    """Of the last bar at the end, upwards [m/s]."""
    last = 4 * (HIT_CELLS + 1)
    return float(speeds(run, run.time[-1])[0, -last:, 2].mean())


def _collide(simulate: Simulate) -> float:
    length = HIT_CELLS * HIT_EDGE
    world = World(
        _upright("one", 0.0) + _upright("two", length + 5e-3),
        HARD,
        gravity=WEIGHTLESS,
        deformable=True,
    )
    start = np.zeros(world.model().nv)
    start[2 : len(start) // 2 : 3] = 1.0
    return _mean_speed(simulate(world, 0.05, qvel=start))


def _hit(bars: int) -> float:
    """Mean speed of the last bar after an impact [m/s], of layers in a row that springs connect.

    The ends meet in the contact of the world, four vertices at once.
    """
    from scipy.integrate import solve_ivp

    count = HIT_CELLS + 1
    spring = HIT_YOUNG * HIT_AREA / HIT_EDGE

    def rate(_: float, state: Array) -> Array:
        place, speed = np.split(state, 2)
        force = np.zeros(len(place))
        for first in range(0, len(place), count):
            pull = spring * np.diff(place[first : first + count])
            force[first : first + count - 1] += pull
            force[first + 1 : first + count] -= pull
        depth = place[count - 1] - place[count] if bars == 2 else -place[0]
        closing = speed[count - 1] - speed[count] if bars == 2 else -speed[0]
        push = max(4e5 * depth * (1.0 + HARD.dissipation * closing), 0.0) if depth > 0.0 else 0.0
        if bars == 2:
            force[count - 1] -= push
            force[count] += push
        else:
            force[0] += push
        return np.concatenate([speed, force / HIT_LAYER])

    start = np.zeros(2 * bars * count)
    start[bars * count :][:count] = 1.0 if bars == 2 else -1.0
    run = solve_ivp(rate, (0, 0.05), start, rtol=1e-8, atol=1e-10, max_step=1e-4)
    return float(run.y[-count:, -1].mean())


def bounced_speed() -> float:
    """Of a bar that has hit a floor at 1 m/s."""
    return _hit(1)


def collided_speed() -> float:
    """Of a bar at rest that another one has hit at 1 m/s."""
    return _hit(2)


# Of these functions, which take a second.
BOUNCED, COLLIDED = 0.9003, 0.9487

CASES = (
    Case(
        "soft-bounce",
        "A soft bar of 0.5 m and 1 MPa hits a floor at 1 m/s with its end.",
        "speed of its middle afterwards [m/s]",
        BOUNCED,
        "its layers as masses in a row and the contact's law, scipy's RK45, tolerance 10⁻⁸. A bar "
        "of infinitely many layers has 1 (Saint-Venant); one that sticks to the floor 0.888.",
        0.02,
        _bounces,
        form=".4g",
    ),
    Case(
        "soft-collision",
        "The bar hits the end of another one, which is at rest, at 1 m/s.",
        "speed of the other one afterwards [m/s]",
        COLLIDED,
        "the same for two bars. Saint-Venant's rods exchange their speeds.",
        0.02,
        _collide,
        form=".4g",
    ),
)
