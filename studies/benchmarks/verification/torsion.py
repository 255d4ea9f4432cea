"""Friction of all kinds: torsion, rolling, and two coefficients of sliding.

Its limit is the ellipsoid Σ (f_k/μ_k)² ≤ n² over the kinds of friction, as MuJoCo's elliptic cone
and the limit surface of Howe and Cutkosky (1996) have it. By maximum dissipation, what moves with
velocities v_k is braked by f_k = −n μ_k² v_k/√Σ (μ_j v_j)².
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.integrate import solve_ivp

from studies.benchmarks.verification.case import (
    GRAVITY,
    Array,
    Case,
    Contact,
    Measure,
    Simulate,
    World,
)

__all__ = ["CASES", "ball"]

RADIUS = 0.1
TORSION = 0.01
ROLLING = 0.005
TURNING_INERTIA = 2e-4
SLIDES = (0.2, 0.6)
STIFFNESS = 1e5


def ball(friction: Sequence[float], inertia: float | None = None) -> World:
    """A ball of 1 kg, its weight carried by the floor, with MuJoCo's five coefficients of a pair.

    With ``inertia`` about the vertical it turns about no other axis: a puck on one point.
    """
    own = ""
    if inertia is not None:
        own = f"<inertial pos='0 0 0' mass='1' diaginertia='1e3 1e3 {inertia}'/>"
    dimension = 6 if friction[3] > 0.0 else 4 if friction[2] > 0.0 else 3
    numbers = " ".join(f"{one:.17g}" for one in friction)
    return World(
        "<geom name='floor' type='plane' size='90 90 1'/>"
        f"<body pos='0 0 {RADIUS - GRAVITY / STIFFNESS:.17g}'><freejoint/>{own}"
        f"<geom name='ball' size='{RADIUS}' mass='1'/></body>",
        Contact(stiffness=STIFFNESS, friction=friction[0]),
        sections=f"<contact><pair geom1='floor' geom2='ball' condim='{dimension}' "
        f"friction='{numbers}'/></contact>",
        every_friction=True,
    )


def _spins(simulate: Simulate) -> float:
    run = simulate(ball((1, 1, TORSION, 0, 0)), 1.0, qvel=[0, 0, 0, 0, 0, 50])
    return float(run.qvel[-1, 5])


def _rolls(simulate: Simulate) -> float:
    world = ball((1, 1, TORSION, ROLLING, ROLLING))
    run = simulate(world, 4.0, qvel=[1, 0, 0, 0, 1 / RADIUS, 0])
    return float(run.qpos[-1, 0])


def _ended(
    friction: Sequence[float], inertia: Sequence[float], start: Sequence[float], time: float
) -> Array:
    """Velocities of what weighs 1 kg and is braked by −g μ_k² v_k/√Σ (μ_j v_j)²."""
    squares = np.square(friction) / inertia

    def rate(_time: float, v: Array) -> Array:
        slower: Array = -GRAVITY * squares * v / np.linalg.norm(np.multiply(friction, v))
        return slower

    return np.asarray(solve_ivp(rate, (0.0, time), start, rtol=1e-10, atol=1e-12).y[:, -1])


def turning_puck() -> Array:
    """Speed and spin of the puck that slips and turns, after 0.05 s."""
    return _ended((0.5, TORSION), (1.0, TURNING_INERTIA), (0.5, 60.0), 0.05)


def sliding_puck() -> Array:
    """Velocity of the puck with two coefficients, after 0.12 s."""
    return _ended(SLIDES, (1.0, 1.0), (1.0, 1.0), 0.12)


def _turns(which: int) -> Measure:
    def measure(simulate: Simulate) -> float:
        world = ball((0.5, 0.5, TORSION, 0, 0), TURNING_INERTIA)
        run = simulate(world, 0.05, qvel=[0.5, 0, 0, 0, 0, 60])
        return float(run.qvel[-1, 5 if which else 0])

    return measure


def _slides(which: int) -> Measure:
    def measure(simulate: Simulate) -> float:
        # MuJoCo's first tangent of a plane is the y axis.
        run = simulate(ball((SLIDES[1], SLIDES[0], 0, 0, 0), 1e3), 0.12, qvel=[1, 1, 0, 0, 0, 0])
        return float(run.qvel[-1, which])

    return measure


CASES = (
    Case(
        "spinning-ball",
        "A ball of 10 cm and 1 kg spins upright at 50 rad/s on a floor, μ_t = 1 cm.",
        "spin after 1 s [rad/s]",
        50.0 - TORSION * GRAVITY / (0.4 * RADIUS**2),
        "I dω/dt = −μ_t m g, I = ⅖ m R².",
        0.5,
        _spins,
    ),
    Case(
        "rolling-to-rest",
        "The ball rolls at 1 m/s, μ_r = 5 mm.",
        "distance to rest [m]",
        7.0 * RADIUS / (10.0 * GRAVITY * ROLLING),
        "About the contact 7/5 m R² dω/dt = −μ_r m g: 7 v² R/(10 g μ_r).",
        0.02,
        _rolls,
    ),
    Case(
        "turning-puck-speed",
        "A puck on one point slides at 0.5 m/s, μ = 0.5, and turns at 60 rad/s, μ_t = 1 cm.",
        "speed after 0.05 s [m/s]",
        float(turning_puck()[0]),
        "friction along the ellipsoid's normal, scipy's RK45, tolerance 10⁻¹⁰.",
        0.002,
        _turns(0),
    ),
    Case(
        "turning-puck-spin",
        "The same puck.",
        "spin after 0.05 s [rad/s]",
        float(turning_puck()[1]),
        "the same.",
        0.45,
        _turns(1),
    ),
    Case(
        "two-coefficients",
        "A puck slides at 45° to its axes, μ = 0.2 along x and 0.6 along y.",
        "speed along y after 0.12 s [m/s]",
        float(sliding_puck()[1]),
        "friction along the ellipse's normal, scipy's RK45, tolerance 10⁻¹⁰.",
        0.01,
        _slides(1),
    ),
)
