"""What error control bounds: errors of positions, and of velocities as far as they are weighted."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from studies.benchmarks.accuracy_scenes import HOLD_PERIOD, SCENES

# A millimetre of slip in the hand is visible; ten times less is not.
VISIBLE_SLIP = 1e-3


def test_a_constant_force_makes_no_error_of_velocity() -> None:
    # Full and half steps then end with the same velocity, so no weight can change a step.
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
    )
    runs = [
        asp.simulate(model, (0.0, 1.0), integrator=asp.Cenic(accuracy=1e-3, velocity_weight=weight))
        for weight in (0.0, 1e6)
    ]
    assert runs[0].success
    assert np.array_equal(runs[0].time, runs[1].time)


def test_an_impact_makes_an_error_of_velocity_that_a_weight_sees() -> None:
    scene = SCENES["peg"]
    model = mujoco.MjModel.from_xml_string(scene.xml)
    attempts = []
    for weight in (0.0, 10.0):
        sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3, velocity_weight=weight))
        assert sim.advance_to(0.5).success
        attempts.append(sim.stats.steps + sim.stats.rejections)
    assert attempts[1] > attempts[0]


@pytest.mark.parametrize("accuracy", [1e-1, 1e-2, 1e-3])
def test_a_shaken_gripper_keeps_its_mug_when_commands_are_held(accuracy: float) -> None:
    scene = SCENES["mug"]
    model = mujoco.MjModel.from_xml_string(scene.xml)

    def control(_: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[:] = scene.drive(data.time)

    sim = asp.Simulator(
        model,
        integrator=asp.Cenic(accuracy=accuracy),
        control=control,
        control_period=HOLD_PERIOD,
    )
    sim.data.qvel[:] = scene.qvel(model)
    mug, lift = (int(model.joint(name).qposadr[0]) for name in ("mug", "lift"))
    assert sim.advance_to(5.0).success
    slip = sim.data.qpos[mug + 2] - sim.data.qpos[lift]
    assert abs(slip) < 0.1 * VISIBLE_SLIP
