"""Two arms route a cable through three clips: ``python examples/route_cable.py``.

Both hold an end of a cable that bends and does not stretch. They lower it into two clips, and then
the right arm leads its end around a corner into the third one, while the left arm lets out what
that takes. ``--html FILE`` writes a playback for web browsers.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp

RADIUS, LENGTH, EDGES = 0.004, 0.48, 32
"""Of the cable [m], and its edges."""
CLIPS = ((-0.12, 0.0, 0.0, 0.035), (0.04, 0.0, 0.0, 0.035), (0.13, 0.11, 0.5 * np.pi, 0.02))
"""Where clips are [m], the direction of what they hold [rad], and the height of their posts [m]."""
POST, SLACK = 0.004, 0.0015
"""Radius of a post, and what it leaves to the cable on each side [m]."""
MOTION = (
    # time, left arm x, y, z, turn, right arm x, y, z, turn
    (0.0, -0.26, 0.0, 0.06, 0.0, 0.22, 0.0, 0.06, 0.0),
    (1.0, -0.26, 0.0, 0.01, 0.0, 0.22, 0.0, 0.01, 0.0),
    (1.5, -0.25, 0.0, 0.01, 0.0, 0.21, 0.0, 0.05, 0.0),
    (3.0, -0.20, 0.0, 0.01, 0.0, 0.13, 0.20, 0.05, 0.5 * np.pi),
    (4.0, -0.20, 0.0, 0.01, 0.0, 0.13, 0.20, 0.01, 0.5 * np.pi),
    (4.5, -0.20, 0.0, 0.01, 0.0, 0.13, 0.20, 0.01, 0.5 * np.pi),
)
"""[s, m, rad]"""

SCENE = """
<mujoco>
  <option integrator="discrete"/>
  <worldbody>
    <light pos="0 -0.3 0.8" dir="0 0.4 -1"/>
    <geom name="board" type="plane" size="0.4 0.4 0.1" friction="0.2" rgba="0.85 0.85 0.85 1"/>
    {posts}
    <flexcomp name="cable" type="direct" dim="1" mass="0.03" radius="{radius}" point="{points}"
              element="{edges}" rgba="0.2 0.2 0.2 1">
      <elasticity young="5e7" poisson="0.3" damping="5e-3"/>
      <edge equality="true"/>
      <contact selfcollide="none" friction="0.2"/>
    </flexcomp>
    {arms}
  </worldbody>
  <equality>{grips}</equality>
  <actuator>{motors}</actuator>
</mujoco>
"""
ARM = """
<body name="{name}" pos="{x} 0 0">
  <joint name="{name}_x" type="slide" axis="1 0 0"/>
  <joint name="{name}_y" type="slide" axis="0 1 0"/>
  <joint name="{name}_z" type="slide"/>
  <joint name="{name}_turn" axis="0 0 1"/>
  <geom type="box" size="0.012 0.008 0.012" pos="0 0 0.076" mass="0.5" contype="0"
        conaffinity="0"/>
</body>
"""


class Outcome(NamedTuple):
    """Where the cable is."""

    aside: np.ndarray
    """How far it is from the middle of each clip, at most `SLACK` inside [m],"""
    under: np.ndarray
    """and from the top of its posts [m]."""
    trajectory: asp.Trajectory


def scene() -> mujoco.MjModel:
    """The cable in the hands of the arms, above the board."""
    start = np.array(MOTION[0][1:]).reshape(2, 4)
    along = np.linspace(-0.5 * LENGTH, 0.5 * LENGTH, EDGES + 1) + start[:, 0].mean()
    points = np.stack([along, 0.0 * along, np.full(EDGES + 1, start[0, 2])], axis=1)
    posts = ""
    for x, y, turn, height in CLIPS:
        for side in (-1.0, 1.0):
            apart = side * (RADIUS + SLACK + POST)
            at = x - apart * np.sin(turn), y + apart * np.cos(turn)
            posts += (
                f'<geom type="capsule" size="{POST}" friction="0.2" rgba="0.3 0.5 0.9 1"'
                f' fromto="{at[0]} {at[1]} 0 {at[0]} {at[1]} {height}"/>'
            )
    arms, grips, motors = "", "", ""
    for name, ends in (("left", (0, 1)), ("right", (EDGES, EDGES - 1))):
        arms += ARM.format(name=name, x=along[ends[0]])
        for end in ends:
            offset = along[end] - along[ends[0]]
            grips += (
                f'<connect body1="{name}" body2="cable_{end}" anchor="{offset} 0 {start[0, 2]}"/>'
            )
        for joint in ("x", "y", "z"):
            motors += f'<position joint="{name}_{joint}" kp="2000" kv="80"/>'
        motors += f'<position joint="{name}_turn" kp="20" kv="0.8"/>'
    return mujoco.MjModel.from_xml_string(
        SCENE.format(
            posts=posts,
            arms=arms,
            grips=grips,
            motors=motors,
            radius=RADIUS,
            points=" ".join(f"{x:.9g}" for x in points.ravel()),
            edges=" ".join(f"{i} {i + 1}" for i in range(EDGES)),
        )
    )


def run(time_step: float = 2e-3) -> Outcome:
    """Route the cable."""
    model = scene()
    motion = np.array(MOTION)
    motion[:, 1:] -= motion[0, 1:]

    def follow(_: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[:] = [np.interp(data.time, motion[:, 0], path) for path in motion[:, 1:].T]

    trajectory = asp.simulate(
        model,
        (0.0, MOTION[-1][0]),
        integrator=asp.Icf(time_step=time_step),
        control=follow,
        control_period=0.01,
    )
    data = mujoco.MjData(model)
    data.qpos[:] = trajectory.qpos[-1]
    for update in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_flex):
        update(model, data)
    aside, under = [], []
    for x, y, turn, height in CLIPS:
        to = data.flexvert_xpos - [x, y, 0.0]
        ahead = to[:, 0] * np.cos(turn) + to[:, 1] * np.sin(turn)
        side = to[:, 1] * np.cos(turn) - to[:, 0] * np.sin(turn)
        # Of crossings of the clip's plane the nearest one.
        cross = np.flatnonzero(ahead[:-1] * ahead[1:] <= 0.0)
        share = ahead[cross] / (ahead[cross] - ahead[cross + 1])
        at = side[cross] + share * (side[cross + 1] - side[cross])
        nearest = int(np.argmin(np.abs(at)))
        edge = cross[nearest]
        rise = to[edge, 2] + share[nearest] * (to[edge + 1, 2] - to[edge, 2])
        aside.append(abs(at[nearest]))
        under.append(height - rise)
    return Outcome(np.array(aside), np.array(under), trajectory)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--html", help="write a playback to this file")
    arguments = parser.parse_args()
    found = run()
    inside = (found.aside < SLACK + 1e-3) & (found.under > 0.0)
    print(
        f"in {int(inside.sum())} of {len(CLIPS)} clips,"
        f" {', '.join(f'{1e3 * x:.1f}' for x in found.aside)} mm beside their middles and"
        f" {', '.join(f'{1e3 * x:.0f}' for x in found.under)} mm below their tops"
    )
    if arguments.html:
        from asperity.media import write_web_playback

        run_ = found.trajectory
        write_web_playback(arguments.html, run_.model, run_.time, run_.qpos)


if __name__ == "__main__":
    main()
