"""An existing MuJoCo script, with one line changed: ``python examples/drop_in.py``.

Two fingers press 10 N each on a box of 0.8 kg; friction (0.5) could carry 10 N, and has to carry
7.8 N, so that the box stays. The loop is the same for both engines, and so are model, data,
actuators and the sensor. MuJoCo holds the box, too, with settings that somebody has to know.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import mujoco

import asperity as asp

SCENE = """
<mujoco>
  <option timestep="0.002" {option}/>
  <default><geom friction="0.5"/></default>
  <worldbody>
    <body name="left" pos="-0.06 0 0"><joint name="left" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.01 0.02 0.02" mass="0.1"/></body>
    <body name="right" pos="0.06 0 0"><joint name="right" type="slide" axis="-1 0 0"/>
      <geom type="box" size="0.01 0.02 0.02" mass="0.1"/></body>
    <body name="box"><freejoint/>
      <geom type="box" size="0.05 0.05 0.05" mass="0.8"/></body>
  </worldbody>
  <actuator>
    <motor joint="left"/><motor joint="right"/>
  </actuator>
  <sensor><framepos name="box" objtype="body" objname="box"/></sensor>
</mujoco>
"""


CAREFUL = 'cone="elliptic" impratio="100"'


def sink(
    step: Callable[[mujoco.MjModel, mujoco.MjData], object],
    option: str = "",
    duration: float = 5.0,
) -> float:
    """How far the box sinks in the grip [m], with a function that steps as ``mj_step`` does."""
    model = mujoco.MjModel.from_xml_string(SCENE.format(option=option))
    data = mujoco.MjData(model)
    data.ctrl[:] = 10.0
    while data.time < duration:
        step(model, data)
    return -float(data.sensor("box").data[2])


def main() -> None:
    """Run from the command line."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    print("The box sinks in 5 s by")
    print(f"{1e3 * sink(mujoco.mj_step):9.2f} mm  mujoco.mj_step")
    print(f"{1e3 * sink(mujoco.mj_step, CAREFUL):9.2f} mm  mujoco.mj_step with {CAREFUL}")
    print(f"{1e3 * sink(asp.step):9.2f} mm  asperity.step")


if __name__ == "__main__":
    main()
