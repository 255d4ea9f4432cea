"""Rolling: from slipping to rolling, on slopes, in grooves, on slabs and turntables."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import GRAVITY, Case, Contact, Simulate, World

__all__ = ["CASES", "rocker", "rolling_ball", "slab_and_balls", "turntable"]

FLOOR = "<geom type='plane' size='9 9 1'/>"


def rolling_ball() -> World:
    """A ball of 1 kg and 10 cm that rests on a floor, μ = 0.3."""
    sunk = 0.1 - GRAVITY / 1e5
    return World(
        f"{FLOOR}<body pos='0 0 {sunk:.17g}'><freejoint/><geom size='.1' mass='1'/></body>",
        Contact(friction=0.3),
    )


def _slip_then_roll(simulate: Simulate) -> float:
    run = simulate(rolling_ball(), 1.0, qvel=[2, 0, 0, 0, 0, 0])
    return float(run.qvel[-1, 0])


def _slip_distance(simulate: Simulate) -> float:
    run = simulate(rolling_ball(), 1.0, qvel=[2, 0, 0, 0, 0, 0])
    return float(run.qpos[-1, 0])


def slip_distance() -> float:
    """Where a ball is after a second that starts at 2 m/s without spin [m]."""
    slipping = 2.0 * 2.0 / (7.0 * 0.3 * GRAVITY)
    way = 2.0 * slipping - 0.5 * 0.3 * GRAVITY * slipping**2
    return way + 10.0 / 7.0 * (1.0 - slipping)


def _backspin(simulate: Simulate) -> float:
    run = simulate(rolling_ball(), 1.5, qvel=[1, 0, 0, 0, -50, 0])
    return float(run.qvel[-1, 0])


# -- a ball that rocks -----------------------------------------------------------------------------

ROCK, ROCKER_STIFFNESS = 0.05, 1e6


def rocker() -> World:
    """A ball of 1 kg and 10 cm whose centre of mass is 5 cm below its own."""
    sunk = 0.1 - GRAVITY / ROCKER_STIFFNESS
    return World(
        f"{FLOOR}<body pos='0 0 {sunk:.17g}'><freejoint/>"
        "<inertial pos='0 0 -.05' mass='1' diaginertia='.002 .002 .002'/><geom size='.1'/></body>",
        Contact(stiffness=ROCKER_STIFFNESS, dissipation=0.0),
    )


def _rocking(simulate: Simulate) -> float:
    """The mean over the last of ten seconds of (θ² + (θ'/Ω)²)/θ₀², with the tilt θ."""
    world = rocker()
    height = float(world.model().body_pos[1, 2])
    half = 0.5 * ROCK
    run = simulate(world, 10.0, qpos=[0, 0, height, math.cos(half), 0, math.sin(half), 0])
    # About the point of contact, 5 cm below the centre of mass.
    frequency = math.sqrt(GRAVITY * 0.05 / (0.002 + 0.05**2))
    late = run.time >= 9.0
    tilt = 2.0 * run.qpos[late, 5]
    speed = run.qvel[late, 4] / frequency
    return float(np.mean(tilt**2 + speed**2) / ROCK**2)


# -- SimBenchmark's rolling test -------------------------------------------------------------------

SLAB, BALL, PUSH = 10.0, 1.0, 150.0
BALLS = 25


def slab_and_balls() -> World:
    """A slab on a floor (μ = 0.4) with 25 balls on it (0.8)."""
    # Everything just touches, as in the test; hard enough for the first fall to count nothing.
    balls = "".join(
        f"<body pos='{2 * (i % 5 - 2)} {2 * (i // 5 - 2)} 1.5'><freejoint/>"
        "<geom size='.5' mass='1' friction='.8'/></body>"
        for i in range(BALLS)
    )
    return World(
        "<geom type='plane' size='200 200 1'/><body name='slab' pos='0 0 .5'><freejoint/>"
        f"<geom type='box' size='10 10 .5' mass='10'/></body>{balls}",
        Contact(stiffness=1e7, friction=0.4),
    )


def slab_acceleration() -> float:
    """Of the slab, which slides [m/s²]; a ball that rolls on it is accelerated by 2/7 of that."""
    friction = 0.4 * (SLAB + BALLS * BALL) * GRAVITY
    return (PUSH - friction) / (SLAB + BALLS * BALL * 2 / 7)


def _rolling_test(simulate: Simulate) -> float:
    push = PUSH / math.sqrt(2)
    run = simulate(slab_and_balls(), 4.0, forces={"slab": [push, push, 0, 0, 0, 0]})
    slab = slab_acceleration()
    along = np.array([1.0, 1.0, 0.0]) / math.sqrt(2)
    velocity = run.qvel.reshape(len(run.time), BALLS + 1, 6)[:, :, :3]
    times = np.linspace(0.0, 4.0, 401)
    total = 0.0
    for body in range(BALLS + 1):
        acceleration = slab if body == 0 else 2 / 7 * slab
        for axis in range(3):
            got = np.interp(times, run.time, velocity[:, body, axis])
            total += float(np.mean((got - acceleration * times * along[axis]) ** 2))
    return total / (BALLS + 1)


# -- slopes ----------------------------------------------------------------------------------------

SLOPE = math.radians(15.0)


def _downhill(shape: str, radius: float, mass: float = 1.0) -> World:
    height = radius - mass * GRAVITY * math.cos(SLOPE) / 2e5
    return World(
        f"{FLOOR}<body pos='0 0 {height:.17g}'><freejoint/><geom {shape} mass='{mass:.17g}'/>"
        "</body>",
        Contact(friction=0.5),
        gravity=(GRAVITY * math.sin(SLOPE), 0.0, -GRAVITY * math.cos(SLOPE)),
    )


CAPSULE_RADIUS, CAPSULE_HALF = 0.05, 0.1


def _capsule(simulate: Simulate) -> float:
    shape = (
        f"type='capsule' size='{CAPSULE_RADIUS}' fromto='0 {-CAPSULE_HALF} 0 0 {CAPSULE_HALF} 0'"
    )
    run = simulate(_downhill(shape, CAPSULE_RADIUS), 1.0)
    return float(run.qvel[-1, 0])


def _capsule_speed() -> float:
    # A cylinder and two halves of a ball of one density.
    r, length = CAPSULE_RADIUS, 2 * CAPSULE_HALF
    cylinder, ball = math.pi * r * r * length, 4 / 3 * math.pi * r**3
    factor = (0.5 * cylinder + 0.4 * ball) / (cylinder + ball)
    return GRAVITY * math.sin(SLOPE) / (1 + factor)


GRAIN_RADIUS = 3e-4


def _grain(simulate: Simulate) -> float:
    # 2500 kg/m³. Its weight is 3e-6 N, so that impulses of a step are as small as round-off may be.
    mass = 2500 * 4 / 3 * math.pi * GRAIN_RADIUS**3
    shape = f"size='{GRAIN_RADIUS}'"
    run = simulate(_downhill(shape, GRAIN_RADIUS, mass), 0.2)
    return float(run.qvel[-1, 0])


def _groove(simulate: Simulate) -> float:
    # Two planes that meet at a right angle along x: contacts at radius/√2 from the axis.
    half = math.pi / 4
    planes = "".join(
        f"<geom type='plane' size='9 9 1' euler='{angle:.17g} 0 0'/>" for angle in (half, -half)
    )
    world = World(
        f"{planes}<body pos='0 0 {0.05 * math.sqrt(2) - 1e-5:.17g}'><freejoint/>"
        "<geom size='.05' mass='.1'/></body>",
        Contact(friction=0.5),
        gravity=(GRAVITY * math.sin(SLOPE), 0.0, -GRAVITY * math.cos(SLOPE)),
    )
    return float(simulate(world, 1.0).qvel[-1, 0])


# -- a turntable -----------------------------------------------------------------------------------

TURNS = 2 * math.pi  # rad/s
TABLE_PERIOD = 3.5 * 2 * math.pi / TURNS


def turntable() -> World:
    """A ball on a heavy disc that turns once a second."""
    sunk = 0.03 - 0.1 * GRAVITY / 1e5
    return World(
        "<body><joint axis='0 0 1'/><geom type='cylinder' size='1 .05' pos='0 0 -.05' "
        f"mass='1e4'/></body><body pos='.4 0 {sunk:.17g}'><freejoint/>"
        "<geom size='.03' mass='.1'/></body>",
        Contact(friction=0.8),
    )


def _orbit(simulate: Simulate) -> float:
    # Rolling without slip: the contact's velocity is that of the table under it.
    speed = 0.2
    under = TURNS * 0.4
    qvel = [TURNS, 0, speed, 0, -(speed - under) / 0.03, 0, 0]
    run = simulate(turntable(), TABLE_PERIOD, qvel=qvel)
    return float(np.hypot(run.qpos[-1, 1] - 0.4, run.qpos[-1, 2]))


FIELD_BALL = "their law, integrated over the patch."

WHEEL, STEP, WHEEL_INERTIA, WHEEL_SPEED = 0.05, 0.005, 1.25e-3, 0.6


def _wheel(simulate: Simulate) -> float:
    """How fast a wheel is that has rolled onto a step [m/s]."""
    world = World(
        f"{FLOOR}<geom type='box' size='.3 .5 {STEP / 2}' pos='.5 0 {STEP / 2}'/>"
        f"<body pos='0 0 {WHEEL}'><freejoint/><inertial pos='0 0 0' mass='1' "
        f"diaginertia='.004 {WHEEL_INERTIA} .004'/>"
        f"<geom type='cylinder' size='{WHEEL} .1' euler='1.5707963267948966 0 0'/></body>",
        Contact(stiffness=1e6, dissipation=20.0, friction=1.0),
    )
    spin = WHEEL_SPEED / WHEEL
    run = simulate(world, 0.7, qvel=[WHEEL_SPEED, 0, 0, 0, spin, 0])
    return float(run.qvel[-1, 0])


def speed_on_step() -> float:
    """Of a wheel after the step [m/s].

    The impact keeps the angular momentum about the edge, and climbing keeps the energy.
    """
    about_edge = WHEEL_INERTIA + WHEEL**2
    speed = WHEEL_SPEED * (about_edge - WHEEL * STEP) / about_edge
    return math.sqrt(speed**2 - 2 * GRAVITY * STEP * WHEEL**2 / about_edge)


CASES = (
    Case(
        "rocking-ball",
        "A ball of 10 cm with its centre of mass 5 cm below its own rocks by 0.05 rad (5 mm).",
        "energy of the swing after 10 s, over the first",
        0.988,
        "converged: TAMSI's contact in steps of 10 µs and CENIC's at 1e-6 both find 0.988.",
        0.02,
        _rocking,
    ),
    Case(
        "slip-to-roll",
        "A ball starts at 2 m/s without spin, μ = 0.3. It slips, then rolls.",
        "speed after 1 s [m/s]",
        10 / 7,
        "5/7 of the first speed, angular momentum about the floor.",
        0.01,
        _slip_then_roll,
        form=".4g",
        field_truth=1.2684,
        field_source=FIELD_BALL,
    ),
    Case(
        "slip-to-roll-distance",
        "The same ball.",
        "distance after 1 s [m]",
        slip_distance(),
        "Coulomb's friction until it rolls, then uniform motion.",
        0.01,
        _slip_distance,
        form=".4g",
        field_truth=1.4101,
        field_source=FIELD_BALL,
    ),
    Case(
        "backspin",
        "The ball starts forwards at 1 m/s with 50 rad/s of backspin. It comes back.",
        "speed after 1.5 s [m/s]",
        (5 * 1.0 - 2 * 0.1 * 50) / 7,
        "angular momentum about the floor, (5 v − 2 r ω)/7.",
        0.01,
        _backspin,
        form=".4g",
        field_truth=-0.5258,
        field_source=FIELD_BALL,
    ),
    Case(
        "slab-and-balls",
        "SimBenchmark's rolling test: a slab is pushed diagonally with 150 N, 25 balls roll on it, "
        "4 s.",
        "mean squared error of velocity [m²/s²]",
        0.0,
        "Newton, Coulomb and rolling without slip, as published with the test.",
        2e-6,
        _rolling_test,
        form=".1e",
    ),
    Case(
        "capsule-downhill",
        "A capsule rolls down 15°, from rest.",
        "speed after 1 s [m/s]",
        _capsule_speed(),
        "g sin α t/(1 + I/mr²).",
        0.02,
        _capsule,
        form=".4g",
    ),
    Case(
        "grain-downhill",
        "A grain of 0.3 mm, 0.3 mg, rolls down 15°, from rest.",
        "speed after 0.2 s [m/s]",
        0.2 * GRAVITY * math.sin(SLOPE) / 1.4,
        "g sin α t/(1 + 2/5).",
        0.02,
        _grain,
    ),
    Case(
        "groove",
        "A ball rolls down a right-angled groove of 15°, on two contacts.",
        "speed after 1 s [m/s]",
        GRAVITY * math.sin(SLOPE) / (1 + 0.4 * 2),
        "g sin α t/(1 + 2/5 r²/d²), d = r/√2.",
        0.02,
        _groove,
        form=".4g",
        field_truth=1.2373,
        field_source=FIELD_BALL,
    ),
    Case(
        "turntable",
        "A ball rolls on a turning table. Its path is a circle, once in 7/2 turns.",
        "distance from the start after a circle of 0.30 m [m]",
        0.0,
        "0, because a ball that rolls without slip goes round at 2/7 of the table's speed.",
        0.02,
        _orbit,
        field_truth=0.2156,
        field_source=FIELD_BALL,
    ),
    Case(
        "wheel-step",
        "A wheel, a cylinder of 5 cm, rolls at 0.6 m/s onto a step of 5 mm, inelastic.",
        "speed on the step [m/s]",
        speed_on_step(),
        "angular momentum about the edge, then energy.",
        0.02,
        _wheel,
        form=".3g",
    ),
)
