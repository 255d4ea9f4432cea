"""An overhand knot is pulled tight: ``python examples/tighten_knot.py``.

A rope that cannot stretch is pulled at both ends. ``Midas`` lets no part of it through another one,
so that the knot closes and stays; a rope that could pass through itself would end as a straight
line. ``--html FILE`` writes a playback for web browsers.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp

RADIUS, COUNT, MASS = 0.004, 61, 0.05
"""Of the rope [m, kg], and its vertices."""
DURATION, STEP = 0.3, 5e-3
"""[s]"""

SCENE = """
<mujoco>
  <option integrator="discrete" gravity="0 0 0"/>
  <worldbody>
    <light pos="0 -0.5 0.6" dir="0 0.5 -1"/>
    <flexcomp name="rope" type="direct" dim="1" mass="{mass}" radius="{radius}" point="{points}"
              element="{edges}" rgba="0.9 0.8 0.3 1">
      <edge equality="true"/>
      <contact selfcollide="{touches}" friction="{friction}"/>
    </flexcomp>
  </worldbody>
</mujoco>
"""


class Outcome(NamedTuple):
    """What became of the knot."""

    open: float
    """How far the ends were apart at first, over the rope's length,"""
    tight: float
    """and when they were farthest. Nothing damps the rope, which swings on."""
    clearance: float | None
    """Smallest distance of two parts of the rope at any time [m]."""
    time: np.ndarray
    qpos: np.ndarray
    model: mujoco.MjModel


def knot() -> np.ndarray:
    """Vertices of an open overhand knot, at equal distances along it, shape (n, 3)."""
    t = np.linspace(-2.15, 2.15, 4001)
    curve = 0.04 * np.stack([t**3 - 3.0 * t, 0.5 * t**4 - 2.0 * t**2, 0.2 * t**5 - 2.0 * t], axis=1)
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1)))
    at = np.linspace(0.0, along[-1], COUNT)
    return np.stack([np.interp(at, along, axis) for axis in curve.T], axis=1)


def run(friction: float = 0.3, force: float = 10.0, *, touches: bool = True) -> Outcome:
    """Pull with a force [N]."""
    points = knot()
    model = mujoco.MjModel.from_xml_string(
        SCENE.format(
            mass=MASS,
            radius=RADIUS,
            points=" ".join(map(str, points.ravel())),
            edges=" ".join(f"{i} {i + 1}" for i in range(COUNT - 1)),
            friction=friction,
            touches="auto" if touches else "none",
        )
    )
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=STEP))
    ends = model.flex_vertbodyid[[0, -1]]
    along = (points[-1] - points[0]) / np.linalg.norm(points[-1] - points[0])
    sim.data.xfrc_applied[ends, :3] = [-force * along, force * along]
    time, qpos, apart = [0.0], [sim.data.qpos.copy()], [np.linalg.norm(points[-1] - points[0])]
    for step in range(1, round(DURATION / STEP) + 1):
        sim.advance_to(STEP * step)
        time.append(sim.data.time)
        qpos.append(sim.data.qpos.copy())
        apart.append(np.linalg.norm(sim.data.flexvert_xpos[-1] - sim.data.flexvert_xpos[0]))
    share = np.array(apart) / model.flexedge_length0.sum()
    clearance = sim.clearance if touches else None
    return Outcome(share[0], share.max(), clearance, np.array(time), np.array(qpos), model)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--friction", type=float, default=0.3)
    parser.add_argument("--force", type=float, default=10.0, help="at both ends [N]")
    parser.add_argument("--html", help="write a playback to this file")
    arguments = parser.parse_args()
    found = run(arguments.friction, arguments.force)
    through = run(arguments.friction, arguments.force, touches=False)
    print(
        f"ends from {found.open:.3f} to {found.tight:.3f} of the rope's length apart, surfaces at "
        f"least {1e6 * found.clearance:.0f} µm; {through.tight:.3f} of a rope that passes through "
        "itself"
    )
    if arguments.html:
        from asperity.media import write_web_playback

        write_web_playback(arguments.html, found.model, found.time, found.qpos)


if __name__ == "__main__":
    main()
