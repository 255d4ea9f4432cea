"""Fixed steps leave no body deep in the ground that they have carried there.

The contact law lets bodies part at 1/d at most, and a step finds a contact only when bodies
overlap: without a correction a fast one stays in the ground for as long as its depth times d.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.integrators.integrator import Integrator

STEP = 0.01
# Shapes, and how far they reach below their middle.
SHAPES = {
    "ball": ('size=".08"', 0.08),
    "box": ('type="box" size=".1 .07 .05"', 0.05),
    "capsule": ('type="capsule" size=".05 .1" euler="90 0 0"', 0.05),
}


@pytest.mark.parametrize("height", [0.9, 1.5, 2.2, 4.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "integrator",
    [asp.Icf(time_step=STEP), asp.Tamsi(time_step=STEP)],
    ids=lambda integrator: type(integrator).__name__,
)
def test_what_falls_lies_on_the_ground_a_step_after_its_impact(
    integrator: Integrator, shape: str, height: float
) -> None:
    """With the default dissipation, 10 s/m, 3 cm would take 0.3 s."""
    geom, below = SHAPES[shape]
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><geom type="plane" size="9 9 1"/>
        <body pos="0 0 {height + below}"><freejoint/><geom {geom} density="800"/></body>
        </worldbody></mujoco>"""
    )
    simulator = asp.Simulator(model, integrator=integrator)
    simulator.data.qvel[0] = 0.3
    heights = []
    for k in range(1, 130):
        simulator.advance_to(STEP * k)
        heights.append(simulator.data.qpos[2] - below)
    first = int(np.argmax(np.array(heights) < 0.0))
    assert min(heights[first + 1 :]) > -2e-3
    # It hardly rebounds.
    assert max(heights[first + 1 :]) < 5e-3
    assert heights[-1] == pytest.approx(0.0, abs=5e-4)
