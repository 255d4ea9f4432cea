"""Real robots, limp or held by servos or springs, for five seconds on a floor."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from robots import ROBOTS, Robot

import asperity as asp

pytestmark = [
    pytest.mark.assets,
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

DURATION = 5.0
DROP = 0.05
GRAVITY = 9.81
STIFFNESS = 1e5  # Asperity's defaults
REBOUND = 0.1  # 1/d: no contact separates faster


def _with_floor(entry: Robot) -> mujoco.MjModel:
    """The model, on the plane z = 0 (lower, where a fixed robot's own parts are below that)."""
    model, _ = entry.load()
    if np.any(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE):
        return model
    spec, _ = asp.load_spec(
        entry.find(), floating_base=entry.floating, exclude_overlaps=entry.overlaps
    )
    floor = spec.worldbody.add_geom(
        name="the floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1]
    )
    model = spec.compile()
    if not entry.floating:
        data = mujoco.MjData(model)
        data.qpos = _pose(entry, model)
        mujoco.mj_forward(model, data)
        ground = model.geom("the floor").id
        depths = [-c.dist for c in data.contact if ground in c.geom and c.dist < 0]
        if depths:
            floor.pos[2] = -max(depths) - 0.02
            model = spec.compile()
    return model


def _pose(entry: Robot, model: mujoco.MjModel) -> np.ndarray:
    """The catalogue's pose within the joint limits; floating robots start above the floor."""
    qpos = entry.initial_qpos(model)
    limited = model.jnt_limited.astype(bool) & (model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE))
    addresses = model.jnt_qposadr[limited]
    qpos[addresses] = np.clip(qpos[addresses], *model.jnt_range[limited].T)
    if entry.floating:
        qpos[2] += DROP
    return qpos


def _bring_mocap_bodies_to_what_they_hold(sim: asp.Simulator) -> None:
    model, data = sim.model, sim.data
    for i in range(model.neq):
        first, second = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
        if model.eq_type[i] == mujoco.mjtEq.mjEQ_WELD and model.body_mocapid[first] >= 0:
            mocap = model.body_mocapid[first]
            data.mocap_pos[mocap] = data.xpos[second]
            data.mocap_quat[mocap] = data.xquat[second]
            model.eq_data[i, :10] = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]


def _touching_dofs(model: mujoco.MjModel) -> np.ndarray:
    """Dofs of trees with a geom that collides (a visual target falls for ever)."""
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    trees = np.unique(model.body_treeid[model.geom_bodyid[collides]])
    return np.isin(model.dof_treeid, trees)


def _fastest(sim: asp.Simulator) -> float:
    """The largest joint speed with a kinetic energy above a millijoule [rad/s or m/s]."""
    model = sim.model
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, sim.data, inertia)
    moving = 0.5 * np.diag(inertia) * sim.data.qvel**2 > 1e-3
    return float(np.abs(sim.data.qvel[_touching_dofs(model) & moving]).max(initial=0.0))


def _lie_down(entry: Robot, seed: int) -> float:
    """Five seconds on the floor, looked at; returns the largest speed at the end.

    The seed is that of a velocity of a micrometre per second: symmetric robots fall symmetrically
    otherwise, and may balance for seconds on what no robot balances on.
    """
    model = _with_floor(entry)
    assert (model.nv, model.ntree) == (entry.sizes[0], entry.sizes[5])
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3))
    sim.data.qpos[:] = _pose(entry, model)
    sim.data.qvel[:] = 1e-6 * np.random.default_rng(seed).standard_normal(model.nv)
    sim.advance_to(0.0)
    _bring_mocap_bodies_to_what_they_hold(sim)
    sim.advance_to(0.0)
    planes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)
    sunk = deepest = 0.0
    energy = []
    at_start = -sim.contacts.signed_distance.min(initial=0.0)
    for k in range(1, 101):
        report = sim.advance_to(DURATION * k / 100)
        assert report.success, report.message
        contacts = sim.contacts
        on_floor = np.isin(contacts.geom, planes).any(axis=1)
        sunk = max(sunk, -contacts.signed_distance[on_floor].min(initial=0.0))
        deepest = max(deepest, -contacts.signed_distance.min(initial=0.0))
        elastic = np.sum(np.maximum(-contacts.signed_distance, 0.0) ** 2) * STIFFNESS / 2
        energy.append(sum(sim.energy()) - elastic)
    assert np.all(np.isfinite(sim.data.qpos))
    assert np.all(np.isfinite(sim.data.qvel))
    # A sudden load on one point sinks twice as deep as a resting one; 5 mm more for impacts.
    mass = float(model.body_subtreemass[0])
    assert sunk < 5e-3 + 2 * mass * GRAVITY / STIFFNESS
    # Links that touch each other start apart, and stay so but for impacts.
    assert at_start < 1e-3
    assert deepest < 2e-2 + sunk
    if model.nu == 0 or np.all(model.actuator_biastype == mujoco.mjtBias.mjBIAS_NONE):
        # Nothing drives the robot: energy goes away, but for what contacts give back at 1/d and
        # the first-order error of swinging limbs, some percent of what gravity has turned over.
        gain = max(np.diff(energy).max(), max(energy) - energy[0])
        assert gain < 0.5 * mass * REBOUND**2 + 0.05 * (energy[0] - min(energy))
    return _fastest(sim)


@pytest.mark.parametrize("entry", ROBOTS, ids=lambda entry: entry.name)
def test_five_seconds_on_the_floor(entry: Robot) -> None:
    fastest = [_lie_down(entry, seed) for seed in range(3)]
    # Whatever can touch something has come to rest, or nearly: fingers without damping, of 0.02 g m²
    # and less, may still swing. One limp limb in three falls may lie on its side and fall once more.
    assert np.median(fastest) < 2.0


@pytest.mark.parametrize("name", ["panda", "go2", "g1"])
def test_a_robot_holds_its_pose_by_springs_in_its_joints(name: str) -> None:
    entry = next(entry for entry in ROBOTS if entry.name == name)
    model = _with_floor(entry)
    pose = _pose(entry, model)
    if entry.floating:
        pose[2] -= DROP
    joints = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE)
    dofs, places = model.jnt_dofadr[joints], model.jnt_qposadr[joints]
    # A spring and a damper in every joint, which Asperity integrates implicitly.
    model.jnt_stiffness[joints] = 400.0
    model.dof_damping[dofs] = 20.0
    model.qpos_spring[places] = pose[places]
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3))
    sim.data.qpos[:] = pose
    assert sim.advance_to(2.0).success
    settled = sim.data.qpos.copy()
    assert sim.advance_to(DURATION).success
    assert np.abs(sim.data.qpos[places] - pose[places]).max() < 0.2
    assert np.abs(sim.data.qpos - settled)[places].max() < 2e-2
