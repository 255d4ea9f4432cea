"""Robots: a trot, a fall, a lift, a shaken grasp."""

from __future__ import annotations

import numpy as np

from studies.benchmarks import accuracy_scenes
from studies.benchmarks.verification.case import CONVERGED, Case, Contact, Simulate, World, energies

__all__ = ["CASES", "falling_robot", "trotting_robot"]


def _shared(name: str, contact: Contact) -> World:
    """A scene that docs/accuracy.md has, too."""
    return World("", contact, document=accuracy_scenes.SCENES[name].xml)


def trotting_robot() -> World:
    """A quadruped in a plane, driven by servos."""
    return _shared("walk", Contact(friction=0.8, stiction_tolerance=1e-4))


def _trot(simulate: Simulate) -> float:
    drive = accuracy_scenes.SCENES["walk"].drive
    run = simulate(trotting_robot(), 3.0, drive=drive, period=0.02)
    return float(run.qpos[-1, 0])


def _lift(simulate: Simulate) -> float:
    """Slip of the box since it left the table [mm]."""
    scene = accuracy_scenes.SCENES["lift"]
    run = simulate(_shared("lift", Contact()), 3.0, drive=scene.drive, period=0.1)
    height = run.qpos[:, int(run.model.joint("box").qposadr[0]) + 2]
    hand = run.qpos[:, int(run.model.joint("lift").qposadr[0])]
    first = int(np.searchsorted(run.time, 0.6 - 1e-9))
    return float(1e3 * ((height - hand)[-1] - (height - hand)[first]))


def _mug(simulate: Simulate) -> float:
    """Slip of the mug [mm]."""
    scene = accuracy_scenes.SCENES["mug on a spring"]
    world = World(
        "", Contact(1e4, 1.0, 0.1, stiction_tolerance=1e-4), (0.0, 0.0, 0.0), document=scene.xml
    )
    assert scene.qvel is not None
    run = simulate(
        world,
        scene.duration,
        qvel=scene.qvel(world.model()),
        drive=lambda _: [0.0, -10.0],
        period=scene.duration,
    )
    mug = run.qpos[:, int(run.model.joint("mug").qposadr[0]) + 2]
    hand = run.qpos[:, int(run.model.joint("lift").qposadr[0])]
    return float(1e3 * ((mug - hand)[-1] - (mug - hand)[0]))


FALL = 1.0


def falling_robot() -> World:
    """A quadruped of 30 kg whose joints have dry friction, in the air."""
    leg = (
        "<body pos='{0} {1} 0'><joint axis='1 0 0' frictionloss='5'/>"
        "<geom type='capsule' size='.05' fromto='0 0 0 0 0 -.05' mass='1.5'/>"
        "<body pos='0 0 -.05' euler='0 {2} 0'><joint axis='0 1 0' frictionloss='5'/>"
        "<geom type='capsule' size='.04' fromto='0 0 0 0 0 -.28' mass='1.5'/>"
        "<body pos='0 0 -.28' euler='0 {3} 0'><joint axis='0 1 0' frictionloss='5'/>"
        "<geom type='capsule' size='.03' fromto='0 0 0 0 0 -.3' mass='.5'/>"
        "</body></body></body>"
    )
    legs = "".join(
        leg.format(x, y, 0.6 if x > 0 else -0.6, -1.2 if x > 0 else 1.2)
        for x in (0.3, -0.3)
        for y in (0.2, -0.2)
    )
    return World(
        "<body><freejoint/><geom type='box' size='.3 .15 .1' mass='16'/>" + legs + "</body>"
    )


def _fall_energy(simulate: Simulate) -> float:
    run = simulate(falling_robot(), FALL)
    indices = np.unique(np.searchsorted(run.time, np.linspace(0, run.time[-1], 21)))
    found = energies(run, indices)
    return float(np.mean((found - found[0]) ** 2))


CASES = (
    Case(
        "trot",
        "A quadruped trots for 3 s, its servos commanded 50 times a second.",
        "distance [m]",
        1.1893,
        f"{CONVERGED} 1.1893 and 1.1892; Runge–Kutta at 1e-4 1.1893.",
        0.005,
        _trot,
        form=".4g",
    ),
    Case(
        "lift",
        "Servos close two fingers on a box, lift it, lower it and lift it again.",
        "slip of the box [mm]",
        0.0,
        "0, because the fingers press with five times the force that the box needs.",
        0.02,
        _lift,
    ),
    Case(
        "shaken-mug",
        "A gripper on a spring shakes a mug that it holds, μ = 0.1.",
        "slip of the mug after 2.5 s [mm]",
        -5.72,
        f"{CONVERGED} −5.78 and −5.82; TAMSI in steps of 4 µs −5.72, the trapezoid at 1e-7 −5.72.",
        0.5,
        _mug,
    ),
    Case(
        "falling-robot",
        "A quadruped of 30 kg with dry friction in its joints falls for a second.",
        "mean squared error of energy [J²]",
        0.0,
        "energy is conserved, because joints do not move (after SimBenchmark's ANYmal test).",
        1.0,
        _fall_energy,
        form=".2g",
    ),
)
