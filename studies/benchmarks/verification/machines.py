"""Machines and vehicles: a rimless wheel, brakes, rollers, drawers, magnets."""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad

from studies.benchmarks.verification.case import GRAVITY, Case, Contact, Simulate, World
from studies.benchmarks.verification.oscillators import mean_period

__all__ = ["CASES", "drawer", "front_braked", "rimless_wheel", "rollers", "skid_steered"]

FLOOR = "<geom type='plane' size='90 90 1'/>"
WEIGHTLESS = (0.0, 0.0, 0.0)
PLANAR = "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>"

# -- a wheel of spokes without a rim --------------------------------------------------------------

SPOKES, SPOKE, SLOPE = 8, 0.5, 0.2
HALF = math.pi / SPOKES
HUB, HUB_INERTIA, TIP = 1.0, 0.02, 1e-3
WALKED = 8.0


def rimless_wheel() -> World:
    """A hub of 1 kg with eight massless spokes that ends in small balls, on a slope."""
    tips = ""
    for k in range(SPOKES):
        angle = (2 * k + 1) * HALF
        x, z = (SPOKE - TIP) * math.sin(angle), (SPOKE - TIP) * math.cos(angle)
        tips += f"<geom size='{TIP}' mass='0' pos='{x:.17g} 0 {z:.17g}'/>"
    height = (SPOKE - TIP) * math.cos(HALF) + TIP
    inertia = " ".join([str(HUB_INERTIA)] * 3)
    return World(
        f"{FLOOR}<body pos='0 0 {height + 1e-3:.17g}'>{PLANAR}"
        f"<inertial pos='0 0 0' mass='{HUB}' diaginertia='{inertia}'/>{tips}</body>",
        Contact(stiffness=1e6, dissipation=50.0, friction=2.0),
        gravity=(GRAVITY * math.sin(SLOPE), 0.0, -GRAVITY * math.cos(SLOPE)),
    )


def rimless_rate() -> float:
    """Mean spin of the wheel [rad/s].

    It turns about a tip as a pendulum upside down, with ½ ω² + c cos θ constant from γ − α to
    γ + α, c = m g l/I. An impact leaves (I_c + m l² cos 2α)/I of ω.
    """
    inertia = HUB_INERTIA + HUB * SPOKE**2
    kept = (HUB_INERTIA + HUB * SPOKE**2 * math.cos(2 * HALF)) / inertia
    pull = HUB * GRAVITY * SPOKE / inertia
    gain = 4.0 * pull * math.sin(HALF) * math.sin(SLOPE)
    slow = gain * kept**2 / (1.0 - kept**2)  # the square of ω after an impact
    begin, end = SLOPE - HALF, SLOPE + HALF
    time, _ = quad(
        lambda angle: 1.0 / math.sqrt(slow + 2.0 * pull * (math.cos(begin) - math.cos(angle))),
        begin,
        end,
    )
    return 2.0 * HALF / time


def _rimless(simulate: Simulate) -> float:
    run = simulate(rimless_wheel(), WALKED, qvel=[1.5 * SPOKE, 0.0, 1.5])
    # Between impacts, where the wheel turns evenly.
    turns = np.arange(HALF, run.qpos[-1, 2], 2.0 * HALF)
    times = np.interp(turns, run.qpos[:, 2], run.time)
    times = times[times > 0.3 * WALKED]
    if len(times) < 2:
        return math.inf
    return float(2.0 * HALF * (len(times) - 1) / (times[-1] - times[0]))


# -- a car that brakes with its front wheels ------------------------------------------------------

BRAKE, HEIGHT, TO_FRONT, TO_REAR, CAR = 0.8, 0.5, 1.2, 1.4, 100.0


def front_braked() -> World:
    """A car on a front foot with friction and a rear one without."""
    foot = f"<geom size='.1' pos='{{}} 0 {0.1 - HEIGHT}' mass='0' {{}}/>"
    feet = foot.format(TO_FRONT, "") + foot.format(-TO_REAR, "friction='0 0 0' priority='1'")
    return World(
        f"{FLOOR}<body pos='0 0 {HEIGHT}'>{PLANAR}"
        f"<inertial pos='0 0 0' mass='{CAR}' diaginertia='30 30 30'/>{feet}</body>",
        Contact(friction=BRAKE),
    )


def braking() -> float:
    """Deceleration [m/s²]: the weight that it puts on the front wheels brakes, too."""
    return BRAKE * GRAVITY * TO_REAR / (TO_FRONT + TO_REAR - BRAKE * HEIGHT)


def _front_braked(simulate: Simulate) -> float:
    run = simulate(front_braked(), 1.0, qvel=[10.0, 0.0, 0.0])
    first, last = run.at([0.5, 1.0], 0, speed=True)
    return float((first - last) / 0.5)


# -- a robot that turns on the spot ---------------------------------------------------------------

RIM, TRACK, BASE, DRIVE = 0.1, 0.5, 0.4, 1.0
ROBOT, ASPHALT, SERVO = 14.0, 0.7, 20.0


def skid_steered() -> World:
    """A robot on four wheels with servos of velocity, which cannot steer."""
    wheels, servos = "", ""
    for number in range(4):
        x, y = (0.5 - number // 2) * BASE, (0.5 - number % 2) * TRACK
        wheels += (
            f"<body pos='{x} {y} 0'><joint name='wheel{number}' axis='0 1 0'/>"
            f"<geom size='{RIM}' mass='1'/></body>"
        )
        servos += f"<velocity joint='wheel{number}' kv='{SERVO}'/>"
    return World(
        f"{FLOOR}<body pos='0 0 {RIM}'><freejoint/><geom type='box' size='.15 .1 .03' mass='10' "
        f"contype='0' conaffinity='0'/>{wheels}</body>",
        Contact(friction=ASPHALT),
        sections=f"<actuator>{servos}</actuator>",
    )


def turning() -> float:
    """Rate [rad/s] at which the friction of wheels that slip sideways and along has no torque.

    The force along a wheel, μ N L/√(W² + L²), slows its servo.
    """
    load, diagonal = ROBOT * GRAVITY / 4, math.hypot(TRACK, BASE)
    radius = RIM - load / Contact().stiffness
    slower = radius * ASPHALT * load * BASE / diagonal / SERVO
    return radius * (DRIVE / RIM - slower) * 2.0 * TRACK / diagonal**2


def _skid_steered(simulate: Simulate) -> float:
    spin = DRIVE / RIM
    run = simulate(skid_steered(), 3.0, drive=lambda _: [-spin, spin, -spin, spin])
    return float(np.mean(run.at(np.linspace(2.0, 3.0, 101), 5, speed=True)))


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
        "rimless-wheel",
        "A wheel of eight spokes without a rim walks down a slope of 0.2 rad.",
        "mean spin [rad/s]",
        rimless_rate(),
        "a pendulum upside down from impact to impact (McGeer 1990).",
        0.01 * rimless_rate(),
        _rimless,
        form=".4g",
    ),
    Case(
        "front-brake",
        "A car brakes with its front wheels, μ = 0.8.",
        "deceleration [m/s²]",
        braking(),
        "μ g b/(L − μ h): braking puts weight on the wheels that brake.",
        0.005 * braking(),
        _front_braked,
        form=".4g",
    ),
    Case(
        "skid-steer",
        "A robot on four wheels turns on the spot, its left and right wheels driven at ± 1 m/s.",
        "rate of turn [rad/s]",
        turning(),
        "u W/2/((W/2)² + (L/2)²), where friction has no torque.",
        0.01 * turning(),
        _skid_steered,
        form=".4g",
    ),
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
