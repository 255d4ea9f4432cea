"""Cases of the verification page: a robot in empty space, whose limbs go on moving."""

from __future__ import annotations

from functools import cache

import mujoco
import numpy as np

from studies.benchmarks.verification.case import Array, Case, Record, Simulate, World, energies
from studies.benchmarks.verification.smooth import UNTOUCHABLE

__all__ = ["CASES", "robot_in_flight"]

_DURATION = 2.0
# Of its joints [rad/s].
_SPEEDS = (6.0, -4.0, 8.0, -5.0, 7.0, -3.0)


def _arm(side: int) -> str:
    """Two links of 1 kg and 30 cm on three hinges."""
    link = (
        f"<geom type='capsule' fromto='0 0 0 {0.3 * side} 0 0' size='.03' mass='1' {UNTOUCHABLE}/>"
    )
    return (
        f"<body pos='{0.15 * side} 0 .2'><joint axis='0 1 0'/><joint axis='0 0 1'/>{link}"
        f"<body pos='{0.3 * side} 0 0'><joint axis='0 1 .5'/>{link}</body></body>"
    )


@cache
def robot_in_flight() -> World:
    """A trunk of 4 kg with two arms, which floats without gravity."""
    trunk = f"<geom type='box' size='.15 .1 .25' mass='4' {UNTOUCHABLE}/>"
    return World(
        f"<body name='trunk'><freejoint/>{trunk}{_arm(1)}{_arm(-1)}</body>", gravity=(0.0, 0.0, 0.0)
    )


def _momenta(model: mujoco.MjModel, qpos: Array, qvel: Array) -> tuple[Array, Array]:
    """Velocity of the centre of mass and angular momentum about it."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_comVel(model, data)
    mujoco.mj_subtreeVel(model, data)
    return data.subtree_linvel[0].copy(), data.subtree_angmom[0].copy()


def _fly(simulate: Simulate) -> Record:
    """It starts with its centre of mass at rest."""
    world = robot_in_flight()
    model = world.model()
    start = np.concatenate([np.zeros(6), _SPEEDS])
    start[:3] = -_momenta(model, model.qpos0, start)[0]
    return simulate(world, _DURATION, qpos=model.qpos0, qvel=start)


def _drift(simulate: Simulate) -> float:
    run = _fly(simulate)
    return 1e3 * float(np.linalg.norm(_momenta(run.model, run.qpos[-1], run.qvel[-1])[0]))


def _spin(simulate: Simulate) -> float:
    run = _fly(simulate)
    before, after = (_momenta(run.model, run.qpos[i], run.qvel[i])[1] for i in (0, -1))
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


def _energy(simulate: Simulate) -> float:
    before, after = energies(_fly(simulate))
    return float(after / before)


_ROBOT = "A trunk of 4 kg floats without gravity and flails two arms of 2 kg for 2 s."

CASES = (
    Case(
        "flight-drift",
        _ROBOT,
        "speed of the centre of mass [mm/s]",
        0.0,
        "momentum is conserved.",
        5.0,
        _drift,
    ),
    Case(
        "flight-spin",
        _ROBOT,
        "relative change of angular momentum",
        0.0,
        "angular momentum is conserved.",
        0.01,
        _spin,
    ),
    Case(
        "flight-energy",
        _ROBOT,
        "E/E₀",
        1.0,
        "energy is conserved.",
        0.01,
        _energy,
    ),
)
