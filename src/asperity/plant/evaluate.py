"""Evaluation of a state: from positions and velocities to a snapshot of the mechanics.

MuJoCo does kinematics, inertia, collision detection and the forces that are not contact; this file
reads the results into the state's own arrays, in solver velocities (a free body's are its spatial
velocity at its centre of mass, see `asperity.contact.contact_set`).
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import (
    call_pp,
    call_pp_status,
    call_ppp_status,
    call_pppn_status,
    load_address,
    load_int,
    store_double,
    store_int,
)
from asperity.plant.constraints import add_joint_rows, add_mujoco_rows, add_tendon_limits
from asperity.plant.detection.field_completion import complete_field_contacts
from asperity.plant.detection.gliding_kernels import gliding_model
from asperity.plant.efforts import add_effort_rows
from asperity.plant.model.actuation import actuator_forces, add_servo_rows
from asperity.plant.passive_rows import add_passive_rows
from asperity.plant.plant_layouts import (
    EVALUATED,
    NOT_AHEAD,
    OTHER_FORCES,
    PLANT,
    STATE,
    VALID,
    WOKEN,
)
from asperity.plant.resting_layout import RESTING, RESTING_POSITIONS
from asperity.plant.rotations import Vector, between, cross, plus, vector_at
from asperity.plant.trees import force_to_solver, is_centred, velocity_to_solver

__all__ = [
    "centripetal",
    "change_distances",
    "evaluate",
    "evaluate_motion",
    "evaluate_smooth",
    "force_to_centres",
    "gyroscopic_force",
    "read_constraints",
]


# Tilt [rad] up to which a cylinder stands on a plane.
_UPRIGHT = 1e-12

# Of MuJoCo's contacts: `exclude` of those in a gap, and a row that none has.
_IN_GAP, _MARKED = 1, -2


@compiled
def _copy_in(plant: Table, state: Table) -> None:
    data = state.data
    for i in range(state.qpos.size):
        state.mj_qpos[i] = state.qpos[i]
    for i in range(state.qvel.size):
        state.mj_qvel[i] = state.qvel[i]
    for i in range(state.act.size):
        state.mj_act[i] = state.act[i]
    store_double(data + plant.offsets.time_offset, state.time)


@compiled
def _find_positions(plant: Table, state: Table) -> None:
    """Let MuJoCo find where everything is."""
    mujoco = plant.mujoco
    if state.find_positions != 0:
        call_pp_status(state.find_positions, plant, state)
    else:
        call_pp(mujoco.kinematics, plant.model, state.data)
        call_pp(mujoco.com_pos, plant.model, state.data)
    if plant.tendons.any:
        call_pp(mujoco.tendon, plant.model, state.data)
    if plant.find_elasticity != 0:
        call_pp(mujoco.flex, plant.flex_model, state.data)


@compiled
def _align_cylinders(plant: Table, state: Table) -> None:
    """Give cylinders that stand on planes to within round-off the planes' normals as axes.

    From a tilt of 10⁻¹⁵ MuJoCo takes the direction of the lowest point: round-off decides whether
    there is no contact, or one as deep as the radius (`mjc_PlaneCylinder`).
    """
    geoms = plant.geoms
    xmat = state.mj_geom_xmat
    for pair in range(geoms.plane_cylinder.shape[0]):
        plane = geoms.plane_cylinder[pair, 0]
        geom = geoms.plane_cylinder[pair, 1]
        cosine = 0.0
        for i in range(2, 9, 3):
            cosine += xmat[plane, i] * xmat[geom, i]
        square = 0.0
        for i in range(2, 9, 3):
            off = xmat[geom, i] - cosine * xmat[plane, i]
            square += off * off
        if square < _UPRIGHT * _UPRIGHT:
            for i in range(2, 9, 3):
                xmat[geom, i] = xmat[plane, i] if cosine > 0.0 else -xmat[plane, i]


@compiled
def _find_contacts_and_motion(plant: Table, state: Table, looks_ahead: bool) -> None:
    """Let MuJoCo find contacts, and all else, which does not depend on them."""
    _align_cylinders(plant, state)
    model = plant.detection_model
    state.widened = 0
    if state.gliding != 0:
        margins = gliding_model(plant, state, looks_ahead)
        if margins != 0:
            model = margins
            state.widened = 1
    if state.detect_shared != 0:
        call_pppn_status(state.detect_shared, plant, state, model, 0)
        return
    if state.widened == 0 and plant.list_pairs != 0:
        model = call_pp_status(plant.list_pairs, plant, state)
    call_pp(plant.mujoco.collision, model, state.data)
    if plant.has_fields:
        complete_field_contacts(plant, state, state.data)
    if plant.mend_normals != 0:
        call_ppp_status(plant.mend_normals, plant, state, state.data)
    call_pp_status(plant.evaluate_motion, plant, state)


@compiled
def _mass(plant: Table, state: Table) -> None:
    """Diagonal blocks of the mass matrix in solver velocities."""
    trees = plant.trees
    dofs = plant.dofs
    mass = state.mass
    cinert = state.mj_cinert
    for tree in range(plant.ntree):
        if state.work.left_out[tree] == 1:
            continue
        block = trees.block_start[tree]
        start = trees.start[tree]
        n = trees.size[tree]
        if trees.spatial[tree]:
            # Rotational inertia about the centre of mass, and mass; everything else is zero there.
            xx = yy = zz = xy = xz = yz = m = 0.0
            for body in range(trees.body[tree], trees.body[tree] + trees.bodies[tree]):
                xx += cinert[body, 0]
                yy += cinert[body, 1]
                zz += cinert[body, 2]
                xy += cinert[body, 3]
                xz += cinert[body, 4]
                yz += cinert[body, 5]
                m += cinert[body, 9]
            mass[block] = xx
            mass[block + 7] = yy
            mass[block + 14] = zz
            mass[block + 1] = xy
            mass[block + 6] = xy
            mass[block + 2] = xz
            mass[block + 12] = xz
            mass[block + 8] = yz
            mass[block + 13] = yz
            mass[block + 21] = m
            mass[block + 28] = m
            mass[block + 35] = m
        else:
            for i in range(start, start + n):
                row = block + (i - start) * n
                for e in range(dofs.mass_rowadr[i], dofs.mass_rowadr[i] + dofs.mass_rownnz[i]):
                    j = dofs.mass_colind[e] - start
                    mass[row + j] = state.mj_mass[e]
                    mass[block + j * n + i - start] = state.mj_mass[e]
        for i in range(n):
            state.mass_diagonal[start + i] = mass[block + i * n + i]
            state.mass_inverse_diagonal[start + i] = 1.0 / mass[block + i * n + i]


@compiled
def _add_applied(plant: Table, state: Table, out: np.ndarray) -> None:
    """Add ``qfrc_applied`` and ``xfrc_applied`` to generalized forces."""
    bodies = plant.bodies
    for i in range(state.mj_qfrc_applied.size):
        out[i] += state.mj_qfrc_applied[i]
    xfrc = state.mj_xfrc_applied
    cdof = state.mj_cdof
    for body in range(1, plant.nbody):
        fx, fy, fz = xfrc[body, 0], xfrc[body, 1], xfrc[body, 2]
        tx, ty, tz = xfrc[body, 3], xfrc[body, 4], xfrc[body, 5]
        if fx == 0.0 and fy == 0.0 and fz == 0.0 and tx == 0.0 and ty == 0.0 and tz == 0.0:
            continue
        rx, ry, rz = between(state.mj_xipos, body, state.mj_subtree_com, bodies.root[body])
        tx += ry * fz - rz * fy
        ty += rz * fx - rx * fz
        tz += rx * fy - ry * fx
        dof = bodies.last_dof[body]
        while dof >= 0:
            out[dof] += (
                cdof[dof, 0] * tx
                + cdof[dof, 1] * ty
                + cdof[dof, 2] * tz
                + cdof[dof, 3] * fx
                + cdof[dof, 4] * fy
                + cdof[dof, 5] * fz
            )
            dof = plant.dofs.parent[dof]


@compiled
def gyroscopic_force(plant: Table, state: Table, tree: int, spin: Vector) -> Vector:
    """Torque −ω × (I ω) of a free body at an angular velocity ω."""
    x, y, z = spin
    mass = state.mass
    block = plant.trees.block_start[tree]
    hx = mass[block] * x + mass[block + 1] * y + mass[block + 2] * z
    hy = mass[block + 6] * x + mass[block + 7] * y + mass[block + 8] * z
    hz = mass[block + 12] * x + mass[block + 13] * y + mass[block + 14] * z
    return hy * z - hz * y, hz * x - hx * z, hx * y - hy * x


@compiled
def centripetal(plant: Table, state: Table, tree: int, qvel: np.ndarray) -> Vector:
    """The acceleration ω × (ω × c) of a free body's centre of mass about its joint's origin.

    MuJoCo's bias forces contain it, because its velocities are those of the origin. Solver
    velocities are those of the centre of mass, which has no such force.
    """
    first = plant.trees.start[tree] + 3
    spin = (0.0, 0.0, 0.0)
    speed = (0.0, 0.0, 0.0)
    for dof in range(first, first + 3):
        spin = plus(spin, vector_at(state.cdof[dof], 0), qvel[dof])
        speed = plus(speed, vector_at(state.cdof[dof], 3), qvel[dof])
    return cross(spin, speed)


@compiled
def force_to_centres(
    plant: Table, state: Table, qvel: np.ndarray, force: np.ndarray, out: np.ndarray
) -> None:
    """`force_to_solver`, of forces that contain MuJoCo's bias forces at these velocities."""
    force_to_solver(plant, state.cdof, force, out)
    trees = plant.trees
    for tree in range(plant.ntree):
        if is_centred(plant, tree):
            continue
        s = trees.start[tree]
        mass = state.mass[trees.block_start[tree] + 21]
        turning = centripetal(plant, state, tree, qvel)
        for a in range(3):
            out[s + 3 + a] += mass * turning[a]


@compiled
def _free_body_forces(plant: Table, state: Table) -> None:
    """Gravity and gyroscopic forces of free bodies, without MuJoCo's recursions."""
    force = state.force
    velocity = state.velocity
    for tree in range(plant.ntree):
        if state.work.left_out[tree] == 1:
            continue
        s = plant.trees.start[tree]
        spin = (velocity[s], velocity[s + 1], velocity[s + 2])
        gyroscopic = gyroscopic_force(plant, state, tree, spin)
        m = state.mass[plant.trees.block_start[tree] + 21]
        for a in range(3):
            force[s + a] += gyroscopic[a]
            force[s + 3 + a] += m * plant.gravity[a]


@compiled
def _forces(plant: Table, state: Table) -> None:
    """Smooth forces in solver velocities, with joint damping taken out again."""
    qvel = state.qvel
    force = state.work.dof_force
    velocity_to_solver(plant, state.cdof, qvel, state.velocity)
    if plant.only_free_bodies:
        for i in range(qvel.size):
            force[i] = 0.0
        _add_applied(plant, state, force)
        force_to_solver(plant, state.cdof, force, state.force)
        _free_body_forces(plant, state)
        return
    for i in range(qvel.size):
        force[i] = (
            state.mj_qfrc_passive[i] - state.mj_qfrc_bias[i] + plant.dofs.damping[i] * qvel[i]
        )
    _add_applied(plant, state, force)
    if plant.has_actuators:
        actuator_forces(plant, state, force)
    for p in range(plant.elastic.particles):
        dof = plant.elastic.particle_dof[p]
        if dof >= 0:
            for a in range(3):
                force[dof + a] += state.soft.force[p, a]
    for twist in range(plant.elastic.twists):
        for side in range(2):
            dof = plant.elastic.twist_dof[twist, side]
            if dof >= 0:
                torque = state.soft.torque[twist]
                force[dof] += torque if side == 1 else -torque
    force_to_centres(plant, state, qvel, force, state.force)


@entry_point(types.int64(PLANT.type, STATE.type))
def read_constraints(plant: Table, state: Table) -> int:
    """Fill the constraint set; returns ``EVALUATED`` or what is missing."""
    status = add_joint_rows(plant, state)
    if status == EVALUATED and plant.has_actuators:
        status = add_servo_rows(plant, state)
    if status == EVALUATED and plant.has_mujoco_rows:
        status = add_mujoco_rows(plant, state)
    if status == EVALUATED and plant.tendons.limited.size > 0:
        status = add_tendon_limits(plant, state)
    if status == EVALUATED:
        status = add_passive_rows(plant, state)
    if status == EVALUATED and plant.actuators.effort_dof.size > 0:
        status = add_effort_rows(plant, state)
    return status


@compiled
def _shift_references(plant: Table, state: Table) -> None:
    """Let all dofs of trees that were taken together refer to one point: l + a × (c₀ − c)."""
    bodies = plant.bodies
    com = state.mj_subtree_com
    for k in range(bodies.shifted_dof.size):
        body = bodies.shifted_body[k]
        old = bodies.root[body]
        new = bodies.reference[body]
        x, y, z = between(com, new, com, old)
        axis = state.cdof[bodies.shifted_dof[k]]
        axis[3] += axis[1] * z - axis[2] * y
        axis[4] += axis[2] * x - axis[0] * z
        axis[5] += axis[0] * y - axis[1] * x


@compiled
def _read_smooth(plant: Table, state: Table) -> None:
    """Read what is not contact or constraint from the state's MjData."""
    trees = plant.trees
    for tree in range(plant.ntree):
        if state.work.left_out[tree] == 1:
            continue
        for i in range(trees.start[tree], trees.start[tree] + trees.size[tree]):
            for a in range(6):
                state.cdof[i, a] = state.mj_cdof[i, a]
    _shift_references(plant, state)
    for i in range(state.act_dot.size):
        state.act_dot[i] = state.mj_act_dot[i]
    _mass(plant, state)
    _forces(plant, state)


@compiled
def _find_adhesion(plant: Table, state: Table) -> None:
    """Let MuJoCo find how actuators act on bodies: along the normals of their contacts.

    It looks for those normals in its constraint rows, of which contacts have none here, unless a
    contact is marked as one in a gap.
    """
    offsets = plant.offsets
    contacts = load_address(state.data + offsets.contact_offset)
    count = load_int(state.data + offsets.ncon_offset)
    for side in range(2):
        if side == 1:
            call_pp(plant.mujoco.transmission, plant.model, state.data)
        for i in range(count):
            contact = contacts + i * offsets.contact_size
            exclude = contact + offsets.contact_exclude
            row = contact + offsets.contact_efc_address
            if side == 0 and load_int(exclude) == 0:
                store_int(exclude, _IN_GAP)
                store_int(row, _MARKED)
            elif side == 1 and load_int(row) == _MARKED:
                store_int(exclude, 0)
                store_int(row, -1)


@compiled
def _actuate(plant: Table, state: Table) -> None:
    """Let MuJoCo find forces of actuators and rates of activations."""
    if plant.mujoco.ask_actuators != 0:
        call_pp_status(plant.mujoco.ask_actuators, plant, state)
    else:
        call_pp(plant.mujoco.forward_actuation, plant.mujoco.actuation_model, state.data)


@compiled
def _moving_structs(plant: Table, state: Table) -> tuple[int, int]:
    """Addresses of MuJoCo's structs as stages get them that look at all that moves."""
    if state.resting != 0:
        positions = RESTING_POSITIONS.at(state.shared_positions)
        if positions.everything == 0:
            return positions.model.ctypes.data, positions.data.ctypes.data
    return plant.smooth_model, state.data


@entry_point(types.int64(PLANT.type, STATE.type))
def evaluate_motion(plant: Table, state: Table) -> int:
    """Fill what is not contact or constraint, for positions that have been found."""
    mujoco = plant.mujoco
    model = plant.model
    data = state.data
    moving_model, moving_data = _moving_structs(plant, state)
    if plant.has_articulated_trees:
        call_pp(mujoco.make_mass, moving_model, moving_data)
    # Rows of an earlier evaluation would be read by the velocity stage.
    store_int(data + plant.offsets.nefc_offset, 0)
    if plant.acts_on_bodies:
        _find_adhesion(plant, state)
    elif plant.has_actuators:
        call_pp(plant.mujoco.transmission, model, data)
    if not plant.only_free_bodies:
        call_pp(mujoco.forward_velocity, moving_model, moving_data)
    if plant.has_actuators:
        _actuate(plant, state)
    if plant.find_elasticity != 0:
        call_pp_status(plant.find_elasticity, plant, state)
    _read_smooth(plant, state)
    return EVALUATED


@entry_point(types.int64(PLANT.type, STATE.type))
def evaluate_smooth(plant: Table, state: Table) -> int:
    """Fill a state's snapshot without contacts and constraints, which are void afterwards.

    Adhesion is that of the contacts which MuJoCo finds.
    """
    state.valid = 0
    _copy_in(plant, state)
    _find_positions(plant, state)
    if plant.has_adhesion:
        _align_cylinders(plant, state)
        call_pp(plant.mujoco.collision, plant.detection_model, state.data)
    return call_pp_status(plant.evaluate_motion, plant, state)


@compiled
def _has_motion(plant: Table, state: Table) -> bool:
    """Whether the state's MjData still holds what the last evaluation has left of the motion.

    A user may have called MuJoCo's functions in between, for other positions.
    """
    if not plant.only_free_bodies:
        for i in range(state.work.passive_force.size):
            if state.work.passive_force[i] != state.mj_qfrc_passive[i] - state.mj_qfrc_bias[i]:
                return False
    for i in range(state.work.actuator_length.size):
        if state.work.actuator_length[i] != state.mj_actuator_length[i]:
            return False
    return True


@compiled
def _keep_motion(plant: Table, state: Table) -> None:
    if not plant.only_free_bodies:
        for i in range(state.work.passive_force.size):
            state.work.passive_force[i] = state.mj_qfrc_passive[i] - state.mj_qfrc_bias[i]
    for i in range(state.work.actuator_length.size):
        state.work.actuator_length[i] = state.mj_actuator_length[i]


@compiled
def _evaluate_forces(plant: Table, state: Table) -> int:
    """Fill what depends on controls and applied forces, with all else at hand."""
    state.valid = 0
    if plant.has_actuators:
        _actuate(plant, state)
    for i in range(state.act_dot.size):
        state.act_dot[i] = state.mj_act_dot[i]
    _forces(plant, state)
    status = call_pp_status(plant.read_constraints, plant, state)
    if status == EVALUATED:
        state.valid = VALID
    return status


@compiled
def change_distances(state: Table, changes: np.ndarray) -> None:
    """Let signed distances differ from those of the geoms, if that many contacts are there."""
    contacts = state.contacts
    if contacts.count != changes.size:
        return
    for c in range(contacts.count):
        contacts.signed_distance[c] += changes[c]
        contacts.distance_change[c] = changes[c]


@compiled
def _is_within_step(state: Table) -> bool:
    return RESTING_POSITIONS.at(state.shared_positions).within_step == 1


@entry_point(types.int64(PLANT.type, STATE.type))
def evaluate(plant: Table, state: Table) -> int:
    """Fill a state's snapshot.

    Returns ``EVALUATED``, or what is missing (the snapshot is then invalid), or `WOKEN` if a step
    is to begin again.
    """
    if state.valid == OTHER_FORCES and _has_motion(plant, state):
        return _evaluate_forces(plant, state)
    looks_ahead = state.valid != NOT_AHEAD
    state.valid = 0
    _copy_in(plant, state)
    repeats = True
    while repeats:
        _find_positions(plant, state)
        _find_contacts_and_motion(plant, state, looks_ahead)
        state.evaluations += 1
        if state.detect_shared != 0 and state.contacts_status >= 0:
            status = state.contacts_status
        else:
            if plant.leave_out_seams != 0:
                call_pp_status(plant.leave_out_seams, plant, state)
            status = call_pp_status(plant.read_contacts, plant, state)
        if status == EVALUATED and state.resting != 0:
            status = call_pp_status(RESTING.at(state.resting).wake_touched, plant, state)
        repeats = status == WOKEN and not _is_within_step(state)
    if status == EVALUATED and state.detect_shared != 0:
        status = state.rows_status
    elif status == EVALUATED:
        status = call_pp_status(plant.read_constraints, plant, state)
    if status == EVALUATED:
        state.valid = VALID
        _keep_motion(plant, state)
        change_distances(state, state.distance_changes)
    return status
