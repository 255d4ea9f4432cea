"""Floors of several boxes or meshes are as smooth as one, and walls and steps on them are not."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp

SPEED, FRICTION, GRAVITY = 2.0, 0.05, 9.81
SLID = SPEED - 0.5 * FRICTION * GRAVITY
"""How far it slides in a second [m]."""
WIDTH, THICK = 0.1, 0.05

BOX = f"type='box' size='{WIDTH} .5 {THICK}'"
FLOORS = {
    "boxes": [f"<geom {BOX} pos='{0.2 * i:.17g} 0 {-THICK}'/>" for i in range(12)],
    "meshes": [
        f"<geom type='mesh' mesh='plank' pos='{0.2 * i:.17g} 0 {-THICK}'/>" for i in range(12)
    ],
    "bodies": [f"<body pos='{0.2 * i:.17g} 0 {-THICK}'><geom {BOX}/></body>" for i in range(12)],
    "both": [
        f"<geom type='mesh' mesh='plank' pos='{0.4 * i:.17g} 0 {-THICK}'/>"
        f"<geom {BOX} pos='{0.4 * i + 0.2:.17g} 0 {-THICK}'/>"
        for i in range(6)
    ],
}
SHAPES = {
    "box": "type='box' size='.1 .1 .05'",
    "coin": "type='cylinder' size='.1 .05'",
    "log": "type='cylinder' size='.05 .1' euler='90 0 0'",
    "ball": "size='.05'",
    "hull": "type='mesh' mesh='wedge'",
}
METHODS = {
    "Icf": asp.Icf(time_step=2e-3),
    "Icf, 10 ms": asp.Icf(time_step=1e-2),
    "Sap": asp.Sap(time_step=2e-3),
    "Tamsi": asp.Tamsi(time_step=2e-3),
    "Cenic, 1e-2": asp.Cenic(accuracy=1e-2),
    "Cenic, 1e-3": asp.Cenic(accuracy=1e-3),
}
every_method = pytest.mark.parametrize("method", METHODS)


def _simulator(
    floor: list[str], shape: str, method: str, mass: float = 1.0, **options: int
) -> asp.Simulator:
    corners = " ".join(
        f"{x * WIDTH} {y * 0.5} {z * THICK}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)
    )
    sim = asp.Simulator(
        f"<mujoco><default><geom friction='{FRICTION}'/></default><asset>"
        f"<mesh name='plank' vertex='{corners}'/><mesh name='wedge' vertex='.1 -.1 -.05 "
        ".1 .1 -.05 .1 -.1 .05 .1 .1 .05 -.15 -.1 -.05 -.15 .1 -.05'/></asset>"
        f"<worldbody>{''.join(floor)}<body pos='0 0 .0499'><freejoint/>"
        f"<geom {SHAPES[shape]} mass='{mass}'/></body></worldbody></mujoco>",
        integrator=METHODS[method],
        **options,
    )
    sim.data.qvel[0] = SPEED
    return sim


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("floor", FLOORS)
@every_method
def test_seams_stop_nothing(method: str, floor: str, shape: str) -> None:
    """Rolling takes nothing from what still slides: all have μ g against them."""
    for mass in (1.0, 10.0):
        sim = _simulator(FLOORS[floor], shape, method, mass)
        assert sim.advance_to(1.0).success
        assert sim.data.qpos[0] == pytest.approx(SLID, abs=0.007)
        np.testing.assert_allclose(sim.data.qpos[1], 0.0, atol=1e-4)


@every_method
def test_seams_of_what_moves_stop_nothing(method: str) -> None:
    """A tray of two boxes that slides to and fro across the way."""
    tray = (
        "<body pos='.2 0 -.05'><joint type='slide' axis='0 1 0' stiffness='400'/>"
        f"<geom {BOX} mass='5' pos='-.1 0 0'/><geom {BOX} mass='5' pos='.1 0 0'/>"
        f"<geom {BOX} mass='5' pos='.3 0 0'/></body>"
    )
    sim = _simulator([tray], "box", method)
    free = int(sim.model.jnt_dofadr[1])
    sim.data.qvel[:] = 0.0
    sim.data.qvel[0], sim.data.qvel[free] = 0.3, 1.0
    assert sim.advance_to(0.25).success
    # Friction acts against the slip, which the tray turns by little.
    assert sim.data.qvel[free] == pytest.approx(1.0 - FRICTION * GRAVITY * 0.25, abs=0.01)


WHOLE = [f"<geom type='box' size='1.2 .5 {THICK}' pos='1.1 0 {-THICK}'/>"]
OBSTACLES = {
    "wall on the floor": "<geom type='box' size='.05 .5 .2' pos='.75 0 .2'/>",
    "wall through the floor": "<geom type='box' size='.05 .5 .2' pos='.75 0 .1'/>",
    "curb of 4 mm": "<geom type='box' size='.05 .5 .002' pos='.75 0 .002'/>",
    "block": "<geom type='box' size='.05 .05 .05' pos='.75 0 .05'/>",
}


def _farthest(floor: list[str], shape: str, method: str) -> float:
    sim = _simulator(floor, shape, method)
    farthest = 0.0
    while sim.time < 0.5:
        assert sim.advance_to(sim.time + 0.01).success
        farthest = max(farthest, float(sim.data.qpos[0]))
    return farthest


# What is round rolls over a curb.
HITS = [
    (obstacle, shape)
    for obstacle in OBSTACLES
    for shape in SHAPES
    if obstacle != "curb of 4 mm" or shape not in ("log", "ball")
]


@pytest.mark.parametrize(("obstacle", "shape"), HITS)
@pytest.mark.parametrize("method", ["Icf", "Sap", "Cenic, 1e-3"])
def test_walls_and_steps_do(method: str, obstacle: str, shape: str) -> None:
    """As on a floor in one piece."""
    whole, parts = (
        _farthest([*floor, OBSTACLES[obstacle]], shape, method)
        for floor in (WHOLE, FLOORS["boxes"])
    )
    assert whole < 0.72
    assert parts == pytest.approx(whole, abs=0.01)


def test_seams_refuse_no_steps() -> None:
    """What comes from a neighbour of the same height has not come in from the side."""
    refused = []
    for floor in (WHOLE, FLOORS["boxes"]):
        sim = _simulator(floor, "ball", "Cenic, 1e-3", 30.0)
        assert sim.advance_to(1.0).success
        refused.append(sim.stats.rejections)
    assert refused[1] <= refused[0] + 5


@pytest.mark.parametrize("method", ["Icf", "Cenic, 1e-3"])
def test_a_ball_rests_on_both_sides_of_a_gap(method: str) -> None:
    """Its normals lean by a few degrees, and neither edge lies on the other box."""
    half = 0.004
    gap = [f"<geom {BOX} pos='{side * (WIDTH + half)} 0 {-THICK}'/>" for side in (-1, 1)]
    sim = _simulator(gap, "ball", method)
    sim.data.qpos[0], sim.data.qvel[0] = 0.001, 0.0
    assert sim.advance_to(3.0).success
    height = np.sqrt(0.05**2 - half**2)
    np.testing.assert_allclose(sim.data.qpos[:3], [0.0, 0.0, height], atol=2e-4)


def test_threads_leave_out_the_same() -> None:
    pile = "".join(
        f"<body pos='{0.25 * (i % 8)} {0.25 * (i // 8 % 8) - 0.9} {0.1 + 0.2 * (i // 64)}'>"
        "<freejoint/><geom type='box' size='.08 .08 .05' mass='1'/></body>"
        for i in range(128)
    )
    ends = []
    for threads in (1, 2):
        floor = [one.replace(".5 0.05", "2 0.05") for one in FLOORS["boxes"]]
        sim = _simulator([*floor, pile], "box", "Icf", threads=threads)
        sim.data.qvel[::6] = 1.0
        assert sim.advance_to(0.5).success
        ends.append(sim.data.qpos.copy())
    np.testing.assert_array_equal(ends[0], ends[1])
