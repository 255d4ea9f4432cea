"""What rolls or slides over curved geoms keeps its contact in steps that its curvature allows."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from studies.benchmarks.verification.curves import CAM_SPEED, LIFT, cam

GRAVITY, RADIUS = 9.81, 0.55


def test_a_plate_stays_on_its_cam() -> None:
    """Its acceleration of 2.25 m/s² is below gravity's, and load changes the overlap by 2 µm."""
    contact = asp.ContactParameters(stiffness=1e6, friction=0.1)
    cenic = asp.Cenic(accuracy=1e-3)
    speed = [-CAM_SPEED, LIFT * CAM_SPEED]
    run = asp.simulate(cam().model(), (0.0, 2.0), integrator=cenic, contact=contact, qvel=speed)
    assert run.success
    held = LIFT * np.sin(-run.qpos[:, 0])
    assert np.max(np.abs(run.qpos[:, 1] - held)) < 5e-5


@pytest.mark.parametrize("accuracy", [1e-3, 1e-4])
def test_what_slides_off_a_ball_loses_no_energy_on_it(accuracy: float) -> None:
    """Without friction, up to where it has a quarter of its weight left to press with."""
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom size=".5"/>
      <body><freejoint/><geom size=".05" mass="1"/></body></worldbody></mujoco>""")
    run = asp.simulate(
        model,
        (0.0, 0.46),
        integrator=asp.Cenic(accuracy=accuracy),
        contact=asp.ContactParameters(stiffness=1e6, friction=0.0),
        qpos=[RADIUS * np.sin(0.2), 0.0, RADIUS * np.cos(0.2), 1.0, 0.0, 0.0, 0.0],
    )
    assert run.success
    potential = GRAVITY * (run.qpos[0, 2] - run.qpos[:, 2])
    assert np.max(np.abs(potential - 0.5 * np.sum(run.qvel**2, axis=1))) < 1e-3  # of 1 J
    assert np.max(np.abs(np.hypot(run.qpos[:, 0], run.qpos[:, 2]) - RADIUS)) < 5e-5
