"""Rigid bodies that turn: symmetric bodies, large swings, cones, governors."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import GRAVITY, Case, Simulate, World, energies
from studies.benchmarks.verification.oscillators import mean_period
from studies.benchmarks.verification.smooth import UNTOUCHABLE, double_pendulum, pendulum

__all__ = ["CASES", "governor", "spinning_plate"]

TRANSVERSE, AXIAL, SPIN, WOBBLE = 0.02, 0.035, 10.0, 2.0


def spinning_plate() -> World:
    """A free symmetric body without gravity."""
    return World(
        f"<body><freejoint/><inertial pos='0 0 0' mass='1' "
        f"diaginertia='{TRANSVERSE} {TRANSVERSE} {AXIAL}'/></body>",
        gravity=(0.0, 0.0, 0.0),
    )


def _wobble(simulate: Simulate) -> float:
    """How fast the spin's transverse part turns in the body [rad/s]."""
    run = simulate(spinning_plate(), 2.0, qvel=[0, 0, 0, WOBBLE, 0, SPIN])
    turned = np.unwrap(np.arctan2(run.qvel[:, 4], run.qvel[:, 3]))
    return float((turned[-1] - turned[0]) / run.time[-1])


def _nutation(simulate: Simulate) -> float:
    """Angle between the body's axis and its angular momentum after 5 s [°]."""
    run = simulate(spinning_plate(), 5.0, qvel=[0, 0, 0, WOBBLE, 0, SPIN])
    momentum = np.array([TRANSVERSE, TRANSVERSE, AXIAL]) * run.qvel[-1, 3:]
    return float(np.degrees(math.acos(momentum[2] / np.linalg.norm(momentum))))


BIG = math.radians(150.0)


def _big_swing(simulate: Simulate) -> float:
    return mean_period(simulate(pendulum(), 12.0, qpos=[BIG]), 0)


def big_period() -> float:
    """Of a pendulum of 1 m that swings by 150° [s], 4 √(I/m g l) K(sin² θ/2)."""
    from scipy.special import ellipk

    length = math.sqrt((1.0 + 0.4 * 0.01**2) / GRAVITY)
    return float(4 * length * ellipk(math.sin(BIG / 2) ** 2))


def _double_energy(simulate: Simulate) -> float:
    run = simulate(double_pendulum(), 10.0, qpos=[1.5, 0.0])
    before, after = energies(run)
    return float(after - before)


CONE = math.radians(40.0)


def _conical(simulate: Simulate) -> float:
    """How far a ball on a rod has gone round its cone after 3 s [°]."""
    world = World(
        f"<body><joint type='ball'/><geom size='.01' pos='0 0 -1' mass='1' {UNTOUCHABLE}/></body>"
    )
    rate = conical_rate()
    half = 0.5 * CONE
    # About the vertical, in the body's axes, which lean about y.
    spin = [-rate * math.sin(CONE), 0.0, rate * math.cos(CONE)]
    run = simulate(world, 3.0, qpos=[math.cos(half), 0, math.sin(half), 0], qvel=spin)
    w, x, y, z = run.qpos.T
    turned = np.unwrap(np.arctan2(-2 * (y * z - w * x), -2 * (x * z + w * y)))
    return float(np.degrees(turned[-1] - turned[0]))


def conical_rate() -> float:
    """Rate at which a rod with a ball goes round a cone [rad/s]: ω² (I − I₃) cos θ = m g l."""
    ball = 0.4 * 0.01**2
    return math.sqrt(GRAVITY / ((1.0 + ball - ball) * math.cos(CONE)))


GOVERNOR = 5.0


def governor() -> World:
    """A pendulum of 50 cm, damped, on a heavy frame that turns at 5 rad/s about the vertical."""
    return World(
        "<body><joint axis='0 0 1'/><inertial pos='0 0 0' mass='1' diaginertia='1e5 1e5 1e5'/>"
        "<body><joint axis='0 1 0' damping='1'/>"
        f"<geom size='.01' pos='0 0 -.5' mass='1' {UNTOUCHABLE}/></body></body>"
    )


def _governor(simulate: Simulate) -> float:
    run = simulate(governor(), 6.0, qpos=[0, 0.3], qvel=[GOVERNOR, 0])
    return float(np.degrees(run.qpos[-1, 1]))


_MOMENTUM = math.degrees(math.atan2(TRANSVERSE * WOBBLE, AXIAL * SPIN))

CASES = (
    Case(
        "free-wobble",
        "A free symmetric body turns at 10 rad/s about its axis and at 2 rad/s across it.",
        "rate of the wobble in the body [rad/s]",
        (AXIAL - TRANSVERSE) / TRANSVERSE * SPIN,
        "Euler: (C − A) ω₃/A.",
        0.02,
        _wobble,
        form=".4g",
    ),
    Case(
        "free-nutation",
        "The same body, for 5 s.",
        "angle from axis to angular momentum [°]",
        _MOMENTUM,
        "it stays as it begins, atan(A ω₁/C ω₃).",
        0.05,
        _nutation,
        form=".4g",
    ),
    Case(
        "big-swing",
        "A pendulum of 1 m swings by 150°.",
        "period [s]",
        big_period(),
        "an elliptic integral.",
        0.01,
        _big_swing,
        form=".4g",
    ),
    Case(
        "double-pendulum-energy",
        "The double pendulum for 10 s, from 1.5 rad.",
        "change of energy [J]",
        0.0,
        "0: energy is conserved.",
        0.1,
        _double_energy,
        form=".2g",
    ),
    Case(
        "conical-pendulum",
        "A ball on a rod of 1 m goes round on a cone of 40°.",
        "angle gone round in 3 s [°]",
        math.degrees(3 * conical_rate()),
        "ω² = g/l cos θ.",
        1.0,
        _conical,
        form=".4g",
    ),
    Case(
        "governor",
        "A damped pendulum of 50 cm hangs in a frame that turns at 5 rad/s about the vertical.",
        "angle at rest [°]",
        math.degrees(math.acos(GRAVITY * 0.5 / (GOVERNOR**2 * 0.25))),
        "cos θ = g/ω² l.",
        0.1,
        _governor,
        form=".4g",
    ),
)
