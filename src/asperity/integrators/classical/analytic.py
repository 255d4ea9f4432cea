"""Derivatives of the dynamics from those of the forces, without evaluating the model again.

With the solver velocities of a direction, w = J e_j of contacts and constraints,

    ∂a/∂v e_j = M⁻¹ (−D e_j + Jᵀ ∂f/∂v_c w),    ∂a/∂u e_j = M⁻¹ (−K e_j + Jᵀ ∂f/∂c w),

because φ̇ = v_n and ċ = u. Joint springs and dampers, contacts, limits, equalities, dry friction,
linear servos and external systems are in it: all that makes the dynamics stiff. What is left out is
of the order of one: the derivatives of M, of gravity and velocity-dependent forces, of tendons'
springs, and of the directions of contacts. Newton's method converges linearly then, in proportion
to the step, and Rosenbrock's method keeps its order, which holds for any matrix.

Contacts that come and go, whose finite differences are of any size, do no harm here.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import compiled, entry_point
from asperity.contact.constraint_laws import row_force
from asperity.contact.constraint_set import ACTUATOR, CONSTRAINT_SET, FRICTION
from asperity.contact.contact_set import CONTACT_SET
from asperity.contact.laws import friction_coefficient, friction_per_speed, normal_force
from asperity.convex.block_cholesky import cholesky_solve
from asperity.convex.kinematics import (
    add_impulses,
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.problem import PROBLEM
from asperity.integrators.classical.layout import CLASSICAL, FACTOR_STEP, HAS_JACOBIAN, STIFF_STEP
from asperity.integrators.layout import OK, WORLD
from asperity.integrators.linearisation import linearise_system
from asperity.integrators.system_table import EXPLICIT, SYSTEM
from asperity.plant.layouts import PLANT, STATE
from asperity.plant.trees import force_to_solver, velocity_from_solver, velocity_to_solver

__all__ = ["differentiate_forces"]

_SMALL = 1e-6
_DISTANCE = 1e-8  # of a difference [m, rad]; limits and equalities are piecewise linear

_world = WORLD.get
_plant = PLANT.get
_state = STATE.get
_problem = PROBLEM.get
_classical = CLASSICAL.get
_contacts = CONTACT_SET.get
_rows = CONSTRAINT_SET.get
_system = SYSTEM.get


@compiled
def _share(law, static, dynamic, slip, tolerance):
    coefficient = friction_coefficient(static, dynamic, slip, tolerance)
    return coefficient * friction_per_speed(law, slip, tolerance)


@compiled
def _contact_slopes(problem, contacts, ncontact, law):
    """Per contact, ∂f/∂v_c in ``h11 … h2n`` and ∂f/∂φ in ``friction, softness, lagged_normal``."""
    order = _problem(problem, "contact")
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    h11 = _problem(problem, "h11")
    h12 = _problem(problem, "h12")
    h22 = _problem(problem, "h22")
    hnn = _problem(problem, "hnn")
    h1n = _problem(problem, "h1n")
    h2n = _problem(problem, "h2n")
    by_distance_1 = _problem(problem, "friction")
    by_distance_2 = _problem(problem, "softness")
    by_distance_n = _problem(problem, "lagged_normal")
    distance = _contacts(contacts, "signed_distance")
    stiffness = _contacts(contacts, "stiffness")
    dissipation = _contacts(contacts, "dissipation")
    static_friction = _contacts(contacts, "static_friction")
    dynamic_friction = _contacts(contacts, "dynamic_friction")
    stiction_tolerance = _contacts(contacts, "stiction_tolerance")
    for i in range(ncontact):
        c = order[i]
        k = stiffness[c]
        d = dissipation[c]
        normal = normal_force(k, d, distance[c], vn[i])
        by_velocity = 0.0
        by_distance = 0.0
        if distance[c] < 0.0 and d * vn[i] < 1.0:
            by_velocity = k * distance[c] * d
            by_distance = -k * (1.0 - d * vn[i])
        x = v1[i]
        y = v2[i]
        slip = np.sqrt(x * x + y * y)
        tolerance = stiction_tolerance[c]
        static = static_friction[c]
        dynamic = dynamic_friction[c]
        share = _share(law, static, dynamic, slip, tolerance)
        bend = 0.0
        if slip > 0.0:
            size = min(_SMALL * (slip + tolerance), slip)
            ahead = _share(law, static, dynamic, slip + size, tolerance)
            behind = _share(law, static, dynamic, slip - size, tolerance)
            bend = normal * (ahead - behind) / (2.0 * size * slip)
        h11[i] = -share * normal - bend * x * x
        h12[i] = -bend * x * y
        h22[i] = -share * normal - bend * y * y
        hnn[i] = by_velocity
        h1n[i] = -share * x * by_velocity
        h2n[i] = -share * y * by_velocity
        by_distance_1[i] = -share * x * by_distance
        by_distance_2[i] = -share * y * by_distance
        by_distance_n[i] = by_distance


@compiled
def _row_slopes(problem, rows, nrow, stiff_step):
    """∂f/∂u in ``row_gain`` and ∂f/∂c in ``row_target`` of every row."""
    order = _problem(problem, "row")
    u = _problem(problem, "row_u")
    by_velocity = _problem(problem, "row_gain")
    by_position = _problem(problem, "row_target")
    kind = _rows(rows, "kind")
    position = _rows(rows, "position")
    force = _rows(rows, "force")
    proportional = _rows(rows, "proportional")
    derivative = _rows(rows, "derivative")
    lower = _rows(rows, "lower")
    upper = _rows(rows, "upper")
    inverse_mass = _rows(rows, "inverse_mass")
    for i in range(nrow):
        r = order[i]
        low = lower[r]
        high = upper[r]
        if kind[r] == FRICTION:
            square = u[i] * u[i] + low * low
            by_velocity[i] = -high * low * low / (square * np.sqrt(square))
            by_position[i] = 0.0
        elif kind[r] == ACTUATOR:
            free = low < force[r] < high
            by_velocity[i] = -derivative[r] if free else 0.0
            by_position[i] = -proportional[r] if free else 0.0
        else:
            # Towards the distance in which a limit acts, if one does.
            now = row_force(
                kind[r], u[i], position[r], force[r], low, high, inverse_mass[r], stiff_step
            )
            size = _DISTANCE
            moved = row_force(
                kind[r],
                u[i],
                position[r] + size,
                force[r],
                low,
                high - size,
                inverse_mass[r],
                stiff_step,
            )
            by_position[i] = (moved - now) / size
            size = _SMALL * max(1.0, abs(u[i]))
            moved = row_force(
                kind[r],
                u[i] + size,
                position[r],
                force[r],
                low,
                high,
                inverse_mass[r],
                stiff_step,
            )
            by_velocity[i] = (moved - now) / size


@compiled
def _changes(problem, ncontact, nrow, by_position):
    """Changes of the forces for the changes ``dv1 … row_du``, in the places of the forces."""
    dv1 = _problem(problem, "dv1")
    dv2 = _problem(problem, "dv2")
    dvn = _problem(problem, "dvn")
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    if by_position:
        first = _problem(problem, "friction")
        second = _problem(problem, "softness")
        normal = _problem(problem, "lagged_normal")
        for i in range(ncontact):
            g1[i] = first[i] * dvn[i]
            g2[i] = second[i] * dvn[i]
            gn[i] = normal[i] * dvn[i]
    else:
        h11 = _problem(problem, "h11")
        h12 = _problem(problem, "h12")
        h22 = _problem(problem, "h22")
        hnn = _problem(problem, "hnn")
        h1n = _problem(problem, "h1n")
        h2n = _problem(problem, "h2n")
        for i in range(ncontact):
            g1[i] = h11[i] * dv1[i] + h12[i] * dv2[i] + h1n[i] * dvn[i]
            g2[i] = h12[i] * dv1[i] + h22[i] * dv2[i] + h2n[i] * dvn[i]
            gn[i] = hnn[i] * dvn[i]
    change = _problem(problem, "row_du")
    out = _problem(problem, "row_impulse")
    slope = _problem(problem, "row_target") if by_position else _problem(problem, "row_gain")
    for i in range(nrow):
        out[i] = slope[i] * change[i]


@compiled
def _add_systems(world, state, unit, by_position, generalized, solver, out):
    """Add the changes of what external systems exert along a direction."""
    plant = _world(world, "plant")
    systems = _world(world, "systems")
    for i in range(generalized.size):
        generalized[i] = 0.0
    limits = _plant(plant, "effort_range")
    for s in range(systems.size):
        system = systems[s]
        if _system(system, "treatment") != EXPLICIT:
            continue
        jacobian = _system(system, "jacobian")
        now = _system(system, "output_now")
        slope = _system(system, "output_q") if by_position else _system(system, "output_v")
        first = _system(system, "first_effort")
        for b in range(now.size):
            along = 0.0
            for i in range(unit.size):
                along += jacobian[b, i] * unit[i]
            if along == 0.0:
                continue
            for k in range(now.size):
                if limits[first + k, 0] < now[k] < limits[first + k, 1]:
                    change = slope[k, b] * along
                    for i in range(unit.size):
                        generalized[i] += jacobian[k, i] * change
    force_to_solver(plant, _state(state, "cdof"), generalized, solver)
    for i in range(generalized.size):
        out[i] += solver[i]


@entry_point(types.int64(types.int64, types.int64, types.float64, types.int64))
def differentiate_forces(world, _source, _time, state):
    """Fill J_q and J_v at ``state``, where the dynamics have been evaluated last."""
    plant = _world(world, "plant")
    problem = _world(world, "problem")
    classical = _world(world, "classical")
    contacts = _state(state, "contacts")
    rows = _state(state, "rows")
    cdof = _state(state, "cdof")
    ncontact = _contacts(contacts, "counts")[0]
    nrow = _rows(rows, "counts")[0]
    systems = _world(world, "systems")
    for s in range(systems.size):
        if _system(systems[s], "treatment") == EXPLICIT:
            code = linearise_system(plant, systems[s], state)
            if code != OK:
                return code
    _contact_slopes(problem, contacts, ncontact, _classical(classical, "friction_law"))
    _row_slopes(problem, rows, nrow, _classical(classical, "reals")[STIFF_STEP])
    matrices = (
        _classical(classical, "velocity_jacobian"),
        _classical(classical, "position_jacobian"),
    )
    unit = _world(world, "scratch")
    column = _classical(classical, "acceleration_of")[1]
    generalized = _classical(classical, "update")
    n = unit.size
    direction = _problem(problem, "direction")
    total = _problem(problem, "gradient")
    factor = _problem(problem, "factor")
    inverse = _problem(problem, "factor_inverse_diagonal")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    damping = _plant(plant, "dof_damping")
    stiffness = _plant(plant, "dof_stiffness")
    for i in range(n):
        unit[i] = 0.0
    for j in range(n):
        unit[j] = 1.0
        velocity_to_solver(plant, cdof, unit, direction)
        link_velocities(problem, contacts, direction)
        contact_velocities(
            problem,
            contacts,
            0,
            ncontact,
            direction,
            _problem(problem, "dv1"),
            _problem(problem, "dv2"),
            _problem(problem, "dvn"),
        )
        row_velocities(problem, rows, 0, nrow, direction, _problem(problem, "row_du"))
        for part in range(2):
            _changes(problem, ncontact, nrow, part == 1)
            slope = stiffness if part == 1 else damping
            if systems.size > 0:
                for i in range(n):
                    total[i] = -slope[i] * direction[i]
                product = _problem(problem, "product")
                _add_systems(world, state, unit, part == 1, generalized, product, total)
            else:
                for i in range(n):
                    total[i] = -slope[i] * direction[i]
            add_impulses(problem, contacts, rows, (0, ncontact), (0, nrow), total, 1.0)
            # The factors of M are those of the last evaluation.
            for tree in range(_problem(problem, "ntree")):
                start = tree_start[tree]
                cholesky_solve(factor, block_start[tree], tree_size[tree], inverse, total, start)
            velocity_from_solver(plant, cdof, total, column)
            matrix = matrices[part]
            for i in range(n):
                matrix[i * n + j] = column[i]
        unit[j] = 0.0
    _classical(classical, "ints")[HAS_JACOBIAN] = 1
    _classical(classical, "reals")[FACTOR_STEP] = 0.0
    return OK
