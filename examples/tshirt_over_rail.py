"""A T-shirt falls over a rail and hangs there: ``python examples/tshirt_over_rail.py``.

Front and back are sewn together along the sides, the sleeves and the shoulders; hem, sleeves and
neck are open. The shirt lies flat in the air, falls on a rail, folds over it and stays by friction.
``Midas`` keeps front, back, folds and rail apart. ``--html FILE`` writes a playback for web
browsers.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp

CELL, GAP, RADIUS = 0.035, 0.01, 0.001
"""Of the mesh, half of what front and back are apart, and half of the thickness [m]."""
ROWS, SHOULDER = 14, 10
"""Rows of cells, and that where sleeves begin."""
COLUMNS, SLEEVE, NECK = 18, 4, 6
"""Columns of cells, those of a sleeve, and those of the neck."""
MASS, DRAPED, DURATION, STEP = 0.15, 1.5, 2.0, 0.01
"""[kg, s]; when the shirt has come to rest, and the end."""

SCENE = """
<mujoco>
  <option integrator="discrete"/>
  <worldbody>
    <light pos="0 -0.5 1.2" dir="0 0.4 -1"/>
    <geom name="rail" type="capsule" size="0.02" fromto="-0.5 0 0.5 0.5 0 0.5"
          friction="{friction}" rgba="0.6 0.5 0.4 1"/>
    <flexcomp name="shirt" type="direct" dim="2" mass="{mass}" radius="{radius}" point="{points}"
              element="{faces}" rgba="0.3 0.5 0.9 1">
      <elasticity young="2e5" poisson="0.3" thickness="0.0005" damping="0.005" elastic2d="both"/>
      <contact selfcollide="auto" friction="{friction}"/>
    </flexcomp>
  </worldbody>
</mujoco>
"""


class Outcome(NamedTuple):
    """What became of the shirt."""

    lengths: tuple[float, float]
    """How far it hangs down on both sides of the rail [m]."""
    creep: float
    """How far what lies on the rail has moved after it was draped [m]; below the shirt swings."""
    clearance: float
    """Smallest distance of surfaces at any time [m]."""
    trajectory: tuple[mujoco.MjModel, np.ndarray, np.ndarray]


def shirt() -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m] and triangles of a shirt that lies flat."""
    column, row = np.meshgrid(np.arange(COLUMNS), np.arange(ROWS), indexing="ij")
    body = (column >= SLEEVE) & (column < COLUMNS - SLEEVE)
    cells = np.argwhere(body | (row >= SHOULDER))
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    used = np.unique((cells[:, None] + corners).reshape(-1, 2), axis=0)
    i, j = used.T
    # Four cells meet at a vertex inside.
    around = {(int(a), int(b)) for a, b in cells}
    inside = np.array([all((a - x, b - y) in around for x, y in corners) for a, b in used])
    neck = (j == ROWS) & (np.abs(i - COLUMNS / 2) < NECK / 2)
    hem = (j == 0) & (i > SLEEVE) & (i < COLUMNS - SLEEVE)
    cuffs = ((i == 0) | (i == COLUMNS)) & (j > SHOULDER) & (j < ROWS)
    apart = inside | neck | hem | cuffs
    flat = CELL * (used - [COLUMNS / 2, ROWS / 2])
    front = np.column_stack([flat, GAP * apart])
    points = np.concatenate([front, front[apart] * [1.0, 1.0, -1.0]])
    sides = np.zeros((2, COLUMNS + 1, ROWS + 1), np.int64)
    sides[:, i, j] = np.arange(len(used))
    sides[1, i[apart], j[apart]] = len(used) + np.arange(int(apart.sum()))
    faces = []
    for a, b in cells:
        for side in sides:
            w, x, y, z = (int(side[a + di, b + dj]) for di, dj in corners)
            even = (a + b) % 2 == 0
            faces += [(w, x, y), (w, y, z)] if even else [(w, x, z), (x, y, z)]
    return points, np.array(faces)


def run(friction: float = 0.5) -> Outcome:
    """Drop the shirt."""
    points, faces = shirt()
    points[:, 2] += 0.54
    model = mujoco.MjModel.from_xml_string(
        SCENE.format(
            friction=friction,
            mass=MASS,
            radius=RADIUS,
            points=" ".join(f"{x:.6g}" for x in points.ravel()),
            faces=" ".join(map(str, faces.ravel())),
        )
    )
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=STEP))
    time, qpos = [0.0], [sim.data.qpos.copy()]
    for step in range(1, round(DURATION / STEP) + 1):
        sim.advance_to(STEP * step)
        time.append(sim.data.time)
        qpos.append(sim.data.qpos.copy())
        if step == round(DRAPED / STEP):
            draped = np.array(sim.data.flexvert_xpos)
    x = np.array(sim.data.flexvert_xpos)
    lying = draped[:, 2] > 0.5
    moves = (x - draped)[lying] if np.any(lying) else np.full((1, 3), np.inf)
    lengths = tuple(0.5 - float(x[side, 2].min()) for side in (x[:, 1] < 0.0, x[:, 1] > 0.0))
    assert sim.clearance is not None
    return Outcome(
        (lengths[0], lengths[1]),
        float(np.linalg.norm(moves.mean(axis=0))),
        sim.clearance,
        (model, np.array(time), np.array(qpos)),
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--friction", type=float, default=0.5)
    parser.add_argument("--html", help="write a playback to this file")
    arguments = parser.parse_args()
    found = run(arguments.friction)
    low, high = (1e2 * length for length in found.lengths)
    print(
        f"hangs {low:.1f} and {high:.1f} cm down from the rail, crept {1e3 * found.creep:.1f} mm"
        f" in {DURATION - DRAPED:g} s; surfaces were at least {1e6 * found.clearance:.0f} µm apart"
    )
    if arguments.html:
        from asperity.media import write_web_playback

        write_web_playback(arguments.html, *found.trajectory)


if __name__ == "__main__":
    main()
