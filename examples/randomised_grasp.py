"""A grasp in many worlds: friction, stiffness and mass differ, and Coulomb says who holds.

Two fingers press a box from both sides with a known force F, and the box hangs between them. It
holds where the friction of both contacts carries its weight, 2 μ F ≥ m g, whatever the stiffness.
"""

from __future__ import annotations

import argparse

import numpy as np

import asperity as asp

FORCE = 10.0  # of each finger [N]
GRAVITY = 9.81
MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body name="left" pos="-0.06 0 0.5">
      <joint name="left" type="slide" axis="1 0 0" damping="20"/>
      <geom name="left" type="box" size="0.01 0.02 0.02" mass="0.1"/>
    </body>
    <body name="right" pos="0.06 0 0.5">
      <joint name="right" type="slide" axis="-1 0 0" damping="20"/>
      <geom name="right" type="box" size="0.01 0.02 0.02" mass="0.1"/>
    </body>
    <body name="box" pos="0 0 0.5">
      <freejoint/><geom name="box" type="box" size="0.05 0.05 0.05" mass="1"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="left" joint="left"/>
    <motor name="right" joint="right"/>
  </actuator>
</mujoco>
"""


def grasp(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """How far boxes have slid down after half a second [m], and what 2 μ F / (m g) is.

    Parameters
    ----------
    count : int
        Number of worlds.
    seed : int
    """
    random = np.random.default_rng(seed)
    batch = asp.Batch(MODEL, count, integrator=asp.Icf(time_step=2e-3))
    friction = random.uniform(0.2, 1.0, count)
    mass = random.uniform(0.5, 1.5, count)
    batch.vary("contact.friction")[:] = friction
    batch.vary("contact.stiffness")[:] = 10.0 ** random.uniform(4.0, 6.0, count)
    box = batch.model.body("box").id
    batch.vary("body_mass")[:, box] = mass
    batch.vary("body_inertia")[:, box] *= mass[:, None]
    gravity = batch.vary("opt.gravity")
    gravity[:] = 0.0  # until the fingers have closed
    batch.ctrl = FORCE
    batch.advance(0.3)
    gravity[:, 2] = -GRAVITY
    height = batch.qpos[:, -5].copy()
    failed = batch.advance(0.5)
    assert not failed.any(), failed
    return height - batch.qpos[:, -5], 2.0 * friction * FORCE / (mass * GRAVITY)


def main() -> None:
    """Print how many worlds do as Coulomb says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=256)
    slid, margin = grasp(parser.parse_args().worlds)
    holds = slid < 1e-3
    print(f"{holds.sum()} of {len(slid)} boxes are held; Coulomb says {(margin >= 1.0).sum()}")
    print(f"the weakest that holds has 2 μ F = {margin[holds].min():.3f} m g,")
    print(f"the strongest that slides      {margin[~holds].max():.3f} m g")
    print(f"held boxes creep {1e6 * np.median(slid[holds]):.2g} µm in half a second")


if __name__ == "__main__":
    main()
