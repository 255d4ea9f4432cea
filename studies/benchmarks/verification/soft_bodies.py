"""Volumes that deform: vibrations, bending, pressure, friction, a grasp and flight."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from studies.benchmarks.verification.case import (
    GRAVITY,
    Array,
    Case,
    Contact,
    Simulate,
    World,
)
from studies.benchmarks.verification.flexes import (
    flex,
    masses,
    places,
    rest,
    slowest,
    speeds,
    vertex_dofs,
)

__all__ = ["CASES", "FLOOR", "WEIGHTLESS", "elastic"]

FLOOR = "<geom type='plane' size='90 90 1'/>"
WEIGHTLESS = (0.0, 0.0, 0.0)


def elastic(young: float, poisson: float = 0.0, damping: float = 0.0) -> str:
    """Material of a volume: [Pa], a number and [s]."""
    return f"<elasticity young='{young}' poisson='{poisson}' damping='{damping}'/>"


def _layers(at_rest: Array) -> NDArray[np.int64]:
    """Numbers of the layers of vertices along x."""
    return np.asarray(np.unique(at_rest[:, 0].round(6), return_inverse=True)[1], dtype=np.int64)


# -- vibrations of a bar along itself --------------------------------------------------------------

CELLS, EDGE, AREA = 10, 0.1, 0.01
BAR_YOUNG, LAYER = 1e5, 0.1
WIDTH = 0.02


def held_bar() -> World:
    """A bar of 1 m with a side of 0.1 m, held at x = 0, without weight or damping."""
    return World(
        flex(
            "bar",
            (CELLS + 1, 2, 2),
            EDGE,
            mass=LAYER * (CELLS + 1),
            at=(0.5, 0.0, 0.0),
            inner=elastic(BAR_YOUNG),
            pins="0 0 0 0 1 1",
        ),
        gravity=WEIGHTLESS,
        deformable=True,
    )


def bar_mode() -> tuple[float, Array]:
    """The slowest vibration of its layers along it: [rad/s], and a shape that is one at the end."""
    stiffness = np.zeros((CELLS + 1, CELLS + 1))
    for k in range(CELLS):
        stiffness[k : k + 2, k : k + 2] += BAR_YOUNG * AREA / EDGE * np.array([[1, -1], [-1, 1]])
    return slowest(stiffness[1:, 1:], np.full(CELLS, LAYER))


def _bar_swings(simulate: Simulate) -> float:
    world = held_bar()
    model = world.model()
    frequency, shape = bar_mode()
    mode = np.concatenate([[0.0], shape])[_layers(rest(model))]
    dofs = vertex_dofs(model)
    start = np.zeros(model.nq)
    start[dofs[dofs >= 0]] = WIDTH * mode[dofs >= 0]
    period = 2 * math.pi / frequency
    run = simulate(world, 5.25 * period, qpos=start)
    times = np.linspace(4.75, 5.25, 201) * period
    moved = (places(run, times) - rest(model))[:, :, 0] @ mode / (mode @ mode)
    return float(1e3 * np.max(moved))


# -- a cantilever ----------------------------------------------------------------------------------

BEAM_YOUNG, TIP_FORCE = 1e6, 0.5


def cantilever() -> World:
    """A beam of 1 m with one cell of 0.1 m through its thickness, well damped."""
    return World(
        flex(
            "beam",
            (11, 2, 2),
            0.1,
            mass=1.1,
            at=(0.5, 0.0, 0.0),
            inner=elastic(BEAM_YOUNG, damping=0.15),
            pins="0 0 0 0 1 1",
        ),
        gravity=WEIGHTLESS,
        deformable=True,
    )


def _bends(simulate: Simulate) -> float:
    world = cantilever()
    tip = np.flatnonzero(rest(world.model())[:, 0] > 1.0 - 1e-6)
    forces = {f"beam_{v}": [0, 0, -TIP_FORCE / 4, 0, 0, 0] for v in tip}
    run = simulate(world, 3.0, forces=forces)
    return float(-1e3 * places(run, 3.0)[0, tip, 2].mean())


def deflection() -> float:
    """Of Timoshenko's beam under a force at its end [m], with Cowper's 5/6 for ν = 0."""
    second, shear = 0.1**4 / 12, BEAM_YOUNG / 2
    return TIP_FORCE * (1 / (3 * BEAM_YOUNG * second) + 1 / (5 / 6 * shear * 0.01))


# -- pressed between plates ------------------------------------------------------------------------

PRESS, SIDE, PRESS_YOUNG, POISSON = 5.0, 0.1, 1e5, 0.3


def pressed() -> World:
    """A cube between a floor and a plate without friction or weight."""
    return World(
        f"{FLOOR}<body name='plate' pos='0 0 {SIDE + 0.016}'>"
        "<joint type='slide' axis='0 0 1' damping='20'/>"
        "<geom type='box' size='.1 .1 .01' mass='.5'/></body>"
        + flex(
            "cube",
            (3, 3, 3),
            SIDE / 2,
            mass=0.5,
            at=(0.0, 0.0, SIDE / 2 + 3e-3),
            inner=elastic(PRESS_YOUNG, POISSON, 0.01),
            friction=0.0,
        ),
        Contact(friction=0.0),
        gravity=WEIGHTLESS,
        deformable=True,
    )


def _widens(simulate: Simulate) -> float:
    world = pressed()
    run = simulate(world, 2.0, forces={"plate": [0, 0, -PRESS, 0, 0, 0]})
    at_rest = rest(world.model())
    x = places(run, 2.0)[0, :, 0]
    first, last = at_rest[:, 0] < -SIDE / 2 + 1e-6, at_rest[:, 0] > SIDE / 2 - 1e-6
    return float(1e3 * (x[last].mean() - x[first].mean() - SIDE))


# -- friction --------------------------------------------------------------------------------------

SLOPE, SLIDING = math.atan(0.4), 0.3


def soft_incline() -> World:
    """A cube of 50 mm and 1 MPa on a slope that falls towards x, μ = 0.3."""
    return World(
        FLOOR
        + flex(
            "cube",
            (3, 3, 3),
            0.025,
            mass=0.1,
            at=(0.0, 0.0, 0.026),
            inner=elastic(1e6, 0.3, 0.002),
            friction=SLIDING,
        ),
        Contact(friction=SLIDING),
        gravity=(GRAVITY * math.sin(SLOPE), 0.0, -GRAVITY * math.cos(SLOPE)),
        deformable=True,
    )


def _slides(simulate: Simulate) -> float:
    run = simulate(soft_incline(), 1.0)
    before, after = speeds(run, [0.4, 1.0])[:, :, 0].mean(axis=1)
    return float(after - before) / 0.6


GRIP, GRIPPED = 10.0, 0.8


def soft_fingers() -> World:
    """Two fingers that press with 10 N each on a soft cube of 0.8 kg, μ = 0.5."""
    finger = (
        "<body pos='{0} 0 0'><joint name='{1}' type='slide' axis='{2} 0 0' damping='10'/>"
        "<geom type='box' size='.01 .03 .03' mass='.1'/></body>"
    )
    return World(
        finger.format(-0.037, "left", 1)
        + finger.format(0.037, "right", -1)
        + flex(
            "cube",
            (3, 3, 3),
            0.025,
            mass=GRIPPED,
            radius=5e-4,
            inner=elastic(1e5, 0.3, 0.005),
            friction=0.5,
        ),
        deformable=True,
        sections="<actuator><motor joint='left'/><motor joint='right'/></actuator>",
    )


def _slips(simulate: Simulate) -> float:
    run = simulate(soft_fingers(), 2.5, drive=lambda _: [GRIP, GRIP], period=1.0)
    before, after = places(run, [0.5, 2.5])[:, :, 2].mean(axis=1)
    return float(1e3 * (before - after))


# -- flight ----------------------------------------------------------------------------------------


def tumbling_bar() -> World:
    """A soft bar of 300 × 60 × 60 mm, without weight or damping."""
    return World(
        flex("bar", (6, 2, 2), 0.06, mass=0.5, inner=elastic(1e5, 0.3)),
        gravity=WEIGHTLESS,
        deformable=True,
    )


SPIN = np.array([2.0, 3.0, 8.0])


def _turns(simulate: Simulate) -> float:
    world = tumbling_bar()
    model = world.model()
    mass, dofs = masses(model), vertex_dofs(model)[:, None] + np.arange(3)
    start = np.zeros(model.nv)
    start[dofs] = np.cross(SPIN, rest(model))
    run = simulate(world, 2.0, qvel=start)
    momenta = [
        mass @ np.cross(x, v)
        for x, v in zip(places(run, [0.0, 2.0]), speeds(run, [0.0, 2.0]), strict=True)
    ]
    return float(momenta[0] @ momenta[1] / (momenta[0] @ momenta[0]))


CASES = (
    Case(
        "soft-bar-swings",
        "A soft bar of 1 m, held at one end, vibrates along itself in its slowest mode by 20 mm.",
        "amplitude after five swings [mm]",
        1e3 * WIDTH,
        "the initial one, nothing being there to damp it.",
        0.4,
        _bar_swings,
        form=".4g",
    ),
    Case(
        "soft-cantilever",
        "0.5 N bend a beam of 1 m, 0.1 m thick, 1 MPa and ν = 0, with one cell in its thickness.",
        "deflection of the end at rest [mm]",
        1e3 * deflection(),
        "Timoshenko: F L³/3EI + F L/(5/6 G A).",
        0.01 * 1e3 * deflection(),
        _bends,
        form=".4g",
    ),
    Case(
        "soft-press",
        "A plate presses a cube of 0.1 m, 0.1 MPa and ν = 0.3 with 5 N, without friction.",
        "how much wider it is [mm]",
        1e3 * POISSON * PRESS / (PRESS_YOUNG * SIDE),
        "ν F/(E s), the strain being the same everywhere.",
        0.0015,
        _widens,
        form=".4g",
    ),
    Case(
        "soft-slides",
        "A soft cube of 50 mm slides down a slope of 0.4, μ = 0.3.",
        "mean acceleration of its vertices between 0.4 and 1 s [m/s²]",
        GRAVITY * (math.sin(SLOPE) - SLIDING * math.cos(SLOPE)),
        "g (sin α − μ cos α).",
        0.015,
        _slides,
        form=".4g",
    ),
    Case(
        "soft-held",
        "Two fingers press 10 N each on a soft cube of 0.8 kg, μ = 0.5.",
        "sinking between 0.5 and 2.5 s [mm]",
        0.0,
        "0, because friction of 7.8 N is needed and 10 N can act.",
        0.1,
        _slips,
    ),
    Case(
        "soft-tumbling",
        "A soft bar tumbles freely at 9 rad/s, and vibrates.",
        "angular momentum after 2 s along that at the start",
        1.0,
        "1, nothing turning it.",
        0.01,
        _turns,
        form=".4g",
    ),
)
