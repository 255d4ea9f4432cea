"""The continuous dynamics ẋ = f(t, x): the system that every method converges to.

    q̇ = N(q) v,    M(q) v̇ = τ(q, v) − D v + Jᵀ f_c(q, v) + Gᵀ f_r(q, v),    ȧ as MuJoCo has it

with the forces of contacts and of scalar constraints as functions of the state
(`asperity.contact.laws`, `asperity.contact.constraint_laws`), D the damping of joints and τ all
other smooth forces, with those of external systems, whose own states evolve as ż = h(z, q, v). M is
inverted tree by tree. Everything in a model that a convex method takes into account has a
continuous form, so nothing is refused here.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import compiled, compiled_method, entry_point
from asperity.compiled.calls import call_method, call_ppp_status
from asperity.contact.constraint_laws import row_force
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.contact.laws import friction_coefficient, friction_per_speed, normal_force
from asperity.convex.block_cholesky import cholesky, cholesky_solve
from asperity.convex.kinematics import add_impulses
from asperity.convex.problem import PROBLEM
from asperity.integrators.classical.layout import CLASSICAL, STIFF_STEP
from asperity.integrators.icf import ensure_evaluated, graph_of, velocities_at
from asperity.integrators.layout import NON_FINITE, OK, WORLD
from asperity.plant.layouts import PLANT, STATE
from asperity.plant.trees import velocity_from_solver

__all__ = ["dynamics", "dynamics_solution"]

_LARGEST = 1.7976931348623157e308

_world = WORLD.get
_plant = PLANT.get
_state = STATE.get
_problem = PROBLEM.get
_classical = CLASSICAL.get
_contacts = CONTACT_SET.get
_rows = CONSTRAINT_SET.get


@compiled
def _contact_forces(problem, contacts, ncontact, law):
    """Fill ``g1, g2, gn`` with the forces [N] at the contact velocities ``v1, v2, vn``."""
    order = _problem(problem, "contact")
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    distance = _contacts(contacts, "signed_distance")
    stiffness = _contacts(contacts, "stiffness")
    dissipation = _contacts(contacts, "dissipation")
    static_friction = _contacts(contacts, "static_friction")
    dynamic_friction = _contacts(contacts, "dynamic_friction")
    stiction_tolerance = _contacts(contacts, "stiction_tolerance")
    for i in range(ncontact):
        c = order[i]
        normal = normal_force(stiffness[c], dissipation[c], distance[c], vn[i])
        slip = np.sqrt(v1[i] * v1[i] + v2[i] * v2[i])
        tolerance = stiction_tolerance[c]
        coefficient = friction_coefficient(static_friction[c], dynamic_friction[c], slip, tolerance)
        share = coefficient * normal * friction_per_speed(law, slip, tolerance)
        g1[i] = -share * v1[i]
        g2[i] = -share * v2[i]
        gn[i] = normal


@compiled
def _row_forces(problem, rows, nrow, stiff_step):
    """Fill ``row_impulse`` with the forces [N or Nm] at the row velocities ``row_u``."""
    order = _problem(problem, "row")
    u = _problem(problem, "row_u")
    out = _problem(problem, "row_impulse")
    kind = _rows(rows, "kind")
    position = _rows(rows, "position")
    force = _rows(rows, "force")
    lower = _rows(rows, "lower")
    upper = _rows(rows, "upper")
    inverse_mass = _rows(rows, "inverse_mass")
    for i in range(nrow):
        r = order[i]
        out[i] = row_force(
            kind[r], u[i], position[r], force[r], lower[r], upper[r], inverse_mass[r], stiff_step
        )


@compiled
def _solve_mass(problem, mass, x):
    """``x = M⁻¹ x`` in solver velocities, tree by tree; False if M is not positive definite."""
    factor = _problem(problem, "factor")
    inverse = _problem(problem, "factor_inverse_diagonal")
    factor_island = _problem(problem, "factor_island")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    for tree in range(_problem(problem, "ntree")):
        start = tree_start[tree]
        n = tree_size[tree]
        block = block_start[tree]
        factor_island[tree] = 0
        for k in range(block, block + n * n):
            factor[k] = mass[k]
        if not cholesky(factor, block, n, inverse, start):
            return False
        cholesky_solve(factor, block, n, inverse, x, start)
    return True


@entry_point(types.int64(types.int64, types.int64, types.int64))
def dynamics(world, state, classical):
    """Evaluate the dynamics at a state, whose snapshot is then valid.

    Fills ``acceleration`` (generalized velocities) of the classical table, and the problem's
    ``g1, g2, gn`` and ``row_impulse`` with forces. The rates of positions and activations are the
    state's ``qvel`` and ``act_dot``. Returns a method's code.
    """
    code = ensure_evaluated(world, state)
    if code != OK:
        return code
    code = graph_of(world, state)
    if code != OK:
        return code
    if _world(world, "systems").size > 0:
        code = call_method(_world(world, "prepare_systems"), world, state, 0, 0.0)
        if code != OK:
            return code
    plant = _world(world, "plant")
    problem = _world(world, "problem")
    contacts = _state(state, "contacts")
    rows = _state(state, "rows")
    velocity = _state(state, "velocity")
    ncontact, nrow = velocities_at(problem, state, velocity)
    _contact_forces(problem, contacts, ncontact, _classical(classical, "friction_law"))
    _row_forces(problem, rows, nrow, _classical(classical, "reals")[STIFF_STEP])
    force = _state(state, "force")
    # A free body without damping has none in its solver velocities either.
    damping = _plant(plant, "dof_damping")
    total = _problem(problem, "gradient")
    for i in range(force.size):
        total[i] = force[i] - damping[i] * velocity[i]
    add_impulses(problem, contacts, rows, (0, ncontact), (0, nrow), total, 1.0)
    if not _solve_mass(problem, _state(state, "mass"), total):
        return NON_FINITE
    acceleration = _classical(classical, "acceleration")
    velocity_from_solver(plant, _state(state, "cdof"), total, acceleration)
    size = 0.0
    for i in range(acceleration.size):
        size += abs(acceleration[i])
    # Kinematics and collisions must not be asked about infinite positions.
    return OK if size <= _LARGEST else NON_FINITE


@compiled_method
def dynamics_solution(world, state, _target, step):
    """What publication shows of a classical method: the forces of the state, over a step.

    Leaves δt·f in the problem's impulses and v + δt·v̇ in its ``velocity``.
    """
    classical = _world(world, "classical")
    code = call_ppp_status(_classical(classical, "dynamics"), world, state, classical)
    if code != OK:
        return code
    problem = _world(world, "problem")
    before = _state(state, "velocity")
    change = _problem(problem, "gradient")
    velocity = _problem(problem, "velocity")
    for i in range(_problem(problem, "nv")):
        velocity[i] = before[i] + step * change[i]
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    for i in range(_contacts(_state(state, "contacts"), "counts")[0]):
        g1[i] *= step
        g2[i] *= step
        gn[i] *= step
    impulse = _problem(problem, "row_impulse")
    for i in range(_rows(_state(state, "rows"), "counts")[0]):
        impulse[i] *= step
    return OK
