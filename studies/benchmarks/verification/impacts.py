"""Impacts: friction within them, restitution, chains of them, thin walls."""

from __future__ import annotations

import itertools
import math

import numpy as np

from studies.benchmarks.verification.case import (
    CONVERGED,
    GRAVITY,
    Case,
    Contact,
    Measure,
    Simulate,
    World,
)

__all__ = [
    "CASES",
    "bouncing_ball",
    "caught_angle",
    "dominoes",
    "elastic_row",
    "hook",
    "landing_ball",
    "thin_wall",
]

# -- friction of an impact -----------------------------------------------------------------------

IMPACT_FRICTION = 0.2
LANDING_HEIGHTS = np.linspace(0.051, 0.08, 15)


def landing_ball() -> World:
    """A ball of 10 g and a radius of 5 cm over a floor, without gravity."""
    return World(
        "<geom type='plane' size='9 9 1'/><body pos='0 0 .06'><freejoint/>"
        "<geom size='.05' mass='.01'/></body>",
        Contact(friction=IMPACT_FRICTION),
        gravity=(0.0, 0.0, 0.0),
    )


def _impact_friction(simulate: Simulate) -> float:
    world = landing_ball()
    ratios = []
    for height in LANDING_HEIGHTS:
        run = simulate(world, 0.3, qpos=[0, 0, height, 1, 0, 0, 0], qvel=[6, 0, -0.3, 0, 0, 0])
        after = run.qvel[-1]
        ratios.append((6 - after[0]) / (after[2] + 0.3))
    return float(np.median(ratios))


def _biting_impact(simulate: Simulate) -> float:
    world = World(landing_ball().bodies, Contact(friction=0.8), gravity=(0.0, 0.0, 0.0))
    run = simulate(world, 0.1, qpos=[0, 0, 0.06, 1, 0, 0, 0], qvel=[1, 0, -1, 0, 0, 0])
    return float(run.qvel[-1, 0])


# -- elastic impacts -----------------------------------------------------------------------------

# MuJoCo's springs are per unit of mass: 1e5 N/m on a kilogram.
ELASTIC = Contact(dissipation=0.0, solref=(-1e5, 0.0))


def bouncing_ball() -> World:
    """A ball of 1 kg that falls from half a metre, without dissipation."""
    return World(
        "<geom type='plane' size='9 9 1'/><body pos='0 0 .6'><freejoint/>"
        "<geom size='.1' mass='1'/></body>",
        ELASTIC,
    )


def _bounce(simulate: Simulate) -> float:
    run = simulate(bouncing_ball(), 0.5)
    height, speed = run.qpos[-1, 2] - 0.1, run.qvel[-1, 2]
    energy = 0.5 * speed**2 + GRAVITY * height + 0.5 * 1e5 * min(height, 0.0) ** 2
    return float(energy / (GRAVITY * 0.5))


DISSIPATION = 0.4


def _restitution(simulate: Simulate) -> float:
    # MuJoCo's damping is linear; this one rebounds at the same speed.
    contact = Contact(stiffness=1e5, dissipation=DISSIPATION, solref=(-1e5, -47.7))
    world = World(bouncing_ball().bodies, contact, gravity=(0.0, 0.0, 0.0))
    speeds = []
    for height in (0.2, 0.207, 0.213, 0.222, 0.229):
        run = simulate(world, 0.3, qpos=[0, 0, height, 1, 0, 0, 0], qvel=[0, 0, -1, 0, 0, 0])
        speeds.append(run.qvel[-1, 2])
    return float(np.median(speeds))


HARD_SPEED, HARD_DISSIPATION = 10.0, 10.0


def _hard_rebound(simulate: Simulate) -> float:
    """The fastest rebound of a ball from five heights, which steps meet at different depths."""
    # MuJoCo's linear damping, 4.8 times critical, rebounds at the same speed.
    contact = Contact(stiffness=1e5, dissipation=HARD_DISSIPATION, solref=(-1e5, -3036.0))
    world = World(bouncing_ball().bodies, contact, gravity=(0.0, 0.0, 0.0))
    speeds = []
    for height in (0.2, 0.207, 0.213, 0.222, 0.229):
        start = [0, 0, height, 1, 0, 0, 0]
        run = simulate(world, 0.3, qpos=start, qvel=[0, 0, -HARD_SPEED, 0, 0, 0])
        speeds.append(run.qvel[:, 2].max())
    return float(np.max(speeds))


def restitution() -> float:
    """Speed of rebound at 1 m/s by the law of Hunt and Crossley, whose energy can be integrated.

    With f = k x (1 + d ẋ) and u = ẋ: m u u' = −k x (1 + d u), so that ∫ u/(1 + d u) du from the
    impact at u = 1 to the rebound at u = −e vanishes.
    """
    from scipy.optimize import brentq

    def integral(u: float) -> float:
        return u / DISSIPATION - math.log1p(DISSIPATION * u) / DISSIPATION**2

    return float(brentq(lambda e: integral(1.0) - integral(-e), 1e-6, 1.0))


def elastic_row(masses: tuple[float, ...], gap: float = 0.01) -> World:
    """Balls of 4 cm in a row on rails, with gaps that make their collisions follow one another."""
    bodies = "".join(
        f"<body pos='{i * (0.08 + gap):.17g} 0 0'><joint type='slide' axis='1 0 0'/>"
        f"<geom size='.04' mass='{mass}'/></body>"
        for i, mass in enumerate(masses)
    )
    return World(bodies, ELASTIC, gravity=(0.0, 0.0, 0.0))


def _last_speed(masses: tuple[float, ...]) -> float:
    speed = 1.0
    for first, second in itertools.pairwise(masses):
        speed *= 2 * first / (first + second)
    return speed


CRADLE = (1.0, 1.0, 1.0, 1.0, 1.0)
TAPERED = (1.0, 0.5, 0.25, 0.125)


def _row(masses: tuple[float, ...]) -> Measure:
    def measure(simulate: Simulate) -> float:
        run = simulate(elastic_row(masses), 0.2, qvel=[1.0, *(0.0 for _ in masses[1:])])
        return float(run.qvel[-1, -1])

    return measure


def _billiards(simulate: Simulate) -> float:
    ball = "<body pos='{} {} 0'><freejoint/><geom size='.1' mass='1'/></body>"
    contact = Contact(dissipation=0.0, friction=0.0, solref=(-1e5, 0.0))
    world = World(ball.format(0, 0) + ball.format(0.4, 0.1), contact, gravity=(0.0, 0.0, 0.0))
    run = simulate(world, 0.5, qvel=[2.0, *(0.0 for _ in range(11))])
    first, second = run.qvel[-1, :2], run.qvel[-1, 6:8]
    cosine = first @ second / (np.linalg.norm(first) * np.linalg.norm(second) + 1e-300)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


# -- thin walls ----------------------------------------------------------------------------------

BULLET_SPEEDS = (1.0, 5.0, 10.0, 100.0, 500.0)


def thin_wall() -> World:
    """A wall of 1 cm, one metre from a ball of 2 cm."""
    return World(
        "<geom type='box' size='.005 1 1'/><body pos='-1 0 0'><freejoint/>"
        "<geom size='.02' mass='.1'/></body>",
        gravity=(0.0, 0.0, 0.0),
    )


def _passes(simulate: Simulate) -> float:
    passed = 0
    for speed in BULLET_SPEEDS:
        run = simulate(thin_wall(), 2.5 / speed, qvel=[speed, 0, 0, 0, 0, 0])
        passed += bool(run.qpos[-1, 0] > 0.0)
    return float(passed)


# -- dominoes ------------------------------------------------------------------------------------

DOMINOES = 20
DOMINO = (0.008, 0.024, 0.048)  # thickness, width, height [m]
SPACING = 0.024


def dominoes() -> World:
    """Twenty dominoes on a floor, the first of which is to be tipped."""
    size = " ".join(f"{0.5 * s:.17g}" for s in DOMINO)
    bodies = "".join(
        f"<body pos='{i * SPACING:.17g} 0 {0.5 * DOMINO[2]:.17g}'><freejoint/>"
        f"<geom type='box' size='{size}' mass='.01'/></body>"
        for i in range(DOMINOES)
    )
    return World(
        "<geom type='plane' size='9 9 1'/>" + bodies, Contact(friction=0.3, stiction_tolerance=1e-4)
    )


def _wave(simulate: Simulate) -> float:
    qvel = np.zeros(6 * DOMINOES)
    spin = 8.0
    qvel[0], qvel[4] = spin * 0.5 * DOMINO[2], spin
    run = simulate(dominoes(), 1.0, qvel=qvel)
    times = []
    for i in (4, 16):
        # Beyond 0.2 rad: a neighbour's push, not the settling of the start.
        quaternion = run.qpos[:, 7 * i + 3 : 7 * i + 7]
        times.append(run.first(2 * np.abs(np.arcsin(np.clip(quaternion[:, 2], -1, 1))) > 0.2))
    if not math.isfinite(times[1]):
        return 0.0
    return 12 * SPACING / (times[1] - times[0])


# -- a bar that is caught --------------------------------------------------------------------------

BAR, ARM, PIN, WALL, FALL, CAUGHT = 1.0, 0.3, 0.01, 0.05, 0.1, 0.5
STEEP = math.radians(60.0)


def hook() -> World:
    """A level bar over a groove, which is to catch the pin 30 cm from its middle."""
    walls = ""
    for side in (-1, 1):
        # Its face touches the pin, whose centre is the origin, at 30° below the horizontal.
        x, z = -side * math.sin(STEEP), math.cos(STEEP)
        centre = (-(PIN + WALL) * x, -(PIN + WALL) * z)
        walls += (
            f"<geom type='box' size='{WALL} .1 {WALL}' pos='{centre[0]:.17g} 0 {centre[1]:.17g}' "
            f"euler='0 {-side * STEEP:.17g} 0'/>"
        )
    return World(
        f"{walls}<body pos='{ARM} 0 {FALL}'><freejoint/>"
        f"<geom size='{PIN}' pos='{-ARM} 0 0' mass='0'/>"
        f"<inertial pos='0 0 0' mass='1' diaginertia='.001 {BAR**2 / 12:.17g} {BAR**2 / 12:.17g}'/>"
        "</body>",
        Contact(stiffness=1e7, friction=0.0),
    )


def caught_angle() -> float:
    """How far the bar has turned down a time after it was let go [°].

    It falls at v = √(2 g h). The impulse J on its pin brings that to rest: v = J (1/m + a²/I), so
    that the bar turns at J a/I. From then on it is a pendulum about its pin.
    """
    from scipy.integrate import solve_ivp

    inertia = BAR**2 / 12
    impulse = math.sqrt(2 * GRAVITY * FALL) / (1 + ARM**2 / inertia)
    time = CAUGHT - math.sqrt(2 * FALL / GRAVITY)
    run = solve_ivp(
        lambda _, y: [y[1], GRAVITY * ARM * math.cos(y[0]) / (inertia + ARM**2)],
        (0, time),
        [0.0, impulse * ARM / inertia],
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
    )
    return math.degrees(float(run.y[0, -1]))


def _caught(simulate: Simulate) -> float:
    run = simulate(hook(), CAUGHT)
    w, y = run.qpos[-1, 3], run.qpos[-1, 5]
    return math.degrees(2 * math.atan2(float(y), float(w)))


CASES = (
    Case(
        "impact-friction",
        "A ball of 10 g lands at 0.3 m/s while it slides at 6 m/s, μ = 0.2, from 15 heights.",
        "Δvₓ/Δv_z, median",
        IMPACT_FRICTION,
        "μ, since it slides throughout the impact.",
        0.004,
        _impact_friction,
    ),
    Case(
        "biting-impact",
        "A ball hits the floor at 45° and 1.4 m/s. Friction (0.8) stops its slip.",
        "tangential speed after the impact [m/s]",
        5 / 7,
        "angular momentum about the point of contact, 5/7 of the tangential speed before.",
        0.01,
        _biting_impact,
    ),
    Case(
        "elastic-bounce",
        "A ball of 1 kg falls from 0.5 m on a floor without dissipation (k = 10⁵ N/m) and bounces.",
        "E/E₀ after one bounce",
        1.0,
        "energy is conserved.",
        0.02,
        _bounce,
    ),
    Case(
        "restitution",
        f"A ball hits the floor at 1 m/s, Hunt–Crossley dissipation {DISSIPATION} s/m.",
        "speed of the rebound, median of five heights [m/s]",
        restitution(),
        "the integral of the contact law.",
        0.02,
        _restitution,
    ),
    Case(
        "hard-rebound",
        f"The ball hits the floor at {HARD_SPEED:g} m/s, dissipation {HARD_DISSIPATION:g} s/m.",
        "fastest speed of the rebound from five heights [m/s]",
        1 / HARD_DISSIPATION,
        "1/d, the limit of the law for hard impacts.",
        0.005,
        _hard_rebound,
    ),
    Case(
        "newtons-cradle",
        "Five equal elastic balls are 1 cm apart on a rail. The first comes at 1 m/s.",
        "speed of the last ball [m/s]",
        1.0,
        "momentum and energy of each collision.",
        0.02,
        _row(CRADLE),
    ),
    Case(
        "tapered-row",
        "Four elastic balls on a rail, each half as heavy as the one before.",
        "speed of the last ball [m/s]",
        _last_speed(TAPERED),
        "momentum and energy of each collision, Π 2mᵢ/(mᵢ + mᵢ₊₁).",
        0.05,
        _row(TAPERED),
    ),
    Case(
        "billiards",
        "A ball hits an equal one that rests, off-centre, elastic and without friction.",
        "angle between the paths of both balls [°]",
        90.0,
        "momentum and energy.",
        2.0,
        _billiards,
        form=".4g",
    ),
    Case(
        "thin-wall",
        "A ball of 4 cm flies at a wall of 1 cm at 1, 5, 10, 100 and 500 m/s.",
        "balls behind the wall, of five",
        0.0,
        "0, because solids do not pass through each other.",
        0.1,
        _passes,
        form=".0f",
    ),
    Case(
        "dominoes",
        "Twenty dominoes of 8 × 24 × 48 mm at 24 mm, μ = 0.3; the first is tipped at 8 rad/s.",
        "speed of the wave from the 5th to the 17th [m/s]",
        0.804,
        f"{CONVERGED} 0.8048 and 0.8014.",
        0.02,
        _wave,
    ),
    Case(
        "caught-bar",
        "A level bar of 1 m falls 10 cm until a hook catches its pin, 30 cm from its middle.",
        "angle 0.5 s after it was let go [°]",
        caught_angle(),
        "a plastic impulse on the pin, then a pendulum, scipy's DOP853, tolerance 10⁻¹².",
        0.5,
        _caught,
        form=".4g",
    ),
)
