"""Contact and constraint forces where MuJoCo's own functions look for them, in ``efc_force``."""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.calls import load_address, load_double, load_int, store_double
from asperity.contact.constraint_set import ACTUATOR, LIMIT
from asperity.integrators.world_layout import WORLD

__all__ = ["write_constraint_forces"]

# MuJoCo's mjtConstraint and mjtJoint.
_FRICTION_DOF = 1
_LIMIT_JOINT = 3
_BALL = 1


@compiled
def _add(address: int, value: float) -> None:
    store_double(address, load_double(address) + value)


@compiled
def _write_contacts(plant: Table, problem: Table, state: Table, force: int, step: float) -> None:
    contacts = state.contacts
    base = load_address(state.data + plant.contact_offset)
    size = plant.contact_size
    pyramidal = plant.pyramidal_cones
    for i in range(contacts.count):
        contact = base + contacts.source[problem.contact[i]] * size
        row = load_int(contact + plant.contact_efc_address)
        if row < 0:
            continue
        at = force + 8 * row
        dim = load_int(contact + plant.contact_dim)
        normal = problem.gn[i] / step
        if dim == 1:
            store_double(at, normal)
        elif not pyramidal:
            store_double(at, normal)
            store_double(at + 8, problem.g1[i] / step)
            store_double(at + 16, problem.g2[i] / step)
        else:
            # Opposite edges of the pyramid: their sum is normal, their difference tangential.
            edges = 2 * (dim - 1)
            for k in range(edges):
                store_double(at + 8 * k, normal / edges)
            for axis in range(2):
                friction = load_double(contact + plant.contact_friction + 8 * axis)
                tangential = problem.g1[i] if axis == 0 else problem.g2[i]
                half = 0.5 * tangential / step / max(friction, 1e-15)
                _add(at + 16 * axis, half)
                _add(at + 16 * axis + 8, -half)


@compiled
def _find_rows(plant: Table, state: Table, count: int) -> None:
    """Fill the scratch with MuJoCo's rows of joint limits, by sign, and of dry friction of dofs."""
    data = state.data
    kinds = load_address(data + plant.efc_type_offset)
    ids = load_address(data + plant.efc_id_offset)
    jacobian = load_address(data + plant.efc_jacobian_offset)
    rowadr = load_address(data + plant.efc_rowadr_offset)
    limit_rows = plant.joint_limit_rows
    nv = plant.nv
    for i in range(limit_rows.shape[0]):
        limit_rows[i, 0] = -1
        limit_rows[i, 1] = -1
    for i in range(plant.dof_friction_rows.size):
        plant.dof_friction_rows[i] = -1
    for i in range(count):
        kind = load_int(kinds + 4 * i)
        index = load_int(ids + 4 * i)
        if kind == _FRICTION_DOF:
            plant.dof_friction_rows[index] = i
        elif kind == _LIMIT_JOINT:
            side = 1
            if plant.joint_type[index] != _BALL:
                if plant.sparse_rows:
                    entry = load_int(rowadr + 4 * i)
                else:
                    entry = i * nv + plant.joint_dof[index]
                side = 1 if load_double(jacobian + 8 * entry) > 0.0 else 0
            limit_rows[index, side] = i


@compiled
def _write_rows(
    plant: Table, problem: Table, state: Table, force: int, count: int, step: float
) -> None:
    rows = state.rows
    present = rows.count
    if present == 0:
        return
    _find_rows(plant, state, count)
    for i in range(present):
        r = problem.row[i]
        if rows.kind[r] == ACTUATOR:
            continue
        value = problem.row_impulse[i] / step
        if rows.source[r] >= 0:
            store_double(force + 8 * rows.source[r], value)
            continue
        index = -1 - rows.source[r]
        if rows.kind[r] != LIMIT:
            if plant.dof_friction_rows[index] >= 0:
                store_double(force + 8 * plant.dof_friction_rows[index], value)
            continue
        # A limit pushes into its own row, and what it pulls is in the only one there is.
        pushing = 1 if value >= 0.0 else 0
        alone = plant.joint_limit_rows[index, 0] < 0 or plant.joint_limit_rows[index, 1] < 0
        for side in range(2):
            row = plant.joint_limit_rows[index, side]
            if row >= 0 and (side == pushing or alone):
                store_double(force + 8 * row, value if side == 1 else -value)


@compiled_loop(types.void(WORLD.type, types.float64))
def write_constraint_forces(world: Table, step: float) -> None:
    """Write the forces of the last solve [N, Nm] into ``efc_force`` of the current state's data."""
    plant = world.plant
    problem = world.problem
    state = world.current
    data = state.data
    count = load_int(data + plant.nefc_offset)
    if count == 0:
        return
    force = load_address(data + plant.efc_force_offset)
    for i in range(count):
        store_double(force + 8 * i, 0.0)
    _write_contacts(plant, problem, state, force, step)
    _write_rows(plant, problem, state, force, count, step)
