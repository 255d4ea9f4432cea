"""Actuators and couplings: servos, motors, filters, gears, tackles, screws."""

from __future__ import annotations

import math

from studies.benchmarks.verification.case import GRAVITY, Case, Simulate, World
from studies.benchmarks.verification.oscillators import MASS, mean_period, rail

__all__ = ["CASES", "gears", "screw", "tackle"]

UNTOUCHABLE = "contype='0' conaffinity='0'"

# -- servos and motors -----------------------------------------------------------------------------

KP, KV = 400.0, 8.0


def servo_step(time: float) -> float:
    """Place of 1 kg that a servo brings to 0.1 m, a damped oscillation about it."""
    decay = 0.5 * KV
    frequency = math.sqrt(KP - decay**2)
    swing = math.cos(frequency * time) + decay / frequency * math.sin(frequency * time)
    return 0.1 * (1 - math.exp(-decay * time) * swing)


def _servo(simulate: Simulate) -> float:
    world = rail("", f"<actuator><position joint='rail' kp='{KP}' kv='{KV}'/></actuator>")
    run = simulate(world, 0.3, drive=lambda _: [0.1], period=0.1)
    return float(1e3 * run.qpos[-1, 0])


def _velocity_servo(simulate: Simulate) -> float:
    world = rail("", "<actuator><velocity joint='rail' kv='5'/></actuator>")
    run = simulate(world, 0.3, drive=lambda _: [2.0], period=0.1)
    return float(run.qvel[-1, 0])


def _sagging_servo(simulate: Simulate) -> float:
    """How far a servo with a damper hangs below its target under 1 kg [mm]."""
    world = World(
        f"<body><joint name='lift' type='slide' axis='0 0 1' damping='30'/>{MASS}</body>",
        sections=f"<actuator><position joint='lift' kp='{KP}'/></actuator>",
    )
    run = simulate(world, 3.0, drive=lambda _: [0.0], period=1.0)
    return float(-1e3 * run.qpos[-1, 0])


ARMATURE, GEAR, WHEEL = 0.02, 5.0, 0.05


def _armature(simulate: Simulate) -> float:
    world = World(
        f"<body><joint name='axle' axis='0 0 1' armature='{ARMATURE}'/>"
        f"<inertial pos='0 0 0' mass='1' diaginertia='{WHEEL} {WHEEL} {WHEEL}'/></body>",
        sections=f"<actuator><motor joint='axle' gear='{GEAR}'/></actuator>",
    )
    run = simulate(world, 0.5, drive=lambda _: [0.2], period=0.1)
    return float(run.qvel[-1, 0])


LAG = 0.2


def _filtered(simulate: Simulate) -> float:
    world = rail(
        "",
        "<actuator><general joint='rail' dyntype='filter' "
        f"dynprm='{LAG}' gainprm='10'/></actuator>",
    )
    return float(simulate(world, 0.5, drive=lambda _: [1.0], period=0.1).qvel[-1, 0])


def _saturated(simulate: Simulate) -> float:
    world = rail("", f"<actuator><position joint='rail' kp='{KP}' forcerange='-3 3'/></actuator>")
    run = simulate(world, 0.4, drive=lambda _: [1.0], period=0.1)
    return float(run.qpos[-1, 0])


# -- couplings -------------------------------------------------------------------------------------

RATIO = 3.0


def gears() -> World:
    """A motor's wheel that turns another one three times as fast."""
    wheel = (
        "<body><joint name='{}' axis='0 0 1'/>"
        f"<inertial pos='0 0 0' mass='1' diaginertia='{WHEEL} {WHEEL} {WHEEL}'/></body>"
    )
    return World(
        wheel.format("slow") + wheel.format("fast"),
        sections=f"<equality><joint joint1='fast' joint2='slow' polycoef='0 {RATIO} 0 0 0'/>"
        "</equality><actuator><motor joint='slow'/></actuator>",
    )


def _gears(simulate: Simulate) -> float:
    run = simulate(gears(), 0.5, drive=lambda _: [2.0], period=0.1)
    return float(run.qvel[-1, 0])


LOAD, COUNTER = 3.0, 1.0


def tackle() -> World:
    """A load on a movable pulley: the counterweight moves twice as far."""
    body = (
        "<body pos='{} 0 0'><joint name='{}' type='slide' axis='0 0 1'/>"
        f"<geom size='.05' mass='{{}}' {UNTOUCHABLE}/></body>"
    )
    return World(
        body.format(0, "load", LOAD) + body.format(1, "counter", COUNTER),
        sections="<tendon><fixed name='rope'><joint joint='load' coef='2'/>"
        "<joint joint='counter' coef='1'/></fixed></tendon>"
        "<equality><tendon tendon1='rope' polycoef='0 0 0 0 0'/></equality>",
    )


PITCH = 0.02
"""Way per radian [m]."""


def screw() -> World:
    """A nut of 1 kg that turns as it falls along a thread."""
    return World(
        "<body><joint name='fall' type='slide' axis='0 0 -1'/><joint name='turn' axis='0 0 1'/>"
        "<inertial pos='0 0 0' mass='1' diaginertia='1e-3 1e-3 1e-3'/></body>",
        sections=f"<equality><joint joint1='turn' joint2='fall' polycoef='0 {1 / PITCH} 0 0 0'/>"
        "</equality>",
    )


def _welded(simulate: Simulate) -> float:
    """Period of two rods that are welded end to end and hang from a hinge [s]."""
    rod = f"<geom type='capsule' size='.01' fromto='0 0 0 0 0 -.5' mass='1' {UNTOUCHABLE}/>"
    world = World(
        f"<body name='upper'><joint axis='0 1 0'/>{rod}</body>"
        f"<body name='lower' pos='0 0 -.5'><freejoint/>{rod}</body>",
        sections="<equality><weld body1='upper' body2='lower'/></equality>",
    )
    # Small enough for the period to be that of small swings: the spin of both is 0.1 rad/s.
    spin = 0.1
    run = simulate(world, 6.0, qvel=[spin, -0.5 * spin, 0, 0, 0, spin, 0])
    return mean_period(run, 0)


def _rod_period() -> float:
    """Of small swings of the two rods [s]: two capsules of radius 1 cm."""
    model = World(
        f"<body><joint axis='0 1 0'/><geom type='capsule' size='.01' fromto='0 0 0 0 0 -.5' "
        f"mass='1' {UNTOUCHABLE}/></body>"
    ).model()
    own = float(max(model.body_inertia[1]))
    inertia = own + 0.25**2 + own + 0.75**2
    return 2 * math.pi * math.sqrt(inertia / (GRAVITY * (0.25 + 0.75)))


CASES = (
    Case(
        "servo-step",
        "A servo (400 N/m, 8 Ns/m) moves 1 kg towards 0.1 m, from rest.",
        "place after 0.3 s [mm]",
        1e3 * servo_step(0.3),
        "a damped oscillation about the target.",
        0.5,
        _servo,
        form=".4g",
    ),
    Case(
        "velocity-servo",
        "A servo of velocity (5 Ns/m) brings 1 kg to 2 m/s, from rest.",
        "speed after 0.3 s [m/s]",
        2 * (1 - math.exp(-1.5)),
        "v (1 − exp(−k t/m)).",
        0.01,
        _velocity_servo,
        form=".4g",
    ),
    Case(
        "servo-sag",
        "A servo of 400 N/m holds 1 kg against gravity.",
        "sag below the target [mm]",
        1e3 * GRAVITY / KP,
        "m g/k.",
        0.05,
        _sagging_servo,
        form=".4g",
    ),
    Case(
        "armature",
        "A motor of 0.2 Nm with a gear of 5 and an armature of 0.02 kg m² turns 0.05 kg m².",
        "speed after 0.5 s [rad/s]",
        0.2 * GEAR / (ARMATURE + WHEEL) * 0.5,
        "τ t/(I + armature); MuJoCo's armature is on the joint's side of the gear.",
        0.01,
        _armature,
        form=".4g",
    ),
    Case(
        "filtered-motor",
        "A motor of 10 N whose force builds up with a time constant of 0.2 s pushes 1 kg.",
        "speed after 0.5 s [m/s]",
        10 * (0.5 - LAG * (1 - math.exp(-0.5 / LAG))),
        "the integral of F (1 − exp(−t/T)).",
        0.02,
        _filtered,
        form=".4g",
    ),
    Case(
        "saturated-servo",
        "A servo that can push with 3 N at most has a target far away.",
        "way in 0.4 s [m]",
        0.5 * 3 * 0.4**2,
        "½ F t²/m.",
        0.002,
        _saturated,
        form=".4g",
    ),
    Case(
        "gears",
        "A motor of 2 Nm turns a wheel of 0.05 kg m² that turns an equal one three times as fast.",
        "speed of the slow wheel after 0.5 s [rad/s]",
        2 * 0.5 / (WHEEL * (1 + RATIO**2)),
        "τ t/(I (1 + n²)).",
        0.01,
        _gears,
        form=".4g",
    ),
    Case(
        "tackle",
        "A load of 3 kg hangs on a movable pulley, a counterweight of 1 kg on the rope's end.",
        "speed of the load after 0.5 s [m/s]",
        0.5 * GRAVITY * (LOAD - 2 * COUNTER) / (LOAD + 4 * COUNTER),
        "(m₁ − 2 m₂) g t/(m₁ + 4 m₂).",
        0.005,
        lambda simulate: float(-simulate(tackle(), 0.5).qvel[-1, 0]),
        form=".4g",
    ),
    Case(
        "screw",
        "A nut of 1 kg and 10⁻³ kg m² falls along a thread, a radian in 2 cm.",
        "speed after 0.5 s [m/s]",
        0.5 * GRAVITY / (1 + 1e-3 / PITCH**2),
        "g t/(1 + I/m h²).",
        0.01,
        lambda simulate: float(simulate(screw(), 0.5).qvel[-1, 0]),
        form=".4g",
    ),
    Case(
        "welded-rods",
        "Two rods of half a metre, welded end to end, swing from a hinge.",
        "period [s]",
        _rod_period(),
        "2π √(I/m g l) of one rod, small swings.",
        0.005,
        _welded,
        form=".4g",
    ),
)
