"""Driven and braked by friction: boards, spools, drums, wheels, and blocks on springs."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import GRAVITY, Case, Contact, Simulate, World
from studies.benchmarks.verification.oscillators import mean_period

__all__ = ["CASES", "ball_on_board", "brake", "friction_wheels", "spool"]

FLOOR = "<geom type='plane' size='90 90 1'/>"

# -- rolling that is driven ------------------------------------------------------------------------

BOARD = 2.0
"""Force per kilogram on the board [m/s²]."""


def ball_on_board() -> World:
    """A ball of 100 g on a very heavy board that is pulled with 2 m/s²."""
    sunk = 0.1 * GRAVITY / 1e5
    return World(
        "<body><joint name='board' type='slide' axis='1 0 0'/>"
        "<geom type='box' size='5 1 .05' pos='0 0 -.05' mass='1e4'/></body>"
        f"<body pos='0 0 {0.05 - sunk:.17g}'><freejoint/><geom size='.05' mass='.1'/></body>",
        sections="<actuator><motor joint='board'/></actuator>",
    )


def _carried(simulate: Simulate) -> float:
    run = simulate(ball_on_board(), 1.0, drive=lambda _: [BOARD * 1e4], period=0.5)
    return float(run.qvel[-1, 1])


AXLE, RIM, SPOOL = 0.03, 0.1, 4e-3


def spool() -> World:
    """A spool of 1 kg, 10 cm and 4·10⁻³ kg m² on a floor, μ = 1."""
    return World(
        f"{FLOOR}<body name='spool' pos='0 0 {RIM - GRAVITY / 1e5:.17g}'><freejoint/>"
        f"<inertial pos='0 0 0' mass='1' diaginertia='{SPOOL} {SPOOL} {SPOOL}'/>"
        f"<geom size='{RIM}'/></body>",
        Contact(friction=1.0),
    )


def _spool(simulate: Simulate) -> float:
    """A thread is pulled off its axle's lower side with 2 N along x [m/s]."""
    # The thread pulls at (0, 0, -AXLE): its moment about y is −AXLE · 2.
    run = simulate(spool(), 1.0, forces={"spool": [2, 0, 0, 0, -2 * AXLE, 0]})
    return float(run.qvel[-1, 0])


# -- brakes and friction drives --------------------------------------------------------------------

DRUM, PRESS = 0.2, 8.0


def brake() -> World:
    """A drum of 20 cm and 0.1 kg m² that turns, and a shoe that is pressed on it, μ = 0.4."""
    sunk = PRESS / 1e5
    return World(
        "<body><joint axis='0 1 0'/><inertial pos='0 0 0' mass='1' diaginertia='.1 .1 .1'/>"
        f"<geom size='{DRUM}'/></body>"
        f"<body pos='{DRUM + 0.05 - sunk:.17g} 0 0'><joint name='shoe' type='slide' axis='-1 0 0'/>"
        "<geom size='.05' mass='.2'/></body>",
        Contact(friction=0.4),
        gravity=(0.0, 0.0, 0.0),
        sections="<actuator><motor joint='shoe'/></actuator>",
    )


def _brake(simulate: Simulate) -> float:
    run = simulate(brake(), 1.0, qvel=[20, 0], drive=lambda _: [PRESS], period=0.5)
    return float(run.qvel[-1, 0])


WHEELS = ((0.2, 0.1), (0.1, 0.02))
"""Radius [m] and moment of inertia [kg m²] of two wheels."""


def friction_wheels() -> World:
    """A wheel that turns, and one that is pressed against it with 20 N, μ = 0.5."""
    (first, heavy), (second, light) = WHEELS
    sunk = 20.0 / 1e5
    return World(
        "<body><joint axis='0 1 0'/>"
        f"<inertial pos='0 0 0' mass='1' diaginertia='{heavy} {heavy} {heavy}'/>"
        f"<geom size='{first}'/></body>"
        f"<body pos='{first + second - sunk:.17g} 0 0'>"
        "<joint name='press' type='slide' axis='-1 0 0' damping='20'/><joint axis='0 1 0'/>"
        f"<inertial pos='0 0 0' mass='.5' diaginertia='{light} {light} {light}'/>"
        f"<geom size='{second}'/></body>",
        gravity=(0.0, 0.0, 0.0),
        sections="<actuator><motor joint='press'/></actuator>",
    )


def _wheels(simulate: Simulate) -> float:
    run = simulate(friction_wheels(), 1.0, qvel=[10, 0, 0], drive=lambda _: [20.0], period=0.5)
    return float(run.qvel[-1, 2])


def wheels_speed() -> float:
    """Of the second wheel, from 10 rad/s of the first: both get the same impulse on their rims."""
    (first, heavy), (second, light) = WHEELS
    # I₁ (ω − ω₁)/r₁ = I₂ |ω₂|/r₂ and r₁ ω₁ = r₂ |ω₂|.
    return -10.0 * heavy / first / (heavy * second / first**2 + light / second)


# -- springs and friction --------------------------------------------------------------------------


def _spring_and_floor(simulate: Simulate) -> float:
    """Where a block on a spring turns for the third time [mm]; μ m g takes 2 μ m g/k each time."""
    sunk = GRAVITY / 4e5
    world = World(
        f"{FLOOR}<body pos='0 0 {0.05 - sunk:.17g}'>"
        "<joint type='slide' axis='1 0 0' stiffness='100'/><joint type='slide' axis='0 0 1'/>"
        "<geom type='box' size='.1 .1 .05' mass='1'/></body>",
        Contact(friction=0.1),
    )
    run = simulate(world, 1.2, qpos=[0.1, 0])
    third = (run.time > 0.7) & (run.time < 1.15)
    return float(1e3 * np.min(run.qpos[third, 0]))


STICK, SLIP, BELT, SPRING = 0.6, 0.3, 0.2, 100.0


def stick_slip_period() -> float:
    """Of 1 kg on a spring and a belt, whose friction is larger while it sticks [s].

    It sticks until the spring pulls with the static limit, while the belt takes it 2 Δ/v, with
    Δ = (μₛ − μ) m g/k; then it slips by a part of a swing, (π + 2 atan(v/ω Δ))/ω.
    """
    omega = math.sqrt(SPRING)
    reach = (STICK - SLIP) * GRAVITY / SPRING
    return 2 * reach / BELT + (math.pi + 2 * math.atan(BELT / (omega * reach))) / omega


def _stick_slip(simulate: Simulate) -> float:
    sunk = GRAVITY / 4e5
    world = World(
        "<body pos='0 0 -.05'><joint type='slide' axis='1 0 0'/>"
        "<geom type='box' size='5 .5 .05' mass='1e6'/></body>"
        f"<body pos='0 0 {0.05 - sunk:.17g}'>"
        f"<joint type='slide' axis='1 0 0' stiffness='{SPRING}'/>"
        "<joint type='slide' axis='0 0 1'/><geom type='box' size='.1 .1 .05' mass='1'/></body>",
        Contact(friction=STICK, dynamic_friction=SLIP),
    )
    run = simulate(world, 8.0, qvel=[BELT, BELT, 0])
    return mean_period(run, 1, SLIP * GRAVITY / SPRING, after=1.0)


CASES = (
    Case(
        "ball-on-board",
        "A ball lies on a board that is pulled with 2 m/s².",
        "speed of the ball after 1 s [m/s]",
        2 / 7 * BOARD,
        "it rolls with 2/7 of the board's acceleration.",
        0.005,
        _carried,
        form=".4g",
    ),
    Case(
        "spool",
        "A thread is pulled off the lower side of a spool's axle of 3 cm with 2 N.",
        "speed of the spool after 1 s [m/s]",
        2 * (1 - AXLE / RIM) / (1 + SPOOL / RIM**2),
        "F (1 − r/R) t/(m + I/R²): it rolls after the thread.",
        0.01,
        _spool,
        form=".4g",
    ),
    Case(
        "brake",
        "A shoe is pressed with 8 N on a drum of 20 cm that turns at 20 rad/s, μ = 0.4.",
        "speed after 1 s [rad/s]",
        20 - 0.4 * PRESS * DRUM / 0.1,
        "ω − μ N r t/I.",
        0.1,
        _brake,
        form=".4g",
    ),
    Case(
        "friction-wheels",
        "A wheel at rest is pressed on one that turns at 10 rad/s, until they roll on each other.",
        "speed of the second wheel [rad/s]",
        wheels_speed(),
        "the same impulse of friction on both rims.",
        0.05,
        _wheels,
        form=".4g",
    ),
    Case(
        "spring-and-floor",
        "A block on a spring of 100 N/m rubs on a floor, μ = 0.1, from 100 mm.",
        "place of the third turn [mm]",
        -(100 - 6 * 1e3 * 0.1 * GRAVITY / 100),
        "2 μ m g/k less at each turn.",
        0.5,
        _spring_and_floor,
        form=".4g",
    ),
    Case(
        "stick-slip",
        "A block on a spring is dragged by a belt of 0.2 m/s, friction 0.6 at rest and 0.3 beyond.",
        "period [s]",
        stick_slip_period(),
        "it sticks for 2 Δ/v and slips for (π + 2 atan(v/ω Δ))/ω, Δ = (μₛ − μ) m g/k.",
        0.01,
        _stick_slip,
        form=".4g",
    ),
)
