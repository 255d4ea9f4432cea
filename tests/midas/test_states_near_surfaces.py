"""States that are given near a limit or a surface: nothing pushes until it comes nearer."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp

every_step = pytest.mark.parametrize("step", [1e-2, 1e-3, 1e-4])
G, LENGTH = 9.81, 0.2

LINK = """<mujoco><option gravity="0 0 {gravity}"/><compiler angle="radian"/><worldbody><body>
  <joint name="j" {joint}/><inertial pos=".1 0 0" mass=".1" diaginertia="1e-4 1e-4 1e-4"/>
  <geom type="capsule" fromto="0 0 0 .2 0 0" size=".01" contype="0" conaffinity="0"/>
  </body></worldbody>{tendon}</mujoco>"""
HINGE = 'axis="0 1 0" range="0 2"'
TENDON = '<tendon><fixed limited="true" range="0 1"><joint joint="j" coef="1"/></fixed></tendon>'
BOX = """<mujoco><option gravity="0 0 {gravity}"/><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 1"><freejoint/><geom type="box" size=".05 .05 .05" mass=".1"/></body>
  <body pos="1 0 .051"><freejoint/><geom type="box" size=".05 .05 .05" mass=".1"/></body>
  </worldbody></mujoco>"""

CUBE = """<mujoco><option gravity="0 0 {gravity}"/><worldbody><geom type="plane" size="1 1 1"/>
  <flexcomp name="cube" type="grid" count="3 3 3" spacing=".05 .05 .05" pos="0 0 .5" radius=".001"
    mass=".1" dim="3"><elasticity young="1e5" poisson=".3"/><contact selfcollide="none"/>
  </flexcomp></worldbody></mujoco>"""


def link(step: float, gravity: float = 0.0, joint: str = HINGE, tendon: str = "") -> asp.Simulator:
    xml = LINK.format(gravity=gravity, joint=joint, tendon=tendon)
    return asp.Simulator(xml, integrator=asp.Midas(time_step=step))


def boxes(step: float, gravity: float = 0.0) -> asp.Simulator:
    return asp.Simulator(BOX.format(gravity=gravity), integrator=asp.Midas(time_step=step))


def angle(angle: float) -> list[float]:
    return [float(np.cos(0.5 * angle)), 0.0, float(np.sin(0.5 * angle)), 0.0]


@every_step
@pytest.mark.parametrize("gap", [0.0, 1e-4, 3e-3])
@pytest.mark.parametrize("kind", ["hinge", "ball", "tendon", "later"])
def test_what_rests_near_a_limit_stays(kind: str, gap: float, step: float) -> None:
    if kind == "ball":
        sim = link(step, joint='type="ball" range="0 1"')
        sim.data.qpos[:] = angle(1.0 - gap)
    elif kind == "tendon":
        sim = link(step, joint='axis="0 1 0"', tendon=TENDON)
        sim.data.qpos[0] = max(gap, 1e-6)
    else:
        sim = link(step)
        if kind == "later":
            sim.data.qpos[0] = 1.0
            sim.step()
        sim.data.qpos[0] = gap
    for _ in range(20):
        sim.step()
    np.testing.assert_allclose(sim.data.qvel, 0.0, atol=1e-9)


@every_step
def test_what_falls_from_its_limit_falls_freely(step: float) -> None:
    """At first by α t with α = m g a/I; the limit is where it starts."""
    sim = link(step, gravity=-G)
    sim.advance_to(0.02)
    rate = 0.1 * G * 0.1 / (1e-4 + 0.1 * 0.1**2)
    assert sim.data.qvel[0] == pytest.approx(rate * 0.02, rel=1e-4)


def test_limits_push_where_they_usually_do_after_it_was_away() -> None:
    """Pressed against the limit it rests where another one does that never began there."""
    rests = []
    for start in (1.0, 0.0):
        sim = link(1e-3)
        sim.data.qpos[0] = start
        sim.data.qvel[0] = 2.0 if start == 0.0 else 0.0
        sim.advance_to(0.5)
        sim.data.qfrc_applied[0] = -0.5
        sim.advance_to(6.0)
        rests.append(float(sim.data.qpos[0]))
    assert rests[0] == pytest.approx(rests[1], rel=1e-7)
    assert rests[0] > 1e-3


@every_step
@pytest.mark.parametrize("gap", [1e-5, 1e-4, 4e-4])
def test_a_box_that_is_put_near_the_floor_stays(gap: float, step: float) -> None:
    sim = boxes(step)
    sim.step()
    sim.data.qpos[2] = 0.05 + gap
    for _ in range(20):
        sim.step()
    assert sim.data.qpos[2] == pytest.approx(0.05 + gap, abs=1e-9)
    np.testing.assert_allclose(sim.data.qvel, 0.0, atol=1e-9)


def test_surfaces_push_where_they_usually_do_after_the_box_was_away() -> None:
    heights = []
    for visits in (False, True):
        sim = boxes(1e-3, -G)
        sim.step()
        if visits:
            sim.data.qpos[2] = 0.05 + 1e-5
            sim.step()
        sim.data.qpos[2] = 0.06
        sim.data.qvel[:] = 0.0
        sim.advance_to(1.0)
        heights.append(float(sim.data.qpos[2]))
    assert heights[1] == pytest.approx(heights[0], abs=1e-9)


def test_what_rests_goes_on_resting_where_it_is_put_again() -> None:
    """Its weight holds it against the barrier."""
    sim = boxes(1e-3, -G)
    sim.data.qpos[2] = 0.06
    sim.advance_to(1.0)
    rests = sim.data.qpos.copy()
    sim.data.qpos[2] = 0.5
    sim.step()
    sim.data.qpos[:], sim.data.qvel[:] = rests, 0.0
    sim.advance_to(1.2)
    np.testing.assert_allclose(sim.data.qpos, rests, atol=1e-8)


@every_step
@pytest.mark.parametrize("gap", [1e-5, 1e-4, 5e-4])
def test_a_soft_cube_that_is_put_near_the_floor_stays(gap: float, step: float) -> None:
    sim = asp.Simulator(CUBE.format(gravity=0.0), integrator=asp.Midas(time_step=step))
    sim.step()
    sim.data.qpos[2::3] -= 0.5 - 0.051 - gap  # of vertices, from where they begin
    for _ in range(20):
        sim.step()
    np.testing.assert_allclose(sim.data.qvel, 0.0, atol=1e-9)


def test_a_soft_cube_that_rests_goes_on_resting_where_it_is_put_again() -> None:
    sim = asp.Simulator(CUBE.format(gravity=-G), integrator=asp.Midas(time_step=1e-2))
    sim.data.qpos[2::3] -= 0.448
    sim.advance_to(1.0)
    rests = sim.data.qpos.copy()
    sim.data.qpos[2::3] += 0.1
    sim.step()
    sim.data.qpos[:], sim.data.qvel[:] = rests, 0.0
    sim.advance_to(1.2)
    # It still settles, by less than that.
    np.testing.assert_allclose(sim.data.qpos[2::3], rests[2::3], rtol=0, atol=1e-7)


def test_what_is_not_moved_keeps_its_distance() -> None:
    """A resting box does not sink while another one is put elsewhere, again and again."""
    sim = boxes(1e-2, -G)
    sim.advance_to(0.5)
    before = float(sim.data.qpos[9])
    for k in range(20):
        sim.data.qpos[2], sim.data.qvel[:6] = 0.5 + 0.01 * k, 0.0
        sim.step()
    assert sim.data.qpos[9] == pytest.approx(before, abs=1e-10)
