"""Springs, dampers and dry friction in joints: modes, resonance, decay, beats."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import Array, Case, Record, Simulate, World

__all__ = ["CASES", "MASS", "WEIGHTLESS", "chain", "mean_period", "rail"]

MASS = "<geom size='.02' mass='1' contype='0' conaffinity='0'/>"
WEIGHTLESS = (0.0, 0.0, 0.0)


def rail(joint: str, sections: str = "") -> World:
    """A kilogram on a rail along x, with what its joint has."""
    return World(
        f"<body><joint name='rail' type='slide' axis='1 0 0' {joint}/>{MASS}</body>",
        gravity=WEIGHTLESS,
        sections=sections,
    )


# -- free motion -----------------------------------------------------------------------------------

LINKS, STIFFNESS, PERIODS = 3, 100.0, 10


def chain() -> World:
    """Three masses in a row on a rail, a wall and springs of 100 N/m between them."""
    body = "<body><joint type='slide' axis='1 0 0' stiffness='100'/>" + MASS
    return World(body * LINKS + "</body>" * LINKS, gravity=WEIGHTLESS)


def slowest_mode() -> tuple[float, Array]:
    """Angular frequency [rad/s] of the chain's slowest mode, and its springs' elongations."""
    matrix = 2.0 * np.eye(LINKS) - np.eye(LINKS, k=1) - np.eye(LINKS, k=-1)
    matrix[-1, -1] = 1.0
    squares, modes = np.linalg.eigh(STIFFNESS * matrix)
    mode = modes[:, 0] / modes[-1, 0]
    return math.sqrt(squares[0]), np.diff(mode, prepend=0.0)


def _mode(simulate: Simulate) -> float:
    frequency, springs = slowest_mode()
    run = simulate(chain(), PERIODS * 2 * math.pi / frequency, qpos=0.1 * springs)
    return float(run.qpos[-1].sum() / 0.1)


DAMPING_RATIO, OMEGA = 0.02, 10.0


def _peak(run: Record, time: float, width: float, column: int = 0) -> float:
    """The largest position within a window around a time, a parabola through three steps."""
    inside = np.flatnonzero(np.abs(run.time - time) < width)
    i = int(inside[np.argmax(run.qpos[inside, column])])
    i = min(max(i, 1), len(run.time) - 2)
    parabola = np.polyfit(run.time[i - 1 : i + 2] - run.time[i], run.qpos[i - 1 : i + 2, column], 2)
    if parabola[0] >= 0.0:
        return float(run.qpos[i, column])
    top = -parabola[1] / (2 * parabola[0])
    return float(np.polyval(parabola, top)) if abs(top) < width else float(run.qpos[i, column])


def _light_damping(simulate: Simulate) -> float:
    """Amplitude [mm] after ten periods from 50 mm."""
    world = rail(f"stiffness='{OMEGA**2}' damping='{2 * DAMPING_RATIO * OMEGA}'")
    period = 2 * math.pi / (OMEGA * math.sqrt(1 - DAMPING_RATIO**2))
    run = simulate(world, 10.25 * period, qpos=[0.05])
    return 1e3 * _peak(run, 10 * period, 0.2 * period)


DUFFING = (10.0, 1000.0)


def duffing_period() -> float:
    """Of x'' + α x + β x³ = 0 from 0.3 m [s]: 4 K(m)/√(α + β A²), m = β A²/2(α + β A²)."""
    from scipy.special import ellipk

    linear, cubic = DUFFING
    stiffest = linear + cubic * 0.3**2
    return float(4 * ellipk(0.5 * cubic * 0.3**2 / stiffest) / math.sqrt(stiffest))


def _duffing(simulate: Simulate) -> float:
    run = simulate(rail(f"stiffness='{DUFFING[0]} 0 {DUFFING[1]}'"), 6.0, qpos=[0.3])
    return mean_period(run, 0)


def mean_period(run: Record, column: int, level: float = 0.0, after: float = 0.0) -> float:
    """Mean time between passages of a coordinate upwards through a level, from some time on [s]."""
    x = run.qpos[:, column] - level
    up = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0) & (run.time[:-1] >= after))
    if len(up) < 2:
        return math.inf
    zeros = run.time[up] - x[up] * (run.time[up + 1] - run.time[up]) / (x[up + 1] - x[up])
    return float((zeros[-1] - zeros[0]) / (len(zeros) - 1))


COUPLING = 5.0


def _beats(simulate: Simulate) -> float:
    """How much of the first one's amplitude the second one has when the first one rests."""
    body = f"<body><joint name='{{}}' type='slide' axis='1 0 0' stiffness='100'/>{MASS}</body>"
    world = World(
        body.format("a") + body.format("b"),
        gravity=WEIGHTLESS,
        sections=f"<tendon><fixed stiffness='{COUPLING}' springlength='0'>"
        "<joint joint='a' coef='1'/><joint joint='b' coef='-1'/></fixed></tendon>",
    )
    time = math.pi / (math.sqrt(100 + 2 * COUPLING) - 10)
    run = simulate(world, time, qpos=[0.1, 0])
    late = run.time > time - math.pi / 5
    between = 0.5 * (math.sqrt(100 + 2 * COUPLING) + 10)  # of the two modes' frequencies
    return float(np.max(np.hypot(run.qpos[late, 1], run.qvel[late, 1] / between)) / 0.1)


# -- driven motion ---------------------------------------------------------------------------------

DRIVEN = (8.0, 0.05)
"""Angular frequency of the drive [rad/s], of the 10 rad/s of the mass, and damping ratio."""
HOLD = 0.01
SETTLED, WATCHED = 16.0, 20.0


def _driven(simulate: Simulate, frequency: float) -> complex:
    """Amplitude and phase of the motion under a force of 1 N, once it is steady."""

    def force(time: float) -> list[float]:
        # That of the middle of the time for which it is held.
        return [math.cos(frequency * ((math.floor(time / HOLD + 1e-6) + 0.5) * HOLD))]

    world = rail(
        f"stiffness='100' damping='{2 * DRIVEN[1] * 10}'",
        "<actuator><motor joint='rail'/></actuator>",
    )
    period = 2 * math.pi / frequency
    start = WATCHED - 3 * period
    run = simulate(world, WATCHED + 0.1, drive=force, period=HOLD)
    times = np.linspace(start, WATCHED, 600, endpoint=False)
    motion = run.at(times, 0)
    return complex(2 * np.mean(motion * np.exp(-1j * frequency * times)))


def response(frequency: float) -> complex:
    """What `_driven` should find [m/N]."""
    return 1 / (100 - frequency**2 + 2j * DRIVEN[1] * 10 * frequency)


# -- dry friction in joints ------------------------------------------------------------------------

DRY = 3.0


def _dry_swing(simulate: Simulate) -> float:
    """Amplitude after five swings to and fro from 1 m, each of which takes 4 F/k."""
    run = simulate(rail(f"stiffness='100' frictionloss='{DRY}'"), 3.5, qpos=[1.0])
    return _peak(run, 5 * 2 * math.pi / 10, 0.15)


def _dry_slide(simulate: Simulate) -> float:
    return float(simulate(rail(f"frictionloss='{DRY}'"), 1.0, qvel=[2.0]).qpos[-1, 0])


def _held_joint(simulate: Simulate) -> float:
    """How far a joint creeps under nine tenths of its friction in 10 s [mm]."""
    world = rail(f"frictionloss='{DRY}'", "<actuator><motor joint='rail'/></actuator>")
    run = simulate(world, 10.0, drive=lambda _: [0.9 * DRY], period=1.0)
    return float(1e3 * run.qpos[-1, 0])


def _terminal(simulate: Simulate) -> float:
    world = World(
        f"<body><joint type='slide' axis='0 0 -1' damping='4'/>{MASS}</body>",
    )
    return float(simulate(world, 0.5).qvel[-1, 0])


_RESPONSE = response(DRIVEN[0])

CASES = (
    Case(
        "chain-mode",
        "Three masses with springs between them swing in their slowest mode for ten periods.",
        "displacement after ten periods, over the first",
        1.0,
        "the mode's eigenvalue: they are back where they began.",
        0.01,
        _mode,
        form=".4g",
    ),
    Case(
        "light-damping",
        "A mass on a spring with a damper, damping ratio 0.02, starts at 50 mm.",
        "amplitude after ten periods [mm]",
        50 * math.exp(-DAMPING_RATIO * 20 * math.pi / math.sqrt(1 - DAMPING_RATIO**2)),
        "exp(−ζ ω t).",
        0.5,
        _light_damping,
    ),
    Case(
        "duffing",
        "A mass on a spring that stiffens, 10 x + 1000 x³ N, swings by 0.3 m.",
        "period [s]",
        duffing_period(),
        "Duffing's equation, an elliptic integral.",
        0.005,
        _duffing,
        form=".4g",
    ),
    Case(
        "beats",
        "Two equal masses on springs, coupled by a weak one. The first begins.",
        "share of the amplitude that moves over",
        1.0,
        "beats of the two modes: all of the motion moves over.",
        0.02,
        _beats,
    ),
    Case(
        "resonance",
        "A mass of 10 rad/s and damping ratio 0.05 is driven at 8 rad/s with 1 N.",
        "amplitude [mm]",
        1e3 * abs(_RESPONSE),
        "|1/(k − m Ω² + i c Ω)|.",
        0.3,
        lambda simulate: 1e3 * abs(_driven(simulate, DRIVEN[0])),
        form=".4g",
    ),
    Case(
        "resonance-phase",
        "The same mass is driven at its own frequency.",
        "lag of the motion behind the force [°]",
        90.0,
        "90° at resonance.",
        1.0,
        lambda simulate: float(-np.degrees(np.angle(_driven(simulate, 10.0)))),
        form=".4g",
    ),
    Case(
        "dry-swing",
        "A mass on a spring of 100 N/m, with 3 N of dry friction in its joint, starts at 1 m.",
        "amplitude after five swings to and fro [m]",
        1 - 5 * 4 * DRY / 100,
        "each swing to and fro loses 4 F/k.",
        0.005,
        _dry_swing,
        form=".4g",
    ),
    Case(
        "dry-slide",
        "The mass without its spring starts at 2 m/s.",
        "distance to rest [m]",
        2.0**2 / (2 * DRY),
        "m v²/2F.",
        0.007,
        _dry_slide,
        form=".4g",
    ),
    Case(
        "dry-hold",
        "Nine tenths of its dry friction push a joint for 10 s.",
        "creep in 10 s [mm]",
        0.0,
        "0: it holds.",
        2.0,
        _held_joint,
        form=".2g",
    ),
    Case(
        "terminal-speed",
        "A kilogram falls in a damper of 4 Ns/m, from rest.",
        "speed after 0.5 s [m/s]",
        9.81 / 4 * (1 - math.exp(-2.0)),
        "(m g/c)(1 − exp(−c t/m)).",
        0.01,
        _terminal,
        form=".4g",
    ),
)
