"""Energies and momenta of single trees are MuJoCo's of all of them."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.plant.tree_motion import (
    INERTIA,
    MOMENT,
    MOMENTUM,
    MOTION_SIZE,
    SPIN,
    motion_of_trees,
)

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


def _random_state(model: mujoco.MjModel, rng: np.random.Generator) -> mujoco.MjData:
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.standard_normal(model.nv), 1.0)
    data.qvel[:] = 5.0 * rng.standard_normal(model.nv)
    mujoco.mj_forward(model, data)
    mujoco.mj_energyVel(model, data)
    mujoco.mj_subtreeVel(model, data)
    return data


@pytest.mark.parametrize("seed", range(3))
def test_energy_of_trees(seed: int) -> None:
    # With armature, and one tree at a time, whose own the energy then is.
    rng = np.random.default_rng(seed)
    sim = asp.Simulator(
        BRANCHES.replace('type="slide"', 'type="slide" armature="0.3"'),
        integrator=asp.Icf(time_step=1e-3),
    )
    assert sim.advance_to(0.0).success
    model = sim.model
    found = np.zeros((model.ntree, MOTION_SIZE))
    for tree in range(model.ntree):
        marked = np.zeros(model.ntree, np.int64)
        marked[tree] = 1
        data = _random_state(model, rng)
        data.qvel[model.dof_treeid != tree] = 0.0
        state = sim.session.world.current.table
        motion_of_trees(sim.session.plant.table, state, marked, data.qpos, data.qvel, found)
        mujoco.mj_energyVel(model, data)
        assert 0.5 * found[tree, 0] == pytest.approx(data.energy[1], rel=1e-12)
        assert np.all(found[tree + 1 :] == 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_momentum_and_inertia_of_a_tree_that_floats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sim = asp.Simulator(BRANCHES, integrator=asp.Icf(time_step=1e-3))
    assert sim.advance_to(0.0).success
    model = sim.model
    data = _random_state(model, rng)
    found = np.zeros((model.ntree, MOTION_SIZE))
    marked = np.array([1] + [0] * (model.ntree - 1))
    state = sim.session.world.current.table
    motion_of_trees(sim.session.plant.table, state, marked, data.qpos, data.qvel, found)
    mass, arm = model.body_subtreemass[1], data.subtree_com[1] - data.xpos[1]
    momentum = mass * data.subtree_linvel[1]
    np.testing.assert_allclose(found[0, MOMENTUM:][:3], momentum, rtol=1e-12, atol=1e-12)
    spin = data.subtree_angmom[1] + np.cross(arm, momentum)
    np.testing.assert_allclose(found[0, SPIN:][:3], spin, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found[0, MOMENT:][:3], mass * arm, rtol=1e-12, atol=1e-12)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    axes = data.xmat[1].reshape(3, 3)
    inertia = axes @ full[3:6, 3:6] @ axes.T
    expected = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    np.testing.assert_allclose(found[0, INERTIA:MOMENT], expected, rtol=1e-11, atol=1e-11)


def test_centre_of_mass_of_trees_that_hang_on_something_turned() -> None:
    rng = np.random.default_rng(0)
    text = BRANCHES.replace('<body pos="1 0 1">', '<body pos="1 0 1" euler="20 50 70">')
    sim = asp.Simulator(text, integrator=asp.Icf(time_step=1e-3))
    assert sim.advance_to(0.0).success
    model = sim.model
    marked = np.ones(model.ntree, np.int64)
    moments = []
    for _ in range(2):
        data = _random_state(model, rng)
        found = np.zeros((model.ntree, MOTION_SIZE))
        state = sim.session.world.current.table
        motion_of_trees(sim.session.plant.table, state, marked, data.qpos, data.qvel, found)
        weights = model.body_mass[:, None] * data.xipos
        moments.append(
            [
                (found[tree, MOMENT:][:3], weights[model.body_treeid == tree].sum(axis=0))
                for tree in (1, 2)
            ]
        )
    for before, after in zip(*moments, strict=True):
        np.testing.assert_allclose(after[0] - before[0], after[1] - before[1], atol=1e-12)
