"""A flag hangs from a bar in the wind: ``python examples/flag_in_wind.py``.

Air presses on each triangle across it, by ½ ρ c (w · n)² with its velocity w relative to the cloth.
Where the flag comes to rest it is at an angle θ from the vertical everywhere, by which weight and
pressure balance: m g sin θ = ½ ρ c v² cos² θ, with its mass m per area. From 2 m/s on it flutters
about that. ``--html FILE`` writes a playback for web browsers.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.optimize import brentq

import asperity as asp

SIZE, COUNT, DENSITY = 0.4, 9, 0.12
"""Of the flag [m], its vertices along a side, and its mass per area [kg/m²]."""
AIR, DRAG = 1.2, 1.2
"""Density [kg/m³], and the coefficient c."""
DURATION, PERIOD = 4.0, 0.01
"""The end, and how often the forces of the air are renewed [s]."""

SCENE = """
<mujoco>
  <option integrator="discrete"/>
  <worldbody>
    <light pos="0 -0.5 1" dir="0 0.5 -1"/>
    <geom type="capsule" size="0.005" fromto="0 -0.22 {size} 0 0.22 {size}" contype="0"
          conaffinity="0"/>
    <flexcomp name="flag" type="grid" dim="2" count="{count} {count} 1" mass="1" radius="5e-4"
              spacing="{spacing} {spacing} {spacing}" pos="0 0 {middle}" euler="0 90 0"
              rgba="0.8 0.3 0.2 1">
      <pin gridrange="0 0 0 {last}"/>
      <elasticity young="2e5" poisson="0.3" thickness="3e-4" damping="1e-3" elastic2d="both"/>
      <contact selfcollide="none"/>
    </flexcomp>
  </worldbody>
</mujoco>
"""


class Outcome(NamedTuple):
    """How the flag hangs."""

    angle: float
    """Between the vertical and the line from the bar to the lower border's middle [rad],"""
    expected: float
    """and that of the balance of forces."""
    trajectory: asp.Trajectory


def scene() -> tuple[mujoco.MjModel, np.ndarray]:
    """The flag, whose vertices have the masses of their parts, and its triangles."""
    model = mujoco.MjModel.from_xml_string(
        SCENE.format(
            size=SIZE, middle=0.5 * SIZE, count=COUNT, spacing=SIZE / (COUNT - 1), last=COUNT - 1
        )
    )
    faces = model.flex_elem.reshape(-1, 3)
    area = np.bincount(faces.ravel(), minlength=model.nflexvert) / 3.0
    area *= 0.5 * (SIZE / (COUNT - 1)) ** 2
    moves = model.body_dofnum[model.flex_vertbodyid] == 3
    model.body_mass[model.flex_vertbodyid[moves]] = DENSITY * area[moves]
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model, faces


def run(wind: float = 1.5, accuracy: float = 1e-3) -> Outcome:
    """Let the wind blow at a speed [m/s]."""
    model, faces = scene()
    body = model.flex_vertbodyid
    dofs = np.where(model.body_dofnum[body] == 3, model.body_dofadr[body], -1)
    moves = dofs >= 0
    own = dofs[moves][:, None] + np.arange(3)
    turn = np.zeros((3, 3))

    def blow(_: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Forces of the air on the vertices, a third of those on their triangles."""
        x, velocity = data.flexvert_xpos, np.zeros((model.nflexvert, 3))
        turn[:] = data.xmat[model.body_parentid[body[moves][0]]].reshape(3, 3)
        velocity[moves] = data.qvel[own] @ turn.T
        a, b, c = (x[faces[:, k]] for k in range(3))
        normal = 0.5 * np.cross(b - a, c - a)
        area = np.linalg.norm(normal, axis=1)
        across = np.einsum("fi,fi->f", [wind, 0, 0] - velocity[faces].mean(axis=1), normal) / area
        pressure = 0.5 * AIR * DRAG * across * np.abs(across)
        force = np.zeros((model.nflexvert, 3))
        np.add.at(force, faces, (pressure[:, None] * normal / 3.0)[:, None])
        data.qfrc_applied[own] = force[moves] @ turn

    trajectory = asp.simulate(
        model,
        (0.0, DURATION),
        integrator=asp.Cenic(accuracy=accuracy),
        control=blow,
        control_period=PERIOD,
    )
    data = mujoco.MjData(model)
    data.qpos[:] = trajectory.qpos[-1]
    for update in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_flex):
        update(model, data)
    down = data.flexvert_xpos[np.argsort(data.flexvert_xpos[:, 2])[:COUNT]].mean(axis=0)
    expected = brentq(
        lambda angle: (
            DENSITY * 9.81 * np.sin(angle) - 0.5 * AIR * DRAG * (wind * np.cos(angle)) ** 2
        ),
        0.0,
        0.5 * np.pi,
    )
    return Outcome(float(np.arctan2(down[0], SIZE - down[2])), float(expected), trajectory)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wind", type=float, default=1.5, help="[m/s]")
    parser.add_argument("--html", help="write a playback to this file")
    arguments = parser.parse_args()
    found = run(arguments.wind)
    print(
        f"{np.degrees(found.angle):.1f}° from the vertical, where weight and pressure balance at "
        f"{np.degrees(found.expected):.1f}°"
    )
    if arguments.html:
        from asperity.media import write_web_playback

        run_ = found.trajectory
        write_web_playback(arguments.html, run_.model, run_.time, run_.qpos)


if __name__ == "__main__":
    main()
