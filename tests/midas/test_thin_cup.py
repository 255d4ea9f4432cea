"""A cup with a wall of 1 mm between strong fingers: a closed, non-convex mesh (Midas, section IV-B)."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp
from asperity.geometry.surfaces import Surface, volume_integrals

SEGMENTS = 24


def cup(radius: float = 0.035, height: float = 0.09, wall: float = 1e-3) -> Surface:
    """An open cylinder with a bottom, as the revolved profile of its wall."""
    profile = [(0, 0), (radius, 0), (radius, height), (radius - wall, height), (radius - wall, wall), (0, wall)]  # fmt: skip
    angle = 2 * np.pi * np.arange(SEGMENTS) / SEGMENTS
    rings = [
        np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(SEGMENTS, z)])
        for r, z in profile[1:-1]
    ]
    vertices = np.concatenate([[[0, 0, 0]], *rings, [[0, 0, wall]]])
    here, top = np.arange(SEGMENTS), len(vertices) - 1
    there = (here + 1) % SEGMENTS
    faces = [np.column_stack([0 * here, 1 + there, 1 + here])]
    for k in range(len(rings) - 1):
        low, high = 1 + k * SEGMENTS, 1 + (k + 1) * SEGMENTS
        faces.append(np.column_stack([low + here, low + there, high + there]))
        faces.append(np.column_stack([low + here, high + there, high + here]))
    last = 1 + (len(rings) - 1) * SEGMENTS
    faces.append(np.column_stack([last + here, last + there, 0 * here + top]))
    return Surface(vertices, np.concatenate(faces))


def scene() -> str:
    surface = cup()
    vertices = " ".join(f"{x:.9g}" for x in surface.vertices.ravel())
    faces = " ".join(map(str, surface.faces.ravel()))
    return f"""
    <mujoco><compiler autolimits="true"/><default><geom friction=".5"/></default>
    <asset><mesh name="cup" inertia="exact" vertex="{vertices}" face="{faces}"/></asset><worldbody>
    <geom name="table" type="plane" size="1 1 1"/>
    <body name="cup" pos="0 0 {9e-4}"><freejoint/>
      <geom name="cup" type="mesh" mesh="cup" density="1000"/></body>
    <body name="hand" pos="0 0 .16"><joint name="lift" type="slide" axis="0 0 1"/>
     <geom type="box" size=".1 .025 .015" mass=".5" contype="0" conaffinity="0"/>
     <body pos="-.05 0 -.08"><joint name="left" type="slide" axis="1 0 0" range="-.02 .05"/>
      <geom name="left" type="box" size=".005 .01 .04" mass=".1"/></body>
     <body pos=".05 0 -.08"><joint name="right" type="slide" axis="-1 0 0" range="-.02 .05"/>
      <geom name="right" type="box" size=".005 .01 .04" mass=".1"/></body></body></worldbody>
    <actuator><position joint="lift" kp="1e5" kv="1e3"/><motor joint="left"/>
    <motor joint="right"/></actuator></mujoco>"""


def test_the_mesh_is_the_cup():
    volume = volume_integrals(cup())[0]
    polygon = SEGMENTS / 2 * np.sin(2 * np.pi / SEGMENTS)
    assert volume == pytest.approx(polygon * (0.035**2 * 0.09 - 0.034**2 * 0.089), rel=1e-9)


@pytest.mark.parametrize("force", [5.0, 500.0])
def test_cup_is_lifted_carried_and_put_down_without_intersections(force):
    def control(model, data):
        t = data.time
        height = 0.1 * (np.clip(t - 0.4, 0, 1) - np.clip(t - 1.4, 0, 1))
        squeeze = force if 0.2 < t < 2.4 else -2.0
        data.ctrl[:] = (height, squeeze, squeeze)

    integrator = asp.Midas(verify=True)
    sim = asp.Simulator(scene(), integrator=integrator, control=control, control_period=0.01)
    assert sim.advance_to(1.4).success
    assert sim.data.body("cup").xpos[2] > 0.09
    squeezing = sim.contacts
    fingers = np.any(squeezing.geom == sim.model.geom("left").id, axis=1)
    assert squeezing.normal_force[fingers].sum() == pytest.approx(force, rel=0.05)
    assert sim.advance_to(3.0).success
    assert sim.data.body("cup").xpos[2] < 0.05
    assert sim.data.body("cup").xmat[8] > 0.999
    assert np.abs(sim.data.qvel[:6]).max() < 1e-3
    assert not np.any(sim.contacts.geom == sim.model.geom("left").id)
    assert sim.clearance > 0
