"""Dampers far faster than the motion, fluids, and springs with play, all on light bodies."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import GRAVITY, Case, Simulate, World
from studies.benchmarks.verification.oscillators import WEIGHTLESS, mean_period

__all__ = ["CASES", "links", "links_angle", "play", "sliders", "sliders_place"]

UNTOUCHABLE = "contype='0' conaffinity='0'"

# -- dampers that couple ---------------------------------------------------------------------------

LIGHT, HEAVY, SPRING, DAMPER = 0.01, 0.02, 20.0, 5.0
CREEP = 0.5


def _coupling(damping: float) -> str:
    """A damper between the joints ``a`` and ``b``."""
    return (
        f"<tendon><fixed damping='{damping}'><joint joint='a' coef='1'/>"
        "<joint joint='b' coef='-1'/></fixed></tendon>"
    )


def sliders() -> World:
    """Masses of 10 and 20 g on springs of 20 N/m, with a damper of 5 Ns/m between them."""
    body = (
        "<body><joint name='{}' type='slide' axis='1 0 0' "
        f"stiffness='{SPRING}'/><geom size='.01' mass='{{}}' {UNTOUCHABLE}/></body>"
    )
    return World(
        body.format("a", LIGHT) + body.format("b", HEAVY),
        gravity=WEIGHTLESS,
        sections=_coupling(DAMPER),
    )


def sliders_place(time: float = CREEP) -> float:
    """Where the light mass is, that began at 0.1 m [m]: the exponential of the linear equations.

    With state (x_a, x_b, v_a, v_b): m_a v_a' = −k x_a − c (v_a − v_b), and the same of b. Its
    eigenvalues are −750/s (the damper), −2/s (the masses' creeping towards each other), and those
    of the swing of both, −0.1 ± 36.5 i.
    """
    from scipy.linalg import expm

    rates = np.zeros((4, 4))
    rates[:2, 2:] = np.eye(2)
    for row, mass in enumerate((LIGHT, HEAVY)):
        rates[2 + row, row] = -SPRING / mass
        rates[2 + row, 2:] = DAMPER / mass
        rates[2 + row, 2 + row] = -DAMPER / mass
    return float((expm(rates * time) @ [0.1, 0.0, 0.0, 0.0])[0])


def _sliders(simulate: Simulate) -> float:
    return float(1e3 * simulate(sliders(), CREEP, qpos=[0.1, 0.0]).qpos[-1, 0])


ROD, BOB = 0.1, 0.001
STIFF = 5.0
START, JOLT, TOGETHER = (1.5, -0.3), 10.0, 3.0


def links() -> World:
    """Two pendulums of 10 cm and 10 g on one axis, with a damper of 5 Nms between them."""
    body = (
        "<body><joint name='{}' axis='0 -1 0'/>"
        f"<geom size='{BOB}' pos='0 0 {-ROD}' mass='{LIGHT}' {UNTOUCHABLE}/></body>"
    )
    return World(body.format("a") + body.format("b"), sections=_coupling(STIFF))


def links_angle() -> float:
    """Angle of the first pendulum after the time [rad].

    I φ'' = −m g l sin φ − c (φ' − ψ') and the same of ψ. The damper settles within 2 · 10⁻⁵ s, so
    that the mean angle starts at half the first one's speed, and their difference δ at
    I (φ' − ψ')/2c more than it was. From then on 2 c δ' = −m g l (sin φ − sin ψ).
    """
    from scipy.integrate import solve_ivp

    inertia = LIGHT * (ROD**2 + 0.4 * BOB**2)
    moment = LIGHT * GRAVITY * ROD

    def rate(_: float, y: np.ndarray) -> list[float]:
        first, second = math.sin(y[0] + 0.5 * y[2]), math.sin(y[0] - 0.5 * y[2])
        turning = -0.5 * moment * (first + second) / inertia
        return [y[1], turning, -0.5 * moment * (first - second) / STIFF]

    apart = START[0] - START[1] + 0.5 * inertia * JOLT / STIFF
    start = [0.5 * sum(START), 0.5 * JOLT, apart]
    run = solve_ivp(rate, (0, TOGETHER), start, method="DOP853", rtol=1e-12, atol=1e-12)
    return float(run.y[0, -1] + 0.5 * run.y[2, -1])


def _links(simulate: Simulate) -> float:
    return float(simulate(links(), TOGETHER, qpos=START, qvel=[JOLT, 0.0]).qpos[-1, 0])


# -- drag ------------------------------------------------------------------------------------------

STEEL = 7800.0
HONEY = (1420.0, 10.0)
GLYCEROL = (1260.0, 1.4)
"""Density [kg/m³] and viscosity [Pa s]."""
BEAD, FALL = 1e-3, 5.0
BALL, SHOT = 5e-3, 10.0


def _mass(radius: float) -> float:
    return 4 / 3 * math.pi * radius**3 * STEEL


def _ball(
    radius: float, medium: tuple[float, float], shape: str, gravity: tuple[float, float, float]
) -> World:
    """A free steel ball in a fluid."""
    return World(
        f"<body><freejoint/><geom size='{radius}' mass='{_mass(radius):.17g}' {shape} "
        f"{UNTOUCHABLE}/></body>",
        gravity=gravity,
        sections=f"<option density='{medium[0]}' viscosity='{medium[1]}'/>",
    )


def _honey(simulate: Simulate) -> float:
    world = _ball(BEAD, HONEY, "", (0.0, 0.0, -GRAVITY))
    return float(-1e3 * simulate(world, FALL).qpos[-1, 2])


def honey_depth() -> float:
    """How deep the bead is after the time [m], at m g = c v + b v² from the beginning.

    MuJoCo takes a body for the box that has its moments of inertia, whose edges are √2.4 r. Its
    drag is that of Stokes on a sphere of that diameter, and ½ ρ A v² on a face. The bead reaches
    its speed within a millisecond.
    """
    edge = math.sqrt(2.4) * BEAD
    linear, square = 3 * math.pi * HONEY[1] * edge, 0.5 * HONEY[0] * edge**2
    weight = _mass(BEAD) * GRAVITY
    return FALL * 2 * weight / (linear + math.sqrt(linear**2 + 4 * square * weight))


def _shot(simulate: Simulate) -> float:
    world = _ball(BALL, GLYCEROL, "fluidshape='ellipsoid'", WEIGHTLESS)
    run = simulate(world, 1.0, qvel=[SHOT, 0, 0, 0, 0, 0])
    return float(1e3 * run.qpos[-1, 0])


def shot_distance() -> float:
    """How far the ball gets [m]: the integral of m v dv/(c v + b v²), m/b ln(1 + b v/c)."""
    linear = 6 * math.pi * GLYCEROL[1] * BALL
    square = 0.5 * GLYCEROL[0] * math.pi * BALL**2
    return _mass(BALL) / square * math.log1p(square * SHOT / linear)


# -- a spring with play ----------------------------------------------------------------------------

PLAY, HARD = 0.05, 1000.0


def play() -> World:
    """10 g on a rail with a spring of 1000 N/m that has 5 cm of play to either side."""
    return World(
        "<body><joint name='rail' type='slide' axis='1 0 0'/>"
        f"<geom size='.01' mass='{LIGHT}' {UNTOUCHABLE}/></body>",
        gravity=WEIGHTLESS,
        sections=f"<tendon><fixed stiffness='{HARD}' springlength='{-PLAY} {PLAY}'>"
        "<joint joint='rail' coef='1'/></fixed></tendon>",
    )


def _play(simulate: Simulate) -> float:
    return mean_period(simulate(play(), 3.0, qvel=[1.0]), 0)


CASES = (
    Case(
        "damped-sliders",
        "Masses of 10 and 20 g on springs of 20 N/m, a damper of 5 Ns/m between them; the light "
        "one starts at 0.1 m.",
        "its place after 0.5 s [mm]",
        1e3 * sliders_place(),
        "the exponential of the linear equations of motion.",
        2.0,
        _sliders,
        form=".4g",
    ),
    Case(
        "damped-links",
        "Pendulums of 10 cm and 10 g, a damper of 5 Nms between them. One starts at 10 rad/s.",
        "its angle after 3 s [rad]",
        links_angle(),
        "a pendulum of both once the damper has settled, scipy's DOP853, tolerance 10⁻¹².",
        0.02,
        _links,
        form=".3f",
    ),
    Case(
        "honey",
        "A steel ball of 2 mm sinks in honey (10 Pa s, MuJoCo's drag of boxes).",
        "depth after 5 s [mm]",
        1e3 * honey_depth(),
        "its weight is the drag, a quadratic equation.",
        0.1,
        _honey,
        form=".4g",
    ),
    Case(
        "shot",
        "A steel ball of 1 cm enters glycerol (1.4 Pa s, MuJoCo's drag of ellipsoids) at 10 m/s.",
        "distance to rest [mm]",
        1e3 * shot_distance(),
        "Stokes's and quadratic drag, m/b ln(1 + b v/c).",
        1.0,
        _shot,
        form=".4g",
    ),
    Case(
        "play",
        "10 g fly to and fro at 1 m/s between the ends of a spring (1000 N/m) with 10 cm of play.",
        "period [s]",
        4 * PLAY + 2 * math.pi * math.sqrt(LIGHT / HARD),
        "two ways through the play, and two half swings of the spring.",
        0.001,
        _play,
        form=".4g",
    ),
)
