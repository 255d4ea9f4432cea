"""What energy and momenta that robots should have change by, in closed form.

These are sums over bodies, of which a joint moves those behind it. In the terms of
`asperity.derivatives.balance.rigid_terms` a velocity V behind the joint changes by ψ = V_p × S, and
with momenta h = Σ I V

    d(½ Σ V · I V) = h · ψ,    dh = S ×* h + I ψ,

and with the wrenches f of the inverse dynamics, which the step's impulse consists of, and a
velocity U

    d(Σ U · f) = f · (U_p × S) + (Σ I U) · c + (Σ Bᵀ U) · ψ,
    Bᵀ U = v ×* I U − U ×* I v − I (v × U).

What floats is looked at from where its centre of mass stays, where h has no momentum.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.middle_velocity import start_share
from asperity.derivatives.balance.rigid_terms import (
    add_cross_force,
    cross_motion,
    dot6,
    force_change,
    multiply_inertia,
)
from asperity.integrators.methods.turning_trees import FLOATS
from asperity.plant.rotations import cross, vector_at
from asperity.plant.tree_motion import MOMENTUM, SPIN

__all__ = ["fill_before", "fill_field", "gain_slopes", "momentum_change"]


@compiled
def fill_field(
    plant: Table,
    state: Table,
    marked: np.ndarray,
    axes: np.ndarray,
    velocity: np.ndarray,
    motion: np.ndarray,
    momentum: np.ndarray,
) -> None:
    """Fill motions and momenta behind degrees of freedom.

    Parameters
    ----------
    plant, state : Table
        The state has bodies and axes.
    marked : numpy.ndarray
        By `asperity.integrators.methods.turning_trees`.
    axes : numpy.ndarray
        I S, shape (nv, 6).
    velocity : numpy.ndarray
        Generalized velocities, shape (nv,), of which those of centres of mass are taken from what
        floats.
    motion, momentum : numpy.ndarray
        Shapes (nv, 6).
    """
    trees = plant.trees
    for tree in range(plant.ntree):
        if marked[tree] != FLOATS:
            continue
        first = trees.start[tree]
        mass = axes[first, 3]
        for a in range(3):
            drift = 0.0
            for j in range(first, first + trees.size[tree]):
                drift += axes[j, 3 + a] * velocity[j]
            velocity[first + a] -= drift / mass
    for d in range(plant.nv):
        parent = plant.dofs.parent[d]
        for a in range(6):
            motion[d, a] = state.mj_cdof[d, a] * velocity[d]
            if parent >= 0:
                motion[d, a] += motion[parent, a]
    momentum[:] = 0.0
    own = np.empty(6)
    for body in range(1, plant.nbody):
        dof = plant.bodies.last_dof[body]
        if dof >= 0:
            multiply_inertia(state.mj_cinert[body], motion[dof], own)
            for a in range(6):
                momentum[dof, a] += own[a]
    _gather(plant, momentum)


@compiled
def _gather(plant: Table, sums: np.ndarray) -> None:
    """Add what is behind degrees of freedom to what is behind those before them."""
    for d in range(plant.nv - 1, -1, -1):
        parent = plant.dofs.parent[d]
        if parent >= 0:
            for a in range(6):
                sums[parent, a] += sums[d, a]


@compiled
def _fill_rates(plant: Table, state: Table, rigid: Table, u: np.ndarray, out: np.ndarray) -> None:
    """Fill Σ Bᵀ U."""
    out[:] = 0.0
    own, other, turned = np.empty(6), np.empty(6), np.empty(6)
    for body in range(1, plant.nbody):
        dof = plant.bodies.last_dof[body]
        if dof < 0:
            continue
        v = rigid.motion_rate[dof]
        inertia = state.mj_cinert[body]
        multiply_inertia(inertia, u[dof], own)
        multiply_inertia(inertia, v, other)
        add_cross_force(v, own, out[dof])
        for a in range(6):
            other[a] = -other[a]
        add_cross_force(u[dof], other, out[dof])
        cross_motion(v, u[dof], turned)
        multiply_inertia(inertia, turned, own)
        for a in range(6):
            out[dof, a] -= own[a]
    _gather(plant, out)


@compiled
def momentum_change(
    inertia: np.ndarray, axis: np.ndarray, momentum: np.ndarray, psi: np.ndarray, out: np.ndarray
) -> None:
    """``out = S ×* h + I ψ``."""
    multiply_inertia(inertia, psi, out)
    add_cross_force(axis, momentum, out)


@compiled
def fill_before(field: np.ndarray, dof: int, out: np.ndarray) -> None:
    """Fill a motion behind a degree of freedom, or none if that is −1."""
    for a in range(6):
        out[a] = field[dof, a] if dof >= 0 else 0.0


@compiled
def gain_slopes(world: Table, work: Table, step: float, slopes: np.ndarray) -> None:
    """Fill what ``gains`` of `asperity.integrators.methods.tree_balance` change by.

    Parameters
    ----------
    world, work : Table
        With rigid terms of the state itself, and its bodies and axes.
    step : float
        Its size [s].
    slopes : numpy.ndarray
        By positions, velocities at the beginning, and v, shape (3, nv, 7).
    """
    plant = world.plant
    state = world.current
    ends = work.ends
    rigid = work.rigid
    dofs = plant.dofs
    cdof = state.mj_cdof
    nv = plant.nv
    start, sums = np.empty(nv), np.empty(nv)
    for i in range(nv):
        start[i] = work.start.qvel[i]
        sums[i] = work.start.qvel[i] + work.velocity[i]
    axes = rigid.axis_momentum
    motions, momenta = np.empty((2, nv, 6)), np.empty((2, nv, 6))
    fill_field(plant, state, ends.marked, axes, start, motions[0], momenta[0])
    fill_field(plant, state, ends.marked, axes, sums, motions[1], momenta[1])
    rates = np.empty((nv, 6))
    _fill_rates(plant, state, rigid, motions[1], rates)
    v, acceleration, before = np.empty(6), np.empty(6), np.empty(6)
    psi, c, turned, wrench, change = np.empty(6), np.empty(6), np.empty(6), np.empty(6), np.empty(6)
    for j in range(nv):
        tree = dofs.tree[j]
        if ends.marked[tree] == 0:
            continue
        floats = ends.marked[tree] == FLOATS
        root = plant.trees.start[tree]
        mass = axes[root, 3]
        force = rigid.body_force[root]
        s = cdof[j]
        parent = dofs.parent[rigid.joint_first[j]]
        armature = dofs.armature[j]
        fill_before(rigid.motion_rate, parent, v)
        fill_before(rigid.acceleration, parent, acceleration)
        if parent < 0:
            for a in range(3):
                acceleration[3 + a] = -plant.gravity[a]
        cross_motion(v, s, psi)
        cross_motion(acceleration, s, c)
        cross_motion(psi, v, turned)
        for a in range(6):
            c[a] -= turned[a]
        by_position, by_start, by_end = slopes[0, j], slopes[1, j], slopes[2, j]
        by_position[0] = step * (dot6(momenta[1, j], c) + dot6(rates[j], psi))
        force_change(rigid, j, c, psi, wrench)
        add_cross_force(s, rigid.body_force[j], wrench)
        fill_before(motions[1], parent, before)
        cross_motion(before, s, turned)
        by_position[0] += step * dot6(rigid.body_force[j], turned)
        by_velocity = step * dot6(s, rigid.body_force[j])
        by_velocity += armature * (work.velocity[j] - work.start.qvel[j])
        if floats:
            momentum_change(rigid.inertia[j], s, momenta[1, j], turned, change)
            for a in range(3):
                by_position[0] -= step * change[3 + a] * force[3 + a] / mass
                by_velocity -= step * axes[j, 3 + a] * force[3 + a] / mass
        else:
            for a in range(3):
                by_position[0] -= 2.0 * plant.gravity[a] * axes[j, 3 + a]
        fill_before(motions[0], parent, before)
        cross_motion(before, s, turned)
        by_position[0] += 2.0 * dot6(momenta[0, j], turned)
        momentum_change(rigid.inertia[j], s, momenta[0, j], turned, change)
        moved = cross(vector_at(axes[j], 3), vector_at(force, 3))
        for a in range(3):
            by_position[MOMENTUM + a] = change[3 + a] + step * wrench[3 + a]
            by_position[SPIN + a] = change[a] + step * (wrench[a] - moved[a] / mass)
        # By velocities of the forces, and then by accelerations.
        cross_motion(rigid.motion_rate[rigid.joint_last[j]], s, c)
        cross_motion(s, v, turned)
        for a in range(6):
            c[a] -= turned[a]
        rate = step * (dot6(momenta[1, j], c) + dot6(rates[j], s))
        force_change(rigid, j, c, s, wrench)
        share = start_share(work.root, tree)
        inert = dot6(momenta[1, j], s) + armature * sums[j]
        by_start[0] = 2.0 * (dot6(s, momenta[0, j]) + armature * start[j])
        by_start[0] += by_velocity - inert + share * rate
        by_end[0] = by_velocity + inert + (1.0 - share) * rate
        for a in range(3):
            by_start[MOMENTUM + a] = share * step * wrench[3 + a]
            by_start[SPIN + a] = share * step * wrench[a]
            by_end[MOMENTUM + a] = (1.0 - share) * step * wrench[3 + a] + axes[j, 3 + a]
            by_end[SPIN + a] = (1.0 - share) * step * wrench[a] + axes[j, a]
