"""Ropes, and what acts along edges, in Midas: convergence, contact with everything, no crossings."""

from __future__ import annotations

import itertools

import ipctk
import mujoco
import numpy as np
import pytest
from rope_models import EQUALITY, arc, capstan, lengths, line, motion, rope, sliding_ratio
from soft_models import Array, compile_soft, positions

import asperity as asp

TOUCHING = "<contact selfcollide='auto' friction='0.3'/>"


def _grid(inner: str, *, pins: str = "", count: int = 6, size: float = 0.2) -> mujoco.MjModel:
    """A horizontal cloth that only its edges hold."""
    return compile_soft(
        f"<flexcomp name='cloth' type='grid' dim='2' count='{count} {count} 1' mass='0.05'"
        f" spacing='{size / (count - 1)} {size / (count - 1)} 1' pos='0 0 0.5' radius='0.001'>"
        f"{pins}{inner}<contact selfcollide='none'/></flexcomp>"
    )


def _knot(count: int) -> Array:
    """Points of an open overhand knot, at equal distances along it."""
    t = np.linspace(-2.15, 2.15, 4001)
    curve = 0.04 * np.stack([t**3 - 3.0 * t, 0.5 * t**4 - 2.0 * t**2, 0.2 * t**5 - 2.0 * t], 1)
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1)))
    at = np.linspace(0.0, along[-1], count)
    return np.stack([np.interp(at, along, axis) for axis in curve.T], axis=1)


def _nearest(model: mujoco.MjModel, x: Array, *, apart: int = 1) -> float:
    """Smallest distance of two edges that are more than ``apart`` places apart, by `ipctk`."""
    ends = [x[edge] for edge in model.flex_edge]
    return min(
        float(np.sqrt(ipctk.edge_edge_distance(*ends[i], *ends[j])))
        for i, j in itertools.combinations(range(len(ends)), 2)
        if j > i + apart
    )


@pytest.mark.parametrize("step", [2e-3, 1e-2])
def test_capstan(step: float) -> None:
    """A rope over a finely cut cylinder holds e^(μπ), and slides beyond it."""
    for share, slides in ((0.98, False), (1.02, True)):
        model = capstan(share * np.exp(0.3 * np.pi), 0.3, gap=8e-4)
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=step, segments=64))
        sim.advance_to(1.25)
        speed = np.abs(sim.data.qvel[-2:])
        assert np.all(speed > 0.05) if slides else np.all(speed < 1e-3)
        assert np.abs(lengths(model, sim.data) - 1.0).max() < 1.001e-8


def test_capstan_slides_by_its_ratio() -> None:
    found = sliding_ratio(0.3, asp.Midas(time_step=2e-3, segments=64), gap=8e-4)
    assert found == pytest.approx(np.exp(0.3 * np.pi), rel=2e-2)


def test_a_knot_is_pulled_tight_and_never_passes_through_itself() -> None:
    """By 20 times its weight; without contact it would be a straight line."""
    points = _knot(61)
    spans = []
    for contact in (TOUCHING, "<contact selfcollide='none'/>"):
        model = rope(points, EQUALITY, mass=0.05, radius=0.004, gravity=0.0, contact=contact)
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=5e-3))
        along = points[-1] - points[0]
        along /= np.linalg.norm(along)
        for end, sign in ((0, -10.0), (-1, 10.0)):
            sim.data.xfrc_applied[model.flex_vertbodyid[end], :3] = sign * along
        for step in range(1, 61):
            sim.advance_to(5e-3 * step)
            if contact == TOUCHING and step % 5 == 0:
                assert _nearest(model, sim.data.flexvert_xpos) > 0.008
        x = sim.data.flexvert_xpos
        spans.append(np.linalg.norm(x[-1] - x[0]) / model.flexedge_length0.sum())
    assert spans[0] < 0.93
    assert spans[1] > 0.97


def test_a_twisted_rod_winds_about_itself_and_never_passes_through() -> None:
    """Nine turns on a slack rod between two clamps; without contact it passes through itself."""
    count, span, turns, radius = 41, 0.6, 9.0, 0.005
    straight, bent = line(count, 1.0), arc(count, span, 1.0)
    held = [0, 1, count - 2, count - 1]
    ties = "".join(f"<connect body1='rope_{v}' anchor='0 0 0'/>" for v in held)
    joints = "<joint joint1='rope_twist_0'/><joint joint1='rope_twist' polycoef='{} 0 0 0 0'/>"
    along = np.linspace(0.0, 1.0, count)
    bent[:, 1] += 0.02 * np.sin(3.0 * np.pi * along) * np.sin(np.pi * along)
    nearest = []
    for contact in (TOUCHING, "<contact selfcollide='none'/>"):
        model = rope(
            straight,
            "<elasticity young='1e6' poisson='0.3' damping='0.02'/>",
            radius=radius,
            gravity=0.0,
            contact=contact,
            sections=f"<equality>{ties}{joints.format(2.0 * np.pi * turns)}</equality>",
        )
        model.eq_data[:4, 3:6] = bent[held]
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=5e-3, verify=True))
        sim.data.qpos[: 3 * count] = (bent - straight).ravel()
        sim.data.qpos[3 * count :] = 2.0 * np.pi * turns * np.linspace(0.0, 1.0, count - 1)
        nearest.append(np.inf)
        for step in range(1, 201):
            sim.advance_to(0.005 * step)
            nearest[-1] = min(nearest[-1], _nearest(model, sim.data.flexvert_xpos, apart=4))
    assert 2.0 * radius < nearest[0] < 2.4 * radius
    assert nearest[1] < 0.5 * radius


def test_a_fast_rope_is_not_cut_by_an_edge() -> None:
    """On the edge of a thin plate, along it at 5 m/s and across at 20 m/s."""
    pytest.importorskip("ipctk")
    plate = "<geom type='box' size='0.2 0.0005 0.1' pos='0.2 0 -0.12'/>"
    for speed in (5.0, 20.0):
        points = line(21, 0.4)
        if speed > 5.0:
            points = points[:, [1, 0, 2]] + [0.2, -0.2, 0.0]
        model = rope(points, EQUALITY, radius=0.003, contact=TOUCHING, world=plate)
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=0.01, verify=True))
        sim.data.qvel[2::3] = -speed
        sim.advance_to(0.05)
        x = sim.data.flexvert_xpos
        assert x[:, 2].max() > -0.03
        assert np.isfinite(x).all()


def test_free_rope_keeps_momentum_and_loses_energy() -> None:
    model = rope(line(21, 1.0), EQUALITY, gravity=0.0)
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=5e-3))
    s = line(21, 1.0)[:, 0] - 0.5
    kick = np.stack([0.1 + 0.0 * s, np.sin(np.pi * s), 2.0 * s + np.cos(2.0 * np.pi * s)], 1)
    sim.data.qvel[:63] = kick.ravel()
    mass, v = motion(model, sim.data)
    before, energy = mass @ v, 0.5 * float(mass @ (v**2).sum(axis=1))
    for step in range(1, 101):
        sim.advance_to(5e-3 * step)
        mass, v = motion(model, sim.data)
        now = 0.5 * float(mass @ (v**2).sum(axis=1))
        assert now < energy * (1.0 + 1e-6)
    assert np.abs(mass @ v - before).max() < 1e-6 * np.abs(before).max()


@pytest.mark.parametrize("kind", ["rope", "cloth"])
def test_short_steps_agree_with_icf(kind: str) -> None:
    """On what an equality of edges holds, and swings; the difference falls as a step's square."""
    if kind == "rope":
        model = rope(line(21, 1.0), EQUALITY + "<pin id='0'/>", mass=0.2)
    else:
        model = _grid(EQUALITY, pins="<pin gridrange='0 0 0 5'/>")

    def at_end(integrator: asp.Integrator) -> Array:
        sim = asp.Simulator(model, integrator=integrator)
        sim.advance_to(0.2)
        return positions(model, sim.data)

    fine, finer = at_end(asp.Icf(time_step=2e-4)), at_end(asp.Icf(time_step=1e-4))
    truth = 2.0 * finer - fine
    apart = [
        float(np.linalg.norm(at_end(asp.Midas(time_step=step)) - truth, axis=1).max())
        for step in (4e-3, 2e-3, 1e-3)
    ]
    fell = np.linalg.norm(truth - positions(model, mujoco.MjData(model)), axis=1).max()
    assert apart[1] < 0.35 * apart[0]
    assert apart[2] < 0.35 * apart[1]
    assert apart[2] < 1e-3 * fell


def test_springs_and_dampers_of_edges() -> None:
    """A pair of vertices on a spring and damper decays as its formula says."""
    model = rope(line(2, 0.5), "<edge stiffness='20' damping='0.4'/>", mass=0.2, gravity=0.0)
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=1e-4))
    sim.data.qpos[:6] = [-0.01, 0.0, 0.0, 0.01, 0.0, 0.0]
    sim.advance_to(0.1)
    rate, speed = 0.4 / 0.1, np.sqrt(20.0 * 2.0 / 0.1 - (0.4 / 0.1) ** 2)
    expected = (
        0.02 * np.exp(-rate * 0.1) * (np.cos(speed * 0.1) + rate / speed * np.sin(speed * 0.1))
    )
    assert sim.data.qpos[3] - sim.data.qpos[0] == pytest.approx(expected, abs=1e-4)


def test_an_equality_that_is_off_holds_nothing() -> None:
    model = rope(line(6, 0.5), EQUALITY + "<pin id='0'/>")
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=1e-3))
    sim.data.eq_active[:] = 0
    sim.advance_to(0.1)
    assert sim.data.qpos[2::3] == pytest.approx(-0.5 * 9.81 * 0.01, rel=2e-2)
