"""What smooth forces change by with positions and velocities, of rigid bodies and in closed form.

Without contacts and rows the momentum balance of a step is δt times the inverse dynamics
ID(q, w, a) of the motion with the acceleration a = (v − v_0)/δt and the velocity w = v_0, or
½ (v_0 + v) of trees with gyroscopic forces of the middle of the step, and what is linear.

A displacement of joint j along its axis S moves all that is behind the joint as one rigid body. In
axes that move along nothing has changed but the motion before the joint, of the velocity v_p and
the acceleration a_p, which has turned the other way: with ψ = v_p × S and c = a_p × S − ψ × v_p a
force that is f = I a + v ×* I v changes by I c + B ψ there, where

    B ψ = I (ψ × v) + ψ ×* I v + v ×* I ψ,

and the joints before j see besides how the force itself is turned, S ×* f. By the velocity of joint
j, f changes by I e + B S with e = v_b × S − S × v_p and the velocity v_b behind the joint.

Spatial vectors are MuJoCo's, (angular, linear) in world axes at the tree's centre of mass. Compare
S. Singh, R. Russo, P. Wensing, Efficient analytical derivatives of rigid-body dynamics using
spatial vector algebra, IEEE RA-L 7(2), 2022.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.middle_velocity import start_share
from asperity.plant.rotations import cross, plus, turned, unit_quaternion, unit_vector, vector_at
from asperity.plant.trees import base_position, is_centred

__all__ = [
    "add_cross_force",
    "cross_motion",
    "dot6",
    "fill_rigid_terms",
    "force_change",
    "inertia_force",
    "mass_diagonal_change",
    "multiply_inertia",
    "rigid_columns",
]


@compiled
def cross_motion(v: np.ndarray, s: np.ndarray, out: np.ndarray) -> None:
    """``out = v × s`` of motions."""
    out[0] = v[1] * s[2] - v[2] * s[1]
    out[1] = v[2] * s[0] - v[0] * s[2]
    out[2] = v[0] * s[1] - v[1] * s[0]
    out[3] = v[1] * s[5] - v[2] * s[4] + v[4] * s[2] - v[5] * s[1]
    out[4] = v[2] * s[3] - v[0] * s[5] + v[5] * s[0] - v[3] * s[2]
    out[5] = v[0] * s[4] - v[1] * s[3] + v[3] * s[1] - v[4] * s[0]


@compiled
def add_cross_force(v: np.ndarray, f: np.ndarray, out: np.ndarray) -> None:
    """``out += v ×* f`` of a motion and a force (torque, force)."""
    out[0] += v[1] * f[2] - v[2] * f[1] + v[4] * f[5] - v[5] * f[4]
    out[1] += v[2] * f[0] - v[0] * f[2] + v[5] * f[3] - v[3] * f[5]
    out[2] += v[0] * f[1] - v[1] * f[0] + v[3] * f[4] - v[4] * f[3]
    out[3] += v[1] * f[5] - v[2] * f[4]
    out[4] += v[2] * f[3] - v[0] * f[5]
    out[5] += v[0] * f[4] - v[1] * f[3]


@compiled
def multiply_inertia(inertia: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    """``out = I v``, with MuJoCo's ten numbers of an inertia."""
    i = inertia
    out[0] = i[0] * v[0] + i[3] * v[1] + i[4] * v[2] - i[8] * v[4] + i[7] * v[5]
    out[1] = i[3] * v[0] + i[1] * v[1] + i[5] * v[2] + i[8] * v[3] - i[6] * v[5]
    out[2] = i[4] * v[0] + i[5] * v[1] + i[2] * v[2] - i[7] * v[3] + i[6] * v[4]
    out[3] = i[8] * v[1] - i[7] * v[2] + i[9] * v[3]
    out[4] = i[6] * v[2] - i[8] * v[0] + i[9] * v[4]
    out[5] = i[7] * v[0] - i[6] * v[1] + i[9] * v[5]


@compiled
def inertia_force(
    inertia: np.ndarray,
    velocity: np.ndarray,
    acceleration: np.ndarray,
    momentum: np.ndarray,
    out: np.ndarray,
) -> None:
    """``out = I a + v ×* I v``, the force that an inertia takes, and its ``momentum``."""
    multiply_inertia(inertia, velocity, momentum)
    multiply_inertia(inertia, acceleration, out)
    add_cross_force(velocity, momentum, out)


@compiled
def dot6(a: np.ndarray, b: np.ndarray) -> float:
    """``aᵀ b`` of vectors of six numbers."""
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@compiled
def _present_rate(plant: Table, work: Table, dof: int) -> float:
    """The velocity w at which velocity forces are taken."""
    start = work.start
    share = start_share(work.root, plant.dofs.tree[dof])
    return float(share * start.qvel[dof] + (1.0 - share) * work.velocity[dof])


@compiled
def _fill_motion(world: Table, work: Table, step: float) -> None:
    """Fill velocities, and accelerations against gravity, behind every degree of freedom."""
    start = work.start
    rigid = work.rigid
    plant = world.plant
    state = world.current
    rate = np.zeros(6)
    for d in range(start.qvel.size):
        parent = plant.dofs.parent[d]
        present = _present_rate(plant, work, d)
        for a in range(6):
            axis = state.cdof[d, a]
            rigid.motion_rate[d, a] = axis * present
            rigid.start_motion[d, a] = axis * start.qvel[d]
            rigid.end_motion[d, a] = axis * work.velocity[d]
            if parent >= 0:
                rigid.motion_rate[d, a] += rigid.motion_rate[parent, a]
                rigid.start_motion[d, a] += rigid.start_motion[parent, a]
                rigid.end_motion[d, a] += rigid.end_motion[parent, a]
    for d in range(start.qvel.size):
        parent = plant.dofs.parent[d]
        present = _present_rate(plant, work, d)
        acceleration = (work.velocity[d] - start.qvel[d]) / step
        cross_motion(rigid.motion_rate[rigid.joint_last[d]], state.cdof[d], rate)
        for a in range(6):
            value = state.cdof[d, a] * acceleration + rate[a] * present
            if parent >= 0:
                value += rigid.acceleration[parent, a]
            elif a >= 3:
                value -= plant.gravity[a - 3]
            rigid.acceleration[d, a] = value


@compiled
def _add_body(rigid: Table, dof: int, inertia: np.ndarray, pad: np.ndarray) -> None:
    """Add a body's inertia, force and B to those of the degree of freedom that it moves with.

    ``pad`` is room for five vectors.
    """
    velocity = rigid.motion_rate[dof]
    momentum = pad[0]
    unit = pad[1]
    turned = pad[2]
    column = pad[3]
    moved = pad[4]
    for a in range(6):
        unit[a] = 0.0
    for a in range(10):
        rigid.inertia[dof, a] += inertia[a]
    inertia_force(inertia, velocity, rigid.acceleration[dof], momentum, column)
    for a in range(6):
        rigid.body_force[dof, a] += column[a]
    for k in range(6):
        unit[k] = 1.0
        cross_motion(unit, velocity, turned)
        multiply_inertia(inertia, turned, column)
        add_cross_force(unit, momentum, column)
        multiply_inertia(inertia, unit, moved)
        add_cross_force(velocity, moved, column)
        unit[k] = 0.0
        for a in range(6):
            rigid.force_rate[dof, 6 * a + k] += column[a]


@compiled
def fill_rigid_terms(world: Table, work: Table, step: float) -> None:
    """Fill motions, inertias and forces of what is behind every degree of freedom.

    Needs the evaluation of the state itself, in its MjData, too.
    """
    start = work.start
    rigid = work.rigid
    plant = world.plant
    state = world.current
    nv = start.qvel.size
    pad = np.zeros((5, 6))
    _fill_motion(world, work, step)
    for d in range(nv):
        for a in range(10):
            rigid.inertia[d, a] = 0.0
        for a in range(6):
            rigid.body_force[d, a] = 0.0
        for a in range(36):
            rigid.force_rate[d, a] = 0.0
    for body in range(1, plant.nbody):
        dof = plant.bodies.last_dof[body]
        if dof >= 0:
            _add_body(rigid, dof, state.mj_cinert[body], pad)
    for d in range(nv - 1, -1, -1):
        parent = plant.dofs.parent[d]
        if parent >= 0:
            for a in range(10):
                rigid.inertia[parent, a] += rigid.inertia[d, a]
            for a in range(6):
                rigid.body_force[parent, a] += rigid.body_force[d, a]
            for a in range(36):
                rigid.force_rate[parent, a] += rigid.force_rate[d, a]
        multiply_inertia(rigid.inertia[d], state.cdof[d], rigid.axis_momentum[d])
        for k in range(6):
            value = 0.0
            for a in range(6):
                value += state.cdof[d, a] * rigid.force_rate[d, 6 * a + k]
            rigid.axis_rate[d, k] = value


@compiled
def force_change(
    rigid: Table, j: int, by_inertia: np.ndarray, by_rate: np.ndarray, out: np.ndarray
) -> None:
    """``out = I c + B ψ`` of all that is behind a degree of freedom."""
    multiply_inertia(rigid.inertia[j], by_inertia, out)
    for a in range(6):
        for k in range(6):
            out[a] += rigid.force_rate[j, 6 * a + k] * by_rate[k]


@compiled
def _take_out_centripetal(plant: Table, work: Table, state: Table, tree: int, step: float) -> None:
    """Take a free body's force m ω × (ω × c) out of its columns.

    It is in the acceleration of the joint's frame that the inverse dynamics has been asked about,
    and not in that of the centre of mass (`asperity.plant.evaluate.centripetal`).
    """
    s = plant.trees.start[tree]
    mass = state.mass[plant.trees.block_start[tree] + 21]
    c = vector_at(plant.trees.centre[tree], 0)
    quat = unit_quaternion(work.start.qpos, base_position(plant, tree) + 3)
    share = start_share(work.root, tree)
    spin = vector_at(work.start.qvel, s + 3)
    spin = plus(plus((0.0, 0.0, 0.0), spin, share), vector_at(work.velocity, s + 3), 1.0 - share)
    speed = cross(spin, c)
    for k in range(3):
        unit = unit_vector(k)
        turning = turned(quat, cross(unit, cross(spin, speed)))
        # In the body's own axes.
        own = plus(cross(unit, speed), cross(spin, cross(unit, c)), 1.0)
        faster, moment = turned(quat, own), cross(c, own)
        for a in range(3):
            work.columns[s + 3 + k, s + a] -= step * mass * turning[a]
            work.columns[work.start.qvel.size + s + 3 + k, s + a] -= step * share * mass * faster[a]
            work.columns[work.start.qvel.size + s + 3 + k, s + 3 + a] -= (
                step * share * mass * moment[a]
            )


@compiled
def rigid_columns(world: Table, work: Table, step: float) -> None:
    """Fill columns by positions and velocities with what is neither contact nor row."""
    start = work.start
    rigid = work.rigid
    plant = world.plant
    dofs = plant.dofs
    state = world.current
    nv = start.qvel.size
    cdof = state.cdof
    velocity = np.zeros(6)
    acceleration = np.zeros(6)
    psi = np.zeros(6)
    by_inertia = np.zeros(6)
    turned = np.zeros(6)
    force = np.zeros(6)
    for j in range(nv):
        first = rigid.joint_first[j]
        end = rigid.subtree_end[j]
        before = dofs.parent[first]
        by_position = work.columns[j]
        by_velocity = work.columns[nv + j]
        for i in range(by_position.size):
            by_position[i] = 0.0
            by_velocity[i] = 0.0
        for a in range(6):
            velocity[a] = rigid.motion_rate[before, a] if before >= 0 else 0.0
            acceleration[a] = 0.0
            if before >= 0:
                acceleration[a] = rigid.acceleration[before, a]
            elif a >= 3:
                acceleration[a] = -plant.gravity[a - 3]
        cross_motion(velocity, cdof[j], psi)
        cross_motion(acceleration, cdof[j], by_inertia)
        cross_motion(psi, velocity, turned)
        for a in range(6):
            by_inertia[a] -= turned[a]
        for m in range(first, end):
            by_position[m] = step * (
                dot6(rigid.axis_momentum[m], by_inertia) + dot6(rigid.axis_rate[m], psi)
            )
        force_change(rigid, j, by_inertia, psi, force)
        add_cross_force(cdof[j], rigid.body_force[j], force)
        m = before
        while m >= 0:
            by_position[m] = step * dot6(cdof[m], force)
            m = dofs.parent[m]
        by_position[j] += step * dofs.stiffness[j]
        # By velocity: v_b × S − S × v_p, and the momentum that it takes away.
        cross_motion(rigid.motion_rate[rigid.joint_last[j]], cdof[j], by_inertia)
        cross_motion(cdof[j], velocity, turned)
        for a in range(6):
            by_inertia[a] -= turned[a]
        scale = start_share(work.root, dofs.tree[j]) * step
        for m in range(first, end):
            by_velocity[m] = scale * (
                dot6(rigid.axis_momentum[m], by_inertia) + dot6(rigid.axis_rate[m], cdof[j])
            ) - dot6(rigid.axis_momentum[m], cdof[j])
        if not plant.trees.spatial[dofs.tree[j]]:
            # Armature is in the mass matrix alone.
            by_velocity[j] += dot6(rigid.axis_momentum[j], cdof[j]) - state.mass_diagonal[j]
        force_change(rigid, j, by_inertia, cdof[j], force)
        m = before
        while m >= 0:
            by_velocity[m] = scale * dot6(cdof[m], force) - dot6(cdof[m], rigid.axis_momentum[j])
            m = dofs.parent[m]
    for tree in range(plant.ntree):
        if not is_centred(plant, tree):
            _take_out_centripetal(plant, work, state, tree, step)


@compiled
def mass_diagonal_change(rigid: Table, cdof: np.ndarray, j: int, m: int, pad: np.ndarray) -> float:
    """∂M_mm/∂q_j of a degree of freedom m before joint j, −2 (S_j × S_m)ᵀ I S_m.

    ``pad`` is room for two vectors.
    """
    cross_motion(cdof[j], cdof[m], pad[0])
    multiply_inertia(rigid.inertia[j], cdof[m], pad[1])
    return -2.0 * dot6(pad[0], pad[1])
