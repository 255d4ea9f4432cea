"""Geoms that pass through one another between two samples are never left out as too far apart."""

from __future__ import annotations

import mujoco
import numpy as np

import asperity as asp
from asperity.plant.sweep import _goes_through, _stays_far, find_motion

MODEL = """
<mujoco><worldbody>
  <geom type='plane' size='5 5 1'/>
  <body><freejoint/><geom size='0.1' pos='0.3 0 0'/></body>
  <body><freejoint/><geom type='box' size='0.5 0.02 0.3'/></body>
  <body><freejoint/><geom type='capsule' size='0.03 0.4' euler='20 30 0'/></body>
  <body><freejoint/><geom type='ellipsoid' size='0.2 0.05 0.1' pos='0 0.2 0.1'/></body>
  <body><freejoint/><geom type='cylinder' size='0.1 0.3'/></body>
</worldbody></mujoco>
"""


def test_what_is_left_out_has_not_gone_through() -> None:
    sim = asp.Simulator(mujoco.MjModel.from_xml_string(MODEL), integrator=asp.Icf(time_step=0.01))
    plant = sim.plant.table
    data = mujoco.MjData(sim.model)
    rng = np.random.default_rng(0)
    left_out = gone = 0
    for _ in range(600):
        poses = []
        reach, turning = 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-2, 1)
        data.qpos[:] = rng.standard_normal(sim.model.nq)
        for _ in range(2):
            mujoco.mj_kinematics(sim.model, data)
            poses += [data.geom_xpos.copy(), data.geom_xmat.copy()]
            velocity = rng.standard_normal((5, 6)) * [reach, reach, reach, *[turning] * 3]
            mujoco.mj_integratePos(sim.model, data.qpos, velocity.ravel(), 0.3)
        state = sim.world.current.table
        state.mj_geom_xpos[:], state.mj_geom_xmat[:] = poses[2:]
        motion = np.zeros((6, 3))
        if not find_motion(plant, poses[0], poses[1], motion, state):
            continue
        for a in range(1, 6):
            for b in range(1, 6):
                if a == b:
                    continue
                far = _stays_far(a, b, motion, poses[0], poses[2])
                through = _goes_through(plant, a, b, False, *poses) or _goes_through(
                    plant, b, a, False, *poses
                )
                assert not (far and through)
                left_out += far
                gone += through
    assert left_out > 1000
    assert gone > 100
