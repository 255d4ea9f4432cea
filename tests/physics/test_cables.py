"""Cables of bodies (`asperity.loading.cables`) against the closed forms of elastic rods."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from cable_models import Array, bend_into_ring, cable, tip_force, tip_position

import asperity as asp

RIGIDITY = 1e7 * np.pi * 0.005**4 / 4.0
LIGHTLY_DAMPED = "<joint kind='main' damping='1e-5'/>"


def _under_force(
    model: mujoco.MjModel, integrator: asp.Integrator, force: Array, end: float
) -> asp.Simulator:
    sim = asp.Simulator(model, integrator=integrator)
    mujoco.mj_forward(model, sim.data)
    for time in np.arange(1, round(2.0 * end) + 1) / 2.0:
        tip_force(sim, force)
        sim.advance_to(float(time))
        mujoco.mj_forward(model, sim.data)
    return sim


def _bend(model: mujoco.MjModel, data: mujoco.MjData, angle: float) -> None:
    """Bend all joints about z."""
    for joint in range(model.njnt):
        if model.joint(joint).name.endswith("_z"):
            data.qpos[joint] = angle


@pytest.mark.parametrize("direction", [(0.0, 0.0, -1.0), (0.0, 0.6, -0.8)])
@pytest.mark.parametrize(("load", "expected"), [(1.0, 0.3017), (2.0, 0.4935), (10.0, 0.8106)])
def test_tip_force_bends_as_the_elastica(
    load: float, expected: float, direction: tuple[float, float, float]
) -> None:
    """F L²/EI, in any direction across the round section."""
    force = load * RIGIDITY * np.array(direction)
    sim = _under_force(cable(20), asp.Icf(time_step=0.5), force, 100.0)
    assert tip_position(sim) @ direction == pytest.approx(expected, rel=3e-3)


@pytest.mark.parametrize(
    "integrator", [asp.Cenic(), asp.Midas(time_step=0.1)], ids=("cenic", "midas")
)
def test_integrators_agree(integrator: asp.Integrator) -> None:
    force = 2.0 * RIGIDITY * np.array([0.0, 0.6, -0.8])
    model = cable(10, joint="<joint kind='main' damping='0.1'/>")
    tips = [
        tip_position(_under_force(model, one, force, 30.0))
        for one in (integrator, asp.Icf(time_step=0.5))
    ]
    assert np.abs(tips[0] - tips[1]).max() < 1e-5


def test_tip_moment_closes_a_circle() -> None:
    """2π EI/L: the ends of what bends meet."""
    model = cable(20)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1.0))
    bending = 19.0 / 19.5
    sim.data.xfrc_applied[model.body("B_last").id, 3:] = [0.0, 0.0, 2 * np.pi * RIGIDITY / bending]
    sim.advance_to(60.0)
    mujoco.mj_forward(model, sim.data)
    assert tip_position(sim) == pytest.approx(sim.data.body("B_1").xpos, abs=1e-6)


def test_tip_moment_twists() -> None:
    """M L/GJ; J is twice I of a round section."""
    model = cable(20, twist=5e6)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1.0))
    sim.data.xfrc_applied[model.body("B_last").id, 3:] = [0.01, 0.0, 0.0]
    sim.advance_to(60.0)
    mujoco.mj_forward(model, sim.data)
    frame = sim.data.site("S_last").xmat.reshape(3, 3)
    expected = 0.01 * 19.0 / 19.5 / RIGIDITY
    turned = (np.arctan2(frame[2, 1], frame[1, 1]) - expected + np.pi) % (2.0 * np.pi) - np.pi
    assert abs(turned) < 1e-6


@pytest.mark.parametrize(("share", "buckles"), [(0.98, False), (1.02, True)])
@pytest.mark.parametrize("kind", ["euler", "greenhill", "lateral"])
def test_buckling(kind: str, share: float, buckles: bool) -> None:
    """Columns under a force π² EI/4L² at the tip and under their weight 7.837 EI/L²; a band on edge.

    A small bend grows beyond the critical load, and vibrates below it. The band has a force
    4.013 √(EI_z GJ)/L² at its tip (Timoshenko and Gere, Theory of elastic stability, 6.3), which is
    larger by what it bends before.
    """
    force = np.zeros(3)
    if kind == "lateral":
        young, shear, y, z = 1e9, 4e8, 5e-4, 1e-2
        weak, strong = 4.0 / 3.0 * z * y**3, 4.0 / 3.0 * y * z**3
        torsion = z * y**3 * (16.0 / 3.0 - 3.36 * y / z)
        force[2] = -4.0126 * np.sqrt(young * weak * shear * torsion)
        force /= np.sqrt((1.0 - weak / strong) * (1.0 - shear * torsion / young / strong))
        section = f"type='box' size='1 {y} {z}'"
        model = cable(40, bend=young, twist=shear, geom=section, mass=0.05, joint=LIGHTLY_DAMPED)
    else:
        model = cable(20, joint=LIGHTLY_DAMPED)
    if kind == "euler":
        force[0] = -0.25 * np.pi**2 * RIGIDITY
    elif kind == "greenhill":
        weight = 7.8373 * RIGIDITY / 19.5 / model.body("B_last").mass[0]
        model.opt.gravity[:] = [-share * weight, 0.0, 0.0]
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.05 if kind == "lateral" else 0.1))
    _bend(model, sim.data, 1e-7)
    mujoco.mj_forward(model, sim.data)
    start = abs(tip_position(sim)[1])
    farthest = 0.0
    for time in np.arange(1, 1501) / 10.0:
        tip_force(sim, share * force)
        sim.advance_to(float(time))
        mujoco.mj_forward(model, sim.data)
        farthest = max(farthest, abs(tip_position(sim)[1]) / start)
    assert farthest > 1e2 if buckles else farthest < 1.5


def test_twisted_ring_buckles_as_michell_found() -> None:
    """At a twist of 2π√3 EI/GJ, by how far it leaves its plane before, p ~ 1/(Θ_c − Θ)."""
    joints = 48
    model = cable(
        joints + 1,
        length=(joints + 0.5) / joints,
        twist=5e6,
        joint="<joint kind='main' damping='2e-4' armature='1e-3'/>",
        more="<equality><weld body1='B_last'/></equality>",
    )
    critical = 2.0 * np.pi * np.sqrt(3.0)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.1))
    model.eq_data[0, :11] = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    out_of_plane = []
    for share, end in ((0.94, 200.0), (0.97, 400.0)):
        twist = share * critical
        if not out_of_plane:
            bend_into_ring(model, sim.data, twist)
        model.eq_data[0, 6:8] = [np.cos(0.5 * twist), -np.sin(0.5 * twist)]
        sim.advance_to(end)
        mujoco.mj_forward(model, sim.data)
        x = sim.data.xpos[1:] - sim.data.xpos[1:].mean(axis=0)
        out_of_plane.append(np.linalg.svd(x)[1][-1])
    first, second = 1.0 / np.array(out_of_plane)
    assert 0.97 + 0.03 * second / (first - second) == pytest.approx(1.0, rel=2e-2)


def test_frequency_and_energy() -> None:
    """1.8751² √(EI/ρAL⁴) of a cantilever in Cenic, which keeps the amplitude."""
    edges, first = 20, 1.8751040687
    model = cable(edges)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-5))
    density = 0.1 * (edges - 0.5) / edges
    frequency = first**2 * np.sqrt(RIGIDITY / density)
    s = (np.arange(1, edges) - 0.5) / (edges - 0.5)
    ratio = (np.cosh(first) + np.cos(first)) / (np.sinh(first) + np.sin(first))
    shape = np.cosh(first * s) + np.cos(first * s)
    shape -= ratio * (np.sinh(first * s) + np.sin(first * s))
    for edge in range(1, edges):
        name = "J_last_z" if edge == edges - 1 else f"J_{edge}_z"
        sim.data.joint(name).qpos = 1e-4 * shape[edge - 1]
    times = np.arange(1, 241) / 80.0 * 2.0 * np.pi / frequency
    heights = []
    for time in times:
        sim.advance_to(float(time))
        mujoco.mj_forward(model, sim.data)
        heights.append(tip_position(sim)[1])
    height = np.array(heights)
    at = np.flatnonzero(height[:-1] * height[1:] < 0.0)
    zeros = times[at] + height[at] / (height[at] - height[at + 1]) * (times[1] - times[0])
    assert np.pi / np.diff(zeros).mean() == pytest.approx(frequency, rel=3e-3)
    assert height[-80:].max() == pytest.approx(height[:80].max(), rel=1e-3)


def test_flat_cables_straighten() -> None:
    """``flat``: what is curved in the text is straight at rest, else it stays as it is."""
    turn = np.linspace(0.0, 1.2, 8)
    points = np.stack([np.sin(turn), 0.3 * turn, 1.0 - np.cos(turn)], axis=1)
    text = " ".join(f"{x:.6f}" for x in points.ravel())
    for rest, straight in (("<config key='flat' value='true'/>", True), ("", False)):
        model = cable(
            7,
            attributes=f"vertex='{text}'",
            rest=rest,
            joint="<joint kind='main' damping='0.02'/>",
        )
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.5))
        sim.advance_to(60.0)
        mujoco.mj_forward(model, sim.data)
        ends = np.array([*sim.data.xpos[1:], tip_position(sim)])
        edges = np.diff(ends, axis=0)
        edges /= np.linalg.norm(edges, axis=1)[:, None]
        if straight:
            assert (edges @ edges[0]).min() > 1.0 - 1e-9
        else:
            assert np.abs(ends - points).max() < 1e-5
