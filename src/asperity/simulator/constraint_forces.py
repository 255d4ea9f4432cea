"""Contact and constraint forces where MuJoCo's own functions look for them, in ``efc_force``."""

from __future__ import annotations

from numba import types

from asperity.compiled import compiled, compiled_loop
from asperity.compiled.calls import load_address, load_double, load_int, store_double
from asperity.contact.constraint_set import ACTUATOR, CONSTRAINT_SET, LIMIT
from asperity.contact.contact_set import CONTACT_SET, COUNT_CONTACTS
from asperity.convex.problem import PROBLEM
from asperity.integrators.layout import WORLD
from asperity.plant.layouts import PLANT, STATE

__all__ = ["write_constraint_forces"]

# MuJoCo's mjtConstraint and mjtJoint.
_FRICTION_DOF = 1
_LIMIT_JOINT = 3
_BALL = 1

_world = WORLD.get
_plant = PLANT.get
_state = STATE.get
_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_rows = CONSTRAINT_SET.get


@compiled
def _add(address, value):
    store_double(address, load_double(address) + value)


@compiled
def _write_contacts(plant, problem, state, force, step):
    contacts = _state(state, "contacts")
    source = _contacts(contacts, "source")
    order = _problem(problem, "contact")
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    base = load_address(_state(state, "data") + _plant(plant, "contact_offset"))
    size = _plant(plant, "contact_size")
    pyramidal = _plant(plant, "pyramidal_cones")
    for i in range(_contacts(contacts, "counts")[COUNT_CONTACTS]):
        contact = base + source[order[i]] * size
        row = load_int(contact + _plant(plant, "contact_efc_address"))
        if row < 0:
            continue
        at = force + 8 * row
        dim = load_int(contact + _plant(plant, "contact_dim"))
        normal = gn[i] / step
        if dim == 1:
            store_double(at, normal)
        elif not pyramidal:
            store_double(at, normal)
            store_double(at + 8, g1[i] / step)
            store_double(at + 16, g2[i] / step)
        else:
            # Opposite edges of the pyramid: their sum is normal, their difference tangential.
            edges = 2 * (dim - 1)
            for k in range(edges):
                store_double(at + 8 * k, normal / edges)
            for axis in range(2):
                friction = load_double(contact + _plant(plant, "contact_friction") + 8 * axis)
                tangential = g1[i] if axis == 0 else g2[i]
                half = 0.5 * tangential / step / max(friction, 1e-15)
                _add(at + 16 * axis, half)
                _add(at + 16 * axis + 8, -half)


@compiled
def _find_rows(plant, state, count):
    """Fill the scratch with MuJoCo's rows of joint limits, by sign, and of dry friction of dofs."""
    data = _state(state, "data")
    kinds = load_address(data + _plant(plant, "efc_type_offset"))
    ids = load_address(data + _plant(plant, "efc_id_offset"))
    jacobian = load_address(data + _plant(plant, "efc_jacobian_offset"))
    rowadr = load_address(data + _plant(plant, "efc_rowadr_offset"))
    limit_rows = _plant(plant, "joint_limit_rows")
    friction_rows = _plant(plant, "dof_friction_rows")
    joint_type = _plant(plant, "joint_type")
    joint_dof = _plant(plant, "joint_dof")
    nv = _plant(plant, "nv")
    for i in range(limit_rows.shape[0]):
        limit_rows[i, 0] = -1
        limit_rows[i, 1] = -1
    for i in range(friction_rows.size):
        friction_rows[i] = -1
    for i in range(count):
        kind = load_int(kinds + 4 * i)
        index = load_int(ids + 4 * i)
        if kind == _FRICTION_DOF:
            friction_rows[index] = i
        elif kind == _LIMIT_JOINT:
            side = 1
            if joint_type[index] != _BALL:
                if _plant(plant, "sparse_rows"):
                    entry = load_int(rowadr + 4 * i)
                else:
                    entry = i * nv + joint_dof[index]
                side = 1 if load_double(jacobian + 8 * entry) > 0.0 else 0
            limit_rows[index, side] = i


@compiled
def _write_rows(plant, problem, state, force, count, step):
    rows = _state(state, "rows")
    present = _rows(rows, "counts")[0]
    if present == 0:
        return
    _find_rows(plant, state, count)
    kind = _rows(rows, "kind")
    source = _rows(rows, "source")
    order = _problem(problem, "row")
    impulse = _problem(problem, "row_impulse")
    limit_rows = _plant(plant, "joint_limit_rows")
    friction_rows = _plant(plant, "dof_friction_rows")
    for i in range(present):
        r = order[i]
        if kind[r] == ACTUATOR:
            continue
        value = impulse[i] / step
        if source[r] >= 0:
            store_double(force + 8 * source[r], value)
            continue
        index = -1 - source[r]
        if kind[r] != LIMIT:
            if friction_rows[index] >= 0:
                store_double(force + 8 * friction_rows[index], value)
            continue
        # A limit pushes into its own row, and what it pulls is in the only one there is.
        pushing = 1 if value >= 0.0 else 0
        alone = limit_rows[index, 0] < 0 or limit_rows[index, 1] < 0
        for side in range(2):
            row = limit_rows[index, side]
            if row >= 0 and (side == pushing or alone):
                store_double(force + 8 * row, value if side == 1 else -value)


@compiled_loop(types.void(types.int64, types.float64))
def write_constraint_forces(world, step):
    """Write the forces of the last solve [N, Nm] into ``efc_force`` of the current state's data."""
    plant = _world(world, "plant")
    problem = _world(world, "problem")
    state = _world(world, "current")
    data = _state(state, "data")
    count = load_int(data + _plant(plant, "nefc_offset"))
    if count == 0:
        return
    force = load_address(data + _plant(plant, "efc_force_offset"))
    for i in range(count):
        store_double(force + 8 * i, 0.0)
    _write_contacts(plant, problem, state, force, step)
    _write_rows(plant, problem, state, force, count, step)
