"""ICF: one convex step with lagged friction, the building block of CENIC (IV; method ``icf``).

    A = M_0 + δt D + δt² K,                  r = M_0 v_0 + δt f_0,
    v = argmin ½vᵀAv − rᵀv + Σ ℓ(Jv),        q = q_0 ⊕ δt v

D and K are the damping and stiffness of joints, which makes linear springs and dampers implicit;
f_0 are all other smooth forces, with the springs' at q_0. Linear servos, limits and constraints
enter as potentials (`asperity.convex.potentials`), and so do external systems
(`asperity.integrators.external`).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled, compiled_method
from asperity.compiled.calls import (
    call_method,
    call_pp_status,
    call_ppp_status,
    call_pppd,
    call_pppn_status,
)
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.graph import COUPLING_TOO_SMALL, PATTERN_CHANGED
from asperity.convex.kinematics import (
    add_surface_velocities,
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.potentials.contacts import prepare_contacts
from asperity.convex.potentials.rows import prepare_rows
from asperity.convex.problem import CONVERGED, EXTRAPOLATED, PROBLEM
from asperity.convex.problem import NOT_CONVERGED as NEWTON_NOT_CONVERGED
from asperity.integrators.layout import (
    COUPLING_FULL,
    END_VELOCITY,
    FACTORS_VALID,
    GRAPH_EVALUATION,
    GRAPH_STATE,
    HAS_ERROR,
    HAS_GUESS,
    LIMITED,
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    PREVIOUS_VELOCITY,
    WORLD,
)
from asperity.plant.layouts import PLANT, STATE, TIME
from asperity.plant.trees import velocity_from_solver, velocity_to_solver

__all__ = [
    "advance_activations",
    "ensure_evaluated",
    "graph_of",
    "icf_method",
    "icf_solution",
    "integrate_positions",
    "minimise",
    "prepare_potentials",
    "solve_potentials",
    "velocities_at",
]

_world = WORLD.get
_plant = PLANT.get
_state = STATE.get
_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_rows = CONSTRAINT_SET.get


@compiled
def ensure_evaluated(world, state):
    """Evaluate a state unless its snapshot is valid."""
    if _state(state, "ints")[0] == 1:
        return OK
    return call_pp_status(_world(world, "evaluate"), _world(world, "plant"), state)


@compiled
def smooth_terms(plant, problem, state, step):
    """Fill A, diag(M) and r from the snapshot."""
    mass = _state(state, "mass")
    mass_diagonal = _state(state, "mass_diagonal")
    velocity = _state(state, "velocity")
    force = _state(state, "force")
    matrix = _problem(problem, "matrix")
    diagonal = _problem(problem, "mass_diagonal")
    mass_inverse = _state(state, "mass_inverse_diagonal")
    inverse = _problem(problem, "mass_inverse_diagonal")
    rhs = _problem(problem, "rhs")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    tree_spatial = _problem(problem, "tree_spatial")
    block_start = _problem(problem, "block_start")
    damping = _plant(plant, "dof_damping")
    stiffness = _plant(plant, "dof_stiffness")
    for i in range(matrix.size):
        matrix[i] = mass[i]
    for tree in range(_problem(problem, "ntree")):
        start = tree_start[tree]
        n = tree_size[tree]
        block = block_start[tree]
        for i in range(n):
            value = 0.0
            row = block + i * n
            for j in range(n):
                value += mass[row + j] * velocity[start + j]
            rhs[start + i] = value + step * force[start + i]
            diagonal[start + i] = mass_diagonal[start + i]
            inverse[start + i] = mass_inverse[start + i]
        if not tree_spatial[tree]:
            for i in range(n):
                matrix[block + i * n + i] += step * (
                    damping[start + i] + step * stiffness[start + i]
                )


@compiled
def velocities_at(problem, state, velocity):
    """Fill contact and row velocities for solver velocities at a state's configuration."""
    contacts = _state(state, "contacts")
    rows = _state(state, "rows")
    ncontact = _contacts(contacts, "counts")[0]
    nrow = _rows(rows, "counts")[0]
    link_velocities(problem, contacts, velocity)
    contact_velocities(
        problem,
        contacts,
        0,
        ncontact,
        velocity,
        _problem(problem, "v1"),
        _problem(problem, "v2"),
        _problem(problem, "vn"),
    )
    add_surface_velocities(problem, contacts, 0, ncontact)
    row_velocities(problem, rows, 0, nrow, velocity, _problem(problem, "row_u"))
    return ncontact, nrow


@compiled
def prepare_potentials(problem, state, step):
    """Fill the numbers of all potentials at the beginning of the step."""
    ncontact, nrow = velocities_at(problem, state, _state(state, "velocity"))
    prepare_contacts(problem, _state(state, "contacts"), step, ncontact)
    prepare_rows(problem, _state(state, "rows"), step, nrow, False)


@compiled
def graph_of(world, state):
    """Islands and order for the state's contacts and constraints, unless they are at hand."""
    ints = _world(world, "ints")
    evaluation = _state(state, "ints")[1]
    if ints[GRAPH_STATE] == state and ints[GRAPH_EVALUATION] == evaluation:
        return OK
    ints[GRAPH_STATE] = 0
    graph = call_ppp_status(
        _world(world, "build_graph"),
        _world(world, "problem"),
        _state(state, "contacts"),
        _state(state, "rows"),
    )
    if graph == COUPLING_TOO_SMALL:
        return COUPLING_FULL
    if graph == PATTERN_CHANGED:
        ints[FACTORS_VALID] = 0
    ints[GRAPH_STATE] = state
    ints[GRAPH_EVALUATION] = evaluation
    return OK


@compiled
def minimise(world, state):
    """Solve the prepared problem from the guess, or else from the state's own velocity.

    With `PREVIOUS_VELOCITY` the guess is the velocity one step ago, and the state's own velocity is
    extrapolated as far as that lowers the cost.
    """
    plant = _world(world, "plant")
    problem = _world(world, "problem")
    ints = _world(world, "ints")
    contacts = _state(state, "contacts")
    rows = _state(state, "rows")
    velocity = _problem(problem, "velocity")
    if ints[HAS_GUESS] == END_VELOCITY:
        ints[HAS_GUESS] = 0
        velocity_to_solver(plant, _state(state, "cdof"), _world(world, "guess"), velocity)
    else:
        start = _state(state, "velocity")
        for i in range(start.size):
            velocity[i] = start[i]
        if ints[HAS_GUESS] == PREVIOUS_VELOCITY:
            ints[HAS_GUESS] = 0
            change = _problem(problem, "extrapolation")
            velocity_to_solver(plant, _state(state, "cdof"), _world(world, "guess"), change)
            for i in range(_problem(problem, "nv")):
                change[i] = velocity[i] - change[i]
            _problem(problem, "limits")[EXTRAPOLATED] = 1
    status = call_pppn_status(
        _world(world, "solve_problem"), problem, contacts, rows, ints[FACTORS_VALID]
    )
    ints[FACTORS_VALID] = 1
    if status == CONVERGED:
        return OK
    return NOT_CONVERGED if status == NEWTON_NOT_CONVERGED else NON_FINITE


@compiled
def solve_potentials(world, state, step):
    """Prepare all potentials and solve, with the feedback of external systems in its limits.

    Needs A, r and the graph, and takes the guess that there is.
    """
    plant = _world(world, "plant")
    problem = _world(world, "problem")
    if _world(world, "systems").size > 0:
        code = call_method(_world(world, "prepare_systems"), world, state, 0, step)
        if code != OK:
            return code
    prepare_potentials(problem, state, step)
    code = minimise(world, state)
    while code == OK and _world(world, "systems").size > 0:
        # Ends, because every round limits an effort that was not.
        code = call_method(_world(world, "limit_systems"), world, state, 0, step)
        if code != LIMITED:
            return code
        guess = _world(world, "guess")
        velocity = _problem(problem, "velocity")
        velocity_from_solver(plant, _state(state, "cdof"), velocity, guess)
        _world(world, "ints")[HAS_GUESS] = END_VELOCITY
        prepare_potentials(problem, state, step)
        code = minimise(world, state)
    return code


@compiled_method
def icf_solution(world, state, _target, step):
    """Solve the convex problem of an ICF step; the result is in the problem's ``velocity``."""
    code = ensure_evaluated(world, state)
    if code != OK:
        return code
    plant = _world(world, "plant")
    problem = _world(world, "problem")
    smooth_terms(plant, problem, state, step)
    code = graph_of(world, state)
    if code != OK:
        return code
    return solve_potentials(world, state, step)


@compiled
def integrate_positions(plant, source, target, qvel, step):
    """``target.qpos = source.qpos ⊕ step · qvel``; the target's snapshot becomes invalid."""
    qpos = _state(source, "qpos")
    out = _state(target, "qpos")
    for i in range(qpos.size):
        out[i] = qpos[i]
    call_pppd(
        _plant(plant, "integrate_positions"),
        _plant(plant, "model"),
        out.ctypes.data,
        qvel.ctypes.data,
        step,
    )
    _state(target, "reals")[TIME] = _state(source, "reals")[TIME] + step
    _state(target, "ints")[0] = 0


@compiled
def advance_activations(plant, source, target, step):
    """Advance the actuators' activations from the source's rates, as MuJoCo does."""
    act = _state(source, "act")
    rate = _state(source, "act_dot")
    out = _state(target, "act")
    kind = _plant(plant, "act_kind")
    constant = _plant(plant, "act_time_constant")
    limits = _plant(plant, "act_range")
    for i in range(act.size):
        if kind[i] == 1:
            value = act[i] + rate[i] * constant[i] * (1.0 - np.exp(-step / constant[i]))
        else:
            value = act[i] + step * rate[i]
        out[i] = min(max(value, limits[i, 0]), limits[i, 1])


@compiled_method
def icf_method(world, source, target, step):
    """One ICF step."""
    plant = _world(world, "plant")
    code = call_method(_world(world, "solve_step"), world, source, 0, step)
    if code != OK:
        return code
    problem = _world(world, "problem")
    qvel = _state(target, "qvel")
    velocity_from_solver(plant, _state(source, "cdof"), _problem(problem, "velocity"), qvel)
    integrate_positions(plant, source, target, qvel, step)
    advance_activations(plant, source, target, step)
    _world(world, "ints")[HAS_ERROR] = 0
    if _world(world, "systems").size > 0:
        return call_method(_world(world, "advance_systems"), world, source, target, step)
    return OK
