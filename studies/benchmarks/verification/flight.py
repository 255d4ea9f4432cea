"""Cases of the verification page: a robot in empty space, whose limbs move or are moved."""

from __future__ import annotations

import math
from functools import cache

import mujoco
import numpy as np

from studies.benchmarks.verification.case import Array, Case, Record, Simulate, World, energies
from studies.benchmarks.verification.smooth import UNTOUCHABLE

__all__ = ["CASES", "robot_in_flight", "trunk_turn"]

_DURATION = 2.0
# Of its joints [rad/s].
_SPEEDS = (6.0, -4.0, 8.0, -5.0, 7.0, -3.0)


def _arm(side: int) -> str:
    """Two links of 1 kg and 30 cm on three hinges."""
    link = (
        f"<geom type='capsule' fromto='0 0 0 {0.3 * side} 0 0' size='.03' mass='1' {UNTOUCHABLE}/>"
    )
    joints = f"<joint name='{side}y' axis='0 1 0'/><joint name='{side}z' axis='0 0 1'/>"
    return (
        f"<body pos='{0.15 * side} 0 .2'>{joints}{link}<body pos='{0.3 * side} 0 0'>"
        f"<joint name='{side}e' axis='0 1 .5'/>{link}</body></body>"
    )


@cache
def robot_in_flight(motors: bool = False) -> World:
    """A trunk of 4 kg with two arms, which floats without gravity."""
    trunk = f"<geom type='box' size='.15 .1 .25' mass='4' {UNTOUCHABLE}/>"
    driven = "".join(f"<motor joint='{side}{axis}'/>" for side in (1, -1) for axis in "yze")
    return World(
        f"<body name='trunk'><freejoint/>{trunk}{_arm(1)}{_arm(-1)}</body>",
        gravity=(0.0, 0.0, 0.0),
        sections=f"<actuator>{driven}</actuator>" if motors else "",
    )


def _momenta(model: mujoco.MjModel, qpos: Array, qvel: Array) -> tuple[Array, Array]:
    """Velocity of the centre of mass and angular momentum about it."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_comVel(model, data)
    mujoco.mj_subtreeVel(model, data)
    return data.subtree_linvel[0].copy(), data.subtree_angmom[0].copy()


def _torques(time: float) -> Array:
    """Of its motors [Nm]: each has a frequency of its own."""
    return np.asarray(0.5 * np.sin(np.arange(4.0, 10.0) * time + np.arange(6)))


def _fly(simulate: Simulate, motors: bool = False) -> Record:
    """It starts with its centre of mass at rest."""
    world = robot_in_flight(motors)
    model = world.model()
    start = np.concatenate([np.zeros(6), _SPEEDS])
    start[:3] = -_momenta(model, model.qpos0, start)[0]
    drive = _torques if motors else None
    return simulate(world, _DURATION, qpos=model.qpos0, qvel=start, drive=drive)


def _drift(simulate: Simulate) -> float:
    run = _fly(simulate)
    return 1e3 * float(np.linalg.norm(_momenta(run.model, run.qpos[-1], run.qvel[-1])[0]))


def _spin(simulate: Simulate, motors: bool = False) -> float:
    run = _fly(simulate, motors)
    before, after = (_momenta(run.model, run.qpos[i], run.qvel[i])[1] for i in (0, -1))
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


def _energy(simulate: Simulate) -> float:
    before, after = energies(_fly(simulate))
    return float(after / before)


# -- an arm that turns its trunk -------------------------------------------------------------------

TRUNK, TRUNK_INERTIA, SHOULDER = 4.0, 0.06, 0.2
ARM, ARM_INERTIA, CENTRE, SWUNG = 1.0, 0.01, 0.25, 2.0


def _trunk_and_arm() -> World:
    """A trunk with an arm on a motor, flat, without gravity."""
    body = "<inertial pos='{} 0 0' mass='{}' diaginertia='{} {} {}'/>"
    trunk = body.format(0, TRUNK, *[TRUNK_INERTIA] * 3)
    arm = body.format(CENTRE, ARM, *[ARM_INERTIA] * 3)
    return World(
        f"<body><freejoint/>{trunk}<body pos='{SHOULDER} 0 0'><joint name='arm' axis='0 0 1'/>{arm}"
        "</body></body>",
        gravity=(0.0, 0.0, 0.0),
        sections="<actuator><motor joint='arm'/></actuator>",
    )


def trunk_turn() -> float:
    """How far the trunk turns while the arm turns [rad], without angular momentum.

    About the centre of both it is 0 = I θ' + J (θ' + φ') + μ r × r' with the reduced mass μ and the
    way r from one centre to the other.
    """
    from scipy.integrate import quad

    reduced = TRUNK * ARM / (TRUNK + ARM)

    def rate(angle: float) -> float:
        mixed = SHOULDER * CENTRE * math.cos(angle)
        arm = ARM_INERTIA + reduced * (CENTRE**2 + mixed)
        return -arm / (TRUNK_INERTIA + arm + reduced * (SHOULDER**2 + mixed))

    return float(quad(rate, 0.0, SWUNG)[0])


def _trunk_turns(simulate: Simulate) -> float:
    """Turn of the trunk when the arm has turned by `SWUNG` [rad]."""
    run = simulate(_trunk_and_arm(), 1.0, drive=lambda _: [0.3])
    turn = 2 * np.arctan2(run.qpos[:, 6], run.qpos[:, 3])
    after = int(np.argmax(run.qpos[:, 7] >= SWUNG))
    if after == 0:
        return math.inf
    return float(np.interp(SWUNG, run.qpos[after - 1 : after + 1, 7], turn[after - 1 : after + 1]))


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
    Case(
        "flight-motors",
        "The same robot moves its arms by six motors of 0.5 Nm, commanded 50 times a second.",
        "relative change of angular momentum",
        0.0,
        "angular momentum is conserved.",
        0.01,
        lambda simulate: _spin(simulate, motors=True),
    ),
    Case(
        "trunk-turns",
        "A motor of 0.3 Nm turns an arm of 1 kg, on a trunk of 4 kg that floats at rest.",
        "turn of the trunk when the arm has turned by 2 rad [rad]",
        trunk_turn(),
        "the integral of what keeps angular momentum zero.",
        0.005,
        _trunk_turns,
        form=".4g",
    ),
)
