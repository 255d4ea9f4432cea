"""Cylinders and ellipsoids on half-spaces: heights, what never passes, how they roll and spin."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from engines import engine_of

import asperity as asp
from asperity.midas.engine_contacts import survey
from asperity.midas.geometry.round_heights import FLATNESS, round_height
from asperity.midas.geometry.stencil import ELLIPSOID_PLANE, RIM_PLANE, Stencil

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

G = 9.81
PLANE = '<geom type="plane" size="9 9 1" friction="{mu}"/>'
KINDS = {
    "cylinder": 'type="cylinder" size=".1 .05"',
    "coin": 'type="cylinder" size=".05 .004"',
    "ellipsoid": 'type="ellipsoid" size=".1 .07 .04"',
}


def scene(geom: str, place: str, *, mu: float = 0.3, slope: float = 0.0) -> str:
    return f"""<mujoco><compiler angle="radian"/>
      <option gravity="{G * np.sin(slope)} 0 {-G * np.cos(slope)}"/><worldbody>{PLANE.format(mu=mu)}
      <body {place}><freejoint/><geom {geom} mass="1" friction="{mu}"/></body></worldbody></mujoco>"""


def true_height(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Of the lowest point, by the support function."""
    up = data.geom_xmat[1].reshape(3, 3).T @ [0, 0, 1]
    size = model.geom_size[1]
    if model.geom_type[1] == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return float(data.geom_xpos[1, 2] - np.linalg.norm(size * up))
    reach = size[0] * np.hypot(up[0], up[1]) + size[1] * abs(up[2])
    return float(data.geom_xpos[1, 2] - reach)


@pytest.mark.parametrize("name", KINDS)
def test_heights_are_those_of_the_shapes(name):
    engine = engine_of(scene(KINDS[name], 'pos="0 0 1"'), activation_distance=0.02)
    model, data = engine.model, mujoco.MjData(engine.model)
    rng = np.random.default_rng(3)
    flat = FLATNESS * float(engine.table.options.activation)
    for _ in range(60):
        data.qpos[3:7] = rng.normal(size=4)
        data.qpos[2] = 0.2
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_kinematics(model, data)
        data.qpos[2] += rng.uniform(0.001, 0.015) - true_height(model, data)
        mujoco.mj_kinematics(model, data)
        expected = true_height(model, data)
        engine.set_state(data.qpos, np.zeros(6))
        while engine.grow(int(survey(engine.table))):
            pass
        count = int(engine.table.candidates.count)
        assert 1 <= count <= 2
        found = np.sqrt(np.asarray(engine.table.candidates.square[:count]).min())
        # Never more than it is, and less by no more than what flat rims are rounded by.
        assert expected - flat - 1e-12 < found < expected + 1e-12
        if name == "ellipsoid":
            assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("is_rim", [True, False])
def test_coefficients_are_the_derivative_of_the_height(is_rim):
    rng = np.random.default_rng(5)
    normal = rng.normal(size=3)
    plane = (*(normal / np.linalg.norm(normal)), 0.1)
    stencil = Stencil(RIM_PLANE if is_rim else ELLIPSOID_PLANE, 0, 1, 2, 3)
    for _ in range(20):
        x, c, work = rng.normal(size=(4, 3)), np.zeros(4), np.zeros(4)
        round_height(stencil, x, plane, 1.0, c)
        assert c.sum() == pytest.approx(1.0)
        for i in range(3 if is_rim else 4):
            for k in range(3):
                ends = []
                for sign in (1, -1):
                    moved = x.copy()
                    moved[i, k] += sign * 1e-6
                    ends.append(round_height(stencil, moved, plane, 1.0, work))
                slope = (ends[0] - ends[1]) / 2e-6
                assert slope == pytest.approx(c[i] * plane[k], abs=1e-8)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("speed", [5.0, 200.0])
def test_nothing_passes_the_plane(name, speed):
    rng = np.random.default_rng(7)
    sim = asp.Simulator(scene(KINDS[name], 'pos="0 0 .5"', mu=0.5), integrator=asp.Midas())
    sim.data.qvel[:] = (speed, 0, -speed, *rng.uniform(-60, 60, 3))
    for _ in range(40):
        assert sim.step().success
        mujoco.mj_kinematics(sim.model, sim.data)
        # Poses are the rotations nearest to slightly strained links.
        assert true_height(sim.model, sim.data) > -1e-5


@pytest.mark.parametrize(
    ("name", "share"), [("cylinder", 2 / 3), ("coin", 2 / 3), ("ellipsoid", None)]
)
def test_slipping_becomes_rolling(name, share):
    """Angular momentum about the floor: of a cylinder 2/3 of the first speed is left."""
    place = 'pos="0 0 .1009" euler="1.5707963267948966 0 0"'
    geom = KINDS[name]
    if name == "coin":
        place = 'pos="0 0 .0509" euler="1.5707963267948966 0 0"'
    if name == "ellipsoid":
        # One of revolution, with the inertia 2/5 m r² about the axis that it rolls about.
        geom, share = 'type="ellipsoid" size=".1 .1 .05"', 5 / 7
    sim = asp.Simulator(scene(geom, place), integrator=asp.Midas())
    sim.data.qvel[0] = 2.0
    assert sim.advance_to(1.0).success
    assert sim.data.qvel[0] == pytest.approx(2.0 * share, rel=1e-3)
    # It goes on: what rolls on facets does not.
    assert sim.advance_to(3.0).success
    assert sim.data.qvel[0] == pytest.approx(2.0 * share, rel=2e-3)


def test_a_cylinder_rolls_downhill():
    place = 'pos="0 0 .1009" euler="1.5707963267948966 0 0"'
    sim = asp.Simulator(scene(KINDS["cylinder"], place, slope=0.2), integrator=asp.Midas())
    assert sim.advance_to(1.0).success
    assert sim.data.qvel[0] == pytest.approx(2 / 3 * G * np.sin(0.2), rel=1e-3)


def test_a_standing_cylinder_stands_slides_and_stops_turning():
    xml = scene(KINDS["cylinder"], 'pos="0 0 .0509"')
    sim = asp.Simulator(xml, integrator=asp.Midas())
    assert sim.advance_to(2.0).success
    assert np.abs(sim.data.qvel).max() < 1e-9
    sliding = asp.Simulator(xml, integrator=asp.Midas())
    sliding.data.qvel[0] = 2.0
    assert sliding.advance_to(0.4).success
    assert sliding.data.qvel[0] == pytest.approx(2.0 - 0.3 * G * 0.4, rel=1e-2)
    turning = asp.Simulator(xml, integrator=asp.Midas())
    turning.data.qvel[5] = 20.0
    assert turning.advance_to(0.3).success
    # Of an even pressure: a moment of 2/3 μ N r, and the inertia m r²/2.
    assert turning.data.qvel[5] == pytest.approx(20.0 - 4 / 3 * 0.3 * G / 0.1 * 0.3, rel=1e-2)


def test_a_top_keeps_its_energy():
    """A spheroid that spins upright on its point, at a radian a step."""
    xml = scene('type="ellipsoid" size=".03 .03 .04"', 'pos="0 0 .0409"')
    sim = asp.Simulator(xml, integrator=asp.Midas())
    sim.data.qvel[5] = 100.0
    assert sim.advance_to(1.0).success
    assert sim.data.qvel[5] == pytest.approx(100.0, rel=1e-6)
    assert np.abs(sim.data.qvel[:5]).max() < 1e-3
