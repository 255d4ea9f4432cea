"""Machines: rollers, a turning arm, a drawer, a magnet."""

from __future__ import annotations

import math

from studies.benchmarks.verification.case import GRAVITY, Case, Contact, Simulate, World
from studies.benchmarks.verification.oscillators import mean_period

__all__ = ["CASES", "drawer", "magnet", "rollers", "thrown_block"]

WEIGHTLESS = (0.0, 0.0, 0.0)
PLANAR = "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>"

# -- a board on two rollers -----------------------------------------------------------------------

APART, BOARD, RUB = 0.2, 0.01, 0.3


def rollers() -> World:
    """A board on two rollers that turn towards each other."""
    bodies, servos = "", ""
    for number, place in enumerate((-APART, APART)):
        bodies += (
            f"<body pos='{place} 0 -.05'><joint name='roller{number}' axis='0 1 0'/><geom "
            "type='cylinder' size='.05 .1' euler='1.5707963267948966 0 0' mass='5'/></body>"
        )
        servos += f"<velocity joint='roller{number}' kv='100'/>"
    return World(
        f"{bodies}<body pos='.05 0 {BOARD}'>{PLANAR}"
        f"<geom type='box' size='.5 .15 {BOARD}' mass='.2'/></body>",
        Contact(friction=RUB),
        sections=f"<actuator>{servos}</actuator>",
    )


def board_period() -> float:
    """Of the swing [s]: the roller that carries more pulls more, its friction lifts the board."""
    return 2.0 * math.pi * math.sqrt((APART - RUB * BOARD) / (RUB * GRAVITY))


def _rollers(simulate: Simulate) -> float:
    spins = [30.0, -30.0]
    run = simulate(rollers(), 8.0, qvel=[*spins, 0.0, 0.0, 0.0], drive=lambda _: spins)
    # A swing about the middle, from where the board was put.
    run.qpos[:, 2] += 0.05
    return mean_period(run, 2, 0.0)


# -- a block that an arm throws outwards ----------------------------------------------------------

TURN, INNER, SIDE, GRIP = 3.0, 0.2, 0.02, 0.3
OUTWARDS = TURN * (math.sqrt(1.0 + GRIP**2) - GRIP)
"""Rate λ of growth of the solution e^(λt) that stays [1/s]."""


def thrown_block() -> World:
    """A block on the front of an arm that turns, so heavy that it goes on as it does."""
    heavy = " ".join(["1e5"] * 3)
    return World(
        f"<body><joint axis='0 0 1'/><inertial pos='0 0 0' mass='1' diaginertia='{heavy}'/>"
        "<geom type='box' size='1.5 .02 .2' pos='0 -.02 0' mass='0'/></body>"
        f"<body pos='{INNER} {SIDE} 0'><freejoint/>"
        f"<geom type='box' size='.05 {SIDE} {SIDE}' mass='.1'/></body>",
        Contact(friction=GRIP),
        gravity=WEIGHTLESS,
    )


def thrown_distance() -> float:
    """From the axle after 0.5 s [m].

    Along the arm r̈ = Ω² r − μ (2 Ω ṙ − Ω² y), where the block is y before the axle.
    """
    along = (INNER + GRIP * SIDE) * math.exp(0.5 * OUTWARDS) - GRIP * SIDE
    return math.hypot(along, SIDE)


def _thrown(simulate: Simulate) -> float:
    along = OUTWARDS * (INNER + GRIP * SIDE)
    start = [TURN, along - TURN * SIDE, TURN * INNER, 0.0, 0.0, 0.0, TURN]
    run = simulate(thrown_block(), 0.5, qvel=start)
    return float(math.hypot(run.qpos[-1, 1], run.qpos[-1, 2]))


# -- a drawer that is pulled beside its middle ----------------------------------------------------

WIDE, DEEP, DRAG, CORNER = 0.1, 0.2, 0.5, 0.01


def drawer() -> World:
    """A drawer of 1 kg on four corners between two guides, with 10 µm to spare on both sides."""
    guides = "".join(
        f"<geom type='box' size='3 .1 .1' pos='0 {side * (WIDE / 2 + 0.1 + 1e-5)} 0'/>"
        for side in (-1, 1)
    )
    corners = "".join(
        f"<geom size='{CORNER}' mass='0' pos='{x * DEEP / 2} {y * (WIDE / 2 - CORNER)} 0'/>"
        for x in (-1, 1)
        for y in (-1, 1)
    )
    return World(
        f"{guides}<body name='drawer'><freejoint/>"
        f"<geom type='box' size='{DEEP / 2} {WIDE / 2} .02' mass='1' contype='0' "
        f"conaffinity='0'/>{corners}</body>",
        Contact(stiffness=1e6, friction=DRAG),
        gravity=WEIGHTLESS,
    )


def _pulled(simulate: Simulate, beside: float) -> float:
    """Acceleration of the drawer under 1 N, so far beside its middle [m/s²]."""
    run = simulate(drawer(), 1.0, forces={"drawer": [1.0, 0.0, 0.0, 0.0, 0.0, beside]})
    first, last = run.at([0.2, 1.0], 0, speed=True)
    return float((last - first) / 0.8)


def _drawer(simulate: Simulate) -> float:
    return _pulled(simulate, 0.1)


def _jammed_drawer(simulate: Simulate) -> float:
    return _pulled(simulate, 0.25)


# -- a magnet on a wall ---------------------------------------------------------------------------

PULL, STEEL = 30.0, 0.2


def magnet() -> World:
    """A magnet of 1 kg on a steep wall that it pulls at with 30 N."""
    return World(
        "<geom type='box' size='.1 9 9' pos='-.1 0 0'/><body name='magnet' pos='.0499 0 0'>"
        "<freejoint/><geom type='box' size='.05 .05 .05' mass='1' margin='.002' gap='.002'/>"
        "</body>",
        Contact(friction=STEEL),
        sections=f"<actuator><adhesion body='magnet' ctrlrange='0 1' gain='{PULL}'/></actuator>",
    )


def _magnet(simulate: Simulate) -> float:
    run = simulate(magnet(), 0.6, drive=lambda _: [1.0])
    first, last = run.at([0.2, 0.6], 2, speed=True)
    return float((first - last) / 0.4)


CASES = (
    Case(
        "rollers",
        "A board lies on two rollers that turn towards each other, μ = 0.3.",
        "period [s]",
        board_period(),
        "2 π √((d − μ h)/μ g) (Timoshenko).",
        0.005 * board_period(),
        _rollers,
        form=".4g",
    ),
    Case(
        "thrown-block",
        "An arm that turns at 3 rad/s throws a block outwards, which rubs on it, μ = 0.3.",
        "distance from the axle after 0.5 s [m]",
        thrown_distance(),
        "Coriolis force presses the block on the arm: r ∝ e^(Ω t (√(1 + μ²) − μ)).",
        0.003 * thrown_distance(),
        _thrown,
        form=".4g",
    ),
    Case(
        "drawer",
        "A drawer, 20 cm deep, is pulled 10 cm beside its middle with 1 N, μ = 0.5.",
        "acceleration [m/s²]",
        1.0 - 2.0 * DRAG * 0.1 / DEEP,
        "F (1 − 2 μ e/l)/m.",
        0.005,
        _drawer,
        form=".4g",
    ),
    Case(
        "jammed-drawer",
        "The same drawer is pulled 25 cm beside its middle.",
        "acceleration [m/s²]",
        0.0,
        "it jams beyond e = l/2 μ = 20 cm.",
        0.005,
        _jammed_drawer,
        form=".2g",
    ),
    Case(
        "magnet",
        "A magnet slides down a steep wall at which it pulls with 30 N, μ = 0.2.",
        "acceleration [m/s²]",
        GRAVITY - STEEL * PULL,
        "g − μ F/m.",
        0.01,
        _magnet,
        form=".4g",
    ),
)
