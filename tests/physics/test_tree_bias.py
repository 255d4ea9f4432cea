"""Bias forces and energies of single trees are MuJoCo's of all of them."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.plant.tree_bias import bias_of_trees
from asperity.plant.tree_energy import energy_of_trees

BRANCHES = """
<mujoco>
  <worldbody>
    <body pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.1 0.2 0.05" pos="0.02 0 0.01"/>
      <body pos="0.2 0 0">
        <joint type="ball"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0.1 0"/>
        <body pos="0.3 0.1 0">
          <joint type="hinge" axis="0 1 0.3"/>
          <joint type="slide" axis="1 0 0"/>
          <geom type="box" size="0.1 0.02 0.05" pos="0.1 0 0"/>
        </body>
      </body>
      <body pos="-0.2 0 0">
        <joint type="hinge" axis="0 0 1"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 -0.3 0.1 0"/>
        <body pos="-0.3 0 0"><geom type="sphere" size="0.05"/></body>
      </body>
    </body>
    <body pos="1 0 1">
      <geom type="sphere" size="0.02"/>
      <body>
        <joint type="slide" axis="0 1 1"/>
        <geom type="box" size="0.1 0.2 0.05" pos="0.05 0 0"/>
        <body pos="0 0.3 0">
          <joint type="ball"/>
          <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0.1 0"/>
        </body>
      </body>
      <body pos="0 0 0.5">
        <joint type="hinge" axis="1 0 0"/>
        <geom type="box" size="0.1 0.2 0.05" pos="0.05 0.2 0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("seed", range(3))
def test_bias_of_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sim = asp.Simulator(BRANCHES, integrator=asp.Icf(time_step=1e-3))
    model, data = sim.model, sim.data
    mujoco.mj_integratePos(model, data.qpos, rng.standard_normal(model.nv), 1.0)
    data.qvel[:] = 5.0 * rng.standard_normal(model.nv)
    mujoco.mj_forward(model, data)
    expected = np.zeros(model.nv)
    mujoco.mj_rne(model, data, 0, expected)
    plant, state = sim.plant.table, sim.world.current.table
    for tree in range(model.ntree):
        marked = np.zeros(model.ntree, np.int64)
        marked[tree] = 1
        found = np.full(model.nv, np.nan)
        bias_of_trees(plant, state, marked, data.qvel, found)
        own = model.dof_treeid == tree
        scale = np.abs(expected).max()
        assert np.allclose(found[own], expected[own], rtol=0.0, atol=1e-13 * scale)
        assert np.all(np.isnan(found[~own]))


@pytest.mark.parametrize("seed", range(3))
def test_energy_of_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sim = asp.Simulator(BRANCHES, integrator=asp.Icf(time_step=1e-3))
    assert sim.advance_to(0.0).success
    model, data = sim.model, mujoco.MjData(sim.model)
    qpos = model.qpos0.copy()
    mujoco.mj_integratePos(model, qpos, rng.standard_normal(model.nv), 1.0)
    data.qpos[:] = qpos
    found = np.zeros((model.ntree, model.ntree))
    for tree, out in enumerate(found):
        marked = np.zeros(model.ntree, np.int64)
        marked[tree] = 1
        data.qvel[:] = 0.0
        dofs = slice(model.tree_dofadr[tree], model.tree_dofadr[tree] + model.tree_dofnum[tree])
        data.qvel[dofs] = 5.0 * rng.standard_normal(model.tree_dofnum[tree])
        state = sim.world.current.table
        energy_of_trees(sim.plant.table, state, marked, qpos, data.qvel, 0.5, out)
        mujoco.mj_forward(model, data)
        mujoco.mj_energyVel(model, data)
        assert out[tree] == pytest.approx(data.energy[1], rel=1e-12)
    np.testing.assert_array_equal(found, np.diag(np.diag(found)))
