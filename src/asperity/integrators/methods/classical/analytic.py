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

from asperity.compiled import Table, compiled, entry_point
from asperity.contact.constraint_laws import row_force
from asperity.contact.constraint_set import ACTUATOR, FRICTION, PASSIVE
from asperity.contact.laws import friction_coefficient, friction_per_speed, normal_force
from asperity.convex.block_cholesky import cholesky_solve
from asperity.convex.contact_velocities import (
    add_impulses,
    contact_changes,
    link_velocities,
    row_velocities,
)
from asperity.integrators.external.linearisation import linearise_system
from asperity.integrators.external.system_table import EXPLICIT, SYSTEM
from asperity.integrators.methods.classical.stage_layout import CLASSICAL
from asperity.integrators.world_layout import OK, WORLD
from asperity.plant.plant_layouts import STATE
from asperity.plant.trees import force_to_solver, velocity_from_solver, velocity_to_solver

__all__ = ["differentiate_forces"]

_SMALL = 1e-6
_DISTANCE = 1e-8  # of a difference [m, rad]; limits and equalities are piecewise linear


@compiled
def _share(law: int, static: float, dynamic: float, slip: float, tolerance: float) -> float:
    coefficient = friction_coefficient(static, dynamic, slip, tolerance)
    return coefficient * friction_per_speed(law, slip, tolerance)


@compiled
def _contact_slopes(problem: Table, contacts: Table, ncontact: int, law: int) -> None:
    """Per contact, ∂f/∂v_c in ``h11 … h2n`` and ∂f/∂φ in ``by_distance1 … by_distance_n``."""
    iterate = problem.iterate
    for i in range(ncontact):
        c = problem.graph.contact[i]
        k = contacts.stiffness[c]
        d = contacts.dissipation[c]
        normal = normal_force(k, d, contacts.signed_distance[c], iterate.vn[i])
        by_velocity = 0.0
        by_distance = 0.0
        if contacts.signed_distance[c] < 0.0 and d * iterate.vn[i] < 1.0:
            by_velocity = k * contacts.signed_distance[c] * d
            by_distance = -k * (1.0 - d * iterate.vn[i])
        x = iterate.v1[i]
        y = iterate.v2[i]
        slip = np.sqrt(x * x + y * y)
        tolerance = contacts.stiction_tolerance[c]
        static = contacts.static_friction[c]
        dynamic = contacts.dynamic_friction[c]
        share = _share(law, static, dynamic, slip, tolerance)
        bend = 0.0
        if slip > 0.0:
            size = min(_SMALL * (slip + tolerance), slip)
            ahead = _share(law, static, dynamic, slip + size, tolerance)
            behind = _share(law, static, dynamic, slip - size, tolerance)
            bend = normal * (ahead - behind) / (2.0 * size * slip)
        iterate.h11[i] = -share * normal - bend * x * x
        iterate.h12[i] = -bend * x * y
        iterate.h22[i] = -share * normal - bend * y * y
        iterate.hnn[i] = by_velocity
        iterate.h1n[i] = -share * x * by_velocity
        iterate.h2n[i] = -share * y * by_velocity
        problem.law.by_distance1[i] = -share * x * by_distance
        problem.law.by_distance2[i] = -share * y * by_distance
        problem.law.by_distance_n[i] = by_distance


@compiled
def _row_slopes(
    graph: Table, law: Table, iterate: Table, rows: Table, nrow: int, stiff_step: float
) -> None:
    """∂f/∂u in ``row_gain`` and ∂f/∂c in ``row_target`` of every row."""
    u = iterate.row_u
    kind = rows.kind
    force = rows.force
    for i in range(nrow):
        r = graph.row[i]
        low = rows.lower[r]
        high = rows.upper[r]
        if kind[r] == FRICTION:
            square = u[i] * u[i] + low * low
            law.row_gain[i] = -high * low * low / (square * np.sqrt(square))
            law.row_target[i] = 0.0
        elif kind[r] in (ACTUATOR, PASSIVE):
            free = low < force[r] < high
            law.row_gain[i] = -rows.derivative[r] if free else 0.0
            law.row_target[i] = -rows.proportional[r] if free else 0.0
        else:
            # Towards the distance in which a limit acts, if one does.
            now = row_force(
                kind[r],
                u[i],
                rows.position[r],
                force[r],
                low,
                high,
                rows.inverse_mass[r],
                stiff_step,
            )
            size = _DISTANCE
            moved = row_force(
                kind[r],
                u[i],
                rows.position[r] + size,
                force[r],
                low,
                high - size,
                rows.inverse_mass[r],
                stiff_step,
            )
            law.row_target[i] = (moved - now) / size
            size = _SMALL * max(1.0, abs(u[i]))
            moved = row_force(
                kind[r],
                u[i] + size,
                rows.position[r],
                force[r],
                low,
                high,
                rows.inverse_mass[r],
                stiff_step,
            )
            law.row_gain[i] = (moved - now) / size


@compiled
def _changes(law: Table, iterate: Table, ncontact: int, nrow: int, by_position: bool) -> None:
    """Changes of the forces for the changes ``dv1 … row_du``, in the places of the forces."""
    dvn = iterate.dvn
    if by_position:
        for i in range(ncontact):
            iterate.g1[i] = law.by_distance1[i] * dvn[i]
            iterate.g2[i] = law.by_distance2[i] * dvn[i]
            iterate.gn[i] = law.by_distance_n[i] * dvn[i]
    else:
        for i in range(ncontact):
            iterate.g1[i] = (
                iterate.h11[i] * iterate.dv1[i]
                + iterate.h12[i] * iterate.dv2[i]
                + iterate.h1n[i] * dvn[i]
            )
            iterate.g2[i] = (
                iterate.h12[i] * iterate.dv1[i]
                + iterate.h22[i] * iterate.dv2[i]
                + iterate.h2n[i] * dvn[i]
            )
            iterate.gn[i] = iterate.hnn[i] * dvn[i]
    slope = law.row_target if by_position else law.row_gain
    for i in range(nrow):
        iterate.row_impulse[i] = slope[i] * iterate.row_du[i]


@compiled
def _add_systems(
    world: Table,
    state: Table,
    unit: np.ndarray,
    by_position: bool,
    generalized: np.ndarray,
    solver: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the changes of what external systems exert along a direction."""
    plant = world.plant
    generalized[:] = 0.0
    for s in range(world.systems.size):
        system = SYSTEM.at(world.systems[s])
        if system.treatment != EXPLICIT:
            continue
        slope = system.output_q if by_position else system.output_v
        first = system.first_effort
        for b in range(system.output_now.size):
            along = 0.0
            for i in range(unit.size):
                along += system.jacobian[b, i] * unit[i]
            if along == 0.0:
                continue
            for k in range(system.output_now.size):
                if (
                    plant.actuators.effort_range[first + k, 0]
                    < system.output_now[k]
                    < plant.actuators.effort_range[first + k, 1]
                ):
                    change = slope[k, b] * along
                    for i in range(unit.size):
                        generalized[i] += system.jacobian[k, i] * change
    force_to_solver(plant, state.cdof, generalized, solver)
    for i in range(generalized.size):
        out[i] += solver[i]


@entry_point(types.int64(WORLD.type, STATE.type, types.float64, STATE.type))
def differentiate_forces(world: Table, _source: Table, _time: float, state: Table) -> int:
    """Fill J_q and J_v at ``state``, where the dynamics have been evaluated last."""
    plant = world.plant
    problem = world.problem
    iterate, graph = problem.iterate, problem.graph
    classical = CLASSICAL.at(world.memory)
    contacts = state.contacts
    rows = state.rows
    ncontact = contacts.count
    nrow = rows.count
    for s in range(world.systems.size):
        system = SYSTEM.at(world.systems[s])
        if system.treatment == EXPLICIT:
            code = linearise_system(plant, system, state)
            if code != OK:
                return code
    _contact_slopes(problem, contacts, ncontact, classical.friction_law)
    _row_slopes(graph, problem.law, iterate, rows, nrow, classical.stiff_step)
    matrices = (classical.velocity_jacobian, classical.position_jacobian)
    unit = world.scratch
    column = classical.acceleration_of[1]
    n = unit.size
    direction = iterate.direction
    total = iterate.gradient
    for i in range(n):
        unit[i] = 0.0
    for j in range(n):
        unit[j] = 1.0
        velocity_to_solver(plant, state.cdof, unit, direction)
        link_velocities(graph, iterate, contacts, direction)
        contact_changes(graph, iterate, contacts, 0, ncontact, direction)
        row_velocities(graph, rows, 0, nrow, direction, iterate.row_du)
        for part in range(2):
            _changes(problem.law, iterate, ncontact, nrow, part == 1)
            slope = plant.dofs.stiffness if part == 1 else plant.dofs.damping
            for i in range(n):
                total[i] = -slope[i] * direction[i]
            if world.systems.size > 0:
                _add_systems(
                    world, state, unit, part == 1, classical.update, iterate.product, total
                )
            add_impulses(graph, iterate, contacts, rows, (0, ncontact), (0, nrow), total, 1.0)
            # The factors of M are those of the last evaluation.
            for tree in range(graph.ntree):
                start = graph.tree_start[tree]
                cholesky_solve(
                    problem.hessian.factor,
                    graph.block_start[tree],
                    graph.tree_size[tree],
                    problem.hessian.factor_inverse_diagonal,
                    total,
                    start,
                )
            velocity_from_solver(plant, state.cdof, total, column)
            matrix = matrices[part]
            for i in range(n):
                matrix[i * n + j] = column[i]
        unit[j] = 0.0
    classical.has_jacobian = 1
    classical.factor_step = 0.0
    return OK
