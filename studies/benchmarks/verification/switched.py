"""What is switched in mid-run: a push that begins and ends, a weld that lets go."""

from __future__ import annotations

import math

from studies.benchmarks.verification.case import GRAVITY, Case, Contact, Simulate, World
from studies.benchmarks.verification.oscillators import WEIGHTLESS

__all__ = ["LET_GO", "PUSHED"]

# -- a push ----------------------------------------------------------------------------------------

FRICTION, WEAK, STRONG = 0.5, 0.95, 10.0
"""The weak push is a share of what friction can hold, the strong one a force [N]."""


def _pushed_block() -> World:
    """A block of 1 kg at rest on a floor, with a nozzle at its foot."""
    sunk = 0.05 - GRAVITY / 4e5
    return World(
        f"<geom type='plane' size='9 9 1'/><body pos='0 0 {sunk:.17g}'><freejoint/>"
        "<geom type='box' size='.1 .1 .05' mass='1'/><site name='foot' pos='0 0 -.05'/></body>",
        Contact(friction=FRICTION, modulus=4e5 * 0.05 / 0.2**2),
        sections="<actuator><motor site='foot' gear='1 0 0 0 0 0'/></actuator>",
    )


def _push(time: float) -> list[float]:
    """A tenth of a second that it sticks in, two that it slides in, and none."""
    if time < 0.1 - 1e-6:
        return [WEAK * FRICTION * GRAVITY]
    return [STRONG if time < 0.3 - 1e-6 else 0.0]


def _pushed_way() -> float:
    """½ a t² and v²/2μg [m]."""
    rate = STRONG - FRICTION * GRAVITY
    return 0.5 * rate * 0.2**2 + (rate * 0.2) ** 2 / (2 * FRICTION * GRAVITY)


def _pushed(simulate: Simulate) -> float:
    return float(simulate(_pushed_block(), 0.8, drive=_push, period=0.1).qpos[-1, 0])


# -- a sling ---------------------------------------------------------------------------------------

REACH, RATE, RELEASE, END = 0.5, 4.0, 0.3, 0.6


def _sling() -> World:
    """An arm on a hinge, at whose end a ball of 1 kg is welded, without gravity."""
    return World(
        "<body name='arm'><joint axis='0 0 1'/>"
        "<inertial pos='0 0 0' mass='1' diaginertia='.1 .1 .1'/></body>"
        f"<body name='ball' pos='{REACH} 0 0'><freejoint/>"
        "<geom size='.05' mass='1' contype='0' conaffinity='0'/></body>",
        gravity=WEIGHTLESS,
        sections="<equality><weld body1='arm' body2='ball'/></equality>",
    )


def _slung(simulate: Simulate) -> float:
    start = [RATE, 0, RATE * REACH, 0, 0, 0, RATE]
    return float(simulate(_sling(), END, qvel=start, period=0.1, release=RELEASE).qpos[-1, 2])


def _slung_place() -> float:
    """Round the hinge, and straight on along the tangent [m]."""
    angle = RATE * RELEASE
    return REACH * (math.sin(angle) + RATE * (END - RELEASE) * math.cos(angle))


# -- a load that is let go -------------------------------------------------------------------------

HELD, BELOW = 0.2, 100.0


def _let_go() -> World:
    """A mass of 1 kg on a spring, welded where the spring is not stretched."""
    return World(
        f"<body name='load'><joint type='slide' axis='0 0 1' stiffness='{BELOW}'/>"
        "<geom size='.05' mass='1' contype='0' conaffinity='0'/></body>",
        sections="<equality><weld body1='load'/></equality>",
    )


def _hung(simulate: Simulate) -> float:
    run = simulate(_let_go(), HELD + 0.4, period=HELD, release=HELD)
    return float(1e3 * run.qpos[-1, 0])


PUSHED = (
    Case(
        "pushed",
        "A block is pushed with 0.95 of what friction holds, 0.1 s, then with 10 N, 0.2 s.",
        "distance when it has come to rest [m]",
        _pushed_way(),
        "½ a t² + v²/2μg, a = F/m − μ g.",
        0.002,
        _pushed,
        form=".4g",
    ),
)
LET_GO = (
    Case(
        "sling",
        "An arm swings a ball that is welded to its end. The weld lets go after 0.3 s.",
        "place of the ball across the arm's first direction after 0.6 s [m]",
        _slung_place(),
        "a circle, then its tangent: r (sin ω t + ω Δt cos ω t).",
        0.005,
        _slung,
        form=".4g",
    ),
    Case(
        "let-go",
        "A weld holds 1 kg where its spring of 100 N/m is at rest, and lets go after 0.2 s.",
        "place 0.4 s later [mm]",
        -1e3 * GRAVITY / BELOW * (1 - math.cos(math.sqrt(BELOW) * 0.4)),
        "−m g/k (1 − cos ω t).",
        1.0,
        _hung,
        form=".4g",
    ),
)
