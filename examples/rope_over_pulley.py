"""Two weights on a rope over a beam: ``python examples/rope_over_pulley.py``.

A rope cannot stretch, lies over half of a round beam, and carries 1 kg on one side and more on the
other one. By Euler and Eytelwein friction holds up to e^(μπ) times the lighter weight; beyond that
the rope slides, and the ratio of its tensions is e^(μπ). ``--html FILE`` writes a playback for web
browsers.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp

RADIUS, ROPE, TAIL, COUNT = 0.1, 0.002, 0.3, 81
"""Of the beam and of the rope, and length of what hangs down on each side [m]; vertices."""
LIGHT = 1.0
"""Mass on the left [kg]."""
STARTED, DURATION = 0.1, 0.3
"""When the rope slides steadily, and the end [s]."""

SCENE = """
<mujoco>
  <worldbody>
    <light pos="0 -0.5 0.6" dir="0 0.5 -1"/>
    <geom name="beam" type="cylinder" size="{radius} 0.05" euler="90 0 0" friction="{friction}"
          rgba="0.6 0.5 0.4 1"/>
    <flexcomp name="rope" type="direct" dim="1" mass="0.004" radius="{rope}"
              point="{points}" element="{edges}" rgba="0.9 0.8 0.3 1">
      <edge equality="true"/>
      <contact selfcollide="none" friction="{friction}"/>
    </flexcomp>
    <body name="light" pos="-{side} 0 -{tail}">
      <joint name="light" type="slide" axis="0 0 1"/>
      <geom type="sphere" size="0.02" mass="{light}" contype="0" conaffinity="0"/>
    </body>
    <body name="heavy" pos="{side} 0 -{tail}">
      <joint name="heavy" type="slide" axis="0 0 1"/>
      <geom type="sphere" size="0.025" mass="{heavy}" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <equality>
    <connect body1="light" body2="rope_0" anchor="0 0 0"/>
    <connect body1="heavy" body2="rope_{last}" anchor="0 0 0"/>
  </equality>
</mujoco>
"""


class Outcome(NamedTuple):
    """What the weights did."""

    speed: float
    """Of the heavier one at the end, downwards [m/s]."""
    ratio: float
    """Of the tensions on both sides while it slid."""
    trajectory: asp.Trajectory


def scene(friction: float, heavy: float) -> mujoco.MjModel:
    """The rope at rest, in touch with the beam."""
    side = RADIUS + ROPE
    along = np.linspace(0.0, np.pi * side + 2.0 * TAIL, COUNT)
    angle = np.clip((along - TAIL) / side, 0.0, np.pi)
    down = np.maximum(np.maximum(TAIL - along, along - TAIL - np.pi * side), 0.0)
    points = np.stack([-side * np.cos(angle), 0.0 * angle, side * np.sin(angle) - down], axis=1)
    return mujoco.MjModel.from_xml_string(
        SCENE.format(
            radius=RADIUS,
            rope=ROPE,
            side=side,
            tail=TAIL,
            light=LIGHT,
            heavy=heavy,
            friction=friction,
            points=" ".join(map(str, points.ravel())),
            edges=" ".join(f"{i} {i + 1}" for i in range(COUNT - 1)),
            last=COUNT - 1,
        )
    )


def run(friction: float = 0.3, heavy: float = 3.0, time_step: float = 5e-4) -> Outcome:
    """Let go of the weights."""
    model = scene(friction, heavy)
    trajectory = asp.simulate(model, (0.0, DURATION), integrator=asp.Icf(time_step=time_step))
    if not trajectory.success:
        raise asp.SimulationError(trajectory.message)
    dofs = [model.joint(name).dofadr[0] for name in ("light", "heavy")]
    before, after = (trajectory.at(time)[1][0][dofs] for time in (STARTED, DURATION))
    rise, fall = (after - before) / (DURATION - STARTED)
    ratio = heavy * (9.81 + fall) / (LIGHT * (9.81 + rise))
    return Outcome(float(-after[1]), float(ratio), trajectory)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--friction", type=float, default=0.3)
    parser.add_argument("--heavy", type=float, default=3.0, help="mass on the right [kg]")
    parser.add_argument("--html", help="write a playback to this file")
    arguments = parser.parse_args()
    found = run(arguments.friction, arguments.heavy)
    bound = np.exp(arguments.friction * np.pi)
    print(f"{arguments.heavy:g} kg against {LIGHT:g} kg; friction holds up to {bound:.3f} times.")
    if found.speed < 5e-3:
        print("  The rope holds.")
    else:
        print(f"  The rope slides at {found.speed:.2f} m/s after {DURATION} s.")
        print(f"  Its tensions have the ratio {found.ratio:.3f}.")
    if arguments.html:
        from asperity.media import write_web_playback

        run_ = found.trajectory
        write_web_playback(arguments.html, run_.model, run_.time, run_.qpos)


if __name__ == "__main__":
    main()
