"""Cloth, ropes and rods: hanging, swinging, sliding, around a cylinder and bent far."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import (
    GRAVITY,
    Array,
    Case,
    Contact,
    Simulate,
    World,
)
from studies.benchmarks.verification.flexes import (
    APART,
    flex,
    places,
    rest,
    slowest,
    vertex_dofs,
)

__all__ = ["CASES", "elastica", "membrane_sag"]

FLOOR = "<geom type='plane' size='90 90 1'/>"
LENGTHS = "<edge equality='true'/>"


def _membrane(young: float, damping: float = 0.0) -> str:
    return (
        f"<elasticity young='{young}' poisson='0' thickness='1e-3' damping='{damping}'"
        " elastic2d='stretch'/>"
    )


# -- a strip that swings ---------------------------------------------------------------------------

ROWS, ROW_EDGE, AMPLITUDE = 11, 0.1, 0.1


def hanging_strip() -> World:
    """A strip of 1 × 0.1 m that hangs by its upper edge, along z, and keeps its edges' lengths."""
    return World(
        flex(
            "strip",
            (ROWS, 2, 1),
            ROW_EDGE,
            mass=0.22,
            euler=f"0 {math.pi / 2} 0",
            inner=LENGTHS,
            pins="0 0 0 1",
        ),
        deformable=True,
    )


def strip_mode() -> tuple[float, Array]:
    """Bernoulli's hanging chain of ten equal masses: the slowest vibration's frequency, and shape.

    A tension of the weight below acts across every edge.
    """
    count = ROWS - 1
    stiffness = np.zeros((ROWS, ROWS))
    for k in range(count):
        tension = GRAVITY * (count - k)
        stiffness[k : k + 2, k : k + 2] += tension / ROW_EDGE * np.array([[1, -1], [-1, 1]])
    return slowest(stiffness[1:, 1:], np.ones(count))


def _strip_swings(simulate: Simulate) -> float:
    world = hanging_strip()
    model = world.model()
    frequency, shape = strip_mode()
    mode = np.concatenate([[0.0], shape])
    at_rest = rest(model)
    row = np.unique(-at_rest[:, 2].round(6), return_inverse=True)[1]
    # Pushed across in its mode, from rest where it hangs.
    dofs = vertex_dofs(model)
    start = np.zeros(model.nv)
    free = dofs >= 0
    start[dofs[free]] = AMPLITUDE * frequency * mode[row[free]]
    run = simulate(world, 5.5 * 2 * math.pi / frequency, qvel=start)
    moved = (places(run, run.time) - at_rest)[:, :, 0] @ mode[row]
    before = np.flatnonzero((moved[:-1] < 0.0) & (moved[1:] >= 0.0))
    if len(before) < 2:
        return math.inf
    share = moved[before] / (moved[before] - moved[before + 1])
    passed = run.time[before] + share * np.diff(run.time)[before]
    return float((passed[-1] - passed[0]) / (len(passed) - 1))


# -- a membrane ------------------------------------------------------------------------------------

SPAN_ROWS, SPAN_EDGE, TENSILE = 11, 0.1, 100.0
MEMBRANE = 0.11


def held_membrane() -> World:
    """A strip of 1 × 0.1 m, held at both ends, that its weight stretches in a viscous medium."""
    strip = flex(
        "strip",
        (SPAN_ROWS, 2, 1),
        SPAN_EDGE,
        mass=MEMBRANE,
        inner=_membrane(TENSILE / 1e-3 / SPAN_EDGE, 0.02),
        pins=f"0 0 0 1,{SPAN_ROWS - 1} 0 {SPAN_ROWS - 1} 1",
    )
    return World(
        "",
        document=f'<mujoco><compiler angle="radian"/><option integrator="discrete" viscosity="1"/>'
        f"<worldbody>{strip}</worldbody></mujoco>",
        deformable=True,
    )


def membrane_sag() -> float:
    """Of masses in a row that springs connect, in balance [m]: E t w is the springs' E A."""
    from scipy.optimize import brentq

    weight = MEMBRANE * GRAVITY / SPAN_ROWS
    up = weight * (0.5 * (SPAN_ROWS - 2) - np.arange(SPAN_ROWS - 1))

    def ends(pull: float) -> tuple[float, Array]:
        tension = np.hypot(pull, up)
        length = SPAN_EDGE * (1.0 + tension / TENSILE)
        return float(np.sum(length * pull / tension)), np.asarray(length * up / tension)

    pull = brentq(lambda x: ends(x)[0] - SPAN_EDGE * (SPAN_ROWS - 1), 1e-3, TENSILE)
    return float(np.max(np.cumsum(ends(pull)[1])))


def _sags(simulate: Simulate) -> float:
    run = simulate(held_membrane(), 4.0)
    return float(-1e3 * places(run, 4.0)[0, :, 2].min())


# -- friction --------------------------------------------------------------------------------------


def cloth_on_slope(share: float) -> World:
    """A cloth of 0.1 m on a slope whose tangent is that share of μ = 0.5."""
    angle = math.atan(share * 0.5)
    return World(
        FLOOR
        + flex(
            "cloth",
            (5, 5, 1),
            0.025,
            mass=0.1,
            at=(0.0, 0.0, 1e-3),
            inner=_membrane(1e6, 1e-3),
            friction=0.5,
        ),
        Contact(friction=0.5),
        gravity=(GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle)),
        deformable=True,
    )


def _sticks(simulate: Simulate) -> float:
    run = simulate(cloth_on_slope(0.98), 2.0)
    moved = np.diff(places(run, [0.0, 2.0])[:, :, 0].mean(axis=1))
    return float(moved[0])


PULL, PULLED_FRICTION = 8.0, 0.3


def soft_tablecloth() -> World:
    """A box of 1 kg on a cloth of 0.6 × 0.2 m on a floor, μ = 0.3."""
    return World(
        f"{FLOOR}<body pos='-.1 0 .0422'><freejoint/>"
        "<geom type='box' size='.04 .04 .04' mass='1'/></body>"
        + flex(
            "cloth",
            (13, 5, 1),
            0.05,
            mass=0.2,
            at=(0.0, 0.0, 1.1e-3),
            inner=_membrane(1e7, 1e-3),
            friction=PULLED_FRICTION,
        ),
        Contact(friction=PULLED_FRICTION),
        deformable=True,
    )


def _pulled(simulate: Simulate) -> float:
    world = soft_tablecloth()
    front = np.flatnonzero(rest(world.model())[:, 0] > 0.3 - 1e-6)
    forces = {f"cloth_{v}": [PULL / len(front), 0, 0, 0, 0, 0] for v in front}
    run = simulate(world, 0.15, forces=forces)
    return float(run.at(0.15, 0, speed=True) - run.at(0.05, 0, speed=True))


# -- a rope around a cylinder ----------------------------------------------------------------------

CAPSTAN, LIGHT, HEAVY = 0.3, 0.5, 1.5
ROPE_VERTICES, DRUM, TAIL = 81, 0.1, 0.3


def capstan() -> World:
    """A light rope over half of a cylinder, with a mass at each end."""
    radius = DRUM + 2e-3 + 1.5e-3
    along = np.linspace(0.0, math.pi * radius + 2 * TAIL, ROPE_VERTICES)
    angle = np.clip((along - TAIL) / radius, 0.0, math.pi)
    down = np.maximum(np.maximum(TAIL - along, along - TAIL - math.pi * radius), 0.0)
    x, z = -radius * np.cos(angle), radius * np.sin(angle) - down
    points = " ".join(f"{a:.17g} 0 {b:.17g}" for a, b in zip(x, z, strict=True))
    edges = " ".join(f"{k} {k + 1}" for k in range(ROPE_VERTICES - 1))
    weight = (
        "<body name='{0}' pos='{1} 0 {2}'><joint type='slide' axis='0 0 1'/>"
        "<geom size='.02' mass='{3}' contype='0' conaffinity='0'/></body>"
    )
    tie = "<connect body1='{0}' body2='rope_{1}' anchor='0 0 0'/>"
    return World(
        f"<geom type='cylinder' size='{DRUM} .1' euler='{math.pi / 2} 0 0'/>"
        + weight.format("light", -radius, -TAIL, LIGHT)
        + weight.format("heavy", radius, -TAIL, HEAVY)
        + f"<flexcomp name='rope' type='direct' dim='1' mass='.002' radius='.002'"
        f" point='{points}' element='{edges}'>{LENGTHS}"
        f"<contact selfcollide='none' friction='{CAPSTAN}'/></flexcomp>",
        Contact(friction=CAPSTAN),
        sections=f"<equality>{tie.format('light', 0)}{tie.format('heavy', ROPE_VERTICES - 1)}"
        "</equality>",
        deformable=True,
    )


def _tensions(simulate: Simulate) -> float:
    run = simulate(capstan(), 0.3)
    rise, fall = ((run.at(0.3, k, True) - run.at(0.1, k, True)) / 0.2 for k in range(2))
    return float(HEAVY * (GRAVITY + fall) / (LIGHT * (GRAVITY + rise)))


# -- a rod -----------------------------------------------------------------------------------------

ROD_EDGES, ROD_YOUNG, ROD_RADIUS, LOAD = 20, 1e9, 0.005, 2.0
RIGIDITY = ROD_YOUNG * math.pi * ROD_RADIUS**4 / 4


def bent_rod() -> World:
    """A rod of 1 m, held by one more edge, well damped, without weight."""
    edge = 1.0 / ROD_EDGES
    points = " ".join(f"{edge * (k - 1):.17g} 0 0" for k in range(ROD_EDGES + 2))
    edges = " ".join(f"{k} {k + 1}" for k in range(ROD_EDGES + 1))
    return World(
        "",
        document='<mujoco><option integrator="discrete" gravity="0 0 0"/>'
        f"<worldbody><flexcomp name='rod' type='direct' dim='1' mass='.11' radius='{ROD_RADIUS}'"
        f" point='{points}' element='{edges}'><pin id='0 1'/>"
        f"<elasticity young='{ROD_YOUNG}' poisson='.3' damping='.2'/>{LENGTHS}{APART}"
        "</flexcomp></worldbody></mujoco>",
        gravity=(0.0, 0.0, 0.0),
        deformable=True,
    )


def elastica() -> float:
    """Deflection of a cantilever's end over its length, θ'' = −F L²/EI cos θ."""
    from scipy.integrate import solve_bvp

    def slope(_: Array, y: Array) -> Array:
        return np.array([y[1], -LOAD * np.cos(y[0]), np.sin(y[0])])

    s = np.linspace(0.0, 1.0, 50)
    found = solve_bvp(
        slope, lambda a, b: np.array([a[0], b[1], a[2]]), s, np.zeros((3, 50)), tol=1e-8
    )
    return float(abs(found.y[2, -1]))


def _rod_bends(simulate: Simulate) -> float:
    name = f"rod_{ROD_EDGES + 1}"
    run = simulate(bent_rod(), 4.0, forces={name: [0, 0, -LOAD * RIGIDITY, 0, 0, 0]})
    return float(-places(run, 4.0)[0, -1, 2])


CASES = (
    Case(
        "cloth-swings",
        "A strip of cloth of 1 m hangs by one end and swings in its slowest mode, 0.1 m wide.",
        "period, of five [s]",
        2 * math.pi / strip_mode()[0],
        "Bernoulli's hanging chain of as many masses as rows of vertices.",
        0.02,
        _strip_swings,
        form=".4g",
    ),
    Case(
        "cloth-sags",
        "Its weight stretches a strip of cloth of 1 m that is held at both ends.",
        "sag at rest [mm]",
        1e3 * membrane_sag(),
        "balance of the rows of vertices as masses that springs of E t w connect.",
        0.01 * 1e3 * membrane_sag(),
        _sags,
        form=".4g",
    ),
    Case(
        "cloth-sticks",
        "A cloth on a slope at 0.98 of the limit, 2 s.",
        "distance [m]",
        0.0,
        "0, because friction can carry the load.",
        0.002,
        _sticks,
    ),
    Case(
        "soft-tablecloth",
        "A cloth is pulled away with 8 N from under a box, μ = 0.3.",
        "speed that the box gains between 0.05 and 0.15 s [m/s]",
        0.1 * PULLED_FRICTION * GRAVITY,
        "μ g t.",
        0.006,
        _pulled,
        form=".4g",
    ),
    Case(
        "capstan",
        "A rope slides over half of a cylinder, μ = 0.3, between masses of 0.5 and 1.5 kg.",
        "tension of one end over that of the other",
        math.exp(CAPSTAN * math.pi),
        "exp(μ π) (Euler, Eytelwein).",
        0.05,
        _tensions,
        form=".4g",
    ),
    Case(
        "rod-bends",
        "A force F = 2 EI/L² bends a rod of 1 m that is held at one end.",
        "deflection of the other end [m]",
        elastica(),
        "Euler's elastica, scipy's solve_bvp, tolerance 10⁻⁸.",
        0.005,
        _rod_bends,
        form=".4g",
    ),
)
