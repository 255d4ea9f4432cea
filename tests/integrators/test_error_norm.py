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


def _attempts(model: mujoco.MjModel, weight: float, until: float) -> int:
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3, velocity_weight=weight))
    sim.data.qvel[:] = 1.0
    assert sim.advance_to(until).success
    return sim.stats.steps + sim.stats.rejections


def test_velocities_count_of_what_moves_smoothly() -> None:
    pendulum = mujoco.MjModel.from_xml_string("""<mujoco><worldbody>
      <body><joint axis="0 1 0"/><geom size=".1" pos="1 0 0"/></body></worldbody></mujoco>""")
    assert _attempts(pendulum, 40.0, 1.0) > 1.5 * _attempts(pendulum, 0.0, 1.0)
    # A body without friction or rebound is not smooth in its single event, which its position
    # shows.
    drop = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom type="plane" size="1 1 1"/>
      <body pos="0 0 .2"><joint type="slide" axis="0 0 1"/><geom size=".1"/></body>
      </worldbody></mujoco>""")
    assert _attempts(drop, 4.0, 0.4) <= 1.1 * _attempts(drop, 0.0, 0.4)


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
