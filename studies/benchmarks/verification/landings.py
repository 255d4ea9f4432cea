"""Impacts of bodies that turn or hold: doors, curbs, and flat landings."""

from __future__ import annotations

import math

from scipy.optimize import brentq

from studies.benchmarks.verification.case import GRAVITY, Case, Contact, Simulate, World

__all__ = ["CASES", "curb", "door", "level_rod"]

FLOOR = "<geom type='plane' size='9 9 1'/>"
WEIGHTLESS = (0.0, 0.0, 0.0)

# -- a ball hits a door ---------------------------------------------------------------------------

DOOR, WIDTH, HIT, BALL, THROW = 2.0, 1.0, 0.7, 0.5, 2.0


def door() -> World:
    """A door of 2 kg on a hinge, and an elastic ball of 500 g before it."""
    thin = DOOR * WIDTH**2 / 12
    return World(
        "<body><joint axis='0 0 1'/>"
        f"<inertial pos='{WIDTH / 2} 0 0' mass='{DOOR}' diaginertia='{thin} {thin} {thin}'/>"
        f"<geom type='box' size='{WIDTH / 2} .01 .2' pos='{WIDTH / 2} 0 0' mass='0'/></body>"
        f"<body pos='{HIT} -.08 0'><freejoint/><geom size='.05' mass='{BALL}'/></body>",
        Contact(dissipation=0.0, friction=0.0, solref=(-1e5, 0.0)),
        gravity=WEIGHTLESS,
    )


def thrown_back() -> float:
    """Speed of the ball afterwards [m/s]: that of two masses, of which the door's is I/d²."""
    heavy = DOOR * WIDTH**2 / 3 / HIT**2
    return THROW * (BALL - heavy) / (BALL + heavy)


def _door(simulate: Simulate) -> float:
    run = simulate(door(), 0.2, qvel=[0, 0, THROW, 0, 0, 0, 0])
    return float(run.qvel[-1, 2])


# -- a cube trips over a curb ---------------------------------------------------------------------

CUBE = 0.25  # half of its side
TRIP = math.sqrt(16 / 3 * GRAVITY * CUBE * (math.sqrt(2) - 1))
TRIP_SHARES = (0.94, 0.98, 1.02, 1.06)


def curb() -> World:
    """A cube that slides towards a curb of 4 mm, which catches its lower edge."""
    return World(
        f"{FLOOR}<geom type='box' size='.1 .4 .002' pos='{CUBE + 0.11} 0 .002'/>"
        f"<body pos='0 0 {CUBE}'><freejoint/>"
        f"<geom type='box' size='{CUBE} {CUBE} {CUBE}' mass='1'/></body>",
        Contact(stiffness=1e6, dissipation=50.0, friction=0.0),
    )


def _trip(simulate: Simulate) -> float:
    """Between the fastest speed at which the cube stands and the first at which it falls."""
    stood = TRIP_SHARES[0] - 0.04
    for share in TRIP_SHARES:
        run = simulate(curb(), 1.2, qvel=[share * TRIP, 0, 0, 0, 0, 0])
        upright = 1.0 - 2.0 * (run.qpos[:, 4] ** 2 + run.qpos[:, 5] ** 2)
        if upright.min() < 0.5:
            return 0.5 * (stood + share)
        stood = share
    return math.inf


# -- a rod lands flat -----------------------------------------------------------------------------

DISSIPATION = 0.5


def level_rod() -> World:
    """A level rod of 1 kg with a ball at either end."""
    ends = "".join(f"<geom size='.02' pos='{x} 0 0' mass='.001'/>" for x in (-0.48, 0.48))
    # MuJoCo's damping is linear; this one rebounds at the same speed.
    damping = -2.0 * math.sqrt(1e5) * 0.0920
    return World(
        f"{FLOOR}<body pos='0 0 .15'><freejoint/><geom type='capsule' size='.02' mass='1' "
        f"fromto='-.46 0 0 .46 0 0' contype='0' conaffinity='0'/>{ends}</body>",
        Contact(dissipation=DISSIPATION, solref=(-1e5, damping)),
        gravity=WEIGHTLESS,
    )


def flat_rebound() -> float:
    """Speed [m/s] by Hunt and Crossley's law from 1 m/s: d (u + v) = ln (1 + d u)/(1 − d v)."""
    d = DISSIPATION

    def rest(v: float) -> float:
        return d * (1.0 + v) - math.log((1.0 + d) / (1.0 - d * v))

    return float(brentq(rest, 0.0, 1.0))


def _flat_landing(simulate: Simulate) -> float:
    run = simulate(level_rod(), 0.4, qvel=[0, 0, -1, 0, 0, 0])
    return float(run.qvel[-1, 2])


CASES = (
    Case(
        "door",
        "An elastic ball of 500 g hits a door of 2 kg at 2 m/s, 70 cm from its hinge.",
        "speed of the ball afterwards [m/s]",
        thrown_back(),
        "(m − I/d²)/(m + I/d²) of its speed.",
        0.04,
        _door,
        form=".4g",
    ),
    Case(
        "tripping",
        "A cube, 50 cm wide, slides against a low curb at speeds in steps of 4 %.",
        "least speed at which it falls over, over that of the formula",
        1.0,
        "angular momentum about the edge, then energy: v² = 16/3 g a (√2 − 1).",
        0.021,
        _trip,
        form=".3g",
    ),
    Case(
        "flat-landing",
        "A level rod lands on both of its ends at 1 m/s.",
        "speed of the rebound [m/s]",
        flat_rebound(),
        "Hunt and Crossley's law, as of one contact.",
        0.02,
        _flat_landing,
        form=".4g",
    ),
)
