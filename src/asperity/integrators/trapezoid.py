"""The second-order trapezoid scheme (CENIC V-B, equation 25; errata in the design's equations 6.2).

A full ICF step gives x̂. With bars for means of beginning and x̂, and hats for x̂,

    (M_0 + M̂ + δt D + ½ δt² K)(v − v_0) = δt (f_0 + f̂) + ... + j_0 + Ĵᵀ γ(Ĵ v),
    q = q_0 ⊕ ½ δt (v + v_0),

twice the momentum balance, so that the potentials enter unscaled. Their elastic forces are stepped
backwards from x̂ (f_e0 = f_e(q̂) + δt k v̂_n), linear springs and dampers of joints follow the
implicit trapezoid rule, and j_0 are the impulses δt·f of the continuous laws at the beginning (for
limits and equalities, which have none, those of the full step). The difference to x̂ estimates the
error.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled, compiled_method
from asperity.compiled.calls import call_method
from asperity.contact.constraint_set import ACTUATOR, CONSTRAINT_SET, FRICTION
from asperity.contact.contact_set import CONTACT_SET
from asperity.contact.laws import friction_coefficient
from asperity.convex.kinematics import add_impulses, row_velocities
from asperity.convex.potentials.lagged import prepare_lagged
from asperity.convex.potentials.rows import prepare_rows
from asperity.convex.problem import PROBLEM
from asperity.integrators.icf import (
    advance_activations,
    ensure_evaluated,
    graph_of,
    integrate_positions,
    minimise,
    velocities_at,
)
from asperity.integrators.layout import END_VELOCITY, GEOM_SAMPLE, HAS_ERROR, HAS_GUESS, OK, WORLD
from asperity.integrators.stepping import position_difference
from asperity.plant.layouts import PLANT, STATE
from asperity.plant.trees import (
    add_mass,
    force_from_solver,
    force_to_solver,
    velocity_from_solver,
    velocity_to_solver,
)

__all__ = ["ERROR_ORDER", "trapezoid_method"]

ERROR_ORDER = 2
"""Order in h of the estimate: that of the first-order solution it is compared with."""

_world = WORLD.get
_plant = PLANT.get
_state = STATE.get
_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_rows = CONSTRAINT_SET.get


@compiled
def _impulses_now(problem, state, step):
    """Replace the impulses of the last solve by δt·f of the continuous laws, where there are such.

    Needs contact and row velocities at the state's own velocity.
    """
    contacts = _state(state, "contacts")
    rows = _state(state, "rows")
    order = _problem(problem, "contact")
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    softness = _problem(problem, "softness")
    distance = _contacts(contacts, "signed_distance")
    stiffness = _contacts(contacts, "stiffness")
    dissipation = _contacts(contacts, "dissipation")
    static_friction = _contacts(contacts, "static_friction")
    dynamic_friction = _contacts(contacts, "dynamic_friction")
    stiction_tolerance = _contacts(contacts, "stiction_tolerance")
    for i in range(_contacts(contacts, "counts")[0]):
        c = order[i]
        normal = (
            step * stiffness[c] * max(-distance[c], 0.0) * max(1.0 - dissipation[c] * vn[i], 0.0)
        )
        square = v1[i] * v1[i] + v2[i] * v2[i]
        coefficient = friction_coefficient(
            static_friction[c], dynamic_friction[c], np.sqrt(square), stiction_tolerance[c]
        )
        f = coefficient * normal / np.sqrt(square + softness[i])
        g1[i] = -f * v1[i]
        g2[i] = -f * v2[i]
        gn[i] = normal
    order = _problem(problem, "row")
    u = _problem(problem, "row_u")
    impulse = _problem(problem, "row_impulse")
    kind = _rows(rows, "kind")
    force = _rows(rows, "force")
    lower = _rows(rows, "lower")
    upper = _rows(rows, "upper")
    for i in range(_rows(rows, "counts")[0]):
        r = order[i]
        if kind[r] == FRICTION:
            impulse[i] = -step * upper[r] * u[i] / np.sqrt(u[i] * u[i] + lower[r] * lower[r])
        elif kind[r] == ACTUATOR:
            impulse[i] = step * min(max(force[r], lower[r]), upper[r])


@compiled
def _smooth_terms(world, source, full, step, start_impulse):
    """Fill A, diag(M) and r; ``start_impulse`` is j_0 in the solver velocities of the source."""
    plant = _world(world, "plant")
    problem = _world(world, "problem")
    scratch = _world(world, "scratch")
    mass = _state(full, "mass")
    matrix = _problem(problem, "matrix")
    diagonal = _problem(problem, "mass_diagonal")
    inverse = _problem(problem, "mass_inverse_diagonal")
    rhs = _problem(problem, "rhs")
    product = _problem(problem, "product")
    for i in range(matrix.size):
        matrix[i] = mass[i]
    add_mass(
        plant,
        _state(source, "mass"),
        _state(source, "cdof"),
        _state(full, "cdof"),
        _problem(problem, "patch"),
        matrix,
    )
    # Forces at the beginning and j_0, changed to the solver velocities of x̂.
    force_before = _state(source, "force")
    for i in range(rhs.size):
        product[i] = step * force_before[i] + start_impulse[i]
    force_from_solver(plant, _state(source, "cdof"), product, scratch)
    force_to_solver(plant, _state(full, "cdof"), scratch, rhs)
    velocity_to_solver(plant, _state(full, "cdof"), _state(source, "qvel"), product)
    force_after = _state(full, "force")
    mass_diagonal = _state(full, "mass_diagonal")
    after = _state(full, "qvel")
    tree_start = _plant(plant, "tree_start")
    tree_size = _plant(plant, "tree_size")
    tree_spatial = _plant(plant, "tree_spatial")
    block_start = _plant(plant, "block_start")
    damping = _plant(plant, "dof_damping")
    stiffness = _plant(plant, "dof_stiffness")
    for tree in range(_plant(plant, "ntree")):
        s = tree_start[tree]
        n = tree_size[tree]
        block = block_start[tree]
        for i in range(n):
            value = 0.0
            for j in range(n):
                value += matrix[block + i * n + j] * product[s + j]
            rhs[s + i] += value + step * force_after[s + i]
            diagonal[s + i] = 2.0 * mass_diagonal[s + i]
            inverse[s + i] = 0.5 / mass_diagonal[s + i]
            if not tree_spatial[tree]:
                v = product[s + i]
                rhs[s + i] -= step * damping[s + i] * v
                rhs[s + i] -= step * step * stiffness[s + i] * (0.5 * v - after[s + i])
        if not tree_spatial[tree]:
            for i in range(n):
                matrix[block + i * n + i] += step * (damping[s + i] + 0.5 * step * stiffness[s + i])


@compiled
def _backward_potentials(world, source, full, step):
    """Fill the numbers of all potentials from x̂, stepped backwards."""
    plant = _world(world, "plant")
    problem = _world(world, "problem")
    rows = _state(full, "rows")
    ncontact, nrow = velocities_at(problem, full, _state(full, "velocity"))
    prepare_lagged(problem, _state(full, "contacts"), step, ncontact, step)
    before = _problem(problem, "product")
    velocity_to_solver(plant, _state(full, "cdof"), _state(source, "qvel"), before)
    row_velocities(problem, rows, 0, nrow, before, _problem(problem, "row_du"))
    prepare_rows(problem, rows, step, nrow, True)


@compiled_method
def trapezoid_method(world, source, target, step):
    """One trapezoid step, with the full ICF step as its reference."""
    plant = _world(world, "plant")
    problem = _world(world, "problem")
    full = _world(world, "full")
    ints = _world(world, "ints")
    guess = _world(world, "guess")
    ints[HAS_GUESS] = 0
    code = call_method(_world(world, "base_method"), world, source, full, step)
    if code != OK:
        return code
    # The graph is still that of the source.
    start_impulse = _problem(problem, "gradient")
    for i in range(guess.size):
        start_impulse[i] = 0.0
    ncontact, nrow = velocities_at(problem, source, _state(source, "velocity"))
    _impulses_now(problem, source, step)
    add_impulses(
        problem,
        _state(source, "contacts"),
        _state(source, "rows"),
        (0, ncontact),
        (0, nrow),
        start_impulse,
        1.0,
    )
    code = ensure_evaluated(world, full)
    if code != OK:
        return code
    _smooth_terms(world, source, full, step, start_impulse)
    code = graph_of(world, full)
    if code != OK:
        return code
    _backward_potentials(world, source, full, step)
    estimate = _state(full, "qvel")
    for i in range(guess.size):
        guess[i] = estimate[i]
    ints[HAS_GUESS] = END_VELOCITY
    code = minimise(world, full)
    if code != OK:
        return code
    qvel = _state(target, "qvel")
    velocity_from_solver(plant, _state(full, "cdof"), _problem(problem, "velocity"), qvel)
    mean = _world(world, "scratch")
    before = _state(source, "qvel")
    for i in range(mean.size):
        mean[i] = 0.5 * (before[i] + qvel[i])
    integrate_positions(plant, source, target, mean, step)
    advance_activations(plant, source, target, step)
    position_difference(plant, full, target, _world(world, "error"))
    ints[HAS_ERROR] = 1
    ints[GEOM_SAMPLE] = full
    return OK
