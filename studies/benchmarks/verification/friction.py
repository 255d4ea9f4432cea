"""Sliding and sticking: ways, speeds, thresholds, directions, grips."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import GRAVITY, Case, Contact, Measure, Simulate, World

__all__ = ["CASES", "belt", "block", "fingers", "incline", "spinning_feet", "tablecloth"]

FLOOR = "<geom type='plane' size='90 90 1'/>"
BLOCK = "<geom type='box' size='.1 .1 .05' mass='1'/>"
# Four springs of 1e5 N/m under a face of 20 × 20 cm; E A/ℓ of its field is as stiff.
FACE, SPRINGS = 0.2 * 0.2, 4e5
# Flat, so that friction hardly tilts it: what is sought is a threshold.
PLATE = "<geom type='box' size='.1 .1 .005' mass='1'/>"


def block(friction: float, gravity: tuple[float, float, float] = (0.0, 0.0, -GRAVITY)) -> World:
    """A block of 1 kg at rest on a floor, its weight carried by four springs."""
    sunk = 0.05 + gravity[2] / 4e5
    return World(
        f"{FLOOR}<body pos='0 0 {sunk:.17g}'><freejoint/>{BLOCK}</body>",
        Contact(friction=friction, modulus=SPRINGS * 0.05 / FACE),
        gravity=gravity,
    )


def incline(friction: float, angle: float) -> World:
    """The block on a slope [rad] that falls towards x."""
    return block(friction, (GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle)))


def plate_on_slope(angle: float) -> World:
    """A thin plate on a slope [rad] that falls towards x, μ = 0.5."""
    gravity = (GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle))
    sunk = 0.005 + gravity[2] / 4e5
    return World(
        f"{FLOOR}<body pos='0 0 {sunk:.17g}'><freejoint/>{PLATE}</body>",
        Contact(friction=0.5, modulus=SPRINGS * 0.005 / FACE),
        gravity=gravity,
    )


def _slide_to_rest(simulate: Simulate) -> float:
    run = simulate(block(0.4), 1.5, qvel=[2, 0, 0, 0, 0, 0])
    return float(run.qpos[-1, 0])


DROP = 0.005


def _landing_slide(simulate: Simulate) -> float:
    run = simulate(block(0.4), 1.5, qpos=[0, 0, 0.05 + DROP, 1, 0, 0, 0], qvel=[2, 0, 0, 0, 0, 0])
    return float(run.qpos[-1, 0])


def landing_slide() -> float:
    """Flight, a blow of friction as strong as μ times the landing's, and sliding to rest [m]."""
    flight = math.sqrt(2 * DROP / GRAVITY)
    speed = 2.0 - 0.4 * GRAVITY * flight
    return 2.0 * flight + speed**2 / (2 * 0.4 * GRAVITY)


DIRECTIONS = np.radians([0.0, 15.0, 30.0, 45.0, 60.0])


def _isotropy(simulate: Simulate) -> float:
    ways = []
    for angle in DIRECTIONS:
        qvel = [2 * math.cos(angle), 2 * math.sin(angle), 0, 0, 0, 0]
        run = simulate(block(0.4), 1.5, qvel=qvel)
        ways.append(math.hypot(*run.qpos[-1, :2]))
    return float(max(ways) / min(ways)) if min(ways) > 1e-6 else math.inf


ANGLE = math.radians(20.0)
SLOPE_ACCELERATION = GRAVITY * (math.sin(ANGLE) - 0.2 * math.cos(ANGLE))


def _worst_window(simulate: Simulate) -> float:
    run = simulate(incline(0.2, ANGLE), 1.2)
    speeds = run.at(np.arange(0.2, 1.21, 0.2), 0, speed=True)
    accelerations = np.diff(speeds) / 0.2
    return float(accelerations[np.argmax(np.abs(accelerations - SLOPE_ACCELERATION))])


def _beyond(share: float) -> Measure:
    """Way [m] in 2 s on a slope whose tangent is that share of μ = 0.5."""

    def measure(simulate: Simulate) -> float:
        run = simulate(plate_on_slope(math.atan(share * 0.5)), 2.0)
        return float(run.qpos[-1, 0])

    return measure


def _way_beyond(share: float) -> float:
    angle = math.atan(share * 0.5)
    return 2.0 * GRAVITY * (math.sin(angle) - 0.5 * math.cos(angle))


# -- a belt ----------------------------------------------------------------------------------------


def belt() -> World:
    """A block whose friction falls from 1 to 0.5, and a motor that pushes and pulls."""
    return World(
        f"{FLOOR}<body pos='0 0 {0.05 - GRAVITY / 4e6:.17g}'>"
        f"<joint name='block' type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
        f"{BLOCK}</body>",
        Contact(
            stiffness=1e6,
            dissipation=50.0,
            friction=1.0,
            dynamic_friction=0.5,
            modulus=10 * SPRINGS * 0.05 / FACE,
        ),
        sections="<actuator><motor joint='block'/></actuator>",
    )


HOLD = 0.05


def _push(time: float) -> list[float]:
    middle = (math.floor(time / HOLD + 1e-6) + 0.5) * HOLD
    return [10.0 * math.sin(math.pi * middle)]


def _belt_travel(simulate: Simulate) -> float:
    run = simulate(belt(), 4.0, drive=_push, period=HOLD)
    return float(np.ptp(run.qpos[:, 0]))


# -- a block on a spring on a belt -----------------------------------------------------------------

BELT_SPEED, SPRING = 0.2, 100.0


def belt_oscillator() -> World:
    """A block of 1 kg, held by a spring, on a heavy board that moves at 0.2 m/s, μ = 0.3."""
    sunk = GRAVITY / 4e5
    return World(
        "<body pos='0 0 -.05'><joint type='slide' axis='1 0 0'/>"
        "<geom type='box' size='5 .5 .05' mass='1e6'/></body>"
        f"<body pos='0 0 {0.05 - sunk:.17g}'>"
        f"<joint type='slide' axis='1 0 0' stiffness='{SPRING}'/>"
        f"<joint type='slide' axis='0 0 1'/>{BLOCK}</body>",
        Contact(friction=0.3, modulus=SPRINGS * (0.05 + 0.05) / FACE),
    )


def _belt_oscillation(simulate: Simulate) -> float:
    run = simulate(belt_oscillator(), 10.0, qvel=[BELT_SPEED, 0, 0])
    late = run.qpos[run.time > 8.0, 1]
    return float(0.5 * np.ptp(late))


# -- grips -----------------------------------------------------------------------------------------


def fingers(mass: float) -> World:
    """Two fingers that press with 10 N each on a box between them, μ = 0.5."""
    sunk = 10.0 / 4e5
    finger = (
        "<body pos='{0:.17g} 0 0'><joint name='{1}' type='slide' axis='{2} 0 0' damping='10'/>"
        "<geom type='box' size='.01 .03 .03' mass='.1'/></body>"
    )
    return World(
        finger.format(-0.05 + sunk, "left", 1)
        + finger.format(0.05 - sunk, "right", -1)
        + f"<body><freejoint/><geom type='box' size='.04 .02 .02' mass='{mass}'/></body>",
        Contact(friction=0.5, modulus=SPRINGS * (0.01 + 0.02) / 0.04**2),
        sections="<actuator><motor joint='left'/><motor joint='right'/></actuator>",
    )


def _held(simulate: Simulate) -> float:
    run = simulate(fingers(0.8), 10.0, drive=lambda _: [10.0, 10.0], period=1.0)
    return float(-1e3 * run.qpos[-1, 4])


def _slipping(simulate: Simulate) -> float:
    run = simulate(fingers(1.2), 0.2, drive=lambda _: [10.0, 10.0], period=0.2)
    return float(-run.qvel[-1, 4])


def tablecloth() -> World:
    """A box on a board on a floor, μ = 0.3."""
    low = 0.01 - 3 * GRAVITY / 4e5
    high = 0.06 - 3 * GRAVITY / 4e5 - GRAVITY / 4e5
    return World(
        f"{FLOOR}<body name='board' pos='0 0 {low:.17g}'><freejoint/>"
        "<geom type='box' size='.5 .2 .01' mass='2'/></body>"
        f"<body pos='0 0 {high:.17g}'><freejoint/><geom type='box' size='.04 .04 .04' mass='1'/>"
        "</body>",
        Contact(friction=0.3),
    )


def _pulled(simulate: Simulate) -> float:
    run = simulate(tablecloth(), 0.3, forces={"board": [40, 0, 0, 0, 0, 0]})
    return float(run.qvel[-1, 6])


# -- spinning on feet ------------------------------------------------------------------------------

FEET, REACH = 3, 0.1
TRIPOD_INERTIA = 0.005


def spinning_feet(radii: tuple[float, ...] = (REACH,)) -> World:
    """Three feet at each of these distances from the axis, level with the centre of mass."""
    sunk = GRAVITY / (FEET * len(radii)) / 1e5
    feet = "".join(
        f"<geom size='.01' mass='0' pos='{r * math.cos(a):.17g} {r * math.sin(a):.17g} "
        f"{0.01 - sunk:.17g}'/>"
        for r in radii
        for a in 2 * math.pi * np.arange(FEET) / FEET
    )
    return World(
        "<geom type='plane' size='9 9 1'/><body><freejoint/>"
        f"<inertial pos='0 0 0' mass='1' diaginertia='.003 .003 {TRIPOD_INERTIA}'/>{feet}</body>",
        Contact(friction=0.2),
    )


def _drilling(simulate: Simulate) -> float:
    run = simulate(spinning_feet(), 0.5, qvel=[0, 0, 0, 0, 0, 30])
    return float(run.qvel[-1, 5])


def _patch(simulate: Simulate) -> float:
    run = simulate(spinning_feet((0.5 * REACH, REACH)), 0.5, qvel=[0, 0, 0, 0, 0, 30])
    return float(run.qvel[-1, 5])


def _glide(simulate: Simulate) -> float:
    run = simulate(spinning_feet(), 1.0, qvel=[0.8, 0, 0, 0, 0, 10])
    return float(np.hypot(*run.qpos[-1, :2]))


def glide() -> float:
    """How far the tripod comes from 0.8 m/s and 10 rad/s [m], by Coulomb's law of friction."""
    from scipy.integrate import solve_ivp

    directions = 2 * math.pi * np.arange(FEET) / FEET
    load = 0.2 * GRAVITY / FEET

    def rate(_: float, state: np.ndarray) -> list[float]:
        _, _, angle, vx, vy, spin = state
        force, torque = np.zeros(2), 0.0
        for direction in directions:
            arm = REACH * np.array([math.cos(angle + direction), math.sin(angle + direction)])
            slip = np.array([vx - spin * arm[1], vy + spin * arm[0]])
            push = -load * slip / math.sqrt(slip @ slip + 1e-8)
            force += push
            torque += arm[0] * push[1] - arm[1] * push[0]
        return [vx, vy, spin, force[0], force[1], torque / TRIPOD_INERTIA]

    run = solve_ivp(rate, (0, 1), [0, 0, 0, 0.8, 0, 10], method="Radau", rtol=1e-9, atol=1e-11)
    return float(np.hypot(*run.y[:2, -1]))


# Of `glide`, which takes a third of a second.
GLIDE = 0.229907


CASES = (
    Case(
        "slide-to-rest",
        "A block slides from 2 m/s to rest, μ = 0.4.",
        "distance [m]",
        4 / (2 * 0.4 * GRAVITY),
        "v²/2μg.",
        0.005,
        _slide_to_rest,
        form=".4g",
    ),
    Case(
        "landing-slide",
        "The same block is thrown flat on the floor from 5 mm, at 2 m/s.",
        "distance to rest [m]",
        landing_slide(),
        "flight, an impact with friction μ times its normal impulse, then v²/2μg.",
        0.005,
        _landing_slide,
        form=".4g",
    ),
    Case(
        "isotropy",
        "A block slides in five directions between 0° and 60°.",
        "longest distance over shortest",
        1.0,
        "1, since Coulomb's cone is round.",
        0.01,
        _isotropy,
        form=".4g",
    ),
    Case(
        "incline-windows",
        "The block slides down 20°, μ = 0.2. Its acceleration is taken in windows of 0.2 s.",
        "worst acceleration of all windows [m/s²]",
        SLOPE_ACCELERATION,
        "g (sin α − μ cos α).",
        0.015,
        _worst_window,
    ),
    Case(
        "just-sticks",
        "A plate on a slope at 0.98 of the limit, 2 s.",
        "distance [m]",
        0.0,
        "0, because friction can carry the load.",
        0.002,
        _beyond(0.98),
    ),
    Case(
        "just-slides",
        "A plate on a slope at 1.05 of the limit, from rest, 2 s.",
        "distance [m]",
        _way_beyond(1.05),
        "½ g (sin α − μ cos α) t².",
        0.01,
        _beyond(1.05),
    ),
    Case(
        "belt",
        "A block whose friction falls from 1 to 0.5 once it slides is pushed at 1.02 of the limit.",
        "travel [m]",
        0.77302519,
        "its one equation of motion, scipy's Radau, tolerance 10⁻¹⁰.",
        0.015,
        _belt_travel,
    ),
    Case(
        "belt-oscillator",
        "A belt of 0.2 m/s drags a block on a spring (100 N/m), which slips again and again.",
        "amplitude after 8 s [m]",
        BELT_SPEED / math.sqrt(SPRING),
        "it leaves the belt at the belt's speed, and swings by v/ω about μmg/k from then on.",
        0.001,
        _belt_oscillation,
    ),
    Case(
        "held",
        "Two fingers press 10 N each on a box of 0.8 kg, μ = 0.5, for 10 s.",
        "sinking in 10 s [mm]",
        0.0,
        "0, because friction of 7.8 N is needed and 10 N can act.",
        2.0,
        _held,
    ),
    Case(
        "slipping",
        "The same fingers hold 1.2 kg, from rest.",
        "speed after 0.2 s [m/s]",
        0.2 * (GRAVITY - 10 / 1.2),
        "(g − 2μF/m) t.",
        0.006,
        _slipping,
    ),
    Case(
        "tablecloth",
        "A board is pulled away with 40 N from under a box, μ = 0.3.",
        "speed of the box after 0.3 s [m/s]",
        0.3 * 0.3 * GRAVITY,
        "μ g t.",
        0.02,
        _pulled,
    ),
    Case(
        "drilling",
        "A body on three feet spins at 30 rad/s on the spot, μ = 0.2.",
        "spin after 0.5 s [rad/s]",
        30 - 0.5 * 0.2 * GRAVITY * REACH / TRIPOD_INERTIA,
        "ω₀ − μ m g r t/I, friction being the same on every foot.",
        0.3,
        _drilling,
    ),
    Case(
        "spinning-patch",
        "The same body has three more feet, half as far from the axis.",
        "spin after 0.5 s [rad/s]",
        30 - 0.5 * 0.2 * GRAVITY * 0.75 * REACH / TRIPOD_INERTIA,
        "The same with the mean r: equal springs carry equal loads. Rigid feet need not.",
        0.3,
        _patch,
    ),
    Case(
        "gliding-spin",
        "The body on three feet glides at 0.8 m/s while it spins at 10 rad/s.",
        "distance to rest [m]",
        GLIDE,
        "Coulomb's friction on three feet, scipy's Radau, tolerance 10⁻⁹.",
        0.005,
        _glide,
        form=".4g",
    ),
)
