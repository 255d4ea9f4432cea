"""Rolling on curves: coins, spinning discs, planks on cylinders, balls on balls, cams."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import GRAVITY, Array, Case, Contact, Simulate, World
from studies.benchmarks.verification.oscillators import mean_period

__all__ = ["CASES", "Steady", "coin", "plank", "steady_rolling"]

FLOOR = "<geom type='plane' size='9 9 1'/>"

# -- a disc that rolls in a circle -----------------------------------------------------------------

RADIUS, HALF, DISC = 0.1, 0.002, 0.2
"""Of a coin [m], half of its thickness [m] and mass [kg]."""
TRANSVERSE = DISC * (RADIUS**2 / 4 + HALF**2 / 3)
AXIAL = DISC * RADIUS**2 / 2


def coin() -> World:
    """A coin of 200 g on a floor, hard and rough."""
    return World(
        f"{FLOOR}<body pos='0 0 1'><freejoint/><inertial pos='0 0 0' mass='{DISC}' "
        f"diaginertia='{TRANSVERSE:.12g} {TRANSVERSE:.12g} {AXIAL:.12g}'/>"
        f"<geom type='cylinder' size='{RADIUS} {HALF}'/></body>",
        Contact(stiffness=1e5, friction=1.0),
    )


class Steady:
    """A disc that rolls without slip, its inclination and its turning constant.

    The disc's axis e leans by an angle from the vertical towards x. The lowest point of its rim is
    at r from the centre, on the face below, and the centre moves with v = −ω × r along y. In the
    axes that turn with Ω all is at rest, so that v' = Ω × v and L' = Ω × L: the contact's force is
    m (Ω × v − g), and its moment r × f must be Ω × L.

    Parameters
    ----------
    angle
        Between the axis and the vertical [rad].
    turning
        Of the whole motion about the vertical [rad/s].
    spin
        Of the disc about its own axis, on top of that [rad/s].
    """

    def __init__(self, angle: float, turning: float, spin: float) -> None:
        self.angle, self.turning, self.spin = angle, turning, spin
        up = np.array([0.0, 0.0, 1.0])
        self.axis = np.array([math.sin(angle), 0.0, math.cos(angle)])
        # In the disc's plane, downwards; and to the face that is below.
        self.down = np.array([math.cos(angle), 0.0, -math.sin(angle)])
        self.contact = RADIUS * self.down - HALF * math.copysign(1.0, math.cos(angle)) * self.axis
        self.omega = turning * up + spin * self.axis
        self.velocity = -np.cross(self.omega, self.contact)

    @property
    def unbalanced(self) -> float:
        """Moment about the rolling direction that the motion would need besides its own [Nm]."""
        up = np.array([0.0, 0.0, 1.0])
        acceleration = self.turning * np.cross(up, self.velocity)
        force = DISC * (acceleration + GRAVITY * up)
        along = (self.omega @ self.axis) * self.axis
        momentum = AXIAL * along + TRANSVERSE * (self.omega - along)
        return float((np.cross(self.contact, force) - self.turning * np.cross(up, momentum))[1])

    def start(self) -> tuple[Array, Array]:
        """MuJoCo's coordinates and velocities."""
        half = 0.5 * self.angle
        height = -self.contact[2] - DISC * GRAVITY / 1e5
        qpos = np.array([0, 0, height, math.cos(half), 0, math.sin(half), 0])
        frame = np.array([self.down, [0.0, 1.0, 0.0], self.axis])
        return qpos, np.concatenate([self.velocity, frame @ self.omega])


def steady_rolling(angle: float, spin: float, fixed_centre: bool = False) -> Steady:
    """The steady motion with an inclination and a spin, or with a centre that (nearly) rests.

    Of Euler's disc the spin about its axis is opposite to what the turning has about it.
    """
    from scipy.optimize import brentq

    def motion(turning: float) -> Steady:
        own = -turning * math.cos(angle) if fixed_centre else spin
        return Steady(angle, turning, own)

    turnings = np.linspace(0.05, 60.0, 2400)
    wrong = [motion(turning).unbalanced for turning in turnings]
    first = int(np.flatnonzero(np.diff(np.sign(wrong)))[0])
    found = brentq(lambda t: motion(t).unbalanced, turnings[first], turnings[first + 1])
    return motion(float(found))


def _inclination(qpos: Array) -> Array:
    """Angle between the axis and the vertical [°]."""
    cosines = 1 - 2 * (qpos[:, 4] ** 2 + qpos[:, 5] ** 2)
    return np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))


COIN_ANGLE, COIN_SPIN = math.radians(70.0), -15.0
EULER_ANGLE = math.radians(10.0)


def _coin(simulate: Simulate) -> float:
    qpos, qvel = steady_rolling(COIN_ANGLE, COIN_SPIN).start()
    run = simulate(coin(), 6.0, qpos=qpos, qvel=qvel)
    return float(_inclination(run.qpos)[-1])


def _coin_heading(simulate: Simulate) -> float:
    """How far the coin has gone round in 2 s [°]."""
    qpos, qvel = steady_rolling(COIN_ANGLE, COIN_SPIN).start()
    run = simulate(coin(), 2.0, qpos=qpos, qvel=qvel)
    heading = np.unwrap(np.arctan2(run.qvel[:, 1], run.qvel[:, 0]))
    return float(np.degrees(heading[-1] - heading[0]))


def _euler(simulate: Simulate) -> float:
    qpos, qvel = steady_rolling(EULER_ANGLE, 0.0, fixed_centre=True).start()
    run = simulate(coin(), 3.0, qpos=qpos, qvel=qvel)
    return float(_inclination(run.qpos)[-1])


def _euler_rate(simulate: Simulate) -> float:
    """Mean rate at which the disc's lowest point goes round in the first second [rad/s]."""
    qpos, qvel = steady_rolling(EULER_ANGLE, 0.0, fixed_centre=True).start()
    run = simulate(coin(), 1.0, qpos=qpos, qvel=qvel)
    w, x, y, z = run.qpos[:, 3:].T
    turned = np.unwrap(np.arctan2(2 * (y * z - w * x), 2 * (x * z + w * y)))
    return float((turned[-1] - turned[0]) / run.time[-1])


# -- a plank on a cylinder -------------------------------------------------------------------------

LOG, THICK, LONG, ROCK = 0.2, 0.02, 0.4, 0.15
"""Radius of the log, half thickness and half length of the plank [m], first tilt [rad]."""


def plank() -> World:
    """A plank of 1 kg across a fixed log."""
    return World(
        f"<geom type='capsule' size='{LOG}' fromto='0 -.3 0 0 .3 0'/>"
        f"<body pos='0 0 {LOG + THICK:.17g}'><freejoint/>"
        f"<geom type='box' size='{LONG} .1 {THICK}' mass='1'/></body>",
        Contact(stiffness=1e6, friction=1.0),
    )


def _plank_place(tilt: float) -> Array:
    """Centre of a plank that has rolled to a tilt [m]."""
    s, c = math.sin(tilt), math.cos(tilt)
    return np.array([(LOG + THICK) * s - LOG * tilt * c, (LOG + THICK) * c + LOG * tilt * s])


def plank_period() -> float:
    """Of swings from `ROCK` to either side [s]; energy gives the time as an integral."""
    from scipy.integrate import quad

    own = (LONG**2 + THICK**2) / 3
    top = _plank_place(ROCK)[1]

    def time(phase: float) -> float:
        tilt = ROCK * math.sin(phase)
        inertia = own + THICK**2 + (LOG * tilt) ** 2  # about the point of contact
        fallen = top - _plank_place(tilt)[1]
        return ROCK * math.cos(phase) * math.sqrt(inertia / (2 * GRAVITY * fallen))

    return float(4 * quad(time, 0.0, 0.5 * math.pi - 1e-7, epsabs=1e-10)[0])


def _plank(simulate: Simulate) -> float:
    x, z = _plank_place(ROCK)
    half = 0.5 * ROCK
    run = simulate(
        plank(), 6.0, qpos=[x, 0, z - GRAVITY / 2e6, math.cos(half), 0, math.sin(half), 0]
    )
    return mean_period(run, 0)


# -- a loaded wheel --------------------------------------------------------------------------------

LOADED, LOADED_INERTIA, OFFSET = 0.1, 4e-3, 0.04


def loaded_ball() -> World:
    """A ball of 1 kg and 10 cm whose centre of mass is 4 cm from its own."""
    return World(
        f"{FLOOR}<body pos='0 0 {LOADED - GRAVITY / 1e5:.17g}'><freejoint/>"
        f"<inertial pos='0 0 {-OFFSET}' mass='1' diaginertia='.004 .004 .004'/>"
        f"<geom size='{LOADED}'/></body>",
        Contact(friction=2.0),
    )


def loaded_way(spin: float, time: float) -> float:
    """How far a ball that rolls with a load comes [m]: the energy is that of one angle.

    ½ (I + a² + b² − 2 a b cos θ) θ'² − g b cos θ with the load at b below the middle at θ = 0.
    """
    from scipy.integrate import solve_ivp

    def rate(_: float, state: Array) -> list[float]:
        angle, speed = state
        inertia = LOADED_INERTIA + LOADED**2 + OFFSET**2 - 2 * LOADED * OFFSET * math.cos(angle)
        moment = OFFSET * math.sin(angle) * (GRAVITY + LOADED * speed**2)
        return [speed, -moment / inertia]

    run = solve_ivp(rate, (0, time), [0.0, spin], method="DOP853", rtol=1e-11, atol=1e-12)
    return float(LOADED * run.y[0, -1])


LOADED_SPIN = 20.0


def _loaded(simulate: Simulate) -> float:
    # The frame's origin is the middle of the ball.
    run = simulate(loaded_ball(), 2.0, qvel=[LOADED * LOADED_SPIN, 0, 0, 0, LOADED_SPIN, 0])
    return float(run.qpos[-1, 0])


# -- off a ball ------------------------------------------------------------------------------------

DOME, SLIDER, AWAY = 0.5, 0.05, 0.2


def _off_a_ball(simulate: Simulate) -> float:
    """Horizontal speed of a small ball that has slid off a large one [m/s]."""
    world = World(
        f"<geom size='{DOME}'/><body pos='0 0 1'><freejoint/>"
        f"<geom size='{SLIDER}' mass='1'/></body>",
        Contact(stiffness=1e6, friction=0.0),
    )
    reach = DOME + SLIDER - GRAVITY * math.cos(AWAY) / 1e6
    start = [reach * math.sin(AWAY), 0, reach * math.cos(AWAY), 1, 0, 0, 0]
    return float(simulate(world, 1.0, qpos=start).qvel[-1, 0])


def speed_off_a_ball() -> float:
    """It leaves where cos θ is 2/3 of its first value, v² = 2 g R (cos θ₀ − cos θ) [m/s]."""
    cosine = 2 / 3 * math.cos(AWAY)
    return math.sqrt(2 * GRAVITY * (DOME + SLIDER) * cosine / 2) * cosine


# -- a cam -----------------------------------------------------------------------------------------

CAM, LIFT, CAM_SPEED = 0.05, 0.01, 15.0


def cam() -> World:
    """A heavy eccentric disc that turns, and a plate of 1 kg that lies on it."""
    height = CAM + 0.01 - GRAVITY / 1e6
    return World(
        "<body><joint axis='0 1 0'/><inertial pos='0 0 0' mass='1' diaginertia='1e4 1e4 1e4'/>"
        f"<geom pos='{LIFT} 0 0' size='{CAM}'/></body>"
        f"<body pos='0 0 {height:.17g}'><joint type='slide' axis='0 0 1'/>"
        "<geom type='box' size='.1 .1 .01' mass='1'/></body>",
        Contact(stiffness=1e6, friction=0.1),
    )


def _cam(simulate: Simulate) -> float:
    """The farthest that the follower is from where the cam holds it [mm]."""
    speed = -CAM_SPEED  # from x upwards
    # It begins as fast as the cam lifts it.
    run = simulate(cam(), 2.0, qvel=[speed, LIFT * CAM_SPEED])
    held = LIFT * np.sin(-run.qpos[:, 0])
    return float(1e3 * np.max(np.abs(run.qpos[:, 1] - held)))


_COIN = steady_rolling(COIN_ANGLE, COIN_SPIN)
_EULER = steady_rolling(EULER_ANGLE, 0.0, fixed_centre=True)

CASES = (
    Case(
        "coin-lean",
        "A coin of 10 cm rolls in a circle, its axis 70° from the vertical, for 6 s.",
        "angle of its axis from the vertical [°]",
        70.0,
        "steady rolling: the moment of the contact's force turns its angular momentum.",
        0.5,
        _coin,
        form=".4g",
    ),
    Case(
        "coin-heading",
        "The same coin.",
        "turn of the path after 2 s [°]",
        math.degrees(2 * _COIN.turning),
        "the turning of that steady motion.",
        3.0,
        _coin_heading,
        form=".4g",
    ),
    Case(
        "euler-lean",
        "Euler's disc: a coin spins on its edge, 10° from lying flat, its centre at rest, for 3 s.",
        "angle from lying flat [°]",
        10.0,
        "steady rolling again; nothing takes energy.",
        0.3,
        _euler,
        form=".4g",
    ),
    Case(
        "euler-rate",
        "The same disc.",
        "angular speed of the contact point [rad/s]",
        _EULER.turning,
        "steady rolling with the centre at rest; Ω² sin α = 4 g/a for a thin disc.",
        0.2,
        _euler_rate,
        form=".4g",
    ),
    Case(
        "plank-on-log",
        "A plank rocks by 0.15 rad on a log of 20 cm, without slip.",
        "period [s]",
        plank_period(),
        "energy's conservation, an integral over the swing.",
        0.01,
        _plank,
        form=".4g",
    ),
    Case(
        "loaded-ball",
        "A ball of 10 cm with its centre of mass 4 cm from the middle starts at 20 rad/s.",
        "way after 2 s [m]",
        loaded_way(LOADED_SPIN, 2.0),
        "its one equation of motion, scipy's DOP853, tolerance 10⁻¹¹.",
        0.02,
        _loaded,
        form=".4g",
    ),
    Case(
        "off-a-ball",
        "A ball slides off a fixed one of 0.5 m without friction, from 0.2 rad beside the top.",
        "horizontal speed after the contact [m/s]",
        speed_off_a_ball(),
        "energy, and a force of contact that ends where cos θ = 2/3 cos θ₀.",
        0.01,
        _off_a_ball,
        form=".4g",
    ),
    Case(
        "cam",
        "A plate lies on an eccentric ball that turns at 15 rad/s and lifts it by ±1 cm.",
        "largest error of the plate's height [mm]",
        0.0,
        "e sin ω t; its acceleration stays below gravity's, and load changes the overlap by 2 µm.",
        0.05,
        _cam,
        form=".2g",
    ),
)
