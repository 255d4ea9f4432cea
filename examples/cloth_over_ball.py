"""A cloth falls over a ball and stays there: ``python examples/cloth_over_ball.py``.

A square of 30 cm, 2 mm thick, falls on a ball that is fixed, drapes around it and hangs on it by
friction. Nothing passes through anything, neither the ball nor the cloth's own folds. ``--verify``
lets ipctk look at every state (extra ``midas``); ``--html FILE`` writes a playback for web
browsers.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp

SCENE = """
<mujoco>
  <option integrator="discrete"/>
  <worldbody>
    <light pos="0 -0.3 0.8" dir="0 0.4 -1"/>
    <geom name="floor" type="plane" size="0.4 0.4 0.1" pos="0 0 -0.1" rgba="0.85 0.85 0.85 1"/>
    <geom name="ball" type="sphere" size="0.08" pos="0 0 0.08" friction="{friction}"/>
    <flexcomp name="cloth" type="grid" dim="2" count="{count} {count} 1" mass="0.02"
              spacing="{spacing} {spacing} {spacing}" pos="0.01 0 0.17" radius="0.001"
              rgba="0.3 0.5 0.9 1">
      <elasticity young="3e4" poisson="0.3" thickness="0.001" damping="0.002" elastic2d="both"/>
      <contact friction="{friction}"/>
    </flexcomp>
  </worldbody>
</mujoco>
"""
DRAPED, DURATION = 1.5, 2.0
"""When the cloth has come to rest, and the end [s]."""


class Outcome(NamedTuple):
    """What became of the cloth."""

    height: float
    """Of its centre above the floor [m]."""
    creep: float
    """How far its centre has moved after it was draped [m]."""
    stretch: float
    """Length of its longest edge, over that at rest."""
    cost: float
    """CPU time of a step [s]."""
    trajectory: asp.Trajectory


def run(count: int = 16, friction: float = 0.5, *, verify: bool = False) -> Outcome:
    """Drop a cloth of ``count²`` vertices."""
    model = mujoco.MjModel.from_xml_string(
        SCENE.format(count=count, friction=friction, spacing=0.3 / (count - 1))
    )
    began = time.process_time()
    trajectory = asp.simulate(
        model, (0.0, DURATION), integrator=asp.Midas(time_step=0.01, verify=verify)
    )
    cost = (time.process_time() - began) / (DURATION / 0.01)
    if not trajectory.success:
        raise asp.SimulationError(trajectory.message)
    data = mujoco.MjData(model)

    def vertices(when: float) -> np.ndarray:
        data.qpos[:] = trajectory.at(when)[0][0]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_flex(model, data)
        return np.array(data.flexvert_xpos)

    flat, draped, last = (vertices(when) for when in (0.0, DRAPED, DURATION))

    def lengths(at: np.ndarray) -> np.ndarray:
        ends = at[model.flex_edge]
        return np.asarray(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1))

    return Outcome(
        float(last[:, 2].mean() + 0.1),
        float(np.linalg.norm(last.mean(axis=0) - draped.mean(axis=0))),
        float((lengths(last) / lengths(flat)).max()),
        cost,
        trajectory,
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=16, help="vertices along an edge")
    parser.add_argument("--friction", type=float, default=0.5)
    parser.add_argument("--verify", action="store_true", help="look for intersections with ipctk")
    parser.add_argument("--html", help="write a playback to this file")
    arguments = parser.parse_args()
    found = run(arguments.count, arguments.friction, verify=arguments.verify)
    print(f"The cloth's centre is {1e3 * found.height:.1f} mm above the floor.")
    print(f"  From {DRAPED} s to {DURATION} s it has moved by {1e3 * found.creep:.2f} mm.")
    print(f"  Its longest edge is stretched by {100.0 * (found.stretch - 1.0):.1f} %.")
    print(f"  A step took {1e3 * found.cost:.0f} ms of CPU time, compilation included.")
    if arguments.html:
        from asperity.media import write_web_playback

        run_ = found.trajectory
        write_web_playback(arguments.html, run_.model, run_.time, run_.qpos)


if __name__ == "__main__":
    main()
