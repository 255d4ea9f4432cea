"""Geoms that pass through one another between two samples are never left out as too far apart."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.plant.detection.sweep import goes_through, passed
from asperity.plant.detection.sweep_pairs import cannot_pass, find_motion, new_sweep, order_geoms

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


@pytest.mark.parametrize("bodies", [5, 24])
def test_what_is_left_out_has_not_gone_through(bodies: int) -> None:
    spec = mujoco.MjSpec.from_string(MODEL)
    kinds = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_BOX)
    for number in range(bodies - 5):
        body = spec.worldbody.add_body()
        body.add_freejoint()
        body.add_geom(type=kinds[number % 2], size=[0.02 + 0.001 * number, 0.02, 0.1])
    sim = asp.Simulator(spec.compile(), integrator=asp.Icf(time_step=0.01))
    plant = sim.session.plant.table
    state, contacts = sim.session.world.current.table, sim.session.world.current.table.contacts
    contacts.count = 0
    data = mujoco.MjData(sim.model)
    # From one sample to the next, as in a simulation: its order is the last one's.
    sweep = new_sweep(plant)
    rng = np.random.default_rng(0)
    left_out = apart = gone = 0
    for turn in range(600 if bodies == 5 else 40):
        poses = []
        reach, turning = 10.0 ** rng.uniform(-1.5, 1), 10.0 ** rng.uniform(-2, 1)
        # Spread over one axis, then over another one.
        spread = np.ones(sim.model.nq)
        spread[turn % 3 :: 7] = 2.0
        data.qpos[:] = 0.6 * spread * rng.standard_normal(sim.model.nq)
        for _ in range(2):
            mujoco.mj_kinematics(sim.model, data)
            poses += [data.geom_xpos.copy(), data.geom_xmat.copy()]
            velocity = rng.standard_normal((bodies, 6)) * [reach, reach, reach, *[turning] * 3]
            mujoco.mj_integratePos(sim.model, data.qpos, velocity.ravel(), 0.3)
        sweep.position[:], sweep.rotation[:] = poses[:2]
        state.mj_geom_xpos[:], state.mj_geom_xmat[:] = poses[2:]
        any_passed = passed(plant, contacts, sweep, state)
        if not find_motion(plant, sweep, state):
            assert not any_passed
            continue
        order_geoms(plant, sweep, state)
        assert sorted(sweep.order) == list(range(bodies + 1))
        low = sweep.low[sweep.order]
        assert np.all(low[:-1] <= low[1:])
        moved_through = False
        for a in range(1, bodies + 1):
            for b in range(1, bodies + 1):
                if a == b:
                    continue
                far = cannot_pass(plant, a, b, sweep, state)
                separate = sweep.low[a] > sweep.high[b] or sweep.low[b] > sweep.high[a]
                before, now = (poses[0], poses[1]), (poses[2], poses[3])
                through = goes_through(plant, a, b, False, before, now) or goes_through(
                    plant, b, a, False, before, now
                )
                assert not (far and through)
                assert far or not separate
                left_out += far
                apart += separate
                gone += through
                moved_through |= through and (sweep.moves[a] == 1 or sweep.moves[b] == 1)
        assert any_passed == moved_through
    assert left_out > 1000
    assert apart > 1000
    assert gone > 100
