"""Ropes: one that is taut, and one that hangs."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import Array, Case, Simulate, World
from studies.benchmarks.verification.flexes import APART, flex, places
from studies.benchmarks.verification.oscillators import WEIGHTLESS, mean_period

__all__ = ["CASES", "rope_sag", "taut_period"]

LENGTHS = "<edge equality='true'/>"

# -- a taut rope -----------------------------------------------------------------------------------

EDGES, EDGE, BEAD, TENSION, WIDE = 20, 0.05, 0.01, 10.0, 0.02


def _taut_rope() -> World:
    """A rope of 1 m along x, held at one end, without weight."""
    at = 0.5 * EDGES * EDGE
    rope = flex(
        "rope",
        (EDGES + 1, 1, 1),
        EDGE,
        mass=BEAD * (EDGES + 1),
        at=(at, 0.0, 0.0),
        inner="<pin id='0'/>" + LENGTHS,
    )
    return World(rope, gravity=WEIGHTLESS, deformable=True)


def taut_period() -> float:
    """Of a row of beads on a taut string whose last one is free across it [s].

    It is a quarter of the standing wave of twice as many edges and one more, as Lagrange's string.
    """
    rate = 2 * math.sqrt(TENSION / (BEAD * EDGE)) * math.sin(math.pi / (2 * (2 * EDGES + 1)))
    return 2 * math.pi / rate


def _taut(simulate: Simulate) -> float:
    """Pushed across in its slowest mode, from rest."""
    shape = np.sin(np.arange(1, EDGES + 1) * math.pi / (2 * EDGES + 1))
    start = np.zeros((EDGES, 3))
    start[:, 2] = WIDE * 2 * math.pi / taut_period() * shape
    run = simulate(
        _taut_rope(),
        5.5 * taut_period(),
        qvel=start.ravel(),
        forces={f"rope_{EDGES}": [TENSION, 0, 0, 0, 0, 0]},
    )
    run.qpos[:, 0] = places(run, run.time)[:, 1:, 2] @ shape
    return mean_period(run, 0)


# -- a rope that hangs -----------------------------------------------------------------------------

HUNG_EDGES, SPAN = 20, 0.8


def _arc() -> Array:
    """Vertices of a rope of 1 m on an arc between two points, shape (n, 2)."""
    from scipy.optimize import brentq

    # Its edges are chords of a circle: n r 2 sin(a/2n) long, and 2 r sin(a/2) from end to end.
    count = HUNG_EDGES
    half = brentq(
        lambda a: math.sin(a) / (count * math.sin(a / count)) - SPAN, 0.1, 3.0, xtol=1e-14
    )
    radius = SPAN / (2 * math.sin(half))
    angles = np.linspace(-half, half, count + 1)
    return np.stack([radius * np.sin(angles), radius * (math.cos(half) - np.cos(angles))], axis=1)


def _hung_rope() -> World:
    """A rope of 1 m in a viscous medium that is held by both ends, 0.8 m apart."""
    points = " ".join(f"{x:.17g} 0 {z:.17g}" for x, z in _arc())
    edges = " ".join(f"{k} {k + 1}" for k in range(HUNG_EDGES))
    return World(
        "",
        document='<mujoco><option integrator="discrete" viscosity="1"/><worldbody>'
        "<flexcomp name='rope' type='direct' dim='1' mass='.021' radius='.001'"
        f" point='{points}' element='{edges}'><pin id='0 {HUNG_EDGES}'/>{LENGTHS}{APART}"
        "</flexcomp></worldbody></mujoco>",
        deformable=True,
    )


def rope_sag() -> float:
    """Of a row of equal masses on edges of one length, in balance [m]."""
    from scipy.optimize import brentq

    edge = 1.0 / HUNG_EDGES
    up = 0.5 * (HUNG_EDGES - 1) - np.arange(HUNG_EDGES)

    def ends(pull: float) -> tuple[float, Array]:
        tension = np.hypot(pull, up)
        return float(np.sum(edge * pull / tension)), np.asarray(edge * up / tension)

    pull = brentq(lambda x: ends(x)[0] - SPAN, 1e-3, 1e3)
    return float(np.max(np.cumsum(ends(pull)[1])))


def _hangs(simulate: Simulate) -> float:
    return float(-1e3 * places(simulate(_hung_rope(), 4.0), 4.0)[0, :, 2].min())


CASES = (
    Case(
        "rope-taut",
        "A rope of 1 m, held at one end and pulled with 10 N at the other, swings across.",
        "period, of five [s]",
        taut_period(),
        "Lagrange's string of as many beads as the rope has free vertices.",
        0.005,
        _taut,
        form=".4g",
    ),
    Case(
        "rope-hangs",
        "A rope of 1 m is held by its ends, 0.8 m apart, and comes to rest in a viscous medium.",
        "sag at rest [mm]",
        1e3 * rope_sag(),
        "balance of equal masses on edges of one length, which is nearly a catenary.",
        0.01 * 1e3 * rope_sag(),
        _hangs,
        form=".4g",
    ),
)
