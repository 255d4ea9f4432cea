"""Ground of many parts, as height fields: what stands, slides and lands on it."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import GRAVITY, Case, Contact, Simulate, World

__all__ = ["CASES"]

SLOPE = math.radians(15.0)
HALF = 4.0
FALL = 20.0


def _ground(points: int, slope: float, body: str, friction: float) -> World:
    """A body on ground of 8 by 8 m, which falls along x and is level with the origin there."""
    heights = HALF * math.tan(slope) * (1.0 - np.linspace(-1.0, 1.0, points))
    top = max(float(heights.max()), 1.0)
    rows = " ".join(f"{z / top:.9g}" for z in np.tile(heights, points))
    below = HALF * math.tan(slope)
    return World(
        f"<geom type='hfield' hfield='ground' pos='0 0 {-below:.17g}'/>"
        f"<body euler='0 {slope:.17g} 0'><freejoint/>{body}</body>",
        Contact(friction=friction),
        sections=f"<asset><hfield name='ground' nrow='{points}' ncol='{points}'"
        f" size='{HALF} {HALF} {top:.17g} 0.2' elevation='{rows}'/></asset>",
    )


def _above(height: float, slope: float) -> list[float]:
    """A pose so high above the slope at the origin."""
    half = 0.5 * slope
    normal = [height * math.sin(slope), 0.0, height * math.cos(slope)]
    return [*normal, math.cos(half), 0.0, math.sin(half), 0.0]


CYLINDER = "<geom type='cylinder' size='.1 .05' mass='1'/>"
BOX = "<geom type='box' size='.15 .1 .05' mass='1'/>"
BALL = "<geom size='.1' mass='1'/>"


def _stands(simulate: Simulate) -> float:
    run = simulate(_ground(9, SLOPE, CYLINDER, 0.5), 5.0, qpos=_above(0.05, SLOPE))
    late = run.time >= 1.0
    return 1000.0 * float(np.linalg.norm(run.qpos[-1, :3] - run.qpos[late][0, :3]))


def _slides(simulate: Simulate) -> float:
    start = _above(0.05, SLOPE)
    run = simulate(_ground(9, SLOPE, BOX, 0.1), 1.0, qpos=start)
    return float(np.linalg.norm(run.qpos[-1, :3] - start[:3]))


def _glides(simulate: Simulate) -> float:
    start = _above(0.05, 0.0)
    start[:2] = [-2.9, 0.013]
    run = simulate(_ground(41, 0.0, BOX, 0.0), 2.0, qpos=start, qvel=[2, 0, 0, 0, 0, 0])
    return float(run.qvel[-1, 0])


def _lands(simulate: Simulate) -> float:
    start = _above(1.0, 0.0)
    start[:2] = [0.3, -0.4]
    velocity = [0, 0, -FALL, 0, 0, 0]
    run = simulate(_ground(121, 0.0, BALL, 0.5), 5.0, qpos=start, qvel=velocity)
    return float(run.qpos[run.time >= 0.1, 2].min())


PLANKS, DECK = 16, 0.2


def _deck(simulate: Simulate) -> float:
    """How far a box comes on a floor of planks [m]."""
    planks = "".join(
        f"<geom type='box' size='{DECK / 2} .5 .05' pos='{DECK * i:.17g} 0 -.05'/>"
        for i in range(PLANKS)
    )
    world = World(
        f"{planks}<body><freejoint/><geom type='box' size='.1 .1 .05' mass='1'/></body>",
        Contact(friction=0.1),
    )
    run = simulate(world, 1.0, qpos=[0, 0, 0.05, 1, 0, 0, 0], qvel=[3, 0, 0, 0, 0, 0])
    return float(run.qpos[-1, 0])


CASES = (
    Case(
        "terrain-standing",
        "A cylinder stands on a height field that slopes by 15°, with cells of 1 m, μ = 0.5.",
        "way in 4 s [mm]",
        0.0,
        "0, because tan 15° is less than μ.",
        0.5,
        _stands,
    ),
    Case(
        "terrain-sliding",
        "A box slides down the same slope, μ = 0.1, from rest.",
        "way in a second [m]",
        0.5 * GRAVITY * (math.sin(SLOPE) - 0.1 * math.cos(SLOPE)),
        "½ g (sin α − μ cos α) t².",
        0.01,
        _slides,
        form=".4g",
    ),
    Case(
        "terrain-gliding",
        "A box glides at 2 m/s over a level height field with cells of 0.2 m, without friction.",
        "speed after 2 s [m/s]",
        2.0,
        "Nothing acts along level ground.",
        0.01,
        _glides,
        form=".4g",
    ),
    Case(
        "terrain-landing",
        "A ball falls at 20 m/s on a level height field with cells of 7 cm.",
        "least height from 0.1 to 5 s [m]",
        0.1,
        "The ball's radius: it is at rest, or comes back from a rebound.",
        0.01,
        _lands,
        form=".4g",
    ),
    Case(
        "planks",
        "A box slides at 3 m/s over a level floor of planks of 20 cm, μ = 0.1.",
        "way in a second [m]",
        3.0 - 0.5 * 0.1 * GRAVITY,
        "v t − ½ μ g t².",
        0.02,
        _deck,
        form=".4g",
    ),
)
