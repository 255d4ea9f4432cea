"""A gripper picks up a cube and stands it on another one: ``python examples/pick_and_place.py``.

The grip is 10 N on each side of 0.2 kg. The program reports how far the cube slipped in the grip
and where it stands. ``--html FILE`` writes a playback for web browsers (extra ``viz``).
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp

SCENE = """
<mujoco model="pick and place">
  <option timestep="0.01"/>
  <default><geom friction="0.6"/><joint damping="1"/></default>
  <worldbody>
    <light pos="0 -1 2" dir="0 1 -2"/>
    <geom name="table" type="plane" size="0.6 0.6 0.1" rgba="0.8 0.7 0.6 1"/>
    <body name="base" pos="0.2 0 0.025"><freejoint/>
      <geom type="box" size="0.025 0.025 0.025" mass="0.4" rgba="0.3 0.4 0.7 1"/></body>
    <body name="cube" pos="-0.1 0 0.025"><freejoint/>
      <geom type="box" size="0.025 0.025 0.025" mass="0.2" rgba="0.8 0.3 0.2 1"/></body>
    <body name="hand" pos="-0.1 0 0.18">
      <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
      <geom type="box" size="0.06 0.02 0.02" mass="0.5" contype="0" conaffinity="0"/>
      <body name="left" pos="-0.05 0 -0.05"><joint name="left" type="slide" axis="1 0 0"/>
        <geom type="box" size="0.005 0.015 0.03" mass="0.05"/></body>
      <body name="right" pos="0.05 0 -0.05"><joint name="right" type="slide" axis="-1 0 0"/>
        <geom type="box" size="0.005 0.015 0.03" mass="0.05"/></body>
    </body>
  </worldbody>
  <actuator>
    <position joint="x" kp="2000" kv="100"/><position joint="z" kp="4000" kv="150"/>
    <position joint="left" kp="1000" kv="20"/><position joint="right" kp="1000" kv="20"/>
  </actuator>
</mujoco>
"""

# Time [s], x and z of the hand [m], closing of each finger [m]. Servos of 1000 N/m press with
# 10 N where they are told to close by 10 mm more than the cube lets them.
PLAN = np.array(
    [
        (0.0, 0.0, 0.0, 0.0),
        (0.5, 0.0, -0.1, 0.0),
        (0.8, 0.0, -0.1, 0.03),
        (1.3, 0.0, 0.0, 0.03),
        (2.1, 0.3, 0.0, 0.03),
        (2.6, 0.3, -0.0485, 0.03),
        (2.8, 0.3, -0.0485, 0.0),
        (3.3, 0.3, 0.05, 0.0),
    ]
)
DURATION = 3.6


class Outcome(NamedTuple):
    """What became of the cube."""

    offset: float
    """Of its middle from the other cube's, sideways [m]."""
    height: float
    """Above the other cube's, less an edge [m]."""
    slip: float
    """How far it slid down in the grip while it was carried [m]."""
    steps: int
    trajectory: asp.Trajectory


def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Follow the plan, with smooth moves between its rows."""
    i = min(int(np.searchsorted(PLAN[:, 0], data.time, side="right")), len(PLAN) - 1)
    begin, end = PLAN[i - 1], PLAN[i]
    s = np.clip((data.time - begin[0]) / (end[0] - begin[0]), 0.0, 1.0)
    x, z, closing = begin[1:] + s * s * (3.0 - 2.0 * s) * (end[1:] - begin[1:])
    data.ctrl[:] = x, z, closing, closing


def run(accuracy: float = 1e-3) -> Outcome:
    """Do the task with an accuracy [m, rad]."""
    model, _ = asp.load_model(SCENE)
    trajectory = asp.simulate(
        model,
        (0.0, DURATION),
        integrator=asp.Cenic(accuracy=accuracy),
        control=control,
        control_period=0.02,
    )
    data = mujoco.MjData(model)

    def place(body: str, time: float) -> np.ndarray:
        data.qpos[:] = trajectory.at(time)[0][0]
        mujoco.mj_kinematics(model, data)
        return data.body(body).xpos.copy()

    held = [place("cube", t)[2] - place("left", t)[2] for t in (1.3, 2.5)]
    gap = place("cube", DURATION) - place("base", DURATION)
    return Outcome(
        float(np.hypot(*gap[:2])),
        float(gap[2] - 0.05),
        float(held[0] - held[1]),
        trajectory.stats.steps,
        trajectory,
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accuracy", type=float, default=1e-3, help="[m, rad]")
    parser.add_argument("--html", help="write a playback to this file")
    arguments = parser.parse_args()
    found = run(arguments.accuracy)
    stands = found.offset < 0.01 and abs(found.height) < 1e-3
    print(f"The cube {'stands on the other one' if stands else 'is not where it should be'}:")
    print(f"  {1e3 * found.offset:.2f} mm beside its middle, slipped {1e6 * found.slip:.1f} µm")
    print(f"  {found.steps} steps for {DURATION} s")
    if arguments.html:
        from asperity.media import write_web_playback

        run_ = found.trajectory
        write_web_playback(arguments.html, run_.model, run_.time, run_.qpos)


if __name__ == "__main__":
    main()
