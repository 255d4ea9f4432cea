"""Loads, drives and brakes: forces in balance, wedges, stacks, wheels that rub on each other."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import (
    GRAVITY,
    Array,
    Case,
    Contact,
    Measure,
    Simulate,
    World,
)
from studies.benchmarks.verification.oscillators import mean_period

__all__ = ["CASES", "brake", "groove", "leaning_rod", "pile", "scale", "table", "wedge"]

FLOOR = "<geom type='plane' size='90 90 1'/>"
SCALE = 1e5
"""Stiffness of what forces are weighed with [N/m]."""


def scale(name: str, place: str, direction: str, geom: str) -> str:
    """A body on a spring that gives way along a direction, of 100 g and well damped."""
    return (
        f"<body name='{name}' pos='{place}'><joint type='slide' axis='{direction}' "
        f"stiffness='{SCALE}' damping='300'/><geom {geom} mass='.1'/></body>"
    )


# -- a table on three scales -----------------------------------------------------------------------

FEET = np.array([[0.3, 0.0], [-0.2, 0.25], [-0.2, -0.25]])
CENTRE, TABLE = np.array([0.12, 0.05]), 4.0


def table() -> World:
    """A table of 4 kg with three feet on scales. Its centre of mass is as low as their ends."""
    scales = "".join(
        scale(f"scale{i}", f"{x} {y} -.02", "0 0 -1", "type='box' size='.05 .05 .02'")
        for i, (x, y) in enumerate(FEET)
    )
    feet = "".join(f"<geom size='.02' mass='0' pos='{x} {y} 0'/>" for x, y in FEET)
    x, y = CENTRE
    return World(
        f"{scales}<body pos='0 0 .02'><freejoint/><inertial pos='{x} {y} -.02' mass='{TABLE}' "
        f"diaginertia='.2 .2 .2'/>{feet}</body>"
    )


def table_loads() -> Array:
    """What each foot carries [N]: the centre of mass in barycentric coordinates of the feet."""
    matrix = np.vstack([FEET.T, np.ones(3)])
    return np.asarray(TABLE * GRAVITY * np.linalg.solve(matrix, [*CENTRE, 1.0]))


def _table(simulate: Simulate) -> float:
    run = simulate(table(), 2.0)
    return float(SCALE * run.qpos[-1, 0] - 0.1 * GRAVITY)


# -- a ball in a groove, a rod at a wall -----------------------------------------------------------

STEEP, FLAT_SIDE = math.radians(50.0), math.radians(25.0)


def groove() -> World:
    """A ball of 2 kg between two walls without friction that give way along their normals."""
    walls = ""
    for name, angle, side in (("left", STEEP, -1), ("right", FLAT_SIDE, 1)):
        # The wall's normal leans from the vertical by the angle, towards the middle.
        normal = np.array([-side * math.sin(angle), 0.0, math.cos(angle)])
        centre = -0.12 * normal
        push = " ".join(f"{-n:.17g}" for n in normal)
        place = " ".join(f"{c:.17g}" for c in centre)
        walls += (
            f"<body name='{name}' pos='{place}'><joint type='slide' axis='{push}' "
            f"stiffness='{SCALE}' damping='300'/>"
            f"<geom type='box' size='.2 .2 .02' euler='0 {-side * angle:.17g} 0' mass='.1' "
            "contype='2' conaffinity='1'/></body>"
        )
    return World(
        f"{walls}<body><freejoint/><geom size='.1' mass='2' contype='1' conaffinity='2'/></body>",
        Contact(friction=0.0),
    )


def _groove(simulate: Simulate) -> float:
    run = simulate(groove(), 2.0)
    own = 0.1 * GRAVITY * math.cos(STEEP)  # of the wall's own weight
    return float(SCALE * run.qpos[-1, 0] - own)


LEAN, LONG, END = math.radians(60.0), 1.0, 0.01


def leaning_rod() -> World:
    """A rod of 3 kg that leans at 60° on a wall without friction which weighs its push."""
    c, s = 0.5 * LONG * math.cos(LEAN), 0.5 * LONG * math.sin(LEAN)
    ends = f"<geom size='{END}' mass='0' pos='{-c:.17g} 0 {s:.17g}'/>"
    ends += f"<geom name='foot' size='{END}' mass='0' pos='{c:.17g} 0 {-s:.17g}' friction='1 0 0'/>"
    wall = scale("wall", f"{-c - 0.03:.17g} 0 {s:.17g}", "-1 0 0", "type='box' size='.02 .2 .2'")
    return World(
        f"<geom type='box' size='9 9 1' pos='0 0 {-s - 1.01:.17g}'/>{wall}"
        "<body><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
        "<joint axis='0 1 0'/>"
        f"<inertial pos='0 0 0' mass='3' diaginertia='.3 .3 .3'/>{ends}</body>",
        Contact(friction=0.0),
    )


def _leaning_rod(simulate: Simulate) -> float:
    return float(SCALE * simulate(leaning_rod(), 2.0).qpos[-1, 0])


# -- a wedge that is free to move ------------------------------------------------------------------

WEDGE, WEDGE_MASS = math.radians(30.0), 2.0


def wedge() -> World:
    """A block of 1 kg on a slope of 30° that is free to move along x, both without friction."""
    normal = np.array([math.sin(WEDGE), 0.0, math.cos(WEDGE)])
    place = (0.07 - GRAVITY * math.cos(WEDGE) / 4e5) * normal
    return World(
        "<body><joint type='slide' axis='1 0 0'/>"
        f"<geom type='box' size='1 .2 .02' euler='0 {WEDGE} 0' mass='{WEDGE_MASS}'/></body>"
        f"<body pos='{place[0]:.17g} 0 {place[2]:.17g}' euler='0 {WEDGE} 0'><freejoint/>"
        "<geom type='box' size='.05 .05 .05' mass='1'/></body>",
        Contact(friction=0.0),
    )


def _wedge(simulate: Simulate) -> float:
    return float(simulate(wedge(), 0.3).qvel[-1, 0])


# -- two blocks with two coefficients of friction --------------------------------------------------

LOWER, UPPER, GROUND, BETWEEN = 2.0, 1.0, 0.2, 0.4


def pile() -> World:
    """A block of 1 kg on one of 2 kg; friction is 0.2 on the floor and 0.4 between them."""
    low = 0.05 - 3 * GRAVITY / 4e5
    high = 0.15 - 4 * GRAVITY / 4e5
    return World(
        f"{FLOOR}<body name='lower' pos='0 0 {low:.17g}'><freejoint/>"
        f"<geom type='box' size='.3 .1 .05' mass='{LOWER}'/></body>"
        f"<body pos='0 0 {high:.17g}'><freejoint/>"
        f"<geom type='box' size='.05 .05 .05' mass='{UPPER}' friction='{BETWEEN} 0 0'/></body>",
        Contact(friction=GROUND),
    )


PULL_TOGETHER, PULL_APART = 14.0, 24.0
_GROUND_FORCE = GROUND * (LOWER + UPPER) * GRAVITY


def _pulled(force: float, column: int) -> Measure:
    def measure(simulate: Simulate) -> float:
        run = simulate(pile(), 0.3, forces={"lower": [force, 0, 0, 0, 0, 0]})
        return float(run.qvel[-1, column])

    return measure


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
        "table-legs",
        "A table of 4 kg with three feet stands on three scales, its weight off the middle.",
        "what the first one carries [N]",
        float(table_loads()[0]),
        "balance of forces and moments.",
        0.1,
        _table,
        form=".4g",
    ),
    Case(
        "ball-in-groove",
        "A ball of 2 kg lies between two walls of 50° and 25° without friction.",
        "force of the steep one [N]",
        2 * GRAVITY * math.sin(FLAT_SIDE) / math.sin(STEEP + FLAT_SIDE),
        "Lami: m g sin β/sin(α + β).",
        0.1,
        _groove,
        form=".4g",
    ),
    Case(
        "leaning-rod",
        "A rod of 3 kg leans at 60° on a wall without friction.",
        "force on the wall [N]",
        3 * GRAVITY * 0.5 * math.cos(LEAN) / (math.sin(LEAN) + END),
        "moments about the point below its rounded foot, ½ m g l cos α/(l sin α + r).",
        0.1,
        _leaning_rod,
        form=".4g",
    ),
    Case(
        "wedge",
        "A block of 1 kg slides down a wedge of 30° and 2 kg that is free to move, no friction.",
        "speed of the wedge after 0.3 s [m/s]",
        -0.3 * GRAVITY * math.sin(WEDGE) * math.cos(WEDGE) / (WEDGE_MASS + math.sin(WEDGE) ** 2),
        "m g sin α cos α t/(M + m sin² α).",
        0.005,
        _wedge,
        form=".4g",
    ),
    Case(
        "pile-together",
        "A block lies on one that is pulled, μ = 0.4 between them and 0.2 below. Both move alike.",
        "speed of the upper one after 0.3 s [m/s]",
        0.3 * (PULL_TOGETHER - _GROUND_FORCE) / (LOWER + UPPER),
        "(F − μ (M + m) g) t/(M + m).",
        0.01,
        _pulled(PULL_TOGETHER, 6),
    ),
    Case(
        "pile-apart",
        "The lower one is pulled harder. The upper one slips.",
        "speed of the lower one after 0.3 s [m/s]",
        0.3 * (PULL_APART - _GROUND_FORCE - BETWEEN * UPPER * GRAVITY) / LOWER,
        "(F − μ₁ m g − μ₂ (M + m) g) t/M.",
        0.02,
        _pulled(PULL_APART, 0),
    ),
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
        "speed of the second [rad/s]",
        wheels_speed(),
        "the same impulse of friction on both rims.",
        0.05,
        _wheels,
        form=".4g",
    ),
    Case(
        "spring-and-floor",
        "A block on a spring of 100 N/m rubs on a floor, μ = 0.1, from 100 mm.",
        "where it turns for the third time [mm]",
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
