"""Tops: the tippe top, and the rattleback that turns round."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import (
    CONVERGED,
    GRAVITY,
    Array,
    Case,
    Contact,
    Measure,
    Simulate,
    World,
)

__all__ = ["CASES", "rattleback", "tippe_top"]

FLOOR = "<geom type='plane' size='9 9 1'/>"

TIPPE_RADIUS, TIPPE_MASS, TIPPE_OFFSET = 0.02, 0.02, 0.006


def tippe_top() -> World:
    """A ball of 2 cm and 20 g whose centre of mass is 6 mm below its own."""
    inertia = 0.4 * TIPPE_MASS * TIPPE_RADIUS**2
    sunk = TIPPE_MASS * GRAVITY / 1e4
    return World(
        f"{FLOOR}<body pos='0 0 {TIPPE_RADIUS - sunk:.17g}'><freejoint/>"
        f"<inertial pos='0 0 {-TIPPE_OFFSET}' mass='{TIPPE_MASS}' "
        f"diaginertia='{inertia} {inertia} {inertia}'/>"
        f"<geom size='{TIPPE_RADIUS}'/></body>",
        Contact(stiffness=1e4, friction=0.3, stiction_tolerance=1e-4),
    )


def _tilts(tilt: float, speed: float, duration: float) -> Measure:
    """The largest tilt [°] of the axis of a top that is let go with a tilt [rad]."""

    def measure(simulate: Simulate) -> float:
        turned = [math.cos(tilt / 2), math.sin(tilt / 2), 0.0, 0.0]
        height = float(tippe_top().model().body_pos[1, 2])
        # It spins about the vertical.
        spin = [0.0, speed * math.sin(tilt), speed * math.cos(tilt)]
        run = simulate(tippe_top(), duration, qpos=[0, 0, height, *turned], qvel=[0, 0, 0, *spin])
        cosines = 1 - 2 * (run.qpos[:, 4] ** 2 + run.qpos[:, 5] ** 2)
        return float(np.degrees(np.arccos(np.clip(np.min(cosines), -1, 1))))

    return measure


# -- the rattleback of Kane and Levinson --------------------------------------------------------

AXES = (0.2, 0.03, 0.02)
DROP = 0.01
INERTIA = np.array([[2e-4, -2e-5, 0], [-2e-5, 1.6e-3, 0], [0, 0, 1.7e-3]])


def rattleback() -> World:
    """An ellipsoid of 20 × 3 × 2 cm (half axes) whose inertia is turned against its shape."""
    xx, yy, zz, xy = INERTIA[0, 0], INERTIA[1, 1], INERTIA[2, 2], INERTIA[0, 1]
    height = AXES[2] - GRAVITY / 1e6
    return World(
        f"{FLOOR}<body pos='0 0 {height:.17g}'><freejoint/>"
        f"<inertial pos='0 0 {-DROP}' mass='1' fullinertia='{xx} {yy} {zz} {xy} 0 0'/>"
        f"<geom type='ellipsoid' size='{AXES[0]} {AXES[1]} {AXES[2]}'/></body>",
        Contact(stiffness=1e6, friction=1.0, stiction_tolerance=1e-4),
    )


RATTLE_TIME = 6.0
RATTLE_TILT = math.radians(2.0)


def _rattle(spin: float) -> Measure:
    def measure(simulate: Simulate) -> float:
        turned = np.array([math.cos(RATTLE_TILT / 2), math.sin(RATTLE_TILT / 2), 0.0, 0.0])
        start = rattleback().model().body_pos[1]
        run = simulate(
            rattleback(), RATTLE_TIME, qpos=[*start, *turned], qvel=[0, 0, 0, 0, 0, spin]
        )
        return float(run.qvel[-1, 5])

    return measure


def rolling_rattleback(spin: float, duration: float) -> float:
    """Spin [rad/s] of a rigid rattleback that rolls without slip.

    In body axes, with the spin ω, the contact r from the centre of mass and the acceleration of
    gravity g: the centre of mass moves at v = −ω × r, the force of contact is f = v' + ω × v − g
    for 1 kg, and I ω' + ω × I ω = r × f.
    """
    from scipy.integrate import solve_ivp

    axes = np.array(AXES)

    def place(down: Array) -> Array:
        # The lowest point of the ellipsoid, and from there to the centre of mass at (0, 0, -DROP).
        length = math.sqrt(float(np.sum((axes * down) ** 2)))
        return np.asarray(axes**2 * down / length - np.array([0, 0, -DROP]))

    def rate(_: float, state: Array) -> Array:
        omega, down = state[:3], state[3:]
        down = down / np.linalg.norm(down)
        turning = np.cross(down, omega)  # a fixed direction, seen from the body
        r = place(down)
        size = math.sqrt(float(np.sum((axes * down) ** 2)))
        moving = axes**2 * turning / size - axes**2 * down * (
            float(np.sum(axes**2 * down * turning)) / size**3
        )
        # v' = −ω' × r − ω × r'
        velocity = -np.cross(omega, r)
        known = -np.cross(omega, moving) + np.cross(omega, velocity)
        skew = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
        matrix = INERTIA - skew @ skew
        right = np.cross(r, known - GRAVITY * down) - np.cross(omega, INERTIA @ omega)
        return np.concatenate([np.linalg.solve(matrix, right), turning])

    # Tilted by the angle about x: the downward vertical in body axes.
    down = np.array([0.0, -math.sin(RATTLE_TILT), -math.cos(RATTLE_TILT)])
    run = solve_ivp(
        rate,
        (0, duration),
        [0, 0, spin, *down],
        method="DOP853",
        rtol=1e-8,
        atol=1e-10,
    )
    return float(run.y[2, -1])


CASES = (
    Case(
        "tippe-top-upright",
        "A tippe top spins at 80 rad/s, tilted by 0.1 rad, for 6 s.",
        "largest tilt [°]",
        6.6,
        f"{CONVERGED} 6.54 and 7.03; Runge–Kutta at 1e-4 6.66.",
        2.0,
        _tilts(0.1, 80.0, 6.0),
    ),
    Case(
        "tippe-top-inverts",
        "The same at 200 rad/s, tilted by 0.5 rad.",
        "largest tilt [°]",
        172.0,
        f"{CONVERGED} 171.5 and 172.1; Runge–Kutta at 1e-4 172.1.",
        3.0,
        _tilts(0.5, 200.0, 6.0),
    ),
    Case(
        "rattleback+",
        "The rattleback of Kane and Levinson starts at 3 rad/s, tilted by 2°.",
        "spin after 6 s [rad/s]",
        2.844,
        f"{CONVERGED} 2.844 and 2.837; Runge–Kutta at 1e-5 2.844. A rigid one that "
        "rolls without slip: 2.839.",
        0.05,
        _rattle(3.0),
    ),
    Case(
        "rattleback-",
        "It starts at −3 rad/s, rattles and turns round.",
        "spin after 6 s [rad/s]",
        1.857,
        f"{CONVERGED} 1.863 and 1.867; Runge–Kutta at 1e-4 and at 1e-5 1.857. A rigid one that "
        "rolls without slip: 2.390; compliance and dissipation of the contact take the rest.",
        0.1,
        _rattle(-3.0),
    ),
)
