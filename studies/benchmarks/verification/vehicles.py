"""Vehicles: a rimless wheel, a car, a robot on wheels, a bicycle."""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad
from scipy.linalg import expm

from studies.benchmarks.verification.case import GRAVITY, Case, Contact, Simulate, World

__all__ = ["CASES", "bicycle", "front_braked", "rimless_wheel", "skid_steered"]

FLOOR = "<geom type='plane' size='90 90 1'/>"
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


# -- a bicycle without a rider's hands ------------------------------------------------------------

BASE_LENGTH, TRAIL, STEER_TILT, RIDE = 1.02, 0.08, math.pi / 10.0, 5.0
REAR_RIM, FRONT_RIM, NUDGE = 0.3, 0.35, 0.1
"""Radii [m], and the rate at which it begins to lean [rad/s]."""


def _inertial(mass: float, place: tuple[float, float], inertia: tuple[float, ...]) -> str:
    x, z = place
    xx, yy, zz, xz = inertia
    return f"<inertial pos='{x} 0 {z}' mass='{mass}' fullinertia='{xx} {yy} {zz} 0 {xz} 0'/>"


def _wheel(name: str, x: float, radius: float, mass: float, inertia: tuple[float, float]) -> str:
    """A wheel that touches the ground in a point."""
    across, along = inertia
    return (
        f"<body pos='{x} 0 {radius}'><joint name='{name}' axis='0 1 0'/>"
        f"<inertial pos='0 0 0' mass='{mass}' diaginertia='{across} {along} {across}'/>"
        f"<geom type='ellipsoid' size='{radius} .01 {radius}' mass='0'/></body>"
    )


def bicycle() -> World:
    """The benchmark bicycle: rear frame with rider, front frame, two wheels."""
    frame = _inertial(85.0, (0.3, 0.9), (9.2, 11.0, 2.8, -2.4))
    fork = _inertial(4.0, (0.9, 0.7), (0.05892, 0.06, 0.00708, 0.00756))
    axis = f"{-math.sin(STEER_TILT):.17g} 0 {math.cos(STEER_TILT):.17g}"
    front = _wheel("front", BASE_LENGTH, FRONT_RIM, 3.0, (0.1405, 0.28))
    return World(
        f"{FLOOR}<body><freejoint/>{frame}{_wheel('rear', 0.0, REAR_RIM, 2.0, (0.0603, 0.12))}"
        f"<body><joint name='steer' pos='{BASE_LENGTH + TRAIL} 0 0' axis='{axis}'/>"
        f"{fork}{front}</body></body>",
        Contact(stiffness=1e6, dissipation=2.0, friction=1.0),
    )


def bicycle_lean() -> float:
    """Lean after a second, by the linear equations of lean and steer [rad]."""
    mass = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
    weight = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
    by_speed = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
    by_square = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
    stiffness = GRAVITY * weight + RIDE**2 * by_square
    matrix = np.block([[np.zeros((2, 2)), np.eye(2)], [-stiffness, -RIDE * by_speed]])
    matrix[2:] = np.linalg.solve(mass, matrix[2:])
    return float((expm(matrix) @ [0.0, 0.0, NUDGE, 0.0])[0])


def _bicycle(simulate: Simulate) -> float:
    start = [RIDE, 0.0, 0.0, NUDGE, 0.0, 0.0, RIDE / REAR_RIM, 0.0, RIDE / FRONT_RIM]
    w, x, y, z = simulate(bicycle(), 1.0, qvel=start).qpos[-1, 3:7]
    return float(math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)))


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
        "bicycle",
        "A bicycle rolls at 5 m/s without a hand on it and begins to lean at 0.1 rad/s.",
        "lean after 1 s [rad]",
        bicycle_lean(),
        "linear equations of the benchmark bicycle (Meijaard et al., Proc. R. Soc. A 463, 2007).",
        6e-4,
        _bicycle,
        form=".3g",
    ),
)
