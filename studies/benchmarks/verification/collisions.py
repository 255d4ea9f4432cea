"""Elastic collisions with more than two partners or more than one direction."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import GRAVITY, Case, Contact, Simulate, World

__all__ = ["CASES", "corner", "rack", "rod_and_ball"]

ELASTIC = Contact(dissipation=0.0, friction=0.0, solref=(-1e5, 0.0))
WEIGHTLESS = (0.0, 0.0, 0.0)

ROD_MASS, ROD_HALF, OFF, BALL = 2.0, 0.5, 0.3, 0.5
ROD_INERTIA = ROD_MASS * (ROD_HALF**2 + 0.02**2) / 3


def rod_and_ball() -> World:
    """A rod of 2 kg and 1 m, and a ball of 500 g beside it, 30 cm from its middle."""
    return World(
        f"<body><freejoint/><geom type='box' size='.02 {ROD_HALF} .02' mass='{ROD_MASS}'/></body>"
        f"<body pos='-.2 {OFF} 0'><freejoint/><geom size='.05' mass='{BALL}'/></body>",
        ELASTIC,
        gravity=WEIGHTLESS,
    )


def rod_spin() -> float:
    """Of a rod that an elastic ball hits at 1 m/s [rad/s]: twice the impulse of a plastic one."""
    impulse = 2.0 / (1 / BALL + 1 / ROD_MASS + OFF**2 / ROD_INERTIA)
    return -impulse * OFF / ROD_INERTIA


def _struck_rod(simulate: Simulate) -> float:
    run = simulate(rod_and_ball(), 0.3, qvel=[0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0])
    return float(run.qvel[-1, 5])


def corner() -> World:
    """A ball in a corner of three planes."""
    return World(
        "<geom type='plane' size='9 9 1'/>"
        f"<geom type='plane' size='9 9 1' euler='0 {math.pi / 2:.17g} 0'/>"
        f"<geom type='plane' size='9 9 1' euler='{-math.pi / 2:.17g} 0 0'/>"
        "<body pos='.5 .5 .5'><freejoint/><geom size='.1' mass='1'/></body>",
        ELASTIC,
        gravity=WEIGHTLESS,
    )


CORNER_VELOCITY = np.array([-1.0, -1.3, -0.8])


def _corner(simulate: Simulate) -> float:
    run = simulate(corner(), 1.5, qvel=[*CORNER_VELOCITY, 0, 0, 0])
    after = run.qvel[-1, :3]
    return float(after @ CORNER_VELOCITY / (CORNER_VELOCITY @ CORNER_VELOCITY))


ROWS = 4


def rack() -> World:
    """Ten balls in a triangle, with gaps of a millimetre, and one that comes; all on a plane."""
    balls = ""
    spacing = 0.1 + 1e-3
    places = [(-0.3, 0.004)]
    for row in range(ROWS):
        for i in range(row + 1):
            places.append((row * spacing * math.sqrt(0.75), (i - 0.5 * row) * spacing))
    for x, y in places:
        balls += (
            f"<body pos='{x:.17g} {y:.17g} 0'><joint type='slide' axis='1 0 0'/>"
            "<joint type='slide' axis='0 1 0'/><geom size='.05' mass='1'/></body>"
        )
    return World(balls, ELASTIC, gravity=WEIGHTLESS)


def _break(simulate: Simulate) -> float:
    still = np.zeros(2 * 11)
    still[0] = 2.0
    run = simulate(rack(), 0.5, qvel=still)
    return float(np.sum(run.qvel[-1] ** 2) / 4.0)


BIG, SMALL = 1.0, 0.1


def _stacked_drop(simulate: Simulate) -> float:
    """How fast the upper of two falling balls leaves the lower one [m/s]."""
    world = World(
        "<geom type='plane' size='9 9 1'/>"
        "<body pos='0 0 .3'><joint type='slide' axis='0 0 1'/>"
        f"<geom size='.1' mass='{BIG}'/></body>"
        "<body pos='0 0 .5'><joint type='slide' axis='0 0 1'/>"
        f"<geom size='.05' mass='{SMALL}'/></body>",
        ELASTIC,
        gravity=WEIGHTLESS,
    )
    return float(simulate(world, 0.4, qvel=[-2.0, -2.0]).qvel[-1, 1])


def stacked_speed() -> float:
    """Of the upper ball: the lower one has turned round before they meet [m/s]."""
    return 2.0 * (3 * BIG - SMALL) / (BIG + SMALL)


BOUNCES, DROP = 5, 0.3


def bounce_time() -> float:
    """When a ball of 1 kg leaves the floor for the fifth time [s].

    A bounce on a spring of k = 10⁵ N/m is part of a swing about the depth m g/k, at ω = √(k/m),
    and takes 2 (π − atan(ω v/g))/ω.
    """
    speed = math.sqrt(2 * GRAVITY * DROP)
    omega = math.sqrt(1e5)
    bounce = 2 * (math.pi - math.atan(omega * speed / GRAVITY)) / omega
    return speed / GRAVITY * (2 * BOUNCES - 1) + BOUNCES * bounce


def _bounces(simulate: Simulate) -> float:
    """When a ball leaves the floor for the fifth time [s]."""
    world = World(
        "<geom type='plane' size='9 9 1'/><body pos='0 0 .4'><joint type='slide' axis='0 0 1'/>"
        "<geom size='.1' mass='1'/></body>",
        ELASTIC,
    )
    run = simulate(world, 3.0)
    place = run.qpos[:, 0] + DROP
    up = np.flatnonzero((place[:-1] < 0.0) & (place[1:] >= 0.0))
    if len(up) < BOUNCES:
        return math.inf
    i = int(up[BOUNCES - 1])
    share = place[i] / (place[i] - place[i + 1])
    return float(run.time[i] + share * (run.time[i + 1] - run.time[i]))


CASES = (
    Case(
        "struck-rod",
        "An elastic ball of 500 g hits a free rod of 2 kg at 1 m/s, 30 cm from its middle.",
        "spin of the rod [rad/s]",
        rod_spin(),
        "momentum, angular momentum and energy.",
        0.02,
        _struck_rod,
        form=".4g",
    ),
    Case(
        "corner",
        "An elastic ball bounces out of a corner of three planes.",
        "velocity after the corner, over that before",
        -1.0,
        "each plane turns one component round.",
        0.02,
        _corner,
        form=".4g",
    ),
    Case(
        "break",
        "A ball hits ten others in a triangle, elastic and without friction.",
        "E/E₀",
        1.0,
        "energy is conserved.",
        0.02,
        _break,
        form=".4g",
    ),
    Case(
        "stacked-drop",
        "A ball of 100 g follows one of 1 kg to the floor at 2 m/s, both elastic.",
        "speed of the upper ball's rebound [m/s]",
        stacked_speed(),
        "two collisions one after the other, v (3 M − m)/(M + m).",
        0.1,
        _stacked_drop,
        form=".4g",
    ),
    Case(
        "bounce-series",
        "An elastic ball falls from 0.3 m and bounces.",
        "end of the fifth bounce [s]",
        bounce_time(),
        "flight, and parts of swings on the contact's spring.",
        0.02,
        _bounces,
        form=".4g",
    ),
)
