"""A gripper lifts a soft cube: ``python examples/soft_grasp.py``.

Two fingers with position servos close on a cube of foam rubber, of Young's modulus 10⁵ Pa, lift it
by 10 cm and hold it. It is squeezed by the fingers, sags under its weight, and does not slip.
``--html FILE`` writes a playback for web browsers.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp

SCENE = """
<mujoco>
  <option integrator="discrete"/>
  <worldbody>
    <light pos="0 -0.3 0.6" dir="0 0.4 -1"/>
    <geom name="floor" type="plane" size="0.3 0.3 0.1" rgba="0.85 0.85 0.85 1"/>
    <body name="lift" pos="0 0 0.025" gravcomp="1">
      <inertial mass="1" pos="0 0 0" diaginertia="0.01 0.01 0.01"/>
      <joint name="lift" type="slide" axis="0 0 1"/>
      <body name="left" pos="-0.037 0 0" gravcomp="1">
        <joint name="left" type="slide" axis="1 0 0"/>
        <geom type="box" size="0.01 0.04 0.02" mass="0.2" friction="0.8"/>
      </body>
      <body name="right" pos="0.037 0 0" gravcomp="1">
        <joint name="right" type="slide" axis="1 0 0"/>
        <geom type="box" size="0.01 0.04 0.02" mass="0.2" friction="0.8"/>
      </body>
    </body>
    <flexcomp name="cube" type="grid" dim="3" count="5 5 5" spacing="0.0125 0.0125 0.0125"
              pos="0 0 0.0255" radius="0.0005" mass="0.0625" rgba="0.9 0.5 0.2 1">
      <elasticity young="1e5" poisson="0.3" damping="0.002"/>
      <contact selfcollide="none" friction="0.8"/>
    </flexcomp>
  </worldbody>
  <actuator>
    <position joint="lift" kp="2000" kv="60"/>
    <position joint="left" kp="2000" kv="60"/>
    <position joint="right" kp="2000" kv="60"/>
  </actuator>
</mujoco>
"""
DURATION = 3.0
CLOSED, LIFTED = 0.3, 1.2
"""When the fingers have closed, and when they have been lifted and are at rest [s]."""


class Outcome(NamedTuple):
    """What became of the cube."""

    width: float
    """Between the fingers [m]."""
    height: float
    """Of its centre [m]."""
    slip: float
    """How far its centre has come down in the grip while it was held [m]."""
    steps: int
    trajectory: asp.Trajectory


def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Close, then lift."""
    closing = 0.014 * min(data.time / CLOSED, 1.0)
    data.ctrl[:] = 0.1 * np.clip((data.time - 0.4) / 0.5, 0.0, 1.0), closing, -closing


def run(accuracy: float = 1e-3) -> Outcome:
    """Do the task with an accuracy [m, rad]."""
    trajectory = asp.simulate(
        mujoco.MjModel.from_xml_string(SCENE),
        (0.0, DURATION),
        integrator=asp.Cenic(accuracy=accuracy),
        control=control,
        control_period=0.02,
    )
    if not trajectory.success:
        raise asp.SimulationError(trajectory.message)
    model = trajectory.model
    data = mujoco.MjData(model)

    def pose(time: float) -> mujoco.MjData:
        data.qpos[:] = trajectory.at(time)[0][0]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_flex(model, data)
        return data

    held = [
        float(pose(t).flexvert_xpos[:, 2].mean() - data.joint("lift").qpos[0])
        for t in (LIFTED, DURATION)
    ]
    width = data.body("right").xpos[0] - data.body("left").xpos[0] - 0.02
    height = data.flexvert_xpos[:, 2].mean()
    return Outcome(
        float(width), float(height), held[0] - held[1], trajectory.stats.steps, trajectory
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accuracy", type=float, default=1e-3, help="[m, rad]")
    parser.add_argument("--html", help="write a playback to this file")
    arguments = parser.parse_args()
    found = run(arguments.accuracy)
    print(f"The cube is held {1e3 * found.height:.1f} mm above the floor:")
    print(f"  squeezed to {1e3 * found.width:.1f} mm of 50, slipped {1e6 * found.slip:.1f} µm")
    print(f"  {found.steps} steps for {DURATION} s")
    if arguments.html:
        from asperity.media import write_web_playback

        run_ = found.trajectory
        write_web_playback(arguments.html, run_.model, run_.time, run_.qpos)


if __name__ == "__main__":
    main()
