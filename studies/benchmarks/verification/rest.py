"""Rest and its limits: stacks, steps at rest, toppling, ladders."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from studies.benchmarks.verification.case import (
    GRAVITY,
    Case,
    Contact,
    NotApplicable,
    Simulate,
    World,
)

__all__ = ["CASES", "ladder", "resting_box", "stack", "tall_box"]

FLOOR = "<geom type='plane' size='9 9 1'/>"


def resting_box() -> World:
    """A box of 1 kg on a floor."""
    return World(
        f"{FLOOR}<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
    )


def _attempts(simulate: Simulate) -> float:
    run = simulate(resting_box(), 2.0)
    if run.attempts is None:
        raise NotApplicable("its steps are fixed")
    return float(run.attempts)


BOXES = 5


def stack() -> World:
    """Five boxes of 1 kg on each other."""
    boxes = "".join(
        f"<body pos='0 0 {0.1 + 0.2 * i:.17g}'><freejoint/>"
        "<geom type='box' size='.1 .1 .1' mass='1'/></body>"
        for i in range(BOXES)
    )
    return World(FLOOR + boxes)


def _drift(simulate: Simulate) -> float:
    run = simulate(stack(), 60.0)
    last = run.qpos[-1].reshape(BOXES, 7)
    start = run.qpos[np.searchsorted(run.time, 1.0)].reshape(BOXES, 7)
    return float(1e3 * np.max(np.linalg.norm(last[:, :3] - start[:, :3], axis=1)))


# -- thresholds ------------------------------------------------------------------------------------


def _threshold(low: float, high: float, gives_way: Callable[[float], bool], trials: int) -> float:
    """Bisect for the smallest value at which something gives way."""
    for _ in range(trials):
        middle = 0.5 * (low + high)
        if gives_way(middle):
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


WIDTH, HEIGHT = 0.1, 0.3


def tall_box(angle: float) -> World:
    """A box of 10 × 10 × 30 cm on a slope [rad] with friction enough to topple instead of slide."""
    return World(
        f"{FLOOR}<body pos='0 0 {0.5 * HEIGHT:.17g}'><freejoint/>"
        f"<geom type='box' size='{0.5 * WIDTH} {0.5 * WIDTH} {0.5 * HEIGHT}' mass='1'/></body>",
        # Hard: a sudden load on soft springs would overshoot.
        Contact(stiffness=1e7, friction=0.9),
        gravity=(GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle)),
    )


def _upright(quaternion: np.ndarray) -> float:
    """Cosine of the tilt."""
    return float(1 - 2 * (quaternion[1] ** 2 + quaternion[2] ** 2))


def _topples_at(simulate: Simulate) -> float:
    def topples(tangent: float) -> bool:
        run = simulate(tall_box(math.atan(tangent)), 3.0)
        return _upright(run.qpos[-1, 3:7]) < 0.8

    return _threshold(0.25, 0.45, topples, 6)


def _push_over(simulate: Simulate) -> float:
    """The least spin about the lower edge that brings the box over."""

    def topples(spin: float) -> bool:
        # The box turns about the edge at (w/2, 0).
        qvel = [spin * 0.5 * HEIGHT, 0, spin * 0.5 * WIDTH, 0, spin, 0]
        run = simulate(tall_box(0.0), 3.0, qvel=qvel)
        return _upright(run.qpos[-1, 3:7]) < 0.8

    return _threshold(0.5, 2.5, topples, 6)


def push_over() -> float:
    """The spin [rad/s] whose energy lifts the centre of mass over the edge."""
    diagonal = math.hypot(WIDTH, HEIGHT)
    inertia = (WIDTH**2 + HEIGHT**2) / 12 + diagonal**2 / 4
    return math.sqrt(2 * GRAVITY * 0.5 * (diagonal - HEIGHT) / inertia)


LADDER, LADDER_RADIUS = 1.0, 0.01


def ladder(angle: float) -> World:
    """A rod of a metre that leans against a wall at an angle to the floor, μ = 0.5."""
    x, z = 0.5 * LADDER * math.cos(angle), 0.5 * LADDER * math.sin(angle)
    wall = 2 * x + LADDER_RADIUS
    return World(
        f"{FLOOR}<geom type='plane' size='9 9 1' pos='{wall:.17g} 0 0' zaxis='-1 0 0'/>"
        f"<body pos='{x:.17g} 0 {z + LADDER_RADIUS:.17g}'>"
        "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
        "<joint axis='0 1 0'/>"
        f"<geom type='capsule' size='{LADDER_RADIUS}' "
        f"fromto='{-x:.17g} 0 {-z:.17g} {x:.17g} 0 {z:.17g}' mass='1'/></body>",
        Contact(stiffness=1e6),
    )


def _ladder(simulate: Simulate) -> float:
    def holds(degrees: float) -> bool:
        run = simulate(ladder(math.radians(degrees)), 2.0)
        return abs(float(run.qpos[-1, 2])) < 0.1

    return _threshold(30.0, 45.0, holds, 6)


def ladder_angle() -> float:
    """The least angle [°] at which it stays, from the balance of forces and of moments."""
    from scipy.optimize import brentq

    friction = 0.5
    floor = 1 / (1 + friction**2)
    wall = friction * floor

    def moment(angle: float) -> float:
        x, z = LADDER * math.cos(angle), LADDER * math.sin(angle)
        up = friction * wall * (x + LADDER_RADIUS)
        return wall * z + up + friction * floor * LADDER_RADIUS - 0.5 * x

    return math.degrees(brentq(moment, 0.2, 1.4))


# -- a rod that falls over -------------------------------------------------------------------------

ROD, ROD_RADIUS, ROD_TILT, ROD_TIME = 1.0, 0.01, 0.2, 0.4


def slippery_rod() -> World:
    """A rod of a metre and a kilogram that stands tilted on a floor without friction."""
    height = 0.5 * ROD * math.cos(ROD_TILT) + ROD_RADIUS
    return World(
        f"{FLOOR}<body pos='0 0 {height:.17g}'>"
        "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
        "<joint axis='0 1 0'/><inertial pos='0 0 0' mass='1' "
        f"diaginertia='{ROD**2 / 12} {ROD**2 / 12} 1e-4'/>"
        f"<geom type='capsule' size='{ROD_RADIUS}' fromto='0 0 {-0.5 * ROD} 0 0 {0.5 * ROD}'/>"
        "</body>",
        Contact(friction=0.0),
    )


def _falling_rod(simulate: Simulate) -> float:
    run = simulate(slippery_rod(), ROD_TIME, qpos=[0, 0, ROD_TILT])
    return float(run.qpos[-1, 2])


def falling_rod() -> float:
    """Tilt [rad] of a rod whose end slides without friction, its middle straight downwards."""
    from scipy.integrate import solve_ivp

    half, inertia = 0.5 * ROD, ROD**2 / 12

    def rate(_: float, state: np.ndarray) -> list[float]:
        angle, spin = state
        sine, cosine = math.sin(angle), math.cos(angle)
        force = GRAVITY * half * sine - half**2 * sine * cosine * spin**2
        return [spin, force / (inertia + half**2 * sine**2)]

    run = solve_ivp(rate, (0, ROD_TIME), [ROD_TILT, 0], method="DOP853", rtol=1e-11, atol=1e-11)
    return float(run.y[0, -1])


CASES = (
    Case(
        "box-at-rest",
        "A box stands on a floor for 2 s.",
        "steps and rejected steps",
        22.0,
        "two seconds in steps of at most 0.1 s, and a few to begin with.",
        10.0,
        _attempts,
        form=".0f",
    ),
    Case(
        "stack-at-rest",
        "Five boxes stand on each other for a minute.",
        "largest motion after the first second [mm]",
        0.0,
        "0, equilibrium.",
        0.5,
        _drift,
        slow=True,
        form=".2g",
    ),
    Case(
        "toppling-slope",
        "A box three times as high as wide stands on slopes, μ = 0.9.",
        "tangent of the toppling slope",
        WIDTH / HEIGHT,
        "1/3: the centre of mass is above the edge.",
        0.006,
        _topples_at,
    ),
    Case(
        "toppling-push",
        "The same box on the level is given a spin about an edge.",
        "least spin that topples [rad/s]",
        push_over(),
        "energy: the centre of mass must pass above the edge.",
        0.05,
        _push_over,
    ),
    Case(
        "falling-rod",
        f"A rod that stands tilted by {ROD_TILT:g} rad on a floor without friction falls over.",
        f"tilt after {ROD_TIME:g} s [rad]",
        falling_rod(),
        "its one equation of motion, scipy's DOP853, tolerance 10⁻¹¹.",
        0.02,
        _falling_rod,
    ),
    Case(
        "ladder",
        "A rod leans between floor and wall, μ = 0.5 on both.",
        "least angle that holds for 2 s [°]",
        ladder_angle(),
        "balance of forces and moments with both frictions at their limits.",
        0.7,
        _ladder,
    ),
)
