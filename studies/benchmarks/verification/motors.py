"""Motors that pull, push and twist: tendons through space, a thruster, a torque on a ball joint."""

from __future__ import annotations

import math

import mujoco

from studies.benchmarks.verification.case import Case, Simulate, World, energies
from studies.benchmarks.verification.oscillators import WEIGHTLESS, mean_period

__all__ = ["CASES", "swing_period", "two_links"]

UNTOUCHABLE = "contype='0' conaffinity='0'"

# -- a spring through space that makes a pendulum --------------------------------------------------

SPRING, ARM, ANCHOR, TURNED, SWING = 20.0, 0.5, 0.8, 0.0825, 2.0
"""Its stiffness, distances from the hinge, the rod's inertia about it, and its largest angle."""


def _sprung_rod() -> World:
    """A rod on a hinge, without weight, whose end a spring of no length at rest pulls aside."""
    return World(
        f"<site name='anchor' pos='{ANCHOR} 0 .3'/>"
        f"<body><joint axis='0 0 1'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 {TURNED}'/>"
        f"<site name='end' pos='{ARM} 0 0'/></body>",
        gravity=WEIGHTLESS,
        sections=f"<tendon><spatial stiffness='{SPRING}' springlength='0'><site site='anchor'/>"
        "<site site='end'/></spatial></tendon>",
    )


def swing_period() -> float:
    """Of a pendulum [s]: ½ k L² is −k D r cos φ and a constant, whatever is off the plane."""
    from scipy.special import ellipk

    frequency = math.sqrt(SPRING * ANCHOR * ARM / TURNED)
    return float(4 * ellipk(math.sin(SWING / 2) ** 2) / frequency)


def _sprung(simulate: Simulate) -> float:
    return mean_period(simulate(_sprung_rod(), 4.0, qpos=[SWING]), 0)


# -- a muscle across two joints --------------------------------------------------------------------

PULL, PULLED = 5.0, 0.6


def two_links() -> World:
    """Two links on skew hinges, and a tendon with a motor from the ground to the second one."""
    link = f"<geom type='capsule' fromto='0 0 0 .3 0 0' size='.02' mass='1' {UNTOUCHABLE}/>"
    return World(
        "<site name='ground' pos='-.1 .1 .2'/>"
        f"<body><joint axis='0 1 0'/>{link}<site name='middle' pos='.2 .02 .05'/>"
        f"<body pos='.3 0 0'><joint axis='0 1 .5'/>{link}<site name='forearm' pos='.15 0 .03'/>"
        "</body></body>",
        gravity=WEIGHTLESS,
        sections="<tendon><spatial name='muscle'><site site='ground'/><site site='middle'/>"
        "<site site='forearm'/></spatial></tendon><actuator><motor tendon='muscle'/></actuator>",
    )


def _muscle(simulate: Simulate) -> float:
    """Energy that the links gain over the force's work."""
    run = simulate(two_links(), PULLED, drive=lambda _: [-PULL], period=0.1)
    data = mujoco.MjData(run.model)
    lengths = []
    for place in run.qpos[[0, -1]]:
        data.qpos[:] = place
        mujoco.mj_fwdPosition(run.model, data)
        lengths.append(float(data.ten_length[0]))
    return float(energies(run)[-1] / (PULL * (lengths[0] - lengths[1])))


# -- a thruster ------------------------------------------------------------------------------------

THRUST, ASIDE, FLYER, YAW, BURNT = 4.0, 0.05, 2.0, 0.05, 1.0


def _flyer() -> World:
    """A body in empty space, and a nozzle beside its centre that pushes along the body's x axis."""
    return World(
        f"<body><freejoint/><inertial pos='0 0 0' mass='{FLYER}' diaginertia='.04 .03 {YAW}'/>"
        f"<site name='nozzle' pos='-.2 {-ASIDE} 0' euler='0 {math.pi / 2} 0'/></body>",
        gravity=WEIGHTLESS,
        sections="<actuator><motor site='nozzle' gear='0 0 1 0 0 0'/></actuator>",
    )


def _thrust_speed() -> float:
    """Speed [m/s] across the first push, F/m √(π/α) S(t √(α/π)), α = F d/I."""
    from scipy.special import fresnel

    rate = THRUST * ASIDE / YAW
    sine, _ = fresnel(BURNT * math.sqrt(rate / math.pi))
    return float(THRUST / FLYER * math.sqrt(math.pi / rate) * sine)


def _thruster(simulate: Simulate) -> float:
    return float(simulate(_flyer(), BURNT, drive=lambda _: [THRUST], period=0.1).qvel[-1, 1])


# -- a motor on a ball joint -----------------------------------------------------------------------

TORQUE, ACROSS, ALONG, SPIN, TWISTED = 0.1, 0.02, 0.04, 5.0, 1.0


def _gyrating(simulate: Simulate) -> float:
    """Spin across the figure axis of a disc that a torque fixed to it twists [rad/s]."""
    world = World(
        "<body><joint name='ball' type='ball'/><inertial pos='0 0 0' mass='1' "
        f"diaginertia='{ACROSS} {ACROSS} {ALONG}'/></body>",
        gravity=WEIGHTLESS,
        sections="<actuator><motor joint='ball' gear='1 0 0 0 0 0'/></actuator>",
    )
    run = simulate(world, TWISTED, qvel=[0, 0, SPIN], drive=lambda _: [TORQUE], period=0.1)
    return float(math.hypot(*run.qvel[-1, :2]))


def _gyration() -> float:
    """Of Euler's equations: ω₁ + i ω₂ goes round a circle, as (I₃ − I₁) ω₃/I₁ says."""
    rate = (ALONG - ACROSS) / ACROSS * SPIN
    return abs(2 * TORQUE / (ACROSS * rate) * math.sin(0.5 * rate * TWISTED))


CASES = (
    Case(
        "tendon-pendulum",
        "A spring through space, of no length at rest, swings a rod on a hinge by 2 rad.",
        "period [s]",
        swing_period(),
        "a pendulum with k D r for m g l, since L² = D² + r² + h² − 2 D r cos φ.",
        0.005,
        _sprung,
        form=".4g",
    ),
    Case(
        "muscle",
        "A motor of 5 N on a tendon pulls two links like a muscle, 0.6 s. Their hinges are skew.",
        "kinetic energy over work",
        1.0,
        "F ΔL, of the tendon's length at the start and the end.",
        0.01,
        _muscle,
        form=".4g",
    ),
    Case(
        "thruster",
        "A nozzle of 4 N, 5 cm beside its centre of mass, pushes and turns 2 kg in empty space.",
        "speed across the first push after 1 s [m/s]",
        _thrust_speed(),
        "Fresnel's integral: F/m ∫ sin(½ α t²) dt, α = F d/I.",
        0.005,
        _thruster,
        form=".4g",
    ),
    Case(
        "ball-motor",
        "A motor on a ball joint twists a spinning disc about an axis that is fixed to it.",
        "spin across the figure axis after 1 s [rad/s]",
        _gyration(),
        "Euler's equations: 2 τ/(I₁ Ω) sin(½ Ω t), Ω = (I₃/I₁ − 1) ω₃.",
        0.01,
        _gyrating,
        form=".4g",
    ),
)
