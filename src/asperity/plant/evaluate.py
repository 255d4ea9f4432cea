"""Evaluation of a state: from positions and velocities to a snapshot of the mechanics.

MuJoCo does kinematics, inertia, collision detection and the forces that are not contact; this file
reads the results into the state's own arrays, in solver velocities (a free body's are its spatial
velocity at its centre of mass, see `asperity.contact.contact_set`).
"""

from __future__ import annotations

from numba import types

from asperity.compiled import compiled, entry_point
from asperity.compiled.calls import call_pp, call_pp_status, store_double, store_int
from asperity.plant.actuation import actuator_forces, add_servo_rows
from asperity.plant.constraints import add_joint_rows, add_mujoco_rows
from asperity.plant.efforts import add_effort_rows
from asperity.plant.layouts import EVALUATED, PLANT, STATE, TIME
from asperity.plant.trees import force_to_solver, velocity_to_solver

__all__ = ["evaluate", "evaluate_smooth", "read_constraints"]

_plant = PLANT.get
_state = STATE.get


@compiled
def _copy_in(plant, state):
    data = _state(state, "data")
    qpos = _state(state, "qpos")
    qvel = _state(state, "qvel")
    act = _state(state, "act")
    mj_qpos = _state(state, "mj_qpos")
    mj_qvel = _state(state, "mj_qvel")
    mj_act = _state(state, "mj_act")
    for i in range(qpos.size):
        mj_qpos[i] = qpos[i]
    for i in range(qvel.size):
        mj_qvel[i] = qvel[i]
    for i in range(act.size):
        mj_act[i] = act[i]
    store_double(data + _plant(plant, "time_offset"), _state(state, "reals")[TIME])


@compiled
def _run_mujoco(plant, state, collide):
    model = _plant(plant, "model")
    data = _state(state, "data")
    call_pp(_plant(plant, "kinematics"), model, data)
    call_pp(_plant(plant, "com_pos"), model, data)
    if _plant(plant, "has_tendons"):
        call_pp(_plant(plant, "tendon"), model, data)
    if _plant(plant, "has_articulated_trees"):
        call_pp(_plant(plant, "make_mass"), model, data)
    if collide:
        call_pp(_plant(plant, "collision"), model, data)
    # Rows of an earlier evaluation would be read by the velocity stage.
    store_int(data + _plant(plant, "nefc_offset"), 0)
    if _plant(plant, "has_actuators"):
        call_pp(_plant(plant, "transmission"), model, data)
    if not _plant(plant, "only_free_bodies"):
        call_pp(_plant(plant, "forward_velocity"), model, data)
    if _plant(plant, "has_actuators"):
        call_pp(_plant(plant, "forward_actuation"), model, data)


@compiled
def _mass(plant, state):
    """Diagonal blocks of the mass matrix in solver velocities."""
    mass = _state(state, "mass")
    diagonal = _state(state, "mass_diagonal")
    inverse = _state(state, "mass_inverse_diagonal")
    tree_start = _plant(plant, "tree_start")
    tree_size = _plant(plant, "tree_size")
    tree_spatial = _plant(plant, "tree_spatial")
    tree_body = _plant(plant, "tree_body")
    tree_bodies = _plant(plant, "tree_bodies")
    block_start = _plant(plant, "block_start")
    rownnz = _plant(plant, "mass_rownnz")
    rowadr = _plant(plant, "mass_rowadr")
    colind = _plant(plant, "mass_colind")
    cinert = _state(state, "mj_cinert")
    sparse = _state(state, "mj_mass")
    for tree in range(_plant(plant, "ntree")):
        block = block_start[tree]
        start = tree_start[tree]
        n = tree_size[tree]
        if tree_spatial[tree]:
            # Rotational inertia about the centre of mass, and mass; everything else is zero there.
            xx = yy = zz = xy = xz = yz = m = 0.0
            for body in range(tree_body[tree], tree_body[tree] + tree_bodies[tree]):
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
                for e in range(rowadr[i], rowadr[i] + rownnz[i]):
                    j = colind[e] - start
                    mass[row + j] = sparse[e]
                    mass[block + j * n + i - start] = sparse[e]
        for i in range(n):
            diagonal[start + i] = mass[block + i * n + i]
            inverse[start + i] = 1.0 / mass[block + i * n + i]


@compiled
def _add_applied(plant, state, out):
    """Add ``qfrc_applied`` and ``xfrc_applied`` to generalized forces."""
    applied = _state(state, "mj_qfrc_applied")
    for i in range(applied.size):
        out[i] += applied[i]
    xfrc = _state(state, "mj_xfrc_applied")
    xipos = _state(state, "mj_xipos")
    com = _state(state, "mj_subtree_com")
    cdof = _state(state, "mj_cdof")
    root = _plant(plant, "body_root")
    parent = _plant(plant, "dof_parent")
    last = _plant(plant, "body_last_dof")
    for body in range(1, _plant(plant, "nbody")):
        fx = xfrc[body, 0]
        fy = xfrc[body, 1]
        fz = xfrc[body, 2]
        tx = xfrc[body, 3]
        ty = xfrc[body, 4]
        tz = xfrc[body, 5]
        if fx == 0.0 and fy == 0.0 and fz == 0.0 and tx == 0.0 and ty == 0.0 and tz == 0.0:
            continue
        rx = xipos[body, 0] - com[root[body], 0]
        ry = xipos[body, 1] - com[root[body], 1]
        rz = xipos[body, 2] - com[root[body], 2]
        tx += ry * fz - rz * fy
        ty += rz * fx - rx * fz
        tz += rx * fy - ry * fx
        dof = last[body]
        while dof >= 0:
            out[dof] += (
                cdof[dof, 0] * tx
                + cdof[dof, 1] * ty
                + cdof[dof, 2] * tz
                + cdof[dof, 3] * fx
                + cdof[dof, 4] * fy
                + cdof[dof, 5] * fz
            )
            dof = parent[dof]


@compiled
def _free_body_forces(plant, state):
    """Gravity and gyroscopic torque of free bodies, −ω × (I ω), without MuJoCo's recursions."""
    mass = _state(state, "mass")
    force = _state(state, "force")
    velocity = _state(state, "velocity")
    qvel = _state(state, "qvel")
    gravity = _plant(plant, "gravity")
    tree_start = _plant(plant, "tree_start")
    block_start = _plant(plant, "block_start")
    for tree in range(_plant(plant, "ntree")):
        s = tree_start[tree]
        block = block_start[tree]
        x = velocity[s]
        y = velocity[s + 1]
        z = velocity[s + 2]
        hx = mass[block] * x + mass[block + 1] * y + mass[block + 2] * z
        hy = mass[block + 6] * x + mass[block + 7] * y + mass[block + 8] * z
        hz = mass[block + 12] * x + mass[block + 13] * y + mass[block + 14] * z
        force[s] += hy * z - hz * y
        force[s + 1] += hz * x - hx * z
        force[s + 2] += hx * y - hy * x
        # A step maps velocities at the centre of mass back to the joint's with the lever arm c of
        # its beginning; that arm turns, hence m ω × (ω × c).
        u = velocity[s + 3] - qvel[s]
        v = velocity[s + 4] - qvel[s + 1]
        w = velocity[s + 5] - qvel[s + 2]
        m = mass[block + 21]
        force[s + 3] += m * (gravity[0] - (y * w - z * v))
        force[s + 4] += m * (gravity[1] - (z * u - x * w))
        force[s + 5] += m * (gravity[2] - (x * v - y * u))


@compiled
def _forces(plant, state):
    """Smooth forces in solver velocities, with joint damping taken out again."""
    bias = _state(state, "mj_qfrc_bias")
    passive = _state(state, "mj_qfrc_passive")
    damping = _plant(plant, "dof_damping")
    qvel = _state(state, "qvel")
    force = _plant(plant, "dof_force")
    velocity_to_solver(plant, _state(state, "cdof"), qvel, _state(state, "velocity"))
    if _plant(plant, "only_free_bodies"):
        for i in range(qvel.size):
            force[i] = 0.0
        _add_applied(plant, state, force)
        force_to_solver(plant, _state(state, "cdof"), force, _state(state, "force"))
        _free_body_forces(plant, state)
        return
    for i in range(qvel.size):
        force[i] = passive[i] - bias[i] + damping[i] * qvel[i]
    _add_applied(plant, state, force)
    if _plant(plant, "has_actuators"):
        actuator_forces(plant, state, force)
    force_to_solver(plant, _state(state, "cdof"), force, _state(state, "force"))


@entry_point(types.int64(types.int64, types.int64))
def read_constraints(plant, state):
    """Fill the constraint set; returns ``EVALUATED`` or what is missing."""
    status = add_joint_rows(plant, state)
    if status == EVALUATED and _plant(plant, "has_actuators"):
        status = add_servo_rows(plant, state)
    if status == EVALUATED and _plant(plant, "has_mujoco_rows"):
        status = add_mujoco_rows(plant, state)
    if status == EVALUATED and _plant(plant, "effort_dof").size > 0:
        status = add_effort_rows(plant, state)
    return status


@compiled
def _read_smooth(plant, state):
    """Read what is not contact or constraint from the state's MjData."""
    mj_cdof = _state(state, "mj_cdof")
    cdof = _state(state, "cdof")
    for i in range(cdof.shape[0]):
        for a in range(6):
            cdof[i, a] = mj_cdof[i, a]
    act_dot = _state(state, "act_dot")
    mj_act_dot = _state(state, "mj_act_dot")
    for i in range(act_dot.size):
        act_dot[i] = mj_act_dot[i]
    _mass(plant, state)
    _forces(plant, state)


@entry_point(types.int64(types.int64, types.int64))
def evaluate_smooth(plant, state):
    """Fill a state's snapshot without contacts and constraints, which are void afterwards."""
    _state(state, "ints")[0] = 0
    _copy_in(plant, state)
    _run_mujoco(plant, state, False)
    _read_smooth(plant, state)
    return EVALUATED


@entry_point(types.int64(types.int64, types.int64))
def evaluate(plant, state):
    """Fill a state's snapshot.

    Returns ``EVALUATED``, or what is missing (the snapshot is then invalid).
    """
    ints = _state(state, "ints")
    ints[0] = 0
    _copy_in(plant, state)
    _run_mujoco(plant, state, True)
    ints[1] += 1
    _read_smooth(plant, state)
    status = call_pp_status(_plant(plant, "read_contacts"), plant, state)
    if status == EVALUATED:
        status = call_pp_status(_plant(plant, "read_constraints"), plant, state)
    if status == EVALUATED:
        ints[0] = 1
    return status
