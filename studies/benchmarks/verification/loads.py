"""Loads: forces in balance, wedges, blocks that are pulled from under each other."""

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

__all__ = ["CASES", "groove", "leaning_rod", "pile", "scale", "table", "wedge"]

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


CASES = (
    Case(
        "table-legs",
        "A table of 4 kg with three feet stands on three scales, its weight off the middle.",
        "load of the first scale [N]",
        float(table_loads()[0]),
        "balance of forces and moments.",
        0.1,
        _table,
        form=".4g",
    ),
    Case(
        "ball-in-groove",
        "A ball of 2 kg lies between two walls of 50° and 25° without friction.",
        "force of the steep wall [N]",
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
        "speed of the upper block after 0.3 s [m/s]",
        0.3 * (PULL_TOGETHER - _GROUND_FORCE) / (LOWER + UPPER),
        "(F − μ (M + m) g) t/(M + m).",
        0.01,
        _pulled(PULL_TOGETHER, 6),
    ),
    Case(
        "pile-apart",
        "The lower one is pulled harder. The upper one slips.",
        "speed of the lower block after 0.3 s [m/s]",
        0.3 * (PULL_APART - _GROUND_FORCE - BETWEEN * UPPER * GRAVITY) / LOWER,
        "(F − μ₁ m g − μ₂ (M + m) g) t/M.",
        0.02,
        _pulled(PULL_APART, 0),
    ),
)
