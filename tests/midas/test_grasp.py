"""A parallel gripper: the least force that lifts a cube, and agreement with CENIC."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp

SIDE = 0.05
G = 9.81

GRIPPER = """
<mujoco><compiler autolimits="true"/><default><geom friction="{friction}"/></default><worldbody>
<geom name="table" type="plane" size="1 1 1"/>
<body name="cube" pos="0 0 .0259"><freejoint/>
  <geom name="cube" type="box" size=".025 .025 .025" density="{density}"/></body>
<body name="hand" pos="0 0 .13"><joint name="lift" type="slide" axis="0 0 1"/>
 <geom type="box" size=".1 .025 .015" mass=".5" contype="0" conaffinity="0"/>
 <body pos="-.04 0 -.065"><joint name="left" type="slide" axis="1 0 0" range="-.02 .05"/>
  <geom type="box" size=".005 .01 .04" mass=".1"/></body>
 <body pos=".04 0 -.065"><joint name="right" type="slide" axis="-1 0 0" range="-.02 .05"/>
  <geom type="box" size=".005 .01 .04" mass=".1"/></body></body></worldbody>
<actuator><position joint="lift" kp="1e5" kv="1e3"/><motor joint="left"/><motor joint="right"/>
</actuator></mujoco>"""


def height(time: float) -> float:
    """Of the hand [m]: at rest until 0.3 s, then lifted with at most 0.05 m/s²."""
    t = max(time - 0.3, 0.0)
    return 0.025 * min(t, 1.0) ** 2 + 0.05 * max(t - 1.0, 0.0)


def grasp(friction: float, density: float, force: float, integrator=None) -> asp.Simulator:
    """Squeeze with a force [N] per finger and lift; returns the simulator after 2 s."""

    def control(model, data):
        data.ctrl[:] = (height(data.time), force, force)

    sim = asp.Simulator(
        GRIPPER.format(friction=friction, density=density),
        integrator=integrator or asp.Midas(verify=True),
        control=control,
        control_period=0.01,
    )
    report = sim.advance_to(2.0)
    assert report.success, report.message
    return sim


@pytest.mark.parametrize(
    ("friction", "density"), [(0.25, 1000), (0.5, 1000), (1.0, 1000), (0.5, 250), (0.5, 4000)]
)
def test_least_force_is_proportional_to_mass_and_inverse_to_friction(friction, density):
    """F = m (g + a)/(2μ), with an acceleration of half a per cent of g."""
    least = density * SIDE**3 * G / (2 * friction)
    held = grasp(friction, density, 1.015 * least)
    lifted = held.data.qpos[2] - 0.0259
    # What sticks creeps at less than the stiction tolerance of 1 mm/s.
    assert held.data.qpos[7] - lifted < 1.8e-3
    dropped = grasp(friction, density, 0.99 * least)
    assert dropped.data.qpos[2] < 0.026


def test_a_grip_a_hundred_times_stronger_stays_free_of_intersections():
    least = 1000 * SIDE**3 * G / (2 * 0.5)
    sim = grasp(0.5, 1000, 100 * least)
    assert sim.data.qpos[7] - (sim.data.qpos[2] - 0.0259) < 3e-4
    assert sim.clearance > 1e-4


def test_grasp_agrees_with_cenic():
    ours = grasp(0.5, 1000, 10.0)
    theirs = grasp(0.5, 1000, 10.0, asp.Cenic(accuracy=1e-4))
    np.testing.assert_allclose(ours.data.qpos[2], theirs.data.qpos[2], atol=1.5e-3)
    np.testing.assert_allclose(ours.data.qpos[7], theirs.data.qpos[7], atol=5e-4)
    # Fingers stop at the cube, the barrier's distance before it.
    np.testing.assert_allclose(ours.data.qpos[8:], theirs.data.qpos[8:], atol=1.2e-3)
