"""Smooth motion: pendulums, tumbling and spinning bodies, springs, flight."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import (
    GRAVITY,
    Array,
    Case,
    Measure,
    Record,
    Simulate,
    World,
    energies,
)

__all__ = ["CASES", "double_pendulum", "gyroscope", "pendulum", "spring_mass", "tumbling_box"]

UNTOUCHABLE = "contype='0' conaffinity='0'"


def pendulum() -> World:
    """A ball of 1 kg and 1 cm at the end of a metre."""
    return World(
        f"<body><joint axis='0 1 0'/><geom size='.01' pos='0 0 -1' mass='1' {UNTOUCHABLE}/></body>"
    )


def _swing(angle: float) -> Measure:
    """Energy that a pendulum has left after 20 s, over that of its first angle [rad]."""

    def measure(simulate: Simulate) -> float:
        run = simulate(pendulum(), 20.0, qpos=[angle])
        rest = -GRAVITY
        before, after = energies(run)
        return float((after - rest) / (before - rest))

    return measure


FLIP_SPIN = np.array([0.1, 5.0, 0.1])


def tumbling_box() -> World:
    """A plate of 60 × 40 × 10 cm and 1 kg in free flight without gravity."""
    return World(
        f"<body><freejoint/><geom type='box' size='.3 .2 .05' mass='1' {UNTOUCHABLE}/></body>",
        gravity=(0.0, 0.0, 0.0),
    )


def _tumbling(simulate: Simulate) -> float:
    run = simulate(tumbling_box(), 20.0, qvel=[0, 0, 0, *FLIP_SPIN])
    before, after = energies(run)
    return float(after / before)


def _flips(simulate: Simulate) -> float:
    """Time between the first two moments at which the spin about the middle axis vanishes."""
    run = simulate(tumbling_box(), 8.0, qvel=[0, 0, 0, *FLIP_SPIN])
    return _between_zeros(run.time, run.qvel[:, 4])


def _between_zeros(time: Array, spin: Array) -> float:
    change = np.flatnonzero(np.diff(np.sign(spin)))
    if len(change) < 2:
        return math.inf
    # Interpolated between steps.
    zeros = [
        time[i] + (time[i + 1] - time[i]) * spin[i] / (spin[i] - spin[i + 1]) for i in change[:2]
    ]
    return float(zeros[1] - zeros[0])


def flip_interval() -> float:
    """Half a period of the spin about the middle axis [s], from Euler's equations.

    That spin is Jacobi's sn(p t, m) up to a factor, whose half period is 2 K(m)/p; the formulas are
    those for |L|² > 2 E I₂, and with I₁ and I₃ exchanged otherwise.
    """
    from scipy.special import ellipk

    half = np.array([0.3, 0.2, 0.05])
    inertia = (half @ half - half**2) / 3.0
    energy = float(inertia @ FLIP_SPIN**2)  # twice that
    momentum = float(np.sum((inertia * FLIP_SPIN) ** 2))  # its square
    low, middle, high = inertia
    if momentum < energy * middle:
        low, high = high, low
    share = (high - middle) * (momentum - energy * low)
    modulus = (middle - low) * (energy * high - momentum) / share
    return float(2 * ellipk(modulus) / math.sqrt(share / (low * middle * high)))


# -- a gyroscope ---------------------------------------------------------------------------------

SPIN = 200.0
DISC_RADIUS, DISC_MASS, ARM = 0.05, 0.5, 0.1
TILT = math.pi / 3
PRECESSION_TIME = 0.5  # less than half a turn [s]


def gyroscope() -> World:
    """A disc of 0.5 kg and 5 cm, 10 cm from a ball joint on which it leans over by 60°."""
    return World(
        "<body><joint type='ball'/>"
        f"<geom type='cylinder' size='{DISC_RADIUS} .005' pos='0 0 {ARM}' mass='{DISC_MASS}' "
        f"{UNTOUCHABLE}/></body>"
    )


def _spinning(simulate: Simulate, duration: float) -> Record:
    tilted = [math.cos(TILT / 2), 0.0, math.sin(TILT / 2), 0.0]
    return simulate(gyroscope(), duration, qpos=tilted, qvel=[0, 0, SPIN])


def _axis(quaternion: Array) -> Array:
    w, x, y, z = quaternion
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])


def _gyroscope_energy(simulate: Simulate) -> float:
    run = _spinning(simulate, 1.0)
    before, after = energies(run)
    return float(after / before)


def _precession(simulate: Simulate) -> float:
    run = _spinning(simulate, PRECESSION_TIME)
    x, y, _ = _axis(run.qpos[-1])
    return float(np.degrees(math.atan2(y, x)))


def precession() -> float:
    """The angle [°] after `PRECESSION_TIME`, from the equations of a heavy symmetric top."""
    from scipy.integrate import solve_ivp

    axial = 0.5 * DISC_MASS * DISC_RADIUS**2
    across = DISC_MASS * (DISC_RADIUS**2 / 4 + 0.01**2 / 12 + ARM**2)
    moment = DISC_MASS * GRAVITY * ARM

    def rate(_: float, state: Array) -> list[float]:
        # θ, θ', φ with p_ψ and p_φ conserved.
        theta, speed, _ = state
        p_psi = axial * SPIN
        p_phi = p_psi * math.cos(TILT)
        sine, cosine = math.sin(theta), math.cos(theta)
        turn = (p_phi - p_psi * cosine) / (across * sine**2)
        force = across * turn**2 * sine * cosine - p_psi * turn * sine + moment * sine
        return [speed, force / across, turn]

    run = solve_ivp(
        rate, (0, PRECESSION_TIME), [TILT, 0, 0], method="DOP853", rtol=1e-12, atol=1e-12
    )
    return float(np.degrees(run.y[2, -1]))


# -- two more ------------------------------------------------------------------------------------


def double_pendulum() -> World:
    """Two point-like masses of 1 kg on rods of half a metre."""
    ball = f"<geom size='.001' pos='0 0 -.5' mass='1' {UNTOUCHABLE}/>"
    return World(
        f"<body><joint axis='0 1 0'/>{ball}"
        f"<body pos='0 0 -.5'><joint axis='0 1 0'/>{ball}</body></body>"
    )


DOUBLE_START = (1.2, 0.6)
DOUBLE_TIME = 2.0


def _tip(angles: Array) -> float:
    return float(-0.5 * math.sin(angles[0]) - 0.5 * math.sin(angles[0] + angles[1]))


def _double_pendulum(simulate: Simulate) -> float:
    run = simulate(double_pendulum(), DOUBLE_TIME, qpos=DOUBLE_START)
    return _tip(run.qpos[-1])


def double_pendulum_tip() -> float:
    """Where the tip is after the time [m], from the textbook's equations (absolute angles)."""
    from scipy.integrate import solve_ivp

    length, ball = 0.5, 0.4 * 0.001**2

    def rate(_: float, state: Array) -> Array:
        a, b, u, w = state
        # Lagrange's equations of two masses of 1 kg; the balls' own inertia beside.
        c, s = math.cos(a - b), math.sin(a - b)
        mass = np.array([[2 * length**2 + ball, length**2 * c], [length**2 * c, length**2 + ball]])
        force = np.array(
            [
                -(length**2) * s * w * w - 2 * GRAVITY * length * math.sin(a),
                length**2 * s * u * u - GRAVITY * length * math.sin(b),
            ]
        )
        return np.concatenate([[u, w], np.linalg.solve(mass, force)])

    start = [DOUBLE_START[0], sum(DOUBLE_START), 0.0, 0.0]
    run = solve_ivp(rate, (0, DOUBLE_TIME), start, method="DOP853", rtol=1e-12, atol=1e-12)
    a, b = run.y[:2, -1]
    return float(-0.5 * math.sin(a) - 0.5 * math.sin(b))


def spring_mass() -> World:
    """A kilogram on a spring of 100 N/m without gravity."""
    return World(
        "<body><joint type='slide' axis='1 0 0' stiffness='100'/>"
        f"<geom size='.1' mass='1' {UNTOUCHABLE}/></body>",
        gravity=(0.0, 0.0, 0.0),
    )


def _spring(simulate: Simulate) -> float:
    run = simulate(spring_mass(), 10.0, qpos=[0.1])
    return float((0.5 * run.qvel[-1, 0] ** 2 + 50 * run.qpos[-1, 0] ** 2) / 0.5)


def _projectile(simulate: Simulate) -> float:
    world = World(f"<body><freejoint/><geom size='.1' mass='1' {UNTOUCHABLE}/></body>")
    run = simulate(world, 1.0, qvel=[3, 0, 4, 0, 0, 0])
    return float(run.qpos[-1, 2])


CASES = (
    Case(
        "pendulum-energy",
        "A pendulum of 1 m swings by ±60° for 20 s.",
        "E/E₀",
        1.0,
        "energy is conserved.",
        0.02,
        _swing(math.radians(60.0)),
    ),
    Case(
        "small-swing",
        "The same pendulum swings by ±2°, which is 35 mm, for 20 s.",
        "E/E₀",
        1.0,
        "energy is conserved.",
        0.02,
        _swing(math.radians(2.0)),
    ),
    Case(
        "double-pendulum",
        "A double pendulum (0.5 m, 1 kg each) is let go at 1.2 and 1.8 rad.",
        "place of the tip after 2 s [m]",
        double_pendulum_tip(),
        "Lagrange's equations, scipy's DOP853, tolerance 10⁻¹².",
        0.02,
        _double_pendulum,
    ),
    Case(
        "tumbling-energy",
        "A plate of 60 × 40 × 10 cm tumbles about its middle axis at 5 rad/s for 20 s.",
        "E/E₀",
        1.0,
        "energy is conserved.",
        0.02,
        _tumbling,
    ),
    Case(
        "flip-interval",
        "The same plate flips over again and again (Dzhanibekov).",
        "time between flips [s]",
        flip_interval(),
        "Euler's equations, whose solutions are Jacobi's elliptic functions.",
        0.05,
        _flips,
    ),
    Case(
        "gyroscope-energy",
        "A disc spins at 200 rad/s, 10 cm from a ball joint, leaning by 60°, for 1 s.",
        "E/E₀",
        1.0,
        "energy is conserved.",
        0.02,
        _gyroscope_energy,
    ),
    Case(
        "gyroscope-precession",
        "The same disc precesses.",
        "angle after 0.5 s [°]",
        precession(),
        "the heavy symmetric top, scipy's DOP853, tolerance 10⁻¹².",
        1.0,
        _precession,
        form=".4g",
    ),
    Case(
        "spring-energy",
        "A kilogram swings on a spring of 100 N/m for 10 s.",
        "E/E₀",
        1.0,
        "energy is conserved.",
        0.02,
        _spring,
    ),
    Case(
        "projectile",
        "A ball is thrown up at 4 m/s.",
        "height after 1 s [m]",
        4 - 0.5 * GRAVITY,
        "v t − g t²/2.",
        0.005,
        _projectile,
    ),
)
