"""A beam lowered into a notch that is hardly wider (Midas, section IV-A): no locking, no overlap."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp

WIDTH, DEPTH = 0.05, 0.025


def notch() -> str:
    """A beam of 0.2 × 0.05 × 0.05 m with a notch in its middle, as a closed mesh."""
    half, tall = 0.1, 0.05
    outline = np.array(
        [
            (-half, 0), (half, 0), (half, tall), (WIDTH / 2, tall), (WIDTH / 2, tall - DEPTH),
            (-WIDTH / 2, tall - DEPTH), (-WIDTH / 2, tall), (-half, tall),
        ]
    )  # fmt: skip
    cap = [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4), (0, 5, 6), (0, 6, 7)]
    count = len(outline)
    vertices = np.concatenate([np.insert(outline, 1, y, axis=1) for y in (-0.025, 0.025)])
    faces = [face for a, b, c in cap for face in ((a, b, c), (count + a, count + c, count + b))]
    for i in range(count):
        j = (i + 1) % count
        faces += [(i, count + i, count + j), (i, count + j, j)]
    return (
        f'<mesh name="notch" inertia="exact" vertex="{" ".join(map(str, vertices.ravel()))}" '
        f'face="{" ".join(map(str, np.ravel(faces)))}"/>'
    )


@pytest.mark.parametrize(("clearance", "activation"), [(2e-3, 2e-4), (1e-3, 1e-4), (1e-4, 1e-5)])
def test_beam_goes_in(clearance, activation):
    """Off the middle at first, pushed against a side of the notch on its way, down to the bottom."""
    xml = f"""
    <mujoco><compiler autolimits="true"/><default><geom friction=".2"/></default>
    <asset>{notch()}</asset><worldbody>
    <geom name="notch" type="mesh" mesh="notch"/>
    <body name="beam" pos="0 0 .081"><joint name="x" type="slide" axis="1 0 0" damping="20"/>
     <joint name="z" type="slide" axis="0 0 1"/>
     <geom name="beam" type="box" size="{(WIDTH - clearance) / 2} .1 .025" density="700"/></body>
    </worldbody><actuator><position joint="z" kp="1e4" kv="200" forcerange="-100 100"/>
    <motor joint="x"/></actuator>
    </mujoco>"""
    integrator = asp.Midas(activation_distance=activation, verify=True)

    def control(model, data):
        data.ctrl[0] = -0.05 * min(max(data.time - 0.1, 0.0), 0.8)
        data.ctrl[1] = 3.0 if data.time > 0.5 else 0.0

    sim = asp.Simulator(xml, integrator=integrator, control=control, control_period=0.01)
    sim.data.qpos[0] = 0.3 * clearance
    report = sim.advance_to(1.2)
    assert report.success, report.message
    above_bottom = sim.data.body("beam").xpos[2] - 0.025 - (0.05 - DEPTH)
    assert 0 < above_bottom < 1.1 * activation
    assert clearance / 2 - activation < sim.data.qpos[0] < clearance / 2
    assert 0 < sim.clearance < activation
