"""MuJoCo models in contact, read into convex problems, with Jacobians from MuJoCo itself."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from convex_problems import Case, call

from asperity.convex.convex_newton import install_solver
from asperity.convex.potentials.lagged import LAGGED_LAW
from asperity.convex.potentials.law_table import install_law
from asperity.convex.problem import new_problem
from asperity.plant.evaluate import evaluate
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.plant import Plant
from asperity.plant.plant_layouts import EVALUATED
from asperity.plant.state import State
from asperity.plant.trees import velocity_from_solver

_LEG = """
<body name='{0}_thigh' pos='0 {1} -0.1'>
  <joint name='{0}_hip' axis='1 0.1 0' range='-1 1' damping='0.1'/>
  <geom name='{0}_thigh' type='capsule' size='0.04' fromto='0 0 0 0 {2} -0.2'/>
  <body name='{0}_shin' pos='0 {2} -0.2'>
    <joint name='{0}_knee' axis='0 1 0' frictionloss='0.3'/>
    <geom name='{0}_shin' type='capsule' size='0.04' fromto='0 0 0 0.05 0 -0.25'/>
  </body>
</body>
"""

MODEL = f"""
<mujoco>
  <option cone='elliptic'/>
  <compiler angle='radian'/>
  <default><geom friction='0.7' density='500'/></default>
  <worldbody>
    <geom name='floor' type='plane' size='5 5 1'/>
    <body name='ball' pos='1 0 0.098'><freejoint/><geom name='ball' size='0.1'/></body>
    <body name='box' pos='1.15 0 0.199'>
      <freejoint/><geom name='box' type='box' size='0.1 0.08 0.2' pos='0.01 0 0'/>
      <geom name='knob' size='0.03' pos='0 0 0.2'/>
    </body>
    <body name='damped' pos='1.355 0.02 0.15'>
      <joint name='float' type='free' damping='0.2' armature='0.01'/>
      <geom name='damped' type='ellipsoid' size='0.1 0.15 0.152'/>
    </body>
    <body name='upper' pos='0.6 0 0.3' euler='0 0.2 0.1'>
      <joint name='shoulder' axis='0 0 1' armature='0.02' range='-0.1 2' damping='0.5'/>
      <geom name='upper' type='capsule' size='0.04' fromto='0 0 0 0.2 0 0'/>
      <body name='fore' pos='0.2 0 0' euler='0 0.3 0.1'>
        <joint name='elbow' axis='0 1 0' armature='0.02'/>
        <geom name='fore' type='capsule' size='0.03' fromto='0.05 0 0 0.25 0 0'/>
        <body name='hand' pos='0.25 0 0'>
          <joint name='wrist' axis='1 0.2 0' armature='0.02'/>
          <geom name='hand' size='0.05' pos='0.03 0.01 0'/>
        </body>
      </body>
    </body>
    <body name='walker' pos='-1 0 0.535'>
      <freejoint/>
      <geom name='trunk' type='box' size='0.1 0.12 0.05'/>
      {_LEG.format("left", 0.04, -0.01)}{_LEG.format("right", -0.035, 0.01)}
    </body>
    <body name='pendulum' pos='-0.93 0.1 0.9'>
      <joint name='pivot' type='ball' range='0 0.05'/>
      <geom name='pendulum' type='capsule' size='0.06' fromto='0 0 0 0.02 0 -0.27'/>
    </body>
    <body name='loose' pos='3 3 2'><freejoint/><geom name='loose' size='0.1'/></body>
    <body name='cart' pos='1.6 0 0.15'>
      <joint name='rail' type='slide' axis='1 0 0' frictionloss='2'/>
      <geom name='cart' type='box' size='0.15 0.1 0.1'/>
    </body>
  </worldbody>
  <contact><exclude body1='upper' body2='fore'/></contact>
  <equality>
    <connect body1='hand' body2='box' anchor='0.1 0 0'/>
    <joint joint1='elbow' joint2='wrist' polycoef='0.1 0.5 0 0 0'/>
    <joint joint1='rail' joint2='left_knee' polycoef='0 1 0 0 0'/>
  </equality>
  <actuator>
    <position joint='elbow' kp='30' kv='2' forcerange='-4 4'/>
    <velocity joint='right_hip' kv='3'/>
    <motor joint='rail'/>
  </actuator>
</mujoco>
"""
"""Free bodies, a damped free body, an arm, a floating tree with two legs that touch, a ball-jointed
pendulum and a cart, joined by contacts, equalities, limits, dry friction and servos."""


@dataclass
class MujocoCase(Case):
    """A convex problem read from an evaluated MuJoCo model."""

    plant: Plant
    state: State

    @property
    def start_velocity(self) -> np.ndarray:
        """Solver velocities of the state, shape (nv,)."""
        return self.state.table.velocity[: self.problem.graph.nv]

    def to_generalized(self) -> np.ndarray:
        """T in q̇-velocities = T · solver velocities."""
        nv = self.problem.graph.nv
        out = np.zeros((nv, nv))
        for i in range(nv):
            column = np.zeros(nv)
            velocity_from_solver(self.plant.table, self.state.table.cdof, np.eye(nv)[i], column)
            out[:, i] = column
        return out

    def mujoco_contact_jacobian(self) -> np.ndarray:
        """J of the contacts by ``mj_jac``, in generalized velocities, shape (n, 3, nv)."""
        model, c = self.plant.model, self.contacts
        data = mujoco.MjData(model)
        data.qpos[:] = self.state.table.qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        out = np.zeros((self.ncontact, 3, model.nv))
        for i in range(self.ncontact):
            source = data.contact[int(c.source[i])]
            normal, first, second = source.frame.reshape(3, 3)
            frame = np.array([first, second, normal])
            for geom, sign in ((source.geom[0], -1.0), (source.geom[1], 1.0)):
                jacobian = np.zeros((3, model.nv))
                body = model.geom_bodyid[geom]
                mujoco.mj_jac(model, data, jacobian, None, c.point[i], body)
                out[i] += sign * frame @ jacobian
        return out

    def mujoco_mass(self) -> np.ndarray:
        """The mass matrix in generalized velocities."""
        model, data = self.plant.model, self.state.data
        full = np.zeros((model.nv, model.nv))
        for i in range(model.nv):
            unit = np.zeros(model.nv)
            mujoco.mj_mulM(model, data, unit, np.eye(model.nv)[i])
            full[:, i] = unit
        return full


def load(text: str = MODEL, *, seed: int | None = 0, **contact: float) -> MujocoCase:
    """Evaluate a model at its reference pose, with random velocities (None: at rest)."""
    model = mujoco.MjModel.from_xml_string(text)
    plant = Plant(model, ContactParameters(**contact))
    data = mujoco.MjData(model)
    state = plant.new_state(data, rows=64)
    if text == MODEL:
        # Beyond its limit.
        pivot = model.joint("pivot").qposadr[0]
        mujoco.mju_axisAngle2Quat(state.table.qpos[pivot : pivot + 4], [0.6, 0.0, 0.8], 0.1)
    if seed is not None:
        rng = np.random.default_rng(seed)
        state.table.qvel[:] = 0.3 * rng.standard_normal(model.nv)
        data.ctrl[:] = rng.standard_normal(model.nu)
    problem = new_problem(
        tree_start=plant.table.trees.start,
        tree_size=plant.table.trees.size,
        tree_spatial=plant.table.trees.spatial,
        contacts=256,
        links=model.nbody + 1,
        rows=len(state.rows.kind),
    )
    install_solver(problem)
    install_law(problem, LAGGED_LAW)
    case = MujocoCase(problem, state.contacts, state.rows, plant, state)
    reevaluate(case)
    return case


def reevaluate(case: MujocoCase) -> None:
    """Evaluate the state and fill the smooth part of the problem for a step of 1 ms."""
    state, problem = case.state, case.problem
    assert call(evaluate, case.plant.table, state.table) == EVALUATED
    problem.smooth.matrix[:] = state.table.mass
    problem.smooth.mass_diagonal[:] = state.table.mass_diagonal
    problem.smooth.mass_inverse_diagonal[:] = 1.0 / state.table.mass_diagonal
    problem.smooth.rhs[:] = case.dense_matrix() @ case.start_velocity + 1e-3 * state.table.force
