"""A robot moves in the same way whatever another one does elsewhere."""

from __future__ import annotations

import numpy as np

import asperity as asp

_ARM = """
<body pos="{x} 0 1">
  <joint axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass="1"/>
  <body pos=".3 0 0">
    <joint axis="1 0 0"/><geom type="capsule" size=".03" fromto="0 0 0 0 .2 0" mass=".5"/>
    <body pos="0 .2 0">
      <joint axis="0 0 1"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 .2" mass=".3"/>
    </body>
  </body>
</body>
"""
MODEL = "<mujoco><worldbody>" + _ARM.format(x=0) + _ARM.format(x=3) + "</worldbody></mujoco>"


def _first_arm(spin: float) -> np.ndarray:
    """Positions and velocities of the first arm while the second one spins so fast [rad/s]."""
    sim = asp.Simulator(MODEL, integrator=asp.Icf(time_step=5e-3))
    sim.data.qvel[:3] = 1.0, -2.0, 1.5
    sim.data.qvel[5] = spin
    out = []
    for _ in range(40):
        assert sim.step().success
        out.append(np.concatenate([sim.data.qpos[:3], sim.data.qvel[:3]]))
    return np.array(out)


def test_what_spins_elsewhere_changes_nothing() -> None:
    assert np.array_equal(_first_arm(0.0), _first_arm(60.0))
